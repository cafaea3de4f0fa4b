//! The facts about a file: where it is, who wrote it, what it says of itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use arrow_array::{ArrayRef, TimestampSecondArray};
use staffa::Inspection;

use crate::files::STANDARD;
use crate::print::cells;
use crate::terminal::text::bytes;

/// Widest date and time.
const TIME: usize = 60;

/// The file as the user knows it.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// The name of the file, without its folder.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// When it was last written: seconds since 1970.
    modified: Option<i64>,
    /// The format of the file, if it is shown as Staffa, and its bytes; None of a pipe.
    pub(crate) made_of: Option<(&'static str, Option<u64>)>,
}

impl About {
    pub(crate) fn new(path: &Path, made_of: Option<(&'static str, Option<u64>)>) -> Self {
        let name = if path == Path::new(STANDARD) {
            "standard input".as_ref()
        } else {
            path.file_name().unwrap_or("table.staffa".as_ref())
        };
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        let since_1970 = modified
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            name: name.to_string_lossy().into_owned(),
            path: path.to_path_buf(),
            modified: since_1970.map(|time| time.as_secs() as i64),
            made_of,
        }
    }
}

/// Labels and texts, which are not escaped.
pub(crate) fn facts(about: &About, inspection: &Inspection) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Path", about.path.to_string_lossy().into_owned())];
    match about.made_of {
        Some((format, size)) => {
            let size = size.map_or_else(String::new, |size| format!(", {}", bytes(size)));
            facts.push(("Format", format!("{format}{size}")));
            facts.push(("Size as Staffa", bytes(inspection.file_bytes)));
        }
        None => facts.push(("Size", bytes(inspection.file_bytes))),
    }
    if let Some(modified) = about.modified.and_then(time) {
        facts.push(("Modified", modified));
    }
    if about.made_of.is_none() {
        facts.push(("Written by", inspection.writer.clone()));
        facts.push(("Format version", inspection.format_version.to_string()));
        facts.extend(inspection.id.clone().map(|id| ("File id", id)));
    }
    let keys = inspection.sort_order.iter().map(ToString::to_string);
    let keys = keys.collect::<Vec<_>>().join(", ");
    facts.push(match keys.as_str() {
        "" => ("Sorted by", "no declared order".into()),
        _ => ("Sorted by", keys),
    });
    facts.push(("Footer", bytes(inspection.footer_bytes)));
    facts.push(("Column index", bytes(inspection.index_bytes)));
    facts
}

/// `2024-01-05 13:45:00 UTC`.
fn time(seconds: i64) -> Option<String> {
    let time: ArrayRef = Arc::new(TimestampSecondArray::from(vec![seconds]));
    let text = cells(&time, TIME).ok()?.pop().flatten()?;
    Some(format!("{} UTC", text.replacen('T', " ", 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        assert_eq!(
            time(1_704_462_300).as_deref(),
            Some("2024-01-05 13:45:00 UTC")
        );
    }
}
