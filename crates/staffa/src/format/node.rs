//! Nodes: an encoding's payload and its children. FORMAT.md, section 7.
//!
//! A cascade is a tree of nodes; a block has one or two trees.
//!
//! ```text
//! node = encoding: u8 (255: a longer id follows as a varint) | type and children: u8 | values: varint | payload bytes: varint | payload | child...
//! ```
//!
//! The second byte holds the [`PhysicalType`] in its low four bits and the number of children in
//! its high four bits.

use super::{BitSet, Cursor, put_varint};
use crate::error::{Error, Result};
use crate::values::PhysicalType;

/// In place of an encoding's id: a longer one follows as a varint. No release has one yet.
const LONG_ID: u8 = 255;

/// A node to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The encoding's id.
    pub encoding: u8,
    /// Type of the decoded values.
    pub ty: PhysicalType,
    /// Number of decoded values.
    pub len: usize,
    /// The encoding's own bytes.
    pub payload: Vec<u8>,
    /// At most 15.
    pub children: Vec<Node>,
}

impl Node {
    /// Appends the node and its children.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.encoding);
        out.push(self.ty as u8 | (self.children.len() as u8) << 4);
        put_varint(out, self.len as u64);
        put_varint(out, self.payload.len() as u64);
        out.extend_from_slice(&self.payload);
        self.children.iter().for_each(|child| child.write(out));
    }

    /// Bytes that [`write`](Self::write) appends.
    pub fn size(&self) -> usize {
        let varint = |v: usize| (usize::BITS - (v | 1).leading_zeros()).div_ceil(7) as usize;
        2 + varint(self.len)
            + varint(self.payload.len())
            + self.payload.len()
            + self.children.iter().map(Self::size).sum::<usize>()
    }
}

/// A node in the bytes of a block.
#[derive(Debug, Clone)]
pub struct NodeRef<'a> {
    /// The encoding's id, not yet known to exist.
    pub encoding: u8,
    /// Declared type of the decoded values.
    pub ty: PhysicalType,
    /// Declared number of decoded values.
    pub len: usize,
    /// The encoding's own bytes.
    pub payload: &'a [u8],
    /// Children, as the encoding numbers them.
    pub children: Vec<NodeRef<'a>>,
    /// Bytes of the node with its children.
    pub bytes: usize,
}

/// Most nodes of a block, those of its reference blocks included.
const MAX_NODES: usize = 255;

/// Size of trees, by which a reader refuses a block before it decodes anything. FORMAT.md, section 11.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TreeSize {
    /// Nodes.
    pub nodes: usize,
    /// Bytes of the values of every node, decoded.
    pub bytes: u64,
}

impl TreeSize {
    /// Bytes of decoded values: words, bits and validity alone one by one, or the offsets and contents
    /// of strings.
    pub(crate) fn plain(ty: Option<PhysicalType>, values: usize, string_bytes: u64) -> u64 {
        let width = match ty {
            None | Some(PhysicalType::Bits) => 1,
            Some(ty) => ty.width_bytes().unwrap_or(4),
        };
        (values as u64)
            .saturating_mul(width as u64)
            .saturating_add(string_bytes)
    }

    /// Most bytes of all nodes of a block, or a shared dictionary, of `plain` decoded bytes.
    pub(crate) fn max_bytes(plain: u64) -> u64 {
        plain.saturating_mul(16).saturating_add(1 << 20)
    }

    /// Adds a tree, whose strings have at most `string_bytes` bytes in each node.
    #[must_use]
    pub(crate) fn with(mut self, node: &NodeRef<'_>, string_bytes: u64) -> Self {
        let own = match node.ty.width_bytes() {
            Some(width) => (node.len as u64).saturating_mul(width as u64),
            None if node.ty == PhysicalType::Bits => (node.len as u64).div_ceil(8),
            None => string_bytes.saturating_add(4 * node.len as u64),
        };
        self.nodes += 1;
        self.bytes = self.bytes.saturating_add(own);
        let children = node.children.iter();
        children.fold(self, |size, child| size.with(child, string_bytes))
    }

    /// Refuses trees that are too large for a block, or a shared dictionary, of `plain` decoded bytes.
    pub(crate) fn check(self, plain: u64) -> Result<()> {
        let most = Self::max_bytes(plain);
        if self.nodes > MAX_NODES || self.bytes > most {
            return Err(Error::limit(format!(
                "at most {MAX_NODES} nodes of {most} bytes decoded are allowed, found {} of {}",
                self.nodes, self.bytes
            )));
        }
        Ok(())
    }
}

impl<'a> NodeRef<'a> {
    /// Reads a tree of nodes, none of which may declare more than `max_len` values or lie deeper
    /// than `depth`.
    pub fn parse(cursor: &mut Cursor<'a>, max_len: usize, depth: u32) -> Result<Self> {
        Self::parse_below(cursor, max_len, depth, &mut 0)
    }

    /// [`parse`](Self::parse) behind so many nodes of the tree.
    fn parse_below(
        cursor: &mut Cursor<'a>,
        max_len: usize,
        depth: u32,
        nodes: &mut usize,
    ) -> Result<Self> {
        *nodes += 1;
        if *nodes > MAX_NODES {
            return Err(Error::limit(format!(
                "a tree of at most {MAX_NODES} nodes is allowed, found more"
            )));
        }
        let start = cursor.position();
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::limit(format!(
                "the cascade at {start} is deeper than the limit"
            )));
        };
        let encoding = cursor.u8()?;
        if encoding == LONG_ID {
            let id = cursor.varint()?;
            return Err(Error::unsupported(format!(
                "encoding {id} is not known to this release"
            )));
        }
        let kind = cursor.u8()?;
        let Some(ty) = PhysicalType::from_byte(kind & 0x0f) else {
            return Err(Error::corrupt(format!(
                "physical type at most 7 expected at {start}, found {}",
                kind & 0x0f
            )));
        };
        let len = cursor.varint_up_to(max_len as u64, "number of values of a node")?;
        let payload = cursor.prefixed()?;
        let mut children = Vec::new();
        for _ in 0..kind >> 4 {
            children.push(Self::parse_below(cursor, max_len, depth, nodes)?);
        }
        Ok(Self {
            encoding,
            ty,
            len,
            payload,
            children,
            bytes: cursor.position() - start,
        })
    }

    /// Adds the encodings of the tree to a set.
    pub(crate) fn add_encodings(&self, set: &mut BitSet) {
        set.insert(self.encoding);
        let children = self.children.iter();
        children.for_each(|child| child.add_encodings(set));
    }

    /// Child `i`, which must decode to `len` values of type `ty`; `role` names it.
    pub fn child(
        &self,
        i: usize,
        role: &str,
        ty: PhysicalType,
        len: usize,
    ) -> Result<&NodeRef<'a>> {
        let child = self.any_child(i, role)?;
        if child.ty != ty || child.len != len {
            return Err(Error::corrupt(format!(
                "{role}: {len} values of {ty:?} expected, found {} of {:?}",
                child.len, child.ty
            )));
        }
        Ok(child)
    }

    /// Child `i`, of any type and at most as many values as the node itself.
    pub fn any_child(&self, i: usize, role: &str) -> Result<&NodeRef<'a>> {
        let child = self
            .children
            .get(i)
            .ok_or_else(|| Error::corrupt(format!("{role}: the node has no child {i}")))?;
        if child.len > self.len {
            return Err(Error::corrupt(format!(
                "{role}: at most {} values expected, found {}",
                self.len, child.len
            )));
        }
        Ok(child)
    }

    /// Child `i`, which must decode to as many values as the node itself.
    pub fn child_of_same_length(&self, i: usize, role: &str) -> Result<&NodeRef<'a>> {
        let child = self.any_child(i, role)?;
        if child.len != self.len {
            return Err(Error::corrupt(format!(
                "{role}: {} values expected, found {}",
                self.len, child.len
            )));
        }
        Ok(child)
    }

    /// A cursor over the payload.
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.payload)
    }

    /// Refuses a number of children that the encoding does not have.
    pub fn expect_children(&self, count: usize) -> Result<()> {
        if self.children.len() != count {
            return Err(Error::corrupt(format!(
                "{count} children expected, found {}",
                self.children.len()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_round_trips_and_every_truncation_is_refused() {
        let leaf = |len| Node {
            encoding: 9,
            ty: PhysicalType::U32,
            len,
            payload: vec![1, 2, 3],
            children: vec![],
        };
        let tree = Node {
            encoding: 7,
            ty: PhysicalType::Bytes,
            len: 300,
            payload: vec![0; 200],
            children: vec![leaf(300), leaf(2)],
        };
        let mut bytes = Vec::new();
        tree.write(&mut bytes);
        assert_eq!(bytes.len(), tree.size());
        let read = NodeRef::parse(&mut Cursor::new(&bytes), 300, 3).unwrap();
        assert_eq!(
            (read.encoding, read.len, read.payload.len(), read.bytes),
            (7, 300, 200, bytes.len())
        );
        assert_eq!(
            read.child(1, "ends", PhysicalType::U32, 2).unwrap().payload,
            [1, 2, 3]
        );
        assert!(read.child(1, "ends", PhysicalType::U32, 3).is_err());
        for cut in 0..bytes.len() {
            assert!(NodeRef::parse(&mut Cursor::new(&bytes[..cut]), 300, 3).is_err());
        }
        assert!(NodeRef::parse(&mut Cursor::new(&bytes), 299, 3).is_err());
        assert!(NodeRef::parse(&mut Cursor::new(&bytes), 300, 1).is_err());
    }
}
