//! Brotli: one stream for a block, quality 9, window of 4 MiB (the heavy codec of `PosDB`). The
//! layout is that of every [codec](super::codec).

use ::brotli::enc::StandardAlloc;
use ::brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

use super::codec::Codec;
use crate::encode::{Availability, Info};

/// See the [module](self).
pub static BROTLI: Codec = Codec {
    info: Info {
        id: 24,
        name: "brotli",
        about: "bytes compressed by Brotli, quality 9; a row costs the block",
        availability: Availability::ByName,
        ..Codec::INFO
    },
    compress,
    weigh: compress,
    decompress,
};

fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let params = ::brotli::enc::BrotliEncoderParams {
        quality: 9,
        lgwin: 22,
        ..Default::default()
    };
    ::brotli::BrotliCompress(&mut &*bytes, &mut out, &params)
        .ok()
        .map(|_| out)
}

/// One stream by RFC 7932, whose windows are of 16 MiB at the most, and no byte behind it.
fn decompress(bytes: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut read) = (bytes.len(), 0);
    let (mut room, mut written, mut total) = (out.len(), 0, 0);
    let result = BrotliDecompressStream(
        &mut left,
        &mut read,
        bytes,
        &mut room,
        &mut written,
        out,
        &mut total,
        &mut state,
    );
    match result {
        BrotliResult::ResultSuccess if left == 0 => Ok(written),
        BrotliResult::ResultSuccess => Err(format!(
            "one stream of Brotli expected, found {left} bytes behind it"
        )),
        BrotliResult::NeedsMoreOutput => Err(format!(
            "a stream of Brotli of {} bytes expected, found more",
            out.len()
        )),
        BrotliResult::NeedsMoreInput | BrotliResult::ResultFailure => {
            Err("a whole stream of Brotli expected".to_owned())
        }
    }
}

crate::conformance!(BROTLI);
