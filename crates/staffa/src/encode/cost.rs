//! The cost of a tree: its bytes, and the time to decode it as bytes (`Profile::bytes_per_pico`).
//!
//! With [`Access::Random`] an encoding that decodes a whole block for one value costs twice its
//! bytes.

use super::{Access, Chooser, ChunkStrings, Encoding, PointAccess, Stats};
use crate::error::Result;
use crate::format::Node;
use crate::values::{PhysicalType, Values};

impl Chooser<'_> {
    /// The cost that an encoding is estimated to have; `None` where it does not suit.
    pub(super) fn estimated_cost(
        &self,
        encoding: &dyn Encoding,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Option<usize>> {
        let bytes = encoding.estimate(values, stats, &self.below(encoding))?;
        let picos = own_picos(encoding, values.physical_type(), values.len());
        Ok(bytes.map(|bytes| self.weighted(encoding, bytes, picos)))
    }

    /// The cost of a tree, without what the other blocks of its chunk bear.
    pub(super) fn node_cost(&self, node: &Node) -> usize {
        match self.rules.pool.by_id(node.encoding) {
            Some(encoding) => {
                let picos = own_picos(encoding, node.ty, node.len);
                let others = |chunk: ChunkStrings<'_>| chunk.others(encoding.shareable(node));
                let bytes = self.bytes_and_children(node) - self.chunk().map_or(0, others);
                self.weighted(encoding, bytes, picos)
            }
            None => node.size(),
        }
    }

    /// Bytes of a tree, and what its children cost to decode.
    pub(super) fn bytes_and_children(&self, node: &Node) -> usize {
        node.size() + self.decoding(self.picos_of(&node.children))
    }

    fn weighted(&self, encoding: &dyn Encoding, bytes: usize, picos: u64) -> usize {
        let whole_block = self.rules.access == Access::Random
            && encoding.info().point_access == PointAccess::Block;
        bytes * if whole_block { 2 } else { 1 } + self.decoding(picos)
    }

    fn picos_of(&self, nodes: &[Node]) -> u64 {
        let picos = |node: &Node| {
            let encoding = self.rules.pool.by_id(node.encoding);
            encoding.map_or(0, |encoding| own_picos(encoding, node.ty, node.len))
                + self.picos_of(&node.children)
        };
        nodes.iter().map(picos).sum()
    }

    /// The bytes that a decoding time is worth.
    fn decoding(&self, picos: u64) -> usize {
        (picos as f64 * self.rules.profile.bytes_per_pico()) as usize
    }
}

/// The time to decode a node without its children. Bits are decoded by words.
fn own_picos(encoding: &dyn Encoding, ty: PhysicalType, len: usize) -> u64 {
    let words = if ty == PhysicalType::Bits {
        len / 32
    } else {
        len
    };
    u64::from(encoding.info().decode_picos) * words as u64
}
