//! Blocks: up to 65,536 values of one leaf column, whose checksum is in the column index. FORMAT.md, section 6.
//!
//! ```text
//! block       = values: varint | flags: u8 | if byte strings: decoded bytes: varint
//!             | if flags & 1: validity: node of bits | if flags & 2: values: node
//! ```
//!
//! Without a validity node all values are valid. With flag 4 the values are compacted: a NULL has no
//! value. Otherwise a NULL has an arbitrary value, which the writer makes cheap to store.

use super::{Cursor, Node, NodeRef, TreeSize, put_varint};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::values::PhysicalType;

const HAS_VALIDITY: u8 = 1;
const HAS_VALUES: u8 = 2;
const COMPACTED: u8 = 4;

/// Parts of a block to write.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// Number of values, NULLs included.
    pub len: usize,
    /// Validity, if some values are NULL.
    pub validity: Option<&'a Node>,
    /// Tree of the values, if there are any.
    pub values: Option<&'a Node>,
    /// Whether NULLs have no values.
    pub compacted: bool,
    /// Bytes of all strings; `None` for other types.
    pub string_bytes: Option<usize>,
}

/// The bytes of a block.
pub(crate) fn write(parts: &Parts<'_>) -> Vec<u8> {
    let size = |node: Option<&Node>| node.map_or(0, Node::size);
    let mut out = Vec::with_capacity(size(parts.values) + size(parts.validity) + 32);
    put_varint(&mut out, parts.len as u64);
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    out.push(
        flag(parts.validity.is_some(), HAS_VALIDITY)
            | flag(parts.values.is_some(), HAS_VALUES)
            | flag(parts.compacted, COMPACTED),
    );
    if let Some(bytes) = parts.string_bytes {
        put_varint(&mut out, bytes as u64);
    }
    if let Some(validity) = parts.validity {
        validity.write(&mut out);
    }
    if let Some(values) = parts.values {
        values.write(&mut out);
    }
    out
}

/// Header and trees of a block; nothing is opened yet.
#[derive(Debug, Clone)]
pub(crate) struct Parsed<'a> {
    /// Number of values, NULLs included.
    pub len: usize,
    /// Whether NULLs have no values.
    pub compacted: bool,
    /// Bytes of all strings.
    pub string_bytes: usize,
    /// The tree of the validity.
    pub validity: Option<NodeRef<'a>>,
    /// The tree of the values.
    pub values: Option<NodeRef<'a>>,
}

impl Parsed<'_> {
    /// Bytes of all values, decoded: words, or the offsets and contents of strings.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        let ty = self.values.as_ref().map(|values| values.ty);
        TreeSize::plain(ty, self.len, self.string_bytes as u64)
    }

    /// Refuses a block whose trees, with those of the blocks that it derives from, are too large.
    pub(crate) fn check_trees(own: &Self, references: &[Self]) -> Result<()> {
        let (mut size, mut plain) = (TreeSize::default(), 0u64);
        for block in std::iter::once(own).chain(references) {
            plain = plain.saturating_add(block.decoded_bytes());
            let trees = [&block.validity, &block.values].into_iter().flatten();
            size = trees.fold(size, |size, tree| {
                size.with(tree, block.string_bytes as u64)
            });
        }
        size.check(plain)
    }
}

/// Parses a block, whose checksum was verified, of `len` values of type `ty` (`None` for a leaf of validity alone).
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    len: usize,
    ty: Option<PhysicalType>,
    limits: &Limits,
) -> Result<Parsed<'a>> {
    let mut cursor = Cursor::new(bytes);
    let found = cursor.varint_up_to(limits.row_group_values, "number of values")?;
    if found != len {
        return Err(Error::corrupt(format!(
            "{len} values expected, found {found}"
        )));
    }
    let flags = cursor.u8()?;
    if flags > 7 {
        return Err(Error::corrupt(format!(
            "flags of at most 7 expected, found {flags}"
        )));
    }
    let string_bytes = if ty == Some(PhysicalType::Bytes) {
        cursor.varint_up_to(limits.block_bytes, "decoded bytes")?
    } else {
        0
    };
    let validity = (flags & HAS_VALIDITY != 0)
        .then(|| NodeRef::parse(&mut cursor, len, limits.depth))
        .transpose()?;
    let values = (flags & HAS_VALUES != 0)
        .then(|| NodeRef::parse(&mut cursor, len, limits.depth))
        .transpose()?;
    cursor.finish("the block")?;
    let compacted = flags & COMPACTED != 0;
    if validity
        .as_ref()
        .is_some_and(|v| v.ty != PhysicalType::Bits || v.len != len)
    {
        return Err(Error::corrupt(format!("a validity of {len} bits expected")));
    }
    match (&values, ty) {
        (Some(node), Some(ty)) if node.ty == ty && (compacted || node.len == len) => {}
        (None, None) => {}
        (None, Some(_)) if compacted => {}
        _ => {
            return Err(Error::corrupt(format!(
                "{len} values of {ty:?} expected, found others"
            )));
        }
    }
    Ok(Parsed {
        len,
        compacted,
        string_bytes,
        validity,
        values,
    })
}
