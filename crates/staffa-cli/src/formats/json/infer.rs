//! The types of JSON columns, inferred from the first rows.

use std::io::{BufRead, BufReader, Read};

use arrow_json::reader::infer_json_schema_from_iterator;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use serde_json::Value;

use super::values::ObservedValues;
use super::wide::{quoted, with_text};

use crate::error::{Failure, Result};
use crate::formats::csv::BEYOND_NANOSECONDS;
use crate::formats::options::ReadOptions;
use crate::terminal::note;

/// Rows with wide integers that are kept, to find their columns.
const WIDE_ROWS: usize = 1000;

/// The schema of the text called `name`.
pub(super) fn infer_schema(
    name: &str,
    text: BufReader<Box<dyn Read + '_>>,
    options: &ReadOptions,
) -> Result<Schema> {
    let limit = match options.infer_rows {
        0 => usize::MAX,
        rows => rows,
    };
    let mut objects = Objects {
        name,
        text,
        line: Vec::new(),
        row: 0,
        skip_bad_rows: options.skip_bad_rows.is_some(),
        wide: Vec::new(),
        values: ObservedValues::default(),
        beyond: false,
    };
    let mut failure = None;
    let values = std::iter::from_fn(|| match objects.next_object() {
        Ok(object) => object.map(Ok),
        Err(error) => {
            failure = Some(error);
            None
        }
    });
    let inferred = infer_json_schema_from_iterator(values.take(limit));
    if let Some(failure) = failure {
        return Err(failure);
    }
    let inferred = inferred.map_err(|_| {
        let column = objects.values.mixed();
        let column = column.map_or_else(String::new, |column| format!(", column {column:?}"));
        Failure::data(format!(
            "{name}: row {}{column}: a value of another kind (object, array, or neither) than in the rows before it",
            objects.row
        ))
    })?;
    let inferred = objects.with_wide_numbers(&inferred);
    if inferred.fields().is_empty() {
        return Err(Failure::data(format!(
            "{name}: no columns, expected one object per line"
        )));
    }
    let inferred = if options.no_dates {
        inferred
    } else {
        if let Some(column) = objects.values.wide_time()
            && !options.is_text(&column)
        {
            note(&format!(
                "{name}: column {column:?} is read as text, {BEYOND_NANOSECONDS}"
            ));
        }
        objects.values.with_times(&inferred)
    };
    Ok(with_text_columns(&inferred, options))
}

/// The schema with the columns as text that were asked for so.
fn with_text_columns(inferred: &Schema, options: &ReadOptions) -> Schema {
    let fields = inferred.fields().iter().map(|field| {
        if options.is_text(field.name()) {
            Field::new(field.name(), DataType::Utf8, true)
        } else {
            field.as_ref().clone()
        }
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// The objects of a text, one per line.
struct Objects<'a> {
    name: &'a str,
    text: BufReader<Box<dyn Read + 'a>>,
    line: Vec<u8>,
    row: u64,
    /// Passes over lines that do not parse: they are written down later.
    skip_bad_rows: bool,
    /// Rows with integers that no double holds, these as text.
    wide: Vec<Value>,
    values: ObservedValues,
    /// Whether an integer is beyond 64 bits.
    beyond: bool,
}

/// Removes NULLs from arrays: they say nothing of the type of the other items.
fn without_null_items(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(without_null_items);
        }
        Value::Object(fields) => fields.values_mut().for_each(without_null_items),
        _ => {}
    }
}

impl Objects<'_> {
    /// The schema with text in place of numbers whose digits it would not hold, which is said.
    fn with_wide_numbers(&mut self, inferred: &Schema) -> Schema {
        let wide = std::mem::take(&mut self.wide);
        let with_wide = if wide.is_empty() {
            inferred.clone()
        } else {
            // The same rows were inferred from before: there is no error.
            let wide = infer_json_schema_from_iterator(wide.into_iter().map(Ok::<_, ArrowError>));
            wide.map_or_else(|_| inferred.clone(), |wide| with_text(inferred, &wide))
        };
        if self.beyond || with_wide != *inferred {
            note(&format!(
                "{}: numbers of more digits than 64 bits or a double hold are read as text",
                self.name
            ));
        }
        with_wide
    }

    fn next_object(&mut self) -> Result<Option<Value>> {
        loop {
            self.line.clear();
            let read = self.text.read_until(b'\n', &mut self.line);
            if read.map_err(|error| Failure::io(self.name, &error))? == 0 {
                return Ok(None);
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            self.row += 1;
            match self.parse() {
                Err(_) if self.skip_bad_rows => {}
                parsed => return parsed.map(Some),
            }
        }
    }

    /// The object of the line. Integers beyond 64 bits are text.
    fn parse(&mut self) -> Result<Value> {
        let (name, row) = (self.name, self.row);
        let Ok(line) = std::str::from_utf8(&self.line) else {
            return Err(Failure::data(format!(
                "{name}: row {row}: the bytes are not UTF-8; --charset names the encoding of the text"
            )));
        };
        if self.wide.len() < WIDE_ROWS
            && let Some(wide) = quoted(line, true)
        {
            self.wide.extend(serde_json::from_str(&wide));
        }
        let parsed = match quoted(line, false) {
            Some(quoted) => {
                self.beyond = true;
                serde_json::from_str::<Value>(&quoted)
            }
            None => serde_json::from_str(line),
        };
        let problem = match parsed {
            Ok(mut object @ Value::Object(_)) => {
                without_null_items(&mut object);
                self.values.add(&object);
                return Ok(object);
            }
            _ if row == 1 && line.trim_start().starts_with('[') => {
                "a JSON array, expected one object per line; `jq -c '.[]'` converts it".to_owned()
            }
            Ok(_) => format!("row {row} is not an object, expected one object per line"),
            Err(error) => {
                let message = error.to_string();
                let what = message
                    .split_once(" at line")
                    .map_or(message.as_str(), |(what, _)| what);
                format!(
                    "row {row} does not parse as JSON at character {}: {what}; expected one object per line",
                    error.column()
                )
            }
        };
        Err(Failure::data(format!("{name}: {problem}")))
    }
}
