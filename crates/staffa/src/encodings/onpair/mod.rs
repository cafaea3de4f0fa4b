//! OnPair: frequent substrings of up to 16 bytes become codes of some 12 bits (Gargiulo, Venturini:
//! OnPair, 2025).
//!
//! ```text
//! payload = tokens - 1: u16 | length of every token: u8 | tokens, one after another    the block's own
//!         | per vector: end of its codes, u32 | codes, bit-packed
//! payload = 65535: u16 | part: u8 | ends and codes as above                            a shared part of the column chunk
//! child: lengths of the strings (u32)
//! ```
//!
//! Codes take as many bits as the last token's number needs, in vectors of 1,024 codes and a tail
//! as in bitpack. Training reads a sample once: it matches the longest known token, counts pairs of
//! neighbours, and a pair seen often enough becomes a token. Strings of a vector are matched as one
//! text, so that a token may span two of them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod tokens;

use staffa_kernels::{BytesDict, TokenRows, VECTOR, packed_bytes, tail_bytes};
use tokens::{LONGEST, MOST, SHARED, TRAINED, Tokens, code_width, sample, strings_of, table};

use super::bitpack::{unpack_vector, vector_bytes};
use super::plain::starts_within;
use crate::decode::{
    AnyDecoder, Appended, BytesDecoder, Decoder, Entries, OpenContext, Scratch, SharedDictionary,
    by_vector, no_row, take_strings,
};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Cursor, Node, NodeRef};
use crate::values::{Kind, PhysicalType, Strings, StringsBuf, Values, vector_len};

/// See the [module](self).
pub struct OnPair;

impl Encoding for OnPair {
    fn info(&self) -> &Info {
        &Info {
            id: 15,
            name: "onpair",
            about: "strings with frequent substrings as codes of some 12 bits",
            child_names: &["lengths"],
            terminal: true,
            availability: Availability::Slow,
            decode_picos: 1700,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        values.plain_bytes() >= 64 && !stats.is_few_strings()
    }

    /// The tokens do not grow with the rows: only the codes of a sample are scaled.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Values::Bytes(strings) = values else {
            return Ok(None);
        };
        let tokens = Tokens::train(strings, TRAINED / 32, MOST);
        let text = sample(strings.contents(), TRAINED / 32);
        let codes = tokens.count(&text);
        let sampled: usize = text.iter().map(|part| part.len()).sum();
        let share = strings.contents().len() as f64 / sampled.max(1) as f64;
        let lengths = chooser.estimate_lengths(strings, stats)?;
        let table = tokens.table_bytes() + 4 * strings.len().div_ceil(VECTOR);
        Ok(Some(
            8 + table + lengths + (codes as f64 * share * f64::from(tokens.width()) / 8.0) as usize,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let Values::Bytes(strings) = values else {
            return Ok(None);
        };
        let example = chooser
            .example()
            .filter(|node| node.encoding == self.info().id);
        let payload = match example.and_then(|node| again(node, strings)) {
            Some(payload) => payload,
            None => Tokens::of(strings, chooser.is_trial()).payload(strings).0,
        };
        let lengths = chooser.lengths(&strings.lengths())?;
        Ok(Some(Node {
            encoding: 15,
            ty: PhysicalType::Bytes,
            len: strings.len(),
            payload,
            children: vec![lengths],
        }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        if node.ty != PhysicalType::Bytes {
            return Err(Error::corrupt(format!(
                "byte strings expected, found {:?}",
                node.ty
            )));
        }
        let mut cursor = node.cursor();
        let tokens = match cursor.u16()? {
            SHARED => Entries::Shared(shared(cx.shared_dictionary(usize::from(cursor.u8()?))?)?),
            last => Entries::Own(open_own(usize::from(last) + 1, &mut cursor, cx)?),
        };
        let count = tokens.len();
        let mut ends = vec![0u32];
        for _ in 0..node.len.div_ceil(VECTOR) {
            ends.push(cursor.u32()?);
        }
        let total = ends.last().copied().unwrap_or(0) as usize;
        if let Some([a, b]) = ends.array_windows().find(|[a, b]| a > b) {
            return Err(Error::corrupt(format!(
                "ends of codes must rise, found {b} after {a}"
            )));
        }
        let width = code_width(count);
        let codes = cursor
            .bytes(total / VECTOR * packed_bytes(width) + tail_bytes(total % VECTOR, width))?;
        cursor.finish("codes")?;
        let lengths =
            cx.open_words::<u32>(node.child(0, "lengths", PhysicalType::U32, node.len)?)?;
        // A code makes 16 bytes at the most: what the lengths claim beyond that is refused before
        // it is allocated.
        let starts = starts_within(lengths.as_ref(), (total * LONGEST) as u64)?;
        Ok(AnyDecoder::Bytes(Box::new(Text {
            tokens,
            codes,
            total,
            width,
            ends,
            lengths,
            starts,
        })))
    }

    fn shareable(&self, node: &Node) -> usize {
        table(&node.payload).map_or(0, <[u8]>::len)
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.cursor().u16().unwrap_or(0) {
            SHARED => "shared tokens".into(),
            last => format!("{} tokens", u32::from(last) + 1),
        }
    }
}

/// The payload with the tokens of another block, where these suit as well as they did there, or
/// nearly: blocks that have the same tokens share them.
fn again(example: &Node, strings: Strings<'_>) -> Option<Vec<u8>> {
    let table = table(&example.payload)?;
    let tokens = Tokens::read(table);
    if !tokens.knows(strings.contents()) {
        return None;
    }
    // How many codes a byte took there.
    let vectors = example.len.div_ceil(VECTOR);
    let (ends, packed) = example
        .payload
        .get(table.len()..)?
        .split_at_checked(vectors * 4)?;
    let total = ends.last_chunk().map_or(0, |end| u32::from_le_bytes(*end)) as usize;
    let lengths = tokens.strings.as_strings().lengths();
    let (mut codes, mut bytes) = (vec![0u32; VECTOR], 0);
    for v in 0..total.div_ceil(VECTOR) {
        // One token alone has codes of no bits.
        let packed = packed.get(v * packed_bytes(tokens.width())..)?;
        let codes = codes.get_mut(..vector_len(total, v))?;
        let packed = packed.get(..vector_bytes(codes.len(), tokens.width()))?;
        unpack_vector(packed, tokens.width(), 0, codes).ok()?;
        bytes += codes
            .iter()
            .filter_map(|code| lengths.get(*code as usize))
            .map(|len| *len as usize)
            .sum::<usize>();
    }
    let expected = total as f64 / bytes as f64 * strings.contents().len() as f64;
    let (payload, codes) = tokens.payload(strings);
    let saved = (table.len() * 8) as f64 / f64::from(tokens.width().max(1));
    (codes as f64 <= expected * 1.02 + saved).then_some(payload)
}

/// Moves the tokens that several blocks have into a shared part of this number: the part's strings.
pub(crate) fn share(blocks: &mut [Option<Node>], part: u8) -> Option<StringsBuf> {
    fn each<'n>(node: &'n Node, seen: &mut Vec<&'n [u8]>) {
        seen.extend(table(&node.payload).filter(|_| node.encoding == OnPair.info().id));
        node.children.iter().for_each(|child| each(child, seen));
    }
    fn replace(node: &mut Node, tokens: &[u8], part: u8) {
        if node.encoding == OnPair.info().id && table(&node.payload) == Some(tokens) {
            let [low, high] = SHARED.to_le_bytes();
            node.payload.splice(..tokens.len(), [low, high, part]);
        }
        node.children
            .iter_mut()
            .for_each(|child| replace(child, tokens, part));
    }
    let mut seen = Vec::new();
    blocks
        .iter()
        .flatten()
        .for_each(|block| each(block, &mut seen));
    seen.sort_unstable();
    let most = seen
        .chunk_by(|a, b| a == b)
        .max_by_key(|equal| (equal.len() - 1) * equal.first().map_or(0, |t| t.len()))?;
    let [tokens, _, ..] = *most else { return None };
    let tokens = tokens.to_vec();
    blocks
        .iter_mut()
        .flatten()
        .for_each(|block| replace(block, &tokens, part));
    Some(strings_of(&tokens))
}

fn too_long(len: usize) -> Error {
    Error::corrupt(format!(
        "tokens of at most {LONGEST} bytes expected, found {len}"
    ))
}

fn open_own(count: usize, cursor: &mut Cursor<'_>, cx: &mut OpenContext<'_>) -> Result<TokenRows> {
    let lengths = cursor.bytes(count)?;
    if let Some(&len) = lengths.iter().find(|len| usize::from(**len) > LONGEST) {
        return Err(too_long(usize::from(len)));
    }
    let data = cursor.bytes(lengths.iter().map(|len| usize::from(*len)).sum())?;
    cx.budget
        .take(TokenRows::bytes_of(count) as u64, "tokens")?;
    TokenRows::new(lengths, data).ok_or_else(|| Error::corrupt("no tokens"))
}

/// Shared strings, where they can be tokens.
fn shared(part: &SharedDictionary) -> Result<&TokenRows> {
    let strings = part.strings()?;
    if part.len() == 0 || part.len() > usize::from(SHARED) {
        return Err(Error::corrupt(format!(
            "1 to {SHARED} tokens expected, found {}",
            part.len()
        )));
    }
    let longest =
        |strings: &BytesDict| strings.ranges().map(|range| range.len()).max().unwrap_or(0);
    part.tokens()?
        .map_or_else(|| Err(too_long(longest(strings.all()?))), Ok)
}

struct Text<'a> {
    tokens: Entries<'a, TokenRows>,
    codes: &'a [u8],
    /// Codes in all.
    total: usize,
    width: u32,
    /// Begins with 0; end of the codes of vector `v` is at `v + 1`.
    ends: Vec<u32>,
    lengths: Box<dyn Decoder<u32> + 'a>,
    starts: Vec<u32>,
}

impl Text<'_> {
    /// Codes `vector * 1024..` into `out`; returns how many there are.
    fn unpack(&self, vector: usize, out: &mut [u32]) -> Result<usize> {
        let count = vector_len(self.total, vector);
        let start = vector * packed_bytes(self.width);
        let bytes = vector_bytes(count, self.width);
        let packed = self.codes.get(start..start + bytes).unwrap_or_default();
        unpack_vector(
            packed,
            self.width,
            0,
            out.get_mut(..count).unwrap_or_default(),
        )?;
        Ok(count)
    }

    /// Strings of few rows of vector `v`, whose strings have these lengths, appended to `out`: the
    /// tokens before them are only measured.
    fn few(
        &self,
        v: usize,
        rows: &[u32],
        lengths: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let Some(&[next, end]) = self.ends.get(v..v + 2) else {
            return Err(Error::corrupt(format!("no vector {v}")));
        };
        let (next, end) = (next as usize, end as usize);
        let mut codes = Codes {
            text: self,
            unpacked: usize::MAX,
            buffer: cx.take_u32(),
            next,
            end,
        };
        let mut string = Vec::new();
        // Of the strings: the next one, and where it starts. Of the codes: where the next token
        // starts.
        let (mut i, mut start, mut at) = (0, 0, 0);
        for row in rows {
            let before = lengths.get(i..*row as usize % VECTOR).unwrap_or_default();
            start += before.iter().map(|length| *length as usize).sum::<usize>();
            i += before.len() + 1;
            let length = lengths.get(i - 1).map_or(0, |length| *length as usize);
            string.clear();
            let mut most = MEASURED;
            while string.len() < length {
                let some = codes.some(most)?;
                let bytes = self.tokens.decoded_bytes(some).ok_or_else(|| no_token(v))? as usize;
                if at + bytes <= start {
                    at += bytes;
                    codes.next += some.len();
                    continue;
                }
                if most > 1 {
                    most /= 4;
                    continue;
                }
                let token = some
                    .first()
                    .and_then(|code| self.tokens.get(*code as usize))
                    .ok_or_else(|| no_token(v))?;
                // What of it belongs to the string: a token may span two.
                let part = token
                    .get((start + string.len()).saturating_sub(at)..)
                    .unwrap_or_default();
                let part = part.get(..length - string.len()).unwrap_or(part);
                string.extend(part);
                if at + token.len() <= start + string.len() {
                    at += token.len();
                    codes.next += 1;
                }
            }
            out.push(&string)?;
            start += length;
        }
        cx.give_u32(codes.buffer);
        Ok(())
    }
}

fn no_token(v: usize) -> Error {
    Error::corrupt(format!("codes of vector {v} do not decode to its bytes"))
}

/// Rows of a vector from which on all of it is decoded: that takes 2 to 7 us, a row by itself some
/// 0.2.
const FEW: usize = 16;

/// Codes that are measured at once.
const MEASURED: usize = 64;

/// The codes of a vector, as far as they have been read.
struct Codes<'t, 'a> {
    text: &'t Text<'a>,
    /// Which 1024 codes are in the buffer.
    unpacked: usize,
    buffer: Vec<u32>,
    next: usize,
    end: usize,
}

impl Codes<'_, '_> {
    /// At least one and at most `most` of the codes that come next.
    fn some(&mut self, most: usize) -> Result<&[u32]> {
        if self.unpacked != self.next / VECTOR {
            self.text.unpack(self.next / VECTOR, &mut self.buffer)?;
            self.unpacked = self.next / VECTOR;
        }
        let from = self.next % VECTOR;
        let to = VECTOR
            .min(from + most)
            .min(from + self.end.saturating_sub(self.next));
        let some = self.buffer.get(from..to).filter(|some| !some.is_empty());
        some.ok_or_else(|| Error::corrupt("fewer codes than strings need"))
    }
}

impl BytesDecoder for Text<'_> {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        Some(self.lengths.as_ref())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        for (v, rows) in by_vector(rows) {
            if rows.len() >= FEW {
                take_strings(self, rows, cx, out)?;
                continue;
            }
            if let Some(row) = rows.last().filter(|row| **row as usize >= self.len()) {
                return Err(no_row(*row, self.len()));
            }
            let mut buffer = cx.take_u32();
            let lengths = buffer
                .get_mut(..vector_len(self.len(), v))
                .unwrap_or_default();
            self.lengths.vector(v, cx, lengths)?;
            self.few(v, rows, lengths, cx, out)?;
            cx.give_u32(buffer);
        }
        Ok(())
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        match self.starts.get(v..v + 2) {
            Some(&[start, end]) => Ok(end.saturating_sub(start) as usize),
            _ => Err(Error::corrupt(format!("no vector {v}"))),
        }
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.lengths.vector(v, cx, lengths)?;
        let expected = self.vector_bytes(v, cx)?;
        let Some(&[first, last]) = self.ends.get(v..v + 2) else {
            return Err(Error::corrupt(format!("no vector {v}")));
        };
        let mut codes = cx.take_u32();
        let (mut next, mut at) = (first as usize, 0);
        while next < last as usize {
            let count = self.unpack(next / VECTOR, &mut codes)?;
            let from = next % VECTOR;
            let to = count.min(from + last as usize - next);
            let wanted = codes.get(from..to).unwrap_or_default();
            let written = self
                .tokens
                .decode(wanted, out.get_mut(at..).unwrap_or_default());
            at += written.ok_or_else(|| no_token(v))?;
            next += wanted.len().max(1);
        }
        cx.give_u32(codes);
        if at != expected {
            return Err(Error::corrupt(format!(
                "codes of vector {v} that decode to {expected} bytes expected, found {at}"
            )));
        }
        Ok(at)
    }
}

crate::conformance!(OnPair);
