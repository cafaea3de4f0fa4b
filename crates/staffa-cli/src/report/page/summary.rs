//! The figures of the file, and its size compared with Parquet.

use crate::report::contents::Report;
use crate::report::html::{cut, esc, percent, put};
use crate::report::parquet::ParquetSizes;
use crate::terminal::text::{bytes, counted, number, ratio, smaller};

pub(super) fn tiles(out: &mut String, report: &Report) {
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
            format!("blocks of {}", number(u64::from(inspection.block_rows()))),
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
            format!("header and footer {}", bytes(file.saturating_sub(columns))),
        ),
        ("Arrow in memory", bytes(decoded), String::new()),
        (
            "Smaller than Arrow",
            times(&ratio(decoded, file)),
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

pub(super) fn parquet_sizes(out: &mut String, report: &Report) {
    put!(
        out,
        "<section aria-labelledby=\"h-parquet\">\n<h2 id=\"h-parquet\">Size as Parquet</h2>"
    );
    let measured = match &report.parquet {
        ParquetSizes::Measured(measured) => measured,
        ParquetSizes::NotMeasured(why) => {
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
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sizes as Parquet\"><table \
         class=\"sizes\">\n<caption>The same table written by arrow-rs as Parquet with its \
         defaults</caption>\n<thead><tr><th scope=\"col\">Format</th><th scope=\"col\" \
         class=\"num\">Bytes</th><th scope=\"col\" class=\"num\">Compared with this file</th><th \
         aria-hidden=\"true\"></th></tr></thead>\n<tbody>"
    );
    put!(
        out,
        "<tr class=\"ours\"><th scope=\"row\">This file</th><td class=\"num\">{}</td><td></td><td \
         aria-hidden=\"true\">{}</td></tr>",
        bytes(ours),
        bar(ours, largest, "a")
    );
    for one in measured {
        let label = one.name.replacen("parquet", "Parquet", 1);
        match &one.bytes {
            Ok(size) => put!(
                out,
                "<tr><th scope=\"row\">{label}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td \
                 aria-hidden=\"true\">{}</td></tr>",
                bytes(*size),
                times(&smaller(ours, *size)),
                bar(*size, largest, "b")
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

fn bar(size: u64, largest: u64, class: &str) -> String {
    let share = size as f64 / largest.max(1) as f64 * 100.0;
    format!("<span class=\"bar {class}\" style=\"--p:{share:.2}\"></span>")
}

/// `6.7x` with a multiplication sign.
pub(super) fn times(text: &str) -> String {
    text.replacen('x', "×", 1)
}
