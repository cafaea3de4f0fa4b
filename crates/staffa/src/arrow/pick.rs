//! Some rows of an array, in any order, repeats allowed.
//!
//! Arrow's own kernels serve where there is one buffer of values, or codes into a dictionary that stays. Elsewhere they
//! lose rows (types without width), names and metadata (runs), or panic where run ends or keys outgrow their type; there
//! an array falls apart and comes together again as if it were written and read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, NullArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::FilterBuilder;

use super::assemble::assemble;
use super::layout::Layout;
use super::shred::shred_rows;
use crate::error::{Error, Result};
use crate::values::{DecodedLeaf, DecodedValues, LeafArray, LeafValues};

/// Rows `rows` of an array of `field`, all of which it must have.
pub(crate) fn pick(field: &Field, array: &ArrayRef, rows: &[u32]) -> Result<ArrayRef> {
    if field.data_type() == &DataType::Null {
        return Ok(Arc::new(NullArray::new(rows.len())));
    }
    if is_plain(field.data_type()) || matches!(field.data_type(), DataType::Dictionary(..)) {
        return Ok(arrow_select::take::take(array, &UInt32Array::from_iter_values(rows.iter().copied()), None)?);
    }
    if let Some(row) = rows.iter().find(|row| **row as usize >= array.len()) {
        return Err(Error::invalid(format!("row {row} of {:?} wanted, which has {}", field.name(), array.len())));
    }
    let layout = Layout::new(&Schema::new(vec![field.clone()]))?;
    let Some(node) = layout.fields.first() else { return Err(Error::invalid("a layout without columns")) };
    let leaves = shred_rows(field, array.as_ref(), &layout, rows)?;
    let mut leaves = leaves.into_iter().zip(layout.leaves());
    let mut next = |_| match leaves.next() {
        Some((leaf, plan)) => decoded(leaf, plan.large),
        None => Err(Error::invalid("the layout is of another schema")),
    };
    assemble(field, node, rows.len(), &mut next)
}

/// The rows of a batch for which the mask is true; NULL is not.
pub(crate) fn filter_rows(batch: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if batch.schema_ref().fields().iter().any(|field| !filters(field.data_type())) {
        rows.extend((0..mask.len()).filter(|row| mask.is_valid(*row) && mask.value(*row)).map(|row| row as u32));
    }
    let by_arrow = FilterBuilder::new(mask).optimize().build();
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, array)| {
        if filters(field.data_type()) { Ok(by_arrow.filter(array)?) } else { pick(field, array, &rows) }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(by_arrow.count()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// Whether Arrow's filter serves.
fn filters(ty: &DataType) -> bool {
    is_plain(ty) || matches!(ty, DataType::Null | DataType::Dictionary(..))
}

/// Whether there are nothing but bits, words or strings of some width: all kernels of Arrow do these right.
fn is_plain(ty: &DataType) -> bool {
    use DataType::{Dictionary, FixedSizeBinary, Null, RunEndEncoded};
    !ty.is_nested() && !matches!(ty, Null | FixedSizeBinary(0) | Dictionary(..) | RunEndEncoded(..))
}

/// A leaf as if it had been written and read.
fn decoded(leaf: LeafArray, large: bool) -> Result<DecodedLeaf> {
    let values = match leaf.values {
        LeafValues::Empty(len) => DecodedValues::Empty(len),
        LeafValues::Bits(bits) => DecodedValues::Bits(bits),
        LeafValues::Words(ty, data) => DecodedValues::Words(ty, data),
        LeafValues::Bytes { offsets, data } if large => {
            let offsets = Buffer::from_vec(offsets.iter().map(|offset| i64::from(*offset)).collect());
            DecodedValues::Bytes { large, offsets, data }
        }
        LeafValues::Bytes { offsets, data } => {
            let offsets = offsets.iter().map(|offset| i32::try_from(*offset)).collect::<Result<Vec<_>, _>>();
            let offsets =
                offsets.map_err(|_| Error::limit("more than 2 GiB of strings: ask for fewer rows at once"))?;
            DecodedValues::Bytes { large, offsets: Buffer::from_vec(offsets), data }
        }
    };
    Ok(DecodedLeaf { validity: leaf.validity, values })
}

#[cfg(test)]
mod tests {
    use arrow_schema::FieldRef;

    use super::super::testing::{Random, array, flat_types, nested_types, one, rows};
    use super::*;

    #[test]
    fn rows_of_every_type_are_picked_and_filtered() {
        let mut random = Random(11);
        let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
        for ty in flat_types().into_iter().chain(nested) {
            for array in [array(&ty, true, 40, &mut random), array(&ty, true, 90, &mut random).slice(7, 33)] {
                let batch = one("a", true, array.clone());
                let field: FieldRef = batch.schema_ref().fields()[0].clone();
                let all = rows(&array);
                for count in [0, 1, 5, 60] {
                    let wanted: Vec<u32> = (0..count).map(|_| random.below(array.len()) as u32).collect();
                    let picked = pick(&field, &array, &wanted).unwrap();
                    picked.to_data().validate_full().unwrap();
                    assert_eq!(picked.data_type(), &ty);
                    let expected: Vec<String> = wanted.iter().map(|row| all[*row as usize].clone()).collect();
                    assert_eq!(rows(&picked), expected, "{ty}");
                }
                for share in [1, 2, 9] {
                    let mask: BooleanArray =
                        (0..array.len()).map(|_| (random.below(7) > 0).then_some(random.below(10) < share)).collect();
                    let filtered = filter_rows(&batch, &mask).unwrap();
                    let kept = |row: &usize| mask.is_valid(*row) && mask.value(*row);
                    let expected: Vec<String> = (0..array.len()).filter(kept).map(|row| all[row].clone()).collect();
                    assert_eq!(rows(filtered.column(0)), expected, "{ty}");
                }
            }
        }
    }

    #[test]
    fn columns_that_are_not_there_leave_the_rows() {
        let options = RecordBatchOptions::new().with_row_count(Some(3));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
        let mask = BooleanArray::from(vec![Some(true), None, Some(true)]);
        assert_eq!(filter_rows(&batch, &mask).unwrap().num_rows(), 2);
    }
}
