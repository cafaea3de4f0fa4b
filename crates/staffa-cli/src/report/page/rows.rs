//! Some rows, and the row groups.

use arrow_array::RecordBatch;

use crate::print::cells;
use crate::report::contents::{Report, SAMPLE_PAGE};
use crate::report::html::{cut, name, put};
use crate::terminal::text::{bytes, counted, number};

/// Characters of a cell.
const CELL: usize = 60;
/// Columns of a printed page; as in `report.css`.
const PRINTED: usize = 10;
/// Row groups listed.
const MAX_GROUPS: usize = 100;

pub(super) fn sample(out: &mut String, report: &Report) {
    put!(
        out,
        "<section aria-labelledby=\"h-sample\">\n<h2 id=\"h-sample\">Some rows</h2>"
    );
    let Some(batch) = &report.sample.batch else {
        let why = if report.inspection.rows == 0 {
            "There are none."
        } else {
            "Not shown."
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
            "<p class=\"note print\">Printed: the first {PRINTED} columns.</p>"
        );
    }
    sample_table(out, batch, &report.sample.rows);
    put!(out, "</section>");
}

fn sample_table(out: &mut String, batch: &RecordBatch, rows: &[u64]) {
    put!(
        out,
        "<div class=\"scroll rows\" tabindex=\"0\" role=\"region\" aria-label=\"Some rows\"><table id=\"rows\">\n<caption>The first \
         {SAMPLE_PAGE} rows, and others from the whole table; long values are cut</caption>\n<thead><tr><th scope=\"col\" \
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
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| cells(column, CELL).ok())
        .collect();
    for (index, row) in rows.iter().enumerate() {
        out.push_str("<tr><th scope=\"row\" class=\"num\">");
        out.push_str(&number(*row));
        out.push_str("</th>");
        for (column, cells) in columns.iter().enumerate() {
            let cell = match cells.as_ref().map(|cells| cells.get(index)) {
                Some(Some(Some(text))) => name(text),
                Some(_) => "<i>NULL</i>".into(),
                None => "<i>not shown</i>".into(),
            };
            put!(out, "<td{}>{cell}</td>", class(column));
        }
        put!(out, "</tr>");
    }
    put!(
        out,
        "</tbody>\n</table></div>\n<nav class=\"pager js\" hidden aria-label=\"Pages of rows\" \
         data-size=\"{SAMPLE_PAGE}\" data-of=\"rows\"></nav>"
    );
}

pub(super) fn row_groups(out: &mut String, report: &Report) {
    let groups = report.row_groups();
    put!(
        out,
        "<section aria-labelledby=\"h-groups\">\n<h2 id=\"h-groups\">Row groups</h2>"
    );
    if groups.len() > MAX_GROUPS {
        put!(
            out,
            "<p class=\"note\">The first {MAX_GROUPS} of {}; <code>staffa inspect</code> lists all.</p>",
            counted(groups.len() as u64, "row group")
        );
    }
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Row groups\"><table>\n<caption>Row groups, \
         in the order of the rows</caption>\n<thead><tr><th scope=\"col\" class=\"num\">Row group</th><th scope=\"col\" \
         class=\"num\">First row</th><th scope=\"col\" class=\"num\">Rows</th><th scope=\"col\" class=\"num\">At \
         byte</th><th scope=\"col\" class=\"num\">Bytes</th></tr></thead>\n<tbody>"
    );
    for (index, group) in groups.iter().take(MAX_GROUPS).enumerate() {
        put!(
            out,
            "<tr><td class=\"num\">{index}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td \
             class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            number(group.first_row),
            number(group.rows),
            number(group.offset),
            bytes(group.bytes)
        );
    }
    put!(out, "</tbody>\n</table></div>\n</section>");
}
