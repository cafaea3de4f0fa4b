//! Shared dictionaries: values or tokens that several blocks of a chunk use. FORMAT.md, section 6,
//! where they are called shared parts.
//!
//! ```text
//! shared part = values: varint | decoded bytes: varint | node
//! ```

use super::{Cursor, MAX_BLOCK_ROWS, Node, NodeRef, put_varint};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::values::PhysicalType;

/// The bytes of a shared dictionary.
pub(crate) fn write(node: &Node, string_bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(node.size() + 16);
    put_varint(&mut out, node.len as u64);
    put_varint(&mut out, string_bytes as u64);
    node.write(&mut out);
    out
}

/// Parses a shared dictionary, whose checksum was verified: its node and its decoded bytes.
///
/// A dictionary has at most as many values as its chunk, which are `most`, or as a full block.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    most: usize,
    limits: &Limits,
) -> Result<(NodeRef<'a>, u64)> {
    let mut cursor = Cursor::new(bytes);
    let most = most.max(MAX_BLOCK_ROWS as usize) as u64;
    let len = cursor.varint_up_to(most, "number of values")?;
    let decoded = cursor.varint_up_to(limits.block_bytes, "decoded bytes")? as u64;
    let node = NodeRef::parse(&mut cursor, len, limits.depth)?;
    cursor.finish("the shared part")?;
    if node.ty != PhysicalType::Bytes && decoded > 0 {
        return Err(Error::corrupt(format!(
            "words without strings expected, found {decoded} bytes of them"
        )));
    }
    if node.len != len {
        return Err(Error::corrupt(format!(
            "{len} values expected, found {}",
            node.len
        )));
    }
    Ok((node, decoded))
}
