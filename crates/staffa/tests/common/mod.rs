//! What the tests share: tables of every type, and their rows as text, which is how they are
//! compared.
#![allow(
    dead_code,
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod arrays;
mod encodings;
pub mod parts;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use staffa::{File, Scan, WriteOptions};

#[allow(unused_imports)]
pub use self::arrays::{
    Random, array, dictionary_of, field, flat_types, map_of, nested_types, rows, runs_of, show,
};
#[allow(unused_imports)]
pub use self::encodings::encodings;

/// Options with row groups and blocks of these numbers of rows.
pub fn sized(row_group_rows: usize, block_rows: usize) -> WriteOptions {
    let mut options = WriteOptions::default();
    (options.row_group_rows, options.block_rows) = (row_group_rows, block_rows);
    options
}

/// Through a file in memory.
pub fn write(batches: &[RecordBatch], options: WriteOptions) -> File {
    File::from_bytes(staffa::to_bytes(batches[0].schema(), batches, options).unwrap()).unwrap()
}

/// A table of columns called "a", "b" and so on, all nullable.
pub fn table(columns: Vec<ArrayRef>) -> RecordBatch {
    let name = |i: usize| char::from(b'a' + i as u8).to_string();
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(i, c)| Field::new(name(i), c.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(columns.first().map(Array::len));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).unwrap()
}

/// All batches of a scan, each a whole and valid array of the right type.
pub fn read(scan: Scan) -> Vec<RecordBatch> {
    let reader = scan.reader().unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
        check(batch);
    }
    batches
}

/// That the arrays hold what their types promise.
pub fn check(batch: &RecordBatch) {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        assert_eq!(
            (field.data_type(), column.len()),
            (column.data_type(), batch.num_rows())
        );
        column.to_data().validate_full().unwrap();
    }
}

/// Column `i` of all batches, a string per row.
pub fn column(batches: &[RecordBatch], i: usize) -> Vec<String> {
    batches
        .iter()
        .flat_map(|batch| rows(batch.column(i)))
        .collect()
}
