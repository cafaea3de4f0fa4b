//! Sequences of literals and matches to values (Lempel and Ziv 1977, on whole values).
//!
//!   sequence = literals, then a match: values from `offset` values back, which may overlap itself
//!
//! Most sequences are short, and a call of memcpy costs more than the copy. So literals and matches
//! are copied 32 bytes at a time, past their end: the next sequence overwrites the excess.

use super::dispatch::dispatch;
use crate::word::{Word, precompiled};

/// Bytes of one wide copy.
const WIDE: usize = 32;

/// Bytes behind a write from which on a read does not wait for it: processors hold back the last 50
/// to 70 writes, and a read of parts of two of them takes ten times as long.
const FAR: usize = 4096;

/// Sequences; the shortest slice tells their number.
#[derive(Clone, Copy, Debug)]
pub struct Repeats<'a> {
    /// Literals before each match.
    pub literals: &'a [u32],
    /// Values of each match, at least one.
    pub lengths: &'a [u32],
    /// Values back to the start of each match, at least one.
    pub offsets: &'a [u32],
}

/// The progress of a decoder of sequences.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Repeated {
    /// Literals used.
    pub literals: usize,
    /// Values written.
    pub values: usize,
}

precompiled! {
    /// Decodes the next sequences behind `done`. `out` has a place for each value, those of the
    /// literals left included.
    ///
    /// ```
    /// use staffa_kernels::{Repeated, Repeats, copy_repeats};
    /// let (mut done, mut out) = (Repeated::default(), [0u32; 6]);
    /// let one = Repeats { literals: &[2], lengths: &[3], offsets: &[2] };
    /// assert_eq!(copy_repeats(&[7, 8, 9], one, &mut done, &mut out), Ok(()));
    /// assert_eq!((out, done), ([7, 8, 7, 8, 7, 0], Repeated { literals: 2, values: 5 }));
    /// ```
    ///
    /// # Errors
    /// The position of the first sequence with too many literals, a length or an offset out of
    /// range. `done` is then the progress before that sequence, and `out` holds anything behind.
    pub fn copy_repeats<'a, T: Word>(
        literals: &'a [T],
        repeats: Repeats<'a>,
        done: &'a mut Repeated,
        out: &'a mut [T],
    ) -> Result<(), usize> = copy_words;
}

dispatch! {
    fn copy_words<T: Word>(
        literals: &[T],
        repeats: Repeats<'_>,
        done: &mut Repeated,
        out: &mut [T],
    ) -> Result<(), usize> = copy_body;
}

#[inline(always)]
fn copy_body<T: Word>(
    literals: &[T],
    repeats: Repeats<'_>,
    done: &mut Repeated,
    out: &mut [T],
) -> Result<(), usize> {
    let Repeats {
        literals: before,
        lengths,
        offsets,
    } = repeats;
    let (mut used, mut at) = (done.literals, done.values);
    let (left, places) = (literals.len().checked_sub(used), out.len().checked_sub(at));
    let (Some(mut left), Some(mut places)) = (left, places) else {
        return Err(0);
    };
    let mut wrong = None;
    for (i, ((&before, &length), &offset)) in before.iter().zip(lengths).zip(offsets).enumerate() {
        let (before, length, offset) = (before as usize, length as usize, offset as usize);
        // Differences below 0 wrap far above any length.
        let (behind, room) = (left.wrapping_sub(before), places.wrapping_sub(before));
        if behind > left
            || room > places
            || length.wrapping_sub(1) >= room.saturating_sub(behind)
            || offset.wrapping_sub(1) >= at + before
        {
            wrong = Some(i);
            break;
        }
        let wide = length.min(room.saturating_sub(slack::<T>()));
        if behind >= slack::<T>() && wide == length {
            // SAFETY: both slices have `slack` values behind the copied ones, and `offset` values lie
            // before the match.
            unsafe {
                let to = out.as_mut_ptr().add(at);
                copy_wide(literals.as_ptr().add(used), to, before);
                copy_match(to.add(before), offset, length);
            }
        } else {
            let there = at + before;
            out[at..there].copy_from_slice(&literals[used..used + before]);
            if wide > 0 {
                // SAFETY: `out` has `slack` values behind these, and `offset` values before them.
                unsafe { copy_match(out.as_mut_ptr().add(there), offset, wide) };
            }
            copy_exactly(out, there + wide, offset, length - wide);
        }
        (used, at) = (used + before, at + before + length);
        (left, places) = (behind, room - length);
    }
    *done = Repeated {
        literals: used,
        values: at,
    };
    wrong.map_or(Ok(()), Err)
}

/// Values that a wide copy may read and write past its count.
#[inline(always)]
const fn slack<T: Word>() -> usize {
    WIDE / T::BYTES
}

/// The plain twin of a match.
#[inline(always)]
fn copy_exactly<T: Word>(out: &mut [T], at: usize, offset: usize, length: usize) {
    for i in at..at + length {
        out[i] = out[i - offset];
    }
}

/// Copies `length` values from `offset` values before `to`.
///
/// # Safety
/// `to` must be valid for reads of `offset` values before it and for writes of `length` and `slack`
/// behind it; `offset` and `length` are not 0.
#[inline(always)]
unsafe fn copy_match<T: Word>(mut to: *mut T, offset: usize, mut length: usize) {
    // SAFETY: the caller's; a wide copy reads up to `slack` values past `length`, which lie before
    // or within the places for writes, since `from` is before `to`.
    unsafe {
        let mut from = to.sub(offset);
        let mut offset = offset;
        if offset < slack::<T>() {
            // Whole periods one by one, until the source of the rest is a wide copy back.
            let near = slack::<T>().div_ceil(offset) * offset;
            for _ in 0..near.min(length) {
                to.write(from.read());
                (from, to) = (from.add(1), to.add(1));
            }
            if length <= near {
                return;
            }
            length -= near;
            offset = near;
            from = to.sub(near);
        }
        // Each copy doubles the periods, until the source was written long ago.
        while offset < FAR / T::BYTES && length > 2 * offset {
            copy_wide(from, to, offset);
            (to, length, offset) = (to.add(offset), length - offset, 2 * offset);
        }
        copy_wide(from, to, length);
    }
}

/// Copies `count` values and up to `slack` behind them, 32 bytes at a time, the first 32 always.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `count` values and `slack` more; `to` must
/// not lie within `slack` values behind `from`.
#[inline(always)]
unsafe fn copy_wide<T: Word>(from: *const T, to: *mut T, count: usize) {
    let (mut from, mut to, mut left) = (from.cast::<u8>(), to.cast::<u8>(), count);
    loop {
        // SAFETY: the copy begins below `count` (the first: at 0) and has `slack` values.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, WIDE);
            if left <= slack::<T>() {
                return;
            }
            left -= slack::<T>();
            (from, to) = (from.add(WIDE), to.add(WIDE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_words;
    use crate::testing::Rng;

    /// Pushes values one by one; returns them, the progress, and the number of valid sequences.
    fn scalar<T: Word>(
        literals: &[T],
        sequences: &[[u32; 3]],
        len: usize,
    ) -> (Vec<T>, Repeated, usize) {
        let (mut out, mut done) = (Vec::new(), Repeated::default());
        for (i, [before, length, offset]) in
            sequences.iter().map(|s| s.map(|v| v as usize)).enumerate()
        {
            let Some(some) = literals.get(done.literals..done.literals + before) else {
                return (out, done, i);
            };
            let there = out.len() + before;
            if length == 0
                || there + length + literals.len() - done.literals - before > len
                || !(1..=there).contains(&offset)
            {
                return (out, done, i);
            }
            out.extend_from_slice(some);
            (0..length).for_each(|_| out.push(out[out.len() - offset]));
            done = Repeated {
                literals: done.literals + before,
                values: out.len(),
            };
        }
        (out, done, sequences.len())
    }

    fn agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for round in 0..2000 {
            let most = [3, 20, 100][round % 3];
            let mut sequences: Vec<[u32; 3]> = Vec::new();
            let (mut literals, mut len) = (0, 0);
            for _ in 0..rng.below(30) {
                let before = rng.below(most) + usize::from(len == 0);
                let farthest = (len + before).min(1 << rng.below(9));
                let (length, offset) = (1 + rng.below(most), 1 + rng.below(farthest));
                sequences.push([before, length, offset].map(|v| v as u32));
                literals += before;
                len += before + length;
            }
            let rest = rng.below(most);
            let literals: Vec<T> = rng.words(literals + rest);
            let mut len = len + rest;
            // One round in four has a wrong number.
            if rng.below(4) == 0 && !sequences.is_empty() {
                let one = rng.below(sequences.len());
                sequences[one][rng.below(3)] = [0, u32::MAX, rng.below(300) as u32][rng.below(3)];
                len = (len + rng.below(3)).saturating_sub(rng.below(3));
            }
            let (expected, state, good) = scalar(&literals, &sequences, len);
            let parts =
                [0, 1, 2].map(|part| sequences.iter().map(|s| s[part]).collect::<Vec<u32>>());
            // The sequences come in two calls.
            let half = rng.below(sequences.len() + 1);
            let [before, lengths, offsets] = parts.each_ref().map(|part| part.split_at(half));
            let first = Repeats {
                literals: before.0,
                lengths: lengths.0,
                offsets: offsets.0,
            };
            let second = Repeats {
                literals: before.1,
                lengths: lengths.1,
                offsets: offsets.1,
            };
            let (mut done, mut out) = (Repeated::default(), vec![T::default(); len]);
            let found = copy_repeats(&literals, first, &mut done, &mut out).and_then(|()| {
                copy_repeats(&literals, second, &mut done, &mut out).map_err(|i| i + half)
            });
            assert_eq!(
                found,
                if good < sequences.len() {
                    Err(good)
                } else {
                    Ok(())
                }
            );
            assert_eq!(done, state);
            assert_eq!(out[..done.values], expected);
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_words!(agree);
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let none = Repeats {
            literals: &[0],
            lengths: &[1],
            offsets: &[1],
        };
        let mut done = Repeated {
            literals: 4,
            values: 0,
        };
        assert_eq!(
            copy_repeats(&[1u8; 3], none, &mut done, &mut [0; 9]),
            Err(0)
        );
        let mut done = Repeated {
            literals: 0,
            values: 10,
        };
        assert_eq!(
            copy_repeats(&[1u8; 3], none, &mut done, &mut [0; 9]),
            Err(0)
        );
    }
}
