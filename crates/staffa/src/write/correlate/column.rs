//! What of a column pairs are judged by: the words of one block, and which rows have a value.

use super::super::chunk::Chosen;
use crate::decode::{Budget, Integer, StreamOf};
use crate::encode::{Coded, Encoding, distinct};
use crate::encodings::alp::Alp;
use crate::encodings::constant::Constant;
use crate::encodings::dictionary::Dictionary;
use crate::encodings::narrow::Narrow;
use crate::encodings::opener;
use crate::error::Result;
use crate::format::{Cursor, Node, NodeRef};
use crate::limits::Limits;
use crate::values::{Bitmap, Kind, OwnedValues, Physical, PhysicalType, Values, expand, for_ints};

/// Blocks of fewer rows are left alone.
const LEAST_ROWS: usize = 256;
/// Rows by which a pair is judged.
const SAMPLED: usize = 2048;

/// One block of a column, the one by which pairs are judged.
pub(super) struct Column {
    /// Values of the chunk, NULLs included.
    pub(super) len: usize,
    pub(super) stream: Option<View>,
    /// The numbers of a block that are codes as its stream.
    pub(super) numbers: Option<View>,
    /// With its bytes.
    pub(super) validity: Option<(Bitmap, usize)>,
}

impl Column {
    pub(super) fn of(chosen: &Chosen<'_>) -> Result<Option<Self>> {
        let block = judged(chosen);
        let Some(input) = chosen
            .inputs
            .get(block)
            .filter(|input| input.len >= LEAST_ROWS)
        else {
            return Ok(None);
        };
        let node = chosen.validity.get(block).and_then(Option::as_ref);
        let validity = input.validity.clone().zip(node.map(Node::size));
        let stream = View::of(chosen, block)?;
        let numbers = if stream.as_ref().is_some_and(|view| view.codes) {
            View::numbers(chosen, block)
        } else {
            None
        };
        Ok(Some(Self {
            len: chosen.len,
            stream,
            numbers,
            validity,
        }))
    }

    pub(super) fn bytes(&self) -> usize {
        self.stream.as_ref().map_or(0, |view| view.bytes)
            + self.validity.as_ref().map_or(0, |(_, bytes)| *bytes)
    }
}

/// The block by which a column is judged: not the last, which may be short.
pub(super) fn judged(chosen: &Chosen<'_>) -> usize {
    chosen.inputs.len().saturating_sub(1) / 2
}

/// A stream of one block, by rows.
pub(super) struct View {
    pub(super) ty: PhysicalType,
    pub(super) codes: bool,
    /// Sign-extended; 0 where there is no value.
    pub(super) words: Vec<u64>,
    /// Of every word which of the distinct ones it is.
    pub(super) ids: Vec<u32>,
    /// What it takes now.
    pub(super) bytes: usize,
    pub(super) distinct: usize,
    /// Rows to judge pairs by, those of equal words together.
    pub(super) rows: Vec<u32>,
    /// Of every such row whether it has the word of the one before.
    pub(super) together: Vec<bool>,
}

impl View {
    pub(super) fn of(chosen: &Chosen<'_>, block: usize) -> Result<Option<Self>> {
        let (Some(input), Some(Some(node))) = (chosen.inputs.get(block), chosen.nodes.get(block))
        else {
            return Ok(None);
        };
        let (Some(from), Some(values)) = (stream_of(node), input.values()) else {
            return Ok(None);
        };
        let stream = stream(node, from, values)?;
        let (ty, kind) = (
            stream.borrow().physical_type(),
            kind(node, from, chosen.options.kind),
        );
        let mut words: Vec<u64> = for_ints!(ty, T => wide(T::slice(stream.borrow()).unwrap_or_default(), kind),
            _ => return Ok(None));
        if let Some(validity) = input.validity.as_ref().filter(|_| input.compacted) {
            let present = words.len();
            words.resize(input.len, 0);
            expand(&mut words, present, validity)?;
        }
        let bytes = stream_node(node, from).map_or(0, Node::size);
        let codes = node.encoding == Dictionary.info().id;
        let Some(Coded { codes: ids, firsts }) = distinct::of(Values::U64(&words), usize::MAX)
        else {
            return Ok(None);
        };
        let (distinct, rows, together) = (firsts.len(), Vec::new(), Vec::new());
        let mut view = Self {
            ty,
            codes,
            words,
            ids,
            bytes,
            distinct,
            rows,
            together,
        };
        view.sample();
        Ok((view.distinct > 1).then_some(view))
    }

    /// The numbers of a block of which its dictionary makes codes, for sums alone.
    fn numbers(chosen: &Chosen<'_>, block: usize) -> Option<Self> {
        let (input, root) = (
            chosen.inputs.get(block)?,
            chosen.nodes.get(block)?.as_ref()?,
        );
        let (values, kind) = (input.values()?, chosen.options.kind);
        // A dictionary of the whole chunk is not at hand.
        if root.children.len() < 2 || !matches!(kind, Kind::Signed | Kind::Unsigned) {
            return None;
        }
        let ty = values.physical_type();
        let mut words: Vec<u64> =
            for_ints!(ty, T => wide(T::slice(values)?, kind), _ => return None);
        if let Some(validity) = input.validity.as_ref().filter(|_| input.compacted) {
            let present = words.len();
            words.resize(input.len, 0);
            expand(&mut words, present, validity).ok()?;
        }
        let (bytes, ids, rows, together) = (root.size(), Vec::new(), Vec::new(), Vec::new());
        Some(Self {
            ty,
            codes: false,
            words,
            ids,
            bytes,
            distinct: 0,
            rows,
            together,
        })
    }

    /// Picks the rows of some words: all rows of a word or none.
    fn sample(&mut self) {
        let parts = (self.words.len() / SAMPLED).max(1) as u64;
        let rows = 0..self.words.len() as u32;
        let word = |row: &u32| self.words.get(*row as usize).copied().unwrap_or(0);
        // A few groups cannot be sampled by their words.
        self.rows = if (self.distinct as u64) < parts * 16 {
            rows.step_by(parts as usize).collect()
        } else {
            let picked: Vec<u32> = rows
                .filter(|row| hash(word(row)).is_multiple_of(parts))
                .collect();
            // From all parts of the block, also where one word has most rows.
            picked
                .iter()
                .copied()
                .step_by(picked.len().div_ceil(SAMPLED * 2).max(1))
                .collect()
        };
        let mut sorted = std::mem::take(&mut self.rows);
        // Groups in no particular order, so that the first of them stand for all.
        sorted.sort_by_cached_key(|row| (hash(word(row)), word(row)));
        let words: Vec<u64> = sorted.iter().map(word).collect();
        self.together = std::iter::once(false)
            .chain(words.array_windows().map(|[a, b]| a == b))
            .collect();
        self.rows = sorted;
    }
}

fn hash(word: u64) -> u64 {
    // 0, which is common and stands for NULL as well, is to be like any other word.
    let word = word ^ 0xa076_1d64_78bd_642f;
    (word ^ word >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
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

/// Where a root of this encoding has its words: codes and digits stand in the first child.
pub(super) fn from_of(encoding: u8) -> StreamOf {
    let first = [Dictionary.info().id, Alp.info().id, Narrow.info().id].contains(&encoding);
    if first {
        StreamOf::FirstChild
    } else {
        StreamOf::Values
    }
}

/// The stream by which a block tells or is told.
pub(super) fn stream_of(root: &Node) -> Option<StreamOf> {
    let from = from_of(root.encoding);
    let node = stream_node(root, from)?;
    let words = node.ty.width_bytes().is_some_and(|bytes| bytes <= 8) && node.len == root.len;
    (words && root.encoding != Constant.info().id).then_some(from)
}

pub(super) fn stream_node(root: &Node, from: StreamOf) -> Option<&Node> {
    match from {
        StreamOf::FirstChild => root.children.first(),
        _ => Some(root),
    }
}

pub(super) fn kind(root: &Node, from: StreamOf, kind: Kind) -> Kind {
    match from {
        StreamOf::FirstChild if root.encoding == Dictionary.info().id => Kind::Unsigned,
        StreamOf::FirstChild => Kind::Signed,
        _ => kind,
    }
}

/// The words of a stream, one for every value of the block.
pub(super) fn stream(root: &Node, from: StreamOf, values: Values<'_>) -> Result<OwnedValues> {
    let node = match stream_node(root, from) {
        Some(node) if from == StreamOf::FirstChild => node,
        _ => return Ok(OwnedValues::all(values)),
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
        Ok(OwnedValues::all(T::values(&words)))
    }, _ => Ok(OwnedValues::all(values)))
}
