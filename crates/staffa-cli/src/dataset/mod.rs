//! The files that a command reads: wildcards expanded, schemas agreed on, batches one after the
//! other.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tempfile::TempPath;

use crate::cli::Reading;
use crate::error::{Exit, Failure, Result};
use crate::files::output::STANDARD;
use crate::formats::scan::Wanted;
use crate::formats::{self, Batches, Format, Table};
use crate::terminal::interrupt;
use crate::terminal::progress::Meter;

/// One file to read, or the standard input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
}

impl Input {
    #[cfg(test)]
    pub(crate) fn standard() -> Self {
        Self {
            path: STANDARD.into(),
            format: Format::Csv,
        }
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.path == Path::new(STANDARD)
    }

    /// A file that is not there is said to be missing, whatever its name says of a format.
    fn new(path: &Path, reading: &Reading) -> Result<Self> {
        if path != Path::new(STANDARD) {
            let about = fs::metadata(path)
                .map_err(|error| Failure::io(&path.display().to_string(), &error))?;
            if about.is_dir() {
                return Err(Failure::io(
                    &path.display().to_string(),
                    &io::ErrorKind::IsADirectory.into(),
                ));
            }
        }
        Ok(Self {
            path: path.to_path_buf(),
            format: Format::of(path, reading.from, "--from")?,
        })
    }

    /// What to call it in a message.
    pub(crate) fn name(&self) -> String {
        if self.is_standard() {
            "the standard input".into()
        } else {
            self.path.display().to_string()
        }
    }

    /// A refusal of the system that concerns it.
    pub(crate) fn io(&self, error: &io::Error) -> Failure {
        Failure::io(&self.name(), error)
    }

    pub(crate) fn open_file(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| self.io(&error))
    }

    /// The length of a file; a pipe has none.
    fn bytes(&self) -> Option<u64> {
        fs::metadata(&self.path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|about| about.len())
    }

    /// A path for formats that are read from their end; a pipe is copied to a temporary file first.
    pub(crate) fn seekable(&self) -> Result<Seekable> {
        if self.bytes().is_some() {
            return Ok(Seekable {
                path: self.path.clone(),
                _copy: None,
            });
        }
        let mut source: Box<dyn Read> = if self.is_standard() {
            Box::new(io::stdin().lock())
        } else {
            Box::new(self.open_file()?)
        };
        let mut copy = || -> io::Result<TempPath> {
            let mut file = tempfile::NamedTempFile::new()?;
            io::copy(&mut source, &mut file)?;
            Ok(file.into_temp_path())
        };
        let copy = copy().map_err(|error| self.io(&error))?;
        Ok(Seekable {
            path: copy.to_path_buf(),
            _copy: Some(copy),
        })
    }
}

/// A file to seek in; a copy is removed when this is dropped.
pub(crate) struct Seekable {
    pub(crate) path: PathBuf,
    _copy: Option<TempPath>,
}

/// Wildcards become the files they match, in the order of their names. A file of that very name
/// comes first.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        let pattern = path.to_string_lossy();
        if !pattern.contains(['*', '?', '[']) || path.exists() {
            out.push(path.clone());
            continue;
        }
        let found = glob::glob(&pattern).map_err(|error| {
            Failure::usage(format!(
                "{pattern}: this wildcard does not parse: {}",
                error.msg
            ))
        })?;
        let before = out.len();
        for entry in found {
            let entry = entry
                .map_err(|error| Failure::io(&error.path().display().to_string(), error.error()))?;
            if entry.is_file() {
                out.push(entry);
            }
        }
        if out.len() == before {
            return Err(Failure {
                exit: Exit::Io,
                message: format!("{pattern}: no file matches"),
            });
        }
    }
    Ok(out)
}

/// Files of one schema, read as one table.
pub(crate) struct Inputs {
    parts: VecDeque<(Input, Option<Box<dyn Table>>)>,
    reading: Reading,
    /// What the files agree on.
    pub(crate) schema: SchemaRef,
    /// How many rows in all, where every file says so.
    pub(crate) rows: Option<u64>,
    /// How many bytes in all, where every input is a file.
    pub(crate) bytes: Option<u64>,
}

impl Inputs {
    /// Opens every file and compares their schemas; wildcards are expanded before.
    pub(crate) fn open(paths: &[PathBuf], reading: &Reading) -> Result<Self> {
        // So many stay open between this and the scan; of thousands of files, the rest are opened
        // again. A pipe cannot be.
        const KEPT_OPEN: usize = 32;
        let mut parts = VecDeque::new();
        let mut agreed: Option<(Input, Schema)> = None;
        let (mut rows, mut bytes) = (Some(0), Some(0));
        for path in paths {
            let input = Input::new(path, reading)?;
            let table = formats::open(&input, reading)?;
            rows = rows.zip(table.rows()).map(|(sum, more)| sum + more);
            bytes = bytes.zip(input.bytes()).map(|(sum, more)| sum + more);
            let schema = table.schema();
            agreed = Some(match agreed {
                None => (input.clone(), schema.as_ref().clone()),
                Some((first, sum)) => {
                    let sum = agree(&first, &sum, &input, &schema)?;
                    (first, sum)
                }
            });
            let keep = parts.len() < KEPT_OPEN || input.bytes().is_none();
            parts.push_back((input, keep.then_some(table)));
        }
        let schema = agreed.map_or_else(Schema::empty, |(first, schema)| settle(&first, schema));
        Ok(Self {
            parts,
            reading: reading.clone(),
            schema: Arc::new(schema),
            rows,
            bytes,
        })
    }

    /// The wanted rows and columns of all files, and their schema.
    pub(crate) fn scan(self, wanted: &Wanted, meter: &Meter) -> Result<(SchemaRef, Batches)> {
        let output = wanted.check(&self.schema)?;
        let chain = Chain {
            parts: self.parts,
            reading: self.reading,
            schema: self.schema,
            output: output.clone(),
            wanted: wanted.clone(),
            meter: meter.clone(),
            current: None,
        };
        Ok((output, Box::new(chain)))
    }
}

/// The files' batches, each file opened when its turn comes.
struct Chain {
    parts: VecDeque<(Input, Option<Box<dyn Table>>)>,
    reading: Reading,
    schema: SchemaRef,
    output: SchemaRef,
    /// With what is left of the limit.
    wanted: Wanted,
    meter: Meter,
    current: Option<Batches>,
}

impl Chain {
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            interrupt::check()?;
            if self.wanted.limit == Some(0) {
                return Ok(None);
            }
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next).transpose()? {
                if let Some(left) = &mut self.wanted.limit {
                    *left = left.saturating_sub(batch.num_rows() as u64);
                }
                // Files that agree may still differ in metadata and in what may be NULL.
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = batch.columns().to_vec();
                let batch =
                    RecordBatch::try_new_with_options(self.output.clone(), columns, &options);
                return batch
                    .map(Some)
                    .map_err(|error| Failure::arrow("the input", &error));
            }
            let Some((input, table)) = self.parts.pop_front() else {
                return Ok(None);
            };
            let table = table.map_or_else(|| formats::open(&input, &self.reading), Ok)?;
            self.current =
                Some(table.scan(self.schema.clone(), &self.wanted, self.meter.clone())?);
        }
    }
}

impl Iterator for Chain {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// The schema of both, or which column stands against it.
fn agree(first: &Input, sum: &Schema, input: &Input, schema: &Schema) -> Result<Schema> {
    let refuse = |what: String| Failure::usage(format!("{}: {what}", input.name()));
    let mut fields = Vec::with_capacity(sum.fields().len());
    for (at, ours) in sum.fields().iter().enumerate() {
        let Some(theirs) = schema.fields().get(at) else {
            return Err(refuse(format!(
                "the column {:?} is missing, which {} has",
                ours.name(),
                first.name()
            )));
        };
        if ours.name() != theirs.name() {
            return Err(refuse(format!(
                "column {} is {:?}, but {:?} in {}",
                at + 1,
                theirs.name(),
                ours.name(),
                first.name()
            )));
        }
        let Some(data_type) = common(
            ours.data_type(),
            theirs.data_type(),
            first.format,
            input.format,
        ) else {
            let hint = if first.format.is_text() || input.format.is_text() {
                format!("; --text {} reads it as text everywhere", ours.name())
            } else {
                String::new()
            };
            return Err(refuse(format!(
                "column {:?} is {}, but {} in {}{hint}",
                ours.name(),
                theirs.data_type(),
                ours.data_type(),
                first.name()
            )));
        };
        let nullable = ours.is_nullable() || theirs.is_nullable();
        fields.push(Arc::new(
            ours.as_ref()
                .clone()
                .with_data_type(data_type)
                .with_nullable(nullable),
        ));
    }
    if let Some(more) = schema.fields().get(fields.len()) {
        return Err(refuse(format!(
            "the column {:?} is one more than {} has",
            more.name(),
            first.name()
        )));
    }
    Ok(Schema::new_with_metadata(fields, sum.metadata().clone()))
}

/// The type that holds both. Only types that were guessed from text may give way.
fn common(ours: &DataType, theirs: &DataType, first: Format, second: Format) -> Option<DataType> {
    match (ours, theirs) {
        _ if ours == theirs => Some(ours.clone()),
        (DataType::Null, other) if first.is_text() => Some(other.clone()),
        (other, DataType::Null) if second.is_text() => Some(other.clone()),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64)
            if first.is_text() && second.is_text() =>
        {
            Some(DataType::Float64)
        }
        _ => None,
    }
}

/// A column of text in which no value was seen is text.
fn settle(first: &Input, schema: Schema) -> Schema {
    if !first.format.is_text() {
        return schema;
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| {
            field
                .as_ref()
                .clone()
                .with_data_type(settled(field.data_type()))
        })
        .collect();
    Schema::new_with_metadata(fields, schema.metadata)
}

fn settled(data_type: &DataType) -> DataType {
    let inner = |field: &Arc<Field>| {
        Arc::new(
            field
                .as_ref()
                .clone()
                .with_data_type(settled(field.data_type())),
        )
    };
    match data_type {
        DataType::Null => DataType::Utf8,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        Schema::new(
            fields
                .iter()
                .map(|(name, of)| Field::new(*name, of.clone(), true))
                .collect::<Vec<_>>(),
        )
    }

    fn input(name: &str) -> Input {
        Input {
            format: Format::of(Path::new(name), None, "--from").unwrap(),
            path: name.into(),
        }
    }

    #[test]
    fn schemas_that_differ_are_refused_by_file_and_column() {
        let ours = schema(&[("id", DataType::Int64), ("price", DataType::Float64)]);
        let cases = [
            (
                schema(&[("id", DataType::Int64), ("price", DataType::Utf8)]),
                "b.pq: column \"price\" is Utf8, but Float64",
            ),
            (
                schema(&[("id", DataType::Int64)]),
                "b.pq: the column \"price\" is missing, which a.pq has",
            ),
            (
                schema(&[("di", DataType::Int64)]),
                "b.pq: column 1 is \"di\", but \"id\" in a.pq",
            ),
        ];
        for (theirs, message) in cases {
            let failure = agree(&input("a.pq"), &ours, &input("b.pq"), &theirs).unwrap_err();
            assert!(failure.message.starts_with(message), "{}", failure.message);
            assert_eq!(failure.exit, Exit::Usage);
        }
    }

    #[test]
    fn guesses_give_way_and_declared_types_do_not() {
        let whole = schema(&[("x", DataType::Int64), ("y", DataType::Null)]);
        let parts = schema(&[("x", DataType::Float64), ("y", DataType::Boolean)]);
        let both = agree(&input("a.csv"), &whole, &input("b.csv"), &parts).unwrap();
        assert_eq!(
            both,
            schema(&[("x", DataType::Float64), ("y", DataType::Boolean)])
        );
        assert!(agree(&input("a.pq"), &whole, &input("b.pq"), &parts).is_err());
        assert_eq!(
            settle(&input("a.csv"), whole.clone()).field(1).data_type(),
            &DataType::Utf8
        );
        assert_eq!(
            settle(&input("a.pq"), whole).field(1).data_type(),
            &DataType::Null
        );
    }

    #[test]
    fn wildcards_expand_in_order_and_must_match() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = expand(&[folder.path().join("*.csv")]).unwrap();
        assert_eq!(
            found,
            [folder.path().join("a.csv"), folder.path().join("b.csv")]
        );
        assert_eq!(
            expand(&[folder.path().join("*.pq")]).unwrap_err().exit,
            Exit::Io
        );
        assert_eq!(
            expand(&["no-such-file".into()]).unwrap(),
            [PathBuf::from("no-such-file")]
        );
    }
}
