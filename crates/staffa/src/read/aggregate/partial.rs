//! One aggregate of one column, as far as it has come.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array,
    UInt64Array, make_array, new_null_array,
};
use arrow_buffer::{Buffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};
use hashbrown::HashSet;
use staffa_kernels::{U256, as_bytes};

use super::Aggregate;
use super::number::{Number, kind_of, words_of};
use crate::decode::Needs;
use crate::error::{Error, Result};
use crate::format::{BlockEntry, Bounds};
use crate::predicate::{Value, array_of_one};
use crate::values::Kind;

/// Longest bound of a string that a zone map need not have cut.
const UNCUT: usize = 15;

/// Most memory for different values, about.
const DISTINCT_BYTES: usize = 1 << 28;

/// Rows of a block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub group: usize,
    pub rows: Range<usize>,
}

pub(super) enum Part {
    Rows(u64),
    Count(u64),
    Nulls(u64),
    Extreme(Extreme),
    Sum(Sum),
    Distinct(Distinct),
    Sorted(Sorted),
}

impl Part {
    /// Of a type; or why there is none.
    pub(super) fn new(which: Aggregate, ty: &DataType) -> Result<Self, String> {
        let ordered = !matches!(ty, DataType::Interval(_));
        Ok(match which {
            Aggregate::Rows => Self::Rows(0),
            Aggregate::Count => Self::Count(0),
            Aggregate::Nulls => Self::Nulls(0),
            Aggregate::Min | Aggregate::Max if ordered => Self::Extreme(Extreme {
                largest: which == Aggregate::Max,
                best: None,
                open: Vec::new(),
            }),
            Aggregate::Sorted if ordered => Self::Sorted(Sorted {
                so_far: true,
                last: None,
            }),
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

    /// Whether a block's zone map told all that is to be known of the block, now or later.
    pub(super) fn by_zone_map(&mut self, entry: &BlockEntry, block: &Block) -> bool {
        let (zone, rows) = (&entry.zone, entry.values as u64);
        let count = rows.saturating_sub(zone.nulls);
        match self {
            Self::Rows(all) => *all += rows,
            Self::Count(all) => *all += count,
            Self::Nulls(all) => *all += zone.nulls,
            _ if count == 0 => {}
            Self::Extreme(part) => return part.by_bounds(&zone.bounds, block),
            Self::Sum(part) => return part.by_bounds(&zone.bounds, count),
            Self::Sorted(part) => return part.by_bounds(&zone.bounds),
            Self::Distinct(_) => return false,
        }
        true
    }

    /// Whether a zone map told that among a block's rows there is none that changes anything,
    /// whichever are wanted.
    pub(super) fn settled(&self, entry: &BlockEntry) -> bool {
        match self {
            Self::Extreme(part) => part.settled(&entry.zone.bounds),
            Self::Sorted(part) => !part.so_far,
            _ => false,
        }
    }

    /// So many rows, NULLs among them.
    pub(super) fn count(&mut self, rows: u64, nulls: u64) {
        match self {
            Self::Rows(all) => *all += rows,
            Self::Count(all) => *all += rows - nulls,
            Self::Nulls(all) => *all += nulls,
            Self::Extreme(_) | Self::Sum(_) | Self::Distinct(_) | Self::Sorted(_) => {}
        }
    }

    /// What values are wanted for; `None` where only their number is.
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

    /// Values of the column's innermost type.
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
            each_bytes(array, &mut |bytes| {
                if done.is_ok() {
                    done = self.string(bytes);
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
        let words = words_of::<T>(array);
        for range in valid(words.len(), array.nulls()) {
            self.numbers(words.get(range).unwrap_or_default(), None, kind)?;
        }
        Ok(())
    }

    /// Numbers, each once or so many times.
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
            Self::Extreme(part) => {
                if let Some(value) = T::extreme(values, kind, part.largest) {
                    part.offer(value.value(kind));
                }
            }
            Self::Sum(part) => {
                part.some = true;
                match counts {
                    Some(counts) => T::add_runs(values, counts, kind, part),
                    None => T::add(values, kind, part),
                }
            }
            Self::Distinct(part) => return part.numbers(values),
            Self::Sorted(part) => part.numbers(values, kind),
        }
        Ok(())
    }

    /// The sum of some values.
    pub(super) fn sum(&mut self, sum: i128) {
        if let Self::Sum(part) = self {
            part.some = true;
            part.int(i256::from_i128(sum));
        }
    }

    /// One more boolean.
    pub(super) fn bit(&mut self, bit: bool) {
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) => {}
            Self::Extreme(part) => part.offer(Value::Bit(bit)),
            Self::Sum(part) => {
                part.some = true;
                part.int(i256::from_i128(bit.into()));
            }
            Self::Distinct(part) => drop(part.words.insert(bit.into())),
            Self::Sorted(part) => part.next(Value::Bit(bit)),
        }
    }

    /// One more string.
    pub(super) fn string(&mut self, string: &[u8]) -> Result<()> {
        match self {
            Self::Rows(_) | Self::Count(_) | Self::Nulls(_) | Self::Sum(_) => {}
            Self::Extreme(part) => part.string(string),
            Self::Distinct(part) => return part.string(string),
            Self::Sorted(part) => part.string(string),
        }
        Ok(())
    }

    /// A block that must be decoded after all.
    pub(super) fn next_open(&mut self) -> Option<Block> {
        if let Self::Extreme(part) = self {
            part.next_open()
        } else {
            None
        }
    }

    pub(super) fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let count = |count: u64| Arc::new(Int64Array::from(vec![count as i64]));
        Ok(match self {
            Self::Rows(all) | Self::Count(all) | Self::Nulls(all) => count(*all),
            Self::Extreme(part) => part
                .best
                .as_ref()
                .map_or_else(|| Ok(new_null_array(ty, 1)), |best| array_of_one(ty, best))?,
            Self::Sum(part) => part.finish(ty, column)?,
            Self::Distinct(part) => count(part.count()),
            Self::Sorted(part) => Arc::new(BooleanArray::from(vec![part.so_far])),
        })
    }
}

/// Of two values of one type, floats in their total order.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bit(a), Value::Bit(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// The smallest and the largest value of a block; of floats only where no NaN is among them, of
/// strings bounds.
fn values_of(bounds: &Bounds) -> Option<(Value, Value)> {
    Some(match bounds {
        Bounds::Bits(no, yes) => (Value::Bit(!no), Value::Bit(*yes)),
        Bounds::Int(min, max) => (
            Value::Int(i256::from_i128(*min)),
            Value::Int(i256::from_i128(*max)),
        ),
        Bounds::Float {
            min,
            max,
            nan: false,
        } => (Value::Float(*min), Value::Float(*max)),
        Bounds::Bytes(min, max) => (Value::Bytes(min.clone()), Value::Bytes(max.clone())),
        _ => return None,
    })
}

/// The smallest or the largest value.
pub(super) struct Extreme {
    largest: bool,
    best: Option<Value>,
    /// Blocks of strings by their bound, sorted once they are asked for.
    open: Vec<(Vec<u8>, Block)>,
}

impl Extreme {
    /// Whether this one comes before that one.
    fn beats(&self, a: &Value, b: &Value) -> bool {
        order(a, b)
            == if self.largest {
                Ordering::Greater
            } else {
                Ordering::Less
            }
    }

    fn offer(&mut self, value: Value) {
        if self
            .best
            .as_ref()
            .is_none_or(|best| self.beats(&value, best))
        {
            self.best = Some(value);
        }
    }

    fn by_bounds(&mut self, bounds: &Bounds, block: &Block) -> bool {
        let Some((min, max)) = values_of(bounds) else {
            return false;
        };
        let same = order(&min, &max).is_eq();
        let exact = match &min {
            // The largest may have been raised to a bound of any length; where both are the same,
            // it is the value.
            Value::Bytes(min) => min.len() <= UNCUT && (same || !self.largest),
            _ => true,
        };
        match if self.largest { max } else { min } {
            Value::Bytes(bound) if !exact => self.open.push((bound, block.clone())),
            value => self.offer(value),
        }
        true
    }

    fn next_open(&mut self) -> Option<Block> {
        let largest = self.largest;
        // The best at the end.
        self.open
            .sort_by(|(a, _), (b, _)| if largest { a.cmp(b) } else { b.cmp(a) });
        let (bound, block) = self.open.pop()?;
        match &self.best {
            Some(Value::Bytes(best))
                if if largest {
                    *best >= bound
                } else {
                    *best <= bound
                } =>
            {
                None
            }
            _ => Some(block),
        }
    }

    fn settled(&self, bounds: &Bounds) -> bool {
        let Some((best, (min, max))) = self.best.as_ref().zip(values_of(bounds)) else {
            return false;
        };
        !self.beats(if self.largest { &max } else { &min }, best)
    }

    fn string(&mut self, string: &[u8]) {
        let beats = match &self.best {
            Some(Value::Bytes(best)) if self.largest => string > best.as_slice(),
            Some(Value::Bytes(best)) => string < best.as_slice(),
            _ => true,
        };
        if beats {
            self.best = Some(Value::Bytes(string.to_vec()));
        }
    }
}

/// Ranges of values that are not NULL.
fn valid(len: usize, nulls: Option<&NullBuffer>) -> Vec<Range<usize>> {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 => nulls
            .valid_slices()
            .map(|(start, end)| start..end)
            .collect(),
        _ => std::iter::once(0..len).collect(),
    }
}

/// All strings that are not NULL.
fn each_bytes<'a>(array: &'a ArrayRef, with: &mut dyn FnMut(&'a [u8])) {
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

/// A sum.
#[derive(Default)]
pub(super) struct Sum {
    /// Whether there are values.
    some: bool,
    int: i256,
    pub(super) float: f64,
    /// Whether more than 256 bits would have been needed.
    beyond: bool,
}

impl Sum {
    pub(super) fn int(&mut self, value: i256) {
        match self.int.checked_add(value) {
            Some(sum) => self.int = sum,
            None => self.beyond = true,
        }
    }

    /// Where all values are the same integer.
    fn by_bounds(&mut self, bounds: &Bounds, count: u64) -> bool {
        let value = match bounds {
            Bounds::Int(min, max) if min == max => *min,
            Bounds::Bits(true, false) => 0,
            Bounds::Bits(false, true) => 1,
            _ => return false,
        };
        let Some(sum) = i256::from_i128(value).checked_mul(i256::from_i128(count.into())) else {
            return false;
        };
        self.some = true;
        self.int(sum);
        true
    }

    fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let (ty, name) = match ty {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => (
                DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale),
                "38 digits",
            ),
            DataType::Decimal256(_, scale) => (
                DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
                "76 digits",
            ),
            ty @ DataType::Duration(_) => (ty.clone(), "64 bits"),
            ty if ty.is_floating() => (DataType::Float64, ""),
            ty if ty.is_signed_integer() => (DataType::Int64, "64 bits"),
            _ => (DataType::UInt64, "64 bits without a sign"),
        };
        if !self.some {
            return Ok(new_null_array(&ty, 1));
        }
        let beyond = || Error::invalid(format!("the sum of column {column:?} does not fit {name}"));
        if self.beyond {
            return Err(beyond());
        }
        let word = self.int.to_i128();
        let digits = |e| {
            if matches!(e, arrow_schema::ArrowError::InvalidArgumentError(_)) {
                beyond()
            } else {
                e.into()
            }
        };
        Ok(match ty {
            DataType::Decimal128(precision, scale) => {
                let array = Decimal128Array::from(vec![word.ok_or_else(beyond)?]);
                array
                    .validate_decimal_precision(precision)
                    .map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Decimal256(precision, scale) => {
                let array = Decimal256Array::from(vec![self.int]);
                array
                    .validate_decimal_precision(precision)
                    .map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Float64 => Arc::new(Float64Array::from(vec![self.float])),
            DataType::UInt64 => {
                let sum = word
                    .and_then(|word| u64::try_from(word).ok())
                    .ok_or_else(beyond)?;
                Arc::new(UInt64Array::from(vec![sum]))
            }
            // Signed integers and durations.
            ty => {
                let sum = word
                    .and_then(|word| i64::try_from(word).ok())
                    .ok_or_else(beyond)?;
                let bytes = Buffer::from(sum.to_le_bytes());
                make_array(ArrayData::builder(ty).len(1).add_buffer(bytes).build()?)
            }
        })
    }
}

/// Different values: words by themselves, what is longer by its bytes.
#[derive(Default)]
pub(super) struct Distinct {
    words: HashSet<u64>,
    others: HashSet<Box<[u8]>>,
    bytes: usize,
}

impl Distinct {
    fn count(&self) -> u64 {
        (self.words.len() + self.others.len()) as u64
    }

    fn other(&mut self, bytes: &[u8]) {
        if !self.others.contains(bytes) {
            self.others.insert(bytes.into());
            self.bytes += bytes.len() + 32;
        }
    }

    fn numbers<T: Number>(&mut self, values: &[T]) -> Result<()> {
        if T::BYTES > 8 {
            let mut bytes = Vec::with_capacity(T::BYTES);
            for value in values {
                bytes.clear();
                value.write_le(&mut bytes);
                self.other(&bytes);
            }
        } else {
            let word = |value: &T| {
                let mut word = [0; 8];
                word.iter_mut()
                    .zip(as_bytes(std::slice::from_ref(value)))
                    .for_each(|(to, from)| *to = *from);
                u64::from_le_bytes(word)
            };
            self.words.extend(values.iter().map(word));
        }
        self.within_memory()
    }

    fn string(&mut self, string: &[u8]) -> Result<()> {
        self.other(string);
        self.within_memory()
    }

    fn within_memory(&self) -> Result<()> {
        let held = self.bytes + self.words.len() * 16;
        if held > DISTINCT_BYTES {
            let count = self.count();
            return Err(Error::limit(format!(
                "{count} different values and more: too many to count within memory"
            )));
        }
        Ok(())
    }
}

/// Whether values ascend.
pub(super) struct Sorted {
    so_far: bool,
    /// The last value that is not NULL.
    last: Option<Value>,
}

impl Sorted {
    fn by_bounds(&mut self, bounds: &Bounds) -> bool {
        if !self.so_far {
            return true;
        }
        let Some((min, max)) = values_of(bounds) else {
            return false;
        };
        let cut = matches!(&max, Value::Bytes(_));
        if let Some(last) = &self.last
            && order(if cut { &max } else { &min }, last).is_lt()
        {
            self.so_far = false;
            return true;
        }
        if !cut && order(&min, &max).is_eq() {
            self.last = Some(max);
            return true;
        }
        false
    }

    fn follows(&self, value: &Value) -> bool {
        self.last
            .as_ref()
            .is_none_or(|last| order(last, value).is_le())
    }

    fn next(&mut self, value: Value) {
        self.so_far = self.so_far && self.follows(&value);
        self.last = Some(value);
    }

    fn numbers<T: Number>(&mut self, values: &[T], kind: Kind) {
        if let (Some(first), Some(last)) = (values.first(), values.last())
            && self.so_far
        {
            self.so_far = self.follows(&first.value(kind)) && T::ascend(values, kind);
            self.last = Some(last.value(kind));
        }
    }

    fn string(&mut self, string: &[u8]) {
        match &mut self.last {
            _ if !self.so_far => {}
            Some(Value::Bytes(last)) => {
                self.so_far = last.as_slice() <= string;
                last.clear();
                last.extend_from_slice(string);
            }
            last => *last = Some(Value::Bytes(string.to_vec())),
        }
    }
}
