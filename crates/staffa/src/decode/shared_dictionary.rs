//! Shared dictionaries: values, or tokens, that the blocks of a column chunk have in common, as a
//! shared part of the chunk.
//!
//! ```text
//! shared part = values: varint | decoded bytes: varint | node
//! ```
//!
//! Its header is checked when the dictionary is opened; its values are [`LazyValues`],
//! which all blocks use.
//!
//! [`LazyValues`]: super::LazyValues

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use staffa_kernels::TokenRows;

use super::{Budget, Decodable, LazyStrings, LazyWords, OpenContext, Opener};
use crate::error::{Error, Result};
use crate::format::shared_dictionary::parse;
use crate::format::{NodeRef, TreeSize};
use crate::values::{PhysicalType, for_words};

/// A shared dictionary of a column chunk, decoded once for all blocks.
pub struct SharedDictionary {
    ty: PhysicalType,
    len: usize,
    bytes: u64,
    /// [`LazyWords`] of the type, or [`LazyStrings`].
    values: Box<dyn Any + Send + Sync>,
    /// The strings as tokens, on first use; `None` where a string is too long or too short to be one.
    tokens: OnceLock<Option<TokenRows>>,
}

impl fmt::Debug for SharedDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDictionary")
            .field("ty", &self.ty)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl SharedDictionary {
    /// Parses a shared part of at most `max_len` values, whose checksum was verified.
    pub fn open(body: Bytes, max_len: usize, opener: &Opener) -> Result<Self> {
        let (node, string_bytes) = parse(&body, max_len, &opener.limits)?;
        let (ty, len) = (node.ty, node.len);
        // As Arrow has the values, but for the ends of strings.
        let plain = (len * ty.width_bytes().unwrap_or(1)) as u64 + string_bytes;
        if plain > opener.limits.block_bytes {
            let most = opener.limits.block_bytes;
            return Err(Error::limit(format!(
                "a shared part of at most {most} bytes is allowed, found {plain}"
            )));
        }
        let mut held = body.len() as u64 + plain;
        if ty == PhysicalType::Bytes {
            held += 4 * len as u64;
            if u16::try_from(len).is_ok() {
                held += TokenRows::bytes_of(len) as u64;
            }
        }
        let tree = SharedTree {
            body,
            opener: *opener,
            len,
            string_bytes,
            plain,
        };
        let values: Box<dyn Any + Send + Sync> = for_words!(ty,
            T => Box::new(LazyWords::<'static, T>::shared(tree)),
            other => match other {
                PhysicalType::Bytes => Box::new(LazyStrings::<'static>::shared(tree)),
                _ => return Err(Error::corrupt("a dictionary holds no bits")),
            }
        );
        Ok(Self {
            ty,
            len,
            bytes: held,
            values,
            tokens: OnceLock::new(),
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it holds once all is decoded.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The words; an error where they have another type.
    pub fn words<T: Decodable>(&self) -> Result<&LazyWords<'static, T>> {
        self.values(T::TYPE)
    }

    /// The byte strings; an error where the values are words.
    pub fn strings(&self) -> Result<&LazyStrings<'static>> {
        self.values(PhysicalType::Bytes)
    }

    fn values<V: 'static>(&self, expected: PhysicalType) -> Result<&V> {
        self.values.downcast_ref().ok_or_else(|| {
            Error::corrupt(format!(
                "a shared part of {expected:?} expected, found {:?}",
                self.ty
            ))
        })
    }

    /// Decodes all values, to check that they can be.
    pub fn check(&self) -> Result<()> {
        for_words!(self.ty, T => self.words::<T>()?.all().map(drop), _ => self.strings()?.all().map(drop))
    }

    /// The byte strings as tokens; `None` where one has no byte or more than 16.
    pub fn tokens(&self) -> Result<Option<&TokenRows>> {
        let strings = self.strings()?.all()?;
        Ok(self.tokens.get_or_init(|| TokenRows::of(strings)).as_ref())
    }
}

/// The tree of a shared dictionary, parsed.
pub(super) struct SharedTree {
    /// The bytes of the shared part.
    body: Bytes,
    opener: Opener,
    /// Number of values.
    pub len: usize,
    /// Bytes of all strings.
    pub string_bytes: u64,
    /// Bytes of all values.
    plain: u64,
}

impl SharedTree {
    /// Opens the tree for one use: decoders borrow from its bytes.
    pub fn open<R>(
        &self,
        read: impl for<'a> FnOnce(&NodeRef<'a>, &mut OpenContext<'a>) -> Result<R>,
    ) -> Result<R> {
        let run = || {
            let (node, _) = parse(&self.body, self.len, &self.opener.limits)?;
            let plain = TreeSize::plain(Some(node.ty), self.len, self.string_bytes);
            let trees = TreeSize::default().with(&node, self.string_bytes);
            trees.check(plain)?;
            let mut budget = Budget::for_block(plain);
            budget.take(self.plain, "values")?;
            read(&node, &mut self.opener.context(budget, &[], Vec::new()))
        };
        run().map_err(|e| e.within("shared part"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Appended, Scratch};
    use super::*;
    use crate::encode::Chooser;
    use crate::encodings::{POOL, opener};
    use crate::format::shared_dictionary::write;
    use crate::limits::Limits;
    use crate::testing::arrays::Random;
    use crate::values::{Kind, StringsBuf, Values};

    const LEN: usize = 5000;

    fn opened(values: Values<'_>, string_bytes: usize) -> Result<SharedDictionary> {
        let node = Chooser::new(&POOL).child(values, Kind::Unsigned)?;
        SharedDictionary::open(
            write(&node, string_bytes).into(),
            LEN,
            &opener(Limits::default()),
        )
    }

    #[test]
    fn few_words_are_those_of_all() {
        let mut random = Random(7);
        let words: Vec<u32> = (0..LEN).map(|_| random.below(1 << 20) as u32).collect();
        let dictionary = opened(Values::U32(&words), 0).unwrap();
        let values = dictionary.words::<u32>().unwrap();
        let mut cx = Scratch::default();
        for (count, all) in [(3, false), (3, true), (300, true)] {
            let codes: Vec<u32> = (0..count).map(|_| random.below(LEN) as u32).collect();
            let mut out = vec![0; count];
            assert!(values.take(&codes, &mut cx, &mut out).unwrap());
            assert!(
                out.iter()
                    .zip(&codes)
                    .all(|(word, code)| *word == words[*code as usize])
            );
            assert_eq!(values.is_decoded(), all);
        }
        assert!(!values.take(&[LEN as u32], &mut cx, &mut [0]).unwrap());
        assert_eq!(values.all().unwrap(), words);
        assert!(dictionary.words::<u64>().is_err() && dictionary.strings().is_err());
    }

    #[test]
    fn few_strings_are_those_of_all() {
        let mut random = Random(9);
        let name = |i: usize| format!("{}:{i}", "name".repeat(i % 5)).into_bytes();
        let names: Vec<Vec<u8>> = (0..LEN).map(name).collect();
        let strings: StringsBuf = names.iter().map(Vec::as_slice).collect();
        let strings = strings.as_strings();
        let dictionary = opened(Values::Bytes(strings), strings.contents().len()).unwrap();
        let values = dictionary.strings().unwrap();
        let mut cx = Scratch::default();
        for (count, all) in [(3, false), (3, true), (300, true)] {
            let codes: Vec<u32> = (0..count).map(|_| random.below(LEN) as u32).collect();
            let mut out = Appended::default();
            out.allow(strings.contents().len());
            values.take(&codes, &mut cx, &mut out).unwrap();
            let expected: StringsBuf = codes
                .iter()
                .map(|code| strings.get(*code as usize))
                .collect();
            assert_eq!(out.lengths, expected.as_strings().lengths());
            assert_eq!(
                out.into_data().unwrap().as_slice(),
                expected.as_strings().contents()
            );
            assert_eq!(values.is_decoded(), all);
        }
        let mut none = Appended::default();
        assert!(values.take(&[LEN as u32], &mut cx, &mut none).is_err());
        // Some are too long to be tokens.
        assert!(dictionary.tokens().unwrap().is_none());
        assert!(dictionary.bytes() > strings.contents().len() as u64);
        for wrong in [strings.contents().len() - 1, strings.contents().len() + 1] {
            assert!(
                opened(Values::Bytes(strings), wrong)
                    .unwrap()
                    .check()
                    .is_err()
            );
        }
    }

    #[test]
    fn dictionaries_beyond_the_limits_are_refused() {
        let words = vec![7u32; 70_000];
        let node = Chooser::new(&POOL)
            .child(Values::U32(&words), Kind::Unsigned)
            .unwrap();
        let bytes = Bytes::from(write(&node, 0));
        assert!(SharedDictionary::open(bytes.clone(), 70_000, &opener(Limits::default())).is_ok());
        // More than the chunk and than a full block has.
        assert!(SharedDictionary::open(bytes.clone(), 99, &opener(Limits::default())).is_err());
        let small = Limits {
            block_bytes: 4 * 70_000 - 1,
            ..Limits::default()
        };
        assert!(SharedDictionary::open(bytes.clone(), 70_000, &opener(small)).is_err());
        assert!(SharedDictionary::open(Bytes::new(), 100, &opener(Limits::default())).is_err());
    }
}
