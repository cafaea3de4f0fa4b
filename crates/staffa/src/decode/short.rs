//! Decimals of 128 bits as words of 64 bits.

use staffa_kernels::VECTOR;

use super::{Decoder, Rows, Scratch, corrupt_if};
use crate::error::{Error, Result};
use crate::values::Bitmap;

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
        let mut beyond = 0;
        for (short, wide) in out.iter_mut().zip(wide.iter()) {
            *short = *wide as u64;
            beyond |= lost(*wide);
        }
        if beyond == 0 {
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

/// 0 where the high half of a word repeats the sign of its low half.
fn lost(word: u128) -> u64 {
    ((word >> 64) as u64).wrapping_add(word as u64 >> 63)
}

impl Decoder<u64> for ShortWords<'_> {
    fn len(&self) -> usize {
        self.wide.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        match self.wide.short() {
            Some(short) => short.vector(v, cx, out),
            None => self.read(Rows::Vector(v), cx, out),
        }
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        if let Some(short) = self.wide.short() {
            return short.take(rows, cx, out);
        }
        let mut parts = rows.chunks(VECTOR).zip(out.chunks_mut(VECTOR));
        parts.try_for_each(|(rows, out)| self.read(Rows::At(rows), cx, out))
    }
}
