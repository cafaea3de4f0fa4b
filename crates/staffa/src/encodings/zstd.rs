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
    decompress,
};

/// First bytes of a frame; a skippable frame has others.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Zstd itself would pass over skippable frames, and decompress one frame after another.
fn decompress(bytes: &[u8], out: &mut [u8]) -> Result<usize, String> {
    if !bytes.starts_with(&MAGIC) {
        return Err("a frame of Zstandard expected".to_owned());
    }
    let frame = ::zstd::zstd_safe::find_frame_compressed_size(bytes)
        .map_err(|code| ::zstd::zstd_safe::get_error_name(code).to_owned())?;
    if frame != bytes.len() {
        let behind = bytes.len() - frame.min(bytes.len());
        return Err(format!(
            "one frame expected, found {behind} bytes behind it"
        ));
    }
    ::zstd::bulk::decompress_to_buffer(bytes, out).map_err(|e| e.to_string())
}

crate::conformance!(ZSTD);
