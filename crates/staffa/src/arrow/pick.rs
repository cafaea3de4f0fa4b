//! Some rows of an array, in any order, repeats allowed.
//!
//! Arrow's own kernels serve where there is one buffer of values, or codes into a dictionary that stays. Elsewhere they
//! lose rows (types without width), names and metadata (runs), or panic where run ends or keys outgrow their type; there
//! an array falls apart and comes together again as if it were written and read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, NullArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema};

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
    fn rows_of_every_type_are_picked() {
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
            }
        }
    }
}
