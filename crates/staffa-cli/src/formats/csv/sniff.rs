//! The dialect of a CSV file, found in its first bytes. What is not certain stays as usual: a comma,
//! a double quote, a header line.

use super::dialect::CsvDialect;
use super::kind::Kind;
use super::records::{Fields, Records};
use crate::formats::options::ReadOptions;

/// Records that are looked at.
const RECORDS: usize = 200;
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// `#`, if the text begins with lines of it that are no header: they have other numbers of fields
/// than the line that follows, whatever the delimiter.
pub(super) fn comment(start: &[u8]) -> Option<u8> {
    let mut lines = start.split(|byte| *byte == b'\n');
    let comments: Vec<&[u8]> = lines
        .by_ref()
        .take_while(|line| line.starts_with(b"#"))
        .collect();
    // `take_while` has taken the line after them.
    let after = start
        .split(|byte| *byte == b'\n')
        .nth(comments.len())
        .filter(|line| !line.is_empty())?;
    let count = |line: &[u8], delimiter| line.iter().filter(|byte| **byte == delimiter).count();
    let alike = |line: &[u8]| {
        DELIMITERS.iter().any(|delimiter| {
            count(after, *delimiter) > 0 && count(line, *delimiter) == count(after, *delimiter)
        })
    };
    let any_delimiter = DELIMITERS
        .iter()
        .any(|delimiter| count(after, *delimiter) > 0);
    (!comments.is_empty() && any_delimiter && !comments.iter().any(|line| alike(line)))
        .then_some(b'#')
}

/// Delimiter and quote: as given, else as found, else as usual.
pub(super) fn separators(
    start: &[u8],
    dialect: &CsvDialect,
    usual: u8,
    options: &ReadOptions,
) -> (u8, u8) {
    let with = |delimiter: u8, quote: u8| CsvDialect {
        delimiter,
        quote,
        ..dialect.clone()
    };
    let quote = options.quote.unwrap_or(b'"');
    let delimiter = options.delimiter.unwrap_or_else(|| {
        let others = DELIMITERS.into_iter().filter(|other| *other != usual);
        std::iter::once(usual)
            .chain(others)
            .find(|delimiter| is_table(&records(start, &with(*delimiter, quote))))
            .unwrap_or(usual)
    });
    let single = options.quote.is_none()
        && !start.contains(&b'"')
        && is_quoted(&records(start, &with(delimiter, b'\0')), b'\'');
    (delimiter, if single { b'\'' } else { quote })
}

/// Whether the first line holds values, no names: all of them are numbers, dates or empty, and one is
/// nothing that could be the name of a column, as a year could.
pub(super) fn begins_with_values(start: &[u8], dialect: &CsvDialect) -> bool {
    let fields = records(start, dialect);
    let kinds: Vec<Kind> = (0..fields.width(0))
        .filter_map(|column| {
            std::str::from_utf8(fields.get(0, column).0)
                .ok()
                .map(Kind::of)
        })
        .collect();
    let no_name = |kind: &Kind| matches!(kind, Kind::Float | Kind::Time { .. } | Kind::NegativeInt);
    fields.len() > 1
        && kinds.len() == fields.width(0)
        && kinds
            .iter()
            .all(|kind| !matches!(kind, Kind::Text | Kind::Boolean))
        && kinds.iter().any(no_name)
}

/// The first records. The last one may be cut, and is left out.
fn records(start: &[u8], dialect: &CsvDialect) -> Fields {
    let whole = start.len() < super::SNIFFED_BYTES;
    let mut records = Records::new(start, dialect);
    let mut fields = Fields::default();
    while fields.len() < RECORDS && matches!(records.next(&mut fields), Ok(true)) {}
    if !whole && fields.len() < RECORDS {
        fields.pop();
    }
    fields
}

/// Whether all records have the same number of fields, and more than one.
fn is_table(fields: &Fields) -> bool {
    let width = fields.width(0);
    width > 1 && (1..fields.len()).all(|row| fields.width(row) == width)
}

/// Whether the fields of a column below the first line are all in these quotes.
fn is_quoted(fields: &Fields, quote: u8) -> bool {
    let in_quotes = |field: &[u8]| {
        field.len() >= 2 && field.first() == Some(&quote) && field.last() == Some(&quote)
    };
    (0..fields.width(0)).any(|column| {
        let mut values = (1..fields.len())
            .map(|row| fields.get(row, column).0)
            .filter(|field| !field.is_empty())
            .peekable();
        values.peek().is_some() && values.all(in_quotes)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(text: &str) -> CsvDialect {
        CsvDialect::of_input(Path::new("t.csv"), text.as_bytes(), &ReadOptions::default())
    }

    #[test]
    fn dialects_are_found_where_they_are_certain() {
        assert_eq!(found("a;b\n1,5;2,5\n").delimiter, b';');
        assert_eq!(found("a\tb\n1\t2\n").delimiter, b'\t');
        assert_eq!(found("a,b\n1;2,3\n").delimiter, b',');
        assert_eq!(found("text\nwell, yes\nno\n").delimiter, b',');
        assert_eq!(found("a,b\n'x,y',1\n'z',2\n").quote, b'"');
        assert_eq!(found("a,b\n'x',1\n'z',2\n").quote, b'\'');
        assert_eq!(found("a,b\n'tis,1\nno,2\n").quote, b'"');
        assert_eq!(found("# a note\na,b\n1,2\n").comment, Some(b'#'));
        assert_eq!(found("#id,name\n1,x\n").comment, None);
        assert!(!found("1.5,2\n2.5,3\n").header);
        assert!(!found("2024-01-05,-2\n2024-01-06,3\n").header);
        assert!(found("2019,2020\n1,2\n").header);
        assert!(found("a,1.5\n1,2\n").header);
        assert!(found("1.5,2\n").header);
    }
}
