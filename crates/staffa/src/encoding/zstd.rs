//! Zstd: Zstandard, level 19, one frame for a block.
//!
//! The layout is that of every [codec](super::codec).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{Encoding, Offered, PointRead, codec};
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, OpenContext};
use crate::error::Result;
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// The level of a block, and that by which it is weighed against other encodings.
const LEVEL: i32 = 19;
const ESTIMATED: i32 = 3;

/// See the [module](self).
pub struct Zstd;

impl Encoding for Zstd {
    fn id(&self) -> u8 {
        22
    }

    fn name(&self) -> &'static str {
        "zstd"
    }

    fn about(&self) -> &'static str {
        "bytes compressed by Zstandard, level 19; a row costs the block"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["lengths"]
    }

    fn terminal(&self) -> bool {
        true
    }

    fn offered(&self) -> Offered {
        Offered::Small
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    fn suits(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        codec::suits(values)
    }

    /// A sample tells nothing: all is compressed, quickly.
    fn estimate(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let node = codec::encode(self.id(), values, cascade, |bytes| ::zstd::bulk::compress(bytes, ESTIMATED).ok())?;
        Ok(node.map(|node| node.size()))
    }

    fn point_read(&self) -> PointRead {
        PointRead::Block
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        codec::encode(self.id(), values, cascade, |bytes| ::zstd::bulk::compress(bytes, LEVEL).ok())
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        codec::open(node, cx, |bytes, out| ::zstd::bulk::decompress_to_buffer(bytes, out).map_err(|e| e.to_string()))
    }
}

crate::conformance!(Zstd);
