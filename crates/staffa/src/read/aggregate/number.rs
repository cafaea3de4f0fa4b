//! Numbers as words of 8 to 256 bits: extremes, sums and order, for arrays and for decoders.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_array::types::Float16Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::i256;
use arrow_schema::DataType;
use staffa_kernels::{U256, bounds, cast_slice, order_floats, sum_runs};

use super::sum::Sum;
use crate::decode::{Decodable, Integer, integer, sum_of};
use crate::error::{Error, Result};
use crate::predicate::Value;
use crate::values::Kind;

/// Kind of the numbers of a primitive type; `None` for other types.
pub(super) fn kind_of(ty: &DataType) -> Option<Kind> {
    match ty {
        DataType::Interval(_) => Some(Kind::Opaque),
        ty if ty.is_floating() => Some(Kind::Float),
        ty if ty.is_unsigned_integer() => Some(Kind::Unsigned),
        ty => ty.primitive_width().map(|_| Kind::Signed),
    }
}

/// A word of 8 to 256 bits that is a number of some kind.
pub(super) trait Number: Decodable {
    fn value(self, kind: Kind) -> Value;
    /// The smallest or the largest.
    fn extreme(values: &[Self], kind: Kind, largest: bool) -> Option<Self>;
    /// Whether none is less than the one before it.
    fn ascend(values: &[Self], kind: Kind) -> bool;
    /// Adds values, floats one after another.
    fn add(values: &[Self], kind: Kind, sum: &mut Sum);
    /// Adds each value `counts` times.
    fn add_runs(values: &[Self], counts: &[u32], kind: Kind, sum: &mut Sum);
}

/// A float of this width as the double of its value.
fn double<T: Integer>(word: T) -> f64 {
    match T::BYTES {
        2 => <Float16Type as ArrowPrimitiveType>::Native::from_bits(word.to_u64() as u16).to_f64(),
        4 => f64::from(f32::from_bits(word.to_u64() as u32)),
        _ => f64::from_bits(word.to_u64()),
    }
}

/// Offset that makes words ascend like the numbers they are.
fn flip<T: Integer>(kind: Kind) -> T {
    if kind == Kind::Signed {
        T::from_u64(1 << (T::BITS - 1))
    } else {
        T::ZERO
    }
}

/// Whether words ascend once they are raised by `flip`.
fn ascending<T: Integer>(values: &[T], flip: T) -> bool {
    values
        .array_windows()
        .all(|[a, b]| a.wrapping_add(flip) <= b.wrapping_add(flip))
}

macro_rules! numbers {
    ($($word:ty),*) => {$(
        impl Number for $word {
            fn value(self, kind: Kind) -> Value {
                match kind {
                    Kind::Float => Value::Float(double(self)),
                    kind => Value::Int(i256::from_i128(integer(self, kind))),
                }
            }

            fn extreme(values: &[Self], kind: Kind, largest: bool) -> Option<Self> {
                let pick = |(least, most)| if largest { most } else { least };
                if kind == Kind::Float {
                    let mut ordered = values.to_vec();
                    order_floats(&mut ordered);
                    let best: Self = pick(bounds(&ordered, 0));
                    return ordered.iter().zip(values).find(|(order, _)| **order == best).map(|(_, value)| *value);
                }
                (!values.is_empty()).then(|| pick(bounds(values, flip::<Self>(kind))))
            }

            fn ascend(values: &[Self], kind: Kind) -> bool {
                if kind == Kind::Float {
                    let mut ordered = values.to_vec();
                    order_floats(&mut ordered);
                    return ascending(&ordered, 0);
                }
                ascending(values, flip::<Self>(kind))
            }

            fn add(values: &[Self], kind: Kind, sum: &mut Sum) {
                match kind {
                    Kind::Float => sum.float = values.iter().fold(sum.float, |sum, value| sum + double(*value)),
                    kind => sum.int(i256::from_i128(sum_of(values, kind))),
                }
            }

            fn add_runs(values: &[Self], counts: &[u32], kind: Kind, sum: &mut Sum) {
                let runs = values.iter().zip(counts);
                if kind == Kind::Float {
                    sum.float = runs.fold(sum.float, |sum, (value, count)| {
                        let value = double(*value);
                        (0..*count).fold(sum, |sum, _| sum + value)
                    });
                    return;
                }
                let flip = flip::<Self>(kind);
                let count: u64 = counts.iter().map(|count| u64::from(*count)).sum();
                // Far fewer than 2^63 values of at most 64 bits.
                let all = sum_runs(values, counts, flip) as i128 - i128::from(flip) * i128::from(count);
                sum.int(i256::from_i128(all));
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

/// Decimals of more than 64 bits: `$of` orders them, `$wide` is their value.
macro_rules! wide_numbers {
    ($($word:ty: $of:expr, $wide:expr, $add:expr;)*) => {$(
        impl Number for $word {
            fn value(self, _: Kind) -> Value {
                Value::Int($wide(self))
            }

            fn extreme(values: &[Self], _: Kind, largest: bool) -> Option<Self> {
                let (values, order) = (values.iter().copied(), |word: &Self| $of(*word));
                if largest { values.max_by_key(order) } else { values.min_by_key(order) }
            }

            fn ascend(values: &[Self], _: Kind) -> bool {
                values.array_windows().all(|[a, b]| $of(*a) <= $of(*b))
            }

            fn add(values: &[Self], _: Kind, sum: &mut Sum) {
                $add(values, sum);
            }

            fn add_runs(values: &[Self], counts: &[u32], _: Kind, sum: &mut Sum) {
                for (word, count) in values.iter().zip(counts) {
                    let value = $wide(*word);
                    match value.checked_mul(i256::from_i128((*count).into())) {
                        Some(all) => sum.int(all),
                        None => (0..*count).for_each(|_| sum.int(value)),
                    }
                }
            }
        }
    )*};
}

fn long(word: u128) -> i256 {
    i256::from_i128(word.cast_signed())
}

fn longest(word: U256) -> i256 {
    let [a, b, c, d] = word.0.map(u128::from);
    i256::from_parts(a | b << 64, (c | d << 64).cast_signed())
}

/// Adds numbers in 128 bits, and in 256 where these overflow.
fn add_long(values: &[u128], sum: &mut Sum) {
    let rest = values.iter().fold(0i128, |so_far, word| {
        so_far.checked_add(word.cast_signed()).unwrap_or_else(|| {
            sum.int(i256::from_i128(so_far));
            word.cast_signed()
        })
    });
    sum.int(i256::from_i128(rest));
}

fn add_longest(values: &[U256], sum: &mut Sum) {
    values.iter().for_each(|word| sum.int(longest(*word)));
}

wide_numbers! {
    u128: u128::cast_signed, long, add_long;
    U256: longest, longest, add_longest;
}

/// Words of a primitive array, those of NULLs too.
pub(super) fn words_of<T: Number>(array: &ArrayRef) -> Result<Vec<T>> {
    let data = array.to_data();
    let words = data.offset() * T::BYTES..(data.offset() + data.len()) * T::BYTES;
    let buffer = data.buffers().first();
    let own = buffer.and_then(|buffer| buffer.as_slice().get(words));
    let missing = || Error::internal(format!("{} words in an array expected", data.len()));
    let own = own.ok_or_else(missing)?;
    if let Some(words) = cast_slice::<T>(own) {
        return Ok(words.to_vec());
    }
    let words = own.chunks_exact(T::BYTES).map(T::read_le);
    words.collect::<Option<_>>().ok_or_else(missing)
}
