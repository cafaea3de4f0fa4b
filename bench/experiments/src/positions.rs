//! Hyrise, table 2: 32-bit integers by encoding, decoded in sequence and by lists of positions.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_select::take::take;
use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Random, Table, median, options};

const LENGTHS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Of ours, asked for by name; the last is the chooser's.
const NAMES: [&str; 9] =
    ["plain", "bitpack", "frame_of_reference", "delta", "dictionary", "run_end", "escape", "stream_vbyte", "balanced"];
const ROUNDS: usize = 7;
/// Rows of the lists of a length together, at the least and as far as `MOST_LISTS` go.
const LEAST_ROWS: usize = 50_000;
const MOST_LISTS: usize = 1_000;

/// Lists of one length, and the same rows in random order.
struct Lists {
    length: usize,
    sorted: Vec<Vec<u64>>,
    shuffled: Vec<Vec<u64>>,
}

pub fn run(rows: usize) -> Result<Value> {
    let mut random = Random(1);
    let lengths = LENGTHS.into_iter().filter(|length| *length <= rows);
    let lists: Vec<Lists> = lengths.map(|length| lists(rows, length, &mut random)).collect();
    let mut out = Vec::new();
    for (name, values) in distributions(rows, &mut random) {
        let array: Arc<dyn Array> = Arc::new(UInt32Array::from(values));
        let batch = RecordBatch::try_from_iter([("x", array.clone())])?;
        let table = Table { name: String::new(), schema: batch.schema(), batches: vec![batch] };
        let (mut codecs, mut memory) = (Vec::new(), Vec::new());
        for lists in &lists {
            let seconds = |lists: &[Vec<u64>]| {
                let lists: Vec<UInt64Array> = lists.iter().cloned().map(UInt64Array::from).collect();
                median(ROUNDS, || lists.iter().try_for_each(|list| take(&array, list, None).map(drop)))
            };
            memory.push(point(lists, seconds)?);
        }
        for encoding in NAMES {
            eprintln!("{name} {encoding}");
            codecs.push(codec(&table, &array, encoding, &lists)?);
        }
        out.push(json!({"distribution": name, "memory": memory, "encodings": codecs}));
    }
    Ok(json!({"rows": rows, "distributions": out}))
}

/// The paper's five, in its section 4.1.1. What the steps of its time series are, it does not say.
fn distributions(rows: usize, random: &mut Random) -> [(&'static str, Vec<u32>); 5] {
    let mut series = 1_000_000;
    let mut of = |value: &mut dyn FnMut(&mut Random, u32) -> u32| (0..rows as u32).map(|i| value(random, i)).collect();
    [
        ("uniform", of(&mut |random, _| random.next() as u32)),
        ("sorted", of(&mut |_, i| i * 5)),
        ("years", of(&mut |random, _| 1900 + random.below(201) as u32)),
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
    Lists { length, sorted, shuffled }
}

/// Nanoseconds a row, in both orders.
fn point(lists: &Lists, mut seconds: impl FnMut(&[Vec<u64>]) -> Result<f64>) -> Result<Value> {
    let rows = (lists.length * lists.sorted.len()) as f64;
    let (sorted, shuffled) = (seconds(&lists.sorted)?, seconds(&lists.shuffled)?);
    Ok(json!({"length": lists.length, "sorted": sorted * 1e9 / rows, "shuffled": shuffled * 1e9 / rows}))
}

/// An encoding asked for by name: bytes, sequential decode, lists from an open file whose blocks are kept.
fn codec(table: &Table, array: &Arc<dyn Array>, encoding: &str, lists: &[Lists]) -> Result<Value> {
    let mut options = options();
    options.encodings.extend((encoding != "balanced").then(|| ("x".to_owned(), encoding.to_owned())));
    let (bytes, _) = table.write(&options)?;
    let file = staffa::File::from_bytes(bytes)?;
    let explained = file.explain()?;
    let tree = explained.first().and_then(|leaf| leaf.blocks.first()?.values.as_ref().map(ToString::to_string));
    let every: Vec<u64> = (0..array.len() as u64).collect();
    // Keeps all blocks.
    assert_eq!(file.take(&every, None, false)?.column(0), array);
    let decode = median(ROUNDS, || {
        let rows = file.scan().reader()?.map(|batch| batch.map(|batch| batch.num_rows()));
        assert_eq!(rows.sum::<staffa::Result<usize>>()?, array.len());
        Ok::<_, staffa::Error>(())
    })?;
    let mut points = Vec::new();
    for lists in lists {
        let seconds = |lists: &[Vec<u64>]| {
            median(ROUNDS, || lists.iter().try_for_each(|list| file.take(list, None, false).map(drop)))
        };
        points.push(point(lists, seconds)?);
    }
    Ok(json!({"encoding": encoding, "bytes": explained.iter().map(|leaf| leaf.bytes).sum::<u64>(),
        "decode": decode, "points": points, "tree": tree}))
}
