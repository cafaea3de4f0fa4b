//! Samples: 10 runs of 64 values from non-overlapping parts (BtrBlocks, section 3.1 and figure 5).

use staffa_kernels::VECTOR;

use crate::values::{OwnedValues, Values};

/// Values of a run.
const RUN: usize = 64;
/// Runs of a sample.
const RUNS: usize = 10;

#[cfg(feature = "experiments")]
thread_local! {
    /// Runs of a sample and values of a run, for what this thread chooses.
    pub(crate) static SHAPE: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((RUNS, RUN)) };
}

/// Runs of a sample, and values of a run.
#[inline]
fn shape() -> (usize, usize) {
    #[cfg(feature = "experiments")]
    return SHAPE.get();
    #[cfg(not(feature = "experiments"))]
    (RUNS, RUN)
}

/// Values of a sample.
pub(super) fn rows() -> usize {
    let (runs, run) = shape();
    runs * run
}

/// Whether there are hardly more values than a sample holds.
pub(super) fn are_few(values: usize) -> bool {
    values <= rows() * 2
}

/// Rows of a vector of a sample: by default each run is one.
pub(super) fn vector_rows() -> usize {
    shape().1.clamp(RUN, VECTOR)
}

/// The sample; `None` where there are at most twice as many values, and for bits, which are cheap
/// to encode.
pub(super) fn of(values: Values<'_>) -> Option<OwnedValues> {
    if matches!(values, Values::Bits(_)) {
        return None;
    }
    OwnedValues::take(values, &rows_of(values.len())?).ok()
}

/// The rows of the sample of so many values; `None` where there are at most twice as many.
pub(super) fn rows_of(len: usize) -> Option<Vec<u32>> {
    let (runs, run) = shape();
    if are_few(len) {
        return None;
    }
    let part = len / runs;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let runs = (0..runs).flat_map(|i| {
        // Anywhere in its part, but a function of the number of values: files are reproducible.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let start = i * part + (seed % (part - run + 1) as u64) as usize;
        start as u32..(start + run) as u32
    });
    Some(runs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_ten_runs_from_ten_parts() {
        let values: Vec<u32> = (0..10_000).collect();
        let Some(OwnedValues::U32(sample)) = of(Values::U32(&values)) else {
            panic!("no sample")
        };
        assert_eq!(sample.len(), rows());
        for (i, run) in sample.chunks(RUN).enumerate() {
            assert!(run.is_sorted() && run[RUN - 1] - run[0] == RUN as u32 - 1);
            assert!(
                (i * 1000..(i + 1) * 1000).contains(&(run[0] as usize))
                    && (run[RUN - 1] as usize) < (i + 1) * 1000
            );
        }
        assert!(of(Values::U32(&values[..1000])).is_none());
    }
}
