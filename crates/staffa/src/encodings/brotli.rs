//! Brotli: one stream for a block, quality 9, window of 4 MiB (the heavy codec of `PosDB`). The
//! layout is that of every [codec](super::codec).

use std::io::{self, Read};

use ::brotli::enc::StandardAlloc;
use ::brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

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

/// One stream by RFC 7932, whose windows are of 16 MiB at the most, and no byte behind it.
fn decompress(bytes: &[u8], out: &mut [u8]) -> std::result::Result<usize, String> {
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
