//! Failures: one sentence and an exit code each.
//!
//! Every error of the program becomes a `Failure`; `--help` prints `EXIT_CODES`.

use std::fmt;
use std::io;
use std::path::Path;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// The result of a fallible function of this program.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success, also if the reader of the output closed it early.
    Ok = 0,
    /// Bad data: corrupt, truncated, or not of the format that the name says.
    Data = 1,
    /// A usage error, by itself or for this table.
    Usage = 2,
    /// A system error: no such file, no space, the output exists.
    Io = 3,
    /// A type, a format version or a size that this release does not support.
    Unsupported = 4,
    /// A mistake in this program.
    Internal = 5,
    /// Ctrl-C or SIGTERM, numbered as shells do.
    Interrupted = 130,
}

/// The exit codes, for `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  bad data: corrupt, truncated, it does not parse, or its type or order rules it out
  2  usage error: an unknown option, column or encoding, a filter that does not parse
  3  system error: no such file, no space, the output exists already
  4  not supported: a type, a newer format version, or a size beyond the limits
  5  a mistake in Staffa: please report it";

/// One sentence and an exit code. An empty message prints nothing.
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

    /// A state that no input should cause.
    pub(crate) fn internal(what: &str) -> Self {
        Self {
            exit: Exit::Internal,
            message: format!(
                "internal error: {what}; please report it with the file that caused it"
            ),
        }
    }

    /// The end of a command that has reported its failures already.
    pub(crate) fn reported(exit: Exit) -> Self {
        Self {
            exit,
            message: String::new(),
        }
    }

    /// A system error. A closed pipe is a success: the reader of the output has what it wanted. Data
    /// that ends too early, or does not decompress, is bad.
    pub(crate) fn io(place: &str, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => return Self::reported(Exit::Ok),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Exit::Data,
            _ => Exit::Io,
        };
        Self {
            exit,
            message: format!("{place}: {}", system_message(error)),
        }
    }

    /// An error of the library about the file at `path`.
    pub(crate) fn staffa(path: &Path, error: staffa::Error) -> Self {
        let shown = path.display();
        let exit = match &error {
            staffa::Error::Unsupported { .. } | staffa::Error::Limit { .. } => Exit::Unsupported,
            staffa::Error::InvalidArgument(_) => Exit::Usage,
            staffa::Error::Internal { .. } => Exit::Internal,
            staffa::Error::Cancelled => return Self::interrupted(),
            staffa::Error::Io { source, .. } => return Self::io(&shown.to_string(), source),
            staffa::Error::Arrow(error) => return Self::arrow(&shown.to_string(), error),
            _ => Exit::Data,
        };
        let message = error
            .at(|place| place.path = Some(path.to_path_buf()))
            .to_string();
        Self { exit, message }
    }

    /// An error of the library about a table, or about the file of it that the error names.
    pub(crate) fn of_table(path: &Path, error: staffa::Error) -> Self {
        let own = match &error {
            staffa::Error::Io { path, .. } => path.clone(),
            staffa::Error::Corrupt { place, .. }
            | staffa::Error::Truncated { place, .. }
            | staffa::Error::Unsupported { place, .. }
            | staffa::Error::Limit { place, .. }
            | staffa::Error::Internal { place, .. } => place.path.clone(),
            _ => None,
        };
        Self::staffa(own.as_deref().unwrap_or(path), error)
    }

    /// An error of the library about an input that may be read from a temporary copy, which is not what
    /// the message names.
    pub(crate) fn staffa_input(path: &Path, mut error: staffa::Error) -> Self {
        if let staffa::Error::Corrupt { place, .. }
        | staffa::Error::Truncated { place, .. }
        | staffa::Error::Unsupported { place, .. }
        | staffa::Error::Limit { place, .. }
        | staffa::Error::Internal { place, .. } = &mut error
        {
            place.path = None;
        }
        Self::staffa(path, error)
    }

    /// An error of an Arrow reader or writer about the file or stream named `place`.
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
        // What follows is for the authors of the reader.
        let what = what.split(", error_trace:").next().unwrap_or(&what);
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

    /// An error of the Parquet reader or writer about the file named `place`.
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
    /// One line, even if a library put line ends into its message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.message.split_whitespace().collect();
        let line = words.join(" ");
        write!(f, "staffa: {}", printable(line.trim_end_matches('.')))
    }
}

/// Text as one printable line: characters that control the terminal, end lines or set the direction of
/// the text are escaped.
pub(crate) fn printable(text: &str) -> String {
    let controls = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{61c}'
                    | '\u{200e}'
                    | '\u{200f}'
                    | '\u{2028}'..='\u{202e}'
                    | '\u{2066}'..='\u{206f}'
                    | '\u{fff9}'..='\u{fffb}'
            )
    };
    if !text.contains(controls) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if controls(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Errors of writing to the standard output; `Failure::io` names files.
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

/// The message of a system error without its number, which means nothing to most readers.
fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    // What a reader says that needs more bytes than there are.
    if text == "failed to fill whole buffer" {
        return "the data ends too early".into();
    }
    let text = text
        .split_once(" (os error")
        .map_or(text.as_str(), |(text, _)| text);
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
    fn a_mistake_in_staffa_has_its_own_exit_code() {
        let failure = Failure::staffa(Path::new("a.staffa"), staffa::Error::internal("no block 7"));
        assert_eq!(failure.exit, Exit::Internal);
        assert_eq!(
            failure.to_string(),
            "staffa: a.staffa: no block 7: a mistake in Staffa, please report this"
        );
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(Failure::data("a:\n  b\n  c.").to_string(), "staffa: a: b c");
    }

    #[test]
    fn names_in_messages_do_not_control_the_terminal() {
        let failure = Failure::usage("there is no column \u{1b}]0;x\u{7}\u{202e}");
        assert_eq!(
            failure.to_string(),
            "staffa: there is no column \\u{1b}]0;x\\u{7}\\u{202e}"
        );
    }

    #[test]
    fn data_that_ends_too_early_is_bad_data() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(Failure::io("a.arrows", &cut).exit, Exit::Data);
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
