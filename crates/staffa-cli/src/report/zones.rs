//! Zone maps along the rows: minimum, maximum and share of NULLs of every block.

use std::fmt::Write as _;

use staffa::{LeafInfo, RowGroupInfo};

/// One block, or several neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bin {
    /// The first and last row, as shares of all rows.
    rows: [f64; 2],
    /// Minimum and maximum, as shares of the column's range.
    span: Option<[f64; 2]>,
    values: u64,
    nulls: u64,
}

/// The blocks of a leaf along the rows, at most `limit` bins. The items of a list are placed by their
/// position in the row group, which is close to their rows.
pub(super) fn bins(leaf: &LeafInfo, groups: &[RowGroupInfo], rows: u64, limit: usize) -> Vec<Bin> {
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
    let blocks_per_bin = all.len().div_ceil(limit.max(1)).max(1);
    let merged = all.chunks(blocks_per_bin).map(|bins| {
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

/// The order of the values along the rows, by the zone maps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// There are no bounds.
    Unknown,
    OnlyNulls,
    /// All values are equal.
    Constant,
    OneBlock,
    Ascending,
    Descending,
    /// The share of blocks that a filter for one value reads, on average.
    Overlapping(f64),
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
        Self::Overlapping(share_read(&spans, blocks().count()))
    }

    /// The label in the list of columns.
    pub(super) fn label(self) -> String {
        match self {
            Self::Unknown => "no bounds".into(),
            Self::OnlyNulls => "only NULLs".into(),
            Self::Constant => "constant".into(),
            Self::OneBlock => "one block".into(),
            Self::Ascending => "ascending".into(),
            Self::Descending => "descending".into(),
            Self::Overlapping(share) => {
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

    /// The sentence in the details.
    pub(super) fn description(self) -> String {
        match self {
            Self::Unknown => "This column has no zone maps.".into(),
            Self::OnlyNulls => "Every value is NULL.".into(),
            Self::Constant => "All values are equal.".into(),
            Self::OneBlock => "There is one block: a filter reads all of it or nothing.".into(),
            Self::Ascending => "Blocks ascend: a filter reads a run of neighbouring blocks.".into(),
            Self::Descending => "Blocks descend: a filter reads a run of neighbouring blocks.".into(),
            Self::Overlapping(share) if share >= 0.95 => {
                "Nearly every block holds values of the whole range: zone maps exclude hardly any block.".into()
            }
            Self::Overlapping(share) => format!(
                "A filter for one value reads about {:.0}% of the blocks; zone maps exclude the others.",
                share * 100.0
            ),
        }
    }
}

/// The average share of blocks whose bounds contain a value.
fn share_read(spans: &[[f64; 2]], blocks: usize) -> f64 {
    let sorted = |end: usize| {
        let mut ends: Vec<f64> = spans.iter().map(|span| span[end]).collect();
        ends.sort_by(f64::total_cmp);
        ends
    };
    let (mins, maxes) = (sorted(0), sorted(1));
    let holding = |value: f64| {
        mins.partition_point(|min| *min <= value) - maxes.partition_point(|max| *max < value)
    };
    // Between the bounds: those of blocks of scattered values are almost equal, but not quite.
    let probes = spans
        .iter()
        .flat_map(|[min, max]| [0.25, 0.5, 0.75].map(|at| min + (max - min) * at));
    let sum: usize = probes.map(holding).sum();
    sum as f64 / (3 * spans.len()).max(1) as f64 / blocks.max(1) as f64
}

/// Units of the picture: the width, and the heights of bounds and NULLs.
const WIDTH: f64 = 1000.0;
const BOUNDS: f64 = 80.0;
const NULLS: f64 = 16.0;
const HEIGHT: f64 = BOUNDS + 4.0 + NULLS;

/// Draws the zone maps of a leaf; the label beside it describes them.
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
            // A single value is still visible.
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
        // One bar shows little.
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
    fn the_share_that_a_filter_reads_is_estimated() {
        let apart = [[0.0, 0.1], [0.2, 0.3], [0.4, 0.5], [0.6, 1.0]];
        assert!((share_read(&apart, 4) - 0.25).abs() < 1e-9);
        assert!((share_read(&[[0.0, 1.0]; 4], 4) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_strip_has_one_bar_per_block() {
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
