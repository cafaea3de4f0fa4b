//! One dictionary for all blocks of a chunk, where it and the codes are smaller than the blocks'
//! own trees.

use std::borrow::Cow;

use super::block_input::BlockInput;
use super::choose::trees_like_first;
use super::chunk::ChunkOptions;
use super::summary::OfDistinct;
use crate::encode::{Chooser, Coded, Profile, Stats, distinct};
use crate::encodings::dictionary::{self, Dictionary};
use crate::encodings::onpair;
use crate::error::{Error, Result};
use crate::format::{Node, shared_dictionary};
use crate::limits::{both, map_parallel};
use crate::values::{Kind, OwnedValues, Values};

/// A chunk has a dictionary only if at most this share of its values are distinct.
const DISTINCT_SHARE: f64 = 0.75;

/// A chunk of fewer bytes has no dictionary.
const LEAST_BYTES: usize = 256;

/// A dictionary of integers must save 1/24: codes hide the numbers from the columns that could be
/// derived from them.
const LEAST_SAVING: usize = 24;

/// Of the bytes that the blocks' own trees would take, what a dictionary may take at most where only some of
/// these trees are made (decision 42).
const CLEARLY: f64 = 0.95;

/// Of strings, an estimate above the blocks' own trees by at most 1/32 does not tell whether the dictionary takes fewer bytes: tokens that
/// do not pay are known only once it is encoded.
const NEARLY: usize = 32;

/// Of fewer blocks all have trees of their own before a dictionary is judged.
const FEWEST_BLOCKS: usize = 4;

/// Of what own trees would take by that of the first block, what a dictionary may take at most for more blocks to
/// be judged: later ones may have more distinct values.
const MAYBE: f64 = 1.15;

/// So many times fewer distinct values make a block unlike another.
const UNLIKE: usize = 2;

/// Blocks that take fewer bytes in all have their own trees made: there is little time to save, and what a
/// block takes beside its values would count as values.
const LEAST_OWN_BYTES: usize = 1 << 14;

/// What became of the dictionary that the blocks of a chunk could share.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sharing {
    /// It was not tried, and why.
    Skipped(&'static str),
    /// It was tried.
    Tried {
        /// Distinct values of the chunk.
        distinct: usize,
        /// Bytes of the blocks' own trees; extrapolated from some of these where the others were not made.
        own: usize,
        /// Bytes of the dictionary, and of the smaller of codes and own tree for each block.
        shared: usize,
        /// Whether `shared` was encoded, or is an estimate that saves too little.
        encoded: bool,
        /// Whether the blocks have it.
        taken: bool,
    },
}

/// The dictionary that the blocks of a chunk share, ready to be written, and what became of it.
pub(super) type Shared = (Option<Vec<u8>>, Sharing);

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
        Ok(Stats::with_codes(values, kind, self.localised(block)?))
    }

    /// The codes of a block by its own distinct values.
    fn localised(&self, block: usize) -> Result<Cow<'_, Coded>> {
        let coded = self.block(block)?;
        let most = coded.codes.iter().max().map_or(0, |max| *max as usize + 1);
        Ok(if most == coded.firsts.len() {
            // The first block with values: all codes are new.
            Cow::Borrowed(coded)
        } else {
            Cow::Owned(Coded::localised(&coded.codes, most)?)
        })
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

    /// Distinct values of each block; 0 of one without values.
    fn distinct_of_each(&self) -> Result<Vec<usize>> {
        let of_block = |(i, coded): (usize, &Option<Coded>)| match coded {
            Some(_) => Ok(self.localised(i)?.firsts.len()),
            None => Ok(0),
        };
        map_parallel(self.blocks.iter().enumerate(), of_block)
    }

    /// What the distinct values of a block tell.
    pub(super) fn of_distinct(
        &self,
        block: usize,
        values: Values<'_>,
        nulls: usize,
    ) -> Result<OfDistinct> {
        let rows = &self.localised(block)?.firsts;
        Ok(OfDistinct::new(values, rows, nulls))
    }
}

/// The dictionary that the blocks of a chunk could share.
pub(super) struct SharedDictionary<'a> {
    inputs: &'a [BlockInput<'a>],
    codes: &'a ChunkCodes,
    distinct: OwnedValues,
    options: ChunkOptions<'a>,
    /// Values of all blocks.
    values: usize,
    estimates: Estimates,
    /// Once it was tried.
    encoded: Option<Encoded>,
}

/// Bytes, estimated.
struct Estimates {
    dictionary: usize,
    /// Of each block; 0 of one without values.
    codes: Vec<usize>,
}

/// A dictionary, and the trees of the blocks' codes in it.
struct Encoded {
    dictionary: Vec<u8>,
    nodes: Vec<Option<Node>>,
}

impl<'a> SharedDictionary<'a> {
    /// Of the blocks with these codes; else why there is none.
    pub(super) fn of(
        inputs: &'a [BlockInput<'a>],
        codes: Option<&'a ChunkCodes>,
        options: ChunkOptions<'a>,
    ) -> Result<std::result::Result<Self, &'static str>> {
        if options.requested_encoding.is_some() {
            return Ok(Err("an encoding was requested"));
        }
        if !options.chooser().offers(&Dictionary) {
            return Ok(Err("dictionaries are left out"));
        }
        if inputs.len() < 2 {
            return Ok(Err("there is one block"));
        }
        let Some(codes) = codes else {
            return Ok(Err("most values are distinct"));
        };
        if codes.distinct < 2 {
            return Ok(Err("there is next to nothing to save"));
        }
        let Some(distinct) = codes.values(inputs)? else {
            return Ok(Err("there are no values"));
        };
        let chooser = options.chooser().below(&Dictionary);
        let of_block = |coded: &Option<Coded>| match coded {
            Some(coded) => chooser.estimate_child(Values::U32(&coded.codes), Kind::Unsigned),
            None => Ok(0),
        };
        let (dictionary, codes_of_blocks) = both(
            || chooser.estimate_child(distinct.borrow(), options.kind),
            || map_parallel(&codes.blocks, of_block),
        );
        let estimates = Estimates {
            dictionary: dictionary?,
            codes: codes_of_blocks?,
        };
        let values = inputs.iter().filter_map(BlockInput::values);
        Ok(Ok(Self {
            inputs,
            codes,
            distinct,
            options,
            values: values.map(|values| values.len()).sum(),
            estimates,
            encoded: None,
        }))
    }

    /// The blocks whose own trees tell what those of the others take: the one in the middle, beside the first, and
    /// all whose values are far fewer than those of another, as chunk-wide codes may cost them much.
    pub(super) fn judged(&self) -> Result<Vec<usize>> {
        let distinct = self.codes.distinct_of_each()?;
        let with_values: Vec<usize> = (0..distinct.len())
            .filter(|i| distinct.get(*i) > Some(&0))
            .collect();
        let middle = with_values.get(with_values.len() / 2).copied();
        let most = distinct.iter().max().copied().unwrap_or(0);
        let is_unlike = |i: &usize| distinct.get(*i).is_some_and(|count| count * UNLIKE < most);
        let unlike = with_values.iter().copied().filter(is_unlike);
        Ok(unlike.chain(middle).collect())
    }

    fn chooser(&self) -> Chooser<'a> {
        self.options.chooser().below(&Dictionary)
    }

    /// What the dictionary must save of these bytes. Codes of integers hide the numbers from the columns that
    /// could be derived from them.
    fn least_saving(&self, own: usize) -> usize {
        let is_words = !matches!(self.distinct, OwnedValues::Bytes(_));
        let is_integer = is_words && matches!(self.options.kind, Kind::Signed | Kind::Unsigned);
        if is_integer { own / LEAST_SAVING } else { 0 }
    }

    /// Bytes of the dictionary and of the blocks' codes or own trees, estimated.
    fn estimate(&self, nodes: &[Option<Node>]) -> usize {
        let of_block = |(codes, own): (&usize, &Option<Node>)| match own {
            Some(own) => own.size().min(*codes),
            None => *codes,
        };
        let of_blocks = self.estimates.codes.iter().zip(nodes).map(of_block);
        self.estimates.dictionary + of_blocks.sum::<usize>()
    }

    /// Whether it may be worth it, by the own tree of the first block: before others are judged.
    pub(super) fn may_be_shared(&self, nodes: &[Option<Node>]) -> bool {
        self.inputs.len() >= FEWEST_BLOCKS
            && self.options.rules.profile != Profile::Small
            && self.estimate(nodes) as f64 <= self.extrapolated(nodes) as f64 * MAYBE
    }

    /// Bytes that trees of their own would take for all blocks, by those that some have.
    fn extrapolated(&self, nodes: &[Option<Node>]) -> usize {
        let made = || nodes.iter().flatten();
        let (bytes, len): (usize, usize) = (
            made().map(Node::size).sum(),
            made().map(|node| node.len).sum(),
        );
        (bytes as f64 * self.values as f64 / len.max(1) as f64) as usize
    }

    /// The dictionary and all codes, encoded before or now.
    fn encoded(&mut self) -> Result<Encoded> {
        self.encoded.take().map_or_else(|| self.encode(), Ok)
    }

    fn encode(&self) -> Result<Encoded> {
        let (distinct, chooser) = (self.distinct.borrow(), self.chooser());
        let string_bytes = match distinct {
            Values::Bytes(strings) => strings.contents().len(),
            _ => 0,
        };
        let coded = |i, values: Values<'_>, chooser: Chooser<'_>| {
            dictionary::shared_node(values, &self.codes.block(i)?.codes, 0, &chooser)
        };
        let (dictionary, nodes) = both(
            || chooser.child(distinct, self.options.kind),
            || trees_like_first(self.inputs, chooser, coded),
        );
        Ok(Encoded {
            dictionary: shared_dictionary::write(&dictionary?, string_bytes),
            nodes: nodes?,
        })
    }

    /// Bytes of the dictionary, and of the smaller of codes and own tree for each block.
    fn bytes(&mut self, nodes: &[Option<Node>]) -> Result<usize> {
        let encoded = self.encoded()?;
        let smaller = encoded.nodes.iter().zip(nodes).map(|(coded, own)| {
            let sizes = coded.iter().chain(own).map(Node::size);
            sizes.min().unwrap_or(0)
        });
        let bytes = encoded.dictionary.len() + smaller.sum::<usize>();
        self.encoded = Some(encoded);
        Ok(bytes)
    }

    /// The dictionary, ready to be written; the blocks whose codes are smaller than their own tree, or that
    /// have none, then have codes.
    fn take(&mut self, nodes: &mut [Option<Node>]) -> Result<Vec<u8>> {
        let encoded = self.encoded()?;
        for (own, coded) in nodes.iter_mut().zip(encoded.nodes) {
            let is_smaller =
                |coded: &Node| own.as_ref().is_none_or(|own| coded.size() < own.size());
            if let Some(coded) = coded.filter(is_smaller) {
                *own = Some(coded);
            }
        }
        Ok(encoded.dictionary)
    }

    fn tried(&self, own: usize, shared: usize, encoded: bool, taken: bool) -> Sharing {
        Sharing::Tried {
            distinct: self.codes.distinct,
            own,
            shared,
            encoded,
            taken,
        }
    }

    /// As [`share`](Self::share), where only some blocks have their own trees, and only if it takes clearly less
    /// than trees like these for all.
    pub(super) fn share_clearly(&mut self, nodes: &mut [Option<Node>]) -> Result<Option<Shared>> {
        let made = || nodes.iter().flatten();
        let (judged, of_judged) = (made().count(), made().map(|node| node.len).sum::<usize>());
        let blocks = self.codes.blocks.iter().flatten().count();
        // One block, or blocks of far fewer values than others, do not tell what these take.
        if judged < 2 || 2 * of_judged * blocks < self.values * judged {
            return Ok(None);
        }
        let own = self.extrapolated(nodes);
        // Tokens are stored once.
        let tokens = onpair::shared_bytes(nodes) / (judged - 1);
        let own_once = own.saturating_sub(tokens * blocks.saturating_sub(1));
        let most = (own.min(own_once + own_once / 8) as f64 * CLEARLY) as usize;
        if own < LEAST_OWN_BYTES || self.estimate(nodes) > most {
            return Ok(None);
        }
        let shared = self.bytes(nodes)?;
        if shared > most {
            return Ok(None);
        }
        let sharing = self.tried(own, shared, true, true);
        Ok(Some((Some(self.take(nodes)?), sharing)))
    }

    /// The dictionary, ready to be written, where it pays: the blocks whose codes are smaller than their own
    /// tree then have codes.
    pub(super) fn share(mut self, nodes: &mut [Option<Node>]) -> Result<Shared> {
        let own: usize = nodes.iter().flatten().map(Node::size).sum();
        if own < LEAST_BYTES {
            return Ok((None, Sharing::Skipped("there is next to nothing to save")));
        }
        let least_saving = self.least_saving(own);
        if self.encoded.is_none() {
            let estimate = self.estimate(nodes);
            let nearly = match self.distinct {
                OwnedValues::Bytes(_) => own / NEARLY,
                _ => 0,
            };
            if estimate + least_saving >= own + nearly {
                return Ok((None, self.tried(own, estimate, false, false)));
            }
        }
        let shared = self.bytes(nodes)?;
        // Tokens that blocks share are stored once. Codes are worth an eighth: columns may be derived from them.
        let own_once = own - onpair::shared_bytes(nodes);
        let pays = shared + least_saving < own && own_once + own_once / 8 >= shared;
        let dictionary = pays.then(|| self.take(nodes)).transpose()?;
        Ok((dictionary, self.tried(own, shared, true, pays)))
    }
}
