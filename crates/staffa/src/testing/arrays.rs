//! Arrays of every type, with NULLs at every level, and leaves as a decoder makes them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema};

use crate::arrow::{Layout, assemble, shred};
use crate::error::Result;
use crate::values::{Bitmap, DecodedLeaf, DecodedValues, LeafArray, LeafValues};

mod domains;
mod nested;
mod types;
mod values;
pub(crate) use nested::nested_types;
pub(crate) use types::flat_types;
pub(crate) use values::array;

/// A generator (`SplitMix64`) of the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.next() % end as u64) as usize
        }
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

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

/// Rows as text, so that list views, dictionaries and runs compare by what they say; floats by
/// their bits.
pub(crate) fn rows(array: &ArrayRef) -> Vec<String> {
    (0..array.len())
        .map(|row| show(array.as_ref(), row))
        .collect()
}

fn show(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return "NULL".to_owned();
    }
    let all = |items: ArrayRef| format!("[{}]", rows(&items).join(", "));
    match array.data_type() {
        DataType::List(_) => all(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => all(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => all(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => all(Arc::new(array.as_map().value(row))),
        DataType::Struct(_) => {
            let fields: Vec<String> = array
                .as_struct()
                .columns()
                .iter()
                .map(|column| show(column.as_ref(), row))
                .collect();
            format!("({})", fields.join(", "))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            show(
                dictionary.values().as_ref(),
                dictionary.normalized_keys()[row],
            )
        }
        DataType::RunEndEncoded(..) => {
            if let Some(runs) = array.as_run_opt::<Int16Type>() {
                show(runs.values().as_ref(), runs.get_physical_index(row))
            } else if let Some(runs) = array.as_run_opt::<Int32Type>() {
                show(runs.values().as_ref(), runs.get_physical_index(row))
            } else {
                let runs = array.as_run::<Int64Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
        }
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Binary => format!("{:x?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:x?}", array.as_binary::<i64>().value(row)),
        DataType::BinaryView => format!("{:x?}", array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => format!("{:x?}", array.as_fixed_size_binary().value(row)),
        ty => {
            let width = ty.primitive_width().unwrap();
            let data = array.to_data();
            format!(
                "{:x?}",
                data.buffers()[0]
                    .slice_with_length((data.offset() + row) * width, width)
                    .as_slice()
            )
        }
    }
}
