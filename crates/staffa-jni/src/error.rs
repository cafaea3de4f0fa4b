//! Errors as Java exceptions: the class follows what the caller can do.

use std::any::Any;
use std::fmt;
use std::io;

use arrow_schema::ArrowError;
use jni::errors::{Error as JniError, ErrorPolicy};
use jni::objects::JThrowable;
use jni::refs::Global;
use jni::strings::{JNIStr, JNIString};
use jni::{Env, jni_str};

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a native call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Staffa(#[from] staffa::Error),
    /// A type that Spark lacks, or one other than the schema that was given says.
    #[error("{0}")]
    Mismatch(String),
    #[error("the {0} is closed")]
    Closed(&'static str),
    #[error("{0}")]
    Invalid(String),
    /// Of the virtual machine; an exception of the host passes through.
    #[error(transparent)]
    Jni(#[from] JniError),
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Staffa(error.into())
    }
}

/// An exception of the host, on its way through the library.
pub(crate) struct HostException(pub Global<JThrowable<'static>>, pub String);

impl fmt::Debug for HostException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl fmt::Display for HostException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for HostException {}

/// An error of a call to the host as one of the system.
pub(crate) fn to_io(error: JniError) -> io::Error {
    match error {
        JniError::CaughtJavaException {
            exception,
            name,
            msg,
            ..
        } => io::Error::other(HostException(exception, format!("{name}: {msg}"))),
        other => io::Error::other(other.to_string()),
    }
}

/// Throws errors and panics as exceptions.
pub(crate) struct Throw;

impl<T: Default> ErrorPolicy<T, Error> for Throw {
    type Captures<'local: 'native, 'native> = ();

    fn on_error<'local: 'native, 'native>(
        env: &mut Env<'local>,
        (): &mut Self::Captures<'local, 'native>,
        error: Error,
    ) -> jni::errors::Result<T> {
        if let Some(thrown) = host_exception(&error) {
            let _ = env.throw(thrown);
        } else if !env.exception_check() {
            let _ = env.throw_new(class_of(&error), JNIString::from(error.to_string()));
        }
        Ok(T::default())
    }

    fn on_panic<'local: 'native, 'native>(
        env: &mut Env<'local>,
        (): &mut Self::Captures<'local, 'native>,
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let message = format!(
            "{}: a mistake in Staffa, please report this",
            text.as_deref().unwrap_or("panic")
        );
        let _ = env.throw_new(
            jni_str!("java/lang/IllegalStateException"),
            JNIString::from(message),
        );
        Ok(T::default())
    }
}

/// The exception of the host behind an error, if there is one.
fn host_exception(error: &Error) -> Option<&Global<JThrowable<'static>>> {
    match error {
        Error::Staffa(staffa::Error::Io { source, .. }) => {
            let host = source.get_ref()?.downcast_ref::<HostException>()?;
            Some(&host.0)
        }
        _ => None,
    }
}

fn class_of(error: &Error) -> &'static JNIStr {
    use staffa::Error as E;
    match error {
        Error::Staffa(E::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            jni_str!("java/io/FileNotFoundException")
        }
        Error::Staffa(E::Corrupt { .. } | E::Truncated { .. } | E::Limit { .. } | E::Io { .. }) => {
            jni_str!("java/io/IOException")
        }
        Error::Staffa(E::Unsupported { .. }) => {
            jni_str!("java/lang/UnsupportedOperationException")
        }
        Error::Staffa(E::InvalidArgument(_) | E::InvalidValue(_))
        | Error::Mismatch(_)
        | Error::Invalid(_) => jni_str!("java/lang/IllegalArgumentException"),
        Error::Staffa(_) | Error::Closed(_) | Error::Jni(_) => {
            jni_str!("java/lang/IllegalStateException")
        }
    }
}
