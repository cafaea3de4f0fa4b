//! One dictionary for all blocks of a chunk, where it and the codes are smaller than the blocks'
//! own trees.

use std::borrow::Cow;

use super::block_input::BlockInput;
use super::choose::trees_like_first;
use super::chunk::ChunkOptions;
use crate::encode::{Chooser, Coded, Stats, distinct};
use crate::encodings::dictionary::{self, Dictionary};
use crate::encodings::onpair;
use crate::error::{Error, Result};
use crate::format::{Node, shared_dictionary};
use crate::values::{Kind, OwnedValues, Values};

/// A chunk has a dictionary only if at most this share of its values are distinct.
const DISTINCT_SHARE: f64 = 0.75;

/// A chunk of fewer bytes has no dictionary.
const LEAST_BYTES: usize = 256;

/// A dictionary of integers must save 1/24: codes hide the numbers from the columns that could be
/// derived from them.
const LEAST_SAVING: usize = 24;

/// What became of the dictionary that the blocks of a chunk could share.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sharing {
    /// It was not tried, and why.
    Skipped(&'static str),
    /// It was tried.
    Tried {
        /// Distinct values of the chunk.
        distinct: usize,
        /// Bytes of the blocks' own trees.
        own: usize,
        /// Bytes of the dictionary, and of the smaller of codes and own tree for each block.
        shared: usize,
        /// Whether `shared` was encoded, or is an estimate that was not less than `own`.
        encoded: bool,
    },
}

/// Codes over all blocks of a chunk.
pub(super) struct ChunkCodes {
    /// Those of each block that has values; `firsts` lists the values it is the first to have.
    blocks: Vec<Option<Coded>>,
    distinct: usize,
}

impl ChunkCodes {
    /// The codes of a chunk; `None` where most values are distinct.
    pub(super) fn of(inputs: &[BlockInput<'_>]) -> Option<Self> {
        let values: Vec<Values<'_>> = inputs.iter().filter_map(BlockInput::values).collect();
        let mut coded =
            distinct::of_blocks(&values, u32::MAX as usize, DISTINCT_SHARE)?.into_iter();
        let codes = |input: &BlockInput<'_>| input.values().and_then(|_| coded.next());
        let blocks: Vec<Option<Coded>> = inputs.iter().map(codes).collect();
        let distinct = blocks
            .iter()
            .flatten()
            .map(|coded| coded.firsts.len())
            .sum();
        Some(Self { blocks, distinct })
    }

    /// The codes of a block that has values.
    fn block(&self, block: usize) -> Result<&Coded> {
        let coded = self.blocks.get(block).and_then(Option::as_ref);
        coded.ok_or_else(|| Error::internal("a block with values but without codes"))
    }

    /// The statistics of a block, its own codes made of those of the chunk.
    pub(super) fn stats<'v>(
        &'v self,
        block: usize,
        values: Values<'v>,
        kind: Kind,
    ) -> Result<Stats<'v>> {
        let coded = self.block(block)?;
        let most = coded.codes.iter().max().map_or(0, |max| *max as usize + 1);
        let local = if most == coded.firsts.len() {
            // The first block with values: all codes are new.
            Cow::Borrowed(coded)
        } else {
            Cow::Owned(Coded::localised(&coded.codes, most)?)
        };
        Ok(Stats::with_codes(values, kind, local))
    }

    /// The distinct values of the chunk, in the order of their codes.
    fn values(&self, inputs: &[BlockInput<'_>]) -> Result<Option<OwnedValues>> {
        let mut all: Option<OwnedValues> = None;
        for (input, coded) in inputs.iter().zip(&self.blocks) {
            if let (Some(values), Some(coded)) = (input.values(), coded) {
                let firsts = OwnedValues::take(values, &coded.firsts)?;
                match &mut all {
                    Some(all) => all.append(firsts)?,
                    none => *none = Some(firsts),
                }
            }
        }
        Ok(all)
    }

    /// Bytes of a dictionary and the blocks' codes or own trees, estimated.
    fn estimate(
        &self,
        distinct: Values<'_>,
        nodes: &[Option<Node>],
        chooser: &Chooser<'_>,
        kind: Kind,
    ) -> Result<usize> {
        let mut bytes = chooser.estimate_child(distinct, kind)?;
        for (i, node) in nodes.iter().enumerate() {
            if let Some(node) = node {
                let codes = Values::U32(&self.block(i)?.codes);
                bytes += node
                    .size()
                    .min(chooser.estimate_child(codes, Kind::Unsigned)?);
            }
        }
        Ok(bytes)
    }
}

/// The dictionary of a chunk, ready to be written, where it pays: the blocks whose codes are
/// smaller than their own tree then have codes.
pub(super) fn share(
    inputs: &[BlockInput<'_>],
    codes: Option<&ChunkCodes>,
    nodes: &mut [Option<Node>],
    options: ChunkOptions<'_>,
) -> Result<(Option<Vec<u8>>, Sharing)> {
    let skipped = |why| Ok((None, Sharing::Skipped(why)));
    let chooser = options.chooser();
    if options.requested_encoding.is_some() {
        return skipped("an encoding was requested");
    }
    if !chooser.offers(&Dictionary) {
        return skipped("dictionaries are left out");
    }
    if inputs.len() < 2 {
        return skipped("there is one block");
    }
    let Some(codes) = codes else {
        return skipped("most values are distinct");
    };
    let own: usize = nodes.iter().flatten().map(Node::size).sum();
    if codes.distinct < 2 || own < LEAST_BYTES {
        return skipped("there is next to nothing to save");
    }
    let Some(distinct) = codes.values(inputs)? else {
        return skipped("there are no values");
    };
    share_values(inputs, codes, distinct.borrow(), nodes, options)
}

/// As [`share`], of these distinct values.
fn share_values(
    inputs: &[BlockInput<'_>],
    codes: &ChunkCodes,
    distinct: Values<'_>,
    nodes: &mut [Option<Node>],
    options: ChunkOptions<'_>,
) -> Result<(Option<Vec<u8>>, Sharing)> {
    let own: usize = nodes.iter().flatten().map(Node::size).sum();
    let tried = |shared, encoded| Sharing::Tried {
        distinct: codes.distinct,
        own,
        shared,
        encoded,
    };
    let chooser = options.chooser().below(&Dictionary);
    let estimate = codes.estimate(distinct, nodes, &chooser, options.kind)?;
    if estimate >= own {
        return Ok((None, tried(estimate, false)));
    }
    let (string_bytes, is_words) = match distinct {
        Values::Bytes(strings) => (strings.contents().len(), false),
        _ => (0, true),
    };
    let dictionary = chooser.child(distinct, options.kind)?;
    let dictionary = shared_dictionary::write(&dictionary, string_bytes);
    let mut coded = trees_like_first(inputs, chooser, |i, values, chooser| {
        dictionary::shared_node(values, &codes.block(i)?.codes, 0, &chooser)
    })?;
    let mut shared = dictionary.len();
    for (own, coded) in nodes.iter().zip(&mut coded) {
        coded.take_if(|coded| own.as_ref().is_none_or(|own| coded.size() >= own.size()));
        shared += coded.as_ref().or(own.as_ref()).map_or(0, Node::size);
    }
    let is_integer = is_words && matches!(options.kind, Kind::Signed | Kind::Unsigned);
    let least_saving = if is_integer { own / LEAST_SAVING } else { 0 };
    // Tokens that blocks share are stored once. Codes are worth an eighth: columns may be derived from them.
    let own_once = own - onpair::shared_bytes(nodes);
    if shared + least_saving >= own || own_once + own_once / 8 < shared {
        return Ok((None, tried(shared, true)));
    }
    for (own, coded) in nodes.iter_mut().zip(coded) {
        if coded.is_some() {
            *own = coded;
        }
    }
    Ok((Some(dictionary), tried(shared, true)))
}
