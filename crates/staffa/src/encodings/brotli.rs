//! Brotli: one stream for a block, quality 9, window of 4 MiB (the heavy codec of `PosDB`). The
//! layout is that of every [codec](super::codec).

use std::io::{self, Read};

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

/// Bytes that are read until the write is cancelled.
struct Cancellable<'a>(&'a [u8], &'a Chooser<'a>);

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.check_cancelled().map_err(io::Error::other)?;
        self.0.read(buffer)
    }
}

fn compress(bytes: &[u8], chooser: &Chooser<'_>) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    let params = ::brotli::enc::BrotliEncoderParams {
        quality: 9,
        lgwin: 22,
        ..Default::default()
    };
    let mut bytes = Cancellable(bytes, chooser);
    let compressed = ::brotli::BrotliCompress(&mut bytes, &mut out, &params);
    chooser.check_cancelled()?;
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
