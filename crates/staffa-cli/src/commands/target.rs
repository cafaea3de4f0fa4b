//! The files that `convert` and `split` write, of any format.

use std::path::Path;

use arrow_schema::SchemaRef;

use super::write_options::StaffaOptions;
use crate::dataset::Carried;
use crate::error::Result;
use crate::files::compression::Compression;
use crate::files::output::Output;
use crate::formats::{self, CsvDialect, Format, ReadOptions, Sink};

/// How a table is written.
pub(super) struct Target<'a> {
    pub(super) to: Format,
    pub(super) staffa: &'a StaffaOptions,
    pub(super) read: &'a ReadOptions,
    pub(super) replace: bool,
    pub(super) carried: &'a Carried,
}

impl Target<'_> {
    /// Says what the format does not keep of a table.
    pub(super) fn note_losses(&self, schema: &SchemaRef) {
        self.carried.note_losses(self.to);
        formats::note_losses(self.to, schema);
    }

    /// Starts a table.
    pub(super) fn create(&self, path: &Path, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
        if self.to == Format::Staffa {
            let mut options = self.staffa.to_write_options(self.replace);
            self.carried.add_to(&mut options, schema);
            return formats::create_staffa(path, schema, options);
        }
        let schema = if self.to.is_text() {
            schema.clone()
        } else {
            self.carried.with_metadata(schema)
        };
        let csv = CsvDialect::of_output(path, self.read);
        let compression = Compression::of(path).filter(|_| self.to.is_text());
        let output = Output::compressed(path, self.replace, compression)?;
        formats::create(self.to, output, &schema, &csv)
    }
}
