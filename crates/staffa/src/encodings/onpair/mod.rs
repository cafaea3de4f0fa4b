//! OnPair: frequent substrings of up to 16 bytes become codes of some 12 bits (Gargiulo, Venturini:
//! OnPair, 2025).
//!
//! ```text
//! payload = tokens - 1: u16 | length of every token: u8 | tokens, one after another    the block's own
//!         | per vector: end of its codes, u32 | bits: u8 | per full 256 codes: their bytes, bit-packed
//!         | codes, bit-packed
//! payload = 65535: u16 | part: u8 | ends, bytes and codes as above                     a shared dictionary of the column chunk
//! child: lengths of the strings (u32)
//! ```
//!
//! Codes take as many bits as the number of the last token needs, in vectors of 1,024 codes and a
//! tail as in bitpack. Training reads a sample once, both halves in turn: it matches the longest token known some
//! tokens before, counts pairs of neighbours, and makes a token of a pair that is frequent. Tokens that turn out to be rare are
//! replaced by the pair. Strings of a vector are matched as one text, so that a token may span two of them.

mod codes;
mod decode;
mod rare;
mod table;
#[cfg(test)]
mod tests;
mod tokens;
mod train;

use codes::Codes;
use decode::Text;
use table::{SHARED, strings_of, table};
use tokens::Tokens;
use train::{COMPARED, ESTIMATED, SAMPLED, TRIED};

use super::prelude::*;
use crate::encode::{ChunkStrings, Shares};
use crate::values::{Strings, StringsBuf, distinct_bytes};

/// A block is unlike its chunk where the chunk's tokens have so many times the codes of its own. One language
/// of several has 1.7 times, plays of a game 1.2, articles 1.05.
const UNLIKE: f64 = 1.3;

/// Bytes of the sample that tells noise, and its parts.
const NOISE_SAMPLE: usize = 2 * TRIED;
const NOISE_PARTS: usize = 16;
/// Bits of a byte in such a sample, of which a random byte has 7.98.
const LEAST_BITS_OF_NOISE: f64 = 7.9;

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
        let strings = byte_strings(values)?;
        let chunk = chooser.chunk();
        let trained_on = chunk.map_or(strings, |chunk| chunk.strings);
        let tokens = Tokens::of_sample(trained_on, SAMPLED, &[]);
        let codes = tokens.estimated_bytes(strings.contents(), ESTIMATED);
        let lengths = chooser.estimate_lengths(strings, stats)?;
        let table = tokens.table_bytes();
        let others = chunk.map_or(0, |chunk| chunk.others(table));
        let table = table - others + 4 * strings.len().div_ceil(VECTOR);
        Ok(Some(8 + table + lengths + codes))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let strings = byte_strings(values)?;
        let example = chooser
            .example()
            .filter(|shares| shares.node.encoding == self.info().id);
        let payload = match example.and_then(|example| reused(example, strings)) {
            Some(payload) => payload,
            None if !chooser.must_encode() && is_noise(strings) => return Ok(None),
            None => trained(strings, chooser)?,
        };
        let lengths = chooser.lengths(&strings.lengths())?;
        node(self, values, payload, vec![lengths])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        strings(Text::open(node, cx)?)
    }

    fn shareable(&self, node: &Node) -> usize {
        table(&node.payload).map_or(0, <[u8]>::len)
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.cursor().u16() {
            Ok(SHARED) => "shared tokens".into(),
            Ok(last) => format!("{} tokens", u32::from(last) + 1),
            Err(_) => String::new(),
        }
    }
}

/// The payload with tokens trained on the strings or, where a sample takes fewer bytes so, on those of the
/// whole chunk.
fn trained(strings: Strings<'_>, chooser: &Chooser<'_>) -> Result<Vec<u8>> {
    if chooser.is_trial() {
        return Ok(Tokens::of_sample(strings, TRIED, &[]).sized_payload(strings));
    }
    let tokens = match chooser.chunk() {
        None => {
            let bytes = distinct_bytes(&[strings.contents(), chooser.chunk_bytes()]);
            Tokens::of(strings, &bytes)
        }
        Some(chunk) => of_chunk(chunk, strings, chooser.chunk_bytes()),
    };
    if !tokens.knows(strings.contents()) {
        return Err(Error::internal("a text with a byte that has no token"));
    }
    Ok(tokens.payload(strings)?.0)
}

/// Tokens of the chunk whose first block these strings are, or of them alone. `bytes` are those of the chunk.
fn of_chunk(chunk: ChunkStrings<'_>, strings: Strings<'_>, bytes: &[u8]) -> Tokens {
    let shared = Tokens::of(chunk.strings, bytes).for_all_blocks();
    let codes = |tokens: &Tokens, bytes| tokens.estimated_bytes(strings.contents(), bytes);
    // By tokens of a sample: in a block like the others, those of all blocks have nearly as few codes.
    let sampled = |strings| codes(&Tokens::of_sample(strings, SAMPLED, bytes), 2 * SAMPLED);
    if sampled(chunk.strings) as f64 <= sampled(strings) as f64 * UNLIKE {
        return shared;
    }
    let own = Tokens::of(strings, bytes);
    let table = shared.table_bytes() - chunk.others(shared.table_bytes());
    let is_shared = codes(&shared, COMPARED) + table < codes(&own, COMPARED) + own.table_bytes();
    if is_shared { shared } else { own }
}

/// Whether the root of a block's tree has tokens, which the blocks of a chunk can share.
pub(crate) fn has_tokens(node: &Node) -> bool {
    node.encoding == OnPair.info().id
}

/// Whether strings look like noise, as compressed or encrypted bytes do: in a sample all bytes are as frequent, and its
/// tokens save nothing.
pub(crate) fn is_noise(strings: Strings<'_>) -> bool {
    let text = strings.contents();
    text.len() >= 2 * NOISE_SAMPLE
        && bits_of_byte(&spread(text)) > LEAST_BITS_OF_NOISE
        && Tokens::of_sample(strings, NOISE_SAMPLE, &[]).estimated_bytes(text, ESTIMATED)
            >= text.len()
}

/// Short parts of a text, [`NOISE_SAMPLE`] bytes in all, so that none of the kinds of bytes in it is missed.
fn spread(text: &[u8]) -> Vec<&[u8]> {
    let parts = text.chunks(text.len().div_ceil(NOISE_PARTS).max(1));
    let part = |part: &'_ [u8]| part.len().min(NOISE_SAMPLE / NOISE_PARTS);
    parts.filter_map(|all| all.get(..part(all))).collect()
}

/// The entropy of a byte, in bits.
fn bits_of_byte(parts: &[&[u8]]) -> f64 {
    let mut counts = [0usize; 256];
    for byte in parts.iter().copied().flatten() {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let all: usize = counts.iter().sum();
    let seen = counts.iter().filter(|count| **count > 0);
    let shares = seen.map(|count| *count as f64 / all as f64);
    shares.map(|share| -share * share.log2()).sum()
}

/// The tokens of another block.
struct Reusable {
    tokens: Tokens,
    /// Bytes of their table.
    table: usize,
    codes_per_byte: f64,
}

impl Reusable {
    fn of(example: &Node) -> Option<Self> {
        let table = table(&example.payload)?;
        let tokens = Tokens::read(table)?;
        // Codes and bytes of the block.
        let mut rest = Cursor::new(example.payload.get(table.len()..)?);
        let known = tokens.strings.as_strings();
        let codes = Codes::read(&mut rest, example.len.div_ceil(VECTOR), known.len()).ok()?;
        let (total, lengths) = (codes.total(), known.lengths());
        let (groups, mut left_over) = (codes.group_ends().ok()?, Vec::new());
        codes.of_group(groups.len(), &mut left_over).ok()?;
        let left_over = left_over.iter().map(|code| lengths.get(*code as usize));
        let left_over = left_over.map(|len| Some(*len? as usize));
        let grouped = groups.last().map_or(0, |end| *end as usize);
        let bytes = grouped + left_over.sum::<Option<usize>>()?;
        (bytes > 0).then(|| Self {
            table: table.len(),
            codes_per_byte: total as f64 / bytes as f64,
            tokens,
        })
    }
}

/// The payload with the tokens of another block, where they serve these strings nearly as well:
/// blocks with the same tokens share them.
fn reused(example: &Shares, strings: Strings<'_>) -> Option<Vec<u8>> {
    let reusable = example.opened(Reusable::of)?.as_ref()?;
    let (tokens, text) = (&reusable.tokens, strings.contents());
    if !tokens.knows(text) {
        return None;
    }
    let expected = reusable.codes_per_byte * text.len() as f64;
    let saved = (reusable.table * 8) as f64 / f64::from(tokens.width().max(1));
    let most = expected * 1.02 + saved;
    // A sample shows most failures before all is encoded.
    let sampled = tokens.estimated_codes(text, (text.len() / 16).clamp(2 * TRIED, COMPARED));
    if sampled > most * 1.05 {
        return None;
    }
    let (payload, codes) = tokens.payload(strings).ok()?;
    (codes as f64 <= most).then_some(payload)
}

/// The tokens that take the most bytes in several blocks, and the number of those blocks.
fn common(blocks: &[Option<Node>]) -> Option<(&[u8], usize)> {
    fn each<'n>(node: &'n Node, seen: &mut Vec<&'n [u8]>) {
        seen.extend(table(&node.payload).filter(|_| node.encoding == OnPair.info().id));
        node.children.iter().for_each(|child| each(child, seen));
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
    Some((tokens, most.len()))
}

/// Bytes that [`share`] saves.
pub(crate) fn shared_bytes(blocks: &[Option<Node>]) -> usize {
    common(blocks).map_or(0, |(tokens, count)| (count - 1) * tokens.len())
}

/// Moves the tokens that several blocks have into the shared dictionary of this number; returns its
/// strings.
pub(crate) fn share(blocks: &mut [Option<Node>], part: u8) -> Option<StringsBuf> {
    fn replace(node: &mut Node, tokens: &[u8], part: u8) {
        if node.encoding == OnPair.info().id && table(&node.payload) == Some(tokens) {
            let [low, high] = SHARED.to_le_bytes();
            node.payload.splice(..tokens.len(), [low, high, part]);
        }
        node.children
            .iter_mut()
            .for_each(|child| replace(child, tokens, part));
    }
    let (tokens, _) = common(blocks)?;
    let tokens = tokens.to_vec();
    blocks
        .iter_mut()
        .flatten()
        .for_each(|block| replace(block, &tokens, part));
    strings_of(&tokens)
}

crate::conformance!(OnPair);
