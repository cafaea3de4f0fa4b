//! Bytes to records and fields.
//!
//! The usual parsers drop the quotes, with them the difference between `""` and NULL, and pass over
//! empty lines, which are NULLs of a table of one column. This one keeps both, and the line numbers.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3};

use super::dialect::CsvDialect;

/// Bytes read at once.
const CHUNK: usize = 1 << 18;
/// The longest record: beyond it, a quote was most likely never closed.
const MAX_RECORD: usize = 1 << 30;

/// The fields of some records, quotes removed.
#[derive(Debug, Default)]
pub(super) struct Fields {
    data: Vec<u8>,
    fields: Vec<Field>,
    records: Vec<Record>,
}

#[derive(Debug, Clone, Copy)]
struct Field {
    end: usize,
    quoted: bool,
}

/// The place of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    first_field: usize,
    fields: usize,
    /// The line of its first byte, counted from 1.
    pub(super) line: u64,
}

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn byte_len(&self) -> usize {
        self.data.len()
    }

    /// The number of fields of a record.
    pub(super) fn width(&self, row: usize) -> usize {
        self.records.get(row).map_or(0, |record| record.fields)
    }

    pub(super) fn line(&self, row: usize) -> u64 {
        self.records.get(row).map_or(0, |record| record.line)
    }

    /// The bytes of a field, and whether it was in quotes; an empty field if there is none.
    pub(super) fn get(&self, row: usize, column: usize) -> (&[u8], bool) {
        let Some(record) = self
            .records
            .get(row)
            .filter(|record| column < record.fields)
        else {
            return (&[], false);
        };
        let index = record.first_field + column;
        let start = index.checked_sub(1).map_or(0, |before| self.end(before));
        let quoted = self.fields.get(index).is_some_and(|field| field.quoted);
        (self.data.get(start..self.end(index)).unwrap_or(&[]), quoted)
    }

    /// Removes the last record.
    pub(super) fn pop(&mut self) {
        if let Some(record) = self.records.pop() {
            self.truncate(record.first_field);
        }
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.truncate(0);
    }

    fn end(&self, field: usize) -> usize {
        self.fields.get(field).map_or(0, |field| field.end)
    }

    fn push(&mut self, quoted: bool) {
        let end = self.data.len();
        self.fields.push(Field { end, quoted });
    }

    fn truncate(&mut self, fields: usize) {
        self.fields.truncate(fields);
        self.data
            .truncate(self.fields.last().map_or(0, |field| field.end));
    }
}

/// Reads records one after the other.
pub(super) struct Records<R> {
    input: R,
    dialect: CsvDialect,
    /// Whether an empty line is a record: in a table of one column it is a NULL.
    empty_lines: bool,
    buffer: Vec<u8>,
    /// The bytes of the last record, then those that are not split yet.
    record: Range<usize>,
    ended: bool,
    line: u64,
}

/// A text that is no CSV.
#[derive(Debug)]
pub(super) enum RecordError {
    Io(io::Error),
    /// A quote that is never closed, in the record that begins at this line.
    Unclosed(u64),
    /// A record longer than the limit.
    TooLong(u64),
}

enum Split {
    /// A record of so many bytes.
    Record(usize),
    /// A comment or an empty line of so many bytes.
    Nothing(usize),
    /// The text ends within a record.
    More,
    Unclosed,
}

impl<R: Read> Records<R> {
    pub(super) fn new(input: R, dialect: &CsvDialect) -> Self {
        Self {
            input,
            dialect: dialect.clone(),
            empty_lines: false,
            buffer: Vec::new(),
            record: 0..0,
            ended: false,
            line: 1,
        }
    }

    /// Treats empty lines as records from now on.
    pub(super) fn keep_empty_lines(&mut self) {
        self.empty_lines = true;
    }

    /// The bytes of the last record, as they are in the file.
    pub(super) fn raw(&self) -> &[u8] {
        self.buffer.get(self.record.clone()).unwrap_or(&[])
    }

    /// Appends the next record; false at the end.
    pub(super) fn next(&mut self, out: &mut Fields) -> Result<bool, RecordError> {
        loop {
            let start = self.record.end;
            let first_field = out.fields.len();
            let text = self.buffer.get(start..).unwrap_or(&[]);
            if text.is_empty() && self.ended {
                self.record = start..start;
                return Ok(false);
            }
            let split = if text.is_empty() {
                Split::More
            } else {
                split(text, self.ended, self.empty_lines, &self.dialect, out)
            };
            match split {
                Split::Record(len) => {
                    let record = Record {
                        first_field,
                        fields: out.fields.len() - first_field,
                        line: self.line,
                    };
                    out.records.push(record);
                    self.advance(len);
                    return Ok(true);
                }
                Split::Nothing(len) => self.advance(len),
                Split::More => {
                    out.truncate(first_field);
                    self.fill()?;
                }
                Split::Unclosed => {
                    out.truncate(first_field);
                    return Err(RecordError::Unclosed(self.line));
                }
            }
        }
    }

    fn advance(&mut self, len: usize) {
        let start = self.record.end;
        self.record = start..start + len;
        // `\r` alone ends a line, too.
        let raw = self.raw();
        let ends = memchr_iter(b'\n', raw).count();
        self.line += ends.max(usize::from(raw.last() == Some(&b'\r'))) as u64;
    }

    /// Reads on; what is split already is dropped.
    fn fill(&mut self) -> Result<(), RecordError> {
        self.buffer.drain(..self.record.end);
        self.record = 0..0;
        if self.buffer.len() > MAX_RECORD {
            return Err(RecordError::TooLong(self.line));
        }
        // Twice as much each time: a long record is split again from its start.
        let wanted = self.buffer.len().max(CHUNK) as u64;
        let read = (&mut self.input).take(wanted).read_to_end(&mut self.buffer);
        self.ended = read.map_err(RecordError::Io)? == 0;
        Ok(())
    }
}

/// Splits the first record off a text, which is not empty; `ended` if nothing follows it.
fn split(
    text: &[u8],
    ended: bool,
    empty_lines: bool,
    dialect: &CsvDialect,
    out: &mut Fields,
) -> Split {
    match text {
        [b'\r'] if !ended => return Split::More,
        [b'\n' | b'\r', rest @ ..] if !empty_lines => {
            let both = text.first() == Some(&b'\r') && rest.first() == Some(&b'\n');
            return Split::Nothing(1 + usize::from(both));
        }
        [first, ..] if Some(*first) == dialect.comment => {
            return match memchr(b'\n', text) {
                Some(end) => Split::Nothing(end + 1),
                None if ended => Split::Nothing(text.len()),
                None => Split::More,
            };
        }
        _ => {}
    }
    let mut at = 0;
    loop {
        let mut quoted = false;
        if text.get(at).is_some_and(|first| *first == dialect.quote) {
            quoted = true;
            match quoted_text(text, at + 1, dialect.quote, ended, out) {
                Some(end) => at = end,
                None if ended => return Split::Unclosed,
                None => return Split::More,
            }
        }
        let rest = text.get(at..).unwrap_or(&[]);
        let Some(end) = memchr3(dialect.delimiter, b'\n', b'\r', rest) else {
            if !ended {
                return Split::More;
            }
            out.data.extend_from_slice(rest);
            out.push(quoted);
            return Split::Record(text.len());
        };
        out.data.extend_from_slice(rest.get(..end).unwrap_or(&[]));
        out.push(quoted);
        at += end + 1;
        match (rest.get(end), rest.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => return Split::Record(at + 1),
            (Some(b'\r'), None) if !ended => return Split::More,
            (Some(b'\n' | b'\r'), _) => return Split::Record(at),
            _ => {}
        }
    }
}

/// Appends the text between quotes, of which the first stands before `at`; returns where the last
/// one ends. A quote is doubled within.
fn quoted_text(
    text: &[u8],
    mut at: usize,
    quote: u8,
    ended: bool,
    out: &mut Fields,
) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let end = memchr(quote, rest)?;
        out.data.extend_from_slice(rest.get(..end)?);
        at += end + 1;
        match text.get(at) {
            Some(next) if *next == quote => {
                out.data.push(quote);
                at += 1;
            }
            None if !ended => return None,
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// One byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let one = self.0.len().min(1).min(out.len());
            out[..one].copy_from_slice(&self.0[..one]);
            self.0 = &self.0[one..];
            Ok(one)
        }
    }

    fn records(text: &str, empty_lines: bool) -> Vec<Vec<String>> {
        let dialect = CsvDialect {
            comment: Some(b'#'),
            ..CsvDialect::default()
        };
        let read = |input: Box<dyn Read + '_>| {
            let mut records = Records::new(input, &dialect);
            records.empty_lines = empty_lines;
            let mut fields = Fields::default();
            while records.next(&mut fields).unwrap() {}
            let show = |row, column| {
                let (bytes, quoted) = fields.get(row, column);
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                if quoted { format!("<{text}>") } else { text }
            };
            (0..fields.len())
                .map(|row| {
                    (0..fields.width(row))
                        .map(|column| show(row, column))
                        .collect()
                })
                .collect::<Vec<Vec<String>>>()
        };
        let whole = read(Box::new(text.as_bytes()));
        assert_eq!(whole, read(Box::new(Slow(text.as_bytes()))), "{text:?}");
        whole
    }

    #[test]
    fn records_are_split_and_quotes_remembered() {
        assert_eq!(
            records("a,b\r\n\"\",\n\"x\"\"y\n,\",2\r3,\"4\"", false),
            vec![
                vec!["a", "b"],
                vec!["<>", ""],
                vec!["<x\"y\n,>", "2"],
                vec!["3", "<4>"]
            ]
        );
        assert_eq!(
            records("# c\na\n\n#d\n\"\"\n", false),
            vec![vec!["a"], vec!["<>"]]
        );
        assert_eq!(
            records("a\n\n\"\"\n", true),
            vec![vec!["a"], vec![""], vec!["<>"]]
        );
        assert_eq!(records("1,\n,", false), vec![vec!["1", ""], vec!["", ""]]);
    }

    #[test]
    fn lines_are_counted_and_open_quotes_found() {
        let text = b"a\n\"x\ny\"\n\n# no comment\r\nb\n\"open\n";
        let mut records = Records::new(text.as_slice(), &CsvDialect::default());
        let mut fields = Fields::default();
        for _ in 0..4 {
            assert!(records.next(&mut fields).unwrap());
        }
        let lines: Vec<u64> = (0..4).map(|row| fields.line(row)).collect();
        assert_eq!(lines, [1, 2, 5, 6]);
        assert_eq!(records.raw(), b"b\n");
        let error = records.next(&mut fields).unwrap_err();
        assert!(matches!(error, RecordError::Unclosed(7)), "{error:?}");
    }
}
