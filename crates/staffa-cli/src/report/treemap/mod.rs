//! The treemap: one rectangle per column, divided by encoding, areas proportional to bytes.

mod family;
mod items;
mod layout;

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

pub(super) use self::family::family;
use self::family::{OVERHEAD, by_family};
use self::items::{Item, items};
use self::layout::{Rect, squarify};
use super::contents::{Column, Part};
use super::html::{esc, name, percent};
use crate::terminal::text::{bytes, counted};

/// The sizes in pixels of the two layouts: a wide window and a narrow one. The page stretches them.
const LAYOUTS: [(f64, f64); 2] = [(1100.0, 460.0), (360.0, 620.0)];
/// The custom properties of `report.css` for x, y, width and height, in each layout.
const PROPERTIES: [[&str; 4]; 2] = [["x", "y", "w", "h"], ["X", "Y", "W", "H"]];
/// The height of a column's label, and the size of a column that has one; as in `report.css`.
const LABEL: f64 = 19.0;
const LABELLED: (f64, f64) = (54.0, 40.0);
/// Widths of a letter in pixels, rounded up: of a name, of a size beside it, of an encoding.
const NAME_LETTER: f64 = 8.2;
const SIZE_LETTER: f64 = 7.2;
const PART_LETTER: f64 = 6.6;

/// Draws the map, and the same content as a table for screen readers.
pub(super) fn draw(out: &mut String, columns: &[Column]) {
    let whole: u64 = columns.iter().map(|column| column.leaf.bytes).sum();
    let (items, small) = items(columns, whole);
    let largest = columns.iter().max_by_key(|column| column.leaf.bytes);
    let Some(largest) = largest.filter(|column| column.leaf.bytes > 0) else {
        out.push_str("<p>No column has any bytes.</p>\n");
        return;
    };
    let _ = writeln!(
        out,
        "<div class=\"map\" id=\"map\" role=\"img\" aria-label=\"Treemap of the bytes of {}; the \
         largest is {} with {}, {} of all. The table below has the same content.\">",
        counted(columns.len() as u64, "column"),
        esc(&largest.leaf.path),
        bytes(largest.leaf.bytes),
        percent(largest.leaf.bytes, whole)
    );
    let weights: Vec<f64> = items.iter().map(|item| item.bytes as f64).collect();
    let maps = LAYOUTS.map(|(w, h)| Rect {
        x: 0.0,
        y: 0.0,
        w,
        h,
    });
    let layouts = maps.map(|map| squarify(&weights, map));
    let [wide, narrow] = &layouts;
    for (item, rects) in items.iter().zip(wide.iter().zip(narrow)) {
        draw_item(out, item, [*rects.0, *rects.1], maps, whole);
    }
    out.push_str("</div>\n");
    legend(out, columns, whole);
    table(out, &items, whole);
    if small > 0 {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} {}; the list of columns has all.</p>",
            counted(small as u64, "smaller column"),
            if small == 1 {
                "has no rectangle of its own"
            } else {
                "have no rectangles of their own"
            }
        );
    }
}

/// Draws an item: its label, and a rectangle per encoding. `rects` are its places in the `maps`.
fn draw_item(out: &mut String, item: &Item<'_>, rects: [Rect; 2], maps: [Rect; 2], whole: u64) {
    let target = item
        .column
        .map_or_else(String::new, |column| format!(" data-c=\"{column}\""));
    let style = position(rects, maps);
    let _ = write!(
        out,
        "<div class=\"mc\" style=\"{style}\"{target}><div class=\"ml\">{}</div><div class=\"mi\">",
        label(item)
    );
    let insides = rects.map(|rect| {
        let labelled = rect.w >= LABELLED.0 && rect.h >= LABELLED.1;
        Rect {
            x: 0.0,
            y: 0.0,
            w: rect.w,
            h: rect.h - if labelled { LABEL } else { 0.0 },
        }
    });
    let weights: Vec<f64> = item.parts.iter().map(|part| part.bytes as f64).collect();
    let [wide, narrow] = insides.map(|inside| squarify(&weights, inside));
    for (part, (wide, narrow)) in item.parts.iter().zip(wide.into_iter().zip(narrow)) {
        let style = position([wide, narrow], insides);
        let path = encoding_path(part);
        let width = |text: &str| letters(text) * PART_LETTER + 10.0;
        // What does not fit is left out from the root: the colour is that of the last name.
        let mut text = text_of_width("i", &path, width(&path));
        if path != part.encoding {
            text += &text_of_width("u", &part.encoding, width(&part.encoding));
        }
        let _ = write!(
            out,
            "<div class=\"mp {}\" style=\"{style}\" title=\"{}: {path}, {} ({} of all columns)\">{text}</div>",
            family(&part.encoding).class,
            esc(&item.label),
            bytes(part.bytes),
            percent(part.bytes, whole)
        );
    }
    out.push_str("</div></div>\n");
}

/// The style that places a rectangle within another one, in both layouts.
fn position(rects: [Rect; 2], within: [Rect; 2]) -> String {
    let mut style = String::new();
    for ((rect, within), names) in rects.into_iter().zip(within).zip(PROPERTIES) {
        place(&mut style, names, rect, within);
    }
    style
}

/// `dictionary › bitpack`.
fn encoding_path(part: &Part) -> String {
    if part.root == part.encoding {
        part.root.clone()
    } else {
        format!("{} › {}", part.root, part.encoding)
    }
}

/// A text that is visible only in a rectangle of at least this width, so that labels are never cut.
fn text_of_width(tag: &str, text: &str, width: f64) -> String {
    // The thresholds of `report.css`.
    const STEP: f64 = 20.0;
    const MOST: f64 = 24.0;
    let steps = (width / STEP).ceil().clamp(2.0, MOST);
    format!("<{tag} class=\"k k{steps}\">{text}</{tag}>")
}

/// The approximate width of a text in letters.
fn letters(text: &str) -> f64 {
    text.width() as f64
}

/// Writes the CSS properties that place a rectangle within `whole`, for one layout.
fn place(out: &mut String, names: [&str; 4], rect: Rect, whole: Rect) {
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

/// The label of an item: its name, or the last part of a nested name, and its bytes.
fn label(item: &Item<'_>) -> String {
    let size = bytes(item.bytes);
    let short = match item.column {
        Some(_) => item
            .label
            .rsplit_once('.')
            .map_or(item.label.as_str(), |(_, last)| last),
        None => item.label.as_str(),
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
        text_of_width("b", &name(&item.label), long),
        name(short),
        text_of_width("span", &size, long + size_width)
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
         largest first</caption>\n<thead><tr><th scope=\"col\">Column</th><th scope=\"col\">Encoding</th><th scope=\"col\" \
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
                encoding_path(part),
                bytes(part.bytes),
                percent(part.bytes, whole)
            );
        }
    }
    out.push_str("</tbody>\n</table></div></details>\n");
}
