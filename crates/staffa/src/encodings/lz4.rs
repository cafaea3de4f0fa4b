//! LZ4: the block format of LZ4. The layout is that of every [codec](super::codec).

use super::codec::Codec;
use crate::encode::{Availability, Info};

/// See the [module](self).
pub static LZ4: Codec = Codec {
    info: Info {
        id: 23,
        name: "lz4",
        about: "bytes compressed by LZ4; a row costs the block",
        availability: Availability::Fast,
        ..Codec::INFO
    },
    compress: |bytes, _| Ok(Some(lz4_flex::block::compress(bytes))),
    weigh: |bytes, _| Ok(Some(lz4_flex::block::compress(bytes))),
    decompress: |bytes, out| {
        lz4_flex::block::decompress_into(bytes, out).map_err(|e| e.to_string())
    },
};

crate::conformance!(LZ4);
