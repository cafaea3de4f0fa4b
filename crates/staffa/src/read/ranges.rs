//! Byte ranges that a read needs: of column indexes and of blocks, joined into requests.
//!
//! ```text
//! columns -> leaves -> indexes not read yet, of sources too -> [ranges]
//! columns, rows -> leaves -> blocks with such rows          -> [ranges] -> joined over gaps, cut -> requests
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeSet;
use std::ops::Range;

use super::File;
use super::batch::RowRange;
use super::chunk_reader::ChunkReader;
use super::leaf_index::range_of;
use super::rows::OpenBlocks;
use crate::error::Result;
use crate::format::SUMMARIES;
use crate::values::Bitmap;

/// Scans read over gaps of so many bytes: to read them takes no longer than another request.
pub(crate) const SCAN_GAP: u64 = 1 << 20;
/// Reads of single rows read over smaller gaps.
pub(super) const TAKE_GAP: u64 = 128 << 10;
/// Most bytes of a request.
pub(super) const REQUEST_BYTES: u64 = 16 << 20;

/// Ranges ascending, without overlaps, joined over gaps of up to `gap` bytes.
pub(super) fn joined(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(range.end);
            }
            _ => out.push(range),
        }
    }
    out
}

/// Ranges cut into requests.
pub(super) fn cut(ranges: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> + '_ {
    ranges.iter().flat_map(|range| {
        let starts = (range.start..range.end).step_by(REQUEST_BYTES as usize);
        starts.map(|start| start..range.end.min(start + REQUEST_BYTES))
    })
}

impl File {
    /// Tells the source of a file that is elsewhere what will be read next.
    pub(crate) fn begin(&self, ranges: Vec<Range<u64>>, gap: u64) {
        if let Some(source) = self.store().as_source() {
            let end = self.store().end_offset();
            let wanted = ranges.into_iter().filter(|range| range.start < end);
            let ranges: Vec<Range<u64>> = cut(&joined(wanted.collect(), gap)).collect();
            if !ranges.is_empty() {
                source.begin(&ranges);
            }
        }
    }

    /// Reads the indexes of some columns and of their sources, of a file that is elsewhere.
    pub(crate) fn begin_indexes(&self, columns: impl Iterator<Item = usize>) -> Result<()> {
        if self.store().as_source().is_none() {
            return Ok(());
        }
        let leaves = self.leaves_of(columns);
        loop {
            let missing = self.missing_indexes(&leaves)?;
            if missing.is_empty() {
                return Ok(());
            }
            self.begin(self.index_ranges(&missing), TAKE_GAP);
            missing
                .iter()
                .try_for_each(|leaf| self.index(*leaf).map(drop))?;
        }
    }

    /// The leaves of some columns.
    pub(super) fn leaves_of(&self, columns: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        columns
            .flat_map(|column| self.layout().leaves_of(column))
            .collect()
    }

    /// Of some leaves and their sources those whose index was not read yet. Sources of a leaf are
    /// known from its summary, where that is at hand; else once its index was read.
    pub(super) fn missing_indexes(&self, leaves: &BTreeSet<usize>) -> Result<BTreeSet<usize>> {
        let mut all = leaves.clone();
        let summaries = if self.has_summaries() {
            self.summaries()?
        } else {
            &[]
        };
        for leaf in leaves {
            let of_summary = summaries.get(*leaf).map(|summary| &summary.sources);
            let of_index = self.known_index(*leaf);
            let chunks = of_index.iter().flat_map(|known| &known.index.chunks);
            let sources = chunks.map(|chunk| &chunk.sources).chain(of_summary);
            all.extend(sources.flatten().map(|leaf| *leaf as usize));
        }
        // A source that is no leaf is refused where it is read.
        all.retain(|leaf| *leaf < self.footer().leaves.len() && self.known_index(*leaf).is_none());
        Ok(all)
    }

    /// Whether summaries are read without a request.
    pub(super) fn has_summaries(&self) -> bool {
        let mut sections = self.footer().sections.iter();
        let summaries = sections.find(|section| section.id == SUMMARIES);
        summaries.is_some_and(|section| section.offset >= self.store().end_offset())
    }

    /// The bytes of the indexes of some leaves.
    pub(super) fn index_ranges(&self, leaves: &BTreeSet<usize>) -> Vec<Range<u64>> {
        let entries = leaves
            .iter()
            .filter_map(|leaf| self.footer().leaves.get(*leaf));
        entries.map(range_of).collect()
    }

    /// Adds the bytes of a column for some rows: of blocks that have a row in `rows`, which are all
    /// rows of the range if `None`. Columns that are not flat are read whole.
    pub(super) fn add_column_ranges(
        &self,
        column: usize,
        range: &RowRange,
        rows: Option<&Bitmap>,
        opened: &OpenBlocks,
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let Some(leaf) = self.flat_leaf(column) else {
            for leaf in self.layout().leaves_of(column) {
                let reader = ChunkReader::new(self, leaf, range.row_group)?;
                reader.add_ranges(0..reader.num_blocks(), out)?;
            }
            return Ok(());
        };
        let reader = ChunkReader::new(self, leaf, range.row_group)?;
        let blocks = reader.blocks_of(&range.rows);
        let Some(rows) = rows else {
            return reader.add_ranges(blocks, out);
        };
        let size = reader.block_rows();
        let has_rows = |block: &usize| {
            let start = (block * size).max(range.rows.start) - range.rows.start;
            let end = (block * size + size).min(range.rows.end) - range.rows.start;
            rows.count_of(start as u32..end as u32) > 0
        };
        let wanted = blocks.filter(|block| !opened.contains_key(&(leaf, *block)));
        reader.add_ranges(wanted.filter(has_rows), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_over_gaps_and_cut_into_requests() {
        let ranges = vec![100..120, 0..10, 5..30, 30..30, 31..40, 200..210];
        assert_eq!(
            joined(ranges.clone(), 0),
            [0..30, 31..40, 100..120, 200..210]
        );
        assert_eq!(joined(ranges.clone(), 1), [0..40, 100..120, 200..210]);
        let one = joined(ranges, 80);
        assert_eq!((one.len(), &one[0]), (1, &(0..210)));
        let requests = |bytes| cut(&[1..1 + bytes, 7..8]).collect::<Vec<_>>();
        assert_eq!(requests(REQUEST_BYTES), [1..REQUEST_BYTES + 1, 7..8]);
        let first = 1..REQUEST_BYTES + 1;
        let second = first.end..first.end + 1;
        assert_eq!(requests(REQUEST_BYTES + 1), [first, second, 7..8]);
    }
}
