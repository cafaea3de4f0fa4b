//! Zstd: Zstandard, level 19, one frame for a block. The layout is that of every
//! [codec](super::codec).

use std::io::Write as _;

use super::codec::Codec;
use crate::encode::{Availability, Chooser, Info};
use crate::error::Result;

/// The level of a block, and that by which it is weighed against other encodings.
const LEVEL: i32 = 19;
const ESTIMATED: i32 = 3;

/// More bytes, which take seconds, are compressed piece by piece, so that the write can be cancelled.
const PIECE: usize = 1 << 20;

/// See the [module](self).
pub static ZSTD: Codec = Codec {
    info: Info {
        id: 22,
        name: "zstd",
        about: "bytes compressed by Zstandard, level 19; a row costs the block",
        availability: Availability::Small,
        ..Codec::INFO
    },
    compress,
    weigh: |bytes, _| Ok(::zstd::bulk::compress(bytes, ESTIMATED).ok()),
    decompress: |bytes, out| {
        ::zstd::bulk::decompress_to_buffer(bytes, out).map_err(|e| e.to_string())
    },
};

fn compress(bytes: &[u8], chooser: &Chooser<'_>) -> Result<Option<Vec<u8>>> {
    if bytes.len() <= PIECE {
        return Ok(::zstd::bulk::compress(bytes, LEVEL).ok());
    }
    let encoder = ::zstd::stream::write::Encoder::new(Vec::new(), LEVEL);
    let Ok(mut encoder) = encoder else {
        return Ok(None);
    };
    if encoder
        .set_pledged_src_size(Some(bytes.len() as u64))
        .is_err()
    {
        return Ok(None);
    }
    for piece in bytes.chunks(PIECE / 4) {
        chooser.check_cancelled()?;
        if encoder.write_all(piece).is_err() {
            return Ok(None);
        }
    }
    Ok(encoder.finish().ok())
}

crate::conformance!(ZSTD);
