//! Arrays of every type, with NULLs at every level, and leaves as a decoder makes them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{Field, Schema};

use crate::arrow::{Layout, assemble, shred};
use crate::error::Result;
use crate::values::{Bitmap, DecodedLeaf, DecodedValues, LeafArray, LeafValues};

mod domains;
mod nested;
mod random;
mod rows;
mod types;
mod values;
pub(crate) use nested::nested_types;
pub(crate) use random::Random;
pub(crate) use rows::rows;
pub(crate) use types::flat_types;
pub(crate) use values::array;

/// A table of one column.
pub(crate) fn one(name: &str, nullable: bool, array: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(name, array.data_type().clone(), nullable)]);
    RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap()
}

/// A leaf as a decoder makes it, with offsets as the layout has them.
pub(crate) fn decoded(leaf: LeafArray, large: bool) -> DecodedLeaf {
    let values = match leaf.values {
        LeafValues::Empty(len) => DecodedValues::Empty(len),
        LeafValues::Bits(bits) => DecodedValues::Bits(bits),
        LeafValues::Words(ty, data) => DecodedValues::Words(ty, data),
        LeafValues::Bytes { offsets, data } => {
            let first = offsets[0];
            let data = data.slice_with_length(
                first as usize,
                (offsets[offsets.len() - 1] - first) as usize,
            );
            let offsets = if large {
                Buffer::from_vec(offsets.iter().map(|o| i64::from(o - first)).collect())
            } else {
                Buffer::from_vec(offsets.iter().map(|o| (o - first) as i32).collect())
            };
            DecodedValues::Bytes {
                large,
                offsets,
                data,
            }
        }
    };
    DecodedLeaf {
        validity: leaf.validity,
        values,
    }
}

/// A leaf with one thing wrong.
pub(crate) fn damaged(leaf: DecodedLeaf, random: &mut Random) -> DecodedLeaf {
    let DecodedLeaf {
        mut validity,
        mut values,
    } = leaf;
    let touch = |data: &Buffer, random: &mut Random| {
        let mut bytes = data.to_vec();
        let at = random.below(bytes.len());
        match (random.below(4), bytes.get_mut(at)) {
            (0, _) => bytes.truncate(at),
            (1, _) => bytes.extend([0; 8]),
            (2, Some(byte)) => *byte ^= 1 << random.below(8),
            (_, Some(byte)) => *byte = random.next() as u8,
            (_, None) => {}
        }
        Buffer::from(bytes)
    };
    match (random.below(6), &mut values) {
        (0, _) => validity = Some(Bitmap::filled(random.below(60), random.below(2) == 0)),
        (1, _) => validity = Some((0..values.len()).map(|_| random.below(2) == 0).collect()),
        (2, _) => {
            let swapped = [
                DecodedValues::Empty(values.len()),
                DecodedValues::Bits(Bitmap::filled(values.len(), true)),
            ];
            values = swapped.into_iter().nth(random.below(2)).unwrap();
        }
        (_, DecodedValues::Empty(len)) => *len = random.below(90),
        (_, DecodedValues::Bits(bits)) => *bits = Bitmap::filled(random.below(90), true),
        // Off by one byte: not aligned.
        (3, DecodedValues::Words(_, data)) => {
            *data = Buffer::from([&[0], data.as_slice()].concat()).slice(1);
        }
        (_, DecodedValues::Words(_, data)) | (3, DecodedValues::Bytes { data, .. }) => {
            *data = touch(data, random);
        }
        (4, DecodedValues::Bytes { large, .. }) => *large = !*large,
        (_, DecodedValues::Bytes { offsets, .. }) => *offsets = touch(offsets, random),
        (_, DecodedValues::Views(_) | DecodedValues::Strings(_)) => {}
    }
    DecodedLeaf { validity, values }
}

/// Shreds with the batch's schema, assembles with `schema`.
pub(crate) fn through(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let layout = Layout::new(batch.schema_ref())?;
    let mut leaves: Vec<Option<LeafArray>> = shred(batch, &layout)?.into_iter().map(Some).collect();
    assert_eq!(leaves.len(), layout.leaves().len());
    let wanted = Layout::new(schema)?;
    assert_eq!(wanted.fields, layout.fields);
    for (leaf, array) in layout.leaves().iter().zip(&leaves) {
        let array = array.as_ref().unwrap();
        let (values, ty) = (&array.values, leaf.ty);
        assert_eq!(
            array.validity.as_ref().map_or(values.len(), Bitmap::len),
            values.len()
        );
        match values {
            LeafValues::Empty(_) => assert_eq!(ty, None),
            LeafValues::Bits(_) => assert_eq!(ty, Some(crate::values::PhysicalType::Bits)),
            LeafValues::Words(found, _) => assert_eq!(ty, Some(*found)),
            LeafValues::Bytes { .. } => assert_eq!(ty, Some(crate::values::PhysicalType::Bytes)),
        }
        assert!(!leaf.flat || values.len() == batch.num_rows());
    }
    let mut columns = Vec::new();
    for (field, node) in schema.fields().iter().zip(&wanted.fields) {
        let mut take = |leaf: usize| {
            Ok(decoded(
                leaves[leaf].take().unwrap(),
                wanted.leaves()[leaf].large,
            ))
        };
        columns.push(assemble(field, node, batch.num_rows(), &mut take)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::new(schema.clone()),
        columns,
        &options,
    )?)
}

/// Equal as tables are: the same types and the same values; whatever is under a NULL.
pub(crate) fn assert_same(expected: &RecordBatch, found: &RecordBatch) {
    assert_eq!(expected.schema(), found.schema());
    assert_eq!(expected.num_rows(), found.num_rows());
    for ((field, expected), found) in expected
        .schema()
        .fields()
        .iter()
        .zip(expected.columns())
        .zip(found.columns())
    {
        found.to_data().validate_full().unwrap();
        assert_eq!(rows(expected), rows(found), "{field}");
    }
}
