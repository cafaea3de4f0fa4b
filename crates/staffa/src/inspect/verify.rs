//! Verifying: everything is read, checked and decoded.

use rayon::prelude::*;

use super::{decoded_bytes, with_present};
use crate::error::{Error, Result};
use crate::format::{HEADER_BYTES, ZoneMap};
use crate::read::{ChunkReader, File, OutputLayout, RowRange, read_column};
use crate::values::Values;

/// What [`File::verify`] has checked.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Rows of the table.
    pub rows: u64,
    /// Leaf columns.
    pub leaves: u64,
    /// Blocks.
    pub blocks: u64,
    /// Parts shared by the blocks of a chunk.
    pub shared_parts: u64,
    /// Bytes of the file, all of them covered.
    pub bytes: u64,
    /// Bytes the table takes in Arrow memory.
    pub decoded_bytes: u64,
}

impl File {
    /// Reads, checks and decodes everything: checksums, structure, values, and that every byte of
    /// the file belongs to a part. `progress` is called with the rows done so far. An error is the
    /// first thing that is wrong.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        self.check_cover()?;
        let mut report = VerifyReport {
            rows: self.num_rows(),
            bytes: self.byte_len(),
            ..VerifyReport::default()
        };
        let columns: Vec<usize> = (0..self.schema().fields().len()).collect();
        let mut done = 0;
        for (row_group, &rows) in self.footer().row_groups.iter().enumerate() {
            let check = |column: &usize| {
                for leaf in self.layout().leaves_of(*column) {
                    ChunkReader::new(self, leaf, row_group)?.check_shared()?;
                    self.check_zones(leaf, row_group)?;
                }
                let rows = 0..rows as usize;
                let range = RowRange { row_group, rows };
                read_column(self, *column, self.schema(), &range, false).map(drop)
            };
            columns.par_iter().try_for_each(check)?;
            done += u64::from(rows);
            progress(done);
        }
        for leaf in 0..self.footer().leaves.len() {
            let (contents, spec) = (self.contents(leaf)?, self.leaf(leaf)?);
            report.leaves += 1;
            for chunk in &self.index(leaf)?.chunks {
                report.blocks += chunk.blocks.len() as u64;
                report.shared_parts += chunk.shared.len() as u64;
            }
            report.decoded_bytes += decoded_bytes(spec, &contents);
        }
        Ok(report)
    }

    /// Zone maps must be those of the values: a filter trusts them.
    fn check_zones(&self, leaf: usize, row_group: usize) -> Result<()> {
        let (chunk, spec) = (self.chunk(leaf, row_group)?, self.leaf(leaf)?);
        let reader = ChunkReader::new(self, leaf, row_group)?;
        for (i, entry) in chunk.blocks.iter().enumerate() {
            let decoded = reader.decode(i..i + 1, OutputLayout::default())?;
            let zone = |values: Values<'_>, nulls| Ok(ZoneMap::of(values, spec.kind, nulls));
            let found = with_present(&decoded, zone)?;
            if found != entry.zone {
                let what = format!(
                    "zone map {:?} expected by its values, found {:?}",
                    found, entry.zone
                );
                let place = self.place(leaf, row_group);
                return Err(Error::corrupt(what)
                    .at(|p| (p.block, p.offset) = (Some(i), Some(entry.offset)))
                    .at(place));
            }
        }
        Ok(())
    }

    /// Every byte must belong to exactly one part.
    fn check_cover(&self) -> Result<()> {
        let footer = self.footer();
        let mut parts = vec![
            (0, HEADER_BYTES),
            (footer.offset, self.byte_len() - footer.offset),
        ];
        for (leaf, (offset, bytes)) in footer.leaves.iter().enumerate() {
            parts.push((*offset, u64::from(*bytes)));
            parts.extend(self.index(leaf)?.chunks.iter().map(|c| (c.offset, c.bytes)));
        }
        parts.retain(|(_, bytes)| *bytes > 0);
        parts.sort_unstable();
        let mut end = 0;
        for (offset, bytes) in parts {
            if offset != end {
                let what =
                    format!("a part of the file at {end} expected, the next begins at {offset}");
                return Err(
                    Error::corrupt(what).at(|p| p.path = self.store().path().map(Into::into))
                );
            }
            end = offset.saturating_add(bytes);
        }
        Ok(())
    }
}
