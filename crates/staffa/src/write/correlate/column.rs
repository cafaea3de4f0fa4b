//! The view of a column by which pairs are judged: the words of one block, and its validity.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::super::chunk::{ChosenBlock, ChosenChunk};
use crate::decode::{Budget, Integer, Registry as _, StreamOf};
use crate::encode::{Coded, Encoding, distinct};
use crate::encodings::constant::Constant;
use crate::encodings::dictionary::Dictionary;
use crate::encodings::{POOL, opener};
use crate::error::{Error, Result};
use crate::format::{Cursor, Node, NodeRef};
use crate::limits::Limits;
use crate::values::{
    Bitmap, Kind, OwnedValues, Physical as _, PhysicalType, Values, expand, for_ints,
};

/// Blocks of fewer rows are not judged.
const LEAST_ROWS: usize = 256;
/// Rows by which a pair is judged.
const SAMPLED: usize = 2048;
/// Rows from all parts of the block whose words are at hand.
pub(super) const SPREAD: usize = 512;

/// Of the rows to judge pairs by, the first by which most pairs are ruled out, one after another, and all.
pub(super) const GLANCES: [usize; 3] = [96, 384, usize::MAX];

/// One block of a column: the one by which pairs are judged.
pub(super) struct Column {
    /// Rows of the chunk, NULLs included.
    pub(super) len: usize,
    /// Values of every block but the last: those of a derived column and its references are the same.
    pub(super) block_rows: usize,
    pub(super) stream: Option<View>,
    /// The numbers behind a stream of codes.
    pub(super) numbers: Option<View>,
    /// The validity, and its bytes.
    pub(super) validity: Option<(Bitmap, usize)>,
}

impl Column {
    pub(super) fn of(chosen: &ChosenChunk<'_>) -> Result<Option<Self>> {
        if !chosen.references.is_empty() {
            return Ok(None);
        }
        let block = chosen.blocks.get(chosen.judged);
        let Some(block) = block.filter(|block| block.input.len >= LEAST_ROWS) else {
            return Ok(None);
        };
        let node = block.trees.validity.as_ref();
        let validity = block.input.validity.clone().zip(node.map(Node::size));
        let stream = View::of(block, chosen.options.kind)?;
        let numbers = match &stream {
            Some(view) if view.codes => View::numbers(block, chosen.options.kind)?,
            _ => None,
        };
        Ok(Some(Self {
            len: chosen.len,
            block_rows: chosen.options.blocks.rows,
            stream,
            numbers,
            validity,
        }))
    }

    /// Rows of the block by which a column is judged.
    pub(super) fn judged_rows(chosen: &ChosenChunk<'_>) -> usize {
        chosen.blocks.get(chosen.judged).map_or(0, |b| b.input.len)
    }

    /// Bytes that the view of a column takes, at most, by the rows of a block.
    pub(super) fn view_bytes(rows: usize) -> usize {
        // Numbers of 16 bits, the sampled rows, and words twice.
        2 * rows + 3 * rows.min(2 * SAMPLED) + 24 * rows.min(SPREAD)
    }

    pub(super) fn bytes(&self) -> usize {
        self.stream.as_ref().map_or(0, |view| view.bytes)
            + self.validity.as_ref().map_or(0, |(_, bytes)| *bytes)
    }
}

/// Sets the block by which columns of the same blocks are judged: the one in which most of them have more than
/// one value, of these the one next to the middle. Of several blocks not the last, which may be short.
pub(super) fn set_judged(chosen: &mut [ChosenChunk<'_>]) {
    let shape = |chunk: &ChosenChunk<'_>| (chunk.len, chunk.options.blocks.rows);
    let mut varied: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for chunk in chosen.iter() {
        let Some((_, blocks)) = chunk.blocks.split_last().filter(|(_, rest)| rest.len() > 1) else {
            continue;
        };
        let counts = varied.entry(shape(chunk)).or_default();
        counts.resize(blocks.len(), 0);
        for (count, block) in counts.iter_mut().zip(blocks) {
            let values = block.trees.values.as_ref();
            let varies = values.is_some_and(|root| root.encoding != Constant.info().id);
            *count += usize::from(varies);
        }
    }
    for chunk in chosen {
        if let Some(counts) = varied.get(&shape(chunk)) {
            chunk.judged = most_near(counts, chunk.judged);
        }
    }
}

/// Where the greatest of some counts is, of equal ones the one next to `middle`.
fn most_near(counts: &[usize], middle: usize) -> usize {
    let counts = counts.iter().enumerate();
    let most = counts.max_by_key(|(i, count)| (**count, Reverse(i.abs_diff(middle))));
    most.map_or(middle, |(i, _)| i)
}

/// A stream of one block: its words in some rows, and which rows have equal words.
pub(super) struct View {
    pub(super) ty: PhysicalType,
    /// Whether the words are codes of a dictionary.
    pub(super) codes: bool,
    /// Rows of the block.
    pub(super) len: usize,
    /// The words of the rows of [`spread`], sign-extended; 0 where there is no value.
    pub(super) words: Vec<u64>,
    /// The same words between 0 and 1: where most of them are, others cut off.
    pub(super) shares: Vec<f32>,
    /// Bytes that the stream takes alone.
    pub(super) bytes: usize,
    /// What tells by which columns it may be grouped; `None` for numbers behind codes, and where next to nothing repeats.
    pub(super) groups: Option<Groups>,
}

/// Rows from all parts of a block: the same for all columns, and so the words of two are pairs.
pub(super) fn spread(len: usize) -> impl Iterator<Item = usize> {
    let rows = len.min(SPREAD);
    (0..rows).map(move |i| i * len / rows)
}

impl View {
    fn of(block: &ChosenBlock<'_>, column_kind: Kind) -> Result<Option<Self>> {
        let (Some(node), Some(values)) = (&block.trees.values, block.input.values()) else {
            return Ok(None);
        };
        let Some(from) = stream_of(node, false) else {
            return Ok(None);
        };
        let stream = stream(node, from, values)?;
        let stream = stream.as_ref().map_or(values, OwnedValues::borrow);
        let kind = kind(from, column_kind);
        let Some(words) = words_by_row(block, stream, kind)? else {
            return Ok(None);
        };
        // Without NULLs between them the words themselves are narrower.
        let narrowest = if block.input.compacted {
            Values::U64(&words)
        } else {
            stream
        };
        let coded = distinct::of_related(narrowest);
        if coded.as_ref().is_some_and(|coded| coded.firsts.len() < 2) {
            return Ok(None);
        }
        let len = words.len();
        let words = spread_words(&words);
        Ok(Some(Self {
            ty: stream.physical_type(),
            codes: node.encoding == Dictionary.info().id,
            len,
            shares: shares(&words),
            words,
            bytes: stream_node(node, from).map_or(0, Node::size),
            groups: coded.map(|coded| Groups::of(&coded)),
        }))
    }

    /// The numbers behind the codes of a block, for sums alone.
    fn numbers(block: &ChosenBlock<'_>, kind: Kind) -> Result<Option<Self>> {
        let (Some(root), Some(values)) = (&block.trees.values, block.input.values()) else {
            return Ok(None);
        };
        // A dictionary of the whole chunk is not at hand.
        if root.children.len() < 2 || !matches!(kind, Kind::Signed | Kind::Unsigned) {
            return Ok(None);
        }
        let words = words_by_row(block, values, kind)?;
        let len = words.as_ref().map_or(0, Vec::len);
        Ok(words.map(|words| spread_words(&words)).map(|words| Self {
            ty: values.physical_type(),
            codes: false,
            len,
            shares: shares(&words),
            words,
            bytes: root.size(),
            groups: None,
        }))
    }
}

fn spread_words(words: &[u64]) -> Vec<u64> {
    spread(words.len())
        .filter_map(|row| words.get(row).copied())
        .collect()
}

/// Words as shares of the range in which most of them are, or of all where these are equal.
fn shares(words: &[u64]) -> Vec<f32> {
    let numbers = || words.iter().map(|word| *word as i64);
    let most = most_of(&mut numbers().collect::<Vec<i64>>());
    let all = || numbers().min().zip(numbers().max());
    let is_range = |(low, high): &(i64, i64)| low < high;
    let Some((low, high)) = most.filter(is_range).or_else(all).filter(is_range) else {
        return vec![0.0; words.len()];
    };
    let width = high.wrapping_sub(low) as u64 as f64;
    let share = |number: i64| number.clamp(low, high).wrapping_sub(low) as u64 as f64 / width;
    numbers().map(|number| share(number) as f32).collect()
}

/// The least and the greatest of most numbers, which may be put into another order.
pub(super) fn most_of(numbers: &mut [i64]) -> Option<(i64, i64)> {
    let at = |share: f64| (numbers.len() as f64 * share) as usize;
    let (low, high) = (at(0.04), at(0.96));
    let (min, max) = (*numbers.iter().min()?, *numbers.iter().max()?);
    if u8::try_from(max.wrapping_sub(min) as u64).is_ok() {
        return ranked(numbers, min, low, high);
    }
    if high >= numbers.len() {
        return None;
    }
    let (below, high, _) = numbers.select_nth_unstable(high);
    let high = *high;
    if low >= below.len() {
        return Some((high, high));
    }
    Some((*below.select_nth_unstable(low).1, high))
}

/// The numbers of two ranks among those that are at most 255 above the least, by counting.
fn ranked(numbers: &[i64], min: i64, low: usize, high: usize) -> Option<(i64, i64)> {
    let mut counts = [0u32; 256];
    for number in numbers {
        *counts.get_mut(number.wrapping_sub(min) as usize)? += 1;
    }
    let (mut before, mut least) = (0, None);
    for (above, count) in (0i64..).zip(counts) {
        let number = min.wrapping_add(above);
        before += count as usize;
        if least.is_none() && low < before {
            least = Some(number);
        }
        if high < before {
            return Some((least?, number));
        }
    }
    None
}

/// The words of a block widened to 64 bits, one for every row; `None` for other types.
fn words_by_row(
    block: &ChosenBlock<'_>,
    values: Values<'_>,
    kind: Kind,
) -> Result<Option<Vec<u64>>> {
    let untyped = || Error::internal("words of another type");
    let mut words: Vec<u64> = for_ints!(values.physical_type(), T => {
        wide(T::slice(values).ok_or_else(untyped)?, kind)
    }, _ => return Ok(None));
    if let Some(validity) = block
        .input
        .validity
        .as_ref()
        .filter(|_| block.input.compacted)
    {
        let present = words.len();
        words.resize(block.input.len, 0);
        expand(&mut words, present, validity)?;
    }
    Ok(Some(words))
}

/// The rows of a block by their words.
pub(super) struct Groups {
    /// The number of every row's word among the distinct ones: of 16 bits, as a block has no more rows.
    pub(super) ids: Vec<u16>,
    pub(super) distinct: usize,
    /// Bits of a row by how often each word occurs.
    pub(super) entropy: f64,
    /// How likely two rows have the same word.
    pub(super) collision: f64,
    /// Rows to judge pairs by, all rows of a word or none, those of equal words together.
    pub(super) rows: Vec<u16>,
    /// For each of these rows, whether it has the word of the one before.
    pub(super) together: Vec<bool>,
    /// For as many rows as there are [`GLANCES`], how many of the first of them have the word of the one before.
    pub(super) same: [usize; GLANCES.len()],
}

impl Groups {
    fn of(coded: &Coded) -> Self {
        let step = (coded.codes.len() / (2 * SAMPLED)).max(1);
        let some: Vec<u32> = coded.codes.iter().step_by(step).copied().collect();
        let counts = Coded::counts_of(&some, coded.firsts.len());
        // Most words of many are there once: their logarithm is known.
        let once = (some.len().max(1) as f64).log2() / some.len().max(1) as f64;
        let (mut entropy, mut collision) = (0.0, 0.0);
        for count in counts.into_iter().filter(|count| *count > 0) {
            let share = f64::from(count) / some.len() as f64;
            entropy += if count == 1 {
                once
            } else {
                -share * share.log2()
            };
            collision += share * share;
        }
        let (rows, together) = sample(coded);
        Self {
            ids: coded.codes.iter().map(|code| *code as u16).collect(),
            distinct: coded.firsts.len(),
            entropy,
            collision,
            same: GLANCES.map(|rows| {
                let together = together.iter().take(rows).skip(1);
                together.filter(|same| **same).count()
            }),
            rows,
            together,
        }
    }
}

/// Rows to judge pairs by, all rows of a word or none, and whether each has the word of the one
/// before.
fn sample(coded: &Coded) -> (Vec<u16>, Vec<bool>) {
    let parts = (coded.codes.len() / SAMPLED).max(1);
    let rows = (0u32..).zip(&coded.codes).map(|(row, code)| (row, *code));
    // A few groups cannot be sampled by their words.
    let sampled: Vec<(u32, u32)> = if parts == 1 || coded.firsts.len() < parts * 16 {
        rows.step_by(parts).collect()
    } else {
        let is_picked = |code: u32| (hash(code) * parts as u64) >> 32 == 0;
        let codes = 0..coded.firsts.len() as u32;
        let picked: Vec<bool> = codes.map(is_picked).collect();
        let is_picked = |code: u32| picked.get(code as usize).is_some_and(|picked| *picked);
        let picked: Vec<(u32, u32)> = rows.filter(|(_, code)| is_picked(*code)).collect();
        // From all parts of the block, also where one word has most rows.
        let step = picked.len().div_ceil(SAMPLED * 2).max(1);
        picked.into_iter().step_by(step).collect()
    };
    let sorted = by_word(&sampled, coded.firsts.len());
    let together = sorted.array_windows().map(|[(_, a), (_, b)]| a == b);
    let together = std::iter::once(false).chain(together).collect();
    (
        sorted.into_iter().map(|(row, _)| row as u16).collect(),
        together,
    )
}

/// Rows with their words, those of a word together, the words in no particular order.
fn by_word(rows: &[(u32, u32)], distinct: usize) -> Vec<(u32, u32)> {
    let mut places = vec![0u32; distinct];
    for (_, word) in rows {
        if let Some(count) = places.get_mut(*word as usize) {
            *count += 1;
        }
    }
    let mut next = 0;
    let counts = (0u32..).zip(&places).filter(|(_, count)| **count > 0);
    for word in in_no_order(counts.map(|(word, _)| word)) {
        if let Some(place) = places.get_mut(word) {
            next += std::mem::replace(place, next);
        }
    }
    let mut sorted = vec![(0, 0); rows.len()];
    for row in rows {
        let place = places.get_mut(row.1 as usize);
        let place = place.and_then(|place| {
            *place += 1;
            sorted.get_mut(*place as usize - 1)
        });
        if let Some(place) = place {
            *place = *row;
        }
    }
    sorted
}

/// Numbers of words, sorted by a hash, so that the first of them stand for all.
fn in_no_order(words: impl Iterator<Item = u32>) -> Vec<usize> {
    let keys = words.map(|word| hash(word) << 32 | u64::from(word));
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key as u32 as usize).collect()
}

fn hash(word: u32) -> u64 {
    u64::from((word + 1).wrapping_mul(0x9e37_79b1))
}

/// Words widened to 64 bits.
fn wide<T: Integer>(words: &[T], kind: Kind) -> Vec<u64> {
    let shift = 64 - T::BITS;
    let signed = |w: &T| (((w.to_u64() << shift) as i64) >> shift) as u64;
    if kind == Kind::Signed {
        words.iter().map(signed).collect()
    } else {
        words.iter().map(|w| w.to_u64()).collect()
    }
}

/// The stream of a root of this encoding: its first child where that is one. With `numbers` the
/// values behind codes are the stream.
pub(super) fn from_of(encoding: u8, numbers: bool) -> StreamOf {
    match POOL.first_child(encoding) {
        Some(StreamOf::Codes) if numbers => StreamOf::Values,
        first_child => first_child.unwrap_or(StreamOf::Values),
    }
}

/// The stream of a block for derivations.
pub(super) fn stream_of(root: &Node, numbers: bool) -> Option<StreamOf> {
    let from = from_of(root.encoding, numbers);
    let node = stream_node(root, from)?;
    let words = node.ty.width_bytes().is_some_and(|bytes| bytes <= 8) && node.len == root.len;
    (words && root.encoding != Constant.info().id).then_some(from)
}

pub(super) fn stream_node(root: &Node, from: StreamOf) -> Option<&Node> {
    match from {
        StreamOf::Values | StreamOf::Validity => Some(root),
        StreamOf::Codes | StreamOf::Digits | StreamOf::Narrowed => root.children.first(),
    }
}

pub(super) fn kind(from: StreamOf, kind: Kind) -> Kind {
    match from {
        StreamOf::Codes => Kind::Unsigned,
        StreamOf::Digits | StreamOf::Narrowed => Kind::Signed,
        StreamOf::Values | StreamOf::Validity => kind,
    }
}

/// The words of a stream, one for every value of the block; `None` where these are the values themselves.
pub(super) fn stream(
    root: &Node,
    from: StreamOf,
    values: Values<'_>,
) -> Result<Option<OwnedValues>> {
    let node = match stream_node(root, from) {
        Some(node) if from != StreamOf::Values => node,
        _ => return Ok(None),
    };
    let mut bytes = Vec::with_capacity(node.size());
    node.write(&mut bytes);
    let node = NodeRef::parse(
        &mut Cursor::new(&bytes),
        values.len(),
        Limits::default().depth,
    )?;
    let opener = opener(Limits::default());
    let mut cx = opener.context(Budget::new(u64::MAX), &[], Vec::new());
    for_ints!(node.ty, T => {
        let words = cx.all_words::<T>(&node, "stream")?;
        Ok(Some(OwnedValues::all(T::values(&words))))
    }, _ => Ok(None))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_judged_by_the_block_where_most_vary() {
        assert_eq!(most_near(&[3, 9, 4, 9, 9, 0], 3), 3);
        assert_eq!(most_near(&[9, 3, 4, 4, 8, 9, 9], 3), 5);
        assert_eq!(most_near(&[0, 0, 0], 1), 1);
        assert_eq!(most_near(&[0, 0, 1], 0), 2);
        assert_eq!(most_near(&[], 0), 0);
    }

    proptest! {
        #[test]
        fn most_numbers_are_found_by_counting_as_by_order(
            least in prop_oneof![Just(i64::MIN), Just(i64::MAX - 255), Just(i64::MAX - 9), any::<i64>()],
            above in proptest::collection::vec(0u8..=255, 0..600),
            width in 0u32..8,
        ) {
            let number = |above: &u8| least.saturating_add(i64::from(above >> width));
            let mut numbers: Vec<i64> = above.iter().map(number).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let at = |share: f64| sorted.get((sorted.len() as f64 * share) as usize).copied();
            prop_assert_eq!(most_of(&mut numbers), at(0.04).zip(at(0.96)));
            // The same numbers with one far away, so that they are too many to be counted.
            if let Some(first) = numbers.first().copied().filter(|_| numbers.len() > 64) {
                numbers.push(first.wrapping_add(1 << 40));
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                let at = |share: f64| sorted.get((sorted.len() as f64 * share) as usize).copied();
                prop_assert_eq!(most_of(&mut numbers), at(0.04).zip(at(0.96)));
            }
        }
    }
}
