//! The page, from top to bottom. Long parts are folded; with many columns the details are text until
//! they are opened.

mod columns;
mod details;
mod distribution;
mod file;
mod rows;
mod summary;
mod trees;

use super::contents::Report;
use super::html::{esc, name, put};
use super::treemap;
use crate::terminal::text::bytes;

pub(crate) fn html_page(report: &Report) -> String {
    let mut out = String::with_capacity(1 << 18);
    head(&mut out, report);
    summary::tiles(&mut out, report);
    columns::list(&mut out, report);
    rows::sample(&mut out, report);
    put!(
        out,
        "<section aria-labelledby=\"h-bytes\">\n<h2 id=\"h-bytes\">Bytes</h2>"
    );
    put!(
        out,
        "<p class=\"lead\">One rectangle per column, divided by encoding; areas are proportional to bytes. \
         The colour is that of the encoding that holds the bytes, the last one named.</p>"
    );
    treemap::draw(&mut out, &report.columns);
    put!(out, "</section>");
    summary::parquet_sizes(&mut out, report);
    file::facts(&mut out, report);
    rows::row_groups(&mut out, report);
    put!(
        out,
        "</main>\n<footer><p>Made by <code>staffa report</code> {}. kB, MB and GB are powers of 1000.</p></footer>\n\
         <script>{}</script>\n</body>\n</html>",
        env!("CARGO_PKG_VERSION"),
        include_str!("../report.js")
    );
    out
}

fn head(out: &mut String, report: &Report) {
    put!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}: Staffa report</title>\n<style>{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>",
        esc(&report.about.name),
        include_str!("../report.css")
    );
    put!(
        out,
        "<header>\n<div><p class=\"kicker\">Staffa report{}</p>\n<h1>{}</h1></div>\n<button type=\"button\" id=\"theme\" \
         class=\"js\" hidden>Dark</button>\n</header>\n<nav aria-label=\"Sections\" class=\"toc\"><a \
         href=\"#h-columns\">Columns</a> <a href=\"#h-sample\">Rows</a> <a href=\"#h-bytes\">Bytes</a> <a \
         href=\"#h-parquet\">Parquet</a> <a href=\"#h-file\">File</a> <a href=\"#h-groups\">Row groups</a></nav>\n<main id=\"main\" tabindex=\"-1\">",
        made_of(report),
        name(&report.about.name)
    );
}

/// What another table would be as Staffa.
fn made_of(report: &Report) -> String {
    let Some((format, size)) = report.about.made_of else {
        return String::new();
    };
    let of = size.map_or_else(String::new, |size| format!(" of {}", bytes(size)));
    format!(": {format}{of} as Staffa")
}
