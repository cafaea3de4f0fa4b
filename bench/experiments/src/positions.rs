//! Hyrise, table 2: 32-bit integers by encoding, decoded in sequence and by lists of positions.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_select::take::take;
use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Random, Run, Table, medians, options};

const LENGTHS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Encodings requested by name; the last is the chooser's choice.
const NAMES: [&str; 9] = [
    "plain",
    "bitpack",
    "frame_of_reference",
    "delta",
    "dictionary",
    "run_end",
    "escape",
    "stream_vbyte",
    "balanced",
];
const ROUNDS: usize = 5;
/// Rows of the lists of a length together, at the least and as far as `MOST_LISTS` go.
const LEAST_ROWS: usize = 50_000;
const MOST_LISTS: usize = 1_000;

/// Lists of one length, and the same rows in random order.
struct Lists {
    length: usize,
    sorted: Vec<UInt64Array>,
    shuffled: Vec<UInt64Array>,
}

/// A column, encoded.
struct Encoded {
    encoding: &'static str,
    file: staffa::File,
    bytes: u64,
    tree: Option<String>,
}

pub fn run(rows: usize) -> Result<Value> {
    let mut random = Random(1);
    let lengths = LENGTHS.into_iter().filter(|length| *length <= rows);
    let lists: Vec<Lists> = lengths
        .map(|length| lists(rows, length, &mut random))
        .collect();
    let mut out = Vec::new();
    for (name, values) in distributions(rows, &mut random) {
        let array: Arc<dyn Array> = Arc::new(UInt32Array::from(values));
        let encoded = NAMES
            .into_iter()
            .map(|name| encoded(&array, name))
            .collect::<Result<Vec<_>>>()?;
        let decodes: Vec<Run<'_>> = encoded
            .iter()
            .map(|e| Box::new(|| decode(&e.file)) as Run<'_>)
            .collect();
        let decodes = medians(ROUNDS, &decodes)?;
        let (mut memory, mut points) = (Vec::new(), vec![Vec::new(); encoded.len()]);
        for Lists {
            length,
            sorted,
            shuffled,
        } in &lists
        {
            eprintln!("{name} {length}");
            let (sorted, shuffled) = (
                times(&array, &encoded, sorted)?,
                times(&array, &encoded, shuffled)?,
            );
            for (i, points) in std::iter::once(&mut memory).chain(&mut points).enumerate() {
                points
                    .push(json!({"length": length, "sorted": sorted[i], "shuffled": shuffled[i]}));
            }
        }
        let encodings = encoded.iter().zip(decodes).zip(points).map(|((e, decode), points)| {
            json!({"encoding": e.encoding, "bytes": e.bytes, "decode": decode, "points": points, "tree": e.tree})
        });
        let encodings: Vec<Value> = encodings.collect();
        out.push(json!({"distribution": name, "memory": memory, "encodings": encodings}));
    }
    Ok(json!({"rows": rows, "distributions": out}))
}

/// The paper's five, in its section 4.1.1. What the steps of its time series are, it does not say.
fn distributions(rows: usize, random: &mut Random) -> [(&'static str, Vec<u32>); 5] {
    let mut series = 1_000_000;
    let mut of = |value: &mut dyn FnMut(&mut Random, u32) -> u32| {
        (0..rows as u32).map(|i| value(random, i)).collect()
    };
    [
        ("uniform", of(&mut |random, _| random.next() as u32)),
        ("sorted", of(&mut |_, i| i * 5)),
        (
            "years",
            of(&mut |random, _| 1900 + random.below(201) as u32),
        ),
        ("months", of(&mut |random, _| 1 + random.below(12) as u32)),
        (
            "time series",
            of(&mut |random, _| {
                series += random.below(10) as u32;
                series
            }),
        ),
    ]
}

fn lists(rows: usize, length: usize, random: &mut Random) -> Lists {
    let count = LEAST_ROWS.div_ceil(length).min(MOST_LISTS);
    let mut sorted = Vec::new();
    for _ in 0..count {
        let mut list = BTreeSet::new();
        while list.len() < length {
            list.insert(random.below(rows as u64));
        }
        sorted.push(list.into_iter().collect::<Vec<u64>>());
    }
    let mut shuffled = sorted.clone();
    for list in &mut shuffled {
        for i in (1..list.len()).rev() {
            list.swap(i, random.below(i as u64 + 1) as usize);
        }
    }
    let arrays = |lists: Vec<Vec<u64>>| lists.into_iter().map(UInt64Array::from).collect();
    Lists {
        length,
        sorted: arrays(sorted),
        shuffled: arrays(shuffled),
    }
}

/// Nanoseconds a row: of Arrow in memory, then of every file, open and with its blocks kept.
fn times(array: &Arc<dyn Array>, encoded: &[Encoded], lists: &[UInt64Array]) -> Result<Vec<f64>> {
    let mut runs: Vec<Run<'_>> = vec![Box::new(|| {
        Ok(lists
            .iter()
            .try_for_each(|list| take(array, list, None).map(drop))?)
    })];
    for Encoded { file, .. } in encoded {
        let taken = |list: &UInt64Array| file.take(&**list.values()).read().map(drop);
        runs.push(Box::new(move || Ok(lists.iter().try_for_each(taken)?)));
    }
    let rows = lists.iter().map(Array::len).sum::<usize>() as f64;
    Ok(medians(ROUNDS, &runs)?
        .into_iter()
        .map(|seconds| seconds * 1e9 / rows)
        .collect())
}

fn decode(file: &staffa::File) -> Result<()> {
    for batch in file.scan().reader()? {
        batch?;
    }
    Ok(())
}

/// By an encoding requested by name, all blocks opened and kept.
fn encoded(array: &Arc<dyn Array>, encoding: &'static str) -> Result<Encoded> {
    let batch = RecordBatch::try_from_iter([("x", array.clone())])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let mut options = options();
    options
        .encodings
        .extend((encoding != "balanced").then(|| ("x".to_owned(), encoding.to_owned())));
    let file = staffa::File::from_bytes(table.write(&options)?.0)?;
    let explained = file.explain()?;
    let tree = explained.first().and_then(|leaf| {
        leaf.blocks
            .first()?
            .values
            .as_ref()
            .map(ToString::to_string)
    });
    let every: Vec<u64> = (0..array.len() as u64).collect();
    assert_eq!(file.take(&every).read()?.column(0), array);
    Ok(Encoded {
        encoding,
        file,
        bytes: explained.iter().map(|leaf| leaf.bytes).sum(),
        tree,
    })
}
