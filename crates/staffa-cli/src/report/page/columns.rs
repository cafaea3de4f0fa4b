//! The list of columns.

use std::cmp::Reverse;

use super::summary::times;
use super::{details, distribution};
use crate::report::contents::{Column, Report, distinct_text, marked_bounds};
use crate::report::html::{self, cut, name, percent, put};
use crate::report::treemap::family;
use crate::report::zones::{self, Order};
use crate::terminal::text::{bytes, counted, number, ratio};

/// The largest columns are listed, others are counted: a page has a few MB at most.
const MAX_LISTED: usize = 5000;
/// Columns of a page of the list.
const PAGE: usize = 50;
/// Characters of a type, and of a smallest or largest value.
const TYPE: usize = 40;
const BOUND: usize = 28;
/// The zone maps of so many blocks and more are drawn in the list.
const MIN_BINS: usize = 8;

pub(super) fn list(out: &mut String, report: &Report) {
    let columns = &report.columns;
    // The largest are listed, in the order of the table.
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|index| Reverse(columns[*index].leaf.bytes));
    put!(
        out,
        "<section aria-labelledby=\"h-columns\">\n<h2 id=\"h-columns\">Columns</h2>"
    );
    lead(out, report);
    if order.len() > MAX_LISTED {
        put!(
            out,
            "<p class=\"note\">The {} largest columns of {}; <code>staffa size</code> lists all.</p>",
            number(MAX_LISTED as u64),
            number(order.len() as u64)
        );
        order.truncate(MAX_LISTED);
    }
    if report.has_many_columns() {
        put!(
            out,
            "<noscript><p class=\"note\">The details of a column need JavaScript in this page.</p></noscript>"
        );
    }
    controls(out, order.len());
    let largest = order.first().map_or(0, |index| columns[*index].leaf.bytes);
    order.sort_unstable();
    for index in order {
        column(out, report, index, largest);
    }
    put!(
        out,
        "</div>\n<nav class=\"pager js\" hidden aria-label=\"Pages of columns\" data-size=\"{PAGE}\" \
         data-of=\"columns\"></nav>\n</section>"
    );
}

/// What the pictures show, and of how many rows.
fn lead(out: &mut String, report: &Report) {
    let rows = report.inspection.rows;
    let read = |column: &Column| column.profile.rows;
    let fewest = report.columns.iter().map(read).filter(|rows| *rows > 0);
    let of = match fewest.min() {
        Some(fewest) if fewest < rows => format!(
            "a sample spread over the table, of {} or more",
            counted(fewest, "row")
        ),
        _ => "all rows".into(),
    };
    let drawn = report
        .columns
        .iter()
        .any(|column| column.bins.len() >= MIN_BINS);
    let strips = if drawn {
        " The strip below an order shows the zone maps along the rows, one bar per block: from its minimum to its \
         maximum <span class=\"key zb\"></span>, below it the share of NULLs <span class=\"key zn\"></span>; the \
         percentage is the share of blocks that a filter for one value reads."
    } else {
        ""
    };
    put!(
        out,
        "<p class=\"lead\">Distributions are of {of}; smallest, largest, NULLs and distinct values of the whole \
         file. Of texts the file keeps 16 bytes: ≥ and ≤ mark bounds of the smallest and the largest.{strips}</p>"
    );
}

/// The search field and the heads of the list, which sort it.
fn controls(out: &mut String, listed: usize) {
    put!(
        out,
        "<div class=\"controls js\" hidden role=\"search\"><label>Find <input type=\"search\" id=\"find\" \
         placeholder=\"name, type or encoding\" autocomplete=\"off\" spellcheck=\"false\"></label> <output id=\"found\" \
         aria-live=\"polite\">{}</output></div>",
        counted(listed as u64, "column")
    );
    put!(out, "<div class=\"row heads\" id=\"heads\">");
    for (key, label, class) in [
        ("i", "#", ""),
        ("name", "Column", ""),
        ("", "Distribution", ""),
        ("", "Smallest, largest", ""),
        ("n", "NULLs", "num"),
        ("d", "Distinct", "num"),
        ("b", "Bytes", "num"),
        ("r", "Smaller", "num"),
        ("e", "Encoding, order", ""),
    ] {
        if key.is_empty() {
            put!(out, "<span class=\"plain\">{label}</span>");
        } else {
            put!(
                out,
                "<span class=\"{class}\"><button type=\"button\" data-sort=\"{key}\">{label}</button></span>"
            );
        }
    }
    put!(out, "</div>\n<div id=\"columns\">");
}

/// A column: its line, and the details below it.
fn column(out: &mut String, report: &Report, index: usize, largest: u64) {
    let column = &report.columns[index];
    let leaf = &column.leaf;
    put!(
        out,
        "<details class=\"col\" id=\"c{index}\" data-i=\"{index}\" data-b=\"{}\" data-r=\"{:.4}\" data-n=\"{:.6}\" \
         data-d=\"{}\">\n<summary class=\"row\"><span class=\"cn\"><b>{}</b> <small>{}</small></span>",
        leaf.bytes,
        share(leaf.decoded_bytes, leaf.bytes),
        share(leaf.nulls, leaf.values),
        column.distinct.unwrap_or(0),
        // A line may break at the dots of a path.
        name(&leaf.path).replace('.', ".<wbr>"),
        cut(&column.data_type, TYPE)
    );
    distribution::small(out, &column.profile);
    let [min, max] = marked_bounds(
        &leaf.physical_type,
        leaf.min.as_deref(),
        leaf.max.as_deref(),
    )
    .map(|bound| bound.map_or_else(String::new, |text| html::bound(&text, BOUND)));
    put!(
        out,
        "<span class=\"cm\"><span>{min}</span><span>{max}</span></span>"
    );
    put!(
        out,
        "<span class=\"num cu\">{}<span class=\"vh\"> NULLs,</span></span><span class=\"num ci\">{}<span class=\"vh\"> \
         distinct,</span></span><span class=\"num cb\">{}<span class=\"bar a\" style=\"--p:{:.2}\"></span></span><span \
         class=\"num cr\">{}<span class=\"vh\"> smaller than Arrow,</span></span>",
        if leaf.nulls == 0 {
            "0".into()
        } else {
            percent(leaf.nulls, leaf.values)
        },
        distinct_text(column.distinct),
        bytes(leaf.bytes),
        share(leaf.bytes, largest) * 100.0,
        times(&ratio(leaf.decoded_bytes, leaf.bytes))
    );
    put!(out, "<span class=\"ce\">{}", encoding(column));
    order(out, column);
    put!(out, "</span></summary>");
    let mut below = String::new();
    details::draw(&mut below, report, column);
    if report.has_many_columns() {
        // All text is escaped, so that only the closing tag ends this element.
        put!(
            out,
            "<script type=\"text/plain\" class=\"lazy\">{below}</script></details>"
        );
    } else {
        put!(out, "{below}</details>");
    }
}

/// The order of the values along the rows, drawn where there are enough blocks.
fn order(out: &mut String, column: &Column) {
    match column.order {
        Order::Unknown | Order::OneBlock => return,
        // Two blocks overlap easily.
        Order::Overlapping(_) if column.bins.len() < 3 => return,
        _ => put!(out, "<small>{}</small>", column.order.label()),
    }
    let says_more = !matches!(column.order, Order::OnlyNulls | Order::Constant);
    if says_more && column.bins.len() >= MIN_BINS {
        zones::draw(out, &column.bins);
    }
}

/// The encoding at the root of most blocks, and the number of other trees.
fn encoding(column: &Column) -> String {
    let values = column.trees.iter().find(|trees| trees.noun == "block");
    let Some((first, others)) = values.and_then(|trees| trees.groups.split_first()) else {
        return "<span></span>".into();
    };
    let more = if others.is_empty() {
        String::new()
    } else {
        let trees = counted(others.len() as u64, "other tree");
        format!(
            " <small title=\"and {trees} of encodings\">+{}</small>",
            others.len()
        )
    };
    let root = &first.tree.encoding;
    format!(
        "<span class=\"en\"><span class=\"chip {}\"></span><span>{}{more}</span></span>",
        family(root).class,
        root.replace('_', "_<wbr>")
    )
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
