//! Deriving a column: its blocks are encoded from those of the reference columns.

use super::super::chunk::{ChosenBlock, ChosenChunk, Trees, validity_chooser};
use super::column::{from_of, kind, stream, stream_node, stream_of};
use super::{Derivation, LEAST_BYTES};
use crate::decode::{ReferenceBlock, ReferenceStream, StreamOf};
use crate::encode::{Encoding, Example, Hint, Stats};
use crate::encodings::dictionary::Dictionary;
use crate::encodings::difference::Difference;
use crate::encodings::{POOL, opener};
use crate::error::{Error, Result};
use crate::format::{BitSet, Node, block};
use crate::limits::Limits;
use crate::limits::map_parallel;
use crate::values::{Bitmap, Kind, OwnedValues, Physical as _, Values, for_ints};

/// A derived column must shrink to this share: reading it alone costs reading the other as well.
pub(super) const WORTH: f64 = 0.7;
/// Of more blocks than this, a few are derived first to see whether it pays.
const SEVERAL: usize = 4;

/// A reference column, its block, and its coefficient.
type ChosenReference<'a> = (&'a ChosenChunk<'a>, &'a ChosenBlock<'a>, i64);

/// Bytes of some blocks: alone, and derived.
type Bytes = (usize, usize);

/// Derives the blocks of a column; no trees where the column does not shrink enough. With the bytes
/// of the blocks that were encoded.
pub(super) fn derive(
    chosen: &[ChosenChunk<'_>],
    derivation: &Derivation,
) -> Result<(Option<Vec<Trees>>, Bytes)> {
    let chunk = |leaf: usize| {
        let chunk = chosen.get(leaf);
        chunk.ok_or_else(|| Error::internal("a derivation of no column"))
    };
    let column = chunk(derivation.leaf)?;
    let references = derivation.references.iter();
    let references = references.map(|(leaf, coefficient)| Ok((chunk(*leaf)?, *coefficient)));
    let references = references.collect::<Result<Vec<_>>>()?;
    let no_block = || Error::internal("a derivation of no block");
    let derived = |i: usize, example: Option<&Node>| -> Result<Trees> {
        let block = column.blocks.get(i).ok_or_else(no_block)?;
        let references = references.iter().map(|(chunk, coefficient)| {
            let block = chunk.blocks.get(i).ok_or_else(no_block)?;
            Ok((*chunk, block, *coefficient))
        });
        let references = references.collect::<Result<Vec<_>>>()?;
        derive_block(column, block, &references, derivation, example)
    };
    let bytes = |trees: &[(usize, Trees)]| -> Bytes {
        let alone = |(i, _): &(usize, Trees)| column.blocks.get(*i).map_or(0, |b| b.trees.size());
        let alone = trees.iter().map(alone).sum();
        (alone, trees.iter().map(|(_, trees)| trees.size()).sum())
    };
    let pays = |(alone, derived): Bytes| {
        derived + LEAST_BYTES <= alone && (derived as f64) < alone as f64 * WORTH
    };
    let judged = column.judged;
    let first = derived(judged, None)?;
    let example = first.values.clone();
    let mut known = vec![(judged, first)];
    if !pays(bytes(&known)) {
        return Ok((None, bytes(&known)));
    }
    if column.blocks.len() > SEVERAL {
        let ends = [0, column.blocks.len() - 1];
        for i in ends.into_iter().filter(|i| *i != judged) {
            known.push((i, derived(i, example.as_ref())?));
        }
        if !pays(bytes(&known)) {
            return Ok((None, bytes(&known)));
        }
    }
    let rest = (0..column.blocks.len()).filter(|i| known.iter().all(|(known, _)| known != i));
    let rest = map_parallel(rest, |i| Ok((i, derived(i, example.as_ref())?)))?;
    known.extend(rest);
    known.sort_by_key(|(i, _)| *i);
    let bytes = bytes(&known);
    let trees = || known.into_iter().map(|(_, trees)| trees).collect();
    Ok((pays(bytes).then(trees), bytes))
}

/// The trees of one block: derived where that is smaller, else as they are.
fn derive_block(
    column: &ChosenChunk<'_>,
    block: &ChosenBlock<'_>,
    references: &[ChosenReference<'_>],
    derivation: &Derivation,
    example: Option<&Node>,
) -> Result<Trees> {
    let smaller = |derived: Option<Node>, alone: &Option<Node>| {
        let saves = |node: &Node| {
            alone
                .as_ref()
                .is_some_and(|alone| node.size() < alone.size())
        };
        derived.filter(saves).or_else(|| alone.clone())
    };
    let values = derive_values(column, block, references, derivation, example)?;
    let validity = match (references, &block.input.validity) {
        ([(_, reference, _), ..], Some(valid)) if derivation.validity => {
            let reference = reference.input.validity.as_ref();
            let excluded = column.options.rules.excluded;
            reference
                .map(|reference| derive_validity(valid, reference, excluded))
                .transpose()?
        }
        _ => None,
    };
    Ok(Trees {
        values: smaller(values, &block.trees.values),
        validity: smaller(validity.flatten(), &block.trees.validity),
    })
}

/// A validity as the rows in which it differs from another.
fn derive_validity(valid: &Bitmap, reference: &Bitmap, excluded: BitSet) -> Result<Option<Node>> {
    let streams = [ReferenceStream {
        column: 0,
        from: StreamOf::Validity,
        words: Values::Bits(reference),
        coefficient: 1,
    }];
    let chooser = validity_chooser(excluded)
        .below(&Difference)
        .with_references(&streams);
    let values = Values::Bits(valid);
    Difference.encode(values, &Stats::new(values, Kind::Unsigned), &chooser)
}

/// The tree of a block's values, derived; `None` where that is not possible.
fn derive_values(
    column: &ChosenChunk<'_>,
    block: &ChosenBlock<'_>,
    references: &[ChosenReference<'_>],
    derivation: &Derivation,
    example: Option<&Node>,
) -> Result<Option<Node>> {
    let (Some(encoding), Some(root), Some(values)) = (
        derivation.encoding,
        &block.trees.values,
        block.input.values(),
    ) else {
        return Ok(None);
    };
    let Some(from) = stream_of(root, derivation.numbers) else {
        return Ok(None);
    };
    let target = stream(root, from, values)?;
    let target = target.as_ref().map_or(values, OwnedValues::borrow);
    let mut words = Vec::new();
    for (position, reference) in (0u8..).zip(references) {
        let (_, other, coefficient) = reference;
        let Some(root) = &other.trees.values else {
            // Without a value it adds nothing to a sum, and has no groups.
            continue;
        };
        let Some((from, stream)) =
            reference_words(reference, root, block, target.len(), derivation.numbers)?
        else {
            return Ok(None);
        };
        words.push((position, from, stream, *coefficient));
    }
    if words.is_empty() {
        return Ok(None);
    }
    let streams: Vec<ReferenceStream<'_>> = words
        .iter()
        .map(|(position, from, words, coefficient)| ReferenceStream {
            column: *position,
            from: *from,
            words: words.borrow(),
            coefficient: *coefficient,
        })
        .collect();
    // The example is the tree of the whole block; the hint is that of its stream.
    let hint = example.and_then(|root| stream_node(root, from));
    let hint = hint.filter(|node| node.encoding == encoding.info().id);
    let hint = hint.map(|node| Example::of(node, &POOL));
    let hint = hint.as_ref().map(Hint::new);
    let chooser = column.options.chooser().below(encoding);
    let chooser = chooser.with_hint(hint.as_ref()).with_references(&streams);
    let stats = Stats::new(target, kind(from, column.options.kind));
    let Some(node) = encoding.encode(target, &stats, &chooser)? else {
        return Ok(None);
    };
    if from == StreamOf::Values {
        return Ok(Some(node));
    }
    let mut root = root.clone();
    let child = root.children.first_mut();
    *child.ok_or_else(|| Error::internal("a stream of a child that is not there"))? = node;
    Ok(Some(root))
}

/// The words of a reference column for the values of a block of the derived column.
fn reference_words(
    (chunk, reference, _): &ChosenReference<'_>,
    root: &Node,
    block: &ChosenBlock<'_>,
    len: usize,
    numbers: bool,
) -> Result<Option<(StreamOf, OwnedValues)>> {
    if numbers && root.encoding == Dictionary.info().id && root.children.len() < 2 {
        // Its dictionary is shared by the chunk, and not at hand.
        return Ok(None);
    }
    let from = from_of(root.encoding, numbers);
    let bytes = reference.bytes(chunk.ty, &reference.trees);
    let limits = Limits::default();
    let source = ReferenceBlock {
        opener: opener(limits),
        block: block::parse(&bytes, block.input.len, chunk.ty, &limits)?,
        rows: block
            .input
            .validity
            .clone()
            .filter(|_| block.input.compacted),
    };
    let Ok(Some(ty)) = source.physical_type(from) else {
        return Ok(None);
    };
    for_ints!(ty, T => {
        let words = source.words::<T>(from, len)?;
        Ok(Some((from, OwnedValues::all(T::values(&words)))))
    }, _ => Ok(None))
}
