//! The details below a column: facts, zone maps, encoding trees, blocks.

use super::{distribution, trees};
use crate::report::contents::{Column, Report, distinct_text, marked_bounds};
use crate::report::html::{self, cut, esc, name, percent, put};
use crate::report::zones::{self, Order};
use crate::terminal::text::{bytes, number};

/// Characters of a minimum or maximum, and of the type.
const BOUND: usize = 48;
const TYPE: usize = 400;
/// Zone maps are drawn of so many blocks and more.
const MIN_BINS: usize = 4;
/// Blocks listed below a column.
const MAX_BLOCKS: usize = 24;

pub(super) fn draw(out: &mut String, report: &Report, column: &Column) {
    put!(out, "<div class=\"cd\"><dl class=\"facts\">");
    for (label, value) in facts(report, column) {
        put!(out, "<div><dt>{label}</dt><dd>{value}</dd></div>");
    }
    put!(out, "</dl>");
    let is_short = report.has_many_columns();
    distribution::large(out, &column.profile, report.inspection.rows, is_short);
    zone_maps(out, report, column);
    put!(out, "<h3>Encodings</h3>");
    if column.trees.is_empty() {
        put!(out, "<p>There is nothing to encode.</p>");
    }
    for trees in &column.trees {
        trees::draw(out, trees, column.leaf.bytes);
    }
    if !report.has_many_columns() {
        block_table(out, column);
    }
    put!(out, "</div>");
}

/// The facts about a column: labels and values.
fn facts(report: &Report, column: &Column) -> Vec<(&'static str, String)> {
    let leaf = &column.leaf;
    let whole: u64 = report.columns.iter().map(|column| column.leaf.bytes).sum();
    let blocks: usize = leaf.chunks.iter().map(|chunk| chunk.blocks.len()).sum();
    let mut facts = vec![
        ("Type", cut(&column.data_type, TYPE)),
        ("Values", number(leaf.values)),
        (
            "NULLs",
            format!(
                "{} ({})",
                number(leaf.nulls),
                percent(leaf.nulls, leaf.values)
            ),
        ),
        ("Share of all columns", percent(leaf.bytes, whole)),
        ("Arrow in memory", bytes(leaf.decoded_bytes)),
        ("Blocks", number(blocks as u64)),
    ];
    // Among many columns the line above says it.
    if !report.has_many_columns() {
        let [min, max] = bounds(column, leaf.min.as_deref(), leaf.max.as_deref());
        facts.push(("Minimum", min.unwrap_or_else(|| "none".into())));
        facts.push(("Maximum", max.unwrap_or_else(|| "none".into())));
        facts.push(("Distinct", distinct_text(column.distinct)));
    }
    let mut references: Vec<&str> = leaf
        .chunks
        .iter()
        .flat_map(|chunk| &chunk.references)
        .map(String::as_str)
        .collect();
    references.sort_unstable();
    references.dedup();
    if !references.is_empty() {
        let names: Vec<String> = references.iter().map(|path| name(path)).collect();
        facts.push(("Derived from", names.join(", ")));
    }
    facts
}

fn zone_maps(out: &mut String, report: &Report, column: &Column) {
    let leaf = &column.leaf;
    if !matches!(column.order, Order::Unknown) {
        put!(
            out,
            "<h3>Zone maps</h3>\n<p>{}</p>",
            column.order.description()
        );
    }
    // A few bars show nothing.
    if column.bins.len() >= MIN_BINS
        && !matches!(
            column.order,
            Order::Unknown | Order::OnlyNulls | Order::Constant
        )
    {
        let [min, max] = bounds(column, leaf.min.as_deref(), leaf.max.as_deref());
        out.push_str("<div class=\"plot\"><span class=\"hi\">");
        put!(
            out,
            "{}</span><span class=\"lo\">{}</span>",
            max.unwrap_or_default(),
            min.unwrap_or_default()
        );
        zones::draw(out, &column.bins);
        put!(
            out,
            "<span class=\"ax\"><span>row 0</span><span>row {}</span></span></div>",
            number(report.inspection.rows)
        );
    }
}

/// The minimum and maximum of the column or a block of it.
fn bounds(column: &Column, min: Option<&str>, max: Option<&str>) -> [Option<String>; 2] {
    marked_bounds(&column.leaf.physical_type, min, max)
        .map(|bound| bound.map(|text| html::bound(&text, BOUND)))
}

fn block_table(out: &mut String, column: &Column) {
    let chunks = &column.leaf.chunks;
    let all: usize = chunks.iter().map(|chunk| chunk.blocks.len()).sum();
    if all == 0 {
        return;
    }
    let shown = all.min(MAX_BLOCKS);
    let title = if shown < all {
        format!("The first {shown} of {} blocks", number(all as u64))
    } else {
        "Blocks".into()
    };
    put!(
        out,
        "<details class=\"more\"><summary>{title}</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Blocks of {}\"><table>\n<caption>Blocks of {}</caption>\n<thead><tr><th scope=\"col\" \
         class=\"num\">Row group</th><th scope=\"col\" class=\"num\">Block</th><th scope=\"col\" \
         class=\"num\">Values</th><th scope=\"col\" class=\"num\">NULLs</th><th scope=\"col\" \
         class=\"num\">Bytes</th><th scope=\"col\">Minimum</th><th scope=\"col\">Maximum</th></tr></thead>\n<tbody>",
        esc(&column.leaf.path),
        name(&column.leaf.path)
    );
    let blocks = chunks.iter().flat_map(|chunk| {
        chunk
            .blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (chunk.row_group, index, block))
    });
    for (group, index, block) in blocks.take(shown) {
        let [min, max] = bounds(column, block.min.as_deref(), block.max.as_deref());
        put!(
            out,
            "<tr><td class=\"num\">{group}</td><td class=\"num\">{index}</td><td class=\"num\">{}</td><td \
             class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td></tr>",
            number(block.values),
            number(block.nulls),
            bytes(block.bytes),
            min.unwrap_or_default(),
            max.unwrap_or_default()
        );
    }
    put!(out, "</tbody>\n</table></div></details>");
}
