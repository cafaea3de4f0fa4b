//! The types of JSON columns, inferred from the first rows.

use std::io::{BufRead, BufReader, Read};

use arrow_json::reader::infer_json_schema_from_iterator;
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;

use crate::error::{Failure, Result};
use crate::formats::options::ReadOptions;
use crate::formats::scan::find_column;

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
        line: String::new(),
        row: 0,
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
        Failure::data(format!(
            "{name}: row {} holds a value of another kind (object, array, or neither) than the \
             rows before it in the same column",
            objects.row
        ))
    })?;
    for column in &options.text {
        find_column(&inferred, column)?;
    }
    if inferred.fields().is_empty() {
        return Err(Failure::data(format!(
            "{name}: no columns, expected one object per line"
        )));
    }
    let fields = inferred.fields().iter().map(|field| {
        if options.text.contains(field.name()) {
            Field::new(field.name(), DataType::Utf8, true)
        } else {
            field.as_ref().clone()
        }
    });
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

/// The objects of a text, one per line.
struct Objects<'a> {
    name: &'a str,
    text: BufReader<Box<dyn Read + 'a>>,
    line: String,
    row: u64,
}

impl Objects<'_> {
    fn next_object(&mut self) -> Result<Option<Value>> {
        let name = self.name;
        loop {
            self.line.clear();
            let read = self.text.read_line(&mut self.line);
            if read.map_err(|error| Failure::io(name, &error))? == 0 {
                return Ok(None);
            }
            if !self.line.trim().is_empty() {
                break;
            }
        }
        self.row += 1;
        let row = self.row;
        let parsed = serde_json::from_str::<Value>(&self.line);
        let problem = match parsed {
            Ok(object @ Value::Object(_)) => return Ok(Some(object)),
            _ if row == 1 && self.line.trim_start().starts_with('[') => {
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
