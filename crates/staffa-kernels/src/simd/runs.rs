//! Run ends to values: run `k` covers the rows `ends[k-1]..ends[k]`.
//!
//! Most runs are short, and a loop over a short run costs a mispredicted branch. So every run first
//! stores 16 values, past its end where it is shorter: the next run overwrites them.

use super::dispatch::dispatch;
use crate::word::{Word, precompiled};

precompiled! {
    /// Fills `out` with the rows `first..first + out.len()`. `ends` must increase strictly. Returns
    /// the run of the row behind them, which is the best `near` for these rows; any other `near`
    /// costs a search.
    ///
    /// `None` when the runs do not cover the range, the ends met on the way do not increase, or
    /// there are not as many values as ends; `out` then holds anything.
    ///
    /// ```
    /// let mut out = [0u32; 4];
    /// assert_eq!(staffa_kernels::fill_runs(&[7, 8, 9], &[2, 5, 6], 1, 0, &mut out), Some(2));
    /// assert_eq!(out, [7, 8, 8, 8]);
    /// ```
    pub fn fill_runs<'a, T: Word>(
        values: &'a [T],
        ends: &'a [u32],
        first: u32,
        near: usize,
        out: &'a mut [T],
    ) -> Option<usize> = fill_words;
}

dispatch! {
    /// Whether the ends increase strictly, as [`fill_runs`] requires.
    ///
    /// ```
    /// assert!(staffa_kernels::ascends(&[2, 5, 6]));
    /// assert!(!staffa_kernels::ascends(&[2, 5, 5]));
    /// ```
    pub fn ascends(ends: &[u32]) -> bool = ascends_body;
}

/// Without an early end, so that the loop vectorises.
#[inline(always)]
fn ascends_body(ends: &[u32]) -> bool {
    let [_, next @ ..] = ends else {
        return true;
    };
    // A fold vectorises without long steps, and so without a long rest.
    #[allow(clippy::needless_bitwise_bool)]
    let falls = ends
        .iter()
        .zip(next)
        .fold(false, |any, (a, b)| any | (a >= b));
    !falls
}

dispatch! {
    fn fill_words<T: Word>(values: &[T], ends: &[u32], first: u32, near: usize, out: &mut [T])
        -> Option<usize> = fill_body;
}

/// The run of row `first`. `near` is tried before a search, which takes as long over many ends as a
/// dozen runs.
#[inline(always)]
fn run_of(ends: &[u32], first: u32, near: usize) -> usize {
    let begins = near
        .checked_sub(1)
        .map_or(Some(&0), |before| ends.get(before));
    let is_near = begins.is_some_and(|&begin| begin <= first)
        && ends.get(near).is_some_and(|&end| end > first);
    if is_near {
        near
    } else {
        ends.partition_point(|&end| end <= first)
    }
}

#[inline(always)]
fn fill_body<T: Word>(
    values: &[T],
    ends: &[u32],
    first: u32,
    near: usize,
    out: &mut [T],
) -> Option<usize> {
    if values.len() != ends.len() {
        return None;
    }
    let (wide, run) = (wide::<T>(), run_of(ends, first, near));
    let len = out.len();
    let (values, ends) = (values.get(run..)?, ends.get(run..)?);
    let (mut row, mut next) = (0, 0);
    // Wide stores go straight into `out` while they cannot reach past its end ...
    let mut start = 0;
    if let Some(safe) = len.checked_sub(wide) {
        start = safe;
        while let (Some(&value), Some(&end)) = (values.get(next), ends.get(next)) {
            // An end before `first` wraps far behind `safe`.
            let end = end.wrapping_sub(first) as usize;
            // SAFETY: `row <= safe`, so `wide` words from `row` are inside of `out`.
            unsafe { splat(out.as_mut_ptr().add(row), value) };
            if end > row + wide {
                let mut at = row + wide;
                while at < end.min(safe) {
                    // SAFETY: `at < safe`.
                    unsafe { splat(out.as_mut_ptr().add(at), value) };
                    at += wide;
                }
            }
            // A run that continues behind `safe` is filled to its end below.
            if end > safe {
                break;
            }
            row = end;
            next += 1;
        }
        // Checked in registers, all at once: the loop above does not wait.
        if !ascends_body(&ends[..next]) {
            return None;
        }
    }
    // ... then the rows from `start` on, `wide` at most, are made in a register.
    let mut last = [T::default(); MOST];
    while row < len {
        let (&value, &end) = (values.get(next)?, ends.get(next)?);
        let end = end.saturating_sub(first) as usize;
        if end <= row {
            return None;
        }
        for (i, place) in last[..wide].iter_mut().enumerate() {
            *place = if start + i >= row { value } else { *place };
        }
        row = end.min(len);
        next += usize::from(end <= len);
    }
    out[start..].copy_from_slice(&last[..len - start]);
    Some(run + next)
}

/// Most words of a wide store.
const MOST: usize = 16;

/// Words of a wide store: 16 of up to 32 bits, 64 bytes of wider words.
#[inline(always)]
fn wide<T: Word>() -> usize {
    MOST.min(64 / T::BYTES)
}

/// Stores `value` in `wide` words.
///
/// # Safety
/// `out` must be valid for writes of `wide` words.
#[inline(always)]
unsafe fn splat<T: Word>(out: *mut T, value: T) {
    for i in 0..wide::<T>() {
        // SAFETY: `i` is below `wide`.
        unsafe { out.add(i).write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::{for_words, on_every_level};
    use crate::testing::Rng;

    fn scalar<T: Word>(values: &[T], ends: &[u32], first: u32, len: usize) -> Option<Vec<T>> {
        let run_of = |row: u32| ends.iter().position(|&end| end > row);
        (0..len as u32)
            .map(|i| run_of(first + i).map(|run| values[run]))
            .collect()
    }

    fn agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for longest in [1, 2, 8, 20, 300] {
            for runs in [0, 1, 2, 60] {
                let values: Vec<T> = rng.words(runs);
                let ends: Vec<u32> = values
                    .iter()
                    .scan(0, |end, _| {
                        *end += 1 + rng.below(longest) as u32;
                        Some(*end)
                    })
                    .collect();
                let rows = ends.last().map_or(0, |end| *end as usize);
                for _ in 0..20 {
                    let first = rng.below(rows + 1);
                    let len = rng.below(rows - first + 1);
                    let behind = ends.partition_point(|&end| end as usize <= first + len);
                    for near in [
                        0,
                        behind,
                        rng.below(runs + 2),
                        ends.partition_point(|&end| end as usize <= first),
                    ] {
                        let mut out = vec![T::default(); len];
                        assert_eq!(
                            fill_runs(&values, &ends, first as u32, near, &mut out),
                            Some(behind)
                        );
                        assert_eq!(Some(out), scalar(&values, &ends, first as u32, len));
                    }
                }
                let mut all = vec![T::default(); rows];
                assert_eq!(fill_runs(&values, &ends, 0, 0, &mut all), Some(runs));
                assert!(fill_runs(&values, &ends, 1, 0, &mut all).is_none() || rows == 0);
                assert_eq!(
                    fill_runs(&values, &ends, u32::MAX, usize::MAX, &mut []),
                    Some(runs)
                );
                assert!(runs == 0 || fill_runs(&values[1..], &ends, 0, 0, &mut all).is_none());
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_words!(agree);
    }

    #[test]
    fn ends_that_do_not_rise_are_refused() {
        on_every_level(|| {
            for wrong in [[100, 100, 250], [100, 90, 250], [100, 0, 250]] {
                assert_eq!(
                    fill_runs(&[1u32, 2, 3], &wrong, 0, 0, &mut [0; 250]),
                    None,
                    "{wrong:?}"
                );
            }
        });
    }

    #[test]
    fn hostile_ends_stay_inside() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for _ in 0..10_000 {
                let ends: Vec<u32> = (0..rng.below(20))
                    .map(|_| (rng.next() >> rng.below(64)) as u32)
                    .collect();
                let values: Vec<u16> = ends.iter().map(|_| rng.next() as u16).collect();
                let mut out = vec![0; rng.below(200)];
                fill_runs(
                    &values,
                    &ends,
                    (rng.next() >> rng.below(64)) as u32,
                    rng.below(22),
                    &mut out,
                );
            }
        });
    }
}
