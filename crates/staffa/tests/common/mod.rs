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

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use staffa::{File, Scan, WriteOptions};

#[allow(unused_imports)]
pub use self::arrays::{array, dictionary_of, field, flat_types, map_of, nested_types, runs_of};
#[allow(unused_imports)]
pub use self::encodings::encodings;

/// A small generator (`SplitMix64`), so that tests come out the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.next() % end as u64) as usize
        }
    }
}

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

/// Rows as text, so that list views, dictionaries and runs compare by value; floats by their bits.
pub fn rows(array: &ArrayRef) -> Vec<String> {
    (0..array.len())
        .map(|row| show(array.as_ref(), row))
        .collect()
}

pub fn show(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return "NULL".to_owned();
    }
    let all = |items: ArrayRef| format!("[{}]", rows(&items).join(", "));
    match array.data_type() {
        DataType::List(_) => all(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => all(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => all(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => all(Arc::new(array.as_map().value(row))),
        DataType::Struct(_) => {
            let fields: Vec<String> = array
                .as_struct()
                .columns()
                .iter()
                .map(|column| show(column.as_ref(), row))
                .collect();
            format!("({})", fields.join(", "))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            show(
                dictionary.values().as_ref(),
                dictionary.normalized_keys()[row],
            )
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => {
                let runs = array.as_run::<Int16Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
            DataType::Int32 => {
                let runs = array.as_run::<Int32Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
            _ => {
                let runs = array.as_run::<Int64Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
        },
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
        DataType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        DataType::Binary => format!("{:x?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:x?}", array.as_binary::<i64>().value(row)),
        DataType::BinaryView => format!("{:x?}", array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => format!("{:x?}", array.as_fixed_size_binary().value(row)),
        ty => {
            let width = ty.primitive_width().unwrap();
            let data = array.to_data();
            format!(
                "{:x?}",
                data.buffers()[0]
                    .slice_with_length((data.offset() + row) * width, width)
                    .as_slice()
            )
        }
    }
}
