//! A table: its files, one schema, and scans that pass over files without opening them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use staffa::{Error, File, Limits, Predicate, Reader, Result, Source};

use super::find::{Found, TableFile, find};
use super::fit::Fit;
use super::fold::Folded;
use super::hive::KeyColumns;
use super::unify::unify;
use crate::source::ObjectSource;

/// Whether a name is that of a Staffa file.
pub fn is_staffa(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("staffa"))
}

/// The end of a file, of which nothing else is read.
#[derive(Debug)]
struct End {
    name: String,
    len: u64,
    bytes: Bytes,
}

impl Source for End {
    fn len(&self) -> u64 {
        self.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn end_bytes(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let first = self.len - self.bytes.len() as u64;
        let part = range
            .start
            .checked_sub(first)
            .map(|from| from as usize..(range.end - first) as usize);
        let missing =
            || Error::invalid(format!("{}: only the end of the file is known", self.name));
        let part = part
            .filter(|part| part.end <= self.bytes.len())
            .ok_or_else(missing)?;
        Ok(self.bytes.slice(part))
    }
}

impl TableFile {
    /// The file by what the table's index knows of it, if that is up to date: schema, number of rows,
    /// statistics, [`File::may_match`]. Its rows cannot be read.
    pub fn known(&self) -> Result<Option<File>> {
        let Some(bytes) = self.end.clone() else {
            return Ok(None);
        };
        let end = End {
            name: self.name(),
            len: self.bytes,
            bytes,
        };
        // An index whose bytes are no end of a file knows nothing of it.
        Ok(File::open_source(Arc::new(end)).ok())
    }

    /// Opens the file; by an index that is up to date without a request.
    pub fn open(&self, limits: Limits) -> Result<File> {
        let Some(object) = &self.object else {
            return match self.path().to_str().filter(|text| crate::is_url(text)) {
                Some(url) => crate::open_with(&crate::Location::parse(url)?, limits),
                None => File::open_with(self.path(), limits),
            };
        };
        if let Some(end) = &self.end {
            let source = ObjectSource::of_listed(object, end.clone());
            if let Ok(file) = File::open_source_with(Arc::new(source), limits) {
                return Ok(file);
            }
        }
        // The listing has told that the object is the same.
        if let Some(source) = ObjectSource::of_cached(object)
            && let Ok(file) = File::open_source_with(Arc::new(source), limits)
        {
            return Ok(file);
        }
        crate::open_with(&object.location, limits)
    }
}

/// Files that are read as one table: the union of their columns, then the keys of their folders.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let table = staffa_lake::table::Table::open("s3://bucket/trips/".as_ref())?;
/// for batch in table.scan(Some("year = 2026 and price < 10".parse()?))? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    files: Vec<TableFile>,
    schemas: Vec<SchemaRef>,
    rows: u64,
    keys: KeyColumns,
    schema: SchemaRef,
}

impl Table {
    /// The table of a path, a folder, a wildcard or a URL; its index is used. Every file that the index
    /// does not know is opened for its schema.
    pub fn open(source: &Path) -> Result<Self> {
        let found = find(source, &is_staffa)?;
        if found.files.is_empty() {
            let what = "no file ends in .staffa, or none matches";
            let what = std::io::Error::new(std::io::ErrorKind::NotFound, what);
            return Err(Error::io(crate::name_of(&source.to_string_lossy()), what));
        }
        Self::of_found(found)
    }

    /// The table of files that were found.
    pub fn of_found(mut found: Found) -> Result<Self> {
        found.read_index();
        let (mut named, mut rows) = (Vec::new(), 0);
        for file in &found.files {
            let opened = match file.known()? {
                Some(known) => known,
                None => file.open(Limits::default())?,
            };
            rows += opened.num_rows();
            named.push((file.name(), opened.schema().clone()));
        }
        let stored = unify(&named).map_err(|conflict| conflict.into_error(&named))?;
        let keys: Vec<_> = found.files.iter().map(TableFile::keys).collect();
        let skip = |name: &str| stored.column_with_name(name).is_some();
        let keys = KeyColumns::of(&keys, &skip, &|_| false);
        let fields = stored.fields().iter().cloned();
        let fields = fields.chain(keys.fields().iter().cloned().map(Arc::new));
        let fields: Vec<FieldRef> = fields.collect();
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(fields, stored.metadata().clone())),
            schemas: named.into_iter().map(|(_, schema)| schema).collect(),
            files: found.files,
            rows,
            keys,
        })
    }

    /// The columns of the files, then the keys.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns that are stored in files.
    pub fn stored_schema(&self) -> Schema {
        let stored = self.schema.fields().len() - self.keys.fields().len();
        let fields: Vec<FieldRef> = self.schema.fields().iter().take(stored).cloned().collect();
        Schema::new_with_metadata(fields, self.schema.metadata().clone())
    }

    /// The columns in the names of folders.
    pub fn key_fields(&self) -> &[Field] {
        self.keys.fields()
    }

    /// The files, in order.
    pub fn files(&self) -> &[TableFile] {
        &self.files
    }

    /// Rows of all files.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// The rows that match, file by file. Files that their keys or, where the index knows them, their
    /// statistics exclude are not touched.
    pub fn scan(&self, filter: Option<Predicate>) -> Result<TableScan> {
        if let Some(filter) = &filter {
            filter.bind(&self.schema)?;
        }
        Ok(TableScan {
            table: self.clone(),
            filter,
            next: 0,
            reader: None,
        })
    }
}

fn no_file() -> Error {
    Error::internal("a table without this file")
}

/// The batches of a table's rows.
#[derive(Debug)]
pub struct TableScan {
    table: Table,
    filter: Option<Predicate>,
    next: usize,
    /// The rows of the current file, and whether the filter is still to be applied.
    reader: Option<(Reader, Fit, bool)>,
}

impl TableScan {
    /// The rows of the next file that may have some.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(file) = self.table.files.get(self.next) {
            let at = self.next;
            self.next += 1;
            let keys = self.table.keys.rows(at..at + 1)?;
            let own = self.table.schemas.get(at).ok_or_else(no_file)?;
            let fit = Fit::new(self.table.schema.clone(), own.clone(), &keys)?;
            let folded = match &self.filter {
                Some(filter) => fit.fold(filter)?,
                None => Folded::Always,
            };
            let (pushed, rest) = match folded {
                Folded::Never => continue,
                Folded::Always => (None, false),
                Folded::Rest { by, exact } => (Some(by), !exact),
                Folded::Unknown => (None, true),
            };
            if let (Some(by), Some(known)) = (&pushed, file.known()?)
                && !known.may_match(by)?
            {
                continue;
            }
            let mut scan = file.open(Limits::default())?.scan();
            if let Some(by) = pushed {
                scan = scan.filter(by);
            }
            self.reader = Some((scan.reader()?, fit, rest));
            return Ok(true);
        }
        Ok(false)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some((reader, fit, rest)) = &mut self.reader {
                if let Some(batch) = reader.next().transpose()? {
                    let batch = fit.assemble(&batch, &self.table.schema)?;
                    let Some(filter) = self.filter.as_ref().filter(|_| *rest) else {
                        return Ok(Some(batch));
                    };
                    let kept = filter.bind(&self.table.schema)?.evaluate(&batch)?;
                    let batch = arrow_select::filter::filter_record_batch(&batch, &kept)?;
                    if batch.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                    continue;
                }
                self.reader = None;
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }
}

impl Iterator for TableScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch();
        if batch.is_err() {
            // Half a table is not a table.
            (self.next, self.reader) = (usize::MAX, None);
        }
        batch.transpose()
    }
}
