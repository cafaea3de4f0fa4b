//! A column chunk in the making: one leaf of one row group becomes blocks and what they share.
//!
//! ```text
//! choose   LeafArray -> inputs of the blocks -> codes over all blocks -> trees of some blocks
//!                    -> a dictionary shared by all, where that is clearly smaller; else the other trees, and a
//!                       dictionary where that is smaller
//! derive   (see `correlate`) trees from reference columns, where that is smaller
//! finish   trees -> blocks -> decoded and compared -> EncodedChunk
//! ```

use super::block_input::BlockInput;
use super::block_rows::BlockRows;
use super::shared_dictionary::Sharing;
use super::summary::{BlockSummary, OfDistinct};
use super::verify::Verifier;
use crate::decode::SharedDictionary;
use crate::encode::{Chooser, Encoding as _, Example, Profile, Rules, Stats};
use crate::encodings::onpair::OnPair;
use crate::encodings::{POOL, opener};
use crate::error::{Error, Result};
use crate::format::block::{self, Parsed, Parts};
use crate::format::{BitSet, Node, ZoneMap, checksum};
use crate::limits::map_parallel;
use crate::limits::{Cancel, Limits};
use crate::values::{Bitmap, Kind, PhysicalType, Values};

/// How a chunk is to be encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkOptions<'a> {
    pub rules: Rules,
    pub requested_encoding: Option<&'a str>,
    pub blocks: BlockRows,
    pub verify: bool,
    pub kind: Kind,
    pub cancel: &'a Cancel,
}

impl<'a> ChunkOptions<'a> {
    /// At the root of a block's tree.
    pub fn chooser(&self) -> Chooser<'a> {
        Chooser::with_rules(self.rules, self.requested_encoding).with_cancel(self.cancel)
    }

    /// Whether the root of a tree may have tokens.
    pub fn may_have_tokens(&self) -> bool {
        match self.requested_encoding {
            Some(name) => name == OnPair.info().name,
            None => self.chooser().offers(&OnPair),
        }
    }
}

/// A chunk whose encodings are chosen.
pub(crate) struct ChosenChunk<'a> {
    pub options: ChunkOptions<'a>,
    pub ty: Option<PhysicalType>,
    pub blocks: Vec<ChosenBlock<'a>>,
    /// What the blocks share, ready to be written.
    pub shared: Vec<Vec<u8>>,
    pub sharing: Sharing,
    /// Rows, NULLs included.
    pub len: usize,
    /// The block by which it is compared with other columns.
    pub judged: usize,
    /// The leaves from which it is derived.
    pub references: Vec<usize>,
    /// Whether it is equal to its reference column, so that its blocks are not written.
    pub same: bool,
    /// The tree for later row groups to try first.
    pub example: Option<Example>,
}

/// A block whose encodings are chosen.
pub(crate) struct ChosenBlock<'a> {
    pub input: BlockInput<'a>,
    /// What its distinct values tell, where choosing found them.
    pub of_distinct: Option<OfDistinct>,
    pub trees: Trees,
}

/// The trees of a block: of its values, where it has some, and of its validity, where some are
/// NULL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trees {
    pub values: Option<Node>,
    pub validity: Option<Node>,
}

impl Trees {
    /// Bytes of both.
    pub fn size(&self) -> usize {
        [&self.values, &self.validity]
            .into_iter()
            .flatten()
            .map(Node::size)
            .sum()
    }
}

/// A reference column, encoded.
#[derive(Clone, Copy)]
pub(crate) struct Reference<'a> {
    pub ty: Option<PhysicalType>,
    pub chunk: &'a EncodedChunk,
}

/// A chunk, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedChunk {
    /// The leaves from which it is derived.
    pub references: Vec<usize>,
    /// Rows, NULLs included.
    pub values: usize,
    /// Values of every block but the last.
    pub block_rows: usize,
    pub shared: Vec<Vec<u8>>,
    pub blocks: Vec<EncodedBlock>,
}

/// A block, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedBlock {
    pub bytes: Vec<u8>,
    pub checksum: u32,
    pub string_bytes: usize,
    pub zone: ZoneMap,
    pub summary: BlockSummary,
}

/// The chooser of validities: by the rules of `balanced`, whatever the profile.
pub(super) fn validity_chooser(excluded: BitSet) -> Chooser<'static> {
    let rules = Rules::of(&POOL, Profile::Balanced);
    Chooser::with_rules(Rules { excluded, ..rules }, None)
}

/// The tree of a validity.
pub(crate) fn validity_tree(valid: &Bitmap, excluded: BitSet) -> Result<Node> {
    validity_chooser(excluded).child(Values::Bits(valid), Kind::Unsigned)
}

impl ChosenBlock<'_> {
    /// The block as it is written with these trees.
    pub fn bytes(&self, ty: Option<PhysicalType>, trees: &Trees) -> Vec<u8> {
        block::write(&Parts {
            len: self.input.len,
            validity: trees.validity.as_ref(),
            values: trees.values.as_ref(),
            compacted: self.input.compacted,
            string_bytes: self.input.string_bytes(ty),
        })
    }
}

impl ChosenChunk<'_> {
    /// Bytes of all trees and of what they share.
    pub fn size(&self) -> usize {
        let trees = self.blocks.iter().map(|block| block.trees.size());
        trees.chain(self.shared.iter().map(Vec::len)).sum()
    }

    /// The chunk ready to be written, its blocks decoded and compared if the options say so.
    pub fn finish(&self, references: &[Reference<'_>]) -> Result<EncodedChunk> {
        let verifier = || self.verifier(references);
        let verifier = self.options.verify.then(verifier).transpose()?;
        let verifier = verifier.as_ref();
        if self.same {
            self.check_same(references, verifier)?;
            return Ok(self.encoded(&self.references, Vec::new()));
        }
        match self.finish_blocks(references, verifier) {
            // A reader counts the trees of reference columns as well: without them it has less to count.
            Err(Error::Limit { .. }) if !references.is_empty() => {
                let alone = self
                    .options
                    .verify
                    .then(|| self.verifier(&[]))
                    .transpose()?;
                let blocks = self.blocks.iter().enumerate();
                let plain = |(i, block)| self.finish_plain(i, block, &[], alone.as_ref());
                Ok(self.encoded(&[], map_parallel(blocks, plain)?))
            }
            blocks => Ok(self.encoded(&self.references, blocks?)),
        }
    }

    /// The chunk of these blocks.
    fn encoded(&self, references: &[usize], blocks: Vec<EncodedBlock>) -> EncodedChunk {
        let shared = if self.same { &[][..] } else { &self.shared };
        EncodedChunk {
            references: references.to_vec(),
            values: self.len,
            block_rows: self.options.blocks.rows,
            shared: shared.to_vec(),
            blocks,
        }
    }

    fn finish_blocks(
        &self,
        references: &[Reference<'_>],
        verifier: Option<&Verifier<'_>>,
    ) -> Result<Vec<EncodedBlock>> {
        let finish = |(i, block): (usize, &ChosenBlock<'_>)| {
            self.options.cancel.check()?;
            let bytes = block.bytes(self.ty, &block.trees);
            match self.check_block(i, &bytes, &block.input, references, verifier) {
                // Trees that a reader refuses for their size give way to plain ones.
                Err(Error::Limit { .. }) => self.finish_plain(i, block, references, verifier),
                checked => checked.and_then(|()| self.encoded_block(bytes, block)),
            }
        };
        map_parallel(self.blocks.iter().enumerate(), finish)
    }

    /// A block of values as they are.
    fn finish_plain(
        &self,
        i: usize,
        block: &ChosenBlock<'_>,
        references: &[Reference<'_>],
        verifier: Option<&Verifier<'_>>,
    ) -> Result<EncodedBlock> {
        let bytes = block.bytes(self.ty, &self.plain_trees(&block.input)?);
        self.check_block(i, &bytes, &block.input, references, verifier)?;
        self.encoded_block(bytes, block)
    }

    fn verifier<'r>(&self, references: &'r [Reference<'r>]) -> Result<Verifier<'r>> {
        let opener = opener(Limits::default()).thorough();
        let open = |part: &Vec<u8>| SharedDictionary::open(part.clone().into(), self.len, &opener);
        Ok(Verifier {
            ty: self.ty,
            shared: self.shared.iter().map(open).collect::<Result<_>>()?,
            references: if self.same { &[] } else { references },
        })
    }

    /// The blocks of an equal column stand for this one's.
    fn check_same(
        &self,
        references: &[Reference<'_>],
        verifier: Option<&Verifier<'_>>,
    ) -> Result<()> {
        let reference = references.first().map(|reference| &reference.chunk.blocks);
        let reference = reference.filter(|blocks| blocks.len() == self.blocks.len());
        let reference = reference.ok_or_else(|| Error::internal("an equal column of no column"))?;
        let Some(verifier) = verifier else {
            return Ok(());
        };
        let blocks = self.blocks.iter().zip(reference).enumerate();
        let check = |(i, (own, block)): (usize, (&ChosenBlock<'_>, &EncodedBlock))| {
            if verifier.is_same(&block.bytes, i, &own.input)? {
                Ok(())
            } else {
                let what = "a column that seemed equal to another is not, nothing was committed; please report this";
                Err(Error::corrupt(what))
            }
        };
        map_parallel(blocks, check).map(drop)
    }

    /// Whether a reader accepts the trees of a block; with a verifier, that they decode to the input.
    fn check_block(
        &self,
        i: usize,
        bytes: &[u8],
        input: &BlockInput<'_>,
        references: &[Reference<'_>],
        verifier: Option<&Verifier<'_>>,
    ) -> Result<()> {
        let Some(verifier) = verifier else {
            let limits = Limits::default();
            let own = block::parse(bytes, input.len, self.ty, &limits)?;
            let references = parse_references(references, i, input.len, &limits)?;
            return Parsed::check_trees(&own, &references);
        };
        let same = verifier.is_same(bytes, i, input).map_err(|e| match e {
            limit @ Error::Limit { .. } => limit,
            other => other.within("a block just written does not decode, please report this"),
        })?;
        if !same {
            let what = "a block just written decodes to other values, nothing was committed; please report this";
            return Err(Error::corrupt(what));
        }
        Ok(())
    }

    /// Trees of values as they are.
    fn plain_trees(&self, input: &BlockInput<'_>) -> Result<Trees> {
        let chooser = self.options.chooser();
        let plainly = |values| chooser.plainly(values, &Stats::new(values, self.options.kind));
        let validity = input.validity.as_ref().map(Values::Bits);
        Ok(Trees {
            values: input.values().map(plainly).transpose()?,
            validity: validity.map(plainly).transpose()?,
        })
    }

    fn encoded_block(&self, bytes: Vec<u8>, block: &ChosenBlock<'_>) -> Result<EncodedBlock> {
        let input = &block.input;
        let values = input.values().unwrap_or(Values::U8(&[]));
        let of_all = || ZoneMap::of(values, self.options.kind, input.nulls() as u64);
        let (sketch, zone) = match block.of_distinct.clone() {
            Some(OfDistinct { sketch, zone }) => (Some(sketch), zone),
            None => (None, None),
        };
        let parsed = block::parse(&bytes, input.len, self.ty, &Limits::default())?;
        let mut encodings = BitSet::default();
        let trees = [&parsed.validity, &parsed.values].into_iter().flatten();
        trees.for_each(|tree| tree.add_encodings(&mut encodings));
        Ok(EncodedBlock {
            checksum: checksum(&bytes),
            string_bytes: input.string_bytes(self.ty).unwrap_or(0),
            zone: zone.unwrap_or_else(of_all),
            summary: BlockSummary::of(
                input.values(),
                sketch,
                self.options.kind,
                input.len,
                encodings,
            ),
            bytes,
        })
    }
}

/// Block `i` of each reference column, of `len` rows.
pub(super) fn parse_references<'r>(
    references: &[Reference<'r>],
    i: usize,
    len: usize,
    limits: &Limits,
) -> Result<Vec<Parsed<'r>>> {
    let parse = |reference: &Reference<'r>| {
        let block = reference.chunk.blocks.get(i);
        let block = block.ok_or_else(|| Error::internal("a reference without this block"))?;
        block::parse(&block.bytes, len, reference.ty, limits)
    };
    references.iter().map(parse).collect()
}
