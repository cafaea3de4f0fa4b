//! The tables under test.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Numbers, texts, times and NULLs: the types of CSV.
pub(crate) fn table(rows: usize) -> RecordBatch {
    let n = rows as i64;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..n))),
        (
            "price",
            Arc::new(
                (0..n)
                    .map(|i| (i % 7 != 3).then_some(i as f64 * 0.25))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "city",
            Arc::new(
                (0..n)
                    .map(|i| (i % 11 != 5).then(|| format!("city {}", i % 5)))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "open",
            Arc::new((0..n).map(|i| Some(i % 3 == 0)).collect::<BooleanArray>()),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(
                (0..rows as i32).map(|i| 20_000 + i / 10),
            )),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                (0..n).map(|i| 1_700_000_000_000_000 + i * 1001),
            )),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Lists and structs.
pub(crate) fn nested(rows: usize) -> RecordBatch {
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in 0..rows {
        for tag in 0..row % 4 {
            tags.values().append_value(format!("tag {tag}"));
        }
        tags.append(row % 9 != 4);
    }
    let x: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let point = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), x)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("tags", Arc::new(tags.finish())),
        ("point", Arc::new(point)),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

pub(crate) fn write_parquet(path: &Path, batches: &[RecordBatch]) {
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}

pub(crate) fn read_parquet(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap())
        .unwrap()
        .build()
        .unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}
