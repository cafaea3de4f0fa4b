//! Blocks: up to 65,536 values of one leaf column, with their own checksum.
//!
//! ```text
//! block       = values: varint | flags: u8 | if byte strings: decoded bytes: varint
//!             | if flags & 1: validity: node of bits | if flags & 2: values: node | CRC-32C of all before: u32
//! ```
//!
//! Where there is no validity node all values are valid. Flag 4: the values are dense, there is
//! none for a NULL. Else a NULL has a value that is cheap to store and means nothing.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use staffa_kernels::{VECTOR, Word, fill_past_cache};

use crate::bitmap::Bitmap;
use crate::choose::Cascade;
use crate::cursor::{Cursor, put_varint};
use crate::decode::{AnyDecoder, Budget, Decoder, OpenContext, Physical, Scratch, words};
use crate::error::{Error, Result};
use crate::gather::no_row;
use crate::limits::Limits;
use crate::node::{Node, NodeRef};
use crate::rows::BlockRows;
use crate::shared::SharedPart;
use crate::source::Source;
use crate::values::{Kind, PhysicalType, Values};

const HAS_VALIDITY: u8 = 1;
const HAS_VALUES: u8 = 2;
const DENSE: u8 = 4;

/// CRC-32C (Castagnoli), as in iSCSI.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Bytes without their trailing checksum, once it has been found right.
pub(crate) fn checked<'a>(bytes: &'a [u8], what: &str) -> Result<&'a [u8]> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Error::truncated(format!(
            "{what} of at least 4 bytes expected, found {}",
            bytes.len()
        )));
    };
    let (stored, found) = (u32::from_le_bytes(*stored), checksum(body));
    if stored != found {
        return Err(Error::corrupt(format!(
            "checksum of {what} is {found:08x}, {stored:08x} expected: bytes were changed"
        )));
    }
    Ok(body)
}

/// Appends the checksum of all bytes so far.
pub(crate) fn seal(bytes: &mut Vec<u8>) {
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}

/// What goes into a block.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// How many values, NULLs included.
    pub len: usize,
    /// Where some are NULL.
    pub validity: Option<&'a Node>,
    /// The tree of the values, where there are any.
    pub values: Option<&'a Node>,
    /// Whether it has none for NULLs.
    pub dense: bool,
    /// Bytes of all strings, for byte strings.
    pub string_bytes: Option<usize>,
}

/// A sealed block.
pub(crate) fn write(parts: &Parts<'_>) -> Vec<u8> {
    let size = |node: Option<&Node>| node.map_or(0, Node::size);
    let mut out = Vec::with_capacity(size(parts.values) + size(parts.validity) + 32);
    put_varint(&mut out, parts.len as u64);
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    out.push(
        flag(parts.validity.is_some(), HAS_VALIDITY)
            | flag(parts.values.is_some(), HAS_VALUES)
            | flag(parts.dense, DENSE),
    );
    if let Some(bytes) = parts.string_bytes {
        put_varint(&mut out, bytes as u64);
    }
    if let Some(validity) = parts.validity {
        validity.write(&mut out);
    }
    if let Some(values) = parts.values {
        values.write(&mut out);
    }
    seal(&mut out);
    out
}

/// The tree of a validity.
pub(crate) fn validity(valid: &Bitmap, without: u64) -> Result<Node> {
    Cascade::default()
        .without(without)
        .child(Values::Bits(valid), Kind::Unsigned)
}

/// The header and the trees of a block, its checksum found right, nothing opened yet.
#[derive(Debug, Clone)]
pub(crate) struct Parsed<'a> {
    /// How many values, NULLs included.
    pub len: usize,
    /// Whether there is no value for a NULL.
    pub dense: bool,
    /// Bytes of all strings.
    pub string_bytes: usize,
    /// The tree of the validity.
    pub validity: Option<NodeRef<'a>>,
    /// The tree of the values.
    pub values: Option<NodeRef<'a>>,
}

/// Checks and parses a block of `len` values of type `ty` (`None` for a leaf of validity alone).
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    len: usize,
    ty: Option<PhysicalType>,
    limits: &Limits,
) -> Result<Parsed<'a>> {
    let mut cursor = Cursor::new(checked(bytes, "a block")?);
    let found = cursor.varint_up_to(limits.row_group_values, "number of values")?;
    if found != len {
        return Err(Error::corrupt(format!(
            "{len} values expected, found {found}"
        )));
    }
    let flags = cursor.u8()?;
    if flags > 7 {
        return Err(Error::corrupt(format!(
            "flags of at most 7 expected, found {flags}"
        )));
    }
    let string_bytes = if ty == Some(PhysicalType::Bytes) {
        cursor.varint_up_to(limits.block_bytes, "decoded bytes")?
    } else {
        0
    };
    let validity = (flags & HAS_VALIDITY != 0)
        .then(|| NodeRef::parse(&mut cursor, len, limits.depth))
        .transpose()?;
    let values = (flags & HAS_VALUES != 0)
        .then(|| NodeRef::parse(&mut cursor, len, limits.depth))
        .transpose()?;
    cursor.finish("the block")?;
    let dense = flags & DENSE != 0;
    if validity
        .as_ref()
        .is_some_and(|v| v.ty != PhysicalType::Bits || v.len != len)
    {
        return Err(Error::corrupt(format!("a validity of {len} bits expected")));
    }
    match (&values, ty) {
        (Some(node), Some(ty)) if node.ty == ty && (dense || node.len == len) => {}
        (None, None) => {}
        (None, Some(_)) if dense => {}
        _ => {
            return Err(Error::corrupt(format!(
                "{len} values of {ty:?} expected, found other ones"
            )));
        }
    }
    Ok(Parsed {
        len,
        dense,
        string_bytes,
        validity,
        values,
    })
}

/// A block, ready to be decoded.
pub(crate) struct Block<'a> {
    /// How many values, NULLs included.
    pub len: usize,
    /// Where some are NULL.
    pub validity: Option<Bitmap>,
    /// Of the values; `None` where there are none but NULLs.
    pub values: Option<AnyDecoder<'a>>,
    /// Whether there is no value for a NULL.
    pub dense: bool,
    /// Bytes of all strings.
    pub string_bytes: usize,
    /// Bytes that the decoders hold beside what they borrow.
    pub held: u64,
}

impl<'a> Block<'a> {
    /// Opens both trees.
    ///
    /// `sources` are the blocks of the same rows of the columns in terms of which this one is.
    pub fn open(
        parsed: &Parsed<'a>,
        shared: &'a [SharedPart],
        sources: &[Parsed<'a>],
        limits: &Limits,
    ) -> Result<Self> {
        let width = parsed
            .values
            .as_ref()
            .and_then(|v| v.ty.width_bytes())
            .unwrap_or(1);
        let plain = (parsed.len * width + parsed.string_bytes) as u64;
        if plain > limits.block_bytes {
            return Err(Error::limit(format!(
                "a block of at most {} bytes is allowed, found {plain}",
                limits.block_bytes
            )));
        }
        // What decoders hold beside the output: dictionaries, runs, exceptions, none larger than
        // the values themselves.
        let most = 4 * plain + 32 * parsed.len as u64 + (1 << 16);
        let budget = Budget::new(most);
        let told = |rows: Option<&Bitmap>| {
            sources
                .iter()
                .map(|block| Source {
                    block: block.clone(),
                    rows: rows.cloned(),
                })
                .collect()
        };
        let mut cx = OpenContext {
            budget,
            shared,
            sources: told(None),
        };
        let validity = parsed
            .validity
            .as_ref()
            .map(|node| cx.open_bits(node)?.bits())
            .transpose()?;
        let valid = validity.as_ref().map_or(parsed.len, Bitmap::count_ones);
        if parsed.dense && parsed.values.as_ref().map_or(0, |v| v.len) != valid {
            return Err(Error::corrupt(format!(
                "{valid} values expected, as many as are valid"
            )));
        }
        if let Some(rows) = validity.as_ref().filter(|_| parsed.dense) {
            cx.sources = told(Some(rows));
        }
        let values = parsed
            .values
            .as_ref()
            .map(|node| cx.open(node))
            .transpose()?;
        let (len, dense, string_bytes) = (parsed.len, parsed.dense, parsed.string_bytes);
        let held = most - cx.budget.left()
            + cx.budget.beside()
            + validity.as_ref().map_or(0, |v| v.words().len() as u64 * 8);
        Ok(Self {
            len,
            validity,
            values,
            dense,
            string_bytes,
            held,
        })
    }

    /// All words into `out`, which has a place for every value; those under a NULL mean nothing.
    pub fn words<T: Physical>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        let count = decoder.len();
        let Some(present) = out.get_mut(..count) else {
            return Err(Error::corrupt(format!(
                "at most {} values expected, found {count}",
                self.len
            )));
        };
        for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
            decoder.vector(v, cx, vector)?;
        }
        if let Some(validity) = self.validity.as_ref().filter(|_| self.dense) {
            expand(out, count, validity)?;
        }
        Ok(())
    }

    /// As [`words`](Self::words), past the caches.
    pub fn words_past_cache<T: Physical>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        if self.dense && self.validity.is_some() {
            // Put apart in the L2 cache.
            let mut all = words::<T>(out.len())?;
            self.words(decoder, cx, &mut all)?;
            return fill_past_cache(out, |v, values| {
                let from = all.get(v * VECTOR..v * VECTOR + values.len());
                values.copy_from_slice(
                    from.ok_or_else(|| Error::corrupt(format!("vector {v} is not there")))?,
                );
                Ok(())
            });
        }
        let found = out.get_mut(..decoder.len());
        let found = found.ok_or_else(|| {
            Error::corrupt(format!(
                "{} values expected, found {}",
                self.len,
                decoder.len()
            ))
        })?;
        fill_past_cache(found, |v, values| decoder.vector(v, cx, values))
    }

    /// All strings at the start of `out`, and the length of each, NULLs being empty. Returns the
    /// bytes they take.
    pub fn strings(&self, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        let Some(AnyDecoder::Bytes(decoder)) = &self.values else {
            lengths.fill(0);
            return Ok(0);
        };
        let count = decoder.len();
        let Some(present) = lengths.get_mut(..count) else {
            return Err(Error::corrupt(format!(
                "at most {} values expected, found {count}",
                self.len
            )));
        };
        let mut at = 0;
        for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
            at += decoder.vector(v, cx, vector, out.get_mut(at..).unwrap_or_default())?;
        }
        if let Some(validity) = self.validity.as_ref().filter(|_| self.dense) {
            expand(lengths, count, validity)?;
        }
        Ok(at)
    }

    /// Where the values of `rows` are to be found.
    pub fn wanted<'r>(&self, rows: &'r BlockRows) -> Result<Wanted<'r>> {
        if rows.end() > self.len {
            return Err(no_row(rows.end() as u32 - 1, self.len));
        }
        let validity = self.validity.as_ref().map(|all| rows.of(all));
        let places = match self.validity.as_ref().filter(|_| self.dense) {
            Some(all) => Cow::Owned(rows.among(all)),
            None => Cow::Borrowed(rows),
        };
        Ok(Wanted { places, validity })
    }

    /// Which of the values some rows have, or all; `None` where all values are wanted.
    pub fn values_of<'r>(&'r self, rows: Option<&'r Bitmap>) -> Option<Cow<'r, Bitmap>> {
        match (rows, &self.validity) {
            (None, None) => None,
            (None, Some(validity)) => (!self.dense).then_some(Cow::Borrowed(validity)),
            (Some(rows), None) => Some(Cow::Borrowed(rows)),
            (Some(rows), Some(validity)) if self.dense => Some(Cow::Owned(rows.gathered(validity))),
            (Some(rows), Some(validity)) => Some(Cow::Owned(rows.and(validity))),
        }
    }

    /// All bits, those under a NULL being 0.
    pub fn bits(&self) -> Result<Bitmap> {
        let Some(AnyDecoder::Bits(decoder)) = &self.values else {
            return Ok(Bitmap::filled(self.len, false));
        };
        Ok(self.of_rows(decoder.bits()?))
    }

    /// Bits of the values as bits of the rows, those under a NULL being 0.
    pub fn of_rows(&self, bits: Bitmap) -> Bitmap {
        match &self.validity {
            None => bits,
            Some(validity) if self.dense => bits.scattered(validity),
            Some(validity) => bits.and(validity),
        }
    }
}

/// Some rows of a block.
pub(crate) struct Wanted<'r> {
    /// Where their values stand among those of the block; where it has none for NULLs, those of the
    /// others.
    pub places: Cow<'r, BlockRows>,
    /// Which of the rows are not NULL.
    pub validity: Option<Bitmap>,
}

impl Wanted<'_> {
    /// Puts the values of the places to their rows.
    pub fn put<T: Word>(&self, values: &[T], out: &mut [T]) -> Result<()> {
        if values.len() == out.len() {
            out.copy_from_slice(values);
            return Ok(());
        }
        let present = out.get_mut(..values.len()).zip(self.validity.as_ref());
        let (present, validity) = present.ok_or_else(|| Error::corrupt("more values than rows"))?;
        present.copy_from_slice(values);
        expand(out, values.len(), validity)
    }

    /// Words of the places as words of all `count` rows.
    pub fn of_rows(&self, found: Vec<u32>, count: usize) -> Result<Vec<u32>> {
        if found.len() == count {
            return Ok(found);
        }
        let mut all = vec![0; count];
        self.put(&found, &mut all)?;
        Ok(all)
    }
}

/// Moves the first `count` values to the places whose bit is set; the others become 0.
pub(crate) fn expand<T: Word>(out: &mut [T], count: usize, validity: &Bitmap) -> Result<()> {
    let done = staffa_kernels::expand(out, count, validity.words());
    done.then_some(()).ok_or_else(|| {
        Error::corrupt(format!(
            "as many values as are valid expected, found {count}"
        ))
    })
}
