//! Concatenation of dictionaries.
//!
//! 1. Equal dictionaries, or each a prefix of the longest: the longest and all keys are kept.
//! 2. Different ordered dictionaries are not joined, since the order of their values has a meaning.
//! 3. Values that compare by their bytes: each distinct value once, in the order of appearance; only
//!    the values in use where all outgrow the key type.
//! 4. Nested values: one dictionary after another; only the values in use where all outgrow the key
//!    type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, BinaryType, BinaryViewType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_schema::{DataType, Field};
use hashbrown::HashMap;

use super::concat::{cast_all, join_values};
use super::layout::physical;
use super::take::take;
use crate::error::{Error, Result};

/// One dictionary array out of several; `nulls` is the joined validity of their keys.
pub(super) fn join<K: ArrowDictionaryKeyType>(
    ordered: bool,
    arrays: &[ArrayRef],
    nulls: Option<NullBuffer>,
) -> Result<Option<ArrayRef>> {
    let parts = cast_all(arrays, |array| array.as_dictionary_opt::<K>())?;
    let Some(longest) = parts
        .iter()
        .map(|part| part.values())
        .max_by_key(Array::len)
    else {
        return Ok(None);
    };
    let begins = |values: &ArrayRef| {
        Arc::ptr_eq(values, longest) || longest.slice(0, values.len()).to_data() == values.to_data()
    };
    if parts.iter().all(|part| begins(part.values())) {
        return rekey(&parts, longest.clone(), nulls, |_, key| Some(key));
    }
    if ordered {
        return Ok(None);
    }
    if parts
        .iter()
        .all(|part| Comparable::new(part.values()).is_some())
    {
        for used_only in [false, true] {
            if let Some((values, map)) = unify(&parts, used_only)? {
                let mapped = |part: usize, key: usize| map.get(part)?.get(key).copied();
                return rekey(&parts, values, nulls, mapped);
            }
        }
        return Ok(None);
    }
    match append(&parts, nulls.clone(), false)? {
        None => append(&parts, nulls, true),
        joined => Ok(joined),
    }
}

/// All values or those in use, one dictionary after another.
fn append<K: ArrowDictionaryKeyType>(
    parts: &[&DictionaryArray<K>],
    nulls: Option<NullBuffer>,
    used_only: bool,
) -> Result<Option<ArrayRef>> {
    let (mut kept, mut map, mut end) = (
        Vec::with_capacity(parts.len()),
        Vec::with_capacity(parts.len()),
        0,
    );
    for part in parts {
        let values = part.values();
        let mut used: Vec<u32> = Vec::new();
        let mut to = vec![0; values.len()];
        let occupancy = used_only.then(|| part.occupancy());
        for (value, to) in to.iter_mut().enumerate() {
            if occupancy.as_ref().is_none_or(|used| used.value(value)) {
                *to = end;
                end += 1;
                used.push(value as u32);
            }
        }
        if !fits::<K>(end) {
            return Ok(None);
        }
        let field = Field::new("values", values.data_type().clone(), true);
        kept.push(if used.len() < values.len() {
            take(&field, values, &used)?
        } else {
            values.clone()
        });
        map.push(to);
    }
    let Some(values) = join_values(&kept)? else {
        return Ok(None);
    };
    rekey(parts, values, nulls, |part, key| {
        map.get(part)?.get(key).copied()
    })
}

/// Whether the key type can number `values` values.
fn fits<K: ArrowDictionaryKeyType>(values: usize) -> bool {
    K::Native::from_usize(values.saturating_sub(1)).is_some()
}

/// All keys, each through `map`; those under a NULL become 0.
fn rekey<K: ArrowDictionaryKeyType>(
    parts: &[&DictionaryArray<K>],
    values: ArrayRef,
    nulls: Option<NullBuffer>,
    map: impl Fn(usize, usize) -> Option<usize>,
) -> Result<Option<ArrayRef>> {
    let mut keys = Vec::with_capacity(parts.iter().map(Array::len).sum());
    for (i, part) in parts.iter().enumerate() {
        for (row, key) in part.keys().values().iter().enumerate() {
            let mapped = if part.is_valid(row) {
                key.to_usize().and_then(|key| map(i, key))
            } else {
                Some(0)
            };
            let key = mapped.and_then(K::Native::from_usize);
            keys.push(key.ok_or_else(|| Error::invalid("a key outside of its dictionary"))?);
        }
    }
    let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls)?;
    Ok(Some(Arc::new(DictionaryArray::try_new(keys, values)?)))
}

/// Position of each value of each dictionary among the joined values.
type Places = Vec<Vec<usize>>;

/// The distinct values, and the position of each value of each dictionary; `None` where they outgrow
/// the key type or 32-bit offsets.
fn unify<K: ArrowDictionaryKeyType>(
    parts: &[&DictionaryArray<K>],
    used_only: bool,
) -> Result<Option<(ArrayRef, Places)>> {
    let comparables = parts.iter().map(|part| Comparable::new(part.values()));
    let comparables = comparables.collect::<Option<Vec<_>>>();
    let comparables =
        comparables.ok_or_else(|| Error::internal("nested values of a dictionary are unified"))?;
    let mut places: HashMap<Option<&[u8]>, usize> = HashMap::new();
    let mut picks: Vec<(usize, usize)> = Vec::new();
    let mut bytes = 0;
    let mut map = Vec::with_capacity(parts.len());
    for (i, (part, values)) in parts.iter().zip(&comparables).enumerate() {
        let used = used_only.then(|| part.occupancy());
        let mut to = vec![0; part.values().len()];
        for (value, to) in to.iter_mut().enumerate() {
            if used.as_ref().is_some_and(|used| !used.value(value)) {
                continue;
            }
            *to = *places.entry(values.get(value)).or_insert_with_key(|key| {
                bytes += key.map_or(0, <[u8]>::len);
                picks.push((i, value));
                picks.len() - 1
            });
        }
        map.push(to);
    }
    if !fits::<K>(picks.len()) || bytes > i32::MAX as usize {
        return Ok(None);
    }
    let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.values().as_ref()).collect();
    Ok(Some((
        arrow_select::interleave::interleave(&arrays, &picks)?,
        map,
    )))
}

/// The values of a dictionary, as bytes that are equal where the values are.
struct Comparable<'a> {
    nulls: Option<NullBuffer>,
    bytes: Bytes<'a>,
}

enum Bytes<'a> {
    Words(Buffer, usize),
    Strings(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
}

impl<'a> Comparable<'a> {
    /// `None` for nested values.
    fn new(array: &'a ArrayRef) -> Option<Self> {
        let strings: Box<dyn Fn(usize) -> &'a [u8] + 'a> =
            if let Some(array) = array.as_bytes_opt::<Utf8Type>() {
                Box::new(|i| array.value(i).as_bytes())
            } else if let Some(array) = array.as_bytes_opt::<LargeUtf8Type>() {
                Box::new(|i| array.value(i).as_bytes())
            } else if let Some(array) = array.as_bytes_opt::<BinaryType>() {
                Box::new(|i| array.value(i))
            } else if let Some(array) = array.as_bytes_opt::<LargeBinaryType>() {
                Box::new(|i| array.value(i))
            } else if let Some(array) = array.as_byte_view_opt::<StringViewType>() {
                Box::new(|i| array.value(i).as_bytes())
            } else if let Some(array) = array.as_byte_view_opt::<BinaryViewType>() {
                Box::new(|i| array.value(i))
            } else {
                let width = match (array.data_type(), physical(array.data_type())) {
                    (DataType::FixedSizeBinary(0), _) => return None,
                    (DataType::FixedSizeBinary(size), _) => *size as usize,
                    (_, Some((ty, _))) => ty.width_bytes()?,
                    _ => return None,
                };
                let data = array.to_data();
                let buffer = data
                    .buffers()
                    .first()?
                    .slice_with_length(data.offset() * width, data.len() * width);
                return Some(Self {
                    nulls: array.nulls().cloned(),
                    bytes: Bytes::Words(buffer, width),
                });
            };
        Some(Self {
            nulls: array.nulls().cloned(),
            bytes: Bytes::Strings(strings),
        })
    }

    /// Value `i`; `None` where it is NULL.
    fn get(&self, i: usize) -> Option<&[u8]> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i)) {
            return None;
        }
        match &self.bytes {
            Bytes::Words(data, width) => data.get(i * width..(i + 1) * width),
            Bytes::Strings(get) => Some(get(i)),
        }
    }
}
