//! The list of columns.

use std::cmp::Reverse;

use super::details;
use super::summary::times;
use crate::report::contents::{Column, Report};
use crate::report::html::{cut, name, percent, put};
use crate::report::treemap::family;
use crate::report::zones::{self, Order};
use crate::terminal::text::{bytes, counted, number, ratio};

/// The largest columns are listed, others are counted: a page has a few MB at most.
const MAX_LISTED: usize = 5000;
/// Characters of a type.
const TYPE: usize = 40;

pub(super) fn list(out: &mut String, report: &Report) {
    let columns = &report.columns;
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|index| Reverse(columns[*index].leaf.bytes));
    put!(
        out,
        "<section aria-labelledby=\"h-columns\">\n<h2 id=\"h-columns\">Columns</h2>"
    );
    put!(
        out,
        "<p class=\"lead\">The strip shows the zone maps along the rows, one bar per block: from its minimum to its \
         maximum, between the bounds of the column. Stairs are sorted data, full bars scattered values. The \
         percentage is the share of blocks that a filter for one value reads. <span class=\"keys\"><span class=\"key \
         zb\"></span> minimum to maximum <span class=\"key zn\"></span> share of NULLs</span></p>"
    );
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
    controls(out, report, order.len());
    let largest = order.first().map_or(0, |index| columns[*index].leaf.bytes);
    for index in order {
        column(out, report, index, largest);
    }
    put!(out, "</div>\n</section>");
}

/// The search field, the sort order and the heads of the list.
fn controls(out: &mut String, report: &Report, listed: usize) {
    put!(
        out,
        "<div class=\"controls js\" hidden role=\"search\"><label>Find <input type=\"search\" id=\"find\" \
         placeholder=\"name, type or encoding\" autocomplete=\"off\" spellcheck=\"false\"></label> <label>Sort by \
         <select id=\"sort\"><option value=\"b\">bytes</option><option value=\"i\">position</option><option \
         value=\"name\">name</option><option value=\"r\">times smaller than Arrow</option><option value=\"n\">share of \
         NULLs</option></select></label> <output id=\"found\" aria-live=\"polite\">{}</output></div>",
        counted(listed as u64, "column")
    );
    put!(
        out,
        "<div class=\"row heads\" aria-hidden=\"true\"><span>Column</span><span>Encoding</span><span \
         class=\"num\">Bytes</span><span class=\"num\">Smaller</span><span class=\"num\">NULLs</span><span \
         class=\"cz\"><span>Rows 0 to {}</span><span>Order</span></span></div>\n<div id=\"columns\">",
        number(report.inspection.rows)
    );
}

/// A column: its line, and the details below it.
fn column(out: &mut String, report: &Report, index: usize, largest: u64) {
    let column = &report.columns[index];
    let leaf = &column.leaf;
    put!(
        out,
        "<details class=\"col\" id=\"c{index}\" data-i=\"{index}\" data-b=\"{}\" data-r=\"{:.4}\" \
         data-n=\"{:.6}\">\n<summary class=\"row\"><span class=\"cn\"><b>{}</b> <small>{}</small></span>",
        leaf.bytes,
        share(leaf.decoded_bytes, leaf.bytes),
        share(leaf.nulls, leaf.values),
        // A line may break at the dots of a path.
        name(&leaf.path).replace('.', ".<wbr>"),
        cut(&column.data_type, TYPE)
    );
    put!(out, "<span class=\"ce\">{}</span>", encoding(column));
    put!(
        out,
        "<span class=\"num cb\">{}<span class=\"bar a\" style=\"--p:{:.2}\"></span></span><span class=\"num \
         cr\">{}<span class=\"vh\"> smaller than Arrow,</span></span><span class=\"num cu\">{}<span class=\"vh\"> \
         NULLs,</span></span>",
        bytes(leaf.bytes),
        share(leaf.bytes, largest) * 100.0,
        times(&ratio(leaf.decoded_bytes, leaf.bytes)),
        if leaf.nulls == 0 {
            "0".into()
        } else {
            percent(leaf.nulls, leaf.values)
        }
    );
    out.push_str("<span class=\"cz\">");
    let order = column.order.label();
    if matches!(column.order, Order::Unknown) && leaf.nulls == 0 {
        out.push_str("<span class=\"zones\"></span>");
    } else {
        zones::draw(out, &column.bins);
    }
    put!(out, "<small>{order}</small></span></summary>");
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
        "<span class=\"chip {}\"></span><span>{}{more}</span>",
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
