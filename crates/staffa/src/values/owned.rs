//! Owned values: samples, dictionaries, exceptions.

use staffa_kernels::U256;

use super::{Bitmap, Physical, StringsBuf, Values, for_values};
use crate::error::{Error, Result};

/// Owned values of any type.
#[derive(Debug)]
pub enum OwnedValues {
    Bits(Bitmap),
    Bytes(StringsBuf),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U128(Vec<u128>),
    U256(Vec<U256>),
}

/// Matches [`OwnedValues`]: one arm for words of every width, one for bits, one for byte strings.
macro_rules! for_owned {
    ($values:expr, words($w:pat) => $words:expr, bits($b:pat) => $bits:expr, bytes($s:pat) => $bytes:expr $(,)?) => {
        match $values {
            OwnedValues::U8($w) => $words,
            OwnedValues::U16($w) => $words,
            OwnedValues::U32($w) => $words,
            OwnedValues::U64($w) => $words,
            OwnedValues::U128($w) => $words,
            OwnedValues::U256($w) => $words,
            OwnedValues::Bits($b) => $bits,
            OwnedValues::Bytes($s) => $bytes,
        }
    };
}

/// The rows for which something holds.
pub(crate) fn rows_where(holds: impl ExactSizeIterator<Item = bool>) -> Vec<u32> {
    let mut rows = vec![0; holds.len() + 1];
    let mut found = 0;
    // Branch-free compaction: each row is written, the next place is used only where it holds.
    for (row, holds) in (0u32..).zip(holds) {
        if let Some(place) = rows.get_mut(found) {
            *place = row;
        }
        found += usize::from(holds);
    }
    rows.truncate(found);
    rows
}

impl OwnedValues {
    /// A copy of all values.
    pub(crate) fn all(values: Values<'_>) -> Self {
        for_values!(values,
            words(words) => Physical::owned(words.to_vec()),
            bits(bits) => Self::Bits(bits.clone()),
            bytes(strings) => Self::Bytes(strings.iter().collect()),
        )
    }

    /// The values at `rows`, in any order; a row past the end is an error.
    pub(crate) fn take(values: Values<'_>, rows: &[u32]) -> Result<Self> {
        fn words<T: Physical>(values: &[T], rows: &[u32]) -> Option<OwnedValues> {
            let word = |row: &u32| values.get(*row as usize).copied();
            Some(T::owned(rows.iter().map(word).collect::<Option<_>>()?))
        }
        let past = rows.iter().any(|row| *row as usize >= values.len());
        let taken = for_values!(values,
            words(v) => words(v, rows),
            bits(bits) => (!past).then(|| Self::Bits(rows.iter().map(|row| bits.get(*row as usize)).collect())),
            bytes(strings) => (!past).then(|| Self::Bytes(rows.iter().map(|row| strings.get(*row as usize)).collect())),
        );
        taken.ok_or_else(|| Error::internal("a row past the end of the values"))
    }

    /// Appends values, which must have the same type.
    pub(crate) fn append(&mut self, other: Self) -> Result<()> {
        let other_type = || Error::internal("values of another type");
        match (self, other) {
            (Self::Bits(all), Self::Bits(more)) => all.extend(&more),
            (Self::Bytes(all), Self::Bytes(more)) => {
                more.as_strings().iter().for_each(|string| all.push(string));
            }
            (all, more) => for_owned!(more,
                words(more) => Physical::words_of(all).ok_or_else(other_type)?.extend(more),
                bits(_) => return Err(other_type()),
                bytes(_) => return Err(other_type()),
            ),
        }
        Ok(())
    }

    /// Borrows them.
    pub(crate) fn borrow(&self) -> Values<'_> {
        for_owned!(self,
            words(words) => Physical::values(words),
            bits(bits) => Values::Bits(bits),
            bytes(strings) => Values::Bytes(strings.as_strings()),
        )
    }
}
