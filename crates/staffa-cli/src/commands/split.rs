//! `split`: one table into several files, by rows or by the values of a column.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take_record_batch;
use staffa_lake::table::{NULL_KEY, is_integer};

use super::target::Target;
use super::write_options::StaffaOptions;
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::files::compression::Compression;
use crate::files::staged::StagedFiles;
use crate::formats::scan::{ScanOptions, SelectOptions, find_column};
use crate::formats::text_values::{as_text_values, check_zone};
use crate::formats::{Format, ReadOptions, Sink};
use crate::terminal::progress::Progress;
use crate::terminal::text::quoted_name;
use crate::terminal::{interrupt, note};

/// Files that are written at once: they appear together.
const MAX_FILES: usize = 1000;

#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("how").required(true).args(["rows", "by"]),
    after_help = "\
--rows writes part-00001.staffa, part-00002.staffa and so on for an output part.staffa. --by
writes folders of Hive, city=Oban/part.staffa, into the folder of the output; the column is left
out of the files, and comes back when the folder is read.

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
    let mut dataset = Dataset::open(std::slice::from_ref(&args.input), &args.read)?;
    let progress = Progress::new(dataset.bytes, args.quiet);
    let mut carried = dataset.take_carried()?;
    if let Some(column) = &args.by {
        carried.without_constant(column);
    }
    let (schema, batches) = dataset.scan(&options, &progress.meter())?;
    let target = Target {
        to,
        staffa: &args.staffa,
        read: &args.read,
        replace: args.force,
        carried: &carried,
    };
    let mut files = match &args.by {
        Some(column) => Files::by_column(args, target, &schema, find_column(&schema, column)?)?,
        None => Files::by_rows(args, target, schema.clone())?,
    };
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        files.add(&batch).map_err(|failure| files.named(&failure))?;
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows, false);
        interrupt::check()?;
    }
    progress.finish();
    files.finish()
}

/// The files that are being written. They appear together: of an error none is left.
struct Files<'a> {
    args: &'a Args,
    target: Target<'a>,
    /// The schema of the files.
    schema: SchemaRef,
    /// The column that decides, if one does.
    by: Option<usize>,
    /// The files by their paths below the folder of the output.
    open: BTreeMap<PathBuf, Box<dyn Sink>>,
    /// Where they are written.
    staged: StagedFiles,
    /// The values of the column, if it has texts.
    texts: BTreeSet<String>,
    /// The last file and its rows, if rows decide.
    last: Option<(PathBuf, u64)>,
}

impl<'a> Files<'a> {
    fn by_rows(args: &'a Args, target: Target<'a>, schema: SchemaRef) -> Result<Self> {
        Ok(Self {
            args,
            staged: StagedFiles::beside(&args.output, target.replace)?,
            target,
            schema,
            by: None,
            open: BTreeMap::new(),
            texts: BTreeSet::new(),
            last: None,
        })
    }

    fn by_column(
        args: &'a Args,
        target: Target<'a>,
        schema: &SchemaRef,
        by: usize,
    ) -> Result<Self> {
        let kept: Vec<usize> = (0..schema.fields().len()).filter(|at| *at != by).collect();
        if kept.is_empty() {
            return Err(Failure::usage("--by: the table has no other column"));
        }
        let field = schema.field(by);
        if !names_folders(field.data_type()) {
            return Err(Failure::usage(format!(
                "--by: column {:?} is of type {}, expected numbers, text, dates or others that name a folder",
                field.name(),
                field.data_type()
            )));
        }
        let schema = schema
            .project(&kept)
            .map_err(|error| Failure::arrow("--by", &error))?;
        let mut files = Self::by_rows(args, target, Arc::new(schema))?;
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
            let last = self.last.take().filter(|(_, rows)| *rows < most);
            let (path, before) = if let Some(last) = last {
                last
            } else {
                self.check_count("--rows: the table", "parts")?;
                (PathBuf::from(self.numbered(self.open.len() + 1)), 0)
            };
            let rows = usize::try_from(most - before).unwrap_or(usize::MAX);
            let rows = rows.min(batch.num_rows());
            self.write(&path, &batch.slice(0, rows))?;
            self.last = Some((path, before + rows as u64));
            batch = batch.slice(rows, batch.num_rows() - rows);
        }
        Ok(())
    }

    fn add_by_column(&mut self, batch: &RecordBatch, by: usize) -> Result<()> {
        let fail = |error| Failure::arrow("--by", &error);
        let schema = batch.schema();
        check_zone(schema.field(by).name(), schema.field(by).data_type())?;
        let column = &as_text_values(batch.column(by)).map_err(fail)?;
        let options = FormatOptions::new();
        let formatter = ArrayFormatter::try_new(column, &options).map_err(fail)?;
        let nulls = column.logical_nulls();
        let mut rows: BTreeMap<Option<String>, Vec<u64>> = BTreeMap::new();
        for row in 0..batch.num_rows() {
            let value = if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                None
            } else {
                Some(formatter.value(row).try_to_string().map_err(fail)?)
            };
            rows.entry(value).or_default().push(row as u64);
        }
        let kept: Vec<usize> = (0..batch.num_columns()).filter(|at| *at != by).collect();
        let others = batch.project(&kept).map_err(fail)?;
        let name = escaped(schema.field(by).name());
        let file = self.args.output.file_name().unwrap_or_default();
        let is_text = is_text(schema.field(by).data_type());
        for (value, rows) in rows {
            let part = take_record_batch(&others, &UInt64Array::from(rows)).map_err(fail)?;
            let folder = match &value {
                Some(value) => escaped(value),
                None => NULL_KEY.to_owned(),
            };
            let path = Path::new(&format!("{name}={folder}")).join(file);
            if !self.open.contains_key(&path) {
                self.check_count("--by: the column", "different values")?;
            }
            self.write(&path, &part)?;
            self.texts.extend(value.filter(|_| is_text));
        }
        Ok(())
    }

    /// Writes rows to a file, which the first ones start.
    fn write(&mut self, path: &Path, rows: &RecordBatch) -> Result<()> {
        if let Some(sink) = self.open.get_mut(path) {
            return sink.write(rows);
        }
        let mut sink = self.target.create(&self.staged.add(path)?, &self.schema)?;
        let written = sink.write(rows);
        self.open.insert(path.to_owned(), sink);
        written
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
    fn numbered(&self, number: usize) -> String {
        let (stem, ending) = self.stem_and_ending();
        format!("{stem}-{number:05}.{ending}")
    }

    /// `part` and `csv.gz` of `part.csv.gz`.
    fn stem_and_ending(&self) -> (String, String) {
        let name = self.args.output.file_name().unwrap_or_default();
        let name = Path::new(name);
        let of = |path: &Path| {
            let text =
                |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
            (text(path.file_stem()), text(path.extension()))
        };
        let (stem, ending) = of(name);
        if Compression::of(name).is_some() {
            let (stem, inner) = of(Path::new(&stem));
            return (stem, format!("{inner}.{ending}"));
        }
        (stem, ending)
    }

    /// A failure that names files as they are to be called.
    fn named(&self, failure: &Failure) -> Failure {
        Failure {
            exit: failure.exit,
            message: self.staged.named(&failure.message),
        }
    }

    fn finish(mut self) -> Result<()> {
        if self.open.is_empty() {
            self.add_empty()?;
        }
        let mut finished = Vec::new();
        while let Some((path, sink)) = self.open.pop_first() {
            let done = sink.finish().and_then(|_| interrupt::check());
            finished.push(path);
            if let Err(failure) = done {
                self.staged.remove_objects(&finished);
                return Err(self.named(&failure));
            }
        }
        self.staged.name_all()?;
        self.target.note_losses(&self.schema);
        self.note_integers();
        self.note_older()
    }

    /// Writes one file without rows, so that the columns are kept; no value names a folder for it.
    fn add_empty(&mut self) -> Result<()> {
        if let Some(column) = &self.args.by {
            note(&format!(
                "there are no rows, and so no values of {column:?}: no file was written"
            ));
            return Ok(());
        }
        let path = PathBuf::from(self.numbered(1));
        self.write(&path, &RecordBatch::new_empty(self.schema.clone()))
    }

    /// Says that a reader of the folder takes texts for integers.
    fn note_integers(&self) {
        let column = self.args.by.as_deref().unwrap_or_default();
        if !self.texts.is_empty() && self.texts.iter().all(|text| is_integer(text)) {
            note(&format!(
                "the texts of {column:?} look like integers, and are read as such without --text {}",
                quoted_name(column)
            ));
        }
    }

    /// Says which files of an earlier run are beside those of this one: a reader of the folder takes
    /// them for parts of the table.
    fn note_older(&self) -> Result<()> {
        let older = if let Some(column) = &self.args.by {
            let folders = self.staged.others(&|name| {
                name.strip_prefix(&escaped(column))
                    .is_some_and(|rest| rest.starts_with('='))
            })?;
            let file = self.args.output.file_name().unwrap_or_default();
            let files = folders.into_iter().map(|folder| folder.join(file));
            files.filter(|file| file.is_file()).collect::<Vec<_>>()
        } else {
            let (stem, ending) = self.stem_and_ending();
            self.staged.others(&|name| {
                let number = name.strip_prefix(&stem).and_then(|rest| {
                    let rest = rest.strip_prefix('-')?.strip_suffix(&ending)?;
                    rest.strip_suffix('.')
                });
                number.is_some_and(|number| number.len() == 5 && number.parse::<u32>().is_ok())
            })?
        };
        if let Some(first) = older.first() {
            let (first, more) = (first.display(), older.len() - 1);
            let others = match more {
                0 => " is".to_owned(),
                1 => " and 1 other file are".to_owned(),
                _ => format!(" and {more} other files are"),
            };
            note(&format!(
                "{first}{others} still there from an earlier split, and no part of this table"
            ));
        }
        Ok(())
    }
}

/// Whether values of a type are single ones, whose texts can name folders.
fn names_folders(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => names_folders(values),
        DataType::RunEndEncoded(_, values) => names_folders(values.data_type()),
        other => !other.is_nested(),
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
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
