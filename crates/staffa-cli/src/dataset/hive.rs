//! Columns in the names of folders: `year=2024/month=1/part.csv`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use staffa::Predicate;

use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{Batches, ScanOptions};

/// NULL in the names of folders.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Whether a key is taken for an integer.
pub(crate) fn is_integer(text: &str) -> bool {
    text.parse::<i32>().is_ok()
}

/// The keys of the files that are still to be read.
#[derive(Default)]
pub(super) struct HiveKeys {
    /// Integers if all values are, unless they are asked for as text; else text.
    fields: Vec<Field>,
    values: VecDeque<Vec<Option<String>>>,
}

/// The key columns of a file, one row.
pub(super) struct FileKeys(Vec<ArrayRef>);

impl HiveKeys {
    /// The keys of all folders of the paths. A column of the files is none, even if a folder has its
    /// name.
    pub(super) fn of(paths: &[PathBuf], files: &Schema, options: &ReadOptions) -> Self {
        let found: Vec<Vec<(String, Option<String>)>> =
            paths.iter().map(|path| keys(path)).collect();
        let mut names: Vec<&String> = Vec::new();
        for (name, _) in found.iter().flatten() {
            if !names.contains(&name) && files.index_of(name).is_err() {
                names.push(name);
            }
        }
        let value = |file: &[(String, Option<String>)], name: &String| {
            let key = file.iter().find(|(key, _)| key == name);
            key.and_then(|(_, value)| value.clone())
        };
        let values: VecDeque<Vec<Option<String>>> = found
            .iter()
            .map(|file| names.iter().map(|name| value(file, name)).collect())
            .collect();
        let fields = names.iter().enumerate().map(|(at, name)| {
            let mut texts = values
                .iter()
                .filter_map(|file| file.get(at)?.as_ref())
                .peekable();
            let integers = texts.peek().is_some() && texts.all(|text| is_integer(text));
            let data_type = if integers && !options.is_text(name) {
                DataType::Int32
            } else {
                DataType::Utf8
            };
            Field::new(name.as_str(), data_type, true)
        });
        Self {
            fields: fields.collect(),
            values,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The schema with the key columns behind those of the files.
    pub(super) fn with_columns(&self, files: &SchemaRef) -> SchemaRef {
        if self.fields.is_empty() {
            return files.clone();
        }
        let keys = self.fields.iter().cloned().map(Arc::new);
        let fields: Vec<_> = files.fields().iter().cloned().chain(keys).collect();
        Arc::new(Schema::new_with_metadata(fields, files.metadata().clone()))
    }

    /// The keys of the next file.
    pub(super) fn next_file(&mut self) -> FileKeys {
        let values = self.values.pop_front().unwrap_or_default();
        let columns = self
            .fields
            .iter()
            .zip(values)
            .map(|(field, value)| -> ArrayRef {
                match field.data_type() {
                    DataType::Int32 => Arc::new(Int32Array::from(vec![
                        value.and_then(|text| text.parse().ok()),
                    ])),
                    _ => Arc::new(StringArray::from(vec![value])),
                }
            });
        FileKeys(columns.collect())
    }

    /// Whether a file with these keys may have rows for the filter.
    pub(super) fn may_match(&self, keys: &FileKeys, options: &ScanOptions) -> Result<bool> {
        let Some(filter) = options.filter.as_ref().filter(|_| !self.fields.is_empty()) else {
            return Ok(true);
        };
        let parts = match filter {
            Predicate::And(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let schema = Arc::new(Schema::new(self.fields.clone()));
        let fail = |error| Failure::arrow("the names of folders", &error);
        let row = RecordBatch::try_new(schema.clone(), keys.0.clone()).map_err(fail)?;
        for part in parts.iter().filter(|part| self.covers(part)) {
            let wrong = |error: staffa::Error| Failure::usage(format!("--where: {error}"));
            let kept = part
                .bind(&schema)
                .and_then(|bound| bound.evaluate(&row))
                .map_err(wrong)?;
            if kept.is_empty() || kept.is_null(0) || !kept.value(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a part of a filter has no columns but keys.
    fn covers(&self, part: &Predicate) -> bool {
        let columns = part.columns();
        !columns.is_empty() && columns.iter().all(|column| self.is_key(column))
    }

    fn is_key(&self, column: &str) -> bool {
        self.fields.iter().any(|field| field.name() == column)
    }

    /// What is read of each file: no keys, and no filter with keys.
    pub(super) fn inner_options(&self, files: &Schema, options: &ScanOptions) -> ScanOptions {
        let mut inner = options.clone();
        if self.fields.is_empty() {
            return inner;
        }
        let of_filter = options
            .filter
            .as_ref()
            .map_or_else(Vec::new, Predicate::columns);
        if of_filter.iter().any(|column| self.is_key(column)) {
            inner.filter = None;
            inner.limit = None;
        }
        if let Some(columns) = &options.columns {
            // Of a field in a struct, the struct is read.
            let top = of_filter.iter().map(|path| {
                let mut names = files.fields().iter().map(|field| field.name());
                let begins = |name: &str| {
                    path.strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with('.'))
                };
                let whole = names.clone().find(|name| name == path);
                whole
                    .or_else(|| names.find(|name| begins(name)))
                    .map_or(*path, String::as_str)
            });
            let names = columns.iter().map(String::as_str).chain(top);
            let mut names: Vec<String> = names
                .filter(|name| !self.is_key(name))
                .map(String::from)
                .collect();
            names.sort_unstable();
            names.dedup();
            if names.is_empty() {
                // Of one column, to know the number of rows.
                let first = files.fields().first();
                names.extend(first.map(|field| field.name().clone()));
            }
            inner.columns = Some(names);
        }
        inner
    }

    /// The batches of a file with its keys, then the filter and columns of `options`.
    pub(super) fn add(&self, keys: FileKeys, batches: Batches, options: &ScanOptions) -> Batches {
        if self.fields.is_empty() {
            return batches;
        }
        let fields = self.fields.clone();
        let with_keys = batches.map(move |batch| {
            let batch = batch?;
            let schema = batch.schema();
            let all = schema.fields().iter().map(|field| field.as_ref().clone());
            let schema = Schema::new(all.chain(fields.iter().cloned()).collect::<Vec<_>>());
            let mut columns = batch.columns().to_vec();
            for key in &keys.0 {
                columns.push(repeated(key, batch.num_rows())?);
            }
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(Arc::new(schema), columns, &rows)
                .map_err(|error| Failure::arrow("the names of folders", &error))
        });
        options.apply(Box::new(with_keys))
    }
}

/// A value, `rows` times.
fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let indices = arrow_array::UInt32Array::from(vec![0; rows]);
    arrow_select::take::take(value, &indices, None)
        .map_err(|error| Failure::arrow("the names of folders", &error))
}

/// The keys of the folders of a path.
fn keys(path: &Path) -> Vec<(String, Option<String>)> {
    let folders = path.parent().into_iter().flat_map(Path::iter);
    let pair = |folder: &std::ffi::OsStr| {
        let (key, value) = folder.to_str()?.split_once('=')?;
        let value = (value != NULL).then(|| unescaped(value));
        (!key.is_empty()).then(|| (unescaped(key), value))
    };
    folders.filter_map(pair).collect()
}

/// Text with `%20` and the like undone.
fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(hex.unwrap_or(*first));
        rest = hex.map_or(Some(after), |_| after.get(2..)).unwrap_or(&[]);
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_integers_if_all_are() {
        let paths = [
            PathBuf::from("d/year=2024/city=St%20Ives/a.csv"),
            PathBuf::from("d/year=2025/city=__HIVE_DEFAULT_PARTITION__/b.csv"),
        ];
        let mut found = HiveKeys::of(&paths, &Schema::empty(), &ReadOptions::default());
        let types: Vec<_> = found
            .fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        assert_eq!(types, [DataType::Int32, DataType::Utf8]);
        assert_eq!(
            found.values[0],
            [Some("2024".to_owned()), Some("St Ives".to_owned())]
        );
        assert_eq!(found.next_file().0[0].null_count(), 0);
        assert_eq!(found.next_file().0[1].null_count(), 1);
        let files = Schema::new(vec![Field::new("year", DataType::Int64, true)]);
        let one = HiveKeys::of(&paths, &files, &ReadOptions::default());
        assert_eq!(one.fields.len(), 1);
    }
}
