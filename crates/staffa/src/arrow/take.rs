//! Take: some rows of an array, in any order, repeats allowed.
//!
//! Arrow's kernel takes rows of one buffer of values, and codes of a dictionary. Elsewhere it loses
//! rows (types without width), names and metadata (runs), or panics where run ends or keys outgrow
//! their type; such arrays are shredded and assembled.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, FixedSizeListArray, NullArray, UInt32Array, make_array,
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema};

use super::assemble::assemble;
use super::layout::Layout;
use super::shred::shred_rows;
use crate::error::{Error, Result};
use crate::values::{DecodedLeaf, DecodedValues, LeafArray, LeafValues};

/// Rows `rows` of an array of `field`; a row that it does not have is an error.
pub(crate) fn take(field: &Field, array: &ArrayRef, rows: &[u32]) -> Result<ArrayRef> {
    if field.data_type() == &DataType::Null {
        return Ok(Arc::new(NullArray::new(rows.len())));
    }
    if is_plain(field.data_type()) || matches!(field.data_type(), DataType::Dictionary(..)) {
        return take_plain(array.as_ref(), rows);
    }
    if let Some(taken) = take_wide(array, rows)? {
        return Ok(taken);
    }
    if let Some(row) = rows.iter().find(|row| **row as usize >= array.len()) {
        return Err(Error::invalid(format!(
            "row {row} of {:?} wanted, which has {}",
            field.name(),
            array.len()
        )));
    }
    let layout = Layout::new(&Schema::new(vec![field.clone()]))?;
    let Some(node) = layout.fields.first() else {
        return Err(Error::invalid("a layout without columns"));
    };
    let leaves = shred_rows(field, array.as_ref(), &layout, rows)?;
    let mut leaves = leaves.into_iter().zip(layout.leaves());
    let mut next = |_| match leaves.next() {
        Some((leaf, plan)) => decoded(leaf, plan.large),
        None => Err(Error::invalid("the layout is of another schema")),
    };
    assemble(field, node, rows.len(), &mut next)
}

/// Rows by Arrow's kernel.
fn take_plain(array: &dyn Array, rows: &[u32]) -> Result<ArrayRef> {
    let rows = UInt32Array::from_iter_values(rows.iter().copied());
    Ok(arrow_select::take::take(array, &rows, None)?)
}

/// Rows of fixed-size lists of words without NULLs, each copied as one value; `None` for other
/// arrays.
fn take_wide(array: &ArrayRef, rows: &[u32]) -> Result<Option<ArrayRef>> {
    let Some(lists) = array.as_fixed_size_list_opt() else {
        return Ok(None);
    };
    let (DataType::FixedSizeList(item, size), items) =
        (array.data_type(), lists.values().to_data())
    else {
        return Ok(None);
    };
    let width = items
        .data_type()
        .primitive_width()
        .filter(|_| items.null_count() == 0);
    let bytes = width.and_then(|width| size.checked_mul(width as i32));
    let (Some(width), Some(bytes), [words]) =
        (width, bytes.filter(|bytes| *bytes > 0), items.buffers())
    else {
        return Ok(None);
    };
    let words = words.slice_with_length(items.offset() * width, items.len() * width);
    let whole = FixedSizeBinaryArray::try_new(bytes, words, lists.nulls().cloned())?;
    let taken = take_plain(&whole, rows)?;
    let Some(taken) = taken.as_fixed_size_binary_opt() else {
        return Ok(None);
    };
    let items = ArrayData::builder(items.data_type().clone()).len(rows.len() * *size as usize);
    let items = make_array(items.add_buffer(taken.values().clone()).build()?);
    Ok(Some(Arc::new(FixedSizeListArray::try_new(
        item.clone(),
        *size,
        items,
        taken.nulls().cloned(),
    )?)))
}

/// Whether Arrow's kernel is right for the type: bits, words, and strings of some width.
fn is_plain(ty: &DataType) -> bool {
    use DataType::{Dictionary, FixedSizeBinary, Null, RunEndEncoded};
    !ty.is_nested()
        && !matches!(
            ty,
            Null | FixedSizeBinary(0) | Dictionary(..) | RunEndEncoded(..)
        )
}

/// A shredded leaf as a decoded one.
fn decoded(leaf: LeafArray, large: bool) -> Result<DecodedLeaf> {
    let values = match leaf.values {
        LeafValues::Empty(len) => DecodedValues::Empty(len),
        LeafValues::Bits(bits) => DecodedValues::Bits(bits),
        LeafValues::Words(ty, data) => DecodedValues::Words(ty, data),
        LeafValues::Bytes { offsets, data } => {
            let bytes = offsets.last().map_or(0, |end| *end);
            if !large && i32::try_from(bytes).is_err() {
                let what = "more than 2 GiB of strings: ask for fewer rows at once";
                return Err(Error::limit(what));
            }
            let offsets = if large {
                Buffer::from_vec(offsets.iter().map(|end| i64::from(*end)).collect())
            } else {
                offsets.into_inner()
            };
            DecodedValues::Bytes {
                large,
                offsets,
                data,
            }
        }
    };
    Ok(DecodedLeaf {
        validity: leaf.validity,
        values,
    })
}

#[cfg(test)]
mod tests {
    use arrow_schema::FieldRef;

    use super::*;
    use crate::testing::arrays::{Random, array, flat_types, nested_types, one, rows};

    #[test]
    fn rows_of_many_words_are_taken() {
        let words = arrow_array::Float32Array::from_iter_values((0..400u16).map(f32::from));
        let item = Arc::new(Field::new("element", DataType::Float32, false));
        let nulls =
            arrow_buffer::NullBuffer::from((0..40).map(|row| row % 7 != 3).collect::<Vec<_>>());
        let lists = FixedSizeListArray::try_new(item, 10, Arc::new(words), Some(nulls)).unwrap();
        for lists in [lists.clone(), lists.slice(5, 30)] {
            let array: ArrayRef = Arc::new(lists.clone());
            let field = Field::new("a", array.data_type().clone(), true);
            for wanted in [vec![], vec![4], vec![29, 0, 3, 3, 17, 5]] {
                let taken = take(&field, &array, &wanted).unwrap();
                taken.to_data().validate_full().unwrap();
                let all = rows(&array);
                assert_eq!(
                    rows(&taken),
                    wanted
                        .iter()
                        .map(|row| all[*row as usize].clone())
                        .collect::<Vec<_>>()
                );
                assert_eq!(taken.data_type(), array.data_type());
            }
        }
    }

    #[test]
    fn rows_of_every_type_are_taken() {
        let mut random = Random(11);
        let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
        for ty in flat_types().into_iter().chain(nested) {
            for array in [
                array(&ty, true, 40, &mut random),
                array(&ty, true, 90, &mut random).slice(7, 33),
            ] {
                let batch = one("a", true, array.clone());
                let field: FieldRef = batch.schema_ref().fields()[0].clone();
                let all = rows(&array);
                for count in [0, 1, 5, 60] {
                    let wanted: Vec<u32> = (0..count)
                        .map(|_| random.below(array.len()) as u32)
                        .collect();
                    let taken = take(&field, &array, &wanted).unwrap();
                    taken.to_data().validate_full().unwrap();
                    assert_eq!(taken.data_type(), &ty);
                    let expected: Vec<String> = wanted
                        .iter()
                        .map(|row| all[*row as usize].clone())
                        .collect();
                    assert_eq!(rows(&taken), expected, "{ty}");
                }
            }
        }
    }
}
