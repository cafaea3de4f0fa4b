//! The treemap: a rectangle per column, within it one per encoding, areas as bytes; and the colours
//! of encodings.
//!
//! Squarified treemaps (Bruls, Huizing, van Wijk 2000): rectangles are laid down in rows along the
//! shorter side as long as that makes the worst of them more like a square.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::html::{esc, name, percent};
use super::{Column, Part};
use crate::terminal::text::{bytes, counted};

/// Columns with a rectangle of their own.
const MOST_COLUMNS: usize = 80;
/// A part of a column smaller than this share of the map is drawn with the others of its column.
const SMALLEST_PART: f64 = 0.001;
/// Sizes in pixels for which the map is laid out: a wide window and a narrow one. The page
/// stretches them.
const LAYOUTS: [(f64, f64); 2] = [(1100.0, 460.0), (360.0, 620.0)];
/// Height of a column's label, and what a column must measure to have one; as in `report.css`.
const LABEL: f64 = 19.0;
const LABELLED: (f64, f64) = (54.0, 40.0);
/// Widths of a letter in pixels, rather more than less: of a name, of a size beside it, of an
/// encoding.
const NAME_LETTER: f64 = 8.2;
const SIZE_LETTER: f64 = 7.2;
const PART_LETTER: f64 = 6.6;

/// Encodings of one kind, which share a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    /// The class in `report.css`.
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
}

/// All of them, in the order of the legend, each with its encodings.
const FAMILIES: [(Family, &[&str]); 9] = [
    (
        Family {
            class: "f-int",
            name: "integers in few bits",
        },
        &[
            "bitpack",
            "frame_of_reference",
            "delta",
            "escape",
            "split",
            "narrow",
            "vbyte",
            "stream_vbyte",
        ],
    ),
    (
        Family {
            class: "f-rep",
            name: "repeated values",
        },
        &[
            "dictionary",
            "frequency",
            "run_end",
            "repeat",
            "constant",
            "shared_dictionary",
        ],
    ),
    (
        Family {
            class: "f-flt",
            name: "floats",
        },
        &["alp", "alp_rd", "pseudodecimal", "fixed_point"],
    ),
    (
        Family {
            class: "f-str",
            name: "strings",
        },
        &["onpair", "fsst", "text", "alphabet", "front_coding"],
    ),
    (
        Family {
            class: "f-bit",
            name: "bits",
        },
        &["bitmap", "roaring"],
    ),
    (
        Family {
            class: "f-oth",
            name: "told by other columns",
        },
        &["difference", "grouped", "equal"],
    ),
    (
        Family {
            class: "f-gen",
            name: "general compressors",
        },
        &["zstd", "lz4", "brotli", "pco"],
    ),
    (
        Family {
            class: "f-raw",
            name: "as they are",
        },
        &["plain"],
    ),
    (OVERHEAD, &[]),
];

/// What is no encoding's: headers, checksums, zone maps.
const OVERHEAD: Family = Family {
    class: "f-hdr",
    name: "headers and indexes",
};

/// Small parts of a column together.
const OTHERS: &str = "others";

/// Its name among the parts of a column.
pub(crate) const HEADERS: &str = "headers and index";

pub(crate) fn family(encoding: &str) -> Family {
    if encoding == HEADERS {
        return OVERHEAD;
    }
    let found = FAMILIES
        .iter()
        .find(|(_, encodings)| encodings.contains(&encoding));
    found.map_or(
        Family {
            class: "f-raw",
            name: "as they are",
        },
        |(family, _)| *family,
    )
}

/// Bytes of each family that occurs, in the order of the legend, with the names of its encodings.
/// What counts is the root of a tree.
pub(super) fn by_family(columns: &[Column]) -> Vec<(Family, u64, Vec<&str>)> {
    let parts = || columns.iter().flat_map(|column| &column.parts);
    let of_family = |of: Family| {
        let mut names: Vec<&str> = Vec::new();
        let mut sum = 0;
        for part in parts().filter(|part| family(&part.root) == of) {
            sum += part.bytes;
            if !names.contains(&part.root.as_str()) {
                names.push(&part.root);
            }
        }
        (of, sum, names)
    };
    let all = FAMILIES.iter().map(|(family, _)| of_family(*family));
    all.filter(|(_, sum, _)| *sum > 0).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

/// A rectangle for each weight, in their order; the weights descend and are not 0.
fn squarified(weights: &[f64], whole: Rect) -> Vec<Rect> {
    let mut rest = whole;
    let mut sum: f64 = weights.iter().sum();
    let mut out = Vec::with_capacity(weights.len());
    let mut weights = weights;
    while !weights.is_empty() && sum > 0.0 {
        let scale = rest.w * rest.h / sum;
        let side = rest.w.min(rest.h).max(1e-9);
        // The row that is best: its worst rectangle is the least long.
        let worst = |count: usize, row: f64| {
            let thick = row * scale / side;
            let longest = |weight: &f64| {
                let long = weight * scale / thick.max(1e-9);
                (long / thick.max(1e-9)).max(thick / long.max(1e-9))
            };
            weights.iter().take(count).map(longest).fold(0.0, f64::max)
        };
        let (mut count, mut row) = (1, weights[0]);
        while let Some(next) = weights.get(count) {
            if worst(count + 1, row + next) > worst(count, row) {
                break;
            }
            (count, row) = (count + 1, row + next);
        }
        let thick = row * scale / side;
        let mut at = 0.0;
        for weight in &weights[..count] {
            let long = weight / row * side;
            out.push(if rest.w >= rest.h {
                Rect {
                    x: rest.x,
                    y: rest.y + at,
                    w: thick,
                    h: long,
                }
            } else {
                Rect {
                    x: rest.x + at,
                    y: rest.y,
                    w: long,
                    h: thick,
                }
            });
            at += long;
        }
        rest = if rest.w >= rest.h {
            Rect {
                x: rest.x + thick,
                w: (rest.w - thick).max(0.0),
                ..rest
            }
        } else {
            Rect {
                y: rest.y + thick,
                h: (rest.h - thick).max(0.0),
                ..rest
            }
        };
        sum -= row;
        weights = &weights[count..];
    }
    out
}

/// A column in the map, or what is left of them.
struct Item<'a> {
    /// Its number in the page; of the rest none.
    column: Option<usize>,
    label: String,
    bytes: u64,
    parts: Vec<Cow<'a, Part>>,
}

fn items(columns: &[Column], whole: u64) -> (Vec<Item<'_>>, usize) {
    let mut order: Vec<usize> = (0..columns.len())
        .filter(|at| columns[*at].leaf.bytes > 0)
        .collect();
    order.sort_by_key(|at| Reverse(columns[*at].leaf.bytes));
    let enough = |at: usize| columns[at].leaf.bytes as f64 >= whole as f64 * SMALLEST_PART;
    let own = order
        .iter()
        .take(MOST_COLUMNS)
        .take_while(|at| enough(**at))
        .count();
    let (own, rest) = order.split_at(own);
    let mut items: Vec<Item<'_>> = own
        .iter()
        .map(|at| {
            let column = &columns[*at];
            let parts = gathered(column.parts.iter(), whole);
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
        let parts = gathered(rest.iter().flat_map(|at| &columns[*at].parts), whole);
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
    (items, rest.len())
}

/// Bytes per encoding, the largest first; small ones together.
fn gathered<'a>(parts: impl Iterator<Item = &'a Part>, whole: u64) -> Vec<Cow<'a, Part>> {
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

/// `dictionary › bitpack`.
fn way(part: &Part) -> String {
    if part.root == part.encoding {
        part.root.clone()
    } else {
        format!("{} › {}", part.root, part.encoding)
    }
}

/// A piece of text that is seen where its rectangle is at least that wide: a label is never cut.
fn fitting(tag: &str, text: &str, width: f64) -> String {
    // Thresholds in `report.css`.
    const STEP: f64 = 20.0;
    const MOST: f64 = 24.0;
    let steps = (width / STEP).ceil().clamp(2.0, MOST);
    format!("<{tag} class=\"k k{steps}\">{text}</{tag}>")
}

/// About how wide a text is, in letters.
fn letters(text: &str) -> f64 {
    text.width() as f64
}

/// The custom properties that place a rectangle within `whole`, for one layout.
fn placed(out: &mut String, names: [&str; 4], rect: Rect, whole: Rect) {
    let share = |value: f64, of: f64| if of > 0.0 { value / of * 100.0 } else { 0.0 };
    let numbers = [
        share(rect.x - whole.x, whole.w),
        share(rect.y - whole.y, whole.h),
        share(rect.w, whole.w),
        share(rect.h, whole.h),
    ];
    for (name, number) in names.iter().zip(numbers) {
        let _ = write!(out, "--{name}:{number:.2};");
    }
}

const PROPERTIES: [[&str; 4]; 2] = [["x", "y", "w", "h"], ["X", "Y", "W", "H"]];

/// The map and, for who does not see it, the same as a table.
pub(super) fn draw(out: &mut String, columns: &[Column]) {
    let whole: u64 = columns.iter().map(|column| column.leaf.bytes).sum();
    let (mut items, rest) = items(columns, whole);
    let Some(first) = items
        .first()
        .map(|first| (first.label.clone(), first.bytes))
    else {
        out.push_str("<p>No column takes any bytes.</p>\n");
        return;
    };
    // The rest of the columns may be the largest of all.
    items.sort_by_key(|item| Reverse(item.bytes));
    let weights: Vec<f64> = items.iter().map(|item| item.bytes as f64).collect();
    let wholes = LAYOUTS.map(|(w, h)| Rect {
        x: 0.0,
        y: 0.0,
        w,
        h,
    });
    let layouts = wholes.map(|whole| squarified(&weights, whole));
    let _ = writeln!(
        out,
        "<div class=\"map\" id=\"map\" role=\"img\" aria-label=\"Treemap of the bytes of {}; the largest is {} with \
         {}, \
         {} of all. The table below tells the same.\">",
        counted(columns.len() as u64, "column"),
        esc(&first.0),
        bytes(first.1),
        percent(first.1, whole)
    );
    for (at, item) in items.iter().enumerate() {
        let target = item
            .column
            .map(|column| format!(" data-c=\"{column}\""))
            .unwrap_or_default();
        let mut style = String::new();
        let mut inners = Vec::new();
        for ((layout, whole), names) in layouts.iter().zip(wholes).zip(PROPERTIES) {
            let Some(rect) = layout.get(at).copied() else {
                continue;
            };
            placed(&mut style, names, rect, whole);
            let label = if rect.w >= LABELLED.0 && rect.h >= LABELLED.1 {
                LABEL
            } else {
                0.0
            };
            inners.push(Rect {
                x: 0.0,
                y: 0.0,
                w: rect.w,
                h: rect.h - label,
            });
        }
        let _ = write!(
            out,
            "<div class=\"mc\" style=\"{style}\"{target}><div class=\"ml\">{}</div><div class=\"mi\">",
            label(item)
        );
        let weights: Vec<f64> = item.parts.iter().map(|part| part.bytes as f64).collect();
        let layouts: Vec<Vec<Rect>> = inners
            .iter()
            .map(|inner| squarified(&weights, *inner))
            .collect();
        for (at, part) in item.parts.iter().enumerate() {
            let mut style = String::new();
            for ((layout, whole), names) in layouts.iter().zip(&inners).zip(PROPERTIES) {
                layout
                    .get(at)
                    .into_iter()
                    .for_each(|rect| placed(&mut style, names, *rect, *whole));
            }
            let way = way(part);
            let (long, short) = (
                letters(&way) * PART_LETTER + 10.0,
                letters(&part.encoding) * PART_LETTER + 10.0,
            );
            let mut text = fitting("i", &way, long);
            if way != part.encoding {
                let _ = write!(text, "{}", fitting("u", &part.encoding, short));
            }
            let _ = write!(
                out,
                "<div class=\"mp {}\" style=\"{style}\" title=\"{}: {way}, {} ({} of all columns)\">{text}</div>",
                family(&part.root).class,
                esc(&item.label),
                bytes(part.bytes),
                percent(part.bytes, whole)
            );
        }
        out.push_str("</div></div>\n");
    }
    out.push_str("</div>\n");
    legend(out, columns, whole);
    table(out, &items, whole);
    if rest > 0 {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} have no rectangle of their own; the list below has all.</p>",
            counted(rest as u64, "smaller column")
        );
    }
}

/// The name, the end of it where all of a nested one does not fit, and the bytes where they fit.
fn label(item: &Item<'_>) -> String {
    let size = bytes(item.bytes);
    let short = match item.column {
        Some(_) => item.label.rsplit('.').next().unwrap_or_default(),
        None => &item.label,
    };
    let long = letters(&item.label) * NAME_LETTER + 10.0;
    let size_width = letters(&size) * SIZE_LETTER + 6.0;
    let dots = if short.len() < item.label.len() {
        "…"
    } else {
        ""
    };
    format!(
        "{}<u>{dots}{}</u> {}",
        fitting("b", &name(&item.label), long),
        name(short),
        fitting("span", &size, long + size_width)
    )
}

fn legend(out: &mut String, columns: &[Column], whole: u64) {
    out.push_str("<ul class=\"legend\" aria-label=\"Kinds of encodings\">\n");
    for (family, sum, names) in by_family(columns) {
        let names = if family == OVERHEAD {
            String::new()
        } else {
            format!(" <small>{}</small>", names.join(", "))
        };
        let _ = writeln!(
            out,
            "<li><span class=\"chip {}\"></span><span>{}{names}</span> <span class=\"num\">{} \
             <small>{}</small></span></li>",
            family.class,
            family.name,
            bytes(sum),
            percent(sum, whole)
        );
    }
    out.push_str("</ul>\n");
}

fn table(out: &mut String, items: &[Item<'_>], whole: u64) {
    out.push_str(
        "<details class=\"more\"><summary>The treemap as a table</summary>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"The treemap as a table\"><table>\n<caption>Bytes per column and encoding, the \
         largest \
         first</caption>\n<thead><tr><th scope=\"col\">Column</th><th scope=\"col\">Encoding</th><th scope=\"col\" \
         class=\"num\">Bytes</th><th scope=\"col\" class=\"num\">Of all columns</th></tr></thead>\n<tbody>\n",
    );
    for item in items {
        let label = match item.column {
            Some(column) => format!("<a href=\"#c{column}\">{}</a>", name(&item.label)),
            None => name(&item.label),
        };
        let rows = item.parts.len();
        for (at, part) in item.parts.iter().enumerate() {
            let head = match at {
                0 => format!("<th scope=\"rowgroup\" rowspan=\"{rows}\">{label}</th>"),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "<tr>{head}<td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                way(part),
                bytes(part.bytes),
                percent(part.bytes, whole)
            );
        }
    }
    out.push_str("</tbody>\n</table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_fill_the_whole_and_keep_their_areas() {
        let whole = Rect {
            x: 0.0,
            y: 0.0,
            w: 600.0,
            h: 400.0,
        };
        let weights = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let rects = squarified(&weights, whole);
        let scale = 600.0 * 400.0 / 24.0;
        for (rect, weight) in rects.iter().zip(weights) {
            assert!((rect.w * rect.h - weight * scale).abs() < 1e-6, "{rect:?}");
            assert!(rect.x >= 0.0 && rect.x + rect.w < 600.0 + 1e-6, "{rect:?}");
            assert!(rect.y >= 0.0 && rect.y + rect.h < 400.0 + 1e-6, "{rect:?}");
            assert!(rect.w / rect.h < 4.0 && rect.h / rect.w < 4.0, "{rect:?}");
        }
        assert_eq!(rects.len(), 7);
        assert!(squarified(&[], whole).is_empty());
    }

    #[test]
    fn every_encoding_has_a_kind() {
        for encoding in staffa::encodings() {
            let known = FAMILIES
                .iter()
                .any(|(_, names)| names.contains(&encoding.name));
            assert!(known, "{} has no colour in the report", encoding.name);
        }
    }
}
