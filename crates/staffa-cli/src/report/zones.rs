//! Zone maps along the rows: from the smallest to the largest value of every block, and its share
//! of NULLs.

use std::fmt::Write as _;

use staffa::{LeafInfo, RowGroupInfo};

/// One or several blocks side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bin {
    /// Where it begins and ends among the rows, as 0 to 1.
    rows: [f64; 2],
    span: Option<[f64; 2]>,
    values: u64,
    nulls: u64,
}

/// The blocks of a leaf along the rows, neighbours together where there are more than `most`. Of a
/// list, the items stand where they are in their row group, which is about where their rows are.
pub(super) fn bins(leaf: &LeafInfo, groups: &[RowGroupInfo], rows: u64, most: usize) -> Vec<Bin> {
    let mut all = Vec::new();
    for (chunk, group) in leaf.chunks.iter().zip(groups) {
        let place = |value: u64| {
            let within = value as f64 / chunk.values.max(1) as f64 * group.rows as f64;
            (group.first_row as f64 + within) / rows.max(1) as f64
        };
        for block in &chunk.blocks {
            all.push(Bin {
                rows: [
                    place(block.first_value),
                    place(block.first_value + block.values),
                ],
                span: block.span,
                values: block.values,
                nulls: block.nulls,
            });
        }
    }
    let together = all.len().div_ceil(most.max(1)).max(1);
    let merged = all.chunks(together).map(|bins| {
        let spans = bins.iter().filter_map(|bin| bin.span);
        Bin {
            rows: [
                bins.first().map_or(0.0, |bin| bin.rows[0]),
                bins.last().map_or(0.0, |bin| bin.rows[1]),
            ],
            span: spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]),
            values: bins.iter().map(|bin| bin.values).sum(),
            nulls: bins.iter().map(|bin| bin.nulls).sum(),
        }
    });
    merged.collect()
}

/// How values lie along the rows, as the zone maps tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// No value has bounds.
    Unknown,
    OnlyNulls,
    /// All values are one.
    Constant,
    OneBlock,
    Ascending,
    Descending,
    /// A filter for one value reads this share of the blocks, on average over values within the
    /// bounds of blocks.
    Shared(f64),
}

impl Order {
    pub(super) fn of(leaf: &LeafInfo) -> Self {
        let blocks = || leaf.chunks.iter().flat_map(|chunk| &chunk.blocks);
        let spans: Vec<[f64; 2]> = blocks().filter_map(|block| block.span).collect();
        match spans.len() {
            0 if leaf.values > 0 && leaf.nulls == leaf.values => return Self::OnlyNulls,
            0 => return Self::Unknown,
            _ if leaf.min.is_some() && leaf.min == leaf.max => return Self::Constant,
            1 => return Self::OneBlock,
            _ => {}
        }
        if spans.array_windows().all(|[a, b]| a[1] <= b[0]) {
            return Self::Ascending;
        }
        if spans.array_windows().all(|[a, b]| a[0] >= b[1]) {
            return Self::Descending;
        }
        Self::Shared(read_for_one(&spans, blocks().count()))
    }

    /// A word for the list.
    pub(super) fn word(self) -> String {
        match self {
            Self::Unknown => "no bounds".into(),
            Self::OnlyNulls => "only NULLs".into(),
            Self::Constant => "constant".into(),
            Self::OneBlock => "one block".into(),
            Self::Ascending => "ascending".into(),
            Self::Descending => "descending".into(),
            Self::Shared(share) => {
                let kind = if share <= 0.25 {
                    "clustered"
                } else if share < 0.75 {
                    "mixed"
                } else {
                    "scattered"
                };
                format!("{kind}, {:.0}%", share * 100.0)
            }
        }
    }

    /// A sentence for the details.
    pub(super) fn sentence(self) -> String {
        match self {
            Self::Unknown => "This column has no zone maps.".into(),
            Self::OnlyNulls => "Every value is NULL.".into(),
            Self::Constant => "Every value is the same.".into(),
            Self::OneBlock => "There is one block: a filter reads all of it or nothing.".into(),
            Self::Ascending => "Blocks ascend: a filter reads a run of neighbouring blocks.".into(),
            Self::Descending => "Blocks descend: a filter reads a run of neighbouring blocks.".into(),
            Self::Shared(share) if share >= 0.95 => {
                "Nearly every block holds values from all over the column: zone maps rule out next to none.".into()
            }
            Self::Shared(share) => format!(
                "A filter for one value reads about {:.0}% of the blocks; zone maps rule out the others.",
                share * 100.0
            ),
        }
    }
}

/// The share of blocks whose bounds hold a value, on average.
fn read_for_one(spans: &[[f64; 2]], blocks: usize) -> f64 {
    let sorted = |end: usize| {
        let mut ends: Vec<f64> = spans.iter().map(|span| span[end]).collect();
        ends.sort_by(f64::total_cmp);
        ends
    };
    let (mins, maxes) = (sorted(0), sorted(1));
    let holding = |value: f64| {
        mins.partition_point(|min| *min <= value) - maxes.partition_point(|max| *max < value)
    };
    // Not at the bounds themselves: blocks of scattered values have about the same, but seldom
    // quite.
    let probes = spans
        .iter()
        .flat_map(|[min, max]| [0.25, 0.5, 0.75].map(|at| min + (max - min) * at));
    let sum: usize = probes.map(holding).sum();
    sum as f64 / (3 * spans.len()).max(1) as f64 / blocks.max(1) as f64
}

/// Units of the picture: across, and down for bounds, for the gap and for NULLs.
const WIDTH: f64 = 1000.0;
const BOUNDS: f64 = 80.0;
const NULLS: f64 = 16.0;
const HEIGHT: f64 = BOUNDS + 4.0 + NULLS;

/// The picture of a leaf; words beside it tell what it shows.
pub(super) fn draw(out: &mut String, bins: &[Bin]) {
    let _ = write!(
        out,
        "<svg class=\"zones\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    let gap = if bins.len() <= 40 { 3.0 } else { 0.0 };
    let (mut bounds, mut nulls) = (String::new(), String::new());
    for bin in bins {
        let x = (bin.rows[0] * WIDTH).round();
        let width = ((bin.rows[1] * WIDTH).round() - x - gap).max(1.0);
        if let Some([min, max]) = bin.span {
            // What is one value still shows.
            let height = ((max - min) * BOUNDS).round().max(5.0);
            let y = ((1.0 - max) * BOUNDS).round().min(BOUNDS - height).max(0.0);
            let _ = write!(bounds, "M{x} {y}h{width}v{height}h-{width}z");
        }
        if bin.nulls > 0 {
            let height = (bin.nulls as f64 / bin.values.max(1) as f64 * NULLS)
                .ceil()
                .clamp(1.0, NULLS);
            let _ = write!(nulls, "M{x} {HEIGHT}h{width}v-{height}h-{width}z");
        }
    }
    if !bounds.is_empty() {
        // One bar says little.
        let class = if bins.len() == 1 { "zb one" } else { "zb" };
        let _ = write!(out, "<path class=\"{class}\" d=\"{bounds}\"/>");
    }
    if !nulls.is_empty() {
        let _ = write!(out, "<path class=\"zn\" d=\"{nulls}\"/>");
    }
    out.push_str("</svg>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filter_reads_is_estimated() {
        let apart = [[0.0, 0.1], [0.2, 0.3], [0.4, 0.5], [0.6, 1.0]];
        assert!((read_for_one(&apart, 4) - 0.25).abs() < 1e-9);
        assert!((read_for_one(&[[0.0, 1.0]; 4], 4) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_strip_has_a_bar_for_each_block() {
        let bin = |rows, span, nulls| Bin {
            rows,
            span,
            values: 10,
            nulls,
        };
        let mut out = String::new();
        draw(
            &mut out,
            &[
                bin([0.0, 0.5], Some([0.0, 0.5]), 0),
                bin([0.5, 1.0], None, 10),
            ],
        );
        assert_eq!(out.matches('M').count(), 2, "{out}");
        assert!(out.contains("class=\"zn\" d=\"M500 100h497v-16"), "{out}");
    }
}
