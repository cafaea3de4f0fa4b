//! One file of a dataset: an input and its format.

use std::path::Path;

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
    pub(super) fn new(path: &Path, options: &ReadOptions) -> Result<Self> {
        Ok(Self {
            input: Input::new(path)?,
            format: Format::of(path, options.from, "--from")?,
        })
    }

    pub(super) fn name(&self) -> String {
        self.input.name()
    }
}
