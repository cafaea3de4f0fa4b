//! BtrBlocks, table 2: types by volume and ratio. Bytes of every column; the script measures
//! Parquet.

use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Table, class, files, options};

pub fn run(folder: &str) -> Result<Value> {
    let mut columns = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, usize::MAX)?;
        let (bytes, _) = table.write(&options())?;
        let explained = staffa::File::from_bytes(bytes)?.explain()?;
        for (i, field) in table.schema.fields().iter().enumerate() {
            let arrays = table.batches.iter().map(|batch| batch.column(i).to_data());
            let arrow: usize = arrays
                .map(|data| data.get_slice_memory_size().unwrap_or(0))
                .sum();
            let own = explained.iter().filter(|leaf| leaf.column == *field.name());
            let bytes: u64 = own.map(|leaf| leaf.bytes).sum();
            columns.push(json!({"table": table.name, "column": field.name(), "class": class(field.data_type()),
                "arrow": arrow, "staffa": bytes}));
        }
        eprintln!("{}", table.name);
    }
    Ok(json!(columns))
}
