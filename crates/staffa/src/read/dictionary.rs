//! Strings handed out as they are stored: a dictionary, and a code for every row.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use staffa_kernels::{BytesDict, VECTOR};

use super::File;
use super::run_ends::cast_to_runs;
use crate::arrow::{Node, boolean_buffer, leaf_array};
use crate::decode::{AnyDecoder, Block, DictionaryStrings, Scratch};
use crate::error::{Error, Result};
use crate::values::{DecodedValues, expand, vector_len};

/// The schema with these columns as dictionaries with keys of 32 bits: plain columns of strings or
/// binaries.
pub(crate) fn with_dictionaries(schema: &Schema, names: &[String]) -> Result<Schema> {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    for name in names {
        let field = fields.iter_mut().find(|field| field.name() == name);
        let field = field.ok_or_else(|| crate::arrow::unknown_column(name, schema))?;
        let values = match field.data_type() {
            // Few programs know views in dictionaries.
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                field.data_type().clone()
            }
            DataType::Dictionary(..) => continue,
            other => {
                let expected = "strings and binaries are handed out as dictionaries";
                return Err(Error::invalid(format!(
                    "column {name:?}: {expected}, it has {other}"
                )));
            }
        };
        let ty = DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
        *field = Arc::new(field.as_ref().clone().with_data_type(ty));
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The leaf of a plain column of which a dictionary, or runs, are wanted, and the field that its
/// values have.
pub(crate) fn dictionary_or_runs(field: &Field, node: &Node) -> Option<(usize, Field)> {
    match (node, field.data_type()) {
        (Node::Leaf(leaf), DataType::Dictionary(_, values)) => {
            Some((*leaf, field.clone().with_data_type(values.as_ref().clone())))
        }
        (Node::Leaf(leaf), DataType::RunEndEncoded(_, values)) => Some((
            *leaf,
            field.clone().with_data_type(values.data_type().clone()),
        )),
        _ => None,
    }
}

/// Plain values with a dictionary, or runs, made for them.
pub(crate) fn cast_to_dictionary(field: &Field, plain: &ArrayRef) -> Result<ArrayRef> {
    if matches!(field.data_type(), DataType::RunEndEncoded(..)) {
        return cast_to_runs(plain);
    }
    Ok(cast(plain, field.data_type())?)
}

impl File {
    /// Rows of a leaf by the dictionary of their block; `None` where they are not in one block, or
    /// it has none.
    pub(crate) fn dictionary_rows(
        &self,
        leaf: usize,
        values: &DataType,
        row_group: usize,
        rows: &Range<usize>,
    ) -> Result<Option<ArrayRef>> {
        let block_rows = self.footer().block_rows as usize;
        let block = rows.start / block_rows;
        let start = block * block_rows;
        if rows.end > start + block_rows {
            return Ok(None);
        }
        let opened = self.opened(leaf, row_group, block)?;
        let array = opened.with(|block| match &block.values {
            Some(AnyDecoder::Bytes(decoder)) => match decoder.dictionary() {
                Some(coded) => by_codes(block, coded, decoder.len(), values).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        });
        let array = array.map_err(|e| e.at(|p| p.block = Some(block)))?;
        Ok(array.map(|array| array.slice(rows.start - start, rows.len())))
    }
}

/// All rows of a block; `count` of them have codes.
fn by_codes(
    block: &Block<'_>,
    coded: &dyn DictionaryStrings,
    count: usize,
    values: &DataType,
) -> Result<ArrayRef> {
    let mut codes = vec![0u32; block.len.max(count)];
    let mut cx = Scratch::default();
    for (v, codes) in codes
        .chunks_mut(VECTOR)
        .enumerate()
        .take(count.div_ceil(VECTOR))
    {
        let codes = codes.get_mut(..vector_len(count, v)).unwrap_or_default();
        coded.codes(v, &mut cx, codes)?;
    }
    if let Some(validity) = block.validity.as_ref().filter(|_| block.compacted) {
        expand(&mut codes, count, validity)?;
    }
    let nulls = block
        .validity
        .clone()
        .map(|validity| NullBuffer::new(boolean_buffer(validity)));
    let keys = Int32Array::try_new(
        ScalarBuffer::new(Buffer::from_vec(codes), 0, block.len),
        nulls,
    )?;
    let strings = strings(coded.strings()?, values)?;
    let array = DictionaryArray::try_new(keys, strings);
    Ok(Arc::new(array.map_err(|e| {
        Error::corrupt(format!("codes of its dictionary expected: {e}"))
    })?))
}

/// The strings of a dictionary as an array.
fn strings(dictionary: &BytesDict, ty: &DataType) -> Result<ArrayRef> {
    let mut offsets = vec![0u32];
    offsets.extend(dictionary.ranges().map(|range| range.end as u32));
    if let Some(first) = dictionary.ranges().next() {
        offsets
            .first_mut()
            .into_iter()
            .for_each(|offset| *offset = first.start as u32);
    }
    let data = Buffer::from(dictionary.contents());
    let values = DecodedValues::Bytes {
        large: false,
        offsets: Buffer::from_vec(offsets),
        data,
    };
    leaf_array(ty, values, None)
}
