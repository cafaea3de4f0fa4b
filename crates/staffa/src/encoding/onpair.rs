//! OnPair: frequent substrings of up to 16 bytes become codes of some 12 bits (Gargiulo, Venturini: OnPair, 2025).
//!
//! ```text
//! payload = tokens - 1: u16 | length of every token: u8 | tokens, one after another
//!         | per vector: end of its codes, u32 | codes, bit-packed
//! child: lengths of the strings (u32)
//! ```
//!
//! Codes take as many bits as the last token's number needs, in vectors of 1,024 codes and a tail as in bitpack. Training
//! reads a sample once: it matches the longest known token, counts pairs of neighbours, and a pair seen often enough becomes
//! a token. Strings of a vector are matched as one text, so that a token may span two of them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, VECTOR, packed_bytes, tail_bytes};

use super::Encoding;
use super::bitpack::{pack_vector, unpack_vector};
use super::plain::starts_within;
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, BytesDecoder, Decoder, OpenContext, Scratch};
use crate::error::{Error, Result};
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Strings, StringsBuf, Values};

/// Longest token, bytes.
const LONGEST: usize = 16;
/// Most tokens, and most of a text of at least [`LONG`] bytes, whose codes have a bit more then.
const MOST: usize = 1 << 12;
const MOST_OF_LONG: usize = 1 << 13;
const LONG: usize = 3 << 19;
/// Bytes that training reads at the most; twice as many of a long text.
const TRAINED: usize = 1 << 19;
/// How often a pair must be seen to become a token, at the most.
const OFTEN: usize = 8;
/// Bytes by which two tables of tokens are compared.
const COMPARED: usize = 1 << 16;

/// See the [module](self).
pub struct OnPair;

impl Encoding for OnPair {
    fn id(&self) -> u8 {
        15
    }

    fn name(&self) -> &'static str {
        "onpair"
    }

    fn about(&self) -> &'static str {
        "strings with frequent substrings as codes of some 12 bits"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["lengths"]
    }

    fn terminal(&self) -> bool {
        true
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    fn suits(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        values.plain_bytes() >= 64 && !stats.is_few_strings()
    }

    /// The tokens do not grow with the rows: only the codes of a sample are scaled.
    fn estimate(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let Values::Bytes(strings) = values else { return Ok(None) };
        let tokens = Tokens::train(strings, TRAINED / 32, MOST);
        let text = sample(strings.contents(), TRAINED / 32);
        let codes: usize = text.iter().map(|part| tokens.codes(part).len()).sum();
        let sampled: usize = text.iter().map(|part| part.len()).sum();
        let share = strings.contents().len() as f64 / sampled.max(1) as f64;
        let lengths = cascade.estimate_child(Values::U32(&strings.lengths()), Kind::Unsigned)?;
        let table = tokens.table_bytes() + 4 * strings.len().div_ceil(VECTOR);
        Ok(Some(8 + table + lengths + (codes as f64 * share * f64::from(tokens.width()) / 8.0) as usize))
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let Values::Bytes(strings) = values else { return Ok(None) };
        let tokens = Tokens::of(strings, cascade.is_trial());
        let mut payload = Vec::with_capacity(strings.contents().len() / 2);
        payload.extend((tokens.strings.as_strings().len() as u16 - 1).to_le_bytes());
        payload.extend(tokens.strings.as_strings().lengths().iter().map(|len| *len as u8));
        payload.extend_from_slice(&tokens.strings.data);
        let mut codes: Vec<u32> = Vec::new();
        for first in (0..strings.len()).step_by(VECTOR) {
            let rows = strings.slice(first, VECTOR.min(strings.len() - first));
            codes.extend(tokens.codes(rows.contents()));
            payload.extend((codes.len() as u32).to_le_bytes());
        }
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, tokens.width(), &mut payload);
        }
        let lengths = cascade.lengths(&strings.lengths())?;
        Ok(Some(Node { encoding: 15, ty: PhysicalType::Bytes, len: strings.len(), payload, children: vec![lengths] }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        if node.ty != PhysicalType::Bytes {
            return Err(Error::corrupt(format!("byte strings expected, found {:?}", node.ty)));
        }
        let mut cursor = node.cursor();
        let count = usize::from(cursor.u16()?) + 1;
        let mut offsets = vec![0u32];
        let mut end = 0u32;
        for &len in cursor.bytes(count)? {
            if usize::from(len) > LONGEST {
                return Err(Error::corrupt(format!("tokens of at most {LONGEST} bytes expected, found {len}")));
            }
            end += u32::from(len);
            offsets.push(end);
        }
        let data = cursor.bytes(end as usize)?;
        cx.budget.take(u64::from(end) + 8 * count as u64, "tokens")?;
        let tokens = BytesDict::new(&offsets, data).ok_or_else(|| Error::corrupt("no tokens"))?;
        let mut ends = vec![0u32];
        for _ in 0..node.len.div_ceil(VECTOR) {
            ends.push(cursor.u32()?);
        }
        let total = ends.last().copied().unwrap_or(0) as usize;
        if let Some([a, b]) = ends.array_windows().find(|[a, b]| a > b) {
            return Err(Error::corrupt(format!("ends of codes must rise, found {b} after {a}")));
        }
        let width = code_width(count);
        let codes = cursor.bytes(total / VECTOR * packed_bytes(width) + tail_bytes(total % VECTOR, width))?;
        cursor.finish("codes")?;
        let lengths = cx.open_words::<u32>(node.child(0, "lengths", PhysicalType::U32, node.len)?)?;
        // A code makes 16 bytes at the most: what the lengths claim beyond that is refused before it is allocated.
        let starts = starts_within(lengths.as_ref(), (total * LONGEST) as u64)?;
        Ok(AnyDecoder::Bytes(Box::new(Text { tokens, codes, total, width, ends, lengths, starts })))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let tokens = node.cursor().u16().unwrap_or(0);
        format!("{} tokens", u32::from(tokens) + 1)
    }
}

/// Bits of a code among so many tokens.
fn code_width(tokens: usize) -> u32 {
    usize::BITS - tokens.saturating_sub(1).leading_zeros()
}

/// Parts of a text, together at most `most` bytes, spread over it.
fn sample(text: &[u8], most: usize) -> Vec<&[u8]> {
    const PART: usize = 4096;
    if text.len() <= most {
        return vec![text];
    }
    let parts = most / PART;
    let stride = text.len() / parts;
    (0..parts).filter_map(|i| text.get(i * stride..(i * stride + PART).min(text.len()))).collect()
}

/// The first 16 bytes of a text as two words; 0 where it has fewer.
fn head(text: &[u8]) -> [u64; 2] {
    let bytes = text.first_chunk::<16>().copied().unwrap_or_else(|| {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        bytes
    });
    let word = u128::from_le_bytes(bytes);
    [word as u64, (word >> 64) as u64]
}

/// The bits of the first `len` bytes of two words.
fn mask(len: usize) -> [u64; 2] {
    let mask = if len >= LONGEST { u128::MAX } else { (1 << (8 * len)) - 1 };
    [mask as u64, (mask >> 64) as u64]
}

/// A token of three bytes or more.
#[derive(Debug, Clone, Copy)]
struct Token {
    word: [u64; 2],
    mask: [u64; 2],
    len: u32,
    code: u32,
}

/// How often pairs of codes were seen: open addressing, an entry is `(pair + 1) << 4 | count`, 0 where there is none.
struct Pairs {
    table: Vec<u32>,
    held: usize,
}

impl Pairs {
    fn new() -> Self {
        Self { table: vec![0; 1 << 12], held: 0 }
    }

    /// Counts a pair once more, and forgets it once it has been seen `often`, at most [`OFTEN`] times.
    #[inline]
    fn is_often(&mut self, before: u32, code: u32, often: u32) -> bool {
        let key = (before << 13 | code) + 1;
        let place = Self::place(&self.table, key);
        let Some(entry) = self.table.get_mut(place) else { return false };
        self.held += usize::from(*entry == 0);
        *entry = (key << 4 | *entry & 15) + 1;
        let reached = *entry & 15 >= often;
        if reached {
            *entry &= !15;
        }
        if self.held * 2 > self.table.len() {
            self.grow();
        }
        reached
    }

    #[inline]
    fn place(table: &[u32], key: u32) -> usize {
        let last = table.len() - 1;
        let mut place = (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & last;
        while table.get(place).is_some_and(|entry| *entry != 0 && entry >> 4 != key) {
            place = (place + 1) & last;
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        let mut table = vec![0; self.table.len() * 4];
        for entry in self.table.iter().filter(|entry| **entry != 0) {
            let place = Self::place(&table, entry >> 4);
            table.iter_mut().skip(place).take(1).for_each(|place| *place = *entry);
        }
        self.table = table;
    }
}

/// Tokens, and the way from a text to their codes.
struct Tokens {
    strings: StringsBuf,
    /// By a hash of their first three bytes, the longest first.
    buckets: Vec<Vec<Token>>,
    /// Tokens of two bytes, by them: the code and one.
    pairs: Vec<u16>,
    /// Tokens of one byte, by it.
    singles: [u32; 256],
}

/// The bucket of tokens that begin with the same three bytes.
fn bucket(word: u64) -> usize {
    ((word as u32 & 0x00ff_ffff).wrapping_mul(0x9e37_79b1) >> 20) as usize
}

impl Tokens {
    /// Trained as suits the length of the text.
    fn of(strings: Strings<'_>, trial: bool) -> Self {
        let text = strings.contents();
        if trial || text.len() < LONG {
            return Self::train(strings, if trial { TRAINED / 64 } else { TRAINED }, MOST);
        }
        let many = Self::train(strings, 2 * TRAINED, MOST_OF_LONG);
        let all = many.strings.as_strings();
        let mut few = Self::empty();
        all.iter().take(MOST).for_each(|token| few.add(token));
        let bytes = |tokens: &Self| {
            let sample = sample(text, COMPARED);
            let sampled: usize = sample.iter().map(|part| part.len()).sum();
            let codes: usize = sample.iter().map(|part| tokens.codes(part).len()).sum();
            let share = text.len() as f64 / sampled.max(1) as f64;
            codes as f64 * share * f64::from(tokens.width()) / 8.0 + tokens.table_bytes() as f64
        };
        if bytes(&few) < bytes(&many) { few } else { many }
    }

    fn empty() -> Self {
        Self {
            strings: StringsBuf::new(),
            buckets: vec![Vec::new(); 1 << 12],
            pairs: vec![0; 1 << 16],
            singles: [0; 256],
        }
    }

    fn train(strings: Strings<'_>, most_bytes: usize, most: usize) -> Self {
        let text = strings.contents();
        let mut tokens = Self::empty();
        let mut seen = [false; 256];
        text.iter().for_each(|byte| seen.iter_mut().skip(usize::from(*byte)).take(1).for_each(|s| *s = true));
        // A table is never empty.
        seen.iter_mut().take(usize::from(text.is_empty())).for_each(|s| *s = true);
        (0..=255u8).zip(seen).filter(|(_, seen)| *seen).for_each(|(byte, _)| tokens.add(&[byte]));
        // A token costs its bytes and one: it must come often enough to pay, and not so seldom that chance fills the table.
        let most = most.min(tokens.strings.as_strings().len() + text.len() / 24);
        let sample = sample(text, most_bytes);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        let often = (sampled / (MOST * 16)).clamp(3, OFTEN) as u32;
        let mut pairs = Pairs::new();
        for part in sample {
            let (mut rest, mut before) = (part, None::<(u32, usize)>);
            while let Some((code, len)) = tokens.longest(rest) {
                if tokens.strings.as_strings().len() >= most {
                    return tokens;
                }
                let consumed = part.len() - rest.len();
                rest = rest.get(len..).unwrap_or_default();
                before = match before {
                    Some((last, last_len)) if last_len + len <= LONGEST => {
                        if pairs.is_often(last, code, often) {
                            let joined = part.get(consumed - last_len..consumed + len).unwrap_or_default();
                            let new = tokens.strings.as_strings().len() as u32;
                            tokens.add(joined);
                            Some((new, joined.len()))
                        } else {
                            Some((code, len))
                        }
                    }
                    _ => Some((code, len)),
                };
            }
        }
        tokens
    }

    fn add(&mut self, token: &[u8]) {
        let code = self.strings.as_strings().len() as u32;
        let (word, len) = (head(token), token.len());
        let [low, _] = word;
        match len {
            1 => self.singles.iter_mut().skip(low as usize).take(1).for_each(|place| *place = code),
            2 => self.pairs.iter_mut().skip(low as usize).take(1).for_each(|place| *place = code as u16 + 1),
            _ => {
                if let Some(bucket) = self.buckets.get_mut(bucket(low)) {
                    if bucket.iter().any(|t| t.len as usize == len && t.word == word) {
                        return;
                    }
                    let at = bucket.partition_point(|t| t.len as usize > len);
                    bucket.insert(at, Token { word, mask: mask(len), len: len as u32, code });
                }
            }
        }
        self.strings.push(token);
    }

    /// The longest token that a text begins with: its code and its length.
    #[inline]
    fn longest(&self, text: &[u8]) -> Option<(u32, usize)> {
        let first = *text.first()?;
        let word @ [low, high] = head(text);
        if let Some(bucket) = self.buckets.get(bucket(low)) {
            for token in bucket {
                let [low_mask, high_mask] = token.mask;
                if [low & low_mask, high & high_mask] == token.word && token.len as usize <= text.len() {
                    return Some((token.code, token.len as usize));
                }
            }
        }
        let [low, _] = word;
        match self.pairs.get((low & 0xffff) as usize) {
            Some(&code) if code > 0 && text.len() >= 2 => Some((u32::from(code) - 1, 2)),
            _ => Some((self.singles.get(usize::from(first)).copied().unwrap_or(0), 1)),
        }
    }

    fn codes(&self, mut text: &[u8]) -> Vec<u32> {
        let mut codes = Vec::with_capacity(text.len() / 3);
        while let Some((code, len)) = self.longest(text) {
            codes.push(code);
            text = text.get(len..).unwrap_or_default();
        }
        codes
    }

    fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}

struct Text<'a> {
    tokens: BytesDict,
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
        let count = crate::decode::vector_len(self.total, vector);
        let start = vector * packed_bytes(self.width);
        let bytes = super::bitpack::vector_bytes(count, self.width);
        let packed = self.codes.get(start..start + bytes).unwrap_or_default();
        unpack_vector(packed, self.width, 0, out.get_mut(..count).unwrap_or_default())?;
        Ok(count)
    }
}

impl BytesDecoder for Text<'_> {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        match self.starts.get(v..v + 2) {
            Some(&[start, end]) => Ok(end.saturating_sub(start) as usize),
            _ => Err(Error::corrupt(format!("no vector {v}"))),
        }
    }

    fn vector(&self, v: usize, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        self.lengths.vector(v, cx, lengths)?;
        let expected = self.vector_bytes(v, cx)?;
        let Some(&[first, last]) = self.ends.get(v..v + 2) else {
            return Err(Error::corrupt(format!("no vector {v}")));
        };
        let (mut codes, mut sizes) = (cx.take_u32(), cx.take_u32());
        let (mut next, mut at) = (first as usize, 0);
        while next < last as usize {
            let count = self.unpack(next / VECTOR, &mut codes)?;
            let from = next % VECTOR;
            let to = count.min(from + last as usize - next);
            let wanted = codes.get(from..to).unwrap_or_default();
            let sizes = sizes.get_mut(..wanted.len()).unwrap_or_default();
            let written = self.tokens.gather(wanted, sizes, out.get_mut(at..).unwrap_or_default());
            at += written.ok_or_else(|| Error::corrupt(format!("codes of vector {v} do not decode to its bytes")))?;
            next += wanted.len().max(1);
        }
        cx.give_u32(codes);
        cx.give_u32(sizes);
        if at != expected {
            return Err(Error::corrupt(format!(
                "codes of vector {v} that decode to {expected} bytes expected, found {at}"
            )));
        }
        Ok(at)
    }
}

crate::conformance!(OnPair);
