//! Codecs: what the type-blind compressors of bytes have in common (Zstd, LZ4, Brotli). A column has
//! one by name (`PosDB`: compression in disk-based column stores), or by its profile.
//!
//! ```text
//! words:        payload = the compressed little-endian words
//! byte strings: payload = the compressed contents | child: lengths (u32)
//! ```
//!
//! A block is decompressed whole at open: a point read costs the block.

use std::borrow::Cow;

use staffa_kernels::Word as _;

use super::lengths::{MeasuredStrings, StringLengths};
use super::plain::{PlainWords, word_bytes};
use super::prelude::*;
use crate::values::for_words;

/// Fewer bytes are not worth a codec's own header.
const LEAST: usize = 256;

/// Bytes of the sample by which a fast codec is estimated.
const SAMPLED: usize = 1 << 14;

/// Compresses bytes; `None` if it cannot. A slow compressor looks at
/// [`check_cancelled`](Chooser::check_cancelled) on its way.
type Compress = fn(&[u8], &Chooser<'_>) -> Result<Option<Vec<u8>>>;

/// A compressor of bytes as an encoding.
pub struct Codec {
    pub(super) info: Info,
    pub(super) compress: Compress,
    /// As `compress`, faster, with about as many bytes: for estimates.
    pub(super) weigh: Compress,
    /// Decompresses into `out`; returns the bytes written, or why it cannot.
    pub(super) decompress: fn(&[u8], &mut [u8]) -> std::result::Result<usize, String>,
}

impl Codec {
    /// What is the same for all codecs.
    pub(super) const INFO: Info = Info {
        child_names: &["lengths"],
        terminal: true,
        point_access: PointAccess::Block,
        ..Info::DEFAULT
    };
}

impl Encoding for Codec {
    fn info(&self) -> &Info {
        &self.info
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    /// Whether values are worth compressing.
    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        let strings = matches!(values, Values::Bytes(_));
        values.plain_bytes() >= LEAST
            && (strings || !matches!(self.info.availability, Availability::Fast))
    }

    /// A sample of rows says nothing: all bytes are compressed, quickly, or the first ones where
    /// writing is to be fast.
    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        if let (Availability::Fast, Values::Bytes(strings), false) =
            (self.info.availability, values, chooser.is_trial())
        {
            let all = strings.contents();
            let first = all.get(..SAMPLED).unwrap_or(all);
            let Some(compressed) = (self.weigh)(first, chooser)? else {
                return Ok(None);
            };
            let lengths =
                chooser.estimate_child(Values::U32(&strings.lengths()), Kind::Unsigned)?;
            return Ok(Some(
                lengths
                    + (compressed.len() as u64 * all.len() as u64 / first.len().max(1) as u64)
                        as usize,
            ));
        }
        Ok(encode(self, values, chooser, self.weigh)?.map(|node| node.size()))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode(self, values, chooser, self.compress)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        open(node, cx, self.decompress)
    }
}

/// The node of values whose bytes `compress` makes smaller.
fn encode(
    codec: &Codec,
    values: Values<'_>,
    chooser: &Chooser<'_>,
    compress: Compress,
) -> Result<Option<Node>> {
    if chooser.is_trial() {
        return Ok(None);
    }
    let (bytes, children) = match values {
        Values::Bits(_) => return Ok(None),
        Values::Bytes(strings) => (
            strings.contents(),
            vec![chooser.lengths(&strings.lengths())?],
        ),
        words => (word_bytes(words), vec![]),
    };
    match compress(bytes, chooser)? {
        Some(payload) => node(codec, values, payload, children),
        None => Ok(None),
    }
}

fn open<'a>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
    decompress: impl Fn(&[u8], &mut [u8]) -> std::result::Result<usize, String>,
) -> Result<AnyDecoder<'a>> {
    let plain = |bytes: usize, cx: &mut OpenContext<'a>| {
        cx.budget.take(bytes as u64, "decompressed bytes")?;
        let mut out = vec![0; bytes];
        let found = decompress(node.payload, &mut out).map_err(Error::corrupt)?;
        corrupt_if!(
            found != bytes,
            "{bytes} decompressed bytes expected, found {found}"
        );
        Ok(Cow::Owned(out))
    };
    if node.ty == PhysicalType::Bytes {
        let lengths = StringLengths::open(node, cx, u64::from(u32::MAX))?;
        let contents = plain(lengths.total(), cx)?;
        return strings(MeasuredStrings { contents, lengths });
    }
    node.expect_children(0)?;
    for_words!(node.ty, T => {
        let bytes = plain(node.len * T::BYTES, cx)?;
        Ok(T::wrap(Box::new(PlainWords { bytes, len: node.len })))
    }, _ => Err(Error::corrupt("a codec holds no bits")))
}
