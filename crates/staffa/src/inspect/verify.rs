//! Verifying: everything is read, checked and decoded.

use rayon::prelude::*;

use super::{decoded_bytes, with_present};
use crate::encodings::edition::name_of;
use crate::error::{Error, Result};
use crate::format::{
    BitSet, HEADER_BYTES, ZoneMap, block, check_header, shared_dictionary, zone_of,
};
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
        for section in &self.footer().sections {
            self.footer()
                .section(self.store(), section.id, self.limits())?;
        }
        self.metadata()?;
        let columns = 0..self.schema().fields().len();
        columns
            .clone()
            .try_for_each(|column| self.check_encodings(std::iter::once(&column)))?;
        let mut report = VerifyReport {
            rows: self.num_rows(),
            bytes: self.nbytes(),
            ..VerifyReport::default()
        };
        let columns: Vec<usize> = (0..self.schema().fields().len()).collect();
        let mut done = 0;
        for (row_group, &rows) in self.footer().row_groups.iter().enumerate() {
            let check = |column: &usize| {
                for leaf in self.layout().leaves_of(*column) {
                    ChunkReader::new(self, leaf, row_group)?.check_shared()?;
                    self.check_zones(leaf, row_group)?;
                    self.check_encodings_declared(leaf, row_group)?;
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
            self.check_summary(leaf)?;
            report.leaves += 1;
            for chunk in &self.index(leaf)?.chunks {
                report.blocks += chunk.blocks.len() as u64;
                report.shared_parts += chunk.shared.len() as u64;
            }
            report.decoded_bytes += decoded_bytes(spec, &contents);
        }
        Ok(report)
    }

    /// Zone maps must hold for the values: a filter trusts them.
    fn check_zones(&self, leaf: usize, row_group: usize) -> Result<()> {
        let (chunk, spec) = (self.chunk(leaf, row_group)?, self.leaf(leaf)?);
        let reader = ChunkReader::new(self, leaf, row_group)?;
        for (i, entry) in chunk.blocks.iter().enumerate() {
            let decoded = reader.decode(i..i + 1, OutputLayout::default())?;
            let zone = |values: Values<'_>, nulls| Ok(ZoneMap::of(values, spec.kind, nulls));
            let found = with_present(&decoded, zone)?;
            if found.nulls != entry.zone.nulls || !entry.zone.bounds.hold(&found.bounds) {
                let what = format!(
                    "zone map around {:?}, that of its values, expected, found {:?}",
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

    /// The footer must name the encodings of every block, and of those that it derives from: readers
    /// refuse columns by it.
    fn check_encodings_declared(&self, leaf: usize, row_group: usize) -> Result<()> {
        let mut used = self.encodings_used(leaf, row_group)?;
        for source in &self.chunk_entry(leaf, row_group)?.sources {
            used = used.union(self.encodings_used(*source as usize, row_group)?);
        }
        let declared = self.footer().features.encodings(leaf);
        if let Some(id) = used.numbers().find(|id| !declared.contains(*id)) {
            let what = format!(
                "{} is not among the encodings that the footer names",
                name_of(id)
            );
            return Err(Error::corrupt(what).at(self.place(leaf, row_group)));
        }
        Ok(())
    }

    /// The encodings of a chunk's own blocks and shared parts.
    fn encodings_used(&self, leaf: usize, row_group: usize) -> Result<BitSet> {
        let (chunk, spec) = (self.chunk_entry(leaf, row_group)?, self.leaf(leaf)?);
        let mut used = BitSet::default();
        for part in &chunk.shared {
            let bytes = self.part(
                part.offset,
                part.bytes,
                part.checksum,
                "a shared dictionary",
            )?;
            let parsed = shared_dictionary::parse(&bytes, chunk.values as usize, self.limits())?;
            parsed.0.add_encodings(&mut used);
        }
        for block in &chunk.blocks {
            let bytes = self.part(block.offset, block.bytes, block.checksum, "a block")?;
            let parsed = block::parse(&bytes, block.values, spec.ty, self.limits())?;
            let trees = [&parsed.validity, &parsed.values].into_iter().flatten();
            trees.for_each(|tree| tree.add_encodings(&mut used));
        }
        Ok(used)
    }

    /// The summary of a leaf must hold for its blocks.
    fn check_summary(&self, leaf: usize) -> Result<()> {
        let Some(summary) = self.summaries()?.get(leaf) else {
            return Ok(());
        };
        let contents = self.contents(leaf)?;
        let zone = zone_of(contents.iter().flat_map(|chunk| &chunk.blocks));
        if summary.zone.nulls != zone.nulls || !summary.zone.bounds.hold(&zone.bounds) {
            return Err(Error::corrupt(format!(
                "a summary around {zone:?}, that of the blocks, expected, found {:?}",
                summary.zone
            ))
            .at(|p| p.column = self.leaf(leaf).ok().map(|leaf| leaf.path.clone())));
        }
        Ok(())
    }

    /// Every byte must belong to exactly one part.
    fn check_cover(&self) -> Result<()> {
        let place = |e: Error| e.at(|p| p.path = self.store().path().map(Into::into));
        check_header(self.store()).map_err(place)?;
        let footer = self.footer();
        let mut parts = vec![
            (0, HEADER_BYTES),
            (footer.offset, self.nbytes() - footer.offset),
        ];
        for (leaf, index) in footer.leaves.iter().enumerate() {
            parts.push((index.offset, index.bytes));
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
