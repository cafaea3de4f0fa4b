//! The types of words, and matches over them.

use staffa_kernels::{U256, VECTOR, Word};

use super::{OwnedValues, PhysicalType, Values};

/// Rows in vector `v` of `len` values.
pub fn vector_len(len: usize, v: usize) -> usize {
    len.saturating_sub(v.saturating_mul(VECTOR)).min(VECTOR)
}

/// A word that a column can hold, and the way between typed and untyped slices.
pub trait Physical: Word {
    /// The type's name on disk.
    const TYPE: PhysicalType;
    /// The untyped slice.
    fn values(slice: &[Self]) -> Values<'_>;
    /// The typed slice, where the values have this type.
    fn slice(values: Values<'_>) -> Option<&[Self]>;
    /// The untyped vector.
    fn owned(words: Vec<Self>) -> OwnedValues;
    /// The typed vector, where the values have this type.
    fn words_of(values: &mut OwnedValues) -> Option<&mut Vec<Self>>;
}

macro_rules! physical {
    ($($ty:ident => $variant:ident),*) => {$(
        impl Physical for $ty {
            const TYPE: PhysicalType = PhysicalType::$variant;
            fn values(slice: &[Self]) -> Values<'_> {
                Values::$variant(slice)
            }
            fn slice(values: Values<'_>) -> Option<&[Self]> {
                if let Values::$variant(slice) = values { Some(slice) } else { None }
            }
            fn owned(words: Vec<Self>) -> OwnedValues {
                OwnedValues::$variant(words)
            }
            fn words_of(values: &mut OwnedValues) -> Option<&mut Vec<Self>> {
                if let OwnedValues::$variant(words) = values { Some(words) } else { None }
            }
        }
    )*};
}

physical!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128, U256 => U256);

/// Runs `$body` with `$T` bound to the word type of `$ty`, or `$other` for bits and byte strings.
macro_rules! for_words {
    ($ty:expr, $T:ident => $body:expr, $other_ty:pat => $other:expr) => {
        $crate::values::for_ints!($ty, $T => $body, other => match other {
            $crate::values::PhysicalType::U128 => {
                type $T = u128;
                $body
            }
            $crate::values::PhysicalType::U256 => {
                type $T = staffa_kernels::U256;
                $body
            }
            $other_ty => $other,
        })
    };
}

pub(crate) use for_words;

/// Runs `$body` with `$T` bound to the integer type of `$ty`, or `$other` where arithmetic has no
/// meaning.
macro_rules! for_ints {
    ($ty:expr, $T:ident => $body:expr, $other_ty:pat => $other:expr) => {
        match $ty {
            $crate::values::PhysicalType::U8 => {
                type $T = u8;
                $body
            }
            $crate::values::PhysicalType::U16 => {
                type $T = u16;
                $body
            }
            $crate::values::PhysicalType::U32 => {
                type $T = u32;
                $body
            }
            $crate::values::PhysicalType::U64 => {
                type $T = u64;
                $body
            }
            $other_ty => $other,
        }
    };
}

pub(crate) use for_ints;

/// Matches [`Values`](crate::values::Values): one arm for words of every width, one for bits, one
/// for byte strings.
macro_rules! for_values {
    ($values:expr, words($w:pat) => $words:expr, bits($b:pat) => $bits:expr, bytes($s:pat) => $bytes:expr $(,)?) => {
        match $values {
            $crate::values::Values::U8($w) => $words,
            $crate::values::Values::U16($w) => $words,
            $crate::values::Values::U32($w) => $words,
            $crate::values::Values::U64($w) => $words,
            $crate::values::Values::U128($w) => $words,
            $crate::values::Values::U256($w) => $words,
            $crate::values::Values::Bits($b) => $bits,
            $crate::values::Values::Bytes($s) => $bytes,
        }
    };
}
pub(crate) use for_values;
