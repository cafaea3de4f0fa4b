//! The file: where it is, who wrote it, what it says of itself.

use crate::report::contents::Report;
use crate::report::facts::facts as facts_of;
use crate::report::html::{cut, put};
use crate::terminal::text::counted;

/// Characters of a fact, and of a key or value of the metadata.
const FACT: usize = 300;
const METADATA: usize = 1000;
/// Keys listed.
const MAX_KEYS: usize = 200;

pub(super) fn facts(out: &mut String, report: &Report) {
    let inspection = &report.inspection;
    put!(
        out,
        "<section aria-labelledby=\"h-file\">\n<h2 id=\"h-file\">File</h2>\n<dl class=\"facts\">"
    );
    for (label, text) in facts_of(&report.about, inspection) {
        put!(
            out,
            "<div><dt>{label}</dt><dd>{}</dd></div>",
            cut(&text, FACT)
        );
    }
    put!(out, "</dl>");
    let file = inspection.metadata.iter();
    let schema = report
        .schema_metadata
        .iter()
        .map(|(key, value)| (key, value));
    let entries: Vec<(&str, &String, &String)> = file
        .map(|(key, value)| ("file", key, value))
        .chain(schema.map(|(key, value)| ("schema", key, value)))
        .collect();
    metadata(out, &entries);
    put!(out, "</section>");
}

fn metadata(out: &mut String, entries: &[(&str, &String, &String)]) {
    if entries.is_empty() {
        put!(out, "<p class=\"note\">There is no metadata.</p>");
        return;
    }
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Metadata\"><table class=\"meta\">\n\
         <caption>Metadata: {}</caption>\n<thead><tr><th scope=\"col\">Key</th><th scope=\"col\">Of</th><th \
         scope=\"col\">Value</th></tr></thead>\n<tbody>",
        counted(entries.len() as u64, "key")
    );
    for (of, key, value) in entries.iter().take(MAX_KEYS) {
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{of}</td><td>{}</td></tr>",
            cut(key, METADATA),
            cut(value, METADATA)
        );
    }
    put!(out, "</tbody>\n</table></div>");
}
