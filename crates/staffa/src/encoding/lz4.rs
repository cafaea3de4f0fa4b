//! Lz4: LZ4's block format.
//!
//! The layout is that of every [codec](super::codec).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{Encoding, Offered, PointRead, codec};
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, OpenContext};
use crate::error::Result;
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Lz4;

impl Encoding for Lz4 {
    fn id(&self) -> u8 {
        23
    }

    fn name(&self) -> &'static str {
        "lz4"
    }

    fn about(&self) -> &'static str {
        "bytes compressed by LZ4; a row costs the block"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["lengths"]
    }

    fn terminal(&self) -> bool {
        true
    }

    fn offered(&self) -> Offered {
        Offered::ByName
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    fn suits(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        codec::suits(values)
    }

    fn point_read(&self) -> PointRead {
        PointRead::Block
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        codec::encode(self.id(), values, cascade, |bytes| Some(lz4_flex::block::compress(bytes)))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        codec::open(node, cx, |bytes, out| lz4_flex::block::decompress_into(bytes, out).map_err(|e| e.to_string()))
    }
}

crate::conformance!(Lz4);
