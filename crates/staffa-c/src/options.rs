//! Options as keys and values: of opening, of writing.

use std::fmt::Display;
use std::str::FromStr;

use staffa::{Cache, Cancel, Error, File, Limits, Result, WriteOptions};

/// Keys of which each value counts.
const GATHER: [&str; 2] = ["without", "sort_order"];

/// Keys and values in the order in which they were set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    /// The column that it is for; of all columns without.
    column: Option<String>,
    key: String,
    value: String,
}

/// How a file is opened.
#[derive(Debug, Default)]
pub(crate) struct OpenOptions {
    pub limits: Limits,
    cache_bytes: Option<u64>,
}

impl OpenOptions {
    /// The file with its cache.
    pub fn apply(&self, file: File) -> File {
        match self.cache_bytes {
            Some(bytes) => file.with_cache(&Cache::new(bytes)),
            None => file,
        }
    }
}

impl Options {
    /// Sets an option; of keys that do not gather values the last one counts.
    pub fn set(&mut self, column: Option<&str>, key: &str, value: &str) {
        if !GATHER.contains(&key) {
            self.0
                .retain(|entry| entry.key != key || entry.column.as_deref() != column);
        }
        self.0.push(Entry {
            column: column.map(str::to_owned),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }

    /// As options of opening.
    pub fn for_open(&self) -> Result<OpenOptions> {
        let mut options = OpenOptions::default();
        for entry in &self.0 {
            let limits = &mut options.limits;
            match (&entry.column, entry.key.as_str()) {
                (None, "metadata_bytes") => limits.metadata_bytes = entry.parse()?,
                (None, "leaves") => limits.leaves = entry.parse()?,
                (None, "row_group_values") => limits.row_group_values = entry.parse()?,
                (None, "block_bytes") => limits.block_bytes = entry.parse()?,
                (None, "depth") => limits.depth = entry.parse()?,
                (None, "cache_decoded") => limits.cache_decoded = entry.parse()?,
                (None, "cache_bytes") => options.cache_bytes = Some(entry.parse()?),
                _ => {
                    return Err(entry.unknown(
                        "metadata_bytes, leaves, row_group_values, block_bytes, depth, cache_decoded \
                         or cache_bytes, to open a file",
                    ));
                }
            }
        }
        Ok(options)
    }

    /// As options of writing: on the thread of the caller, unless `threads` says otherwise.
    pub fn for_write(&self, cancel: Option<&Cancel>) -> Result<WriteOptions> {
        let mut options = WriteOptions::new().threads(1);
        if let Some(cancel) = cancel {
            options.cancel = cancel.clone();
        }
        for entry in &self.0 {
            match &entry.column {
                None => entry.write(&mut options)?,
                Some(column) => entry.write_column(column, &mut options)?,
            }
        }
        Ok(options)
    }
}

impl Entry {
    /// An option of the whole file.
    fn write(&self, options: &mut WriteOptions) -> Result<()> {
        match self.key.as_str() {
            "profile" => options.profile = self.parse()?,
            "access" => options.access = self.parse()?,
            "edition" => options.edition = Some(self.parse()?),
            "without" => options.without.push(self.value.clone()),
            "sort_order" => options.sort_order.push(self.parse()?),
            "chunk_statistics" => options.chunk_statistics = self.parse()?,
            "row_group_rows" => options.row_group_rows = self.parse()?,
            "row_group_bytes" => options.row_group_bytes = self.parse()?,
            "block_rows" => options.block_rows = self.parse()?,
            "threads" => options.threads = Some(self.parse()?),
            "derived_columns" | "relate" => options.derived_columns = self.parse()?,
            "verify" => options.verify = self.parse()?,
            "overwrite" => options.overwrite = self.parse()?,
            _ => {
                return Err(self.unknown(
                    "profile, access, edition, without, sort_order, chunk_statistics, row_group_rows, \
                     row_group_bytes, block_rows, threads, derived_columns, verify or overwrite, to write a file",
                ));
            }
        }
        Ok(())
    }

    /// An option of one column.
    fn write_column(&self, column: &str, options: &mut WriteOptions) -> Result<()> {
        let column = column.to_owned();
        match self.key.as_str() {
            "profile" => options.column_profiles.push((column, self.parse()?)),
            "encoding" => options.encodings.push((column, self.value.clone())),
            "max_error" => options.max_error.push((column, self.parse()?)),
            _ => return Err(self.unknown("profile, encoding or max_error, to write a column")),
        }
        Ok(())
    }

    fn parse<T: FromStr<Err: Display>>(&self) -> Result<T> {
        let Self { key, value, .. } = self;
        let wrong = |e| Error::invalid(format!("option {key:?}: {value:?}: {e}"));
        value.parse().map_err(wrong)
    }

    fn unknown(&self, expected: &str) -> Error {
        let of = self.column.as_ref();
        let of = of.map_or_else(String::new, |column| format!(" of column {column:?}"));
        let key = &self.key;
        Error::invalid(format!("option {key:?}{of}: expected {expected}"))
    }
}
