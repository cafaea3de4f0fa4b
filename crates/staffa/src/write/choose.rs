//! Choosing the encodings of a chunk: blocks in, a tree for each of them out, and what they share.
//!
//! The tree of the first block is chosen; it is the hint for the others. Tokens of strings are trained
//! on all blocks, so that blocks of such strings can be smaller than others.

use std::sync::OnceLock;

use super::block_input::{BlockInput, block_inputs};
use super::chunk::{ChosenBlock, ChosenChunk, ChunkOptions, Trees, validity_tree};
use super::shared_dictionary::{ChunkCodes, share};
use super::summary::OfDistinct;
use crate::encode::{Access, Chooser, ChunkBytes, ChunkStrings, Example, Hint, Stats};
use crate::encodings::{POOL, onpair};
use crate::error::{Error, Result};
use crate::format::{Node, shared_dictionary};
use crate::limits::map_parallel;
use crate::values::{LeafArray, LeafValues, Strings, Values};

/// Chooses the encodings of one leaf of one row group. `hint` is the tree of an earlier row group or of a
/// similar leaf, which is tried first.
pub(crate) fn choose<'a>(
    array: &'a LeafArray,
    options: ChunkOptions<'a>,
    hint: Option<&Hint<'_>>,
) -> Result<ChosenChunk<'a>> {
    options.cancel.check()?;
    let cut = Cut::of(array, options)?;
    let block_rows = options.token_block_rows;
    if block_rows >= options.block_rows || array.values.len() < 2 * block_rows {
        return cut.trees(hint, None)?.ok_or_else(none_chosen);
    }
    let smaller = ChunkOptions {
        block_rows,
        ..options
    };
    // Strings that repeat are seldom tokens: the cut that is likely comes first.
    let repeats = cut.codes.is_some();
    if !repeats && let Some(chosen) = Cut::of(array, smaller)?.trees(hint, Some(true))? {
        return Ok(chosen);
    }
    if let Some(chosen) = cut.trees(hint, repeats.then_some(false))? {
        return Ok(chosen);
    }
    Cut::of(array, smaller)?
        .trees(hint, None)?
        .ok_or_else(none_chosen)
}

fn none_chosen() -> Error {
    Error::internal("a chunk for which nothing was chosen")
}

/// A leaf of a row group, cut into blocks.
struct Cut<'a> {
    options: ChunkOptions<'a>,
    array: &'a LeafArray,
    inputs: Vec<BlockInput<'a>>,
    codes: Option<ChunkCodes>,
    /// What the distinct values of each block tell, where choosing finds them.
    of_distinct: Vec<OnceLock<OfDistinct>>,
}

impl<'a> Cut<'a> {
    fn of(array: &'a LeafArray, options: ChunkOptions<'a>) -> Result<Self> {
        let inputs = block_inputs(array, options.block_rows)?;
        let codes = match options.requested_encoding {
            Some(_) => None,
            None => ChunkCodes::of(&inputs),
        };
        Ok(Self {
            options,
            array,
            codes,
            of_distinct: inputs.iter().map(|_| OnceLock::new()).collect(),
            inputs,
        })
    }

    /// The first block that has values, its tree chosen with the strings of all blocks in sight.
    fn first_tree(&self, hint: Option<&Hint<'_>>) -> Result<Option<First>> {
        let Some((block, values)) = first_with_values(&self.inputs) else {
            return Ok(None);
        };
        let strings = match &self.array.values {
            LeafValues::Bytes { offsets, data } if self.inputs.len() > 1 => {
                Some(Strings::new(offsets, data)?)
            }
            _ => None,
        };
        let bytes = strings.map(ChunkBytes::new);
        let mut chooser = self.options.chooser();
        if let Some((strings, bytes)) = strings.zip(bytes.as_ref()) {
            chooser = chooser.with_chunk(ChunkStrings::new(strings, values), bytes);
        }
        let tree = self.tree()(block, values, chooser.with_hint(hint))?;
        Ok(Some(First { block, tree }))
    }

    /// The chunk: the tree of the first block, and trees like it for the others. `None` where that of the
    /// first has tokens, or has none, against what is asked for.
    fn trees(
        self,
        hint: Option<&Hint<'_>>,
        with_tokens: Option<bool>,
    ) -> Result<Option<ChosenChunk<'a>>> {
        let Some(first) = self.first_tree(hint)? else {
            let none = vec![None; self.inputs.len()];
            return self.chosen(none, None).map(Some);
        };
        if with_tokens.is_some_and(|with| with != onpair::has_tokens(&first.tree)) {
            return Ok(None);
        }
        let example = Example::of(&first.tree, &POOL);
        let to_remember = Some(example.clone().without_shared());
        let chooser = self.options.chooser();
        let nodes = trees_behind(first, &example, &self.inputs, chooser, self.tree())?;
        self.chosen(nodes, to_remember).map(Some)
    }

    /// Makes the tree of a block.
    fn tree(&self) -> impl Fn(usize, Values<'_>, Chooser<'_>) -> Result<Node> + Sync {
        |i, values, chooser| {
            let stats = match &self.codes {
                Some(codes) => codes.stats(i, values, self.options.kind)?,
                None => Stats::new(values, self.options.kind),
            };
            let node = chooser.choose(values, &stats);
            let place = self.of_distinct.get(i).zip(self.inputs.get(i));
            if let Some((distinct, (place, input))) = stats.known_distinct().zip(place) {
                let _ = place.set(OfDistinct::new(values, distinct, input.nulls()));
            }
            node
        }
    }

    /// The chunk of these trees, what they have in common moved to shared parts.
    fn chosen(
        self,
        mut nodes: Vec<Option<Node>>,
        example: Option<Example>,
    ) -> Result<ChosenChunk<'a>> {
        let options = self.options;
        let (dictionary, sharing) = share(&self.inputs, self.codes.as_ref(), &mut nodes, options)?;
        let mut shared: Vec<Vec<u8>> = dictionary.into_iter().collect();
        if let Some(tokens) = onpair::share(&mut nodes, shared.len() as u8) {
            let strings = Values::Bytes(tokens.as_strings());
            let stats = Stats::new(strings, options.kind);
            // One row reads all tokens: then they are worth their smallest tree.
            let tree = match options.rules.access {
                Access::Random => options.chooser().choose(strings, &stats)?,
                Access::Scan => options.chooser().plainly(strings, &stats)?,
            };
            shared.push(shared_dictionary::write(
                &tree,
                tokens.as_strings().contents().len(),
            ));
        }
        let block =
            |((input, of_distinct), values): ((BlockInput<'a>, OnceLock<OfDistinct>), _)| {
                let validity = input.validity.as_ref();
                let validity = validity.map(|valid| validity_tree(valid, options.rules.excluded));
                let validity = validity.transpose()?;
                Ok(ChosenBlock {
                    input,
                    of_distinct: of_distinct.into_inner(),
                    trees: Trees { values, validity },
                })
            };
        let blocks = self.inputs.into_iter().zip(self.of_distinct).zip(nodes);
        Ok(ChosenChunk {
            options,
            ty: self.array.values.physical_type(),
            blocks: map_parallel(blocks, block)?,
            shared,
            sharing,
            len: self.array.values.len(),
            references: Vec::new(),
            same: false,
            example,
        })
    }
}

/// The first block that has values.
struct First {
    block: usize,
    tree: Node,
}

/// A tree for every block that has values: chosen for the first, which is the hint for the others.
pub(super) fn trees_like_first(
    inputs: &[BlockInput<'_>],
    chooser: Chooser<'_>,
    tree: impl Fn(usize, Values<'_>, Chooser<'_>) -> Result<Node> + Sync,
) -> Result<Vec<Option<Node>>> {
    match first_with_values(inputs) {
        Some((block, values)) => {
            let first = First {
                block,
                tree: tree(block, values, chooser)?,
            };
            let example = Example::of(&first.tree, &POOL);
            trees_behind(first, &example, inputs, chooser, tree)
        }
        None => Ok(vec![None; inputs.len()]),
    }
}

fn first_with_values<'i>(inputs: &'i [BlockInput<'_>]) -> Option<(usize, Values<'i>)> {
    let mut blocks = inputs.iter().enumerate();
    blocks.find_map(|(block, input)| Some((block, input.values()?)))
}

/// The tree of the first block, and those of the blocks behind it, for which it is the hint.
fn trees_behind(
    first: First,
    example: &Example,
    inputs: &[BlockInput<'_>],
    chooser: Chooser<'_>,
    tree: impl Fn(usize, Values<'_>, Chooser<'_>) -> Result<Node> + Sync,
) -> Result<Vec<Option<Node>>> {
    let (before, behind) = inputs.split_at(inputs.len().min(first.block + 1));
    let others = trees_like(example, behind, chooser, |i, values, chooser| {
        tree(before.len() + i, values, chooser)
    })?;
    let before = std::iter::repeat_n(None, first.block);
    Ok(before.chain([Some(first.tree)]).chain(others).collect())
}

/// The trees of blocks, with the hint of another.
fn trees_like(
    example: &Example,
    inputs: &[BlockInput<'_>],
    chooser: Chooser<'_>,
    tree: impl Fn(usize, Values<'_>, Chooser<'_>) -> Result<Node> + Sync,
) -> Result<Vec<Option<Node>>> {
    let of_block = |(i, input): (usize, &BlockInput<'_>)| {
        let hint = Hint::new(example);
        let tree = |values| tree(i, values, chooser.with_hint(Some(&hint)));
        input.values().map(tree).transpose()
    };
    map_parallel(inputs.iter().enumerate(), of_block)
}
