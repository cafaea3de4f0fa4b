//! Leave-one-out: what every encoding is worth on the open tables.

use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Table, files, options, scan};

pub fn run(folder: &str) -> Result<Value> {
    let names: Vec<&str> = staffa::encodings().iter().map(|e| e.name).collect();
    // Only by name or with the profile small: never chosen here.
    let never = ["plain", "bitmap", "zstd", "lz4", "brotli"];
    let mut variants = vec![""];
    variants.extend(names.into_iter().filter(|name| !never.contains(name)));
    variants.push("");
    let mut tables = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, usize::MAX)?;
        // The first run finds memory cold: it does not count.
        scan(&table.write(&options())?.0, 3)?;
        let mut measured = Vec::new();
        for name in &variants {
            let mut options = options();
            options
                .without
                .extend((!name.is_empty()).then(|| (*name).to_owned()));
            let (bytes, write) = table.write(&options)?;
            measured.push(json!({"without": name, "bytes": bytes.len(), "write": write, "scan": scan(&bytes, 3)?}));
        }
        eprintln!("{}", table.name);
        tables
            .push(json!({"table": table.name, "arrow": table.arrow_bytes(), "variants": measured}));
    }
    Ok(json!(tables))
}
