//! Choices of the chooser by samples of other shapes, beside the best of all cascades (BtrBlocks,
//! section 6.3), for the program in `bench/`.

use std::time::Instant;

use arrow_array::RecordBatch;

use crate::arrow::{Layout, shred};
use crate::encode::{Chooser, Profile, Stats, sample};
use crate::encodings::POOL;
use crate::error::Result;
use crate::values::{Kind, Values};
use crate::write::BlockInput;

/// Blocks of fewer values say little about samples of 640.
const LEAST_VALUES: usize = 8192;

/// The first block of a leaf column, under every choice.
#[derive(Debug, serde::Serialize)]
pub struct Trial {
    /// The column.
    pub path: String,
    /// `integer`, `float` or `string`.
    pub kind: String,
    /// Number of values.
    pub values: usize,
    /// Bytes of the plain values.
    pub plain_bytes: usize,
    /// For every viable encoding at the root, bytes with the best of all cascades below it.
    pub exhaustive: Vec<(&'static str, usize)>,
    /// Seconds of the exhaustive search.
    pub seconds: f64,
    /// Choices by samples of each shape.
    pub shapes: Vec<Choice>,
}

/// The choice by samples of one shape.
#[derive(Debug, serde::Serialize)]
pub struct Choice {
    /// Runs of the sample.
    pub runs: usize,
    /// Values of a run.
    pub run: usize,
    /// For every viable encoding at the root, its estimated bytes.
    pub estimates: Vec<(&'static str, usize)>,
    /// The encoding with the best estimate, as in the paper.
    pub first: Outcome,
    /// The best few encoded and the smallest kept, as the profile `balanced` does.
    pub tried: Outcome,
}

/// An encoded tree.
#[derive(Debug, serde::Serialize)]
pub struct Outcome {
    /// The encoding at its root.
    pub root: &'static str,
    /// Bytes of the tree.
    pub bytes: usize,
    /// Seconds to choose and encode.
    pub seconds: f64,
}

/// The first block of the columns that `wanted` names, with samples of `(runs, values of a run)`.
pub fn sampling(
    batch: &RecordBatch,
    shapes: &[(usize, usize)],
    wanted: impl Fn(&str, &str) -> bool,
) -> Result<Vec<Trial>> {
    let layout = Layout::new(&batch.schema())?;
    let leaves = shred(batch, &layout)?;
    let mut trials = Vec::new();
    for (array, leaf) in leaves.iter().zip(layout.leaves()) {
        let input = BlockInput::of(array, 0, array.values.len().min(1 << 16))?;
        let Some(values) = input.values().filter(|v| v.len() >= LEAST_VALUES) else {
            continue;
        };
        let kind = match (values, leaf.kind) {
            (Values::Bits(_), _) => continue,
            (Values::Bytes(_), _) => "string",
            (_, Kind::Float) => "float",
            _ => "integer",
        };
        if Stats::new(values, leaf.kind).runs() > 1 && wanted(&leaf.path, kind) {
            let mut trial = block(values, leaf.kind, shapes)?;
            (trial.path, trial.kind) = (leaf.path.to_string(), kind.to_owned());
            trials.push(trial);
        }
    }
    Ok(trials)
}

fn block(values: Values<'_>, kind: Kind, shapes: &[(usize, usize)]) -> Result<Trial> {
    let balanced = Chooser::root(&POOL, Profile::Balanced, None);
    let started = Instant::now();
    // A sample that holds everything: every viable encoding is tried, at every level.
    sample::SHAPE.set((1, 1 << 32));
    let stats = Stats::new(values, kind);
    let mut exhaustive = Vec::new();
    for candidate in balanced.candidates(values, &stats, |_| true) {
        if let Some(node) = candidate.encode(values, &stats, &balanced.below(candidate))? {
            exhaustive.push((candidate.info().name, node.size()));
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let mut choices = Vec::new();
    for &(runs, run) in shapes {
        sample::SHAPE.set((runs, run));
        let outcome = |tries| -> Result<Outcome> {
            let started = Instant::now();
            let node = balanced
                .with_tries(tries)
                .choose(values, &Stats::new(values, kind))?;
            let root = POOL
                .by_id(node.encoding)
                .map_or("", |encoding| encoding.info().name);
            Ok(Outcome {
                root,
                bytes: node.size(),
                seconds: started.elapsed().as_secs_f64(),
            })
        };
        let stats = Stats::new(values, kind);
        let mut estimates = Vec::new();
        for candidate in balanced.candidates(values, &stats, |_| true) {
            if let Some(bytes) = candidate.estimate(values, &stats, &balanced.below(candidate))? {
                estimates.push((candidate.info().name, bytes));
            }
        }
        choices.push(Choice {
            runs,
            run,
            estimates,
            first: outcome(1)?,
            tried: outcome(balanced.tries())?,
        });
    }
    sample::SHAPE.set((10, 64));
    let (path, kind) = (String::new(), String::new());
    Ok(Trial {
        path,
        kind,
        values: values.len(),
        plain_bytes: values.plain_bytes(),
        exhaustive,
        seconds,
        shapes: choices,
    })
}
