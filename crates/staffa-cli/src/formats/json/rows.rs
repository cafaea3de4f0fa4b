//! Batches of JSON lines; an error names the row.

use std::io::BufRead;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::parser::Parser;
use crate::error::{Failure, Result};
use crate::formats::bad_rows::BadRows;
use crate::formats::table::BATCH_ROWS;

pub(super) struct Rows {
    name: String,
    text: Box<dyn BufRead + Send>,
    parser: Parser,
    /// Rows of the finished batches.
    done: u64,
    /// The bytes of the current batch, to find a bad row among them.
    raw: Vec<u8>,
    /// Where rows go that do not parse; None makes them an error.
    pub(super) bad_rows: Option<BadRows>,
    pub(super) infer_rows: usize,
    /// Lines read, if bad rows are written down.
    lines: u64,
}

impl Rows {
    pub(super) fn new(
        name: String,
        text: Box<dyn BufRead + Send>,
        schema: SchemaRef,
    ) -> Result<Self> {
        Ok(Self {
            name,
            text,
            parser: Parser::new(schema)?,
            done: 0,
            raw: Vec::new(),
            bad_rows: None,
            infer_rows: 0,
            lines: 0,
        })
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(bad_rows) = self.bad_rows.clone() {
            return self.next_good_rows(&bad_rows);
        }
        self.raw.clear();
        self.fill()?;
        match self.parser.flush() {
            Ok(batch) => {
                self.done += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
                Ok(batch)
            }
            Err(error) => Err(self.locate(&error)),
        }
    }

    /// Decodes text until the batch is full.
    fn fill(&mut self) -> Result<()> {
        loop {
            let bytes = self
                .text
                .fill_buf()
                .map_err(|error| Failure::io(&self.name, &error))?;
            if bytes.is_empty() {
                return Ok(());
            }
            let decoded = match self.parser.decoder.decode(bytes) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let row = self.done + self.parser.decoder.len().max(1) as u64;
                    return Err(self.failure(row, &error.to_string()));
                }
            };
            let full = decoded != bytes.len();
            let bytes = bytes
                .get(..decoded)
                .ok_or_else(|| Failure::internal("the JSON decoder read past its input"))?;
            self.raw.extend_from_slice(bytes);
            self.text.consume(decoded);
            if full {
                return Ok(());
            }
        }
    }

    /// The next rows that parse; others are written down. Each line is an object.
    fn next_good_rows(&mut self, bad_rows: &BadRows) -> Result<Option<RecordBatch>> {
        loop {
            let mut lines: Vec<(u64, Vec<u8>)> = Vec::new();
            while lines.len() < BATCH_ROWS {
                let mut line = Vec::new();
                let read = self.text.read_until(b'\n', &mut line);
                if read.map_err(|error| Failure::io(&self.name, &error))? == 0 {
                    break;
                }
                self.lines += 1;
                if !line.trim_ascii().is_empty() {
                    lines.push((self.lines, line));
                }
            }
            if lines.is_empty() {
                return Ok(None);
            }
            let all: Vec<u8> = lines.iter().flat_map(|(_, line)| line).copied().collect();
            if let Ok(batch) = self.parse(&all) {
                return Ok(batch);
            }
            let mut good = Vec::with_capacity(all.len());
            for (number, line) in lines {
                match self.parse(&line) {
                    Ok(_) => good.extend(line),
                    Err(error) => {
                        bad_rows.add(&self.name, number, &described(&error.to_string()), &line)?;
                    }
                }
            }
            let batch = self.parse(&good);
            let batch = batch.map_err(|error| Failure::arrow(&self.name, &error))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn parse(&self, text: &[u8]) -> Result<Option<RecordBatch>, ArrowError> {
        let external = |failure: Failure| ArrowError::JsonError(failure.message);
        let mut parser = Parser::new(self.parser.schema.clone()).map_err(external)?;
        parser.decoder.decode(text)?;
        parser.flush()
    }

    /// Finds the row of an error: parses the rows of the batch one by one.
    fn locate(&self, error: &ArrowError) -> Failure {
        let mut rows =
            serde_json::Deserializer::from_slice(&self.raw).into_iter::<serde::de::IgnoredAny>();
        let (mut start, mut row) = (0, self.done);
        while let Some(Ok(_)) = rows.next() {
            row += 1;
            let end = rows.byte_offset();
            let (Some(bytes), Ok(mut parser)) = (
                self.raw.get(start..end),
                Parser::new(self.parser.schema.clone()),
            ) else {
                break;
            };
            start = end;
            let result = parser.decoder.decode(bytes).and_then(|_| parser.flush());
            if let Err(error) = result {
                return self.failure(row, &error.to_string());
            }
        }
        self.failure(row + 1, &error.to_string())
    }

    /// The failure for a message of Arrow about a row.
    fn failure(&self, row: u64, message: &str) -> Failure {
        let (column, what) = column_and_problem(message);
        let column = column.map_or_else(String::new, |column| format!(", column {column:?}"));
        let in_text = |mark: &str| what.contains(mark);
        let is_time = in_text("is not of type Date") || in_text("is not of type Timestamp");
        let as_text = if is_time {
            "--text COLUMN reads a column as text, --no-dates all dates and times, within objects as well"
        } else {
            "--text COLUMN reads a column as text"
        };
        let hint = match self.infer_rows {
            _ if in_text("whilst") || in_text("Truncated") => String::new(),
            _ if in_text("non-UTF-8") => "; --charset names the encoding of the text".into(),
            rows if rows == 0 || row <= rows as u64 => {
                // Objects and arrays are no text, whatever the type.
                let nested = ["expected [", "expected {", "got [", "got {"];
                if nested.into_iter().any(in_text) {
                    "; the column has values of several kinds, --skip-bad-rows FILE leaves such rows out"
                        .into()
                } else {
                    format!("; {as_text}")
                }
            }
            rows => format!(
                "; the types were inferred from the first {rows} rows: --infer-rows 0 reads all rows, {as_text}"
            ),
        };
        Failure::data(format!("{}: row {row}{column}: {what}{hint}", self.name))
    }
}

/// A message of Arrow, with the column first.
fn described(message: &str) -> String {
    match column_and_problem(message) {
        (Some(column), what) => format!("column {column:?}: {what}"),
        (None, what) => what.to_owned(),
    }
}

/// The path of the column that a message of Arrow is about, and what it says.
fn column_and_problem(message: &str) -> (Option<String>, &str) {
    let mut what = message.trim_start_matches("Json error: ");
    let mut path = Vec::new();
    while let Some((column, rest)) = what
        .strip_prefix("whilst decoding field '")
        .and_then(|rest| rest.split_once("': "))
    {
        path.push(column);
        what = rest
            .trim_start_matches("Json error: ")
            .trim_start_matches("Cast error: ");
    }
    ((!path.is_empty()).then(|| path.join(".")), what)
}
