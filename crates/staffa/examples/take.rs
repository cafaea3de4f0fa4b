//! Reads rows by number: a list in any order, a range, a mask.
//!
//! ```sh
//! cargo run -p staffa --example take
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use staffa::{Access, File, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let rows = 0..200_000_i64;
    let batch = RecordBatch::try_from_iter([
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef,
        ),
        (
            "square",
            Arc::new(Int64Array::from_iter_values(rows.map(|row| row * row))),
        ),
    ])?;
    // Blocks for reads of single rows.
    let options = WriteOptions::new().access(Access::Random);
    let file = File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], options)?)?;

    let taken = file.take(&[199_999, 3, 3]).columns(["square"]).read()?;
    let squares = taken.column(0).as_primitive::<Int64Type>();
    println!("{squares:?}");
    assert_eq!(squares.values(), &[39_999_600_001, 9, 9]);

    assert_eq!(file.take(10..20).read()?.num_rows(), 10);
    let mask: BooleanArray = (0..200_000).map(|row| Some(row % 1000 == 0)).collect();
    assert_eq!(file.take(&mask).read()?.num_rows(), 200);

    // A row that does not exist is an error that names it.
    match file.take(&[200_000]).read() {
        Ok(_) => Err("there is no row 200,000".into()),
        Err(error) => {
            println!("{error}");
            Ok(())
        }
    }
}
