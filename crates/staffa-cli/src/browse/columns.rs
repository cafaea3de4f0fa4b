//! The columns: types, NULLs, distinct values, bounds, bytes, encodings.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::grid::{self, Cursor, GridColumn};
use super::source::{Leaf, Source};
use crate::report::distinct_text;
use crate::terminal::text::{bytes, number, printable, ratio, shortened};

const HEADER: u16 = 1;
/// Widest smallest or largest value.
const BOUND: usize = 24;

/// Heads, whether numbers, and the text of a column.
type Text = fn(&Leaf) -> String;
const FIGURES: [(&str, bool, Text); 8] = [
    ("type", false, |leaf| leaf.data_type.clone()),
    ("NULLs", true, |leaf| figure(leaf.nulls, number)),
    ("distinct", true, |leaf| distinct_text(leaf.distinct)),
    ("smallest", false, |leaf| bound(leaf.min.as_deref())),
    ("largest", false, |leaf| bound(leaf.max.as_deref())),
    ("bytes", true, |leaf| figure(leaf.bytes, bytes)),
    ("smaller", true, |leaf| {
        let sizes = leaf.decoded_bytes.zip(leaf.bytes);
        sizes.map_or_else(|| "?".into(), |(decoded, stored)| ratio(decoded, stored))
    }),
    ("encodings", false, |leaf| leaf.encodings.clone()),
];
pub(super) const COUNT: usize = FIGURES.len();

fn figure(value: Option<u64>, text: fn(u64) -> String) -> String {
    value.map_or_else(|| "?".into(), text)
}

fn bound(text: Option<&str>) -> String {
    text.map_or("-".into(), |text| shortened(text, BOUND))
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, cursor: &mut Cursor, source: &Source) {
    let leaves = source.leaves();
    let height = grid::body_height(area, HEADER);
    cursor.scroll(height, leaves.len() as u64);
    let visible = leaves.iter().skip(cursor.top as usize);
    let visible: Vec<&Leaf> = visible.take(height as usize).collect();
    let cells = |text: &dyn Fn(&Leaf) -> String| -> Vec<String> {
        let texts = visible.iter().map(|leaf| printable(&text(leaf)));
        texts.collect()
    };
    let first = GridColumn::new("column", false, cells(&|leaf| leaf.path.clone()));
    let mut column = |index: usize| match FIGURES.get(index) {
        Some((name, right, text)) => GridColumn::new(name, *right, cells(text)),
        None => GridColumn::default(),
    };
    let buffer = frame.buffer_mut();
    grid::draw(buffer, area, cursor, &first, COUNT, HEADER, &mut column);
}
