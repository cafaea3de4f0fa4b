//! One aggregate of one column, as far as values were taken in.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, new_null_array};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;
use staffa_kernels::U256;

use super::Aggregate;
use super::distinct::Distinct;
use super::number::{Number, kind_of, words_of};
use super::order::{Extreme, Sorted};
use super::sum::Sum;
use crate::decode::Needs;
use crate::error::{Error, Result};
use crate::format::BlockEntry;
use crate::predicate::{Value, array_of_one};
use crate::read::RowRange;
use crate::values::Kind;

/// An aggregate of one column, as far as values were taken in.
pub(super) enum PartialAggregate {
    Rows(u64),
    Count(u64),
    Nulls(u64),
    Extreme(Extreme),
    Sum(Sum),
    Distinct(Distinct),
    Sorted(Sorted),
}

impl PartialAggregate {
    /// An aggregate of no values; an error says why the type has none.
    pub(super) fn new(which: Aggregate, ty: &DataType) -> Result<Self, String> {
        let ordered = !matches!(ty, DataType::Interval(_));
        Ok(match which {
            Aggregate::Rows => Self::Rows(0),
            Aggregate::Count => Self::Count(0),
            Aggregate::Nulls => Self::Nulls(0),
            Aggregate::Min | Aggregate::Max if ordered => {
                Self::Extreme(Extreme::new(which == Aggregate::Max))
            }
            Aggregate::Sorted if ordered => Self::Sorted(Sorted::new()),
            Aggregate::Min | Aggregate::Max | Aggregate::Sorted => {
                return Err("its values have no order".into());
            }
            Aggregate::Sum => match ty {
                DataType::Boolean | DataType::Duration(_) => Self::Sum(Sum::default()),
                ty if ty.is_numeric() => Self::Sum(Sum::default()),
                _ => return Err("a type of numbers, booleans or durations expected".into()),
            },
            Aggregate::Distinct => Self::Distinct(Distinct::default()),
        })
    }

    /// Takes in a block by its zone map; `false` if it must be decoded.
    pub(super) fn by_zone_map(&mut self, entry: &BlockEntry, block: &RowRange) -> bool {
        let (zone, rows) = (&entry.zone, entry.values as u64);
        let count = rows.saturating_sub(zone.nulls);
        match self {
            Self::Rows(all) => *all += rows,
            Self::Count(all) => *all += count,
            Self::Nulls(all) => *all += zone.nulls,
            _ if count == 0 => {}
            Self::Extreme(own) => return own.by_bounds(&zone.bounds, block),
            Self::Sum(own) => return own.by_bounds(&zone.bounds, count),
            Self::Sorted(own) => return own.by_bounds(&zone.bounds),
            Self::Distinct(_) => return false,
        }
        true
    }

    /// Whether no row of a block can change the result, by its zone map.
    pub(super) fn settled(&self, entry: &BlockEntry) -> bool {
        match self {
            Self::Extreme(own) => own.settled(&entry.zone.bounds),
            Self::Sorted(own) => !own.so_far,
            _ => false,
        }
    }

    /// Counts rows, and the NULLs among them.
    pub(super) fn count(&mut self, rows: u64, nulls: u64) {
        match self {
            Self::Rows(all) => *all += rows,
            Self::Count(all) => *all += rows - nulls,
            Self::Nulls(all) => *all += nulls,
            Self::Extreme(_) | Self::Sum(_) | Self::Distinct(_) | Self::Sorted(_) => {}
        }
    }

    /// Values needed of a decoder; `None` where their number is enough.
    pub(super) fn needs(&self, kind: Kind, wide: bool) -> Option<Needs> {
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) => None,
            // Floats are added up in their order; where 256 bits may overflow, so are integers.
            Self::Sum(_) if kind == Kind::Float || wide => Some(Needs::InOrder),
            Self::Sum(_) => Some(Needs::Sum(kind)),
            Self::Extreme(_) | Self::Distinct(_) => Some(Needs::Once),
            Self::Sorted(_) => Some(Needs::InOrder),
        }
    }

    /// Takes in an array of the column's innermost type.
    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.logical_null_count();
        self.count(array.len() as u64, nulls as u64);
        if nulls == array.len() {
            return Ok(());
        }
        let ty = array.data_type();
        if let Some(bits) = array.as_boolean_opt() {
            bits.iter().flatten().for_each(|bit| self.bit(bit));
            return Ok(());
        }
        let Some((kind, width)) = kind_of(ty).zip(ty.primitive_width()) else {
            let mut done = Ok(());
            each_string(array, &mut |string| {
                if done.is_ok() {
                    done = self.string(string);
                }
            });
            return done;
        };
        match width {
            1 => self.array::<u8>(array, kind),
            2 => self.array::<u16>(array, kind),
            4 => self.array::<u32>(array, kind),
            8 => self.array::<u64>(array, kind),
            16 => self.array::<u128>(array, kind),
            _ => self.array::<U256>(array, kind),
        }
    }

    fn array<T: Number>(&mut self, array: &ArrayRef, kind: Kind) -> Result<()> {
        let words = words_of::<T>(array)?;
        let short = || Error::internal("a word for each row expected");
        for range in valid(words.len(), array.nulls()) {
            self.numbers(words.get(range).ok_or_else(short)?, None, kind)?;
        }
        Ok(())
    }

    /// Takes in numbers, each once or `counts` times.
    pub(super) fn numbers<T: Number>(
        &mut self,
        values: &[T],
        counts: Option<&[u32]>,
        kind: Kind,
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) => {}
            Self::Extreme(own) => {
                if let Some(value) = T::extreme(values, kind, own.largest) {
                    own.offer(value.value(kind));
                }
            }
            Self::Sum(own) => {
                own.some = true;
                match counts {
                    Some(counts) => T::add_runs(values, counts, kind, own),
                    None => T::add(values, kind, own),
                }
            }
            Self::Distinct(own) => return own.numbers(values),
            Self::Sorted(own) => own.numbers(values, kind),
        }
        Ok(())
    }

    /// Takes in the sum of some values.
    pub(super) fn sum(&mut self, sum: i128) {
        if let Self::Sum(own) = self {
            own.some = true;
            own.int(i256::from_i128(sum));
        }
    }

    /// Takes in a boolean.
    pub(super) fn bit(&mut self, bit: bool) {
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) => {}
            Self::Extreme(own) => own.offer(Value::Bit(bit)),
            Self::Sum(own) => {
                own.some = true;
                own.int(i256::from_i128(bit.into()));
            }
            Self::Distinct(own) => drop(own.words.insert(bit.into())),
            Self::Sorted(own) => own.next(Value::Bit(bit)),
        }
    }

    /// Takes in a string.
    pub(super) fn string(&mut self, string: &[u8]) -> Result<()> {
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) | Self::Sum(_) => {}
            Self::Extreme(own) => own.string(string),
            Self::Distinct(own) => return own.string(string),
            Self::Sorted(own) => own.string(string),
        }
        Ok(())
    }

    /// A block that must be decoded although its zone map was taken in.
    pub(super) fn next_open(&mut self) -> Option<RowRange> {
        if let Self::Extreme(own) = self {
            own.next_open()
        } else {
            None
        }
    }

    /// The result as an array of one value.
    pub(super) fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let count = |count: u64| Arc::new(Int64Array::from(vec![count as i64]));
        Ok(match self {
            Self::Rows(all) | Self::Count(all) | Self::Nulls(all) => count(*all),
            Self::Extreme(own) => own
                .best
                .as_ref()
                .map_or_else(|| Ok(new_null_array(ty, 1)), |best| array_of_one(ty, best))?,
            Self::Sum(own) => own.finish(ty, column)?,
            Self::Distinct(own) => count(own.count()),
            Self::Sorted(own) => Arc::new(BooleanArray::from(vec![own.so_far])),
        })
    }
}

/// Ranges of rows that are not NULL.
fn valid(len: usize, nulls: Option<&NullBuffer>) -> Vec<Range<usize>> {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 => nulls
            .valid_slices()
            .map(|(start, end)| start..end)
            .collect(),
        _ => std::iter::once(0..len).collect(),
    }
}

/// Calls `with` with each string that is not NULL.
fn each_string<'a>(array: &'a ArrayRef, with: &mut dyn FnMut(&'a [u8])) {
    match array.data_type() {
        DataType::Utf8 => array
            .as_string::<i32>()
            .iter()
            .flatten()
            .for_each(|s| with(s.as_bytes())),
        DataType::LargeUtf8 => array
            .as_string::<i64>()
            .iter()
            .flatten()
            .for_each(|s| with(s.as_bytes())),
        DataType::Utf8View => array
            .as_string_view()
            .iter()
            .flatten()
            .for_each(|s| with(s.as_bytes())),
        DataType::Binary => array.as_binary::<i32>().iter().flatten().for_each(with),
        DataType::LargeBinary => array.as_binary::<i64>().iter().flatten().for_each(with),
        DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(with),
        DataType::FixedSizeBinary(_) => {
            array.as_fixed_size_binary().iter().flatten().for_each(with);
        }
        _ => {}
    }
}
