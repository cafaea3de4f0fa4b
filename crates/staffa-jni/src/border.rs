//! The border to the virtual machine: its native methods, and structs of Arrow's C interface by
//! address.
//!
//! Only this file has `unsafe`: the methods are exported by name, and addresses come from the host.
#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "native methods have these signatures"
)]

use std::sync::Arc;

use arrow_array::StructArray;
use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Schema, SchemaRef};
use jni::objects::{JObject, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, NativeMethod, native_method};
use staffa::File;

use crate::error::{Error, Result, Throw};
use crate::file::{OpenFile, Request};
use crate::handles::Handles;
use crate::host::{HostOutput, HostSource};
use crate::scan::{BatchScan, row_type};
use crate::write::BatchWriter;

static FILES: Handles<OpenFile> = Handles::new("file");
static SCANS: Handles<BatchScan> = Handles::new("scan");
static WRITERS: Handles<BatchWriter> = Handles::new("writer");

/// Declares a method of the class `Native`, exported under the name that the virtual machine looks
/// for.
macro_rules! native {
    ($name:ident: $($signature:tt)*) => {
        #[allow(dead_code, reason = "the virtual machine finds the exported function by its name")]
        const $name: NativeMethod = native_method! {
            java_type = "org.apache.spark.sql.staffa.Native",
            error_policy = Throw,
            $($signature)*,
        };
    };
}

native!(OPEN: extern fn open(path: JString) -> jlong);
native!(OPEN_HOST: extern fn open_host(file: JObject, name: JString, length: jlong) -> jlong);
native!(CLOSE_FILE: extern fn close_file(file: jlong));
native!(SCHEMA: extern fn schema(file: jlong, address: jlong));
native!(METADATA: extern fn metadata(file: jlong, key: JString) -> JString);
native!(DECODED_BYTES: extern fn decoded_bytes(file: jlong) -> jlong);
native!(MAY_MATCH: extern fn may_match(file: jlong, filter: JString, any_case: jboolean) -> jboolean);
native!(SCAN: extern fn scan(
    file: jlong, schema: jlong, filter: JString, start: jlong, end: jlong, batch_rows: jint, any_case: jboolean
) -> jlong);
native!(NEXT: extern fn next(scan: jlong) -> jlong);
native!(CLOSE_SCAN: extern fn close_scan(scan: jlong));
native!(CREATE: extern fn create(output: JObject, schema: jlong, options: [JString]) -> jlong);
native!(WRITE: extern fn write(writer: jlong, array: jlong));
native!(FINISH: extern fn finish(writer: jlong) -> jlong);
native!(CLOSE_WRITER: extern fn close_writer(writer: jlong));
native!(OPEN_HANDLES: extern fn open_handles() -> jint);

type This<'local> = JObject<'local>;

fn open<'l>(env: &mut Env<'l>, _: This<'l>, path: JString<'l>) -> Result<jlong> {
    let name = path.try_to_string(env)?;
    let file = File::open(&name)?;
    Ok(FILES.open(OpenFile { file, name }))
}

fn open_host<'l>(
    env: &mut Env<'l>,
    _: This<'l>,
    file: JObject<'l>,
    name: JString<'l>,
    length: jlong,
) -> Result<jlong> {
    let source = HostSource {
        file: env.new_global_ref(&file)?,
        name: name.try_to_string(env)?,
        bytes: length as u64,
    };
    let name = source.name.clone();
    let file = File::open_source(Arc::new(source))?;
    Ok(FILES.open(OpenFile { file, name }))
}

fn close_file<'l>(_: &mut Env<'l>, _: This<'l>, file: jlong) -> Result<()> {
    FILES.close(file);
    Ok(())
}

fn schema<'l>(_: &mut Env<'l>, _: This<'l>, file: jlong, address: jlong) -> Result<()> {
    let schema = FFI_ArrowSchema::try_from(&FILES.get(file)?.schema()?)?;
    // SAFETY: the host gives the address of an `ArrowSchema` that it allocated and did not fill.
    unsafe { std::ptr::write(pointer(address)?, schema) };
    Ok(())
}

fn metadata<'l>(
    env: &mut Env<'l>,
    _: This<'l>,
    file: jlong,
    key: JString<'l>,
) -> Result<JString<'l>> {
    let key = key.try_to_string(env)?;
    let value = FILES.get(file)?.metadata(&key)?;
    Ok(match value {
        Some(value) => env.new_string(value)?,
        None => JString::null(),
    })
}

/// -1 where the file does not say.
fn decoded_bytes<'l>(_: &mut Env<'l>, _: This<'l>, file: jlong) -> Result<jlong> {
    let bytes = FILES.get(file)?.decoded_bytes()?;
    Ok(bytes.map_or(-1, |bytes| bytes as jlong))
}

fn may_match<'l>(
    env: &mut Env<'l>,
    _: This<'l>,
    file: jlong,
    filter: JString<'l>,
    any_case: jboolean,
) -> Result<jboolean> {
    let filter = filter.try_to_string(env)?;
    FILES.get(file)?.may_match(&filter, any_case)
}

#[allow(clippy::too_many_arguments, reason = "a method of the host")]
fn scan<'l>(
    env: &mut Env<'l>,
    _: This<'l>,
    file: jlong,
    schema: jlong,
    filter: JString<'l>,
    start: jlong,
    end: jlong,
    batch_rows: jint,
    any_case: jboolean,
) -> Result<jlong> {
    let filter = if filter.is_null() {
        None
    } else {
        Some(filter.try_to_string(env)?)
    };
    let request = Request {
        schema: schema_at(schema)?,
        filter,
        bytes: start as u64..end as u64,
        batch_rows: usize::try_from(batch_rows).unwrap_or(1),
        any_case,
    };
    Ok(SCANS.open(FILES.get(file)?.scan(&request)?))
}

fn next<'l>(_: &mut Env<'l>, _: This<'l>, scan: jlong) -> Result<jlong> {
    SCANS.get(scan)?.next()
}

fn close_scan<'l>(_: &mut Env<'l>, _: This<'l>, scan: jlong) -> Result<()> {
    SCANS.close(scan);
    Ok(())
}

fn create<'l>(
    env: &mut Env<'l>,
    _: This<'l>,
    output: JObject<'l>,
    schema: jlong,
    options: JObjectArray<'l, JString<'l>>,
) -> Result<jlong> {
    let mut texts = Vec::new();
    for i in 0..options.len(env)? {
        texts.push(options.get_element(env, i)?.try_to_string(env)?);
    }
    let pairs = texts.chunks_exact(2).filter_map(|pair| match pair {
        [key, value] => Some((key.clone(), value.clone())),
        _ => None,
    });
    let output = HostOutput(env.new_global_ref(&output)?);
    let pairs: Vec<_> = pairs.collect();
    let writer = BatchWriter::new(output, schema_at(schema)?, &pairs)?;
    Ok(WRITERS.open(writer))
}

fn write<'l>(_: &mut Env<'l>, _: This<'l>, writer: jlong, array: jlong) -> Result<()> {
    let writer = WRITERS.get(writer)?;
    // SAFETY: the host gives the address of an `ArrowArray` that it filled; it is moved out, and
    // released by its new owner alone.
    let array = unsafe { FFI_ArrowArray::from_raw(pointer(array)?) };
    // SAFETY: the host made the array for the schema that it gave the writer.
    let rows = unsafe { from_ffi_and_data_type(array, row_type(writer.schema())) }?;
    writer.write(StructArray::from(rows))
}

/// Bytes of the file.
fn finish<'l>(_: &mut Env<'l>, _: This<'l>, writer: jlong) -> Result<jlong> {
    let summary = WRITERS.take(writer)?.finish()?;
    Ok(summary.file_bytes as jlong)
}

fn close_writer<'l>(_: &mut Env<'l>, _: This<'l>, writer: jlong) -> Result<()> {
    WRITERS.close(writer);
    Ok(())
}

/// Number of objects that are not closed yet, for tests.
fn open_handles<'l>(_: &mut Env<'l>, _: This<'l>) -> Result<jint> {
    Ok((FILES.len() + SCANS.len() + WRITERS.len()) as jint)
}

/// The schema at an address.
fn schema_at(address: jlong) -> Result<SchemaRef> {
    // SAFETY: as for an array.
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer(address)?) };
    Schema::try_from(&schema).map(Arc::new).map_err(Error::from)
}

/// The address of a struct of the host, which is never 0.
fn pointer<T>(address: jlong) -> Result<*mut T> {
    if address == 0 {
        return Err(Error::Invalid(
            "the address of a struct expected, found 0".to_owned(),
        ));
    }
    Ok(address as *mut T)
}
