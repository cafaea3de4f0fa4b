//! Decimals of 128 bits as words of 64 bits.

use staffa_kernels::{PoolVec, VECTOR};

use super::{Decoder, Rows, Scratch, corrupt_if, words};
use crate::error::{Error, Result};
use crate::values::{Bitmap, Values};

/// Decodes signed words of 128 bits as their low 64 bits; a valid one that these do not hold is an error.
pub(crate) struct ShortWords<'a> {
    pub wide: &'a dyn Decoder<u128>,
    /// Which values are valid; `None` where all are.
    pub validity: Option<&'a Bitmap>,
}

impl ShortWords<'_> {
    /// At most the values of a vector.
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        let mut buffer = [0; VECTOR];
        let wide = buffer.get_mut(..out.len());
        let wide = wide.ok_or_else(|| Error::internal("more values than a vector has"))?;
        rows.decode(self.wide, cx, wide)?;
        if narrow(wide, out) {
            return Ok(());
        }
        self.check(rows, wide)
    }

    /// Refuses a valid word that 64 bits do not hold.
    fn check(&self, rows: Rows<'_>, wide: &[u128]) -> Result<()> {
        for (i, word) in wide
            .iter()
            .enumerate()
            .filter(|(_, word)| lost(**word) != 0)
        {
            let row = match rows {
                Rows::Vector(v) => Some(v * VECTOR + i),
                Rows::At(rows) => rows.get(i).map(|row| *row as usize),
            };
            let is_valid = |row| self.validity.is_none_or(|validity| validity.get(row));
            corrupt_if!(
                row.is_none_or(is_valid),
                "a decimal of at most 18 digits expected, found {}",
                word.cast_signed()
            );
        }
        Ok(())
    }
}

/// Copies the low halves of words; returns whether 64 bits hold all of them.
fn narrow(wide: &[u128], short: &mut [u64]) -> bool {
    let mut beyond = 0;
    for (short, wide) in short.iter_mut().zip(wide) {
        *short = *wide as u64;
        beyond |= lost(*wide);
    }
    beyond == 0
}

/// 0 where the high half of a word repeats the sign of its low half.
fn lost(word: u128) -> u64 {
    ((word >> 64) as u64).wrapping_add(word as u64 >> 63)
}

impl Decoder<u64> for ShortWords<'_> {
    fn len(&self) -> usize {
        self.wide.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        self.read(Rows::Vector(v), cx, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        let mut parts = rows.chunks(VECTOR).zip(out.chunks_mut(VECTOR));
        parts.try_for_each(|(rows, out)| self.read(Rows::At(rows), cx, out))
    }
}

/// Words of 128 bits as those of 64; `None` where one does not fit, or for other words.
pub(crate) fn short_words(values: Values<'_>) -> Result<Option<PoolVec<u64>>> {
    let Values::U128(wide) = values else {
        return Ok(None);
    };
    let mut short = words(wide.len())?;
    Ok(narrow(wide, &mut short).then_some(short))
}

#[cfg(test)]
mod tests {
    use super::super::{Range, WordTest};
    use super::*;

    struct Words(Vec<u128>);

    impl Decoder<u128> for Words {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn vector(&self, v: usize, _: &mut Scratch, out: &mut [u128]) -> Result<()> {
            out.copy_from_slice(&self.0[v * VECTOR..][..out.len()]);
            Ok(())
        }
    }

    /// A word of more bits is an error if it is valid, on any row and by any way.
    #[test]
    fn words_of_more_bits_are_refused_unless_their_row_is_null() {
        for row in [0, 1_023, 1_024, 2_999] {
            for wide in [1 << 63, (-1_i128 << 64).cast_unsigned(), u128::MAX >> 1] {
                let mut words: Vec<u128> =
                    (0..3_000).map(|i| (i - 9_i128).cast_unsigned()).collect();
                words[row] = wide;
                let (wide, mut cx) = (&Words(words) as &dyn Decoder<u128>, Scratch::default());
                let mut validity = Bitmap::filled(row, true);
                validity.extend(&Bitmap::filled(3_000 - row, false));
                let all = Bitmap::filled(3_000, true);
                for (validity, fits) in
                    [(None, false), (Some(&all), false), (Some(&validity), true)]
                {
                    let short = ShortWords { wide, validity };
                    let v = row / VECTOR;
                    let mut out = vec![0; crate::values::vector_len(3_000, v)];
                    assert_eq!(short.vector(v, &mut cx, &mut out).is_ok(), fits);
                    let rows: Vec<u32> = (0..3_000).collect();
                    let mut out = vec![0; 3_000];
                    assert_eq!(short.take(&rows, &mut cx, &mut out).is_ok(), fits);
                    let others = (0..3_000).filter(|i| *i != row);
                    assert!(!fits || others.clone().all(|i| out[i] == (i as u64).wrapping_sub(9)));
                    let range = WordTest::Range(Range::between(0, 7));
                    assert_eq!(short.filter(&range, &mut cx).is_ok(), fits);
                }
            }
        }
    }
}
