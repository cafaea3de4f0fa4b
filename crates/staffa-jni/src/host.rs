//! Files of the virtual machine's own file systems: bytes in, bytes out.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;
use jni::objects::{JByteArray, JLongArray, JObject};
use jni::refs::Global;
use jni::vm::JavaVM;
use jni::{Env, JValue, jni_sig, jni_str};
use staffa::Source;

use crate::error::to_io;

/// Most bytes of a call to a stream.
const WRITE_BYTES: usize = 8 << 20;

/// A file that a `HostFile` reads.
pub(crate) struct HostSource {
    pub file: Global<JObject<'static>>,
    pub name: String,
    pub bytes: u64,
}

impl fmt::Debug for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Calls the host on this thread; an exception becomes an error that carries it.
fn call<T>(body: impl FnOnce(&mut Env) -> jni::errors::Result<T>) -> io::Result<T> {
    let machine = JavaVM::singleton().map_err(to_io)?;
    machine.attach_current_thread(body).map_err(to_io)
}

impl Source for HostSource {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read(&self, range: Range<u64>) -> staffa::Result<Bytes> {
        let wanted = (range.end - range.start) as usize;
        let bytes = call(|env| {
            let args = [
                JValue::Long(range.start as i64),
                JValue::Int(i32::try_from(wanted).unwrap_or(i32::MAX)),
            ];
            let name = jni_str!("read");
            let signature = jni_sig!((offset: jlong, length: jint) -> [jbyte]);
            let array = env.call_method(&self.file, name, signature, &args)?.l()?;
            env.convert_byte_array(env.cast_local::<JByteArray>(array)?)
        });
        let bytes = bytes.map_err(|e| staffa::Error::io(&*self.name, e))?;
        if bytes.len() != wanted {
            let found = bytes.len();
            let what = format!("{wanted} bytes at {} expected, found {found}", range.start);
            let short = io::Error::new(io::ErrorKind::UnexpectedEof, what);
            return Err(staffa::Error::io(&*self.name, short));
        }
        Ok(bytes.into())
    }

    /// The host may begin to fetch; what fails here fails again when it is read.
    fn begin(&self, ranges: &[Range<u64>]) {
        let bounds = ranges.iter().flat_map(|range| [range.start, range.end]);
        let bounds: Vec<i64> = bounds.map(|bound| bound as i64).collect();
        drop(call(|env| {
            let array = JLongArray::new(env, bounds.len())?;
            array.set_region(env, 0, &bounds)?;
            let signature = jni_sig!((bounds: [jlong]) -> void);
            let args = [JValue::Object(&array)];
            env.call_method(&self.file, jni_str!("begin"), signature, &args)
                .map(drop)
        }));
    }
}

/// A `java.io.OutputStream`.
pub(crate) struct HostOutput(pub Global<JObject<'static>>);

impl Write for HostOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..WRITE_BYTES).unwrap_or(bytes);
        call(|env| {
            let array = env.byte_array_from_slice(bytes)?;
            let signature = jni_sig!((bytes: [jbyte]) -> void);
            let args = [JValue::Object(&array)];
            env.call_method(&self.0, jni_str!("write"), signature, &args)
                .map(drop)
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flush = |env: &mut Env| {
            env.call_method(&self.0, jni_str!("flush"), jni_sig!(() -> void), &[])
                .map(drop)
        };
        call(flush)
    }
}
