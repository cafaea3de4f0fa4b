//! Batches of JSON lines; an error names the row.

use std::io::BufRead;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::parser::Parser;
use crate::error::{Failure, Result};

pub(super) struct Rows {
    name: String,
    text: Box<dyn BufRead + Send>,
    parser: Parser,
    /// Rows of the finished batches.
    done: u64,
    /// The bytes of the current batch, to find a bad row among them.
    raw: Vec<u8>,
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
        })
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
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
        let column = if path.is_empty() {
            String::new()
        } else {
            format!(", column {:?}", path.join("."))
        };
        let hint = if what.contains("whilst") || what.contains("Truncated") {
            ""
        } else {
            "; the types were inferred from the first rows: --infer-rows 0 reads all rows, \
             --text COLUMN reads a column as text"
        };
        Failure::data(format!("{}: row {row}{column}: {what}{hint}", self.name))
    }
}
