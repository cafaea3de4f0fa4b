//! The file formats, by name and by file ending.

use std::path::Path;

use clap::ValueEnum;

use crate::error::{Failure, Result};
use crate::files::STANDARD;
use crate::files::compression::Compression;
use crate::files::input::check_url;

/// A file format by the name that `--from` and `--to` take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Staffa,
    Parquet,
    Csv,
    #[value(aliases = ["jsonl", "ndjson"])]
    Json,
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    Arrows,
}

impl Format {
    const ENDINGS: [(&str, Self); 13] = [
        ("staffa", Self::Staffa),
        ("parquet", Self::Parquet),
        ("pq", Self::Parquet),
        ("csv", Self::Csv),
        ("tsv", Self::Csv),
        ("jsonl", Self::Json),
        ("ndjson", Self::Json),
        ("json", Self::Json),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
        ("arrows", Self::Arrows),
        ("stream", Self::Arrows),
    ];

    /// The format given by `option`, else that of the file ending.
    pub(crate) fn of(path: &Path, given: Option<Self>, option: &str) -> Result<Self> {
        check_url(path)?;
        if let Some(format) = given {
            return Ok(format);
        }
        if path == Path::new(STANDARD) {
            return Err(Failure::usage(format!(
                "`-` needs a format, as in {option} csv"
            )));
        }
        Self::by_ending(path).ok_or_else(|| {
            Failure::usage(format!(
                "{}: the file ending names no format; use .staffa, .parquet, .csv, .jsonl or \
                 .arrow, or {option} FORMAT",
                path.display()
            ))
        })
    }

    /// The format of the file ending. Text may be compressed: `.csv.gz`.
    fn by_ending(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_string_lossy().to_lowercase();
        if Compression::of(path).is_some() {
            let inner = Self::by_ending(Path::new(path.file_stem()?));
            return inner.filter(|format| format.is_text());
        }
        let known = Self::ENDINGS.iter().find(|(known, _)| *known == ending);
        known.map(|(_, format)| *format)
    }

    /// Whether the file ending names a format.
    pub(crate) fn is_known(path: &Path) -> bool {
        Self::by_ending(path).is_some()
    }

    /// Whether types are inferred from text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Staffa => "Staffa",
            Self::Parquet => "Parquet",
            Self::Csv => "CSV",
            Self::Json => "JSON lines",
            Self::Arrow => "Arrow file",
            Self::Arrows => "Arrow stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_ending_or_by_option() {
        let of = |path: &str, given| Format::of(Path::new(path), given, "--from").ok();
        assert_eq!(of("a.b.PARQUET", None), Some(Format::Parquet));
        assert_eq!(of("a.ndjson", None), Some(Format::Json));
        assert_eq!(of("a.txt", None), None);
        assert_eq!(of("a", None), None);
        assert_eq!(of("a.txt", Some(Format::Csv)), Some(Format::Csv));
        assert_eq!(of("-", None), None);
        assert_eq!(of("a.csv.gz", None), Some(Format::Csv));
        assert_eq!(of("a.jsonl.zst", None), Some(Format::Json));
        assert_eq!(of("a.parquet.gz", None), None);
    }
}
