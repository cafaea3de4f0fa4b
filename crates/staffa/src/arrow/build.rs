//! Nested arrays from their parts, through Arrow's checked constructors alone.
//!
//! The constructors refuse some arrays that Arrow's own readers make, and panic on some parts:
//! [`assemble`](super::assemble()) and [`concat`](super::concat()) call them only here. A refusal is
//! `Error::corrupt`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, GenericListArray,
    GenericListViewArray, MapArray, OffsetSizeTrait, PrimitiveArray, RunArray, StructArray,
    make_array,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use staffa_kernels::lengths_to_offsets_i32;

use crate::error::{Error, Result};
use crate::values::{Bitmap, COPIED, Physical};

/// The validity of the levels above, up to the nearest list: a NULL there hides the rows below it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mask<'a> {
    above: Option<&'a Mask<'a>>,
    nulls: Option<&'a NullBuffer>,
    /// Rows of this level for each row of the one above: 1 in a struct, the size in a fixed-size
    /// list.
    times: usize,
}

impl<'a> Mask<'a> {
    /// The mask of the children of a level with these NULLs, `times` for each row.
    pub(crate) fn below(above: &'a Mask<'a>, nulls: Option<&'a NullBuffer>, times: usize) -> Self {
        Self {
            above: Some(above),
            nulls,
            times,
        }
    }

    /// Whether nothing is hidden.
    pub(crate) fn is_none(&self) -> bool {
        self.nulls.is_none() && self.above.is_none_or(Mask::is_none)
    }

    /// Whether row `row` of the children is hidden.
    pub(crate) fn hides(&self, row: usize) -> bool {
        let row = row.checked_div(self.times).unwrap_or(0);
        self.nulls
            .is_some_and(|nulls| row < nulls.len() && nulls.is_null(row))
            || self.above.is_some_and(|m| m.hides(row))
    }

    /// The NULLs of a level of `rows` rows under this mask, with those above where `needed`: Arrow
    /// accepts a NULL of a field that is not nullable only if the struct right above hides it, but
    /// Parquet readers make arrays where a level further up does.
    fn widen(&self, nulls: Option<NullBuffer>, rows: usize, needed: bool) -> Option<NullBuffer> {
        if !needed || self.is_none() {
            return nulls;
        }
        let valid =
            |row| !self.hides(row) && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        Some(NullBuffer::new(BooleanBuffer::collect_bool(rows, valid)))
    }
}

/// Arrow's refusal of parts that do not fit; by value for `map_err`.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn refused(error: ArrowError) -> Error {
    Error::corrupt(error.to_string())
}

/// A bitmap as Arrow's, without copying.
pub(crate) fn boolean_buffer(bits: Bitmap) -> BooleanBuffer {
    let len = bits.len();
    BooleanBuffer::new(Buffer::from_vec(bits.into_words()), 0, len)
}

/// The words of a buffer; copied where they are not aligned.
pub(crate) fn scalars<T: ArrowNativeType>(data: Buffer) -> Result<ScalarBuffer<T>> {
    let width = size_of::<T>();
    if !data.len().is_multiple_of(width) {
        return Err(Error::corrupt(format!(
            "{} bytes are not a whole number of words of {width}",
            data.len()
        )));
    }
    if data.is_empty() {
        return Ok(Vec::new().into());
    }
    if data.as_ptr().align_offset(align_of::<T>()) == 0 {
        return Ok(data.into());
    }
    Ok(Buffer::from_slice_ref(data.as_slice()).into())
}

/// The length of a list as the file has it: 32 bits, 64 bits of large lists.
pub(crate) trait Length: Physical + ArrowNativeType + Into<u64> {
    /// Where such a list ends.
    type Offset: OffsetSizeTrait;

    /// Makes lengths ends; `None` where the last is more than an offset.
    fn sum(lengths: &mut [Self]) -> Option<()>;
}

impl Length for u32 {
    type Offset = i32;

    fn sum(lengths: &mut [Self]) -> Option<()> {
        lengths_to_offsets_i32(0, lengths).map(|_| ())
    }
}

impl Length for u64 {
    type Offset = i64;

    fn sum(lengths: &mut [Self]) -> Option<()> {
        let mut end = 0i64;
        lengths.iter_mut().try_for_each(|length| {
            end = end.checked_add_unsigned(*length)?;
            *length = end.cast_unsigned();
            Some(())
        })
    }
}

/// Offsets of lists that lie one after another; a NULL has no items, whatever its length.
pub(crate) fn offsets<L: Length>(
    ty: &DataType,
    lengths: &[L],
    nulls: Option<&NullBuffer>,
) -> Result<OffsetBuffer<L::Offset>> {
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    offsets.push(L::default());
    for lengths in lengths.chunks(COPIED) {
        offsets.extend_from_slice(lengths);
    }
    let ends = offsets.get_mut(1..).unwrap_or_default();
    for (length, is_valid) in ends.iter_mut().zip(nulls.into_iter().flatten()) {
        *length = if is_valid { *length } else { L::default() };
    }
    let too_long = || Error::corrupt(format!("{ty}: the lengths add up to too many items"));
    L::sum(ends).ok_or_else(too_long)?;
    Ok(OffsetBuffer::new(Buffer::from_vec(offsets).into()))
}

/// A list, large list, view of either or map.
pub(crate) fn list<O: OffsetSizeTrait>(
    ty: &DataType,
    offsets: OffsetBuffer<O>,
    items: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let end = offsets.last().map_or(0, |end| end.as_usize());
    if end != items.len() {
        return Err(Error::corrupt(format!(
            "the lengths of the lists add up to {end}, but there are {} items",
            items.len()
        )));
    }
    Ok(match ty {
        DataType::List(item) | DataType::LargeList(item) => Arc::new(
            GenericListArray::<O>::try_new(item.clone(), offsets, items, nulls).map_err(refused)?,
        ),
        DataType::ListView(item) | DataType::LargeListView(item) => {
            let sizes = offsets.array_windows().map(|[start, end]| *end - *start);
            let sizes = sizes.collect();
            let starts = offsets.inner().slice(0, offsets.len() - 1);
            let array =
                GenericListViewArray::<O>::try_new(item.clone(), starts, sizes, items, nulls);
            Arc::new(array.map_err(refused)?)
        }
        DataType::Map(entries, sorted) if !O::IS_LARGE => {
            let Some(entries_array) = items.as_struct_opt() else {
                return Err(Error::corrupt(format!(
                    "{ty}: the entries are {}",
                    items.data_type()
                )));
            };
            let offsets = OffsetBuffer::<i32>::new(offsets.into_inner().into_inner().into());
            let array = MapArray::try_new(
                entries.clone(),
                offsets,
                entries_array.clone(),
                nulls,
                *sorted,
            );
            Arc::new(array.map_err(refused)?)
        }
        other => return Err(Error::corrupt(format!("{other} is not a list"))),
    })
}

/// A struct of `rows` rows.
pub(crate) fn structs(
    fields: &Fields,
    children: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    rows: usize,
    above: &Mask<'_>,
) -> Result<ArrayRef> {
    if children.iter().any(|child| child.len() != rows)
        || nulls.as_ref().is_some_and(|nulls| nulls.len() != rows)
    {
        return Err(Error::corrupt(format!(
            "{rows} structs, but a field or the validity has another length"
        )));
    }
    let hidden = |(field, child): (&FieldRef, &ArrayRef)| {
        !field.is_nullable() && child.logical_null_count() > 0
    };
    let nulls = above.widen(
        nulls,
        rows,
        !above.is_none() && fields.iter().zip(&children).any(hidden),
    );
    let array = StructArray::try_new_with_length(fields.clone(), children, nulls, rows);
    Ok(Arc::new(array.map_err(refused)?))
}

/// A fixed-size list of `rows` rows.
pub(crate) fn fixed_lists(
    item: &FieldRef,
    size: usize,
    items: ArrayRef,
    nulls: Option<NullBuffer>,
    rows: usize,
    above: &Mask<'_>,
) -> Result<ArrayRef> {
    let Some(size_i32) = i32::try_from(size)
        .ok()
        .filter(|_| rows.checked_mul(size) == Some(items.len()))
    else {
        return Err(Error::corrupt(format!(
            "{rows} lists of {size} items, but {} items",
            items.len()
        )));
    };
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != rows) {
        return Err(Error::corrupt(format!(
            "{rows} lists, but a validity of another length"
        )));
    }
    let needed = !above.is_none() && !item.is_nullable() && items.logical_null_count() > 0;
    let nulls = above.widen(nulls, rows, needed);
    let array = FixedSizeListArray::try_new_with_length(item.clone(), size_i32, items, nulls, rows);
    Ok(Arc::new(array.map_err(refused)?))
}

/// Runs: `ends` are above 0 and increase strictly, one for each value.
pub(crate) fn runs(
    ty: &DataType,
    ends: &dyn Array,
    values: &ArrayRef,
    above: &Mask<'_>,
) -> Result<ArrayRef> {
    let DataType::RunEndEncoded(ends_field, values_field) = ty else {
        return Err(Error::corrupt(format!("{ty} is not run-end encoded")));
    };
    if !values_field.is_nullable() && above.is_none() && values.logical_null_count() > 0 {
        return Err(Error::corrupt(
            "the values of runs are not nullable, but one is NULL",
        ));
    }
    match ends_field.data_type() {
        DataType::Int16 => runs_of::<Int16Type>(ty, ends, values),
        DataType::Int32 => runs_of::<Int32Type>(ty, ends, values),
        DataType::Int64 => runs_of::<Int64Type>(ty, ends, values),
        other => Err(Error::corrupt(format!("{ty}: run ends cannot be {other}"))),
    }
}

fn runs_of<R: RunEndIndexType>(
    ty: &DataType,
    ends: &dyn Array,
    values: &ArrayRef,
) -> Result<ArrayRef> {
    let Some(ends) = ends.as_primitive_opt::<R>() else {
        return Err(Error::corrupt(format!(
            "{ty}: run ends cannot be {}",
            ends.data_type()
        )));
    };
    if ends.len() != values.len() || ends.null_count() > 0 {
        return Err(Error::corrupt(format!(
            "{} run ends without NULLs expected, found {}",
            values.len(),
            ends.len()
        )));
    }
    let mut last = 0;
    for &end in ends.values() {
        match end.to_usize() {
            Some(end) if end > last => last = end,
            _ => {
                return Err(Error::corrupt(format!(
                    "run ends must increase, found {end:?} after {last}"
                )));
            }
        }
    }
    let array = RunArray::<R>::try_new(ends, values.as_ref()).map_err(refused)?;
    if array.data_type() == ty {
        return Ok(Arc::new(array));
    }
    // Arrow has no constructor for fields of other names or with metadata, but checks array data.
    let data = ArrayData::builder(ty.clone())
        .len(last)
        .child_data(vec![ends.to_data(), values.to_data()]);
    data.build().map(make_array).map_err(refused)
}

/// Words as an array of type `ty`, which may differ from `T`'s type in its parameters.
pub(crate) fn primitive<T: ArrowPrimitiveType>(
    ty: &DataType,
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    if !PrimitiveArray::<T>::is_compatible(ty) {
        return Err(Error::corrupt(format!(
            "words of {} cannot be {ty}",
            T::DATA_TYPE
        )));
    }
    Ok(PrimitiveArray::<T>::try_new(values, nulls)
        .map_err(refused)?
        .with_data_type(ty.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends<L: Length>(lengths: &[L], nulls: Option<&NullBuffer>) -> Option<Vec<u64>> {
        let offsets = offsets(&DataType::Null, lengths, nulls).ok()?;
        Some(offsets.iter().map(|end| end.as_usize() as u64).collect())
    }

    #[test]
    fn offsets_are_sums_of_the_lengths_that_are_no_nulls() {
        assert_eq!(ends::<u32>(&[], None), Some(vec![0]));
        assert_eq!(ends(&[2u32, 0, 3], None), Some(vec![0, 2, 2, 5]));
        assert_eq!(ends(&[2u64, 0, 3], None), Some(vec![0, 2, 2, 5]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        assert_eq!(
            ends(&[2, u32::MAX, 3], Some(&nulls)),
            Some(vec![0, 2, 2, 5])
        );
        assert_eq!(
            ends(&[2, u64::MAX, 3], Some(&nulls)),
            Some(vec![0, 2, 2, 5])
        );
    }

    #[test]
    fn lengths_that_add_up_to_more_than_an_offset_are_refused() {
        let most = i32::MAX as u32;
        assert_eq!(ends(&[most], None), Some(vec![0, u64::from(most)]));
        assert_eq!(ends(&[most, 1], None), None);
        assert_eq!(ends(&[u32::MAX, u32::MAX], None), None);
        assert_eq!(ends(&[i64::MAX as u64, 1], None), None);
        assert_eq!(ends(&[u64::MAX, 1], None), None);
    }
}
