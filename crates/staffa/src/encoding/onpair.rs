//! OnPair: frequent substrings of up to 16 bytes become codes of some 12 bits (Gargiulo, Venturini: OnPair, 2025).
//!
//! ```text
//! payload = tokens - 1: u16 | length of every token: u8 | tokens, one after another    the block's own
//!         | per vector: end of its codes, u32 | codes, bit-packed
//! payload = 65535: u16 | part: u8 | ends and codes as above                            a shared part of the column chunk
//! child: lengths of the strings (u32)
//! ```
//!
//! Codes take as many bits as the last token's number needs, in vectors of 1,024 codes and a tail as in bitpack. Training
//! reads a sample once: it matches the longest known token, counts pairs of neighbours, and a pair seen often enough becomes
//! a token. Strings of a vector are matched as one text, so that a token may span two of them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, VECTOR, packed_bytes, tail_bytes};

use super::bitpack::{pack_vector, unpack_vector, vector_bytes};
use super::plain::starts_within;
use super::{Encoding, Offered};
use crate::choose::{Cascade, Stats};
use crate::cursor::Cursor;
use crate::decode::{AnyDecoder, BytesDecoder, Decoder, OpenContext, Scratch, SharedPart, vector_len};
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

    fn decode_picos(&self) -> u32 {
        1700
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
        let codes = tokens.count(&text);
        let sampled: usize = text.iter().map(|part| part.len()).sum();
        let share = strings.contents().len() as f64 / sampled.max(1) as f64;
        let lengths = cascade.estimate_child(Values::U32(&strings.lengths()), Kind::Unsigned)?;
        let table = tokens.table_bytes() + 4 * strings.len().div_ceil(VECTOR);
        Ok(Some(8 + table + lengths + (codes as f64 * share * f64::from(tokens.width()) / 8.0) as usize))
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let Values::Bytes(strings) = values else { return Ok(None) };
        let example = cascade.example().filter(|node| node.encoding == self.id());
        let payload = match example.and_then(|node| again(node, strings)) {
            Some(payload) => payload,
            None => Tokens::of(strings, cascade.is_trial()).payload(strings).0,
        };
        let lengths = cascade.lengths(&strings.lengths())?;
        Ok(Some(Node { encoding: 15, ty: PhysicalType::Bytes, len: strings.len(), payload, children: vec![lengths] }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        if node.ty != PhysicalType::Bytes {
            return Err(Error::corrupt(format!("byte strings expected, found {:?}", node.ty)));
        }
        let mut cursor = node.cursor();
        let tokens = match cursor.u16()? {
            SHARED => Table::Shared(open_shared(usize::from(cursor.u8()?), cx.shared)?),
            last => Table::Own(open_own(usize::from(last) + 1, &mut cursor, cx)?),
        };
        let count = tokens.get().len();
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

    fn shareable(&self, node: &Node) -> usize {
        table(&node.payload).map_or(0, <[u8]>::len)
    }

    fn offered(&self) -> Offered {
        Offered::Slow
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.cursor().u16().unwrap_or(0) {
            SHARED => "shared tokens".into(),
            last => format!("{} tokens", u32::from(last) + 1),
        }
    }
}

/// Instead of the number of tokens where they stand in a shared part.
const SHARED: u16 = u16::MAX;

/// The tokens that a payload of this encoding has of its own: their number, their lengths, their bytes.
fn table(payload: &[u8]) -> Option<&[u8]> {
    let count = u16::from_le_bytes(*payload.first_chunk()?);
    if count == SHARED {
        return None;
    }
    let lengths = 2 + usize::from(count) + 1;
    let bytes: usize = payload.get(2..lengths)?.iter().map(|len| usize::from(*len)).sum();
    payload.get(..lengths + bytes)
}

/// The tokens of a table, as strings.
fn strings_of(table: &[u8]) -> StringsBuf {
    let count = table.first_chunk().map_or(0, |count| usize::from(u16::from_le_bytes(*count)) + 1);
    let (lengths, mut bytes) = table.get(2..).and_then(|rest| rest.split_at_checked(count)).unwrap_or_default();
    let token = |len: &u8| {
        let (token, rest) = bytes.split_at_checked(usize::from(*len)).unwrap_or_default();
        bytes = rest;
        token
    };
    lengths.iter().map(token).collect()
}

/// The payload with the tokens of another block, where these suit as well as they did there, or nearly: blocks that have
/// the same tokens share them.
fn again(example: &Node, strings: Strings<'_>) -> Option<Vec<u8>> {
    let table = table(&example.payload)?;
    let tokens = Tokens::read(table);
    if !tokens.knows(strings.contents()) {
        return None;
    }
    // How many codes a byte took there.
    let vectors = example.len.div_ceil(VECTOR);
    let (ends, packed) = example.payload.get(table.len()..)?.split_at_checked(vectors * 4)?;
    let total = ends.last_chunk().map_or(0, |end| u32::from_le_bytes(*end)) as usize;
    let lengths = tokens.strings.as_strings().lengths();
    let (mut codes, mut bytes) = (vec![0u32; VECTOR], 0);
    for v in 0..total.div_ceil(VECTOR) {
        // One token alone has codes of no bits.
        let packed = packed.get(v * packed_bytes(tokens.width())..)?;
        let codes = codes.get_mut(..vector_len(total, v))?;
        let packed = packed.get(..vector_bytes(codes.len(), tokens.width()))?;
        unpack_vector(packed, tokens.width(), 0, codes).ok()?;
        bytes += codes.iter().filter_map(|code| lengths.get(*code as usize)).map(|len| *len as usize).sum::<usize>();
    }
    let expected = total as f64 / bytes as f64 * strings.contents().len() as f64;
    let (payload, codes) = tokens.payload(strings);
    let saved = (table.len() * 8) as f64 / f64::from(tokens.width().max(1));
    (codes as f64 <= expected * 1.02 + saved).then_some(payload)
}

/// Moves the tokens that several blocks have into a shared part of this number: the part's strings.
pub(crate) fn share(blocks: &mut [Option<Node>], part: u8) -> Option<StringsBuf> {
    fn each<'n>(node: &'n Node, seen: &mut Vec<&'n [u8]>) {
        seen.extend(table(&node.payload).filter(|_| node.encoding == OnPair.id()));
        node.children.iter().for_each(|child| each(child, seen));
    }
    fn replace(node: &mut Node, tokens: &[u8], part: u8) {
        if node.encoding == OnPair.id() && table(&node.payload) == Some(tokens) {
            let [low, high] = SHARED.to_le_bytes();
            node.payload.splice(..tokens.len(), [low, high, part]);
        }
        node.children.iter_mut().for_each(|child| replace(child, tokens, part));
    }
    let mut seen = Vec::new();
    blocks.iter().flatten().for_each(|block| each(block, &mut seen));
    seen.sort_unstable();
    let most =
        seen.chunk_by(|a, b| a == b).max_by_key(|equal| (equal.len() - 1) * equal.first().map_or(0, |t| t.len()))?;
    let [tokens, _, ..] = *most else { return None };
    let tokens = tokens.to_vec();
    blocks.iter_mut().flatten().for_each(|block| replace(block, &tokens, part));
    Some(strings_of(&tokens))
}

fn too_long(len: usize) -> Error {
    Error::corrupt(format!("tokens of at most {LONGEST} bytes expected, found {len}"))
}

fn open_own(count: usize, cursor: &mut Cursor<'_>, cx: &mut OpenContext<'_>) -> Result<BytesDict> {
    let mut offsets = vec![0u32];
    let mut end = 0u32;
    for &len in cursor.bytes(count)? {
        if usize::from(len) > LONGEST {
            return Err(too_long(usize::from(len)));
        }
        end += u32::from(len);
        offsets.push(end);
    }
    let data = cursor.bytes(end as usize)?;
    cx.budget.take(u64::from(end) + 8 * count as u64, "tokens")?;
    BytesDict::new(&offsets, data).ok_or_else(|| Error::corrupt("no tokens"))
}

fn open_shared(part: usize, shared: &[SharedPart]) -> Result<&BytesDict> {
    let tokens = match shared.get(part) {
        Some(SharedPart::Bytes(tokens)) => tokens,
        Some(SharedPart::Words(_)) => return Err(Error::corrupt("the shared part holds no byte strings")),
        None => {
            let found = shared.len();
            return Err(Error::corrupt(format!("shared part {part} is not there, the chunk has {found}")));
        }
    };
    if tokens.is_empty() || tokens.len() > usize::from(SHARED) {
        return Err(Error::corrupt(format!("1 to {SHARED} tokens expected, found {}", tokens.len())));
    }
    match (0..tokens.len()).filter_map(|i| tokens.get(i)).map(<[u8]>::len).find(|len| *len > LONGEST) {
        Some(len) => Err(too_long(len)),
        None => Ok(tokens),
    }
}

/// The tokens of a block.
enum Table<'a> {
    Own(BytesDict),
    Shared(&'a BytesDict),
}

impl Table<'_> {
    fn get(&self) -> &BytesDict {
        match self {
            Self::Own(tokens) => tokens,
            Self::Shared(tokens) => tokens,
        }
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
const fn mask(len: usize) -> [u64; 2] {
    let mask = if len >= LONGEST { u128::MAX } else { (1 << (8 * len)) - 1 };
    [mask as u64, (mask >> 64) as u64]
}

/// [`mask`] of every length.
#[rustfmt::skip]
const MASKS: [[u64; 2]; LONGEST + 1] = [
    mask(0), mask(1), mask(2), mask(3), mask(4), mask(5), mask(6), mask(7), mask(8), mask(9), mask(10), mask(11), mask(12),
    mask(13), mask(14), mask(15), mask(16),
];

/// A token of four bytes or more.
#[derive(Debug, Clone, Copy, Default)]
struct Token {
    word: [u64; 2],
    len: u32,
    code: u32,
}

impl Token {
    #[inline]
    fn begins(&self, [low, high]: [u64; 2]) -> bool {
        let [low_mask, high_mask] = MASKS.get(self.len as usize).copied().unwrap_or_default();
        let [own_low, own_high] = self.word;
        (low ^ own_low) & low_mask | (high ^ own_high) & high_mask == 0
    }
}

/// Tokens with the same hash of their first four bytes, the longest first: `start..start + len` of the arena, with room
/// for `room`.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    start: u32,
    len: u16,
    room: u16,
}

/// How often pairs of codes were seen, of late: an entry is `pair << 4 | count`. Two pairs that share a place take it from
/// each other, so that what is seldom seen is forgotten.
struct Pairs {
    table: Vec<u32>,
    shift: u32,
}

impl Pairs {
    /// For a text of so many bytes.
    fn of(bytes: usize) -> Self {
        let bits = bytes.max(1).ilog2().clamp(10, 17);
        Self { table: vec![0; 2 << bits], shift: 64 - bits }
    }

    /// Counts a pair once more, and forgets it once it has been seen `often`, at most [`OFTEN`] times.
    #[inline]
    fn is_often(&mut self, before: u32, code: u32, often: u32) -> bool {
        let key = before << 13 | code;
        let place = (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        // Either of two places; of others there the one seen less is on its way out.
        let Some([a, b]) = self.table.as_chunks_mut::<2>().0.get_mut(place) else { return false };
        let entry = if *a >> 4 == key || *b >> 4 != key && *a & 15 <= *b & 15 { a } else { b };
        if *entry >> 4 != key && *entry & 15 > 0 {
            *entry -= 1;
            return false;
        }
        *entry = (key << 4 | *entry & 15) + 1;
        let reached = *entry & 15 >= often;
        if reached {
            *entry &= !15;
        }
        reached
    }
}

/// Tokens, and the way from a text to their codes.
struct Tokens {
    strings: StringsBuf,
    /// Of 32 bits of a hash so many are not used.
    shift: u32,
    /// By a hash of their first four bytes.
    buckets: Vec<Bucket>,
    /// The tokens of all buckets, and places that a bucket has outgrown.
    arena: Vec<Token>,
    /// Tokens of three bytes, by a hash of them: the bytes and one, the code.
    threes: Vec<(u32, u32)>,
    /// Tokens of two bytes, by them: the code and one.
    pairs: Vec<u16>,
    /// Tokens of one byte, by it.
    singles: [u32; 256],
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
        let mut few = Self::empty(MOST);
        all.iter().take(MOST).for_each(|token| few.add(token));
        let bytes = |tokens: &Self| {
            let sample = sample(text, COMPARED);
            let sampled: usize = sample.iter().map(|part| part.len()).sum();
            let codes = tokens.count(&sample);
            let share = text.len() as f64 / sampled.max(1) as f64;
            codes as f64 * share * f64::from(tokens.width()) / 8.0 + tokens.table_bytes() as f64
        };
        if bytes(&few) < bytes(&many) { few } else { many }
    }

    /// With room for so many.
    fn empty(most: usize) -> Self {
        let bits = (2 * most).max(1 << 8).next_power_of_two().ilog2();
        Self {
            strings: StringsBuf::new(),
            shift: 32 - bits,
            buckets: vec![Bucket::default(); 1 << bits],
            arena: Vec::new(),
            threes: vec![(0, 0); 1 << bits],
            pairs: vec![0; 1 << 16],
            singles: [0; 256],
        }
    }

    /// The tokens of a [`table`].
    fn read(table: &[u8]) -> Self {
        let strings = strings_of(table);
        let mut tokens = Self::empty(strings.as_strings().len());
        strings.as_strings().iter().for_each(|token| tokens.add(token));
        tokens
    }

    fn train(strings: Strings<'_>, most_bytes: usize, most: usize) -> Self {
        let text = strings.contents();
        // A token costs its bytes and one: it must come often enough to pay, and not so seldom that chance fills the table.
        let paying = text.len() / 24;
        let mut tokens = Self::empty(most.min(256 + paying));
        let mut seen = [false; 256];
        text.iter().for_each(|byte| seen.iter_mut().skip(usize::from(*byte)).take(1).for_each(|s| *s = true));
        // A table is never empty.
        seen.iter_mut().take(usize::from(text.is_empty())).for_each(|s| *s = true);
        (0..=255u8).zip(seen).filter(|(_, seen)| *seen).for_each(|(byte, _)| tokens.add(&[byte]));
        let most = most.min(tokens.strings.as_strings().len() + paying);
        let sample = sample(text, most_bytes);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        let often = (sampled / (MOST * 16)).clamp(3, OFTEN) as u32;
        let mut pairs = Pairs::of(sampled);
        for part in sample {
            let (mut rest, mut before) = (part, None::<(u32, usize)>);
            while !rest.is_empty() {
                let (code, len) = tokens.longest(rest);
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
            // Never full: there are more places than tokens.
            3 => {
                let place = self.three(low as u32);
                let Some(place) = self.threes.get_mut(place).filter(|(bytes, _)| *bytes == 0) else { return };
                *place = (low as u32 + 1, code);
            }
            _ => {
                if !self.insert(Token { word, len: len as u32, code }) {
                    return;
                }
            }
        }
        self.strings.push(token);
    }

    /// A hash of some bytes, as many bits as the tables need.
    #[inline]
    fn place(&self, bytes: u32) -> usize {
        (bytes.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// Where a token of three bytes stands, or would. There are more places than tokens.
    #[inline]
    fn three(&self, bytes: u32) -> usize {
        let mut place = self.place(bytes);
        while self.threes.get(place).is_some_and(|(held, _)| *held != 0 && *held != bytes + 1) {
            place = (place + 1) & (self.threes.len() - 1);
        }
        place
    }

    /// Puts a token into its bucket; false where it stands there.
    fn insert(&mut self, token: Token) -> bool {
        let [low, _] = token.word;
        let place = self.place(low as u32);
        let Some(bucket) = self.buckets.get_mut(place) else { return false };
        let (start, len) = (bucket.start as usize, usize::from(bucket.len));
        let own = self.arena.get(start..start + len).unwrap_or_default();
        if own.iter().any(|t| t.len == token.len && t.word == token.word) {
            return false;
        }
        let at = start + own.partition_point(|t| t.len > token.len);
        let at = if bucket.len == bucket.room {
            let moved = self.arena.len();
            self.arena.extend_from_within(start..start + len);
            bucket.start = moved as u32;
            bucket.room = (bucket.room * 2).max(2);
            self.arena.resize(moved + usize::from(bucket.room), Token::default());
            at - start + moved
        } else {
            at
        };
        let end = bucket.start as usize + len;
        self.arena.copy_within(at..end, at + 1);
        self.arena.iter_mut().skip(at).take(1).for_each(|place| *place = token);
        bucket.len += 1;
        true
    }

    /// The longest token that a text which is not empty begins with: its code and its length.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u32, usize) {
        let word @ [low, _] = head(text);
        let bucket = self.buckets.get(self.place(low as u32)).copied().unwrap_or_default();
        let start = bucket.start as usize;
        for token in self.arena.get(start..start + usize::from(bucket.len)).unwrap_or_default() {
            if token.begins(word) && token.len as usize <= text.len() {
                return (token.code, token.len as usize);
            }
        }
        let three = low as u32 & 0x00ff_ffff;
        if let Some(&(bytes, code)) = self.threes.get(self.three(three))
            && bytes > 0
            && text.len() >= 3
        {
            return (code, 3);
        }
        match self.pairs.get((low & 0xffff) as usize) {
            Some(&code) if code > 0 && text.len() >= 2 => (u32::from(code) - 1, 2),
            _ => (self.singles.get((low & 0xff) as usize).copied().unwrap_or(0), 1),
        }
    }

    /// Appends the codes of a text.
    fn codes(&self, mut text: &[u8], codes: &mut Vec<u32>) {
        while !text.is_empty() {
            let (code, len) = self.longest(text);
            codes.push(code);
            text = text.get(len..).unwrap_or_default();
        }
    }

    /// How many codes parts of a text take.
    fn count(&self, parts: &[&[u8]]) -> usize {
        let mut codes = Vec::new();
        parts.iter().for_each(|part| self.codes(part, &mut codes));
        codes.len()
    }

    /// Whether every byte of a text has a token.
    fn knows(&self, text: &[u8]) -> bool {
        let mut seen = [false; 256];
        text.iter().for_each(|byte| seen.iter_mut().skip(usize::from(*byte)).take(1).for_each(|s| *s = true));
        for token in self.strings.as_strings().iter() {
            if let [byte] = token {
                seen.iter_mut().skip(usize::from(*byte)).take(1).for_each(|seen| *seen = false);
            }
        }
        !seen.contains(&true)
    }

    /// Tokens, ends and codes; with how many codes there are.
    fn payload(&self, strings: Strings<'_>) -> (Vec<u8>, usize) {
        let mut payload = Vec::with_capacity(strings.contents().len() / 2);
        payload.extend((self.strings.as_strings().len() as u16 - 1).to_le_bytes());
        payload.extend(self.strings.as_strings().lengths().iter().map(|len| *len as u8));
        payload.extend_from_slice(&self.strings.data);
        let mut codes: Vec<u32> = Vec::new();
        for first in (0..strings.len()).step_by(VECTOR) {
            let rows = strings.slice(first, VECTOR.min(strings.len() - first));
            self.codes(rows.contents(), &mut codes);
            payload.extend((codes.len() as u32).to_le_bytes());
        }
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, self.width(), &mut payload);
        }
        (payload, codes.len())
    }

    fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}

struct Text<'a> {
    tokens: Table<'a>,
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
            let written = self.tokens.get().gather(wanted, sizes, out.get_mut(at..).unwrap_or_default());
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
