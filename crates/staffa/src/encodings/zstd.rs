//! Zstd: Zstandard, level 19, one frame for a block. The layout is that of every
//! [codec](super::codec).

use super::codec::Codec;
use crate::encode::{Availability, Info};

/// The level of a block, and that by which it is weighed against other encodings.
const LEVEL: i32 = 19;
const ESTIMATED: i32 = 3;

/// See the [module](self).
pub static ZSTD: Codec = Codec {
    info: Info {
        id: 22,
        name: "zstd",
        about: "bytes compressed by Zstandard, level 19; a row costs the block",
        availability: Availability::Small,
        ..Codec::INFO
    },
    compress: |bytes| ::zstd::bulk::compress(bytes, LEVEL).ok(),
    weigh: |bytes| ::zstd::bulk::compress(bytes, ESTIMATED).ok(),
    decompress: |bytes, out| {
        ::zstd::bulk::decompress_to_buffer(bytes, out).map_err(|e| e.to_string())
    },
};

crate::conformance!(ZSTD);
