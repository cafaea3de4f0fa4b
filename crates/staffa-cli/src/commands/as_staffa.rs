//! Any table as a Staffa file, for commands that look into one.

use std::path::Path;

use staffa_lake::table::TableFile;

use crate::dataset::{Dataset, discover};
use crate::error::{Failure, Result};
use crate::files::STANDARD;
use crate::files::input::{Input, SeekableInput};
use crate::files::temporary::temporary_folder;
use crate::formats::scan::ScanOptions;
use crate::formats::{self, Format, ReadOptions};
use crate::report::About;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// A Staffa file, and what it is made of.
pub(super) struct AsStaffa {
    pub(super) file: staffa::File,
    pub(super) made_of: Option<MadeOf>,
    _temporary: Temporary,
}

/// The table of another format, or of several files, that a temporary file was made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct MadeOf {
    pub(super) format: Format,
    /// None of a pipe.
    pub(super) bytes: Option<u64>,
}

/// What is removed when the file is closed.
enum Temporary {
    Nothing,
    Copy { _file: SeekableInput },
    Folder { _folder: tempfile::TempDir },
}

impl AsStaffa {
    /// What the report and the browser say of a file called `path`.
    pub(super) fn about(&self, path: &Path) -> About {
        let made_of = self
            .made_of
            .map(|made_of| (made_of.format.name(), made_of.bytes));
        About::new(path, made_of)
    }
}

/// Opens a Staffa file; writes a temporary one of another table, or of several files. `-` is the
/// standard input.
pub(super) fn open(path: &Path, read: &ReadOptions, quiet: bool) -> Result<AsStaffa> {
    let found = discover(&[path.to_path_buf()], read)?;
    let first = found.first().map_or(path, TableFile::path);
    let format = match Format::of(first, read.from, "--from") {
        Ok(format) => format,
        Err(failure) if path == Path::new(STANDARD) => return Err(failure),
        // The file says whether it is one.
        Err(_) => Format::Staffa,
    };
    if format == Format::Staffa && found.len() == 1 {
        return open_staffa(first);
    }
    let dataset = Dataset::of_files(&found, read)?;
    let bytes = dataset.bytes;
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
        made_of: Some(MadeOf { format, bytes }),
        _temporary: Temporary::Folder { _folder: folder },
    })
}

/// Opens a Staffa file as it is, of a pipe a copy.
fn open_staffa(path: &Path) -> Result<AsStaffa> {
    let input = Input::new(path)?;
    let name = input.name();
    if input.byte_len().is_some() {
        return Ok(AsStaffa {
            file: super::open_staffa(path)?,
            made_of: None,
            _temporary: Temporary::Nothing,
        });
    }
    interrupt::catch();
    let copy = input.seekable()?;
    let file = staffa::File::open(&copy.path);
    Ok(AsStaffa {
        file: file.map_err(|error| Failure::staffa_input(Path::new(&name), error))?,
        made_of: None,
        _temporary: Temporary::Copy { _file: copy },
    })
}
