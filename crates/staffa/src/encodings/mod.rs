//! The pool of encodings: one file each, and the one list of them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::decode::Opener;
use crate::encode::{Encoding, Pool};
use crate::limits::Limits;

pub mod alp;
pub mod alp_rd;
pub mod alphabet;
pub mod bitmap;
pub mod bitpack;
#[cfg(feature = "codecs")]
pub mod brotli;
#[cfg(feature = "codecs")]
pub mod codec;
mod codes;
mod common;
pub mod constant;
pub mod delta;
pub mod dictionary;
pub mod difference;
pub mod edition;
pub mod escape;
mod exceptions;
pub mod fixed_point;
pub mod frame_of_reference;
pub mod frequency;
pub mod front_coding;
pub mod fsst;
pub mod grouped;
mod lengths;
#[cfg(feature = "codecs")]
pub mod lz4;
pub mod narrow;
pub mod onpair;
mod packed;
#[cfg(feature = "codecs")]
pub mod pco;
pub mod plain;
mod prelude;
pub mod pseudodecimal;
pub mod repeat;
pub mod roaring;
pub mod run_end;
pub mod split;
#[cfg(feature = "codecs")]
pub mod stream_vbyte;
pub mod text;
#[cfg(feature = "codecs")]
pub mod vbyte;
#[cfg(feature = "codecs")]
pub mod zstd;

/// Every encoding. The order is that of trial among equals.
static ALL: &[&dyn Encoding] = &[
    &plain::Plain,
    &constant::Constant,
    &bitpack::BitPack,
    &frame_of_reference::FrameOfReference,
    &delta::Delta,
    &run_end::RunEnd,
    &dictionary::Dictionary,
    &frequency::Frequency,
    &escape::Escape,
    &split::Split,
    &repeat::Repeat,
    &alp::Alp,
    &alp_rd::AlpRd,
    &pseudodecimal::Pseudodecimal,
    &fixed_point::FixedPoint,
    &onpair::OnPair,
    &fsst::Fsst,
    &text::Text,
    &alphabet::Alphabet,
    &front_coding::FrontCoding,
    &narrow::Narrow,
    &bitmap::PlainBits,
    &roaring::Roaring,
    &difference::Difference,
    &grouped::Grouped,
    #[cfg(feature = "codecs")]
    &vbyte::Vbyte,
    #[cfg(feature = "codecs")]
    &stream_vbyte::StreamVbyte,
    #[cfg(feature = "codecs")]
    &pco::Pco,
    #[cfg(feature = "codecs")]
    &zstd::ZSTD,
    #[cfg(feature = "codecs")]
    &lz4::LZ4,
    #[cfg(feature = "codecs")]
    &brotli::BROTLI,
];

/// The encodings of this release.
pub static POOL: Pool = Pool {
    all: ALL,
    constant: &constant::Constant,
    dictionary: &dictionary::Dictionary,
    plain: &plain::Plain,
    plain_bits: &bitmap::PlainBits,
};

/// Opens blocks within limits.
pub fn opener(limits: Limits) -> Opener {
    let (registry, thorough) = (&POOL, false);
    Opener {
        registry,
        limits,
        thorough,
    }
}

/// What [`list`] says of an encoding.
#[derive(Debug, Clone, serde::Serialize)]
pub struct EncodingInfo {
    /// The name by which a column requests it.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Whether a column can request it; others are derived from reference columns, where that is
    /// smaller.
    pub by_name: bool,
}

/// Every encoding by name.
///
/// ```
/// assert!(staffa::encodings().iter().any(|e| e.name == "run_end"));
/// ```
pub fn list() -> Vec<EncodingInfo> {
    POOL.iter()
        .map(|e| EncodingInfo {
            name: e.info().name,
            about: e.info().about,
            by_name: !e.info().needs_reference,
        })
        .collect()
}
