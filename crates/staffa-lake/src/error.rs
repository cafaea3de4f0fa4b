//! Errors of stores as errors of Staffa: what happened and to which object, without secrets.

use std::io::{self, ErrorKind};

use object_store::Error as StoreError;
use staffa::Error;

const NOT_FOUND: &str = "no such object or bucket";
const DENIED: &str = "permission denied: the credentials do not allow it";

/// What happened, on one line, without the URL of the request, which may hold a signature.
///
/// ```
/// let denied = object_store::Error::PermissionDenied {
///     path: "t.staffa".to_owned(),
///     source: "GET https://bucket.example/t.staffa?signature=hidden".into(),
/// };
/// assert_eq!(
///     staffa_lake::message_of(&denied),
///     "permission denied: the credentials do not allow it"
/// );
/// ```
pub fn message_of(error: &StoreError) -> String {
    kind_of(error).1
}

/// An error of a store about the object of this name.
pub(crate) fn of_store(name: &str, error: &StoreError) -> Error {
    let (kind, what) = kind_of(error);
    Error::io(name, io::Error::new(kind, what))
}

fn kind_of(error: &StoreError) -> (ErrorKind, String) {
    match error {
        StoreError::NotFound { .. } => (ErrorKind::NotFound, NOT_FOUND.to_owned()),
        StoreError::PermissionDenied { .. } => (ErrorKind::PermissionDenied, DENIED.to_owned()),
        StoreError::Unauthenticated { .. } => {
            let what = "credentials are missing or not accepted";
            (ErrorKind::PermissionDenied, what.to_owned())
        }
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => {
            let what = "the object was changed while it was read";
            (ErrorKind::InvalidData, what.to_owned())
        }
        StoreError::AlreadyExists { .. } => {
            (ErrorKind::AlreadyExists, "the object exists".to_owned())
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            (ErrorKind::Unsupported, innermost(error))
        }
        _ => of_status(innermost(error)),
    }
}

/// The kind of an error that a client knows only by the status of an answer: those of listings.
fn of_status(said: String) -> (ErrorKind, String) {
    let has_status = |status: &str| said.contains(&format!("status code: {status} "));
    if has_status("404") {
        (ErrorKind::NotFound, NOT_FOUND.to_owned())
    } else if has_status("403") {
        (ErrorKind::PermissionDenied, DENIED.to_owned())
    } else {
        (ErrorKind::Other, said)
    }
}

/// The message of the innermost cause: those around it repeat the request, whose URL may hold a
/// signature.
fn innermost(error: &StoreError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
        // It names the key of the listing that no path can be.
        if cause.is::<object_store::path::Error>() {
            break;
        }
    }
    without_urls(&cause.to_string())
}

/// A message whose URLs end where their query begins.
fn without_urls(message: &str) -> String {
    let without = |word: &str| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => format!("{before}?..."),
        _ => word.to_owned(),
    };
    message
        .split(' ')
        .map(without)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_hold_no_signature() {
        let said = without_urls("GET https://b.example/k?X-Amz-Signature=abc failed: timeout");
        assert_eq!(said, "GET https://b.example/k?... failed: timeout");
    }
}
