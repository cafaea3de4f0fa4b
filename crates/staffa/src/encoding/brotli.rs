//! Brotli: one stream for a block, quality 9, window of 4 MiB (the heavy codec of `PosDB`).
//!
//! The layout is that of every [codec](super::codec).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::io::Read as _;

use super::{Encoding, Offered, PointRead, codec};
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, OpenContext};
use crate::error::Result;
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Brotli;

impl Encoding for Brotli {
    fn id(&self) -> u8 {
        24
    }

    fn name(&self) -> &'static str {
        "brotli"
    }

    fn about(&self) -> &'static str {
        "bytes compressed by Brotli, quality 9; a row costs the block"
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
        codec::encode(self.id(), values, cascade, |bytes| {
            let mut out = Vec::new();
            let params = ::brotli::enc::BrotliEncoderParams { quality: 9, lgwin: 22, ..Default::default() };
            ::brotli::BrotliCompress(&mut &*bytes, &mut out, &params).ok().map(|_| out)
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        codec::open(node, cx, |bytes, out| {
            let mut stream = ::brotli::Decompressor::new(bytes, 4096);
            let mut filled = 0;
            loop {
                match stream.read(out.get_mut(filled..).unwrap_or_default()) {
                    Ok(0) => return Ok(filled),
                    Ok(read) => filled += read,
                    Err(e) => return Err(e.to_string()),
                }
            }
        })
    }
}

crate::conformance!(Brotli);
