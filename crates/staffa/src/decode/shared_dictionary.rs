//! Shared parts of a column chunk: a dictionary, or tokens, that its blocks have in common.
//!
//! ```text
//! shared part = values: varint | decoded bytes: varint | node | CRC-32C of all before: u32
//! ```
//!
//! Checksum and header are checked when the part is opened. Its values are decoded when more than a
//! few of them are wanted, or some for the second time, and then once for all blocks.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use staffa_kernels::{BytesDict, PoolVec, TokenRows, gather};

use super::{
    Appended, Budget, Decodable, Lazy, OpenContext, Opener, Scratch, few_strings, few_words,
    is_few_strings, is_few_words, strings_of,
};
use crate::error::{Error, Result};
use crate::format::shared_dictionary::parse_body;
use crate::format::{NodeRef, checked};
use crate::values::{PhysicalType, for_words};

/// A shared part of a column chunk, decoded once and used by its blocks.
pub struct SharedDictionary {
    /// Without its checksum, which was found right.
    body: Bytes,
    opener: Opener,
    ty: PhysicalType,
    len: usize,
    /// Of all strings.
    string_bytes: u64,
    /// A vector of the type's words.
    words: Lazy<Box<dyn Any + Send + Sync>>,
    strings: Lazy<BytesDict>,
    /// The strings as tokens, where these are asked for and none is too long.
    tokens: OnceLock<Option<TokenRows>>,
    /// Held while the values are decoded, so that no two threads do it.
    making: Mutex<()>,
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
    /// Checks and parses a part; `most`: see [`parse`].
    pub fn open(bytes: &Bytes, most: usize, opener: &Opener) -> Result<Self> {
        let body = bytes.slice(..checked(bytes, "a shared part")?.len());
        let (node, string_bytes) = parse_body(&body, most, &opener.limits)?;
        let (ty, len) = (node.ty, node.len);
        let plain = plain_bytes(ty, len, string_bytes);
        if plain > opener.limits.block_bytes {
            let most = opener.limits.block_bytes;
            return Err(Error::limit(format!(
                "a shared part of at most {most} bytes is allowed, found {plain}"
            )));
        }
        if ty == PhysicalType::Bits {
            return Err(Error::corrupt("a dictionary holds no bits"));
        }
        Ok(Self {
            body,
            opener: *opener,
            ty,
            len,
            string_bytes,
            words: Lazy::default(),
            strings: Lazy::default(),
            tokens: OnceLock::new(),
            making: Mutex::new(()),
        })
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// That its values are of a type.
    pub fn expect(&self, ty: PhysicalType) -> Result<()> {
        match self.ty {
            found if found == ty => Ok(()),
            PhysicalType::Bytes => Err(Error::corrupt(format!("the shared part holds no {ty:?}"))),
            found => Err(Error::corrupt(format!(
                "a shared part of {ty:?} expected, found {found:?}"
            ))),
        }
    }

    /// Bytes that it holds, or may come to hold.
    pub fn bytes(&self) -> u64 {
        let tokens = self.ty == PhysicalType::Bytes && u16::try_from(self.len).is_ok();
        let tokens = if tokens {
            TokenRows::bytes_of(self.len)
        } else {
            0
        };
        let ends = if self.ty == PhysicalType::Bytes {
            4 * self.len
        } else {
            0
        };
        self.body.len() as u64
            + plain_bytes(self.ty, self.len, self.string_bytes)
            + (ends + tokens) as u64
    }

    /// All words; `T` is their type.
    pub fn words<T: Decodable>(&self) -> Result<&[T]> {
        self.expect(T::TYPE)?;
        let words = self.once(&self.words, |node, cx| {
            Ok(Box::new(cx.all_words::<T>(node, "values")?) as Box<_>)
        })?;
        words
            .downcast_ref::<PoolVec<T>>()
            .map(|words| &**words)
            .ok_or_else(|| Error::corrupt("words of another type"))
    }

    /// All byte strings.
    pub fn strings(&self) -> Result<&BytesDict> {
        self.expect(PhysicalType::Bytes)?;
        self.once(&self.strings, |node, cx| {
            let values = cx.all_strings(node, "values")?;
            let found = values.contents().len() as u64;
            if found != self.string_bytes {
                return Err(Error::corrupt(format!(
                    "strings of {} bytes expected, found {found}",
                    self.string_bytes
                )));
            }
            Ok(values)
        })
    }

    /// That all values can be decoded.
    pub fn check(&self) -> Result<()> {
        for_words!(self.ty, T => self.words::<T>().map(drop), _ => self.strings().map(drop))
    }

    /// The byte strings as tokens, where none is longer than 16 bytes.
    pub fn tokens(&self) -> Result<Option<&TokenRows>> {
        let strings = self.strings()?;
        Ok(self.tokens.get_or_init(|| TokenRows::of(strings)).as_ref())
    }

    /// The word of each code; `false` where one is beyond them.
    pub fn take_words<T: Decodable>(
        &self,
        codes: &[u32],
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<bool> {
        if self.words.spared(is_few_words(codes, self.len)) {
            return self.opened(|node, open| {
                few_words(open.open_words::<T>(node)?.as_ref(), codes, cx, out)
            });
        }
        Ok(gather(self.words::<T>()?, codes, out))
    }

    /// Appends the string of each code.
    pub fn take_strings(&self, codes: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if self.strings.spared(is_few_strings(codes, self.len)) {
            let bytes = self.string_bytes as usize;
            return self.opened(|node, open| {
                few_strings(open.open_bytes(node)?.as_ref(), bytes, codes, cx, out)
            });
        }
        strings_of(self.strings()?, codes, out)
    }

    /// All values, decoded by one thread.
    fn once<'s, T>(
        &'s self,
        values: &'s Lazy<T>,
        make: impl for<'a> FnOnce(&NodeRef<'a>, &mut OpenContext<'a>) -> Result<T>,
    ) -> Result<&'s T> {
        let _one = values
            .get()
            .is_none()
            .then(|| self.making.lock().unwrap_or_else(PoisonError::into_inner));
        values.all(|| self.opened(make))
    }

    /// Does something with the tree.
    fn opened<R>(
        &self,
        f: impl for<'a> FnOnce(&NodeRef<'a>, &mut OpenContext<'a>) -> Result<R>,
    ) -> Result<R> {
        let run = || {
            let (node, _) = parse_body(&self.body, self.len, &self.opener.limits)?;
            let plain = plain_bytes(self.ty, self.len, self.string_bytes);
            let budget = Budget::for_block(plain, self.len);
            f(&node, &mut self.opener.context(budget, &[], Vec::new()))
        };
        run().map_err(|e| e.within("shared part"))
    }
}

/// What the values take as Arrow has them, but for the ends of strings.
fn plain_bytes(ty: PhysicalType, len: usize, string_bytes: u64) -> u64 {
    (len * ty.width_bytes().unwrap_or(1)) as u64 + string_bytes
}

#[cfg(test)]
mod tests {
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
            &write(&node, string_bytes).into(),
            LEN,
            &opener(Limits::default()),
        )
    }

    #[test]
    fn few_words_are_those_of_all() {
        let mut random = Random(7);
        let words: Vec<u32> = (0..LEN).map(|_| random.below(1 << 20) as u32).collect();
        let part = opened(Values::U32(&words), 0).unwrap();
        for (count, all) in [(3, false), (3, true), (300, true)] {
            let codes: Vec<u32> = (0..count).map(|_| random.below(LEN) as u32).collect();
            let mut out = vec![0; count];
            assert!(
                part.take_words(&codes, &mut Scratch::default(), &mut out)
                    .unwrap()
            );
            assert!(
                out.iter()
                    .zip(&codes)
                    .all(|(word, code)| *word == words[*code as usize])
            );
            assert_eq!(part.words.get().is_some(), all);
        }
        assert!(
            !part
                .take_words(&[LEN as u32], &mut Scratch::default(), &mut [0u32])
                .unwrap()
        );
        assert_eq!(part.words::<u32>().unwrap(), words);
        assert!(
            part.words::<u64>().is_err()
                && part.strings().is_err()
                && part.expect(PhysicalType::U32).is_ok()
        );
    }

    #[test]
    fn few_strings_are_those_of_all() {
        let mut random = Random(9);
        let name = |i: usize| format!("{}:{i}", "name".repeat(i % 5)).into_bytes();
        let names: Vec<Vec<u8>> = (0..LEN).map(name).collect();
        let strings: StringsBuf = names.iter().map(Vec::as_slice).collect();
        let strings = strings.as_strings();
        let part = opened(Values::Bytes(strings), strings.contents().len()).unwrap();
        for (count, all) in [(3, false), (3, true), (300, true)] {
            let codes: Vec<u32> = (0..count).map(|_| random.below(LEN) as u32).collect();
            let mut out = Appended::default();
            out.allow(strings.contents().len());
            part.take_strings(&codes, &mut Scratch::default(), &mut out)
                .unwrap();
            let expected: StringsBuf = codes
                .iter()
                .map(|code| strings.get(*code as usize))
                .collect();
            assert_eq!(out.lengths, expected.as_strings().lengths());
            assert_eq!(
                out.into_data().unwrap().as_slice(),
                expected.as_strings().contents()
            );
            assert_eq!(part.strings.get().is_some(), all);
        }
        assert!(
            part.take_strings(
                &[LEN as u32],
                &mut Scratch::default(),
                &mut Appended::default()
            )
            .is_err()
        );
        // Some are too long to be tokens.
        assert!(part.tokens().unwrap().is_none() && part.bytes() > strings.contents().len() as u64);
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
    fn parts_that_lie_are_refused() {
        let words = vec![7u32; 100];
        let node = Chooser::new(&POOL)
            .child(Values::U32(&words), Kind::Unsigned)
            .unwrap();
        let bytes = Bytes::from(write(&node, 0));
        assert!(SharedDictionary::open(&bytes, 100, &opener(Limits::default())).is_ok());
        assert!(SharedDictionary::open(&bytes, 99, &opener(Limits::default())).is_err());
        let small = Limits {
            block_bytes: 399,
            ..Limits::default()
        };
        assert!(SharedDictionary::open(&bytes, 100, &opener(small)).is_err());
        for i in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[i] ^= 1;
            assert!(
                SharedDictionary::open(&changed.into(), 100, &opener(Limits::default())).is_err()
            );
        }
        assert!(SharedDictionary::open(&Bytes::new(), 100, &opener(Limits::default())).is_err());
    }
}
