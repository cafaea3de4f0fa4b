//! The file: where it is, who wrote it, its row groups and metadata.

use super::source::Source;
use crate::report::facts;
use crate::terminal::text::{Align, counted, number, padded, printable, shortened};

/// Characters of a value of the metadata.
const VALUE: usize = 2000;
const LABEL: usize = 16;

/// The lines of the view.
pub(super) fn lines(source: &Source) -> Vec<String> {
    let inspection = match source.inspection() {
        Ok(inspection) => inspection,
        Err(error) => return vec![printable(error)],
    };
    let line = |label: &str, text: &str| {
        let text = shortened(&printable(text), VALUE);
        format!("{} {text}", padded(label, LABEL, Align::Left))
    };
    let mut lines: Vec<String> = facts(&source.about, inspection)
        .iter()
        .map(|(label, text)| line(label, text))
        .collect();
    lines.push(line("Rows", &number(inspection.rows)));
    let groups = counted(inspection.row_groups.len() as u64, "row group");
    lines.push(line("Row groups", &groups));
    let file = inspection.metadata.iter();
    let schema = source.file.schema().metadata().iter();
    for (title, entries) in [
        ("Metadata of the file", file.collect::<Vec<_>>()),
        ("Metadata of the schema", schema.collect()),
    ] {
        if !entries.is_empty() {
            lines.extend([String::new(), title.into()]);
            let entries = entries.into_iter();
            lines.extend(entries.map(|(key, value)| line(&printable(key), value)));
        }
    }
    lines
}
