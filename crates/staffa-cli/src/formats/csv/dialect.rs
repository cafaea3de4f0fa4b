//! The dialect of a CSV file.

use std::path::Path;

use arrow_csv::reader::Format as ArrowFormat;
use regex::Regex;

use crate::error::{Failure, Result};
use crate::formats::options::ReadOptions;

/// Delimiter, NULL texts and header line.
#[derive(Debug, Clone)]
pub(crate) struct CsvDialect {
    pub(super) delimiter: u8,
    pub(super) nulls: Vec<String>,
    pub(super) header: bool,
}

impl CsvDialect {
    /// The dialect of a file: tabs for `.tsv`, commas otherwise.
    pub(crate) fn of(path: &Path, options: &ReadOptions) -> Self {
        let tabs = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
        Self {
            delimiter: options.delimiter.unwrap_or(if tabs { b'\t' } else { b',' }),
            nulls: options.csv_null.clone(),
            header: !options.no_header,
        }
    }

    /// Commas and a header line.
    pub(crate) fn with_nulls(nulls: &[String]) -> Self {
        Self {
            delimiter: b',',
            nulls: nulls.to_vec(),
            header: true,
        }
    }

    /// The dialect for Arrow's reader.
    pub(super) fn to_arrow(&self) -> Result<ArrowFormat> {
        let format = ArrowFormat::default()
            .with_header(self.header)
            .with_delimiter(self.delimiter);
        if self.nulls.is_empty() {
            return Ok(format);
        }
        let texts = self
            .nulls
            .iter()
            .map(|text| regex::escape(text))
            .collect::<Vec<_>>()
            .join("|");
        let pattern = Regex::new(&format!("^(?:{texts})$"))
            .map_err(|error| Failure::usage(format!("--csv-null: {error}")))?;
        Ok(format.with_null_regex(pattern))
    }
}
