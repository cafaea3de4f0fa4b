//! A column chunk in the making: one leaf of one row group becomes shared parts and blocks.
//!
//! ```text
//! LeafArray -> per block: validity, values without NULLs -> codes over all blocks -> choose -> blocks
//!                                                        -> a dictionary shared by the blocks, where that is smaller
//!                                                        -> in terms of another column, where that is (see `relate`)
//! ```

use rayon::prelude::*;
use staffa_kernels::VECTOR;

use crate::decode::{AnyDecoder, Block, Budget, Scratch, SharedDictionary, decode_all_strings};
use crate::encode::{Access, Chooser, Coded, Hint, Profile, Stats, distinct};
use crate::encodings::{POOL, dictionary, onpair, opener};
use crate::error::{Error, Result};
use crate::format::block::{self, Parts};
use crate::format::{Node, ZoneMap, shared_dictionary};
use crate::limits::Limits;
use crate::values::{
    Bitmap, Kind, LeafArray, LeafValues, OwnedValues, Physical, PhysicalType, Strings, Values,
    for_words, vector_len,
};

/// A NULL in so many values, and values are stored for the valid ones alone. Strings always are.
const DENSE_SHARE: usize = 16;

/// How a chunk is to be encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkOptions<'a> {
    pub profile: Profile,
    pub access: Access,
    /// Whether floats are rounded.
    pub rounded: bool,
    pub requested: Option<&'a str>,
    /// Encodings that are not to be chosen, one bit per id.
    pub without: u64,
    pub block_rows: usize,
    pub verify: bool,
    pub kind: Kind,
}

impl<'a> ChunkOptions<'a> {
    /// At the root of a tree that is chosen.
    pub fn chooser(&self) -> Chooser<'a> {
        let root = Chooser::root(&POOL, self.profile, self.requested).without(self.without);
        root.expecting(self.access).of_rounded(self.rounded)
    }
}

/// A chunk whose encodings are chosen.
pub(crate) struct Chosen<'a> {
    pub options: ChunkOptions<'a>,
    pub ty: Option<PhysicalType>,
    pub inputs: Vec<Input<'a>>,
    /// The tree of every block that has values.
    pub nodes: Vec<Option<Node>>,
    /// The tree of every block's validity that has NULLs.
    pub validity: Vec<Option<Node>>,
    pub shared: Vec<Vec<u8>>,
    /// Why there is a shared dictionary, or none.
    pub sharing: Sharing,
    pub len: usize,
    /// Whether it is the same as the chunk that tells it, and so is not written again.
    pub same: bool,
}

/// What was found out about a dictionary shared by the blocks of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sharing {
    /// Nothing was tried, and why.
    Skipped(&'static str),
    /// Bytes of the blocks' own trees, and of the dictionary with the smaller of these and its
    /// codes; that is encoded, or an estimate which was no less.
    Tried {
        distinct: usize,
        own: usize,
        shared: usize,
        encoded: bool,
    },
}

/// The chunk in terms of which another one is.
#[derive(Clone, Copy)]
pub(crate) struct Reference<'a> {
    pub leaf: usize,
    pub ty: Option<PhysicalType>,
    pub chunk: &'a EncodedChunk,
}

/// A chunk, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedChunk {
    /// The leaves in terms of which this one is.
    pub sources: Vec<usize>,
    pub values: usize,
    pub shared: Vec<Vec<u8>>,
    pub blocks: Vec<EncodedBlock>,
}

/// A block, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedBlock {
    pub bytes: Vec<u8>,
    pub string_bytes: usize,
    pub zone: ZoneMap,
}

/// What is known of a block before it is encoded.
pub(crate) struct Input<'a> {
    pub len: usize,
    pub validity: Option<Bitmap>,
    pub compacted: bool,
    values: Present<'a>,
}

impl Input<'_> {
    /// What there is to encode, if anything is.
    pub fn values(&self) -> Option<Values<'_>> {
        self.values.values()
    }

    fn string_bytes(&self, ty: Option<PhysicalType>) -> Option<usize> {
        match self.values() {
            Some(Values::Bytes(strings)) => Some(strings.contents().len()),
            _ => (ty == Some(PhysicalType::Bytes)).then_some(0),
        }
    }
}

/// The values that a block stores.
enum Present<'a> {
    None,
    Borrowed(Values<'a>),
    Owned(OwnedValues),
}

impl Present<'_> {
    fn values(&self) -> Option<Values<'_>> {
        match self {
            Self::None => None,
            Self::Borrowed(values) => Some(*values),
            Self::Owned(picked) => Some(picked.borrow()),
        }
    }
}

/// Chooses the encodings of one leaf of one row group.
pub(crate) fn choose<'a>(array: &'a LeafArray, options: ChunkOptions<'a>) -> Result<Chosen<'a>> {
    let len = array.values.len();
    let inputs = inputs(array, options.block_rows)?;
    let codes = chunk_codes(&inputs, options);
    let chooser = options.chooser();
    let mut nodes = like_the_first(&inputs, chooser, |i, input, chooser| {
        tree(
            input,
            codes.as_ref().and_then(|c| c.blocks.get(i)),
            chooser,
            options.kind,
        )
    })?;
    let (shared, sharing) = match &codes {
        _ if options.requested.is_some() => (None, Sharing::Skipped("an encoding was asked for")),
        _ if !chooser.offers(&dictionary::Dictionary) => {
            (None, Sharing::Skipped("dictionaries are left out"))
        }
        _ if inputs.len() < 2 => (None, Sharing::Skipped("there is one block")),
        Some(codes) => share(&inputs, codes, &mut nodes, options)?,
        None => (None, Sharing::Skipped("most values are distinct")),
    };
    let mut shared: Vec<Vec<u8>> = shared.into_iter().collect();
    if let Some(tokens) = onpair::share(&mut nodes, shared.len() as u8) {
        let strings = tokens.as_strings();
        let plain = chooser.plainly(
            Values::Bytes(strings),
            &Stats::new(Values::Bytes(strings), options.kind),
        )?;
        shared.push(shared_dictionary::write(&plain, strings.contents().len()));
    }
    let validity = inputs.par_iter().map(|input| {
        input
            .validity
            .as_ref()
            .map(|valid| validity(valid, options.without))
            .transpose()
    });
    let validity = validity.collect::<Result<Vec<_>>>()?;
    Ok(Chosen {
        options,
        ty: array.values.physical_type(),
        inputs,
        nodes,
        validity,
        shared,
        sharing,
        len,
        same: false,
    })
}

impl Chosen<'_> {
    /// Block `i` as it will be written.
    pub fn sealed<'n>(&'n self, i: usize) -> Vec<u8> {
        let Some(input) = self.inputs.get(i) else {
            return Vec::new();
        };
        let string_bytes = input.string_bytes(self.ty);
        let node = |nodes: &'n [Option<Node>]| nodes.get(i).and_then(Option::as_ref);
        let (validity, values) = (node(&self.validity), node(&self.nodes));
        block::write(&Parts {
            len: input.len,
            validity,
            values,
            compacted: input.compacted,
            string_bytes,
        })
    }

    /// The chunk, its blocks decoded and compared if so wished; `references` are those in terms of
    /// which it is.
    pub fn finish(&self, references: &[Reference<'_>]) -> Result<EncodedChunk> {
        let opened = if self.options.verify {
            let open = |part: &Vec<u8>| {
                SharedDictionary::open(&part.clone().into(), self.len, &opener(Limits::default()))
            };
            self.shared.iter().map(open).collect::<Result<Vec<_>>>()?
        } else {
            Vec::new()
        };
        let sources = references.iter().map(|reference| reference.leaf).collect();
        if let Some(reference) = references.first().filter(|_| self.same) {
            let same = |(i, input): (usize, &Input<'_>)| match reference.chunk.blocks.get(i) {
                Some(block) if self.options.verify => {
                    self.verify(&block.bytes, i, input, &opened, &[])
                }
                block => Ok(block.is_some()),
            };
            let same = self
                .inputs
                .par_iter()
                .enumerate()
                .map(same)
                .collect::<Result<Vec<_>>>()?;
            if !same.into_iter().all(|same| same) {
                let what = "a column that seemed equal to another is not, nothing was committed; please report this";
                return Err(Error::corrupt(what));
            }
            return Ok(EncodedChunk {
                sources,
                values: self.len,
                shared: Vec::new(),
                blocks: Vec::new(),
            });
        }
        let finish = |(i, input)| self.finish_block(i, input, &opened, references);
        let blocks = self
            .inputs
            .par_iter()
            .enumerate()
            .map(finish)
            .collect::<Result<Vec<_>>>()?;
        Ok(EncodedChunk {
            sources,
            values: self.len,
            shared: self.shared.clone(),
            blocks,
        })
    }

    fn finish_block(
        &self,
        i: usize,
        input: &Input<'_>,
        shared: &[SharedDictionary],
        references: &[Reference<'_>],
    ) -> Result<EncodedBlock> {
        let bytes = self.sealed(i);
        if self.options.verify {
            let same = self
                .verify(&bytes, i, input, shared, references)
                .map_err(|e| {
                    e.within("a block just written does not decode, please report this")
                })?;
            if !same {
                let what = "a block just written decodes to other values, nothing was committed; please report this";
                return Err(Error::corrupt(what));
            }
        }
        let nulls = input
            .validity
            .as_ref()
            .map_or(0, |v| v.len() - v.count_ones());
        let zone = ZoneMap::of(
            input.values().unwrap_or(Values::U8(&[])),
            self.options.kind,
            nulls as u64,
        );
        Ok(EncodedBlock {
            bytes,
            string_bytes: input.string_bytes(self.ty).unwrap_or(0),
            zone,
        })
    }

    /// Whether a block decodes to what it was made of.
    fn verify(
        &self,
        bytes: &[u8],
        i: usize,
        input: &Input<'_>,
        shared: &[SharedDictionary],
        references: &[Reference<'_>],
    ) -> Result<bool> {
        let opener = opener(Limits::default());
        let parsed = block::parse(bytes, input.len, self.ty, &opener.limits)?;
        let others = references
            .iter()
            .filter_map(|reference| Some((reference.chunk.blocks.get(i)?, reference.ty)));
        let others =
            others.map(|(block, ty)| block::parse(&block.bytes, input.len, ty, &opener.limits));
        let others = others.collect::<Result<Vec<_>>>()?;
        let block = Block::open(&parsed, shared, &others, &opener)?;
        if block.validity != input.validity {
            return Ok(false);
        }
        let (Some(decoder), Some(values)) = (&block.values, input.values()) else {
            return Ok(block.values.is_none() && input.values().is_none());
        };
        same(decoder, values, block.string_bytes)
    }
}

/// A tree for every block: for the first that has values by choice, for the others by its example
/// where that holds.
fn like_the_first(
    inputs: &[Input<'_>],
    chooser: Chooser<'_>,
    tree: impl Fn(usize, &Input<'_>, Chooser<'_>) -> Result<Option<Node>> + Sync,
) -> Result<Vec<Option<Node>>> {
    let Some(first) = inputs
        .iter()
        .position(|input| input.values.values().is_some())
    else {
        return Ok(inputs.iter().map(|_| None).collect());
    };
    let (before, rest) = inputs.split_at(first + 1);
    let Some(example) = before
        .last()
        .map(|input| tree(first, input, chooser))
        .transpose()?
        .flatten()
    else {
        return Ok(inputs.iter().map(|_| None).collect());
    };
    let rest = rest.par_iter().enumerate().map(|(i, input)| {
        let hint = Hint::new(&example);
        tree(first + 1 + i, input, chooser.like(Some(&hint)))
    });
    let rest = rest.collect::<Result<Vec<_>>>()?;
    Ok(std::iter::repeat_with(|| None)
        .take(first)
        .chain([Some(example)])
        .chain(rest)
        .collect())
}

/// What the blocks of a leaf are made of.
pub(crate) fn inputs(array: &LeafArray, block_rows: usize) -> Result<Vec<Input<'_>>> {
    let len = array.values.len();
    let starts: Vec<usize> = (0..len).step_by(block_rows).collect();
    starts
        .par_iter()
        .map(|&start| input(array, start, block_rows.min(len - start)))
        .collect()
}

/// The part of a leaf that belongs to one block.
pub(crate) fn input(array: &LeafArray, start: usize, len: usize) -> Result<Input<'_>> {
    let validity = array.validity.as_ref().map(|v| v.slice(start, len));
    let valid = validity.as_ref().map_or(len, Bitmap::count_ones);
    let validity = validity.filter(|_| valid < len);
    if valid == 0 || matches!(array.values, LeafValues::Empty(_)) {
        // A leaf of validity alone has no values to be dense.
        let compacted = !matches!(array.values, LeafValues::Empty(_));
        return Ok(Input {
            len,
            validity,
            compacted,
            values: Present::None,
        });
    }
    let bits = match &array.values {
        LeafValues::Bits(all) => Some(all.slice(start, len)),
        _ => None,
    };
    let all = match &bits {
        Some(bits) => Values::Bits(bits),
        None => borrow(array, start, len)?,
    };
    let Some(validity) = validity else {
        let values = match bits {
            Some(bits) => Present::Owned(OwnedValues::Bits(bits)),
            None => Present::Borrowed(borrow(array, start, len)?),
        };
        return Ok(Input {
            len,
            validity: None,
            compacted: false,
            values,
        });
    };
    let compacted = matches!(all, Values::Bytes(_)) || (len - valid) * DENSE_SHARE >= len;
    let rows: Vec<u32> = if compacted {
        validity.positions()
    } else {
        // A NULL takes the value before it, which costs the least in most encodings.
        let mut before = validity.ones().next().unwrap_or(0);
        let fill = |row: u32| {
            if validity.get(row as usize) {
                before = row;
            }
            before
        };
        (0..len as u32).map(fill).collect()
    };
    let values = Present::Owned(OwnedValues::take(all, &rows)?);
    Ok(Input {
        len,
        validity: Some(validity),
        compacted,
        values,
    })
}

/// Strings or words of a block, where they lie.
fn borrow(array: &LeafArray, start: usize, len: usize) -> Result<Values<'_>> {
    let missing = || Error::internal("a block past the end of its column");
    match &array.values {
        LeafValues::Bytes { offsets, data } => {
            let offsets = offsets.get(start..=start + len).ok_or_else(missing)?;
            Ok(Values::Bytes(Strings::new(offsets, data)?))
        }
        LeafValues::Words(ty, _) => for_words!(ty, T => {
            let words = array.values.words::<T>().get(start..start + len);
            Ok(T::values(words.ok_or_else(missing)?))
        }, _ => Err(Error::internal("words of no width"))),
        LeafValues::Empty(_) | LeafValues::Bits(_) => Err(Error::internal("bits as words")),
    }
}

/// Codes over all blocks of a chunk.
struct ChunkCodes {
    blocks: Vec<Coded>,
    distinct: usize,
}

fn chunk_codes(inputs: &[Input<'_>], options: ChunkOptions<'_>) -> Option<ChunkCodes> {
    if options.requested.is_some() {
        return None;
    }
    let present: Vec<Values<'_>> = inputs.iter().filter_map(|i| i.values.values()).collect();
    let mut blocks = distinct::of_blocks(&present, u32::MAX as usize, 0.75)?.into_iter();
    // Blocks of NULLs alone have no values and no codes.
    let codes = |input: &Input<'_>| {
        input
            .values
            .values()
            .and_then(|_| blocks.next())
            .unwrap_or_default()
    };
    let blocks: Vec<Coded> = inputs.iter().map(codes).collect();
    let distinct = blocks.iter().map(|b| b.firsts.len()).sum();
    Some(ChunkCodes { blocks, distinct })
}

/// The tree of one block.
fn tree(
    input: &Input<'_>,
    codes: Option<&Coded>,
    chooser: Chooser<'_>,
    kind: Kind,
) -> Result<Option<Node>> {
    let Some(values) = input.values.values() else {
        return Ok(None);
    };
    let stats = match codes {
        Some(codes) => {
            let most = codes.codes.iter().max().map_or(0, |max| *max as usize + 1);
            // Those of the first block are its own.
            let own = most == codes.firsts.len();
            let local = if own {
                codes.clone()
            } else {
                Coded::localised(&codes.codes, most)
            };
            Stats::with_codes(values, kind, local)
        }
        None => Stats::new(values, kind),
    };
    chooser.choose(values, &stats).map(Some)
}

/// A dictionary for the whole chunk, and for each block the smaller of its own tree and codes of
/// that dictionary; `None` where all that would not be smaller.
fn share(
    inputs: &[Input<'_>],
    codes: &ChunkCodes,
    nodes: &mut [Option<Node>],
    options: ChunkOptions<'_>,
) -> Result<(Option<Vec<u8>>, Sharing)> {
    let before: usize = nodes.iter().flatten().map(Node::size).sum();
    if codes.distinct < 2 || before < 256 {
        return Ok((None, Sharing::Skipped("there is next to nothing to save")));
    }
    let mut distinct: Option<OwnedValues> = None;
    for (input, coded) in inputs.iter().zip(&codes.blocks) {
        let Some(values) = input.values.values() else {
            continue;
        };
        let firsts = OwnedValues::take(values, &coded.firsts)?;
        match &mut distinct {
            Some(all) => all.append(firsts)?,
            none => *none = Some(firsts),
        }
    }
    let Some(distinct) = distinct else {
        return Ok((None, Sharing::Skipped("there are no values")));
    };
    let tried = |shared, encoded| Sharing::Tried {
        distinct: codes.distinct,
        own: before,
        shared,
        encoded,
    };
    let chooser = options.chooser().below(&dictionary::Dictionary);
    let mut estimate = chooser.estimate_child(distinct.borrow(), options.kind)?;
    for (coded, node) in codes.blocks.iter().zip(nodes.iter()) {
        if let Some(node) = node {
            let own = node.size();
            estimate += own.min(chooser.estimate_child(Values::U32(&coded.codes), Kind::Unsigned)?);
        }
    }
    if estimate >= before {
        return Ok((None, tried(estimate, false)));
    }
    let tree = chooser.child(distinct.borrow(), options.kind)?;
    let string_bytes = if let Values::Bytes(strings) = distinct.borrow() {
        strings.contents().len()
    } else {
        0
    };
    let part = shared_dictionary::write(&tree, string_bytes);
    let coded = like_the_first(inputs, chooser, |i, input, chooser| {
        let codes = codes
            .blocks
            .get(i)
            .map(|block| block.codes.as_slice())
            .unwrap_or_default();
        input
            .values
            .values()
            .map(|values| dictionary::shared_node(values, codes, 0, &chooser))
            .transpose()
    })?;
    let size = |node: &Option<Node>| node.as_ref().map_or(usize::MAX, Node::size);
    let after: usize = nodes
        .iter()
        .zip(&coded)
        .filter(|(own, _)| own.is_some())
        .map(|(own, shared)| size(own).min(size(shared)))
        .sum();
    // Codes hide numbers from the columns that are in terms of them.
    let number = matches!(options.kind, Kind::Signed | Kind::Unsigned)
        && !matches!(distinct.borrow(), Values::Bytes(_));
    let hurdle = if number { before / 24 } else { 0 };
    let sharing = tried(after + part.len(), true);
    if after + part.len() + hurdle >= before {
        return Ok((None, sharing));
    }
    for (own, shared) in nodes.iter_mut().zip(coded) {
        if size(&shared) < size(own) {
            *own = shared;
        }
    }
    Ok((Some(part), sharing))
}

/// Whether a decoder gives these values.
fn same(decoder: &AnyDecoder<'_>, values: Values<'_>, string_bytes: usize) -> Result<bool> {
    let mut cx = Scratch::default();
    macro_rules! words {
        ($decoder:expr, $words:expr) => {{
            let mut buffer = vec![Default::default(); VECTOR];
            for (v, expected) in $words.chunks(VECTOR).enumerate() {
                let out = buffer
                    .get_mut(..vector_len($words.len(), v))
                    .unwrap_or_default();
                $decoder.vector(v, &mut cx, out)?;
                if out != expected {
                    return Ok(false);
                }
            }
            Ok($decoder.len() == $words.len())
        }};
    }
    match (decoder, values) {
        (AnyDecoder::Bits(decoder), Values::Bits(bits)) => Ok(&decoder.bits()? == bits),
        (AnyDecoder::U8(decoder), Values::U8(words)) => words!(decoder, words),
        (AnyDecoder::U16(decoder), Values::U16(words)) => words!(decoder, words),
        (AnyDecoder::U32(decoder), Values::U32(words)) => words!(decoder, words),
        (AnyDecoder::U64(decoder), Values::U64(words)) => words!(decoder, words),
        (AnyDecoder::U128(decoder), Values::U128(words)) => words!(decoder, words),
        (AnyDecoder::U256(decoder), Values::U256(words)) => words!(decoder, words),
        (AnyDecoder::Bytes(decoder), Values::Bytes(strings)) => {
            let mut budget = Budget::new(8 * decoder.len() as u64 + string_bytes as u64);
            let all = decode_all_strings(decoder.as_ref(), &mut budget, "strings")?;
            let lengths = all.ranges().map(|range| range.len() as u32);
            Ok(all.contents() == strings.contents() && lengths.eq(strings.lengths()))
        }
        _ => Ok(false),
    }
}

/// The tree of a validity.
pub(crate) fn validity(valid: &Bitmap, without: u64) -> Result<Node> {
    Chooser::new(&POOL)
        .without(without)
        .child(Values::Bits(valid), Kind::Unsigned)
}
