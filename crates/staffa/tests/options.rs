//! Options of single columns: profiles, expected access, bounds on the error.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field};
use common::{Random, column, field, read, rows, sized, table, write};
use staffa::{Access, File, Profile, WriteOptions};

fn encodings_of(file: &File, path: &str) -> Vec<String> {
    let all = file.explain().unwrap();
    let column = all.iter().find(|column| column.path == path).unwrap();
    column
        .blocks
        .iter()
        .filter_map(|block| block.values.as_ref())
        .map(ToString::to_string)
        .collect()
}

fn bounded(bounds: &[(&str, f64)]) -> WriteOptions {
    let mut options = sized(3000, 1024);
    options.max_error = bounds
        .iter()
        .map(|(path, bound)| ((*path).to_owned(), *bound))
        .collect();
    options
}

const EDGES: [f64; 10] = [
    -0.0,
    0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e300,
    -1e300,
    5e-324,
    -1e-9,
    f64::MAX,
];

/// Floats beside others, in a list and in a struct.
struct Floats {
    doubles: Vec<Option<f64>>,
    singles: Vec<f32>,
    batch: RecordBatch,
}

impl Floats {
    fn new() -> Self {
        let mut random = Random(7);
        let mut noise = move || random.next() as f64 / u64::MAX as f64 * 4.0 - 2.0;
        let doubles = (0..4096).map(|i| (i % 9 != 0).then(&mut noise));
        let mut doubles: Vec<Option<f64>> = doubles.collect();
        doubles[100..100 + EDGES.len()].copy_from_slice(&EDGES.map(Some));
        let singles = (0..4096 * 3).map(|i| EDGES.get(i).map_or_else(&mut noise, |edge| *edge));
        let singles: Vec<f32> = singles.map(|single| single as f32).collect();
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let items = Arc::new(Float32Array::from(singles.clone()));
        let lists = FixedSizeListArray::new(item, 3, items, None);
        let column: ArrayRef = Arc::new(Float64Array::from(doubles.clone()));
        let texts = (0..4096).map(|i| (i % 7).to_string());
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let structs = StructArray::from(vec![
            (field("x", DataType::Float64), column.clone()),
            (field("n", DataType::Utf8), texts),
        ]);
        let columns = vec![column.clone(), column, Arc::new(lists), Arc::new(structs)];
        Self {
            doubles,
            singles,
            batch: table(columns),
        }
    }
}

/// NaN, infinities and zeros are kept to the bit, others within the bound.
fn check_float(value: f64, given: f64, bound: f64) {
    if !given.is_finite() || given == 0.0 {
        assert_eq!(value.to_bits(), given.to_bits());
    } else {
        assert!((value - given).abs() <= bound, "{value} for {given}");
    }
}

#[test]
fn floats_are_within_their_bound_and_all_else_is_exact() {
    let Floats {
        doubles,
        singles,
        batch,
    } = Floats::new();
    for (wide, narrow) in [(0.001, 0.01), (0.4, 1e-30), (1e-300, 1e30)] {
        let bounds = bounded(&[("a", wide), ("c", narrow), ("d", wide)]);
        let file = write(std::slice::from_ref(&batch), bounds);
        let found = read(file.scan());
        let found = arrow_select::concat::concat_batches(&found[0].schema(), &found).unwrap();
        assert_eq!(rows(found.column(1)), rows(batch.column(1)));
        assert_eq!(
            rows(found.column(3).as_struct().column(1)),
            rows(batch.column(3).as_struct().column(1))
        );
        for column in [found.column(0), found.column(3).as_struct().column(0)] {
            let column = column.as_primitive::<Float64Type>();
            for (value, given) in column.iter().zip(&doubles) {
                assert_eq!(value.is_some(), given.is_some());
                let both = value.zip(*given);
                both.iter()
                    .for_each(|(value, given)| check_float(*value, *given, wide));
            }
        }
        let items = found.column(2).as_fixed_size_list().values();
        let items = items.as_primitive::<Float32Type>().values();
        for (value, given) in items.iter().zip(&singles) {
            check_float((*value).into(), (*given).into(), narrow);
        }
    }
}

#[test]
fn bounds_are_said_and_kept() {
    let batch = Floats::new().batch;
    let bounds = bounded(&[("a", 0.001), ("c", 0.01), ("d", 0.001)]);
    let file = write(std::slice::from_ref(&batch), bounds);
    let said = |i: usize| {
        let metadata = file.schema().field(i).metadata();
        metadata.get("staffa.max_error").map(|s| s.parse().unwrap())
    };
    assert_eq!(
        [said(0), said(1), said(2), said(3)],
        [Some(0.001), None, Some(0.01), Some(0.001)]
    );
    // Written again as it is, nothing changes, and what is known of it stays.
    let found = read(file.scan());
    let again = write(&found, sized(5000, 2048));
    assert_eq!(again.schema(), file.schema());
    assert_eq!(column(&read(again.scan()), 0), column(&found, 0));
    let file = write(&[batch], bounded(&[("a", 0.001), ("c[]", 0.001)]));
    for path in ["a", "c[]"] {
        let trees = encodings_of(&file, path);
        assert!(
            trees.iter().all(|tree| tree.contains("fixed_point")),
            "{path}: {trees:?}"
        );
    }
}

#[test]
fn bounds_that_make_no_sense_are_refused() {
    let halves =
        DataType::Struct(vec![field("x", DataType::Float64), field("h", DataType::Float16)].into());
    let both =
        DataType::Struct(vec![field("x", DataType::Float64), field("y", DataType::Float32)].into());
    let fields = [
        ("f", DataType::Float64),
        ("n", DataType::Int64),
        ("halves", halves),
        ("both", both),
    ];
    let schema = Arc::new(arrow_schema::Schema::new(
        fields
            .into_iter()
            .map(|(name, ty)| Field::new(name, ty, true))
            .collect::<Vec<_>>(),
    ));
    for (path, bound, expected) in [
        (
            "f",
            0.0,
            "column \"f\": a bound on the error must be a positive number, found 0",
        ),
        ("f", -1.0, "found -1"),
        ("f", f64::NAN, "found NaN"),
        ("f", f64::INFINITY, "found inf"),
        ("g", 0.1, "no column is called \"g\""),
        (
            "n",
            0.1,
            "column \"n\": a bound on the error is for floats of 32 and 64 bits",
        ),
        ("halves", 0.1, "floats of 32 and 64 bits"),
        (
            "both.x",
            0.1,
            "is for all floats of a column: name \"both\"",
        ),
    ] {
        let message = staffa::to_bytes(schema.clone(), &[], bounded(&[(path, bound)]))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(expected),
            "{expected:?} expected in {message:?}"
        );
    }
    assert!(staffa::to_bytes(schema, &[], bounded(&[("both", 0.1), ("f", 1.0)])).is_ok());
}

#[test]
fn where_single_rows_are_read_repeats_must_halve_a_column() {
    let mut random = Random(3);
    // Lists that come again, of numbers of 40 bits: `fresh` of `all` lists are new ones.
    let mut lists = |fresh: usize, all: usize| -> ArrayRef {
        let mut words: Vec<i64> = Vec::new();
        let mut known: Vec<Vec<i64>> = Vec::new();
        while words.len() < 60_000 {
            let new = known.len() < 4 || random.below(all) < fresh;
            if new {
                known.push((0..100).map(|_| random.below(1 << 40) as i64).collect());
            }
            let list = random.below(known.len());
            words.extend(if new {
                known.last().unwrap()
            } else {
                &known[list]
            });
        }
        Arc::new(Int64Array::from(words))
    };
    let batch = table(vec![lists(1, 60), lists(11, 20)]);
    let uses = |access: Access, path: &str| {
        let mut options = WriteOptions::default();
        options.access = access;
        // Codes of repeated lists would be repeats that more than halve the codes.
        options.without = vec!["dictionary".into()];
        let file = write(std::slice::from_ref(&batch), options);
        let trees = encodings_of(&file, path);
        for i in 0..2 {
            assert_eq!(column(&read(file.scan()), i), rows(batch.column(i)));
        }
        (trees.iter().any(|tree| tree.contains("repeat")), trees)
    };
    for (access, path, expected) in [
        (Access::Scan, "a", true),
        (Access::Scan, "b", true),
        (Access::Random, "a", true),
        (Access::Random, "b", false),
    ] {
        let (found, trees) = uses(access, path);
        assert_eq!(found, expected, "{access} {path} {trees:?}");
    }
}

#[test]
fn a_column_has_a_profile_of_its_own() {
    let text = || {
        StringArray::from_iter_values(
            (0..20_000u64).map(|i| format!("row {} of {}", i * i % 9973, i % 77)),
        )
    };
    let batch =
        RecordBatch::try_from_iter([("a", Arc::new(text()) as ArrayRef), ("b", Arc::new(text()))])
            .unwrap();
    let trees = |profiles: &[(&str, Profile)]| {
        let mut options = WriteOptions::default();
        options.column_profiles = profiles
            .iter()
            .map(|(path, profile)| ((*path).to_owned(), *profile))
            .collect();
        (options.derived_columns, options.profile) = (false, Profile::Fast);
        let file = write(std::slice::from_ref(&batch), options);
        assert_eq!(column(&read(file.scan()), 1), rows(batch.column(1)));
        let bytes = file
            .inspect()
            .unwrap()
            .columns
            .iter()
            .map(|column| column.bytes)
            .collect::<Vec<_>>();
        (bytes[0], bytes[1])
    };
    let (fast, same) = trees(&[]);
    // But for the place where each stands.
    assert!(fast.abs_diff(same) < 8, "{fast} {same}");
    let (first, second) = trees(&[("b", Profile::Small)]);
    assert!(first.abs_diff(fast) < 8);
    assert!(second < fast, "{second} for {fast}");
    let mut options = WriteOptions::default();
    options.column_profiles = vec![("c".into(), Profile::Small)];
    let message = staffa::to_bytes(batch.schema(), &[], options)
        .unwrap_err()
        .to_string();
    assert!(message.contains("no column is called \"c\""), "{message}");
}

/// Runs of strings are runs of codes where they repeat, beside a dictionary; else runs of strings.
#[test]
fn runs_of_strings_that_repeat_are_runs_of_codes() {
    let mut random = Random(31);
    let towns: Vec<String> = (0..40).map(|i| format!("town {}", i * 7919)).collect();
    let repeated: Vec<&str> = (0..6_000)
        .map(|_| towns[random.below(towns.len())].as_str())
        .collect();
    let distinct: Vec<String> = (0..6_000).map(|i| format!("street {}", i * 7919)).collect();
    let distinct: Vec<&str> = distinct.iter().map(String::as_str).collect();
    let encoding = |runs: &[&str], times, options| {
        let strings = runs.iter().flat_map(|run| std::iter::repeat_n(*run, times));
        let strings = StringArray::from(strings.collect::<Vec<_>>());
        let batch = table(vec![Arc::new(strings)]);
        let file = write(std::slice::from_ref(&batch), options);
        let found = read(file.scan());
        assert_eq!(column(&found, 0), rows(batch.column(0)));
        encodings_of(&file, "a")[0].clone()
    };
    // Runs are long from twelve rows on.
    for times in [5, 16] {
        let codes = encoding(&repeated, times, WriteOptions::new());
        assert!(codes.starts_with("dictionary(codes: run_end"), "{codes}");
        let without = WriteOptions::new().without(["dictionary"]);
        let strings = encoding(&repeated, times, without);
        assert!(strings.starts_with("run_end"), "{strings}");
        let strings = encoding(&distinct, times, WriteOptions::new());
        assert!(strings.starts_with("run_end"), "{strings}");
    }
}

/// ALP-RD is for floats of which a quarter is distinct, beside a dictionary.
#[test]
fn repeated_floats_of_many_digits_are_left_to_a_dictionary() {
    let mut random = Random(32);
    let mut roots = |distinct: usize| -> Vec<f64> {
        let root = |i: usize| (i as f64 + 1e3).sqrt();
        (0..20_000).map(|_| root(random.below(distinct))).collect()
    };
    let [few, many] = [200, 1 << 30].map(&mut roots);
    let encoding = |floats: &[f64], options| {
        let batch = table(vec![Arc::new(Float64Array::from(floats.to_vec()))]);
        let file = write(std::slice::from_ref(&batch), options);
        let found = read(file.scan());
        assert_eq!(column(&found, 0), rows(batch.column(0)));
        encodings_of(&file, "a")[0].clone()
    };
    assert!(encoding(&few, WriteOptions::new()).starts_with("dictionary"));
    assert!(encoding(&many, WriteOptions::new()).starts_with("alp_rd"));
    let without = WriteOptions::new().without(["dictionary", "frequency"]);
    assert!(encoding(&few, without).starts_with("alp_rd"));
}
