//! What a file says of itself, without reading a block: schema, metadata, order, statistics; then
//! aggregates, and how each column is encoded.
//!
//! ```sh
//! cargo run -p staffa --example metadata
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use staffa::{Aggregate, File, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let rows = 0..50_000_i64;
    let names = rows
        .clone()
        .map(|row| (row % 10 > 0).then(|| format!("name {}", row % 100)));
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows)) as ArrayRef,
        ),
        ("name", Arc::new(names.collect::<StringArray>())),
    ])?;
    let options = WriteOptions::new()
        .metadata("source", "an example")
        .sort_order(["id".parse()?]);
    let file = File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], options)?)?;

    println!("{} rows, {} bytes", file.num_rows(), file.nbytes());
    println!("{}", file.schema());
    assert_eq!(file.metadata()?["source"], b"an example");
    assert_eq!(file.sort_order()?[0].column, "id");

    for leaf in file.statistics()? {
        println!(
            "{}: {:?} NULLs, from {:?} to {:?}, about {:?} distinct",
            leaf.path, leaf.nulls, leaf.min, leaf.max, leaf.distinct
        );
    }

    let wanted = [
        ("id".to_owned(), Aggregate::Max),
        ("name".to_owned(), Aggregate::Nulls),
    ];
    println!("{:?}", file.aggregate(&wanted, None)?);

    let explained = file.explain()?;
    for column in &explained {
        println!("{}: {} bytes", column.path, column.bytes);
    }
    assert_eq!(explained.len(), 2);
    // Reads every block and compares checksums, statistics and the order.
    assert_eq!(file.verify(&mut |_| ())?.rows, 50_000);
    Ok(())
}
