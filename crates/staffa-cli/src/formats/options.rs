//! The options for input that is not Staffa.

use std::path::PathBuf;

use clap::Args;

use super::column_names::{ColumnNames, column_names};
use super::csv::DateOrder;
use super::format::Format;

/// How to read input that is not Staffa.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct ReadOptions {
    /// Format of the input, if its file ending does not say: staffa, parquet, csv, json, arrow,
    /// arrows
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) from: Option<Format>,
    /// CSV and JSON lines: infer the types from the first N rows; 0 reads all rows twice
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) infer_rows: usize,
    /// CSV, JSON lines and keys of folders: read these columns as text; a name in double quotes may
    /// hold a comma
    #[arg(long, value_name = "A,B", value_parser = column_names)]
    text: Vec<ColumnNames>,
    /// CSV and JSON lines: leave rows out that do not parse, and write them to FILE with their lines
    #[arg(long, value_name = "FILE")]
    pub(crate) skip_bad_rows: Option<PathBuf>,
    /// CSV and JSON lines: encoding of the text, as in latin1, utf-16le or gbk [default: UTF-8
    /// or UTF-16; bytes that are not UTF-8 are read as windows-1252]
    #[arg(long, value_name = "NAME", value_parser = charset)]
    pub(crate) charset: Option<&'static encoding_rs::Encoding>,
    /// CSV: text that means NULL besides an empty field (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) csv_null: Vec<String>,
    /// CSV: field delimiter; `tab` or `\t` for a tab [default: the one of , ; | and tab that fits]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// CSV: quote around fields [default: " or ', whichever is used]
    #[arg(long, value_name = "CHAR", value_parser = ascii)]
    pub(crate) quote: Option<u8>,
    /// CSV: lines that begin with CHAR are comments [default: # in lines above the table]
    #[arg(long, value_name = "CHAR", value_parser = ascii)]
    pub(crate) comment: Option<u8>,
    /// CSV: the first line holds column names, even if they look like values
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// CSV: the first line holds values, not column names
    #[arg(long)]
    no_header: bool,
    /// CSV: order of dates such as 05/01/2024: dmy or mdy [default: the one that fits all values, else
    /// the column is text]
    #[arg(long, value_name = "ORDER", hide_possible_values = true)]
    pub(crate) dates: Option<DateOrder>,
    /// CSV and JSON lines: dates and times stay text
    #[arg(long, conflicts_with = "dates")]
    pub(crate) no_dates: bool,
    /// Of several files: leave those out, and name them, that are damaged so that they do not open
    #[arg(long)]
    pub(crate) skip_damaged: bool,
    /// Folders named key=value are not columns
    #[arg(long)]
    pub(crate) no_hive: bool,
}

/// Whether the first line of CSV holds the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderLine {
    Present,
    Absent,
    Unknown,
}

impl ReadOptions {
    pub(crate) fn header(&self) -> HeaderLine {
        match (self.header, self.no_header) {
            (true, _) => HeaderLine::Present,
            (_, true) => HeaderLine::Absent,
            _ => HeaderLine::Unknown,
        }
    }

    /// The columns to read as text.
    pub(crate) fn text_columns(&self) -> impl Iterator<Item = &String> {
        self.text.iter().flat_map(|names| &names.0)
    }

    pub(crate) fn is_text(&self, column: &str) -> bool {
        self.text_columns().any(|name| name == column)
    }
}

fn ascii(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err("expected one ASCII character other than a line end".into()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "\"" => Err("expected a delimiter other than a double quote".into()),
        _ => ascii(text).map_err(|expected| format!("{expected}, or `tab`")),
    }
}

fn charset(name: &str) -> Result<&'static encoding_rs::Encoding, String> {
    encoding_rs::Encoding::for_label(name.as_bytes()).ok_or_else(|| {
        format!("expected the name of an encoding, as in latin1, utf-16le or gbk, found {name:?}")
    })
}

#[cfg(test)]
impl ReadOptions {
    /// Infers types from so many rows.
    pub(crate) fn inferring(infer_rows: usize) -> Self {
        Self {
            infer_rows,
            ..Self::default()
        }
    }

    pub(crate) fn with_text(mut self, column: &str) -> Self {
        self.text.push(ColumnNames(vec![column.into()]));
        self
    }

    pub(crate) fn without_header(mut self) -> Self {
        self.no_header = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_parse() {
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter(";"), Ok(b';'));
        assert!(delimiter("ab").is_err() && delimiter("\"").is_err() && delimiter("é").is_err());
    }

    #[test]
    fn charsets_have_their_usual_names() {
        for name in ["latin1", "utf-8", "UTF-16LE", "windows-1252", "iso-8859-15"] {
            assert!(charset(name).is_ok(), "{name}");
        }
        assert!(charset("utf-7").is_err());
    }
}
