//! The pool: all encodings, by id and by name.

use std::fmt;

use super::Encoding;
use crate::decode::{AnyDecoder, OpenContext, Registry, StreamOf};
use crate::error::{Error, Result};
use crate::format::{BitSet, NodeRef};
use crate::values::{Kind, PhysicalType};

/// Encodings, in the order of trial among equals.
pub struct Pool {
    /// All of them.
    pub all: &'static [&'static dyn Encoding],
    /// The encoding of equal values.
    pub constant: &'static dyn Encoding,
    /// The encoding that has each distinct value once.
    pub dictionary: &'static dyn Encoding,
    /// The encoding that holds all words and byte strings.
    pub plain: &'static dyn Encoding,
    /// The encoding that holds all bits.
    pub plain_bits: &'static dyn Encoding,
}

impl Pool {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Encoding> + use<> {
        self.all.iter().copied()
    }

    /// An encoding by its byte on disk.
    pub fn by_id(&self, id: u8) -> Option<&'static dyn Encoding> {
        self.iter().find(|encoding| encoding.info().id == id)
    }

    /// An encoding by its name.
    pub fn by_name(&self, name: &str) -> Result<&'static dyn Encoding> {
        self.iter()
            .find(|encoding| encoding.info().name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = self.iter().map(|e| e.info().name).collect();
                Error::invalid(format!(
                    "no encoding is called {name:?}; there are {}",
                    known.join(", ")
                ))
            })
    }

    /// Names of the encodings that accept a type.
    pub(crate) fn accepting(&self, ty: PhysicalType, kind: Kind) -> Vec<&'static str> {
        self.iter()
            .filter(|e| e.accepts(ty, kind))
            .map(|e| e.info().name)
            .collect()
    }

    /// The set of these encodings, for the user to exclude.
    pub(crate) fn excluded(&self, names: &[String]) -> Result<BitSet> {
        names.iter().try_fold(BitSet::default(), |mut all, name| {
            let encoding = self.by_name(name)?;
            if [self.plain.info().id, self.plain_bits.info().id].contains(&encoding.info().id) {
                return Err(Error::invalid(format!(
                    "{name} cannot be left out: it holds what nothing else does"
                )));
            }
            all.insert(encoding.info().id);
            Ok(all)
        })
    }
}

impl Registry for Pool {
    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let encoding = self.by_id(node.encoding).ok_or_else(|| {
            Error::unsupported(format!(
                "encoding {} is not known to this release",
                node.encoding
            ))
        })?;
        encoding
            .open(node, cx)
            .map_err(|e| e.within(encoding.info().name))
    }

    fn first_child(&self, encoding: u8) -> Option<StreamOf> {
        self.by_id(encoding)?.info().first_child
    }

    fn is_derived(&self, encoding: u8) -> bool {
        let encoding = self.by_id(encoding);
        encoding.is_some_and(|encoding| encoding.info().needs_reference)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|e| e.info().name))
            .finish()
    }
}
