//! Any table as a Staffa file, for commands that look into one.

use std::path::{Path, PathBuf};

use crate::dataset::{Dataset, discover};
use crate::error::{Failure, Result};
use crate::files::STANDARD;
use crate::files::output::temporary_folder;
use crate::formats::scan::ScanOptions;
use crate::formats::{self, Format, ReadOptions};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// A Staffa file, and what it is made of.
pub(super) struct AsStaffa {
    pub(super) file: staffa::File,
    /// The format and bytes of the table, if it is another one and the file temporary.
    pub(super) made_of: Option<(Format, u64)>,
    _folder: Option<tempfile::TempDir>,
}

impl AsStaffa {
    /// The name of the format, and the bytes.
    pub(super) fn made_of_name(&self) -> Option<(&'static str, u64)> {
        self.made_of.map(|(format, bytes)| (format.name(), bytes))
    }
}

/// Opens a Staffa file; writes a temporary one of another table, or of several files.
pub(super) fn open(path: &Path, read: &ReadOptions, quiet: bool) -> Result<AsStaffa> {
    let found = discover(&[path.to_path_buf()], read)?;
    let first = found.first().map_or(path, PathBuf::as_path);
    let format = match Format::of(first, read.from, "--from") {
        Ok(format) if path != Path::new(STANDARD) => format,
        _ => Format::Staffa,
    };
    if format == Format::Staffa && found.len() == 1 {
        return Ok(AsStaffa {
            file: super::open_staffa(first)?,
            made_of: None,
            _folder: None,
        });
    }
    let dataset = Dataset::open(&found, read)?;
    let bytes = dataset.bytes.unwrap_or(0);
    // The program ends by the signal only after the temporary file is gone.
    interrupt::catch();
    let folder = temporary_folder()?;
    let target = folder.path().join("table.staffa");
    let progress = Progress::new(dataset.bytes, quiet);
    let (schema, batches) = dataset.scan(&ScanOptions::default(), &progress.meter())?;
    let mut options = staffa::WriteOptions::default();
    options.cancel = interrupt::cancel();
    let mut sink = formats::create_staffa(&target, &schema, options)?;
    super::write_batches(batches, sink.as_mut(), &progress)?;
    sink.finish()?;
    progress.finish();
    Ok(AsStaffa {
        file: staffa::File::open(&target).map_err(|error| Failure::staffa(path, error))?,
        made_of: Some((format, bytes)),
        _folder: Some(folder),
    })
}
