//! JSON lines, in and out: one object per line. Types are guessed from the first rows; a later row
//! that does not fit is an error that names it.
//!
//! Arrow's decoder would cut `3.7` to 3 where it expects an integer, without a word. So integers
//! are read as the text that stands there and cast, which refuses.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_json::reader::{Decoder, ReaderBuilder, infer_json_schema_from_iterator};
use arrow_json::writer::{LineDelimited, Writer, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use serde_json::Value;

use super::sample::Sample;
use super::{BATCH_ROWS, Batches, Sink, Table};
use crate::cli::Reading;
use crate::dataset::Input;
use crate::error::{Exit, Failure, Result};
use crate::files::output::{Output, Trouble};
use crate::formats::scan::{Wanted, find};
use crate::terminal::progress::Meter;

pub(crate) struct JsonTable {
    input: Input,
    sample: Sample,
    schema: SchemaRef,
}

impl JsonTable {
    pub(crate) fn open(input: &Input, reading: &Reading) -> Result<Self> {
        let mut sample = Sample::open(input)?;
        let text = sample.look().map_err(|error| input.io(&error))?;
        let schema = Arc::new(infer(&input.name(), text, reading)?);
        Ok(Self {
            input: input.clone(),
            sample,
            schema,
        })
    }
}

fn infer(name: &str, mut text: BufReader<Box<dyn Read + '_>>, reading: &Reading) -> Result<Schema> {
    let most = if reading.infer_rows == 0 {
        usize::MAX
    } else {
        reading.infer_rows
    };
    let mut row = 0_u64;
    let mut failure = None;
    let mut line = String::new();
    let values = std::iter::from_fn(|| {
        loop {
            line.clear();
            match text.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => break,
                Err(error) => {
                    failure = Some(Failure::io(name, &error));
                    return None;
                }
            }
        }
        row += 1;
        match serde_json::from_str::<Value>(&line) {
            Ok(Value::Object(object)) => Some(Ok(Value::Object(object))),
            Ok(Value::Array(_)) | Err(_) if row == 1 && line.trim_start().starts_with('[') => {
                let what = "a JSON array, expected one object per line; `jq -c '.[]'` makes these of it";
                failure = Some(Failure::data(format!("{name}: {what}")));
                None
            }
            Ok(_) => {
                failure = Some(Failure::data(format!("{name}: row {row} is no object, expected one object per line")));
                None
            }
            Err(error) => {
                let what = error.to_string();
                let what = what.split(" at line").next().unwrap_or_default();
                let column = error.column();
                failure = Some(Failure::data(format!(
                    "{name}: row {row} does not parse as JSON at character {column}: {what}; expected one object per line"
                )));
                None
            }
        }
    })
    .take(most);
    let guess = infer_json_schema_from_iterator(values);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let guess = guess.map_err(|_| {
        Failure::data(format!(
            "{name}: row {row} holds a value of another kind (an object, an array, or neither) than the rows before it in the \
             same column"
        ))
    })?;
    for column in &reading.text {
        find(&guess, column)?;
    }
    if guess.fields().is_empty() {
        return Err(Failure::data(format!(
            "{name}: no columns, expected one object per line"
        )));
    }
    let fields = guess.fields().iter().map(|field| {
        let told = reading.text.contains(field.name());
        if told {
            Field::new(field.name(), DataType::Utf8, true)
        } else {
            field.as_ref().clone()
        }
    });
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

impl Table for JsonTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn scan(self: Box<Self>, schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let Self { input, sample, .. } = *self;
        let text = sample.into_reader(&input, meter)?;
        let mut rows = Rows {
            name: input.name(),
            text,
            parser: Parser::new(schema)?,
            done: 0,
            raw: Vec::new(),
        };
        let mut failed = false;
        let batches = std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let batch = rows.next_batch().transpose()?;
            failed = batch.is_err();
            Some(batch)
        });
        Ok(wanted.select(Box::new(batches)))
    }
}

/// Text to batches of a schema, without a word on where.
struct Parser {
    decoder: Decoder,
    schema: SchemaRef,
}

impl Parser {
    fn new(schema: SchemaRef) -> Result<Self> {
        let fields: Fields = schema.fields().iter().map(integers_as_text).collect();
        let decoder = ReaderBuilder::new(Arc::new(Schema::new(fields)))
            .with_batch_size(BATCH_ROWS)
            .with_coerce_primitive(true)
            // A column that the first rows did not have would vanish otherwise.
            .with_strict_mode(true)
            .build_decoder()
            .map_err(|error| Failure::arrow("JSON lines", &error))?;
        Ok(Self { decoder, schema })
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.decoder.flush()? else {
            return Ok(None);
        };
        let columns = batch
            .columns()
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                let options = CastOptions {
                    safe: false,
                    ..CastOptions::default()
                };
                cast_with_options(column, field.data_type(), &options).map_err(|error| {
                    ArrowError::JsonError(format!(
                        "whilst decoding field '{}': {error}",
                        field.name()
                    ))
                })
            });
        let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let rows = StructArray::try_new_with_length(
            self.schema.fields().clone(),
            columns,
            None,
            batch.num_rows(),
        )?;
        RecordBatch::from(rows)
            .with_schema(self.schema.clone())
            .map(Some)
    }
}

/// The same type with text wherever it has an integer.
fn integers_as_text(field: &Arc<Field>) -> Arc<Field> {
    let data_type = match field.data_type() {
        DataType::Int64 => DataType::Utf8,
        DataType::List(item) => DataType::List(integers_as_text(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(integers_as_text).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

struct Rows {
    name: String,
    text: Box<dyn BufRead + Send>,
    parser: Parser,
    /// Rows handed out.
    done: u64,
    /// The bytes of the batch in the making, to find a bad row among them.
    raw: Vec<u8>,
}

impl Rows {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.raw.clear();
        loop {
            let bytes = self
                .text
                .fill_buf()
                .map_err(|error| Failure::io(&self.name, &error))?;
            if bytes.is_empty() {
                break;
            }
            let offered = bytes.len();
            let taken = self.parser.decoder.decode(bytes);
            let Ok(taken) = taken else {
                let row = self.done + self.parser.decoder.len().max(1) as u64;
                return Err(self.refused(
                    row,
                    &taken
                        .err()
                        .map(|error| error.to_string())
                        .unwrap_or_default(),
                ));
            };
            self.raw
                .extend_from_slice(bytes.get(..taken).unwrap_or_default());
            self.text.consume(taken);
            if taken != offered {
                break;
            }
        }
        match self.parser.flush() {
            Ok(batch) => {
                self.done += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
                Ok(batch)
            }
            Err(error) => Err(self.locate(&error)),
        }
    }

    /// Which row of the batch it was: each is parsed by itself.
    fn locate(&self, error: &ArrowError) -> Failure {
        let mut rows =
            serde_json::Deserializer::from_slice(&self.raw).into_iter::<serde::de::IgnoredAny>();
        let (mut start, mut row) = (0, self.done);
        while let Some(Ok(_)) = rows.next() {
            row += 1;
            let end = rows.byte_offset();
            let bytes = self.raw.get(start..end).unwrap_or_default();
            start = end;
            let Ok(mut parser) = Parser::new(self.parser.schema.clone()) else {
                break;
            };
            let result = parser.decoder.decode(bytes).and_then(|_| parser.flush());
            if let Err(error) = result {
                return self.refused(row, &error.to_string());
            }
        }
        self.refused(row + 1, &error.to_string())
    }

    fn refused(&self, row: u64, what: &str) -> Failure {
        let mut what = what.trim_start_matches("Json error: ");
        let mut columns = Vec::new();
        while let Some((column, rest)) = what
            .strip_prefix("whilst decoding field '")
            .and_then(|rest| rest.split_once("': "))
        {
            columns.push(column);
            what = rest
                .trim_start_matches("Json error: ")
                .trim_start_matches("Cast error: ");
        }
        let place = match columns.as_slice() {
            [] => String::new(),
            path => format!(", column {:?}", path.join(".")),
        };
        let hint = "; the types are those of the first rows: --infer-rows 0 looks at all, --text COLUMN keeps one as text";
        let hint = if what.contains("whilst") || what.contains("Truncated") {
            ""
        } else {
            hint
        };
        Failure {
            exit: Exit::Data,
            message: format!("{}: row {row}{place}: {what}{hint}", self.name),
        }
    }
}

pub(crate) fn create(output: Output) -> Box<dyn Sink> {
    let (name, trouble) = (output.name(), output.trouble());
    // Every row names every column, so that the schema survives.
    let writer = WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, LineDelimited>(output);
    Box::new(JsonSink {
        writer,
        name,
        trouble,
    })
}

struct JsonSink {
    writer: Writer<Output, LineDelimited>,
    name: String,
    trouble: Trouble,
}

impl Sink for JsonSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| {
            let failure = Failure::arrow(&self.name, &error);
            self.trouble.or(Failure::unsupported(failure.message))
        })
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            mut writer,
            name,
            trouble,
        } = *self;
        writer
            .finish()
            .map_err(|error| trouble.or(Failure::arrow(&name, &error)))?;
        writer.into_inner().finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::formats::Format;

    fn table(text: &str, reading: &Reading) -> Result<JsonTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, text).unwrap();
        JsonTable::open(
            &Input {
                path,
                format: Format::Json,
            },
            reading,
        )
    }

    fn batches(text: &str) -> Result<Vec<RecordBatch>> {
        let table = table(
            text,
            &Reading {
                infer_rows: 2,
                ..Reading::default()
            },
        )?;
        let schema = table.schema();
        Box::new(table)
            .scan(schema, &Wanted::default(), Meter::default())?
            .collect()
    }

    #[test]
    fn columns_keep_the_order_of_the_text() {
        let batches = batches(
            "{\"z\":1,\"a\":{\"y\":2,\"b\":[3]}}\n{\"z\":null,\"a\":{\"y\":-9,\"b\":[]}}\n",
        )
        .unwrap();
        let schema = batches[0].schema();
        assert_eq!(schema.field(0).name(), "z");
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        let DataType::Struct(inner) = schema.field(1).data_type() else {
            unreachable!()
        };
        assert_eq!(
            inner
                .iter()
                .map(|field| field.name().as_str())
                .collect::<Vec<_>>(),
            ["y", "b"]
        );
        assert_eq!(batches[0].num_rows(), 2);
    }

    #[test]
    fn a_later_row_that_does_not_fit_is_named() {
        let start = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n";
        let cases = [
            (
                "{\"a\":3.7,\"b\":\"x\"}\n",
                "row 3, column \"a\": Cannot cast string '3.7'",
            ),
            (
                "{\"a\":3,\"c\":\"x\"}\n",
                "row 3: column 'c' missing from schema",
            ),
            (
                "{\"a\":[1],\"b\":\"x\"}\n",
                "row 3, column \"a\": expected string got [1]",
            ),
            ("{\"a\":3,\"b\" \"x\"}\n", "row 3: "),
            ("{\"a\":3", "row 3: "),
        ];
        for (row, expected) in cases {
            let message = batches(&format!("{start}{row}")).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn text_that_is_not_lines_of_objects_is_refused_with_a_hint() {
        let open = |text| {
            table(text, &Reading::default())
                .map(|_| ())
                .unwrap_err()
                .message
        };
        assert!(open("[{\"a\":1}]").contains("a JSON array, expected one object per line"));
        assert!(open("{\"a\":1}\n7\n").contains("row 2 is no object"));
        assert!(open("{\"a\":1}\n{\"a\"\n").contains("row 2 does not parse as JSON at character"));
        assert!(open("").contains("no columns"));
    }
}
