//! Everything that a reader can do with a file.

use std::ops::ControlFlow;

use arrow_array::{Array, BooleanArray, RecordBatch};
use staffa::{Compare, Error, File, Limits, Literal, Predicate, Result};

/// Far below the default ones, so that what goes beyond them is noticed.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.metadata_bytes = 1 << 20;
    limits.leaves = 1 << 10;
    limits.row_group_values = 1 << 16;
    limits.block_bytes = 16 << 20;
    limits
}

/// Opens a file, looks into it, reads it in every way and verifies it. Whether it is sound.
///
/// Panics where two ways of reading do not agree, or where an array is not a valid one.
pub fn exercise(bytes: Vec<u8>) -> Result<()> {
    let file = File::from_bytes_with(bytes.clone(), limits()).map_err(shown)?;
    let inspected = file.inspect().map_err(shown);
    let explained = file.explain().map_err(shown);
    if let Ok(columns) = &explained {
        let blocks = columns.iter().flat_map(|column| &column.blocks);
        blocks
            .flat_map(|block| &block.values)
            .for_each(|tree| drop(tree.to_string()));
    }
    let verified = file.verify(&mut |_| {}).map_err(shown);
    let scanned = drain(file.scan(), u64::MAX);
    let _ = drain(file.scan().string_views(true).batch_rows(70).offset(3), 500);
    let strings = file.schema().fields().iter().filter(|field| {
        let ty = field.data_type();
        ty.is_string() || ty.is_binary()
    });
    let _ = drain(
        file.scan()
            .dictionaries(strings.map(|field| field.name().clone()))
            .ordered(false),
        u64::MAX,
    );
    let flat = file
        .schema()
        .fields()
        .iter()
        .filter(|field| !field.data_type().is_nested());
    let _ = drain(
        file.scan().run_ends(flat.map(|field| field.name().clone())),
        u64::MAX,
    );
    filters(&file);
    aggregates(&file);
    if verified.is_ok() {
        assert!(
            inspected.is_ok() && explained.is_ok(),
            "verified, but cannot be looked into"
        );
        assert_eq!(
            scanned.as_ref().ok(),
            Some(&file.num_rows()),
            "verified, but cannot be read"
        );
    }
    if scanned.is_ok() {
        let mut limits = limits();
        limits.cache_decoded = true;
        let decoded = File::from_bytes_with(bytes, limits).expect("opened, but not again");
        points(&file, &decoded);
    }
    verified.and(scanned).map(drop)
}

/// Formats the error, which must not fail either.
fn shown(error: Error) -> Error {
    let _ = error.to_string();
    error
}

fn check(batch: &RecordBatch) {
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if let Err(error) = column.to_data().validate_full() {
            panic!("column {field} is not valid: {error}");
        }
    }
}

/// Reads about `most` rows at the most; the number of rows read.
fn drain(scan: staffa::Scan, most: u64) -> Result<u64> {
    let mut rows = 0;
    let read = scan.reader().map_err(shown)?.try_for_each(|batch| {
        let batch = match batch.map_err(shown) {
            Ok(batch) => batch,
            Err(error) => return ControlFlow::Break(Err(error)),
        };
        check(&batch);
        rows += batch.num_rows() as u64;
        if rows < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(Ok(()))
        }
    });
    match read {
        ControlFlow::Break(Err(error)) => Err(error),
        _ => Ok(rows),
    }
}

/// Every column, compared with whatever it can be compared with.
fn filters(file: &File) {
    let literals = [
        Literal::Bool(true),
        Literal::Int(11),
        Literal::Float(0.5),
        Literal::Text("Main Street 3".into()),
        Literal::Text("1970-01-01".into()),
        Literal::Text("00:00:05".into()),
    ];
    for field in file.schema().fields().iter().take(3) {
        let column = || field.name().clone();
        let compare = |literal: &Literal| Predicate::Compare {
            column: column(),
            op: Compare::Gt,
            literal: literal.clone(),
        };
        let null = Predicate::IsNull { column: column() };
        let text = "Main Street 3".to_owned();
        let like = Predicate::Like {
            column: column(),
            pattern: "M%n_S%".into(),
        };
        let starts = Predicate::StartsWith {
            column: column(),
            prefix: text,
        };
        let others = [null.clone(), Predicate::Not(Box::new(null)), like, starts];
        for predicate in literals.iter().map(compare).chain(others) {
            let _ = drain(file.scan().filter(predicate), u64::MAX);
        }
    }
}

/// What is to be known of every column.
fn aggregates(file: &File) {
    for field in file.schema().fields().iter().take(6) {
        let some = Predicate::Compare {
            column: field.name().clone(),
            op: Compare::Lt,
            literal: Literal::Int(11),
        };
        for which in [
            "rows", "count", "nulls", "min", "max", "sum", "distinct", "sorted",
        ] {
            let which = which.parse().expect("an aggregate");
            for filter in [None, Some(&some)] {
                let _ = file
                    .aggregate(&[(field.name(), which)], filter)
                    .map_err(shown)
                    .map(|found| check(&found));
            }
        }
    }
}

/// Rows by number, which must be those that a scan finds there, also where blocks are kept decoded.
fn points(file: &File, decoded: &File) {
    let rows = file.num_rows();
    let wanted: Vec<u64> = [rows.wrapping_sub(1), 0, rows / 2, 0]
        .into_iter()
        .filter(|row| *row < rows)
        .collect();
    let taken = file
        .take(&wanted)
        .read()
        .map_err(shown)
        .expect("scanned, but cannot be taken from");
    check(&taken);
    let again = decoded
        .take(&wanted)
        .read()
        .map_err(shown)
        .expect("taken, but not out of decoded blocks");
    for (taken, again) in taken.columns().iter().zip(again.columns()) {
        assert!(
            taken.to_data() == again.to_data(),
            "{taken:?}, but {again:?} out of decoded blocks"
        );
    }
    let most: BooleanArray = (0..rows).map(|row| Some(row % 3 != 1)).collect();
    let most = file
        .take(&most)
        .read()
        .map_err(shown)
        .expect("taken from, but not by a mask");
    check(&most);
    let some = file
        .take(rows / 3..rows)
        .read()
        .map_err(shown)
        .expect("taken from, but not by a range");
    check(&some);
    for (i, row) in wanted.into_iter().enumerate() {
        let found = scanned(file, row);
        let places = [
            (Some(i as u64), &taken),
            ((row % 3 != 1).then(|| row - (row + 1) / 3), &most),
            (row.checked_sub(rows / 3), &some),
        ];
        for (place, batch) in places {
            let Some(place) = place else { continue };
            for (found, column) in found.columns().iter().zip(batch.columns()) {
                let column = column.slice(place as usize, 1);
                assert!(
                    found.to_data() == column.to_data(),
                    "row {row} is {found:?}, but {column:?} at {place}"
                );
            }
        }
    }
}

/// A row as a scan finds it.
fn scanned(file: &File, row: u64) -> RecordBatch {
    let mut reader = file
        .scan()
        .offset(row)
        .limit(1)
        .reader()
        .expect("scanned, but not again");
    let found = reader
        .next()
        .expect("the row is there")
        .expect("scanned, but not from here");
    assert_eq!(found.num_rows(), 1);
    found
}
