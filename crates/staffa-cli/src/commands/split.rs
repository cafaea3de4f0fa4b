//! `split`: one table into several files, by rows or by the values of a column.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;

use super::write_options::StaffaOptions;
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::files::output::{Output, refuse_existing};
use crate::formats::scan::{ScanOptions, SelectOptions, find_column};
use crate::formats::{self, CsvDialect, Format, ReadOptions, Sink};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// Files that are written at once: they appear together.
const MAX_FILES: usize = 1000;

#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("how").required(true).args(["rows", "by"]),
    after_help = "\
--rows writes part-00001.staffa, part-00002.staffa and so on for an output part.staffa. --by writes folders of Hive,
city=Oban/part.staffa, into the folder of the output; the column is left out of the files, and comes back when the
folder is read.

Examples:
  staffa split trips.staffa part.staffa --rows 1000000
  staffa split 'logs/*.csv' by_city/part.staffa --by city
  staffa cat by_city --where \"city = 'Oban'\"")]
pub(crate) struct Args {
    /// A file, a folder or a wildcard
    input: PathBuf,
    /// The name of the files to write
    output: PathBuf,
    /// Rows per file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// A file for each value of this column
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    /// Print no progress bar
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    staffa: StaffaOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let to = Format::of(&args.output, None, "--to")?;
    if to != Format::Staffa {
        args.staffa.refuse_for(to)?;
    }
    let mut options = ScanOptions::new(&args.select)?;
    options.threads = args.staffa.threads();
    interrupt::catch();
    let dataset = Dataset::open(std::slice::from_ref(&args.input), &args.read)?;
    let progress = Progress::new(dataset.bytes, args.quiet);
    let (schema, batches) = dataset.scan(&options, &progress.meter())?;
    let mut files = match &args.by {
        Some(column) => Files::by_column(args, to, &schema, find_column(&schema, column)?)?,
        None => Files::by_rows(args, to, schema.clone()),
    };
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        files.add(&batch)?;
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows, false);
        interrupt::check()?;
    }
    files.finish()
}

/// The files that are being written. They appear together: of an error none is left.
struct Files<'a> {
    args: &'a Args,
    format: Format,
    /// The schema of the files.
    schema: SchemaRef,
    /// The column that decides, if one does.
    by: Option<usize>,
    open: BTreeMap<String, Box<dyn Sink>>,
    /// After the files, so that theirs are empty when they are dropped unfinished.
    folders: Folders,
    /// Rows of the last file, if rows decide.
    in_last: u64,
}

impl<'a> Files<'a> {
    fn by_rows(args: &'a Args, format: Format, schema: SchemaRef) -> Self {
        Self {
            args,
            format,
            schema,
            by: None,
            open: BTreeMap::new(),
            folders: Folders::default(),
            in_last: 0,
        }
    }

    fn by_column(args: &'a Args, format: Format, schema: &SchemaRef, by: usize) -> Result<Self> {
        let kept: Vec<usize> = (0..schema.fields().len()).filter(|at| *at != by).collect();
        if kept.is_empty() {
            return Err(Failure::usage("--by: the table has no other column"));
        }
        let schema = schema
            .project(&kept)
            .map_err(|error| Failure::arrow("--by", &error))?;
        let mut files = Self::by_rows(args, format, Arc::new(schema));
        files.by = Some(by);
        Ok(files)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        match self.by {
            Some(by) => self.add_by_column(batch, by),
            None => self.add_by_rows(batch.clone()),
        }
    }

    fn add_by_rows(&mut self, mut batch: RecordBatch) -> Result<()> {
        let most = self.args.rows.unwrap_or(u64::MAX);
        while batch.num_rows() > 0 {
            if self.open.is_empty() || self.in_last == most {
                self.check_count("--rows: the table", "parts")?;
                let name = format!("{:05}", self.open.len() + 1);
                let sink = self.create(&self.numbered(&name))?;
                self.open.insert(name, sink);
                self.in_last = 0;
            }
            let rows = usize::try_from(most - self.in_last).unwrap_or(usize::MAX);
            let rows = rows.min(batch.num_rows());
            if let Some(mut last) = self.open.last_entry() {
                last.get_mut().write(&batch.slice(0, rows))?;
            }
            self.in_last += rows as u64;
            batch = batch.slice(rows, batch.num_rows() - rows);
        }
        Ok(())
    }

    fn add_by_column(&mut self, batch: &RecordBatch, by: usize) -> Result<()> {
        let fail = |error| Failure::arrow("--by", &error);
        let column = batch.column(by);
        let options = FormatOptions::new();
        let formatter = ArrayFormatter::try_new(column, &options).map_err(fail)?;
        let nulls = column.logical_nulls();
        let mut rows: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for row in 0..batch.num_rows() {
            let value = if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                "__HIVE_DEFAULT_PARTITION__".to_owned()
            } else {
                escaped(&formatter.value(row).try_to_string().map_err(fail)?)
            };
            rows.entry(value).or_default().push(row as u64);
        }
        let kept: Vec<usize> = (0..batch.num_columns()).filter(|at| *at != by).collect();
        let others = batch.project(&kept).map_err(fail)?;
        let name = escaped(batch.schema().field(by).name());
        for (value, rows) in rows {
            let part = take_record_batch(&others, &UInt64Array::from(rows)).map_err(fail)?;
            if !self.open.contains_key(&value) {
                self.check_count("--by: the column", "different values")?;
                let path = self.in_folder(&format!("{name}={value}"))?;
                let sink = self.create(&path)?;
                self.open.insert(value.clone(), sink);
            }
            if let Some(sink) = self.open.get_mut(&value) {
                sink.write(&part)?;
            }
        }
        Ok(())
    }

    /// Refuses one file more than may be open.
    fn check_count(&self, what: &str, parts: &str) -> Result<()> {
        if self.open.len() < MAX_FILES {
            return Ok(());
        }
        let message = format!("{what} has more than {MAX_FILES} {parts}");
        Err(Failure::unsupported(message))
    }

    /// `part-00001.staffa` for `part.staffa`.
    fn numbered(&self, number: &str) -> PathBuf {
        let output = &self.args.output;
        let stem = output.file_stem().unwrap_or_default().to_string_lossy();
        let ending = output.extension().unwrap_or_default().to_string_lossy();
        output.with_file_name(format!("{stem}-{number}.{ending}"))
    }

    /// The output in a folder beside it, which is created.
    fn in_folder(&mut self, folder: &str) -> Result<PathBuf> {
        let parent = self.args.output.parent().unwrap_or(Path::new(""));
        let folder = parent.join(folder);
        self.folders.create(&folder)?;
        Ok(folder.join(self.args.output.file_name().unwrap_or_default()))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn Sink>> {
        refuse_existing(path, self.args.force)?;
        if self.format == Format::Staffa {
            let options = self.args.staffa.to_write_options(self.args.force);
            return formats::create_staffa(path, &self.schema, options);
        }
        let csv = CsvDialect::of_output(path, &self.args.read);
        let output = Output::create(path, self.args.force)?;
        formats::create(self.format, output, &self.schema, &csv)
    }

    fn finish(mut self) -> Result<()> {
        while let Some((_, sink)) = self.open.pop_first() {
            sink.finish()?;
            interrupt::check()?;
        }
        Ok(())
    }
}

/// Folders that were created; dropped, the empty ones are removed.
#[derive(Default)]
struct Folders(Vec<PathBuf>);

impl Folders {
    fn create(&mut self, folder: &Path) -> Result<()> {
        let missing = folder.ancestors().take_while(|path| !path.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        fs::create_dir_all(folder)
            .map_err(|error| Failure::io(&folder.display().to_string(), &error))?;
        self.0.extend(missing.into_iter().rev());
        Ok(())
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // A folder with files stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A value as the name of a folder: what a path or a key could not hold becomes `%2F` and the like.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(
                c,
                '/' | '\\' | '=' | '%' | ':' | '*' | '?' | '"' | '<' | '>' | '|'
            )
        {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // Writing to a string does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}
