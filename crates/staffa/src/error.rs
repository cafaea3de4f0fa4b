//! Errors, by what the caller can do about them.
//!
//! A message has the place, the value expected and the value found:
//! `block 7 of column "price" at byte 8000: run ends must increase, found 12 after 12`.

use std::fmt;
use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use staffa_kernels::StringsError;

/// Result of everything in Staffa that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Place of an error. Every part is optional; those that are known are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// The leaf column, by its path.
    pub column: Option<String>,
    /// The row group, counted from 0.
    pub row_group: Option<usize>,
    /// The block within the column chunk, counted from 0.
    pub block: Option<usize>,
    /// The byte offset in the file.
    pub offset: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        let mut parts = Vec::new();
        if let Some(block) = self.block {
            parts.push(format!("block {block}"));
        }
        if let Some(row_group) = self.row_group {
            parts.push(format!("row group {row_group}"));
        }
        if let Some(column) = &self.column {
            parts.push(format!("column {column:?}"));
        }
        let of = (!parts.is_empty()).then(|| parts.join(" of "));
        let at = self.offset.map(|offset| format!("at byte {offset}"));
        let place: Vec<String> = of.into_iter().chain(at).collect();
        if place.is_empty() {
            return Ok(());
        }
        write!(f, "{}: ", place.join(" "))
    }
}

/// Every error of Staffa.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that no Staffa writer makes: a checksum or a structure does not hold.
    #[error("{place}{what}")]
    Corrupt {
        /// What was found and what was expected.
        what: String,
        /// Where.
        place: Box<Place>,
    },
    /// Bytes that end too early.
    #[error("{place}{what}")]
    Truncated {
        /// What was found and what was expected.
        what: String,
        /// Where.
        place: Box<Place>,
    },
    /// A type, a format version or an encoding that this release does not know.
    #[error("{place}{what}")]
    Unsupported {
        /// What was found, and what this release knows.
        what: String,
        /// Where.
        place: Box<Place>,
    },
    /// More than [`Limits`](crate::Limits) allow, or than the format can hold.
    #[error("{place}{what}")]
    Limit {
        /// What was found and what is allowed.
        what: String,
        /// Where.
        place: Box<Place>,
    },
    /// A state that Staffa's own code rules out for any file and any arguments: a mistake in Staffa,
    /// whose message asks to report it. The same call fails again; no other value was returned.
    #[error("{place}{what}: a mistake in Staffa, please report this")]
    Internal {
        /// What was found and what was expected.
        what: String,
        /// Where.
        place: Box<Place>,
    },
    /// A request that makes no sense for this table: an unknown column, a row out of range.
    #[error("{0}")]
    InvalidArgument(String),
    /// Rows given to a writer that their types or the declared order rule out.
    #[error("{0}")]
    InvalidValue(String),
    /// The caller set [`Cancel`](crate::Cancel).
    #[error("cancelled")]
    Cancelled,
    /// A read or a write that the system refused.
    #[error("{}: {source}", path.as_deref().unwrap_or(Path::new("I/O")).display())]
    Io {
        /// The file, if it is known.
        path: Option<PathBuf>,
        /// The system's error.
        source: std::io::Error,
    },
    /// An error of Arrow: offsets too large for a type, for example.
    #[error("Arrow: {0}")]
    Arrow(#[source] ArrowError),
}

impl Error {
    /// A structure that does not hold.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt {
            what: what.into(),
            place: Box::default(),
        }
    }

    /// Bytes that end too early.
    pub fn truncated(what: impl Into<String>) -> Self {
        Self::Truncated {
            what: what.into(),
            place: Box::default(),
        }
    }

    /// Something that this release does not know.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported {
            what: what.into(),
            place: Box::default(),
        }
    }

    /// More than is allowed.
    pub fn limit(what: impl Into<String>) -> Self {
        Self::Limit {
            what: what.into(),
            place: Box::default(),
        }
    }

    /// A state that the code rules out.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal {
            what: what.into(),
            place: Box::default(),
        }
    }

    /// A request that makes no sense.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidArgument(what.into())
    }

    /// An error of the system, with the file.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: Some(path.into()),
            source,
        }
    }

    /// Puts the part before the message: `dictionary: codes: ...`.
    #[must_use]
    pub fn within(mut self, part: &str) -> Self {
        if let Self::Corrupt { what, .. }
        | Self::Truncated { what, .. }
        | Self::Unsupported { what, .. }
        | Self::Limit { what, .. }
        | Self::Internal { what, .. } = &mut self
        {
            what.insert_str(0, &format!("{part}: "));
        }
        self
    }

    /// Adds to the place; parts that are known already stay.
    #[must_use]
    pub fn at(mut self, add: impl FnOnce(&mut Place)) -> Self {
        if let Self::Corrupt { place, .. }
        | Self::Truncated { place, .. }
        | Self::Unsupported { place, .. }
        | Self::Limit { place, .. }
        | Self::Internal { place, .. } = &mut self
        {
            let mut outer = Place::default();
            add(&mut outer);
            place.path = place.path.take().or(outer.path);
            place.column = place.column.take().or(outer.column);
            place.row_group = place.row_group.or(outer.row_group);
            place.block = place.block.or(outer.block);
            place.offset = place.offset.or(outer.offset);
        }
        self
    }
}

impl From<ArrowError> for Error {
    /// An error of Staffa that Arrow has wrapped is unwrapped.
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(source) => source.downcast().map_or_else(
                |source| Self::Arrow(ArrowError::ExternalError(source)),
                |own| *own,
            ),
            other => Self::Arrow(other),
        }
    }
}

impl From<Error> for ArrowError {
    /// An error of Arrow as it is, every other as [`ArrowError::ExternalError`].
    fn from(error: Error) -> Self {
        match error {
            Error::Arrow(error) => error,
            other => Self::ExternalError(Box::new(other)),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self::Io { path: None, source }
    }
}

impl From<StringsError> for Error {
    fn from(error: StringsError) -> Self {
        match error {
            StringsError::Long => Self::limit(error.to_string()),
            other => Self::corrupt(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_place_and_both_values() {
        let error = Error::corrupt("run ends must increase, found 12 after 12")
            .at(|p| p.block = Some(7))
            .at(|p| (p.column, p.block, p.offset) = (Some("price".into()), Some(1), Some(8000)));
        assert_eq!(
            error.to_string(),
            "block 7 of column \"price\" at byte 8000: run ends must increase, found 12 after 12"
        );
        let error = Error::corrupt("7 expected").at(|p| p.path = Some("a.staffa".into()));
        assert_eq!(error.to_string(), "a.staffa: 7 expected");
        let error = error.at(|p| p.offset = Some(9));
        assert_eq!(error.to_string(), "a.staffa: at byte 9: 7 expected");
    }

    #[test]
    fn errors_pass_through_arrow_and_back() {
        let wrapped = ArrowError::from(Error::corrupt("7 expected, found 8"));
        assert_eq!(wrapped.to_string(), "External error: 7 expected, found 8");
        assert!(matches!(Error::from(wrapped), Error::Corrupt { .. }));
        let arrows = ArrowError::from(Error::Arrow(ArrowError::DivideByZero));
        assert!(matches!(arrows, ArrowError::DivideByZero));
    }
}
