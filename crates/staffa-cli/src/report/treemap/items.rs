//! The rectangles of the map: columns, and their encodings.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::report::contents::{Column, Part};
use crate::terminal::text::counted;

/// Columns with a rectangle of their own.
const MAX_COLUMNS: usize = 80;
/// Smaller shares of the map are merged: columns, and encodings of a column.
const SMALLEST_PART: f64 = 0.001;
/// The name of merged encodings.
pub(super) const OTHERS: &str = "others";

/// A column in the map, or all small columns together.
pub(super) struct Item<'a> {
    /// The index of the column; None for the small ones.
    pub(super) column: Option<usize>,
    pub(super) label: String,
    pub(super) bytes: u64,
    pub(super) parts: Vec<Cow<'a, Part>>,
}

/// The items, the largest first, and the number of small columns.
pub(super) fn items(columns: &[Column], whole: u64) -> (Vec<Item<'_>>, usize) {
    let mut order: Vec<usize> = (0..columns.len())
        .filter(|at| columns[*at].leaf.bytes > 0)
        .collect();
    order.sort_by_key(|at| Reverse(columns[*at].leaf.bytes));
    let is_large = |at: usize| columns[at].leaf.bytes as f64 >= whole as f64 * SMALLEST_PART;
    let own = order
        .iter()
        .take(MAX_COLUMNS)
        .take_while(|at| is_large(**at))
        .count();
    let (own, rest) = order.split_at(own);
    let mut items: Vec<Item<'_>> = own
        .iter()
        .map(|at| {
            let column = &columns[*at];
            let parts = merge_parts(column.parts.iter(), whole);
            Item {
                column: Some(*at),
                label: column.leaf.path.clone(),
                bytes: column.leaf.bytes,
                parts,
            }
        })
        .collect();
    if !rest.is_empty() {
        let bytes = rest.iter().map(|at| columns[*at].leaf.bytes).sum();
        let parts = merge_parts(rest.iter().flat_map(|at| &columns[*at].parts), whole);
        let noun = if own.is_empty() {
            "column"
        } else {
            "smaller column"
        };
        let label = counted(rest.len() as u64, noun);
        items.push(Item {
            column: None,
            label,
            bytes,
            parts,
        });
    }
    // The small columns together may be the largest item.
    items.sort_by_key(|item| Reverse(item.bytes));
    (items, rest.len())
}

/// The bytes by encoding, the largest first; small ones are merged.
fn merge_parts<'a>(parts: impl Iterator<Item = &'a Part>, whole: u64) -> Vec<Cow<'a, Part>> {
    let mut sums: Vec<Cow<'_, Part>> = Vec::new();
    for part in parts.filter(|part| part.bytes > 0) {
        match sums
            .iter_mut()
            .find(|sum| sum.root == part.root && sum.encoding == part.encoding)
        {
            Some(sum) => sum.to_mut().bytes += part.bytes,
            None => sums.push(Cow::Borrowed(part)),
        }
    }
    sums.sort_by_key(|part| Reverse(part.bytes));
    let large = sums
        .iter()
        .filter(|part| part.bytes as f64 >= whole as f64 * SMALLEST_PART)
        .count()
        .max(1);
    if sums.len() > large + 1 {
        let bytes = sums.split_off(large).iter().map(|part| part.bytes).sum();
        sums.push(Cow::Owned(Part {
            root: OTHERS.into(),
            encoding: OTHERS.into(),
            bytes,
        }));
    }
    sums
}
