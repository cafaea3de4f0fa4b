//! What can go wrong, in one sentence, and the exit code that a script sees.
//!
//! Every failure of the program passes through here; `EXIT_CODES` is what `--help` prints.

use std::fmt;
use std::io;
use std::path::Path;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// The result of everything in this program that can fail.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; also where the reader of our output left early.
    Ok = 0,
    /// The data is bad: corrupt, truncated, not what its name says.
    Data = 1,
    /// The command makes no sense, by itself or for this table.
    Usage = 2,
    /// The system refused: no such file, no space, the output exists.
    Io = 3,
    /// A type, a format version or a size beyond what this release handles.
    Unsupported = 4,
    /// Ctrl-C or a request to terminate, as shells number it.
    Interrupted = 130,
}

/// The same for `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  all went well
  1  the data is bad: corrupt, truncated, or it does not parse
  2  the command makes no sense: an unknown option, column or encoding, a filter that does not parse
  3  the system refused: no such file, no space, the output exists already
  4  not supported: a type, a newer format version, or more than the limits allow";

/// One clear sentence and an exit code. An empty message is a quiet end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Data,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Unsupported,
            message: message.into(),
        }
    }

    pub(crate) fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            message: "interrupted, no file was written".into(),
        }
    }

    /// A refusal of the system. A closed pipe is no failure: whoever read our output had enough.
    pub(crate) fn io(place: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::Ok,
                message: String::new(),
            };
        }
        Self {
            exit: Exit::Io,
            message: format!("{place}: {}", system(error)),
        }
    }

    /// Something that the library says of the file at `path`.
    pub(crate) fn staffa(path: &Path, error: staffa::Error) -> Self {
        let shown = path.display();
        let exit = match &error {
            staffa::Error::Unsupported { .. } | staffa::Error::Limit { .. } => Exit::Unsupported,
            staffa::Error::InvalidArgument(_) => Exit::Usage,
            staffa::Error::Io { source, .. } => return Self::io(&shown.to_string(), source),
            staffa::Error::Arrow(error) => return Self::arrow(&shown.to_string(), error),
            _ => Exit::Data,
        };
        let message = error
            .at(|place| place.path = Some(path.to_path_buf()))
            .to_string();
        Self { exit, message }
    }

    /// Something that an Arrow reader or writer says of the file or stream called `place`.
    pub(crate) fn arrow(place: &str, error: &ArrowError) -> Self {
        let (exit, what) = match error {
            ArrowError::IoError(_, source) => return Self::io(place, source),
            ArrowError::ExternalError(inner) => return Self::external(place, inner.as_ref()),
            ArrowError::NotYetImplemented(what) => (Exit::Unsupported, what.clone()),
            ArrowError::MemoryError(_) | ArrowError::OffsetOverflowError(_) => {
                (Exit::Unsupported, error.to_string())
            }
            ArrowError::CsvError(what)
            | ArrowError::JsonError(what)
            | ArrowError::IpcError(what)
            | ArrowError::ParseError(what)
            | ArrowError::ParquetError(what)
            | ArrowError::SchemaError(what)
            | ArrowError::CastError(what)
            | ArrowError::ComputeError(what)
            | ArrowError::InvalidArgumentError(what) => (Exit::Data, what.clone()),
            other => (Exit::Data, other.to_string()),
        };
        let exit = if what.contains("not supported") {
            Exit::Unsupported
        } else {
            exit
        };
        Self {
            exit,
            message: format!("{place}: {what}"),
        }
    }

    /// Something that the Parquet reader or writer says of the file called `place`.
    pub(crate) fn parquet(place: &str, error: &ParquetError) -> Self {
        let (exit, what) = match error {
            ParquetError::NYI(what) => (Exit::Unsupported, what.clone()),
            ParquetError::External(inner) => return Self::external(place, inner.as_ref()),
            ParquetError::General(what) if what.contains("Disabled feature") => (
                Exit::Unsupported,
                format!("this Parquet file needs a codec that is not built in ({what})"),
            ),
            ParquetError::General(what)
            | ParquetError::EOF(what)
            | ParquetError::ArrowError(what) => (Exit::Data, what.clone()),
            other => (Exit::Data, other.to_string()),
        };
        Self {
            exit,
            message: format!("{place}: {what}"),
        }
    }

    fn external(place: &str, inner: &(dyn std::error::Error + 'static)) -> Self {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            Self::io(place, error)
        } else if let Some(error) = inner.downcast_ref::<ArrowError>() {
            Self::arrow(place, error)
        } else if let Some(error) = inner.downcast_ref::<ParquetError>() {
            Self::parquet(place, error)
        } else {
            Self::data(format!("{place}: {inner}"))
        }
    }
}

impl fmt::Display for Failure {
    /// One line, whatever a library put into its message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self
            .message
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        write!(f, "staffa: {}", line.trim_end_matches('.'))
    }
}

/// What is written straight to the standard output fails through here; files are named by
/// `Failure::io`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::io("the standard output", &error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

/// The system's words without the number behind them, which says nothing to most.
fn system(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_name_the_file_and_drop_the_number() {
        let failure = Failure::io("a.staffa", &io::Error::from_raw_os_error(2));
        assert_eq!(failure.exit, Exit::Io);
        assert_eq!(
            failure.to_string(),
            "staffa: a.staffa: no such file or directory"
        );
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_success() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((failure.exit, failure.message.as_str()), (Exit::Ok, ""));
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(Failure::data("a:\n  b\n  c.").to_string(), "staffa: a: b c");
    }

    #[test]
    fn errors_within_errors_keep_their_kind() {
        let inner = ArrowError::ExternalError(Box::new(io::Error::from_raw_os_error(28)));
        let failure = Failure::parquet("x", &ParquetError::External(Box::new(inner)));
        assert_eq!(
            (failure.exit, failure.message.as_str()),
            (Exit::Io, "x: no space left on device")
        );
    }
}
