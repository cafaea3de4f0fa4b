//! The dialect of a CSV file.

use std::path::Path;

use super::sniff;
use crate::formats::options::{HeaderLine, ReadOptions};

/// What the bytes of a CSV file mean.
#[derive(Debug, Clone)]
pub(crate) struct CsvDialect {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    /// Lines that begin with it are passed over.
    pub(super) comment: Option<u8>,
    /// Texts of NULL besides an empty field; the first one is written.
    pub(super) nulls: Vec<String>,
    pub(super) header: bool,
}

impl Default for CsvDialect {
    fn default() -> Self {
        Self {
            delimiter: b',',
            quote: b'"',
            comment: None,
            nulls: Vec::new(),
            header: true,
        }
    }
}

impl CsvDialect {
    /// The dialect to write a file with: tabs for `.tsv`, commas otherwise.
    pub(crate) fn of_output(path: &Path, options: &ReadOptions) -> Self {
        Self {
            delimiter: options.delimiter.unwrap_or(delimiter_of(path)),
            quote: options.quote.unwrap_or(b'"'),
            comment: None,
            nulls: options.csv_null.clone(),
            header: options.header() != HeaderLine::Absent,
        }
    }

    /// The dialect of a file that begins with `start`: as given, else as found.
    pub(super) fn of_input(path: &Path, start: &[u8], options: &ReadOptions) -> Self {
        let usual = delimiter_of(path);
        let mut dialect = Self {
            nulls: options.csv_null.clone(),
            comment: options.comment.or_else(|| sniff::comment(start)),
            ..Self::default()
        };
        let (delimiter, quote) = sniff::separators(start, &dialect, usual, options);
        dialect.delimiter = delimiter;
        dialect.quote = quote;
        dialect.header = match options.header() {
            HeaderLine::Present => true,
            HeaderLine::Absent => false,
            HeaderLine::Unknown => !sniff::begins_with_values(start, &dialect),
        };
        dialect
    }

    /// Commas and a header line.
    pub(crate) fn with_nulls(nulls: &[String]) -> Self {
        Self {
            nulls: nulls.to_vec(),
            ..Self::default()
        }
    }

    /// Whether a field without quotes is NULL.
    pub(super) fn is_null(&self, field: &[u8]) -> bool {
        field.is_empty() || self.nulls.iter().any(|null| null.as_bytes() == field)
    }
}

fn delimiter_of(path: &Path) -> u8 {
    // `t.tsv.gz` as well.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name
        .split('.')
        .skip(1)
        .any(|ending| ending.eq_ignore_ascii_case("tsv"))
    {
        b'\t'
    } else {
        b','
    }
}
