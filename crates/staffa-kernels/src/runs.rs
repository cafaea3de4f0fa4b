//! Run ends to values: run `k` covers the rows `ends[k-1]..ends[k]`.
//!
//! Most runs are short, and a loop over a short run costs a mispredicted branch. So the first 16 values of each run are
//! stored unconditionally, past its end where it is shorter: the next run overwrites them.

use crate::dispatch::dispatch;
use crate::word::Word;

/// Fills `out` with the rows `first..first + out.len()`. `ends` must increase strictly.
///
/// `false` when the runs do not cover the range, the ends met on the way do not increase, or there are not as many values
/// as ends; `out` then holds anything.
///
/// ```
/// let mut out = [0u32; 4];
/// assert!(staffa_kernels::fill_runs(&[7, 8, 9], &[2, 5, 6], 1, &mut out));
/// assert_eq!(out, [7, 8, 8, 8]);
/// ```
#[inline]
pub fn fill_runs<T: Word>(values: &[T], ends: &[u32], first: u32, out: &mut [T]) -> bool {
    T::fill_runs(values, ends, first, out)
}

dispatch! {
    pub(crate) fn fill_words<T: Word>(values: &[T], ends: &[u32], first: u32, out: &mut [T]) -> bool = fill_body;
}

#[inline(always)]
fn fill_body<T: Word>(values: &[T], ends: &[u32], first: u32, out: &mut [T]) -> bool {
    if values.len() != ends.len() {
        return false;
    }
    let wide = wide::<T>();
    let len = out.len();
    let mut run = ends.partition_point(|&end| end <= first);
    let mut row = 0;
    // Wide stores straight into `out` while they cannot reach past its end ...
    let safe = len.saturating_sub(wide);
    while row < safe {
        let (Some(&value), Some(&end)) = (values.get(run), ends.get(run)) else { return false };
        let end = end.saturating_sub(first) as usize;
        if end <= row {
            return false;
        }
        let stop = end.min(safe);
        loop {
            // SAFETY: `row < stop <= safe`, so `wide` words from `row` are inside of `out`.
            unsafe { splat(out.as_mut_ptr().add(row), value) };
            row += wide;
            if row >= stop {
                break;
            }
        }
        row = stop;
        // A branch, so that the next run is loaded ahead; one that goes on behind `safe` is looked at again below.
        if end > safe {
            break;
        }
        run += 1;
    }
    // ... then the last rows, `wide` at most, by way of a buffer with room for a store from any of them.
    let mut last = [T::default(); 2 * MOST];
    let start = row;
    while row < len {
        let (Some(&value), Some(&end)) = (values.get(run), ends.get(run)) else { return false };
        let end = end.saturating_sub(first) as usize;
        if end <= row {
            return false;
        }
        // SAFETY: `row - start < len - start <= wide`, and `last` holds twice that.
        unsafe { splat(last.as_mut_ptr().add(row - start), value) };
        row = end.min(len);
        run += 1;
    }
    out[start..].copy_from_slice(&last[..len - start]);
    true
}

/// Words in a store: 16 of up to 32 bits, 64 bytes of the wider ones.
#[inline(always)]
fn wide<T: Word>() -> usize {
    MOST.min(64 / T::BYTES)
}

const MOST: usize = 16;

/// Stores `wide` times `value`.
///
/// # Safety
/// `out` must be valid for writes of as many words.
#[inline(always)]
unsafe fn splat<T: Word>(out: *mut T, value: T) {
    for i in 0..wide::<T>() {
        // SAFETY: inside of them.
        unsafe { out.add(i).write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::testing::on_every_level;
    use crate::testing::Rng;
    use crate::word::U256;

    fn scalar<T: Word>(values: &[T], ends: &[u32], first: u32, len: usize) -> Option<Vec<T>> {
        let run_of = |row: u32| ends.iter().position(|&end| end > row);
        (0..len as u32).map(|i| run_of(first + i).map(|run| values[run])).collect()
    }

    fn agree<T: Word>(word: impl Fn(u64) -> T) {
        let mut rng = Rng(0x5eed);
        for longest in [1, 2, 8, 20, 300] {
            for runs in [0, 1, 2, 60] {
                let values: Vec<T> = (0..runs).map(|_| word(rng.next())).collect();
                let ends: Vec<u32> = values
                    .iter()
                    .scan(0, |end, _| {
                        *end += 1 + rng.below(longest) as u32;
                        Some(*end)
                    })
                    .collect();
                let rows = ends.last().copied().unwrap_or(0) as usize;
                for _ in 0..20 {
                    let first = rng.below(rows + 1);
                    let len = rng.below(rows - first + 1);
                    let mut out = vec![T::default(); len];
                    assert!(fill_runs(&values, &ends, first as u32, &mut out));
                    assert_eq!(Some(out), scalar(&values, &ends, first as u32, len));
                }
                let mut all = vec![T::default(); rows];
                assert!(fill_runs(&values, &ends, 0, &mut all));
                assert!(!fill_runs(&values, &ends, 1, &mut all) || rows == 0);
                assert!(fill_runs(&values, &ends, u32::MAX, &mut []));
                assert!(runs == 0 || !fill_runs(&values[1..], &ends, 0, &mut all));
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            agree(|v| v as u8);
            agree(|v| v as u16);
            agree(|v| v as u32);
            agree(|v| v);
            agree(|v| u128::from(v) << 60);
            agree(|v| U256([v, 1, 2, !v]));
        });
    }

    #[test]
    fn hostile_ends_stay_inside() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for _ in 0..10_000 {
                let ends: Vec<u32> = (0..rng.below(20)).map(|_| (rng.next() >> rng.below(64)) as u32).collect();
                let values: Vec<u16> = ends.iter().map(|_| rng.next() as u16).collect();
                let mut out = vec![0; rng.below(200)];
                fill_runs(&values, &ends, (rng.next() >> rng.below(64)) as u32, &mut out);
            }
        });
    }
}
