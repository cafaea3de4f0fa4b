//! The page, from top to bottom. What is long is folded away; of many columns the details wait as
//! text and become elements when they are opened.

use std::cmp::Reverse;
use std::fmt::Write as _;

use arrow_cast::display::{ArrayFormatter, DurationFormat, FormatOptions};
use staffa::EncodingTree;

use super::html::{cut, esc, name, percent};
use super::parquet::Compared;
use super::treemap::{self, family};
use super::zones::{self, Order};
use super::{Column, MOST_LISTED, Report, Trees};
use crate::terminal::text::{bytes, counted, number, ratio};

/// Characters of a cell of the sample, of a bound, and of a type in the list.
const CELL: usize = 60;
const BOUND: usize = 48;
const TYPE: usize = 40;
/// Blocks listed below a column; trees drawn for it, and others named.
const BLOCKS: usize = 24;
const DRAWN_TREES: usize = 2;
const NAMED_TREES: usize = 4;
/// Columns of the sample on paper, as in `report.css`.
const PRINTED: usize = 10;
/// Row groups listed.
const GROUPS: usize = 100;

macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        // Nothing fails that writes to a string.
        let _ = writeln!($out, $($arg)*);
    }};
}

pub(crate) fn page(report: &Report) -> String {
    let mut out = String::with_capacity(1 << 18);
    head(&mut out, report);
    summary(&mut out, report);
    beside_parquet(&mut out, report);
    put!(
        out,
        "<section aria-labelledby=\"h-bytes\">\n<h2 id=\"h-bytes\">Where the bytes are</h2>"
    );
    put!(
        out,
        "<p class=\"lead\">One rectangle per column, divided by encoding; areas are bytes. \
         Colours tell the encoding at the root of the tree: how the values are made small before their bits are \
         packed.</p>"
    );
    treemap::draw(&mut out, &report.columns);
    put!(out, "</section>");
    columns(&mut out, report);
    sample(&mut out, report);
    row_groups(&mut out, report);
    put!(
        out,
        "</main>\n<footer><p>Made by <code>staffa report</code> {}. The file is of format version {}, written by {}. \
         kB, MB and GB are powers of 1000.</p></footer>\n<script>{}</script>\n</body>\n</html>",
        env!("CARGO_PKG_VERSION"),
        report.inspection.format_version,
        cut(&report.inspection.writer, BOUND),
        include_str!("../report.js")
    );
    out
}

fn head(out: &mut String, report: &Report) {
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src \
         'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}: Staffa report</title>\n<style>{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>",
        esc(&report.name),
        include_str!("../report.css")
    );
    put!(
        out,
        "<header>\n<div><p class=\"kicker\">Staffa report</p>\n<h1>{}</h1></div>\n<button type=\"button\" id=\"theme\" \
         class=\"js\" hidden>Dark</button>\n</header>\n<nav aria-label=\"Sections\" class=\"toc\"><a \
         href=\"#h-parquet\">Beside Parquet</a> <a href=\"#h-bytes\">Bytes</a> <a href=\"#h-columns\">Columns</a> <a \
         href=\"#h-sample\">Rows</a> <a href=\"#h-groups\">Row groups</a></nav>\n<main id=\"main\" tabindex=\"-1\">",
        name(&report.name)
    );
}

fn summary(out: &mut String, report: &Report) {
    let inspection = &report.inspection;
    let (file, decoded) = (inspection.file_bytes, report.decoded_bytes());
    let leaves = report.columns.len() as u64;
    let columns_note = if leaves == report.fields as u64 {
        String::new()
    } else {
        format!("{} with nested parts", number(leaves))
    };
    let columns: u64 = report.columns.iter().map(|column| column.leaf.bytes).sum();
    let groups = report.row_groups().len() as u64;
    let tiles = [
        (
            "Rows",
            number(inspection.rows),
            format!("blocks of {}", number(u64::from(inspection.block_rows))),
        ),
        ("Columns", number(report.fields as u64), columns_note),
        (
            "Row groups",
            number(groups),
            counted(report.blocks(), "block"),
        ),
        (
            "File",
            bytes(file),
            format!("footer {}", bytes(file.saturating_sub(columns))),
        ),
        ("Arrow in memory", bytes(decoded), String::new()),
        (
            "Smaller than Arrow",
            times(decoded, file),
            format!("{} of it", percent(file, decoded)),
        ),
    ];
    put!(
        out,
        "<section aria-labelledby=\"h-summary\">\n<h2 id=\"h-summary\" class=\"vh\">Summary</h2>\n<dl class=\"tiles\">"
    );
    for (label, value, note) in tiles {
        put!(
            out,
            "<div><dt>{label}</dt><dd><b>{value}</b><small>{note}</small></dd></div>"
        );
    }
    put!(out, "</dl>\n</section>");
}

/// `6.7 times` as people write it.
fn times(before: u64, after: u64) -> String {
    ratio(before, after).replace('x', "×")
}

fn beside_parquet(out: &mut String, report: &Report) {
    put!(
        out,
        "<section aria-labelledby=\"h-parquet\">\n<h2 id=\"h-parquet\">Beside Parquet</h2>"
    );
    let measured = match &report.compared {
        Compared::Measured(measured) => measured,
        Compared::LeftOut(why) => {
            put!(
                out,
                "<p class=\"note\">Not measured. {}</p>\n</section>",
                esc(why)
            );
            return;
        }
    };
    let ours = report.inspection.file_bytes;
    let largest = measured
        .iter()
        .filter_map(|one| one.bytes.as_ref().ok())
        .copied()
        .fold(ours, u64::max);
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sizes beside Parquet\"><table \
         class=\"sizes\">\n<caption>The same table by the Parquet writer of arrow-rs with its defaults, measured \
         now</caption>\n<thead><tr><th scope=\"col\">Format</th><th scope=\"col\" class=\"num\">Bytes</th><th \
         scope=\"col\" class=\"num\">Of this file</th><th aria-hidden=\"true\"></th></tr></thead>\n<tbody>"
    );
    let bar = |size: u64, class: &str| {
        let share = size as f64 / largest.max(1) as f64 * 100.0;
        format!("<span class=\"bar {class}\" style=\"--p:{share:.2}\"></span>")
    };
    put!(
        out,
        "<tr class=\"ours\"><th scope=\"row\">This file</th><td class=\"num\">{}</td><td class=\"num\">1×</td><td \
         aria-hidden=\"true\">{}</td></tr>",
        bytes(ours),
        bar(ours, "a")
    );
    for one in measured {
        let label = one.name.replacen("parquet", "Parquet", 1);
        match &one.bytes {
            Ok(size) => put!(
                out,
                "<tr><th scope=\"row\">{label}</th><td class=\"num\">{}</td><td class=\"num\">{:.2}×</td><td \
                 aria-hidden=\"true\">{}</td></tr>",
                bytes(*size),
                *size as f64 / ours.max(1) as f64,
                bar(*size, "b")
            ),
            Err(why) => put!(
                out,
                "<tr><th scope=\"row\">{label}</th><td colspan=\"3\">cannot hold this table: {}</td></tr>",
                cut(why, 200)
            ),
        }
    }
    put!(out, "</tbody>\n</table></div>\n</section>");
}

fn columns(out: &mut String, report: &Report) {
    let columns = &report.columns;
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| Reverse(columns[*at].leaf.bytes));
    put!(
        out,
        "<section aria-labelledby=\"h-columns\">\n<h2 id=\"h-columns\">Columns</h2>"
    );
    put!(
        out,
        "<p class=\"lead\">The strip shows the zone maps along the rows, one bar per block: from its smallest to its \
         largest value, between the bounds of the column. Stairs are sorted data, full bars scattered values. The \
         percentage is of the blocks that a filter for one value reads. <span class=\"keys\"><span class=\"key \
         zb\"></span> smallest to largest <span class=\"key zn\"></span> share of NULLs</span></p>"
    );
    if order.len() > MOST_LISTED {
        put!(
            out,
            "<p class=\"note\">The {} largest columns of {}; <code>staffa size</code> lists all.</p>",
            number(MOST_LISTED as u64),
            number(order.len() as u64)
        );
        order.truncate(MOST_LISTED);
    }
    if report.many() {
        put!(
            out,
            "<noscript><p class=\"note\">What folds out below a column needs JavaScript here.</p></noscript>"
        );
    }
    put!(
        out,
        "<div class=\"controls js\" hidden role=\"search\"><label>Find <input type=\"search\" id=\"find\" \
         placeholder=\"name, type or encoding\" autocomplete=\"off\" spellcheck=\"false\"></label> <label>Sort by \
         <select id=\"sort\"><option value=\"b\">bytes</option><option value=\"i\">position</option><option \
         value=\"name\">name</option><option value=\"r\">times smaller than Arrow</option><option value=\"n\">share of \
         NULLs</option></select></label> <output id=\"found\" aria-live=\"polite\">{}</output></div>",
        counted(order.len() as u64, "column")
    );
    put!(
        out,
        "<div class=\"row heads\" aria-hidden=\"true\"><span>Column</span><span>Encoding</span><span \
         class=\"num\">Bytes</span><span class=\"num\">Smaller</span><span class=\"num\">NULLs</span><span \
         class=\"cz\"><span>Rows 0 to {}</span><span>Order</span></span></div>\n<div id=\"columns\">",
        number(report.inspection.rows)
    );
    let largest = order.first().map_or(0, |at| columns[*at].leaf.bytes);
    for at in order {
        column(out, report, at, largest);
    }
    put!(out, "</div>\n</section>");
}

fn column(out: &mut String, report: &Report, at: usize, largest: u64) {
    let column = &report.columns[at];
    let leaf = &column.leaf;
    let per = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    put!(
        out,
        "<details class=\"col\" id=\"c{at}\" data-i=\"{at}\" data-b=\"{}\" data-r=\"{:.4}\" \
         data-n=\"{:.6}\">\n<summary \
         class=\"row\"><span class=\"cn\"><b>{}</b> <small>{}</small></span>",
        leaf.bytes,
        per(leaf.decoded_bytes, leaf.bytes),
        per(leaf.nulls, leaf.values),
        // A path breaks at its dots rather than within a word.
        name(&leaf.path).replace('.', ".<wbr>"),
        cut(&column.data_type, TYPE)
    );
    let (root, others) = column.root();
    let more = if others > 0 {
        let trees = counted(others as u64, "other tree");
        format!(" <small title=\"and {trees} of encodings\">+{others}</small>")
    } else {
        String::new()
    };
    let chip = if root.is_empty() {
        String::new()
    } else {
        format!("<span class=\"chip {}\"></span>", family(root).class)
    };
    put!(
        out,
        "<span class=\"ce\">{chip}<span>{}{more}</span></span>",
        root.replace('_', "_<wbr>")
    );
    put!(
        out,
        "<span class=\"num cb\">{}<span class=\"bar a\" style=\"--p:{:.2}\"></span></span><span class=\"num \
         cr\">{}<span class=\"vh\"> smaller than Arrow,</span></span><span class=\"num cu\">{}<span class=\"vh\"> \
         NULLs,</span></span>",
        bytes(leaf.bytes),
        per(leaf.bytes, largest) * 100.0,
        times(leaf.decoded_bytes, leaf.bytes),
        if leaf.nulls == 0 {
            "0".into()
        } else {
            percent(leaf.nulls, leaf.values)
        }
    );
    out.push_str("<span class=\"cz\">");
    let word = column.order.word();
    if matches!(column.order, Order::Unknown) && leaf.nulls == 0 {
        out.push_str("<span class=\"zones\"></span>");
    } else {
        zones::draw(out, &column.bins);
    }
    put!(out, "<small>{word}</small></span></summary>");
    let mut below = String::new();
    details(&mut below, report, column);
    if report.many() {
        // All text in it is escaped: nothing ends this element but its own end.
        put!(
            out,
            "<script type=\"text/plain\" class=\"lazy\">{below}</script></details>"
        );
    } else {
        put!(out, "{below}</details>");
    }
}

impl Column {
    /// The encoding at the root of most blocks, and how many other shapes of trees there are.
    fn root(&self) -> (&str, usize) {
        let values = self.trees.iter().find(|trees| trees.noun == "block");
        let first = values.and_then(|trees| trees.groups.first());
        let others = values.map_or(0, |trees| trees.groups.len().saturating_sub(1));
        (
            first.map_or("", |group| group.tree.encoding.as_str()),
            others,
        )
    }
}

fn details(out: &mut String, report: &Report, column: &Column) {
    let leaf = &column.leaf;
    let whole: u64 = report.columns.iter().map(|column| column.leaf.bytes).sum();
    let bound = |bound: &Option<String>| {
        bound
            .as_ref()
            .map_or_else(|| "none".into(), |text| cut(text, BOUND))
    };
    let blocks: usize = leaf.chunks.iter().map(|chunk| chunk.blocks.len()).sum();
    let mut facts = vec![
        ("Type", cut(&column.data_type, 400)),
        ("Smallest", bound(&leaf.min)),
        ("Largest", bound(&leaf.max)),
        ("Values", number(leaf.values)),
        (
            "NULLs",
            format!(
                "{} ({})",
                number(leaf.nulls),
                percent(leaf.nulls, leaf.values)
            ),
        ),
        ("Of all columns' bytes", percent(leaf.bytes, whole)),
        ("Arrow in memory", bytes(leaf.decoded_bytes)),
        ("Blocks", number(blocks as u64)),
    ];
    let mut tellers: Vec<&str> = leaf
        .chunks
        .iter()
        .flat_map(|chunk| &chunk.told_by)
        .map(String::as_str)
        .collect();
    tellers.sort_unstable();
    tellers.dedup();
    if !tellers.is_empty() {
        let names: Vec<String> = tellers.iter().map(|path| name(path)).collect();
        facts.push(("In terms of", names.join(", ")));
    }
    put!(out, "<div class=\"cd\"><dl class=\"facts\">");
    for (label, value) in facts {
        put!(out, "<div><dt>{label}</dt><dd>{value}</dd></div>");
    }
    put!(out, "</dl>");
    if !matches!(column.order, Order::Unknown) {
        put!(
            out,
            "<h3>Zone maps</h3>\n<p>{}</p>",
            column.order.sentence()
        );
    }
    // One bar tells nothing.
    if column.bins.len() > 1
        && !matches!(
            column.order,
            Order::Unknown | Order::OnlyNulls | Order::Constant
        )
    {
        out.push_str("<div class=\"plot\"><span class=\"hi\">");
        put!(
            out,
            "{}</span><span class=\"lo\">{}</span>",
            bound(&leaf.max),
            bound(&leaf.min)
        );
        zones::draw(out, &column.bins);
        put!(
            out,
            "<span class=\"ax\"><span>row 0</span><span>row {}</span></span></div>",
            number(report.inspection.rows)
        );
    }
    put!(out, "<h3>Encodings</h3>");
    if column.trees.is_empty() {
        put!(out, "<p>There is nothing to encode.</p>");
    }
    for trees in &column.trees {
        draw_trees(out, trees, leaf.bytes);
    }
    if !report.many() {
        block_table(out, column, blocks);
    }
    put!(out, "</div>");
}

fn draw_trees(out: &mut String, trees: &Trees, column_bytes: u64) {
    for group in trees.groups.iter().take(DRAWN_TREES) {
        let share = if trees.groups.len() == 1 {
            counted(group.count, trees.noun)
        } else {
            format!(
                "{} of {}",
                number(group.count),
                counted(trees.count, trees.noun)
            )
        };
        put!(
            out,
            "<p class=\"th\">{} <small>in {share}</small></p>\n<ul class=\"tree\">",
            trees.what
        );
        node(out, &group.tree, column_bytes);
        put!(out, "</ul>");
    }
    let others: Vec<String> = trees
        .groups
        .iter()
        .skip(DRAWN_TREES)
        .take(NAMED_TREES)
        .map(|group| {
            format!(
                "<code>{}</code> in {}, {}",
                esc(&group.shape),
                counted(group.count, trees.noun),
                bytes(group.tree.bytes)
            )
        })
        .collect();
    let left = trees.groups.len().saturating_sub(DRAWN_TREES + NAMED_TREES);
    if !others.is_empty() {
        let more = if left > 0 {
            format!("; and {} more", number(left as u64))
        } else {
            String::new()
        };
        put!(
            out,
            "<p class=\"note\">Also {}{more}.</p>",
            others.join("; ")
        );
    }
}

fn node(out: &mut String, tree: &EncodingTree, column_bytes: u64) {
    let role = if tree.role.is_empty() {
        String::new()
    } else {
        format!("<em>{}:</em> ", tree.role)
    };
    let detail = if tree.detail.is_empty() {
        String::new()
    } else {
        format!(" <small>{}</small>", cut(&tree.detail, 120))
    };
    let line = format!(
        "<span class=\"tn\"><span class=\"chip {}\"></span>{role}<b>{}</b>{detail}</span><span class=\"num\">{} \
         <small>{}</small></span>",
        family(&tree.encoding).class,
        esc(&tree.encoding),
        bytes(tree.bytes),
        percent(tree.bytes, column_bytes)
    );
    if tree.children.is_empty() {
        put!(out, "<li><div class=\"tl\">{line}</div></li>");
        return;
    }
    put!(
        out,
        "<li><details open><summary class=\"tl\">{line}</summary><ul>"
    );
    for child in &tree.children {
        node(out, child, column_bytes);
    }
    put!(out, "</ul></details></li>");
}

fn block_table(out: &mut String, column: &Column, all: usize) {
    if all == 0 {
        return;
    }
    let shown = all.min(BLOCKS);
    let which = if shown < all {
        format!("The first {shown} of {} blocks", number(all as u64))
    } else {
        "Blocks".into()
    };
    put!(
        out,
        "<details class=\"more\"><summary>{which}</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Blocks of {}\"><table>\n<caption>Blocks of {}</caption>\n<thead><tr><th scope=\"col\" \
         class=\"num\">Row group</th><th scope=\"col\" class=\"num\">Block</th><th scope=\"col\" \
         class=\"num\">Values</th><th scope=\"col\" class=\"num\">NULLs</th><th scope=\"col\" \
         class=\"num\">Bytes</th><th \
         scope=\"col\">Smallest</th><th scope=\"col\">Largest</th></tr></thead>\n<tbody>",
        esc(&column.leaf.path),
        name(&column.leaf.path)
    );
    let chunks = &column.leaf.chunks;
    let blocks = chunks.iter().flat_map(|chunk| {
        chunk
            .blocks
            .iter()
            .enumerate()
            .map(|(at, block)| (chunk.row_group, at, block))
    });
    for (group, at, block) in blocks.take(shown) {
        let bound = |bound: &Option<String>| {
            bound
                .as_ref()
                .map_or_else(String::new, |text| cut(text, BOUND))
        };
        put!(
            out,
            "<tr><td class=\"num\">{group}</td><td class=\"num\">{at}</td><td class=\"num\">{}</td><td \
             class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td></tr>",
            number(block.values),
            number(block.nulls),
            bytes(block.bytes),
            bound(&block.min),
            bound(&block.max)
        );
    }
    put!(out, "</tbody>\n</table></div></details>");
}

fn sample(out: &mut String, report: &Report) {
    put!(
        out,
        "<section aria-labelledby=\"h-sample\">\n<h2 id=\"h-sample\">Some rows</h2>"
    );
    let Some(batch) = &report.sample.batch else {
        let why = if report.inspection.rows == 0 {
            "There are none."
        } else {
            "Left out."
        };
        put!(out, "<p class=\"note\">{why}</p>\n</section>");
        return;
    };
    let shown = batch.num_columns();
    if shown < report.fields {
        put!(
            out,
            "<p class=\"note\">The first {shown} of {}; <code>staffa head --columns</code> shows others.</p>",
            counted(report.fields as u64, "column")
        );
    }
    if shown > PRINTED {
        put!(
            out,
            "<p class=\"note print\">On paper the first {PRINTED} columns.</p>"
        );
    }
    put!(
        out,
        "<div class=\"scroll rows\" tabindex=\"0\" role=\"region\" aria-label=\"Some rows\"><table>\n<caption>The \
         first \
         rows and others from all over the table; long values are cut</caption>\n<thead><tr><th scope=\"col\" \
         class=\"num\">Row</th>"
    );
    let schema = batch.schema();
    let class = |column: usize| {
        if schema.field(column).data_type().is_numeric() {
            " class=\"num\""
        } else {
            ""
        }
    };
    for (column, field) in schema.fields().iter().enumerate() {
        let kind = cut(&field.data_type().to_string(), 24);
        put!(
            out,
            "<th scope=\"col\"{}>{} <small>{kind}</small></th>",
            class(column),
            cut(field.name(), CELL)
        );
    }
    put!(out, "</tr></thead>\n<tbody>");
    let options = FormatOptions::new()
        .with_display_error(true)
        .with_duration_format(DurationFormat::Pretty);
    let formatters: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).ok())
        .collect();
    for (at, row) in report.sample.rows.iter().enumerate() {
        out.push_str("<tr><th scope=\"row\" class=\"num\">");
        out.push_str(&number(*row));
        out.push_str("</th>");
        for (column, (array, formatter)) in batch.columns().iter().zip(&formatters).enumerate() {
            let cell = match formatter {
                _ if array.is_null(at) => "<i>NULL</i>".into(),
                Some(formatter) => cut(&formatter.value(at).to_string(), CELL),
                None => "<i>not shown</i>".into(),
            };
            let _ = write!(out, "<td{}>{cell}</td>", class(column));
        }
        put!(out, "</tr>");
    }
    put!(out, "</tbody>\n</table></div>\n</section>");
}

fn row_groups(out: &mut String, report: &Report) {
    let groups = report.row_groups();
    put!(
        out,
        "<section aria-labelledby=\"h-groups\">\n<h2 id=\"h-groups\">Row groups</h2>"
    );
    if groups.len() > GROUPS {
        put!(
            out,
            "<p class=\"note\">The first {GROUPS} of {}; <code>staffa inspect</code> lists all.</p>",
            counted(groups.len() as u64, "row group")
        );
    }
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Row groups\"><table>\n<caption>Row groups, \
         in the \
         order of the rows</caption>\n<thead><tr><th scope=\"col\" class=\"num\">Row group</th><th scope=\"col\" \
         class=\"num\">First row</th><th scope=\"col\" class=\"num\">Rows</th><th scope=\"col\" class=\"num\">At \
         byte</th><th scope=\"col\" class=\"num\">Bytes</th></tr></thead>\n<tbody>"
    );
    for (at, group) in groups.iter().take(GROUPS).enumerate() {
        put!(
            out,
            "<tr><td class=\"num\">{at}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td \
             class=\"num\">{}</td><td \
             class=\"num\">{}</td></tr>",
            number(group.first_row),
            number(group.rows),
            number(group.offset),
            bytes(group.bytes)
        );
    }
    put!(out, "</tbody>\n</table></div>\n</section>");
}
