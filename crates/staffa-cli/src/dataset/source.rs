//! One file of a dataset: an input and its format.

use staffa_lake::table::TableFile;

use crate::error::Result;
use crate::files::input::Input;
use crate::formats::{Format, ReadOptions};

#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) input: Input,
    pub(super) format: Format,
}

impl Source {
    /// A missing file is reported before an unknown file ending.
    pub(super) fn new(file: &TableFile, options: &ReadOptions) -> Result<Self> {
        Ok(Self {
            input: Input::of_found(file)?,
            format: Format::of(file.path(), options.from, "--from")?,
        })
    }

    pub(super) fn name(&self) -> String {
        self.input.name()
    }
}
