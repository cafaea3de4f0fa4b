//! Concatenation of dictionaries.
//!
//! 1. Equal dictionaries, or each a prefix of the longest: the longest and all keys are kept.
//! 2. Different ordered dictionaries are not joined, since the order of their values has a meaning.
//! 3. Values that compare by their bytes: each distinct value once, in the order of appearance.
//!    Nested values and bits: one dictionary after another. Only the values in use where all outgrow
//!    the key type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::Field;
use hashbrown::HashMap;

use super::concat::{cast_all, join_values};
use super::layout::physical;
use super::shred_leaf::values;
use super::shred_level::Level;
use super::take::take;
use crate::error::{Error, Result};
use crate::values::{LeafValues, PhysicalType};

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
    for used_only in [false, true] {
        if let Some((values, places)) = number(&parts, used_only)? {
            let place = |part: usize, key: usize| places.get(part)?.get(key).copied();
            return rekey(&parts, values, nulls, place);
        }
    }
    Ok(None)
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

/// The values of all dictionaries or those in use, each distinct value once unless they are nested,
/// and the position of each value of each dictionary; `None` where they outgrow the key type or their
/// offsets.
fn number<K: ArrowDictionaryKeyType>(
    parts: &[&DictionaryArray<K>],
    used_only: bool,
) -> Result<Option<(ArrayRef, Places)>> {
    let comparables = parts.iter().map(|part| Comparable::new(part.values()));
    let comparables = comparables.collect::<Option<Vec<_>>>();
    let mut known: HashMap<Option<&[u8]>, usize> = HashMap::new();
    let (mut kept, mut places, mut end) = (Vec::new(), Vec::new(), 0);
    for (i, part) in parts.iter().enumerate() {
        let values = part.values();
        let used = used_only.then(|| part.occupancy());
        let comparable = comparables.as_ref().and_then(|all| all.get(i));
        let (mut rows, mut to) = (Vec::new(), vec![0; values.len()]);
        for (value, to) in to.iter_mut().enumerate() {
            if used.as_ref().is_some_and(|used| !used.value(value)) {
                continue;
            }
            *to = match comparable {
                Some(comparable) => *known.entry(comparable.get(value)).or_insert(end),
                None => end,
            };
            if *to == end {
                rows.push(value as u32);
                end += 1;
            }
        }
        if !fits::<K>(end) {
            return Ok(None);
        }
        let field = Field::new("values", values.data_type().clone(), true);
        kept.push(if rows.len() < values.len() {
            take(&field, values, &rows)?
        } else {
            values.clone()
        });
        places.push(to);
    }
    let values = join_values(&kept)?;
    Ok(values.map(|values| (values, places)))
}

/// The values of a dictionary, which compare by their bytes.
struct Comparable {
    nulls: Option<NullBuffer>,
    values: LeafValues,
    /// Bytes of a word.
    width: usize,
}

impl Comparable {
    /// `None` for nested values and bits.
    fn new(array: &ArrayRef) -> Option<Self> {
        let (ty, _) = physical(array.data_type())?;
        let level = Level::top(true, None);
        let values = values(array.as_ref(), array.data_type(), Some(ty), &level);
        Some(Self {
            nulls: array.nulls().cloned(),
            values: values.ok()?,
            width: ty
                .width_bytes()
                .or((ty == PhysicalType::Bytes).then_some(0))?,
        })
    }

    /// Value `i`; `None` where it is NULL.
    fn get(&self, i: usize) -> Option<&[u8]> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i)) {
            return None;
        }
        match &self.values {
            LeafValues::Words(_, data) => data.get(i * self.width..(i + 1) * self.width),
            LeafValues::Bytes { offsets, data } => match offsets.get(i..i + 2) {
                Some(&[start, end]) => data.get(start as usize..end as usize),
                _ => None,
            },
            _ => None,
        }
    }
}
