//! What opening a node needs beside the node: memory within a budget, shared dictionaries, reference
//! columns.

use std::fmt;

use staffa_kernels::{BytesDict, PoolVec};

use super::{
    AnyDecoder, BitsDecoder, BytesDecoder, Decodable, Decoder, ReferenceBlock, SharedDictionary,
    StreamOf, decode_all, decode_all_strings,
};
use crate::error::{Error, Result};
use crate::format::{NodeRef, TreeSize};
use crate::limits::Limits;

/// The memory that decoders of one block may hold beside their output.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    beside: u64,
}

impl Budget {
    /// For a block of `plain` decoded bytes, those of its reference columns among them: twice what the
    /// trees of a block may decode to. FORMAT.md, section 11.
    pub fn for_block(plain: u64) -> Self {
        Self::new(TreeSize::max_bytes(plain).saturating_mul(2))
    }

    /// For `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self {
            left: bytes,
            beside: 0,
        }
    }

    /// Bytes left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Bytes beside the budget.
    pub fn beside(&self) -> u64 {
        self.beside
    }

    /// Counts bytes that a decoder works with beside values: tables and places, which the number of
    /// nodes and the bytes of a payload bound.
    pub fn count_beside(&mut self, bytes: u64) {
        self.beside = self.beside.saturating_add(bytes);
    }

    /// Takes `bytes` out of the budget, before they are allocated.
    pub fn take(&mut self, bytes: u64, what: &str) -> Result<()> {
        self.covers(bytes, what)?;
        self.left -= bytes;
        Ok(())
    }

    /// An error where fewer than `bytes` are left; takes none of them.
    pub fn covers(&self, bytes: u64, what: &str) -> Result<()> {
        let left = self.left;
        if bytes > left {
            return Err(Error::limit(format!(
                "{what}: {bytes} bytes needed, {left} left of what the block declares"
            )));
        }
        Ok(())
    }
}

/// What an encoding opens a node with.
pub struct OpenContext<'a> {
    /// Opens child nodes.
    pub registry: &'static dyn Registry,
    /// Memory for what is decoded when a node is opened.
    pub budget: Budget,
    /// The chunk's shared dictionaries.
    pub shared: &'a [SharedDictionary],
    /// The blocks of the same rows of the reference columns.
    pub references: Vec<ReferenceBlock<'a>>,
    /// See [`Opener::thorough`].
    pub thorough: bool,
}

impl<'a> OpenContext<'a> {
    /// Opens a stream of reference column `i` within the budget of the block.
    pub fn with_reference<R>(
        &mut self,
        i: usize,
        open: impl FnOnce(&ReferenceBlock<'a>, &mut Budget) -> Result<R>,
    ) -> Result<R> {
        let count = self.references.len();
        let missing = || {
            Error::corrupt(format!(
                "a reference column below {count} expected, found {i}"
            ))
        };
        open(
            self.references.get(i).ok_or_else(missing)?,
            &mut self.budget,
        )
    }

    /// A shared dictionary of the chunk.
    pub fn shared_dictionary(&self, i: usize) -> Result<&'a SharedDictionary> {
        let missing = || {
            Error::corrupt(format!(
                "shared part {i} is not there, the chunk has {}",
                self.shared.len()
            ))
        };
        self.shared.get(i).ok_or_else(missing)
    }

    /// A decoder of `T` for a node.
    pub fn open_words<T: Decodable>(
        &mut self,
        node: &NodeRef<'a>,
    ) -> Result<Box<dyn Decoder<T> + 'a>> {
        let found = node.ty;
        T::unwrap(self.open(node)?).ok_or_else(|| {
            Error::corrupt(format!("values of {:?} expected, found {found:?}", T::TYPE))
        })
    }

    /// A decoder of byte strings for a node.
    pub fn open_bytes(&mut self, node: &NodeRef<'a>) -> Result<Box<dyn BytesDecoder + 'a>> {
        match self.open(node)? {
            AnyDecoder::Bytes(decoder) => Ok(decoder),
            _ => Err(Error::corrupt(format!(
                "byte strings expected, found {:?}",
                node.ty
            ))),
        }
    }

    /// A decoder of bits for a node.
    pub fn open_bits(&mut self, node: &NodeRef<'a>) -> Result<Box<dyn BitsDecoder + 'a>> {
        match self.open(node)? {
            AnyDecoder::Bits(decoder) => Ok(decoder),
            _ => Err(Error::corrupt(format!(
                "bits expected, found {:?}",
                node.ty
            ))),
        }
    }

    /// A decoder for a node.
    pub fn open(&mut self, node: &NodeRef<'a>) -> Result<AnyDecoder<'a>> {
        self.registry.open(node, self)
    }

    /// All words of a node; takes their memory out of the budget.
    pub fn all_words<T: Decodable>(
        &mut self,
        node: &NodeRef<'a>,
        what: &str,
    ) -> Result<PoolVec<T>> {
        self.budget.take((node.len * T::BYTES) as u64, what)?;
        let decoder = self.open_words::<T>(node)?;
        decode_all(decoder.as_ref())
    }

    /// All strings of a node; takes their memory out of the budget.
    pub fn all_strings(&mut self, node: &NodeRef<'a>, what: &str) -> Result<BytesDict> {
        let decoder = self.open_bytes(node)?;
        decode_all_strings(decoder.as_ref(), &mut self.budget, what)
    }
}

/// Opens nodes by the id of their encoding.
pub trait Registry: fmt::Debug + Sync {
    /// A decoder for a node, whose structure is checked.
    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>>;

    /// The stream that the first child of an encoding is, for columns derived from this one.
    fn first_child(&self, encoding: u8) -> Option<StreamOf>;

    /// Whether an encoding derives values from other columns.
    fn is_derived(&self, encoding: u8) -> bool;
}

/// What all blocks of a file are opened with.
#[derive(Debug, Clone, Copy)]
pub struct Opener {
    /// The encodings.
    pub registry: &'static dyn Registry,
    /// What the reader accepts.
    pub limits: Limits,
    /// Whether what decoding all values does not read is checked as well: what finds single rows.
    pub thorough: bool,
}

impl Opener {
    /// The same, which checks [all](Self::thorough).
    pub fn thorough(self) -> Self {
        let thorough = true;
        Self { thorough, ..self }
    }

    /// The context of one block, or of one shared dictionary.
    pub fn context<'a>(
        &self,
        budget: Budget,
        shared: &'a [SharedDictionary],
        references: Vec<ReferenceBlock<'a>>,
    ) -> OpenContext<'a> {
        let (registry, thorough) = (self.registry, self.thorough);
        OpenContext {
            registry,
            budget,
            shared,
            references,
            thorough,
        }
    }
}
