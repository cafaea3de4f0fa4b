//! Compacting: the small files of a table into files of a good size, sorted if asked.

use std::path::Path;

use staffa::{Cancel, Error, Result, SortKey};

use super::folder::Folder;
use super::open::Table;
use super::sort::Sorter;
use super::write::{TableOptions, TableSummary, TableWriter};

/// Bytes of a file.
const FILE_BYTES: u64 = 256 << 20;
/// Bytes of rows that a sort holds.
const SORT_BYTES: u64 = 1 << 30;

/// How a table is compacted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactOptions {
    /// The order of the rows, within each partition; declared in the files. None: as they come.
    pub sort: Vec<SortKey>,
    /// Bytes of rows that sorting holds at most; the others wait in temporary files.
    pub sort_bytes: u64,
    /// How the files are written: `bytes_per_file` is 256 MiB.
    pub table: TableOptions,
    /// Ends it from another thread.
    pub cancel: Cancel,
}

impl Default for CompactOptions {
    fn default() -> Self {
        let table = TableOptions {
            bytes_per_file: Some(FILE_BYTES),
            ..TableOptions::default()
        };
        Self {
            sort: Vec::new(),
            sort_bytes: SORT_BYTES,
            cancel: table.options.cancel.clone(),
            table,
        }
    }
}

/// Writes the rows of a table to fewer files in another folder. Keys in the names of the table's folders
/// are those of the new ones. The folder must have no Staffa files, and not be the table's own: its
/// readers would see every row twice.
///
/// ```no_run
/// # use std::path::Path;
/// use staffa_lake::table::{CompactOptions, compact};
///
/// # fn main() -> staffa::Result<()> {
/// let mut options = CompactOptions::default();
/// options.sort = vec!["day".parse()?];
/// let written = compact("s3://bucket/small/".as_ref(), Path::new("large"), options)?;
/// println!("{} files", written.files.len());
/// # Ok(())
/// # }
/// ```
pub fn compact(source: &Path, to: &Path, options: CompactOptions) -> Result<TableSummary> {
    refuse_own(source, to)?;
    let target = Folder::new(to)?;
    compact_table(&Table::open(source)?, &target, options)
}

/// As [`compact`], of a table that is open; the folder must not be its own.
pub fn compact_table(
    table: &Table,
    target: &Folder,
    options: CompactOptions,
) -> Result<TableSummary> {
    if !target.find()?.files.is_empty() {
        let what = std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            "the folder has Staffa files, and a reader would take them for part of the table",
        );
        return Err(Error::io(target.name(), what));
    }
    let keys = table.key_fields().iter().map(|field| field.name().clone());
    let mut written = options.table;
    written.options.cancel = options.cancel.clone();
    written.partition_by = keys.collect();
    let stored_key = |key: &&SortKey| !written.partition_by.contains(&key.column);
    written.options.sort_order = options.sort.iter().filter(stored_key).cloned().collect();
    let schema = table.schema().clone();
    let mut writer = TableWriter::new(target, &schema, written)?;
    let check = || options.cancel.check();
    if options.sort.is_empty() {
        for batch in table.scan(None)? {
            check()?;
            writer.write(&batch?)?;
        }
        return writer.finish();
    }
    // Partition by partition, so that each is written at a time, whatever the sort keys.
    let partitions = writer.partition_keys();
    let order: Vec<SortKey> = partitions.into_iter().chain(options.sort).collect();
    let order = each_once(order);
    let mut sorter = Sorter::new(schema, &order, options.sort_bytes)?;
    for batch in table.scan(None)? {
        check()?;
        sorter.push(batch?)?;
    }
    sorter.finish(&mut |batch| {
        check()?;
        writer.write(batch)
    })?;
    writer.finish()
}

/// The keys without those of a column that comes before.
fn each_once(keys: Vec<SortKey>) -> Vec<SortKey> {
    let mut once: Vec<SortKey> = Vec::new();
    for key in keys {
        if !once.iter().any(|known| known.column == key.column) {
            once.push(key);
        }
    }
    once
}

/// Refuses to write into the folder of the source, or one within or around it.
fn refuse_own(source: &Path, to: &Path) -> Result<()> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let place = |path: &Path| {
        let shown = text(path);
        if crate::is_url(&shown) {
            let fixed = shown.split(['*', '[']).next().unwrap_or_default();
            return fixed.trim_end_matches('/').to_owned() + "/";
        }
        let fixed = shown.split(['*', '?', '[']).next().unwrap_or_default();
        let path = if path.exists() {
            path
        } else {
            Path::new(fixed)
        };
        let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        whole.map_or(shown.clone(), |path| text(&path)) + "/"
    };
    let (from, into) = (place(source), place(to));
    if into.starts_with(&from) {
        return Err(Error::invalid(format!(
            "{}: the table's own folder, or one within it: its readers would see every row twice",
            crate::name_of(&text(to))
        )));
    }
    Ok(())
}
