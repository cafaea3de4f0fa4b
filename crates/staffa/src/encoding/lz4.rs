//! Lz4: LZ4's block format. The layout is that of every [codec](super::codec).

use super::Offered;
use super::codec::Codec;

/// See the [module](self).
pub static LZ4: Codec = Codec {
    id: 23,
    name: "lz4",
    about: "bytes compressed by LZ4; a row costs the block",
    offered: Offered::ByName,
    compress,
    weigh: compress,
    decompress: |bytes, out| lz4_flex::block::decompress_into(bytes, out).map_err(|e| e.to_string()),
};

fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(lz4_flex::block::compress(bytes))
}

crate::conformance!(LZ4);
