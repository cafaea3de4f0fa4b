//! Reads some columns of the rows that match a filter; blocks without such rows are skipped.
//!
//! ```sh
//! cargo run -p staffa --example scan
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_schema::ArrowError;
use staffa::{File, Predicate, WriteOptions, col};

fn main() -> Result<(), Box<dyn Error>> {
    let file = File::from_bytes(table()?)?;

    // Both keep the same rows.
    let built = col("day").between(100, 109).and(col("city").eq("Oban"));
    let parsed: Predicate = "day between 100 and 109 and city = 'Oban'".parse()?;
    assert_eq!(
        built.to_string(),
        "day >= 100 and day <= 109 and city = 'Oban'"
    );

    let mut rows = 0;
    for batch in file.scan().columns(["sold"]).filter(built).reader()? {
        rows += batch?.num_rows();
    }
    println!("{rows} of {} rows", file.num_rows());
    assert_eq!(rows, 500);

    // What other libraries take is Arrow's `RecordBatchReader`.
    let reader = file.scan().columns(["sold"]).filter(parsed).into_reader()?;
    assert_eq!(sum(reader)?, 500 * 7);
    Ok(())
}

fn sum(reader: impl RecordBatchReader) -> Result<i64, ArrowError> {
    reader
        .map(|batch| {
            Ok(batch?
                .column(0)
                .as_primitive::<Int64Type>()
                .values()
                .iter()
                .sum::<i64>())
        })
        .sum()
}

/// A table in memory: 1,000 days of 100 rows.
fn table() -> Result<Vec<u8>, Box<dyn Error>> {
    let cities = ["Oban", "Tobermory"];
    let rows = 0..100_000_i64;
    let batch = RecordBatch::try_from_iter([
        (
            "day",
            Arc::new(Int64Array::from_iter_values(
                rows.clone().map(|row| row / 100),
            )) as ArrayRef,
        ),
        (
            "city",
            Arc::new(StringArray::from_iter_values(
                rows.clone().map(|row| cities[(row % 2) as usize]),
            )),
        ),
        (
            "sold",
            Arc::new(Int64Array::from_iter_values(rows.map(|_| 7))),
        ),
    ])?;
    Ok(staffa::to_bytes(
        batch.schema(),
        &[batch],
        WriteOptions::new(),
    )?)
}
