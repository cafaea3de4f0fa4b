//! Data Formats in Analytical DBMSs, figure 28: the rows of a selection vector out of a column.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch};
use arrow_cast::cast;
use arrow_ord::cmp::lt;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
    RowFilter, RowSelection,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value, json};
use staffa::Predicate;

use crate::Result;
use crate::tables::{Random, Run, Table, medians, options};

/// Of lineitem: an integer, a double, few strings, and comments.
const COLUMNS: [(&str, DataType); 4] = [
    ("l_partkey", DataType::Int32),
    ("l_extendedprice", DataType::Float64),
    ("l_shipmode", DataType::Utf8),
    ("l_comment", DataType::Utf8),
];
/// Rows selected, of a million.
const SELECTED: [i32; 9] = [
    100, 1_000, 10_000, 30_000, 100_000, 300_000, 500_000, 800_000, 1_000_000,
];
const MILLION: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// A way to the rows selected.
type Selecting<'a> = Box<dyn Fn() -> Result<Vec<Arc<dyn Array>>> + 'a>;

pub fn run(folder: &str, rows: usize) -> Result<Value> {
    let lineitem = Table::read(&Path::new(folder).join("lineitem.parquet"), rows)?;
    let mut out = Vec::new();
    for (name, ty) in COLUMNS {
        let arrays = lineitem
            .batches
            .iter()
            .filter_map(|batch| batch.column_by_name(name));
        let arrays: Vec<&dyn Array> = arrays.map(|array| &**array).collect();
        out.push(column(name, cast(&concat(&arrays)?, &ty)?)?);
    }
    Ok(json!(out))
}

/// A column `c` beside random numbers `x`: below `k`, `k` of a million rows are selected.
fn column(name: &str, array: Arc<dyn Array>) -> Result<Value> {
    let mut random = Random(1);
    let numbers =
        Int32Array::from_iter_values((0..array.len()).map(|_| random.below(MILLION) as i32));
    let x: Arc<dyn Array> = Arc::new(numbers.clone());
    let batch = RecordBatch::try_from_iter([("x", x.clone()), ("c", array.clone())])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch.clone()],
    };
    let bytes = Bytes::from(table.write(&options())?.0);
    let sizes = staffa::File::from_bytes(bytes.clone())?.explain()?;
    let zstd = written(&batch, Compression::ZSTD(ZstdLevel::try_new(3)?))?;
    let plain = written(&batch, Compression::UNCOMPRESSED)?;
    // One keeps its blocks, which takes leave there; the other only scans.
    let (kept, scanned) = (
        staffa::File::from_bytes(bytes.clone())?,
        staffa::File::from_bytes(bytes.clone())?,
    );
    let wanted = ["c".to_owned()];
    kept.take(&(0..array.len() as u64).collect::<Vec<_>>())
        .columns(&wanted)
        .read()?;

    let mut points = Vec::new();
    for k in SELECTED {
        eprintln!("{name} {k}");
        let mask = lt(&numbers, &Int32Array::new_scalar(k))?;
        let expected = filter(&array, &mask)?;
        let rows: Vec<u64> = mask.values().set_indices().map(|row| row as u64).collect();
        let selection = &RowSelection::from_filters(std::slice::from_ref(&mask));
        let predicate: Predicate = format!("x < {k}").parse()?;
        let taken =
            |file: &staffa::File| Ok(file.take(&rows).columns(&wanted).read()?.columns().to_vec());
        let mut ways: Vec<(String, Selecting<'_>)> = Vec::new();
        ways.push(("take".to_owned(), Box::new(|| taken(&kept))));
        ways.push((
            "take, opened anew".to_owned(),
            Box::new(|| taken(&staffa::File::from_bytes(bytes.clone())?)),
        ));
        ways.push((
            "filter".to_owned(),
            Box::new(|| {
                let scan = scanned.scan().columns(["c"]).filter(predicate.clone());
                scan.reader()?
                    .map(|batch| Ok(batch?.column(0).clone()))
                    .collect()
            }),
        ));
        ways.push((
            "decode all, then filter".to_owned(),
            Box::new(|| {
                let batches = scanned.scan().reader()?;
                batches
                    .map(|batch| batch.map_err(Into::into).and_then(|batch| below(&batch, k)))
                    .collect()
            }),
        ));
        ways.push((
            "Arrow in memory".to_owned(),
            Box::new(|| Ok(vec![below(&batch, k)?])),
        ));
        for (label, (bytes, metadata)) in
            [("Parquet zstd", &zstd), ("Parquet uncompressed", &plain)]
        {
            let reader = move || {
                let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
                    bytes.clone(),
                    metadata.clone(),
                );
                let mask = |column| ProjectionMask::columns(reader.parquet_schema(), [column]);
                let (c, x) = (mask("c"), mask("x"));
                (reader.with_batch_size(1 << 16).with_projection(c), x)
            };
            ways.push((
                format!("{label}, selection"),
                Box::new(move || {
                    let batches = reader().0.with_row_selection(selection.clone()).build()?;
                    batches.map(|batch| Ok(batch?.column(0).clone())).collect()
                }),
            ));
            ways.push((
                format!("{label}, filter"),
                Box::new(move || {
                    let (reader, x) = reader();
                    let test =
                        move |batch: RecordBatch| lt(batch.column(0), &Int32Array::new_scalar(k));
                    let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(x, test))]);
                    let batches = reader.with_row_filter(filter).build()?;
                    batches.map(|batch| Ok(batch?.column(0).clone())).collect()
                }),
            ));
        }
        for (label, way) in &ways {
            let arrays = way()?;
            let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
            assert_eq!(concat(&arrays)?.to_data(), expected.to_data(), "{label}");
        }
        let runs: Vec<Run<'_>> = ways
            .iter()
            .map(|(_, way)| Box::new(|| way().map(drop)) as Run<'_>)
            .collect();
        let seconds = medians(ROUNDS, &runs)?.into_iter().map(Value::from);
        let seconds: Map<String, Value> = ways
            .iter()
            .map(|(label, _)| label.clone())
            .zip(seconds)
            .collect();
        points.push(json!({"selected": f64::from(k) / MILLION as f64, "rows": rows.len(), "seconds": seconds}));
    }
    let size = |path: &str| {
        sizes
            .iter()
            .filter(|leaf| leaf.path == path)
            .map(|leaf| leaf.bytes)
            .sum::<u64>()
    };
    let parquet = |(_, metadata): &(Bytes, ArrowReaderMetadata)| {
        let groups = metadata.metadata().row_groups().iter();
        groups
            .map(|group| group.column(1).compressed_size())
            .sum::<i64>()
    };
    Ok(
        json!({"column": name, "type": array.data_type().to_string(), "rows": array.len(),
        "arrow": array.to_data().get_slice_memory_size()?, "bytes": size("c"),
        "parquet zstd": parquet(&zstd), "parquet": parquet(&plain), "points": points}),
    )
}

/// By Arrow's kernels: `c` where `x` is below `k`.
fn below(batch: &RecordBatch, k: i32) -> Result<Arc<dyn Array>> {
    let mask: BooleanArray = lt(
        batch.column(0).as_primitive::<Int32Type>(),
        &Int32Array::new_scalar(k),
    )?;
    Ok(filter(batch.column(1), &mask)?)
}

/// As Parquet, with a page index, and opened.
fn written(batch: &RecordBatch, compression: Compression) -> Result<(Bytes, ArrowReaderMetadata)> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.close()?;
    let bytes = Bytes::from(out);
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = ArrowReaderMetadata::load(&bytes, options)?;
    Ok((bytes, metadata))
}
