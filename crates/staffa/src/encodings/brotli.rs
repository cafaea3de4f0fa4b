//! Brotli: one stream for a block, quality 9, window of 4 MiB (the heavy codec of `PosDB`). The
//! layout is that of every [codec](super::codec).

use std::io::Read as _;

use super::codec::Codec;
use crate::encode::{Availability, Chooser, Info};
use crate::error::Result;

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

fn compress(bytes: &[u8], _: &Chooser<'_>) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    let params = ::brotli::enc::BrotliEncoderParams {
        quality: 9,
        lgwin: 22,
        ..Default::default()
    };
    let compressed = ::brotli::BrotliCompress(&mut &*bytes, &mut out, &params);
    Ok(compressed.ok().map(|_| out))
}

fn decompress(bytes: &[u8], out: &mut [u8]) -> std::result::Result<usize, String> {
    let mut stream = ::brotli::Decompressor::new(bytes, 4096);
    let mut filled = 0;
    // Ends with the stream, or with the places.
    while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest).map_err(|e| e.to_string())? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

crate::conformance!(BROTLI);
