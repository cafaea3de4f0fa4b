//! What went wrong, as a number for programs.

use arrow_schema::ArrowError;
use staffa::Error;

use crate::border::StaffaCode;

/// The code of an error.
pub(crate) fn code_of(error: &Error) -> StaffaCode {
    match error {
        Error::Corrupt { .. } => StaffaCode::Corrupt,
        Error::Truncated { .. } => StaffaCode::Truncated,
        Error::Unsupported { .. } => StaffaCode::Unsupported,
        Error::Limit { .. } => StaffaCode::Limit,
        Error::InvalidArgument(_) => StaffaCode::InvalidArgument,
        Error::InvalidValue(_) => StaffaCode::InvalidValue,
        Error::Cancelled => StaffaCode::Cancelled,
        Error::Io { .. } => StaffaCode::Io,
        Error::Arrow(_) => StaffaCode::Arrow,
        _ => StaffaCode::Internal,
    }
}

/// The same error for a stream of Arrow's C interface, which knows `EIO`, `ENOMEM`, `ENOSYS` and
/// `EINVAL`.
pub(crate) fn for_stream(error: Error) -> ArrowError {
    // Arrow ends a message at NUL.
    let text = |error: &Error| error.to_string().replace('\0', "\\0");
    match error {
        Error::Arrow(error) => error,
        Error::Io { ref source, .. } => {
            let kind = std::io::Error::from(source.kind());
            ArrowError::IoError(text(&error), kind)
        }
        Error::Limit { .. } => ArrowError::MemoryError(text(&error)),
        Error::Unsupported { .. } => ArrowError::NotYetImplemented(text(&error)),
        other => ArrowError::ExternalError(text(&other).into()),
    }
}
