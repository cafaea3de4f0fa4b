//! Errors and panics of the library as Python exceptions; all calls of the library pass through `run`.
//!
//! `python/staffa/errors.py` defines the classes: an exception with two bases (`InvalidArgumentError` is
//! also a `ValueError`) is one line of Python.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use staffa::{Cancel, Error, Place};

use crate::fork::on_own_threads;

/// Runs `work` without the GIL; an error becomes its exception, a panic an `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> staffa::Result<T> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(|| on_own_threads(work)))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(exception(py, error)),
        Err(payload) => Err(new(py, "InternalError", &panicked(&*payload), None)),
    }
}

/// How often a thread that waits looks for Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// As `run`, on another thread, while this one looks for Ctrl-C, which sets `cancel`: signals reach Python
/// only on its main thread. The exception of the signal's handler counts, not what the work makes of it.
pub(crate) fn run_interruptibly<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> staffa::Result<T> + Send,
) -> PyResult<T> {
    let work = || {
        CANCEL.set(Some(cancel.clone()));
        catch_unwind(AssertUnwindSafe(|| on_own_threads(work)))
    };
    let (done, interrupted) = py.detach(|| {
        thread::scope(|scope| {
            let (finished, wait) = channel::<()>();
            let worker = scope.spawn(move || {
                // Dropped at the end of the work: the wait ends.
                let _finished = finished;
                work()
            });
            let mut interrupted = None;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(SIGNALS) {
                if let Err(error) = signals() {
                    cancel.cancel();
                    interrupted = Some(error);
                    break;
                }
            }
            (worker.join(), interrupted)
        })
    });
    match (interrupted, done) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(Ok(value)))) => Ok(value),
        (None, Ok(Ok(Err(error)))) => Err(exception(py, error)),
        (None, Ok(Err(payload)) | Err(payload)) => {
            Err(new(py, "InternalError", &panicked(&*payload), None))
        }
    }
}

/// Runs the handlers of signals that have arrived, on Python's main thread.
fn signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

thread_local! {
    /// What ends the work of this thread, if another one looks for signals meanwhile.
    static CANCEL: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// An error with the exception of a signal's handler, such as `KeyboardInterrupt`, or once where another thread
/// had it: what cleans up afterwards may wait.
pub(crate) fn no_signal() -> io::Result<()> {
    if CANCEL.with_borrow_mut(|own| own.take_if(|cancel| cancel.is_cancelled()).is_some()) {
        return Err(io::Error::from(ErrorKind::Interrupted));
    }
    signals().map_err(io::Error::other)
}

/// Runs work on Python objects, with the GIL.
pub(crate) fn run_attached<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(new(py, "InternalError", &panicked(&*payload), None)))
}

/// The message of a panic, for a user.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> String {
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("internal error ({what}); please report it")
}

/// The exception for an invalid argument.
pub(crate) fn invalid(py: Python<'_>, what: &str) -> PyErr {
    new(py, "InvalidArgumentError", what, None)
}

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Corrupt { place, .. } => new(py, "CorruptError", &message, Some(&place)),
        Error::Truncated { place, .. } => new(py, "TruncatedError", &message, Some(&place)),
        Error::Unsupported { place, .. } => new(py, "UnsupportedError", &message, Some(&place)),
        Error::Limit { place, .. } => new(py, "LimitError", &message, Some(&place)),
        Error::InvalidArgument(_) | Error::InvalidValue(_) => {
            new(py, "InvalidArgumentError", &message, None)
        }
        Error::Internal { place, .. } => new(py, "InternalError", &message, Some(&place)),
        Error::Io { path, source } => {
            let raised = source.get_ref();
            match raised.and_then(|inner| inner.downcast_ref::<PyErr>()) {
                Some(raised) => raised.clone_ref(py),
                None => os_error(path.as_deref(), &source, message),
            }
        }
        _ => new(py, "StaffaError", &message, None),
    }
}

/// An instance of `staffa.errors.<class>`, with the place as attributes.
fn new(py: Python<'_>, class: &str, message: &str, place: Option<&Place>) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let exception = py
            .import("staffa.errors")?
            .getattr(class)?
            .call1((message,))?;
        if let Some(place) = place {
            exception.setattr("path", place.path.as_deref())?;
            exception.setattr("column", place.column.as_deref())?;
            exception.setattr("row_group", place.row_group)?;
            exception.setattr("block", place.block)?;
            exception.setattr("offset", place.offset)?;
        }
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|error| error)
}

/// `OSError(errno, text, path)` becomes a `FileNotFoundError`, a `PermissionError` and so on.
fn os_error(path: Option<&Path>, source: &std::io::Error, message: String) -> PyErr {
    // An error wrapped by another crate has lost its number but not its kind. These numbers are the same
    // on all Unix systems.
    let errno = source.raw_os_error().or(match source.kind() {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::AlreadyExists => Some(17),
        ErrorKind::NotADirectory => Some(20),
        ErrorKind::IsADirectory => Some(21),
        ErrorKind::StorageFull => Some(28),
        ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    });
    let Some(errno) = errno else {
        return PyOSError::new_err(message);
    };
    // Rust appends "(os error 2)"; Python prints the number itself.
    let text = source.to_string();
    let text = text
        .split_once(" (os error")
        .map_or(text.as_str(), |(text, _)| text);
    let text = text.to_owned();
    match path {
        Some(path) => PyOSError::new_err((errno, text, path.as_os_str().to_owned())),
        None => PyOSError::new_err((errno, text)),
    }
}
