//! One aggregate of the values of one column, as far as they were taken in.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, new_null_array};
use arrow_buffer::{BooleanBuffer, i256};
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

/// An aggregate of the values of one column, as far as they were taken in.
pub(super) enum PartialAggregate {
    Counts { rows: u64, nulls: u64 },
    Extreme(Extreme),
    Sum(Sum),
    Distinct(Distinct),
    Sorted(Sorted),
}

impl PartialAggregate {
    /// An aggregate of no values; an error says why the type has none.
    pub(super) fn new(which: Aggregate, ty: &DataType) -> Result<Self, &'static str> {
        let ordered = !matches!(ty, DataType::Interval(_));
        let summed = ty.is_numeric() || matches!(ty, DataType::Boolean | DataType::Duration(_));
        Ok(match which {
            Aggregate::Rows | Aggregate::Count | Aggregate::Nulls => {
                Self::Counts { rows: 0, nulls: 0 }
            }
            Aggregate::Min if ordered => Self::Extreme(Extreme::smallest()),
            Aggregate::Max if ordered => Self::Extreme(Extreme::largest()),
            Aggregate::Sorted if ordered => Self::Sorted(Sorted::default()),
            Aggregate::Min | Aggregate::Max | Aggregate::Sorted => {
                return Err("its values have no order");
            }
            Aggregate::Sum if summed => Self::Sum(Sum::default()),
            Aggregate::Sum => return Err("a type of numbers, booleans or durations expected"),
            Aggregate::Distinct => Self::Distinct(Distinct::default()),
            Aggregate::Mean => return Err("it is made of a sum and a count"),
        })
    }

    /// Takes in a block by its zone map; `false` if it must be decoded.
    pub(super) fn by_zone_map(&mut self, entry: &BlockEntry, block: &RowRange) -> Result<bool> {
        let (bounds, nulls) = (&entry.zone.bounds, entry.zone.nulls);
        let count = (entry.values as u64).saturating_sub(nulls);
        self.count(entry.values as u64, nulls);
        match self {
            Self::Counts { .. } => Ok(true),
            _ if count == 0 => Ok(true),
            Self::Extreme(own) => own.by_bounds(bounds, block),
            Self::Sum(own) => Ok(own.by_bounds(bounds, count)),
            Self::Sorted(own) => own.by_bounds(bounds),
            Self::Distinct(_) => Ok(false),
        }
    }

    /// Whether no row of a block can change the result, by its zone map.
    pub(super) fn settled(&self, entry: &BlockEntry) -> Result<bool> {
        match self {
            Self::Extreme(own) => own.settled(&entry.zone.bounds),
            Self::Sorted(own) => Ok(own.fails),
            Self::Counts { .. } | Self::Sum(_) | Self::Distinct(_) => Ok(false),
        }
    }

    /// Counts rows, and the NULLs among them.
    pub(super) fn count(&mut self, more_rows: u64, more_nulls: u64) {
        if let Self::Counts { rows, nulls } = self {
            *rows += more_rows;
            *nulls += more_nulls;
        }
    }

    /// Values needed of a decoder; `None` where their number is enough.
    pub(super) fn needs(&self, kind: Kind, wide: bool) -> Option<Needs> {
        Some(match self {
            Self::Counts { .. } => return None,
            // Floats are added up in their order; where 256 bits may overflow, so are integers.
            Self::Sum(_) if kind == Kind::Float || wide => Needs::InOrder,
            Self::Sum(_) => Needs::Sum(kind),
            Self::Extreme(_) | Self::Distinct(_) => Needs::Once,
            Self::Sorted(_) => Needs::InOrder,
        })
    }

    /// Takes in an array of the column's innermost type.
    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let (ty, nulls) = (array.data_type(), array.logical_null_count());
        self.count(array.len() as u64, nulls as u64);
        if nulls == array.len() {
            return Ok(());
        }
        if let Some(bits) = array.as_boolean_opt() {
            return bits.iter().flatten().try_for_each(|bit| self.bit(bit));
        }
        match kind_of(ty).zip(ty.primitive_width()) {
            Some((kind, 1)) => self.words::<u8>(array, kind),
            Some((kind, 2)) => self.words::<u16>(array, kind),
            Some((kind, 4)) => self.words::<u32>(array, kind),
            Some((kind, 8)) => self.words::<u64>(array, kind),
            Some((kind, 16)) => self.words::<u128>(array, kind),
            Some((kind, _)) => self.words::<U256>(array, kind),
            None => {
                let strings = arrow_cast::cast(array, &DataType::BinaryView)?;
                let mut strings = strings.as_binary_view().iter().flatten();
                strings.try_for_each(|string| self.string(string))
            }
        }
    }

    fn words<T: Number>(&mut self, array: &ArrayRef, kind: Kind) -> Result<()> {
        let words = words_of::<T>(array)?;
        let valid = match array.nulls() {
            Some(nulls) => nulls.inner().clone(),
            None => BooleanBuffer::new_set(words.len()),
        };
        valid.set_slices().try_for_each(|(start, end)| {
            let words = words.get(start..end);
            let short = || Error::internal("a word for each row expected");
            self.numbers(words.ok_or_else(short)?, None, kind)
        })
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
            Self::Counts { .. } => {}
            Self::Extreme(own) => {
                let best = T::extreme(values, kind, own.is_largest());
                return best.map_or(Ok(()), |best| own.offer(best.value(kind)));
            }
            Self::Sum(own) => {
                own.some = true;
                match counts {
                    Some(counts) => T::add_runs(values, counts, kind, own),
                    None => T::add(values, kind, own),
                }
            }
            Self::Distinct(own) => return own.numbers(values),
            Self::Sorted(own) => return own.numbers(values, kind),
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
    pub(super) fn bit(&mut self, bit: bool) -> Result<()> {
        match self {
            Self::Counts { .. } => {}
            Self::Extreme(own) => return own.offer(Value::Bit(bit)),
            Self::Sum(_) => self.sum(bit.into()),
            Self::Distinct(own) => drop(own.words.insert(bit.into())),
            Self::Sorted(own) => return own.next(Value::Bit(bit)),
        }
        Ok(())
    }

    /// Takes in a string.
    pub(super) fn string(&mut self, string: &[u8]) -> Result<()> {
        match self {
            Self::Counts { .. } => {}
            Self::Sum(_) => return Err(Error::internal("strings have no sum")),
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
    pub(super) fn finish(&self, which: Aggregate, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let count = |count: u64| -> ArrayRef { Arc::new(Int64Array::from(vec![count as i64])) };
        match self {
            Self::Counts { rows, nulls } => Ok(count(match which {
                Aggregate::Rows => *rows,
                Aggregate::Nulls => *nulls,
                _ => rows - nulls,
            })),
            Self::Extreme(own) => match &own.best {
                Some(best) => array_of_one(ty, best),
                None => null_of(ty, column),
            },
            Self::Sum(own) => own.finish(ty, column),
            Self::Distinct(own) => Ok(count(own.count())),
            Self::Sorted(own) => Ok(Arc::new(BooleanArray::from(vec![!own.fails]))),
        }
    }
}

/// Most bytes of a NULL of a fixed-size binary, which has as many as any value.
const NULL_BYTES: i32 = 1 << 24;

/// One NULL of a type.
fn null_of(ty: &DataType, column: &str) -> Result<ArrayRef> {
    match ty {
        DataType::FixedSizeBinary(bytes) if *bytes > NULL_BYTES => Err(Error::limit(format!(
            "column {column:?}: a NULL of at most {NULL_BYTES} bytes is allowed as the result, found {ty}"
        ))),
        _ => Ok(new_null_array(ty, 1)),
    }
}
