//! Super-Scalar RAM-CPU Cache Compression, table 3: query 6 of TPC-H over decoded vectors, and over
//! decoded row groups.

use std::path::Path;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use bytes::Bytes;
use serde_json::{Value, json};
use staffa::testing::bench::OpenColumn;
use staffa_kernels::VECTOR;

use crate::Result;
use crate::tables::{Run, Table, medians, options};

/// Seconds by rows that are decoded at once.
pub fn run(tpch: &str) -> Result<Value> {
    eprintln!("query 6");
    let names = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];
    let table = Table::read_columns(
        &Path::new(tpch).join("lineitem.parquet"),
        &names,
        usize::MAX,
    )?;
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for name in names {
        let only = table.only(name)?.ok_or(name)?;
        let arrays: Vec<&dyn Array> = only
            .batches
            .iter()
            .map(|batch| &**batch.column(0))
            .collect();
        let ty = if name == "l_shipdate" {
            DataType::Int32
        } else {
            DataType::Float64
        };
        columns.push((name, cast(&concat(&arrays)?, &ty)?));
    }
    drop(table);
    let batch = RecordBatch::try_from_iter(columns)?;
    let rows = batch.num_rows();
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let file = staffa::File::from_bytes(Bytes::from(table.write(&options())?.0))?;
    let explained = file.explain()?;
    let bytes: u64 = explained.iter().map(|leaf| leaf.bytes).sum();
    let open = || {
        names
            .iter()
            .map(|name| Ok(OpenColumn::new(&file, name)?))
            .collect::<Result<Vec<_>>>()
    };
    let opened = std::cell::RefCell::new(open()?);
    let lens = opened.borrow()[0].lens();
    let group = 1 << 20;
    let memory = std::cell::RefCell::new((vec![0u32; rows], vec![0u64; 3 * rows]));
    let by = |at_once: usize| -> Result<f64> {
        let (mut columns, mut memory) = (opened.borrow_mut(), memory.borrow_mut());
        let (dates, others) = &mut *memory;
        let mut words = others.chunks_mut(rows);
        let [a, b, c] = [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
        let (mut revenue, mut filled) = (0.0, 0);
        for (i, len) in lens.iter().enumerate() {
            let pieces = if at_once == VECTOR {
                len.div_ceil(VECTOR)
            } else {
                1
            };
            for v in 0..pieces {
                let n = if at_once == VECTOR {
                    VECTOR.min(len - v * VECTOR)
                } else {
                    *len
                };
                let to = filled..filled + n;
                if at_once == VECTOR {
                    columns[0].vector(i, v, &mut dates[to.clone()])?;
                    columns[1].vector(i, v, &mut a[to.clone()])?;
                    columns[2].vector(i, v, &mut b[to.clone()])?;
                    columns[3].vector(i, v, &mut c[to])?;
                } else {
                    columns[0].words(i, &mut dates[to.clone()])?;
                    columns[1].words(i, &mut a[to.clone()])?;
                    columns[2].words(i, &mut b[to.clone()])?;
                    columns[3].words(i, &mut c[to])?;
                }
                filled += n;
                if filled >= at_once || (v + 1 == pieces && i + 1 == lens.len()) {
                    revenue += earned(&dates[..filled], &a[..filled], &b[..filled], &c[..filled]);
                    filled = 0;
                }
            }
        }
        Ok(revenue)
    };
    let batch = &table.batches[0];
    let float = |name: &str| -> Result<Vec<u64>> {
        let array = batch.column_by_name(name).ok_or("no column")?;
        let array = array
            .as_any()
            .downcast_ref::<Float64Array>()
            .ok_or("doubles expected")?;
        Ok(array.values().iter().map(|value| value.to_bits()).collect())
    };
    let dates = batch
        .column(0)
        .as_any()
        .downcast_ref::<arrow_array::Int32Array>()
        .ok_or("days expected")?;
    let dates: Vec<u32> = dates
        .values()
        .iter()
        .map(|day| day.cast_unsigned())
        .collect();
    let (discount, quantity, price) = (float(names[1])?, float(names[2])?, float(names[3])?);
    let expected = earned(&dates, &discount, &quantity, &price);
    let close = |revenue: f64| {
        assert!(
            (revenue / expected - 1.0).abs() < 1e-9,
            "{revenue} for {expected}"
        )
    };
    let sizes = [VECTOR, 1 << 16, group, rows];
    let mut runs: Vec<Run<'_>> = Vec::new();
    for size in &sizes {
        runs.push(Box::new(|| {
            close(by(*size)?);
            Ok(())
        }));
    }
    runs.push(Box::new(|| {
        close(earned(
            std::hint::black_box(&dates),
            &discount,
            &quantity,
            &price,
        ));
        Ok(())
    }));
    let seconds = medians(5, &runs)?;
    Ok(
        json!({"table rows": rows, "bytes": bytes, "output": rows * 28, "rows": sizes, "seconds": seconds}),
    )
}

/// Revenue of 1994 at discounts of 5 to 7% and quantities below 24.
fn earned(dates: &[u32], discounts: &[u64], quantities: &[u64], prices: &[u64]) -> f64 {
    let rows = dates.iter().zip(discounts).zip(quantities).zip(prices);
    // Four sums: one would wait for itself.
    let mut sums = [0.0; 4];
    for (i, (((day, discount), quantity), price)) in rows.enumerate() {
        let (discount, quantity, price) = (
            f64::from_bits(*discount),
            f64::from_bits(*quantity),
            f64::from_bits(*price),
        );
        let wanted =
            (8766..9131).contains(day) & (0.0499..0.0701).contains(&discount) & (quantity < 24.0);
        sums[i % 4] += if wanted { discount * price } else { 0.0 };
    }
    sums.iter().sum()
}
