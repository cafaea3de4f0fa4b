//! Choosing the encodings of a chunk: blocks in, a tree for each of them out, and what they share.
//!
//! The tree of the first block is chosen; it is the hint for the others, which have none of their own where a
//! dictionary that they share is clearly smaller. Tokens of strings are trained
//! on all blocks, so that blocks of such strings can be smaller than others; so can blocks of noise.

use std::sync::OnceLock;

use super::block_input::{BlockInput, block_inputs};
use super::block_rows::BlockRows;
use super::chunk::{ChosenBlock, ChosenChunk, ChunkOptions, Trees, validity_tree};
use super::shared_dictionary::{ChunkCodes, Shared, SharedDictionary, Sharing};
use super::summary::OfDistinct;
use crate::decode::get_or_try_init;
use crate::encode::{
    Access, Chooser, ChunkBytes, ChunkStrings, Encoding as _, Example, Hint, Stats,
};
use crate::encodings::alp_rd::AlpRd;
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
    let with_rows = |rows| {
        let blocks = BlockRows::of_all(rows);
        Cut::of(array, ChunkOptions { blocks, ..options })
    };
    let BlockRows {
        of_tokens,
        of_long_tokens,
        of_noise,
        of_vectors,
        ..
    } = options.blocks;
    let repeats = cut.codes.is_some();
    if !repeats
        && let Some(rows) = of_noise
        && let LeafValues::Bytes { offsets, data } = &array.values
        && onpair::is_noise(Strings::new(offsets, data)?)
    {
        return with_rows(rows)?.trees(hint, None)?.ok_or_else(none_chosen);
    }
    if !repeats && let Some(rows) = of_vectors {
        let smaller = with_rows(rows)?;
        if smaller.loses_nothing(&cut, hint)? {
            return smaller.trees(hint, None)?.ok_or_else(none_chosen);
        }
    }
    let may_have_tokens = options.may_have_tokens();
    let [of_tokens, of_long_tokens] =
        [of_tokens, of_long_tokens].map(|rows| rows.filter(|_| may_have_tokens));
    // Strings that repeat are seldom tokens: the cut that is likely comes first.
    if !repeats {
        let usual = of_tokens.map(with_rows).transpose()?;
        let larger = usual.as_ref().unwrap_or(&cut);
        // Other encodings, as that of equal prefixes, lose by small blocks.
        let mut chosen = match of_long_tokens {
            Some(rows) if larger.has_tokens(hint)? => with_rows(rows)?.trees(hint, Some(true))?,
            _ => None,
        };
        if chosen.is_none()
            && let Some(usual) = usual
        {
            chosen = usual.trees(hint, Some(true))?;
        }
        if let Some(chosen) = chosen {
            return Ok(chosen);
        }
    }
    let Some(rows) = of_tokens else {
        return cut.trees(hint, None)?.ok_or_else(none_chosen);
    };
    if let Some(chosen) = cut.trees(hint, repeats.then_some(false))? {
        return Ok(chosen);
    }
    with_rows(rows)?.trees(hint, None)?.ok_or_else(none_chosen)
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
    first: OnceLock<Option<First>>,
}

impl<'a> Cut<'a> {
    fn of(array: &'a LeafArray, options: ChunkOptions<'a>) -> Result<Self> {
        let inputs = block_inputs(array, options.blocks.rows)?;
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
            first: OnceLock::new(),
        })
    }

    /// The first block that has values, and its tree, chosen once.
    fn first_tree(&self, hint: Option<&Hint<'_>>) -> Result<Option<&First>> {
        get_or_try_init(&self.first, || self.choose_first(hint)).map(Option::as_ref)
    }

    /// Chooses the tree of the first block that has values, with the strings of all blocks in sight.
    fn choose_first(&self, hint: Option<&Hint<'_>>) -> Result<Option<First>> {
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

    /// Whether the tree of the first block has tokens.
    fn has_tokens(&self, hint: Option<&Hint<'_>>) -> Result<bool> {
        let first = self.first_tree(hint)?;
        Ok(first.is_some_and(|first| onpair::has_tokens(&first.tree)))
    }

    /// Whether the first block of floats takes no more bytes a value than that of a cut into larger blocks, in which
    /// their bits are stored one by one: dictionaries, runs and repeats lose by small blocks.
    fn loses_nothing(&self, larger: &Self, hint: Option<&Hint<'_>>) -> Result<bool> {
        let (Some(own), Some(other)) = (self.first_tree(hint)?, larger.first_tree(hint)?) else {
            return Ok(false);
        };
        let per_value = |first: &First| first.tree.size() as f64 / first.tree.len as f64;
        let is_free = |first: &First| {
            let encoding = first.tree.encoding;
            encoding == AlpRd.info().id || encoding == POOL.plain.info().id
        };
        Ok(is_free(other) && per_value(own) <= per_value(other) * 1.01)
    }

    /// The chunk: the tree of the first block, and trees like it for the others. `None` where that of the
    /// first has tokens, or has none, against what is asked for.
    fn trees(
        mut self,
        hint: Option<&Hint<'_>>,
        with_tokens: Option<bool>,
    ) -> Result<Option<ChosenChunk<'a>>> {
        let mut nodes = vec![None; self.inputs.len()];
        self.first_tree(hint)?;
        let Some(First { block, tree }) = self.first.take().flatten() else {
            let nothing = Sharing::Skipped("there are no values");
            return self.chosen(nodes, None, (None, nothing)).map(Some);
        };
        if with_tokens.is_some_and(|with| with != onpair::has_tokens(&tree)) {
            return Ok(None);
        }
        let values = self.inputs.get(block).and_then(BlockInput::values);
        let values = values.ok_or_else(none_chosen)?;
        let example = Example::of_values(&tree, values, &POOL);
        if let Some(first) = nodes.get_mut(block) {
            *first = Some(tree);
        }
        let shared = self.complete(&mut nodes, &example)?;
        let to_remember = Some(example.without_shared());
        self.chosen(nodes, to_remember, shared).map(Some)
    }

    /// Makes the trees of the blocks that have none, with an example, and what becomes of a dictionary that they
    /// could share: where that is clearly smaller, most trees are not made.
    fn complete(&self, nodes: &mut [Option<Node>], example: &Example) -> Result<Shared> {
        let (inputs, chooser) = (&*self.inputs, self.options.chooser());
        let dictionary = SharedDictionary::of(inputs, self.codes.as_ref(), self.options)?;
        let mut dictionary = match dictionary {
            Ok(dictionary) => dictionary,
            Err(reason) => {
                add_trees(nodes, |_| true, example, inputs, chooser, self.tree())?;
                return Ok((None, Sharing::Skipped(reason)));
            }
        };
        if dictionary.may_be_shared(nodes) {
            let judged = dictionary.judged()?;
            let is_judged = |i| judged.contains(&i);
            add_trees(nodes, is_judged, example, inputs, chooser, self.tree())?;
            if let Some(shared) = dictionary.share_clearly(nodes)? {
                self.find_distinct()?;
                return Ok(shared);
            }
        }
        add_trees(nodes, |_| true, example, inputs, chooser, self.tree())?;
        dictionary.share(nodes)
    }

    /// Finds what the distinct values tell of the blocks whose trees did not, by their codes.
    fn find_distinct(&self) -> Result<()> {
        let places = self.of_distinct.iter().zip(&self.inputs).enumerate();
        let unknown = places.filter(|(_, (place, _))| place.get().is_none());
        let found = map_parallel(unknown, |(i, (place, input))| {
            if let Some(codes) = &self.codes
                && let Some(values) = input.values()
            {
                let _ = place.set(codes.of_distinct(i, values, input.nulls())?);
            }
            Ok(())
        });
        found.map(drop)
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

    /// The chunk of these trees and the dictionary that they share; tokens that they have in common are moved to
    /// a shared part.
    fn chosen(
        self,
        mut nodes: Vec<Option<Node>>,
        example: Option<Example>,
        (dictionary, sharing): Shared,
    ) -> Result<ChosenChunk<'a>> {
        let options = self.options;
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
            judged: blocks.len().saturating_sub(1) / 2,
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
    let mut nodes = vec![None; inputs.len()];
    if let Some((block, values)) = first_with_values(inputs) {
        let first = tree(block, values, chooser)?;
        let example = Example::of_values(&first, values, &POOL);
        if let Some(node) = nodes.get_mut(block) {
            *node = Some(first);
        }
        add_trees(&mut nodes, |_| true, &example, inputs, chooser, tree)?;
    }
    Ok(nodes)
}

fn first_with_values<'i>(inputs: &'i [BlockInput<'_>]) -> Option<(usize, Values<'i>)> {
    let mut blocks = inputs.iter().enumerate();
    blocks.find_map(|(block, input)| Some((block, input.values()?)))
}

/// Makes the trees of wanted blocks that have values and no tree yet, with the hint of another.
fn add_trees(
    nodes: &mut [Option<Node>],
    is_wanted: impl Fn(usize) -> bool,
    example: &Example,
    inputs: &[BlockInput<'_>],
    chooser: Chooser<'_>,
    tree: impl Fn(usize, Values<'_>, Chooser<'_>) -> Result<Node> + Sync,
) -> Result<()> {
    let blocks = nodes.iter_mut().zip(inputs).enumerate();
    let wanted = blocks.filter(|(i, (node, _))| node.is_none() && is_wanted(*i));
    let made = map_parallel(wanted, |(i, (node, input))| {
        let hint = Hint::new(example);
        let tree = |values| tree(i, values, chooser.with_hint(Some(&hint)));
        *node = input.values().map(tree).transpose()?;
        Ok(())
    });
    made.map(drop)
}
