//! Values picked out of others by row: samples, dictionaries, exceptions.

use staffa_kernels::U256;

use super::{Bitmap, StringsBuf, Values};

/// Owned values of any type.
#[derive(Debug)]
pub(crate) enum OwnedValues {
    Bits(Bitmap),
    Bytes(StringsBuf),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U128(Vec<u128>),
    U256(Vec<U256>),
}

fn words<T: Copy + Default>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter()
        .map(|&row| values.get(row as usize).copied().unwrap_or_default())
        .collect()
}

/// The rows for which something holds, found without a branch.
pub(crate) fn rows_where(holds: impl ExactSizeIterator<Item = bool>) -> Vec<u32> {
    let mut rows = vec![0; holds.len() + 1];
    let mut found = 0;
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
        match values {
            Values::Bits(bits) => Self::Bits(bits.clone()),
            Values::Bytes(strings) => Self::Bytes(strings.iter().collect()),
            Values::U8(v) => Self::U8(v.to_vec()),
            Values::U16(v) => Self::U16(v.to_vec()),
            Values::U32(v) => Self::U32(v.to_vec()),
            Values::U64(v) => Self::U64(v.to_vec()),
            Values::U128(v) => Self::U128(v.to_vec()),
            Values::U256(v) => Self::U256(v.to_vec()),
        }
    }

    /// The values at `rows`.
    pub(crate) fn of(values: Values<'_>, rows: &[u32]) -> Self {
        match values {
            Values::Bits(bits) => {
                Self::Bits(rows.iter().map(|&row| bits.get(row as usize)).collect())
            }
            Values::Bytes(strings) => {
                Self::Bytes(rows.iter().map(|&row| strings.get(row as usize)).collect())
            }
            Values::U8(v) => Self::U8(words(v, rows)),
            Values::U16(v) => Self::U16(words(v, rows)),
            Values::U32(v) => Self::U32(words(v, rows)),
            Values::U64(v) => Self::U64(words(v, rows)),
            Values::U128(v) => Self::U128(words(v, rows)),
            Values::U256(v) => Self::U256(words(v, rows)),
        }
    }

    /// Appends more values of the same type.
    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Bits(a), Self::Bits(b)) => a.extend(&b),
            (Self::Bytes(a), Self::Bytes(b)) => b.as_strings().iter().for_each(|s| a.push(s)),
            (Self::U8(a), Self::U8(b)) => a.extend(b),
            (Self::U16(a), Self::U16(b)) => a.extend(b),
            (Self::U32(a), Self::U32(b)) => a.extend(b),
            (Self::U64(a), Self::U64(b)) => a.extend(b),
            (Self::U128(a), Self::U128(b)) => a.extend(b),
            (Self::U256(a), Self::U256(b)) => a.extend(b),
            _ => debug_assert!(false, "values of another type"),
        }
    }

    /// Borrows them.
    pub(crate) fn borrow(&self) -> Values<'_> {
        match self {
            Self::Bits(v) => Values::Bits(v),
            Self::Bytes(v) => Values::Bytes(v.as_strings()),
            Self::U8(v) => Values::U8(v),
            Self::U16(v) => Values::U16(v),
            Self::U32(v) => Values::U32(v),
            Self::U64(v) => Values::U64(v),
            Self::U128(v) => Values::U128(v),
            Self::U256(v) => Values::U256(v),
        }
    }
}
