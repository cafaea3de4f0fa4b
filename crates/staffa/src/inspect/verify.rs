//! Verifying: everything is read, checked and decoded.

use super::decoded_bytes;
use super::verify_statistics::{FoundBlock, FoundStatistics};
use crate::encodings::edition::name_of;
use crate::error::{Error, Result};
use crate::format::{BitSet, HEADER_BYTES, SortKey, block, check_header, shared_dictionary};
use crate::limits::map_parallel;
use crate::read::{ChunkReader, File, RowRange, SCAN_GAP, read_column};
use crate::write::sort_order::SortCheck;

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
    /// Columns of types that this release does not know: of these only the checksums are checked.
    pub unknown_columns: Vec<String>,
}

impl File {
    /// Reads, checks and decodes everything: checksums, structure, values, and that every byte of
    /// the file belongs to a part. `progress` is called with the rows done so far. An error is the
    /// first thing that is wrong.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        self.thorough().check_all(progress)
    }

    fn check_all(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        self.begin_indexes(0..self.schema().fields().len())?;
        self.check_cover()?;
        for section in &self.footer().sections {
            self.footer()
                .section(self.store(), section.id, self.limits())?;
        }
        self.metadata()?;
        let unknown = self.unknown_columns().into_iter().map(str::to_owned);
        let mut report = VerifyReport {
            rows: self.num_rows(),
            bytes: self.nbytes(),
            unknown_columns: unknown.collect(),
            ..VerifyReport::default()
        };
        let all = 0..self.schema().fields().len();
        let (columns, unknown): (Vec<usize>, Vec<usize>) =
            all.partition(|column| self.check_known(*column).is_ok());
        self.check_columns(columns.iter())?;
        let mut unknown = unknown
            .into_iter()
            .flat_map(|column| self.layout().leaves_of(column));
        unknown.try_for_each(|leaf| self.check_checksums(leaf))?;
        let mut found = FoundStatistics::new(self)?;
        let mut done = 0;
        for (row_group, &rows) in self.footer().row_groups.iter().enumerate() {
            self.check_row_group(row_group, &columns, &mut found)?;
            done += u64::from(rows);
            progress(done);
        }
        for leaf in 0..self.footer().leaves.len() {
            let (contents, spec) = (self.contents(leaf)?, self.leaf(leaf)?);
            found.check_summary(leaf)?;
            report.leaves += 1;
            for chunk in &self.index(leaf)?.chunks {
                report.blocks += chunk.blocks.len() as u64;
                report.shared_parts += chunk.shared.len() as u64;
            }
            report.decoded_bytes += decoded_bytes(spec, &contents);
        }
        self.check_sort_order()?;
        Ok(report)
    }

    /// Decodes some columns of a row group, and compares what the file says of them.
    fn check_row_group(
        &self,
        row_group: usize,
        columns: &[usize],
        found: &mut FoundStatistics<'_>,
    ) -> Result<()> {
        self.begin_row_group(row_group)?;
        let rows = self.rows_of(row_group)?;
        let check = |column: &usize| {
            let mut chunks = Vec::new();
            for leaf in self.layout().leaves_of(*column) {
                ChunkReader::new(self, leaf, row_group)?.check_shared()?;
                chunks.push((leaf, found.check_zones(leaf, row_group)?));
                self.check_encodings_declared(leaf, row_group)?;
            }
            let rows = 0..rows;
            let range = RowRange { row_group, rows };
            read_column(self, *column, self.schema(), &range, false).map(|_| chunks)
        };
        let chunks: Vec<Vec<(usize, Vec<FoundBlock>)>> = map_parallel(columns, check)?;
        let mut chunks = chunks.into_iter().flatten();
        chunks.try_for_each(|(leaf, blocks)| found.add_chunk(leaf, row_group, &blocks))
    }

    /// Tells the source of a file that is elsewhere that all of a row group will be read.
    fn begin_row_group(&self, row_group: usize) -> Result<()> {
        let leaves = 0..self.footer().leaves.len();
        let chunks = leaves.map(|leaf| {
            let chunk = self.chunk_entry(leaf, row_group)?;
            Ok(chunk.offset..chunk.offset + chunk.bytes)
        });
        self.begin(chunks.collect::<Result<_>>()?, SCAN_GAP);
        Ok(())
    }

    /// The rows must come in the order that the file names.
    fn check_sort_order(&self) -> Result<()> {
        let wrong = |e: Error| match e {
            Error::InvalidArgument(what) | Error::InvalidValue(what) => Error::corrupt(what),
            other => other,
        };
        let keys = self.sort_order()?;
        let known = |key: &&SortKey| !self.unknown_columns().contains(&key.column.as_str());
        let keys: Vec<SortKey> = keys.iter().take_while(known).cloned().collect();
        let mut check = SortCheck::new(&keys, self.schema(), self.layout()).map_err(wrong)?;
        if keys.is_empty() {
            return Ok(());
        }
        let columns = keys.iter().map(|key| key.column.as_str());
        for batch in self.scan().columns(columns).reader()? {
            let place = |e: Error| e.at(|p| p.path = self.store().path().map(Into::into));
            check.push(&batch?).map_err(wrong).map_err(place)?;
        }
        Ok(())
    }

    /// The checksums of a leaf whose type is not known.
    fn check_checksums(&self, leaf: usize) -> Result<()> {
        for (row_group, chunk) in self.index(leaf)?.chunks.iter().enumerate() {
            let shared = chunk
                .shared
                .iter()
                .map(|part| (part.offset, part.bytes, part.checksum));
            let blocks = chunk.blocks.iter();
            let blocks = blocks.map(|block| (block.offset, block.bytes, block.checksum));
            for (offset, bytes, checksum) in shared.chain(blocks) {
                self.part(
                    offset,
                    bytes,
                    checksum,
                    "a part of a column of unknown type",
                )
                .map_err(|e| e.at(self.place(leaf, row_group)))?;
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

    /// Every byte must belong to exactly one part.
    fn check_cover(&self) -> Result<()> {
        let place = &|e: Error| e.at(|p| p.path = self.store().path().map(Into::into));
        let (store, len) = (self.store(), self.nbytes());
        let header = store.read(0, len.min(HEADER_BYTES)).map_err(place)?;
        check_header(&header, len).map_err(place)?;
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
