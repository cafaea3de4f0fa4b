//! Point reads of [`Repeat`](super::Repeat): rows followed back through the matches to the literals
//! that they are copies of.

use staffa_kernels::{Repeated, Repeats, gather};

use super::{Parts, after, no_sequence, other_len, sequence};
use crate::decode::{Integer, Scratch, decode_all, no_row, take_unsorted};
use crate::error::Result;

/// The block is decoded unless fewer than one in 64 rows are wanted: that takes 0.3 ns a value into
/// memory that is not in a cache, a row that is followed back past a few matches 10 to 20.
pub(super) const FEW: usize = 64;

/// Rows that are decoded in the time of one match that is followed back.
const STEP: usize = 32;

impl<T: Integer> Parts<'_, T> {
    /// All matches, with the checks of a block that is decoded.
    fn matches(&self, cx: &mut Scratch) -> Result<Vec<Match>> {
        let mut matches = Vec::with_capacity(self.offsets.len());
        let (mut done, literals) = (Repeated::default(), self.literals.len());
        self.sequences(cx, |repeats| {
            let Repeats {
                literals: before,
                lengths,
                offsets,
            } = repeats;
            for (i, ((before, length), offset)) in
                before.iter().zip(lengths).zip(offsets).enumerate()
            {
                let next = after(
                    [*before, *length, *offset].map(|part| part as usize),
                    literals,
                    done,
                    self.len,
                );
                done = next
                    .ok_or_else(|| no_sequence(sequence(repeats, i), literals, done, self.len))?;
                let (end, copied) = (done.values as u32, (done.values - done.literals) as u32);
                matches.push(Match {
                    end,
                    copied,
                    offset: *offset,
                });
            }
            Ok(())
        })?;
        if done.values + literals - done.literals == self.len {
            Ok(matches)
        } else {
            Err(other_len(done, literals, self.len))
        }
    }

    /// The values of rows, where these are few and no others were read before; whether it did.
    pub(super) fn few(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<bool> {
        if rows.is_empty() {
            return Ok(true);
        }
        let matches = self.offsets.len();
        // The more rows, the fewer matches; these take no more memory than the values, which are in
        // the budget.
        let few = rows.len() * FEW <= self.len
            && matches * FEW.min(rows.len()) <= self.len
            && matches * size_of::<Match>() <= self.len * T::BYTES;
        if !self.all.take_few(few) {
            return Ok(false);
        }
        let matches = self.matches(cx)?;
        // The last rows first, as their chains are the longest, each with its share of the steps:
        // chains that are too long end early.
        let most = self.len / STEP;
        let mut steps = most / 8;
        let mut places = Vec::with_capacity(rows.len());
        for row in rows.iter().rev() {
            if *row as usize >= self.len {
                return Err(no_row(*row, self.len));
            }
            steps += most / rows.len();
            let Some(place) = literal_of(&matches, *row, &mut steps) else {
                return Ok(false);
            };
            places.push(place);
        }
        places.reverse();
        if self.literals.len() > 4 * places.len() {
            return take_unsorted(self.literals.as_ref(), &places, cx, out);
        }
        let literals = decode_all(self.literals.as_ref())?;
        Ok(gather(&literals, &places, out))
    }
}

/// A match.
struct Match {
    /// The row behind it.
    end: u32,
    /// Values of all matches up to this one.
    copied: u32,
    /// How far back it lies.
    offset: u32,
}

/// The literal that a row is a copy of; `None` where it takes more than `steps`. A match copies rows
/// before it, so that every chain ends.
fn literal_of(matches: &[Match], mut row: u32, steps: &mut usize) -> Option<u32> {
    let mut matches = matches;
    loop {
        let i = matches.partition_point(|found| found.end <= row);
        let copied = i
            .checked_sub(1)
            .and_then(|before| matches.get(before))
            .map_or(0, |before| before.copied);
        let Some(found) = matches.get(i) else {
            return Some(row - copied);
        };
        let start = found.end - (found.copied - copied);
        let Some(into) = row.checked_sub(start) else {
            return Some(row - copied);
        };
        *steps = steps.checked_sub(1)?;
        // A match that overlaps itself copies its first `offset` values again and again.
        row = start - found.offset
            + if into < found.offset {
                into
            } else {
                into % found.offset
            };
        matches = matches.get(..=i)?;
    }
}
