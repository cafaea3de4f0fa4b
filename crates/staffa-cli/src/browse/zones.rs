//! The blocks of a column with their zone maps: smallest, largest, and where these lie between those
//! of the column.

use ratatui::Frame;
use ratatui::layout::Rect;
use staffa::{BlockInfo, ChunkInfo, LeafInfo, RowGroupInfo};

use super::grid::{self, Cursor, GridColumn};
use super::source::{Shown, Source};
use crate::report::marked_bounds;
use crate::terminal::text::{bytes, number, printable, shortened};

const HEADER: u16 = 1;
const BOUND: usize = 24;
const BAR: usize = 32;
pub(super) const COUNT: usize = 7;

pub(super) fn count(source: &Source, leaf: usize) -> u64 {
    let inspection = source.inspection().ok();
    let chunks = inspection.and_then(|inspection| inspection.columns.get(leaf));
    let chunks = chunks.into_iter().flat_map(|leaf| &leaf.chunks);
    chunks.map(|chunk| chunk.blocks.len() as u64).sum()
}

/// The row that a block begins with; of a nested column, its row group.
pub(super) fn first_row(source: &Source, leaf: usize, block: u64) -> Option<u64> {
    let inspection = source.inspection().ok()?;
    let leaf = inspection.columns.get(leaf)?;
    let (chunk, block) = blocks(leaf).nth(block as usize)?;
    let group = inspection.row_groups.get(chunk.row_group)?;
    Some(row_of(chunk, block, group))
}

fn row_of(chunk: &ChunkInfo, block: &BlockInfo, group: &RowGroupInfo) -> u64 {
    if chunk.values == group.rows {
        group.first_row + block.first_value
    } else {
        group.first_row
    }
}

fn blocks(leaf: &LeafInfo) -> impl Iterator<Item = (&ChunkInfo, &BlockInfo)> {
    let chunks = leaf.chunks.iter();
    chunks.flat_map(|chunk| chunk.blocks.iter().map(move |block| (chunk, block)))
}

/// Heads, whether numbers, and the text of a column.
type Text = fn(&Place<'_>) -> String;
const FIGURES: [(&str, bool, Text); COUNT] = [
    ("from row", true, |place| number(place.row)),
    ("values", true, |place| number(place.block.values)),
    ("NULLs", true, |place| number(place.block.nulls)),
    ("bytes", true, |place| bytes(place.block.bytes)),
    ("smallest", false, |place| {
        bound(place.bounds()[0].as_deref())
    }),
    ("largest", false, |place| {
        bound(place.bounds()[1].as_deref())
    }),
    ("smallest to largest", false, |place| span(place.block.span)),
];

/// A block, and the row that it begins with.
struct Place<'i> {
    row_group: usize,
    row: u64,
    block: &'i BlockInfo,
    physical_type: &'i str,
}

impl Place<'_> {
    fn bounds(&self) -> [Option<String>; 2] {
        marked_bounds(
            self.physical_type,
            self.block.min.as_deref(),
            self.block.max.as_deref(),
        )
    }
}

fn bound(text: Option<&str>) -> String {
    text.map_or("-".into(), |text| shortened(&printable(text), BOUND))
}

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &mut Cursor,
    source: &Source,
    leaf: usize,
) -> Shown<()> {
    let inspection = source.inspection().map_err(Clone::clone)?;
    let Some(info) = inspection.columns.get(leaf) else {
        return Ok(());
    };
    let height = grid::body_height(area, HEADER);
    cursor.scroll(height, count(source, leaf));
    let visible = blocks(info).skip(cursor.top as usize).take(height as usize);
    let visible: Vec<Place<'_>> = visible
        .map(|(chunk, block)| Place {
            row_group: chunk.row_group,
            row: inspection
                .row_groups
                .get(chunk.row_group)
                .map_or(0, |group| row_of(chunk, block, group)),
            block,
            physical_type: &info.physical_type,
        })
        .collect();
    let groups = visible.iter().map(|place| place.row_group.to_string());
    let first = GridColumn::new("row group", true, groups.collect());
    let mut column = |index: usize| match FIGURES.get(index) {
        Some((name, right, text)) => {
            GridColumn::new(name, *right, visible.iter().map(text).collect())
        }
        None => GridColumn::default(),
    };
    let buffer = frame.buffer_mut();
    grid::draw(buffer, area, cursor, &first, COUNT, HEADER, &mut column);
    Ok(())
}

/// A line from the smallest to the largest value, between those of the column.
fn span(span: Option<[f64; 2]>) -> String {
    let Some([from, to]) = span else {
        return String::new();
    };
    let place = |share: f64| (share.clamp(0.0, 1.0) * (BAR - 1) as f64).round() as usize;
    let (from, to) = (place(from), place(to));
    let line = "━".repeat(to.saturating_sub(from) + 1);
    format!("{}{line}", "·".repeat(from)) + &"·".repeat(BAR - 1 - to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_lies_between_the_bounds_of_the_column() {
        assert_eq!(span(None), "");
        assert_eq!(span(Some([0.0, 1.0])), "━".repeat(BAR));
        let half = span(Some([0.5, 1.0]));
        assert!(half.starts_with("····") && half.ends_with("━━━━"), "{half}");
        assert_eq!(half.chars().count(), BAR);
        assert_eq!(span(Some([f64::NAN, 2.0])).chars().count(), BAR);
    }
}
