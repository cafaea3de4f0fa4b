//! Columns of strings as Arrow's dictionaries: the stored dictionary of a block, and a code for every
//! row.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use staffa_kernels::BytesDict;

use super::chunk_reader::{ChunkReader, Keep};
use super::run_ends::cast_to_runs;
use super::slots::codes_of_rows;
use super::support::positions_of;
use crate::arrow::{Node, boolean_buffer, leaf_array};
use crate::decode::{AnyDecoder, Block, DictionaryStrings, Scratch};
use crate::error::{Error, Result};
use crate::values::DecodedValues;

/// The schema with these columns as dictionaries with keys of 32 bits: plain columns of strings or
/// binaries.
pub(crate) fn with_dictionaries(schema: &Schema, names: &[String]) -> Result<Schema> {
    with_types(schema, names, |name, ty| {
        let fixed_size = matches!(ty, DataType::FixedSizeBinary(_));
        if matches!(ty, DataType::Dictionary(..)) {
            Ok(ty.clone())
        } else if ty.is_string() || ty.is_binary() && !fixed_size {
            let (keys, values) = (Box::new(DataType::Int32), Box::new(without_views(ty)));
            Ok(DataType::Dictionary(keys, values))
        } else {
            Err(Error::invalid(format!(
                "column {name:?}: a column of strings or binaries can be read as a dictionary, not {ty}"
            )))
        }
    })
}

/// The type with plain strings in place of views: few programs know views in dictionaries or runs.
pub(super) fn without_views(ty: &DataType) -> DataType {
    match ty {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        ty => ty.clone(),
    }
}

/// The schema with other types for some columns.
pub(super) fn with_types(
    schema: &Schema,
    names: &[String],
    other: impl Fn(&str, &DataType) -> Result<DataType>,
) -> Result<Schema> {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    for position in positions_of(schema, names)? {
        if let Some(field) = fields.get_mut(position) {
            let ty = other(field.name(), field.data_type())?;
            *field = Arc::new(field.as_ref().clone().with_data_type(ty));
        }
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The leaf of a plain column that is read as a dictionary or as runs, and the field of its values.
pub(crate) fn dictionary_or_runs(field: &Field, node: &Node) -> Option<(usize, Field)> {
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        _ => return None,
    };
    let Node::Leaf(leaf) = node else { return None };
    Some((*leaf, field.clone().with_data_type(values.clone())))
}

/// Plain values cast to a dictionary or to runs.
pub(crate) fn cast_to_dictionary(field: &Field, plain: &ArrayRef) -> Result<ArrayRef> {
    if matches!(field.data_type(), DataType::RunEndEncoded(..)) {
        return cast_to_runs(plain);
    }
    Ok(cast(plain, field.data_type())?)
}

/// Rows of a leaf by the dictionary of their block; `None` where they span blocks, or the block has
/// no dictionary.
pub(super) fn read_dictionary(
    reader: &ChunkReader<'_>,
    values: &DataType,
    rows: &Range<usize>,
) -> Result<Option<ArrayRef>> {
    let blocks = reader.blocks_of(rows);
    let (number, start) = (blocks.start, blocks.start * reader.block_rows());
    if blocks.len() > 1 {
        return Ok(None);
    }
    let opened = reader.open_block(number, Keep::Nothing)?;
    let array = opened.with(|block| {
        let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
            return Ok(None);
        };
        let array = |codes| dictionary_array(block, codes, decoder.len(), values);
        decoder.dictionary().map(array).transpose()
    });
    let array = array.map_err(|e| e.at(|p| p.block = Some(number)))?;
    Ok(array.map(|array| array.slice(rows.start - start, rows.len())))
}

/// All rows of a block, which has `count` codes.
fn dictionary_array(
    block: &Block<'_>,
    codes: &dyn DictionaryStrings,
    count: usize,
    values: &DataType,
) -> Result<ArrayRef> {
    let keys = codes_of_rows(block, codes, count, &mut Scratch::default())?;
    let validity = block.validity.clone();
    let nulls = validity.map(|validity| NullBuffer::new(boolean_buffer(validity)));
    let keys = ScalarBuffer::new(Buffer::from_vec(keys), 0, block.len);
    let keys = Int32Array::try_new(keys, nulls)?;
    let array = DictionaryArray::try_new(keys, strings(codes.strings()?, values)?);
    Ok(Arc::new(array.map_err(|e| {
        Error::corrupt(format!("codes of its dictionary expected: {e}"))
    })?))
}

/// The strings of a dictionary as an array.
fn strings(dictionary: &BytesDict, ty: &DataType) -> Result<ArrayRef> {
    let first = dictionary.ranges().next().map_or(0, |range| range.start);
    let ends = dictionary.ranges().map(|range| range.end);
    let offsets = std::iter::once(first).chain(ends);
    let offsets: Vec<u32> = offsets.map(|offset| offset as u32).collect();
    let values = DecodedValues::Bytes {
        large: false,
        offsets: Buffer::from_vec(offsets),
        data: Buffer::from(dictionary.contents()),
    };
    leaf_array(ty, values, None)
}
