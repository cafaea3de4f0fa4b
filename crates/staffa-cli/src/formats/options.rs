//! The options for input that is not Staffa.

use clap::Args;

use super::format::Format;

/// How to read input that is not Staffa.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadOptions {
    /// Format of the input, if its file ending does not say: staffa, parquet, csv, json, arrow,
    /// arrows
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) from: Option<Format>,
    /// CSV and JSON lines: infer the types from the first N rows; 0 reads all rows twice
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) infer_rows: usize,
    /// CSV and JSON lines: read these columns as text
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) text: Vec<String>,
    /// CSV: text that means NULL (repeatable) [default: an empty field]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) csv_null: Vec<String>,
    /// CSV: field delimiter; `tab` or `\t` for a tab [default: a comma, in .tsv a tab]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// CSV: the first line holds values, not column names
    #[arg(long)]
    pub(crate) no_header: bool,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err(
                "expected one ASCII character other than a quote or a line end, or `tab`".into(),
            ),
        },
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
}
