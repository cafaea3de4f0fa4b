//! Writes a table to a file, batch by batch.
//!
//! ```sh
//! cargo run -p staffa --example write
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use staffa::{Profile, WriteOptions, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("trips.staffa");

    let options = WriteOptions::new()
        .profile(Profile::Balanced)
        .column_profile("city", Profile::Small)
        .sort_order(["id".parse()?])
        .metadata("source", "an example");
    let mut writer = Writer::create(&path, trips(0..0)?.schema(), options)?;
    for start in (0..100_000).step_by(25_000) {
        writer.write(&trips(start..start + 25_000)?)?;
    }
    // Until here the rows are in a temporary file; now it gets its name.
    let written = writer.finish()?;

    println!(
        "{} rows, {} bytes as Arrow, {} bytes as Staffa",
        written.rows, written.arrow_bytes, written.file_bytes
    );
    assert_eq!(written.rows, 100_000);
    assert!(written.file_bytes < written.arrow_bytes / 10);
    Ok(())
}

fn trips(ids: std::ops::Range<i64>) -> Result<RecordBatch, Box<dyn Error>> {
    let cities = ["Oban", "Tobermory", "Tiree"];
    let city = |id: i64| cities[(id % 3) as usize];
    let fare = |id: i64| (id % 400) as f64 / 4.0;
    Ok(RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int64Array::from_iter_values(ids.clone())) as ArrayRef,
        ),
        (
            "city",
            Arc::new(StringArray::from_iter_values(ids.clone().map(city))),
        ),
        (
            "fare",
            Arc::new(Float64Array::from_iter_values(ids.map(fare))),
        ),
    ])?)
}
