//! One aggregate of one column, as far as it has come.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float16Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array, UInt64Array, make_array,
    new_null_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};
use hashbrown::HashSet;

use super::Aggregate;
use crate::error::{Error, Result};
use crate::file::BlockEntry;
use crate::predicate::{Value, array_of_one};
use crate::zone::Bounds;

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
            Aggregate::Min | Aggregate::Max if ordered => {
                Self::Extreme(Extreme { largest: which == Aggregate::Max, best: None, open: Vec::new() })
            }
            Aggregate::Sorted if ordered => Self::Sorted(Sorted { so_far: true, last: None }),
            Aggregate::Min | Aggregate::Max | Aggregate::Sorted => return Err("its values have no order".into()),
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

    /// Values of the column's innermost type.
    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let rows = array.len() as u64;
        let nulls = array.logical_null_count() as u64;
        match self {
            Self::Rows(all) => *all += rows,
            Self::Count(all) => *all += rows - nulls,
            Self::Nulls(all) => *all += nulls,
            _ if rows == nulls => {}
            Self::Extreme(part) => part.push(array),
            Self::Sum(part) => part.push(array),
            Self::Distinct(part) => return part.push(array),
            Self::Sorted(part) => return part.push(array),
        }
        Ok(())
    }

    /// A block that must be decoded after all.
    pub(super) fn next_open(&mut self) -> Option<Block> {
        if let Self::Extreme(part) = self { part.next_open() } else { None }
    }

    pub(super) fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let count = |count: u64| Arc::new(Int64Array::from(vec![count as i64]));
        Ok(match self {
            Self::Rows(all) | Self::Count(all) | Self::Nulls(all) => count(*all),
            Self::Extreme(part) => {
                part.best.as_ref().map_or_else(|| Ok(new_null_array(ty, 1)), |best| array_of_one(ty, best))?
            }
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

/// The smallest and the largest value of a block; of floats only where no NaN is among them, of strings bounds.
fn values_of(bounds: &Bounds) -> Option<(Value, Value)> {
    Some(match bounds {
        Bounds::Bits(no, yes) => (Value::Bit(!no), Value::Bit(*yes)),
        Bounds::Int(min, max) => (Value::Int(i256::from_i128(*min)), Value::Int(i256::from_i128(*max))),
        Bounds::Float { min, max, nan: false } => (Value::Float(*min), Value::Float(*max)),
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
        order(a, b) == if self.largest { Ordering::Greater } else { Ordering::Less }
    }

    fn offer(&mut self, value: Value) {
        if self.best.as_ref().is_none_or(|best| self.beats(&value, best)) {
            self.best = Some(value);
        }
    }

    fn by_bounds(&mut self, bounds: &Bounds, block: &Block) -> bool {
        let Some((min, max)) = values_of(bounds) else { return false };
        let same = order(&min, &max).is_eq();
        let exact = match &min {
            // The largest may have been raised to a bound of any length; where both are the same, it is the value.
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
        self.open.sort_by(|(a, _), (b, _)| if largest { a.cmp(b) } else { b.cmp(a) });
        let (bound, block) = self.open.pop()?;
        match &self.best {
            Some(Value::Bytes(best)) if if largest { *best >= bound } else { *best <= bound } => None,
            _ => Some(block),
        }
    }

    fn push(&mut self, array: &ArrayRef) {
        if let Some(value) = extreme(array, self.largest) {
            self.offer(value);
        }
    }
}

/// Runs `$body` with `$values` bound to the native values of a primitive array, or `$other`.
macro_rules! natives {
    ($array:expr, $values:ident => $body:expr, $other:expr) => {{
        let data = $array.to_data();
        macro_rules! of {
            ($native:ty) => {{
                let buffer: Option<&Buffer> = data.buffers().first();
                let all = buffer.map(|b| b.typed_data::<$native>()).unwrap_or_default();
                let $values = all.get(data.offset()..data.offset() + data.len()).unwrap_or_default();
                $body
            }};
        }
        match data.data_type() {
            DataType::Float16 => {
                let halves: Vec<f32> =
                    $array.as_primitive::<Float16Type>().values().iter().map(|h| h.to_f32()).collect();
                let $values = halves.as_slice();
                $body
            }
            DataType::Float32 => of!(f32),
            DataType::Float64 => of!(f64),
            DataType::UInt8 => of!(u8),
            DataType::UInt16 => of!(u16),
            DataType::UInt32 => of!(u32),
            DataType::UInt64 => of!(u64),
            ty if matches!(ty, DataType::Interval(_)) => $other,
            ty => match ty.primitive_width() {
                Some(1) => of!(i8),
                Some(2) => of!(i16),
                Some(4) => of!(i32),
                Some(8) => of!(i64),
                Some(16) => of!(i128),
                Some(32) => of!(i256),
                _ => $other,
            },
        }
    }};
}

/// A number of an Arrow array.
trait Native: ArrowNativeType {
    fn value(self) -> Value;
    fn less(self, other: Self) -> bool;
    /// Adds values up.
    fn add(values: &[Self], sum: &mut Sum);
}

macro_rules! native_ints {
    ($($native:ty: $wide:ty),*) => {$(
        impl Native for $native {
            fn value(self) -> Value {
                Value::Int(i256::from_i128(self.into()))
            }

            #[inline]
            fn less(self, other: Self) -> bool {
                self < other
            }

            fn add(values: &[Self], sum: &mut Sum) {
                // So many of these fit the wider type.
                for chunk in values.chunks(1 << 20) {
                    let wide: $wide = chunk.iter().map(|v| <$wide>::from(*v)).sum();
                    sum.int(i256::from_i128(wide.into()));
                }
            }
        }
    )*};
}
native_ints!(i8: i64, i16: i64, i32: i64, u8: i64, u16: i64, u32: i64, i64: i128, u64: i128);

impl Native for i128 {
    fn value(self) -> Value {
        Value::Int(i256::from_i128(self))
    }

    fn less(self, other: Self) -> bool {
        self < other
    }

    fn add(values: &[Self], sum: &mut Sum) {
        let rest = values.iter().fold(0i128, |so_far, value| {
            so_far.checked_add(*value).unwrap_or_else(|| {
                sum.int(i256::from_i128(so_far));
                *value
            })
        });
        sum.int(i256::from_i128(rest));
    }
}

impl Native for i256 {
    fn value(self) -> Value {
        Value::Int(self)
    }

    fn less(self, other: Self) -> bool {
        self < other
    }

    fn add(values: &[Self], sum: &mut Sum) {
        values.iter().for_each(|value| sum.int(*value));
    }
}

macro_rules! native_floats {
    ($($native:ty: $double:expr),*) => {$(
        impl Native for $native {
            fn value(self) -> Value {
                Value::Float($double(self))
            }

            #[inline]
            fn less(self, other: Self) -> bool {
                self.total_cmp(&other).is_lt()
            }

            fn add(values: &[Self], sum: &mut Sum) {
                sum.float = values.iter().fold(sum.float, |sum, value| sum + $double(*value));
            }
        }
    )*};
}
native_floats!(f64: f64::from, f32: f64::from);

/// Ranges of values that are not NULL.
fn valid(len: usize, nulls: Option<&NullBuffer>) -> Vec<Range<usize>> {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 => nulls.valid_slices().map(|(start, end)| start..end).collect(),
        _ => std::iter::once(0..len).collect(),
    }
}

/// The smallest or the largest value that is not NULL.
fn extreme(array: &ArrayRef, largest: bool) -> Option<Value> {
    fn of<T: Native>(values: &[T], nulls: Option<&NullBuffer>, largest: bool) -> Option<Value> {
        let all = valid(values.len(), nulls);
        let all = all.into_iter().flat_map(|range| values.get(range).unwrap_or_default()).copied();
        let best = if largest {
            all.reduce(|best, value| if best.less(value) { value } else { best })
        } else {
            all.reduce(|best, value| if value.less(best) { value } else { best })
        };
        best.map(T::value)
    }
    if let Some(bits) = array.as_boolean_opt() {
        let all = bits.iter().flatten();
        return if largest { all.max() } else { all.min() }.map(Value::Bit);
    }
    natives!(array, values => of(values, array.nulls(), largest), {
        let mut best: Option<&[u8]> = None;
        each_bytes(array, &mut |bytes| {
            let beats = best.is_none_or(|best| if largest { bytes > best } else { bytes < best });
            best = if beats { Some(bytes) } else { best };
        });
        best.map(|bytes| Value::Bytes(bytes.to_vec()))
    })
}

/// All strings that are not NULL.
fn each_bytes<'a>(array: &'a ArrayRef, with: &mut dyn FnMut(&'a [u8])) {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().flatten().for_each(|s| with(s.as_bytes())),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().for_each(|s| with(s.as_bytes())),
        DataType::Utf8View => array.as_string_view().iter().flatten().for_each(|s| with(s.as_bytes())),
        DataType::Binary => array.as_binary::<i32>().iter().flatten().for_each(with),
        DataType::LargeBinary => array.as_binary::<i64>().iter().flatten().for_each(with),
        DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(with),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().for_each(with),
        _ => {}
    }
}

/// A sum.
#[derive(Default)]
pub(super) struct Sum {
    /// Whether there are values.
    some: bool,
    int: i256,
    float: f64,
    /// Whether more than 256 bits would have been needed.
    beyond: bool,
}

impl Sum {
    fn int(&mut self, value: i256) {
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
        let Some(sum) = i256::from_i128(value).checked_mul(i256::from_i128(count.into())) else { return false };
        self.some = true;
        self.int(sum);
        true
    }

    fn push(&mut self, array: &ArrayRef) {
        self.some = true;
        if let Some(bits) = array.as_boolean_opt() {
            return self.int(i256::from_i128(bits.true_count() as i128));
        }
        natives!(array, values => {
            for range in valid(values.len(), array.nulls()) {
                Native::add(values.get(range).unwrap_or_default(), self);
            }
        }, {});
    }

    fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let (ty, name) = match ty {
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
                (DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale), "38 digits")
            }
            DataType::Decimal256(_, scale) => (DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale), "76 digits"),
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
        let digits =
            |e| if matches!(e, arrow_schema::ArrowError::InvalidArgumentError(_)) { beyond() } else { e.into() };
        Ok(match ty {
            DataType::Decimal128(precision, scale) => {
                let array = Decimal128Array::from(vec![word.ok_or_else(beyond)?]);
                array.validate_decimal_precision(precision).map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Decimal256(precision, scale) => {
                let array = Decimal256Array::from(vec![self.int]);
                array.validate_decimal_precision(precision).map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Float64 => Arc::new(Float64Array::from(vec![self.float])),
            DataType::UInt64 => {
                let sum = word.and_then(|word| u64::try_from(word).ok()).ok_or_else(beyond)?;
                Arc::new(UInt64Array::from(vec![sum]))
            }
            // Signed integers and durations.
            ty => {
                let sum = word.and_then(|word| i64::try_from(word).ok()).ok_or_else(beyond)?;
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

    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let data = array.to_data();
        let width = array.data_type().primitive_width();
        match width {
            _ if array.as_boolean_opt().is_some() => {
                self.words.extend(array.as_boolean().iter().flatten().map(u64::from));
            }
            Some(width) => {
                let all = data.buffers().first().map(Buffer::as_slice).unwrap_or_default();
                for range in valid(data.len(), data.nulls()) {
                    let (start, end) = (data.offset() + range.start, data.offset() + range.end);
                    for bytes in all.get(start * width..end * width).unwrap_or_default().chunks_exact(width) {
                        if width > 8 {
                            self.other(bytes);
                        } else {
                            let mut word = [0; 8];
                            word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                            self.words.insert(u64::from_le_bytes(word));
                        }
                    }
                }
            }
            None => each_bytes(array, &mut |bytes| self.other(bytes)),
        }
        let held = self.bytes + self.words.len() * 16;
        if held > DISTINCT_BYTES {
            let count = self.count();
            return Err(Error::limit(format!("{count} different values and more: too many to count within memory")));
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
        let Some((min, max)) = values_of(bounds) else { return false };
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

    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        if !self.so_far {
            return Ok(());
        }
        let array = match array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => arrow_select::filter::filter(array, &BooleanArray::new(nulls.into_inner(), None))?,
            None => array.clone(),
        };
        let Some(end) = array.len().checked_sub(1) else { return Ok(()) };
        let first = extreme(&array.slice(0, 1), false);
        let follows = self.last.as_ref().zip(first.as_ref()).is_none_or(|(last, first)| order(last, first).is_le());
        self.so_far = follows
            && natives!(array, values => ascend(values), {
                let compare = arrow_ord::ord::make_comparator(&array, &array, arrow_schema::SortOptions::default())?;
                (0..end).all(|i| compare(i, i + 1).is_le())
            });
        self.last = extreme(&array.slice(end, 1), false);
        Ok(())
    }
}

/// Whether no value is less than the one before it.
fn ascend<T: Native>(values: &[T]) -> bool {
    values.iter().zip(values.iter().skip(1)).all(|(before, value)| !value.less(*before))
}
