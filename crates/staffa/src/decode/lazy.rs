//! Values that rows refer to, decoded when more than a few of them are wanted, or some for the
//! second time: to read one row takes none of the others, and a block that is kept is likely to be
//! asked again.
//!
//! What they take decoded is known, and asked for, when they are opened.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use staffa_kernels::{BytesDict, PoolVec, gather};

use super::{
    Appended, BytesDecoder, Decodable, Decoder, OpenContext, Scratch, StringTest, decode_all,
    decode_strings, no_code, strings_bytes,
};
use crate::error::{Error, Result};
use crate::format::NodeRef;
use crate::values::Bitmap;

/// All words are decoded unless fewer than one of so many are wanted: with its neighbours one takes
/// some 0.3 ns, by itself 50.
const WORDS: usize = 256;

/// Likewise strings: more than two of a vector are most vectors, and each is decoded for one of
/// them.
const STRINGS: usize = 512;

/// What a cell holds, made where it holds nothing.
pub(crate) fn get_or_try_init<T>(
    cell: &OnceLock<T>,
    make: impl FnOnce() -> Result<T>,
) -> Result<&T> {
    if cell.get().is_none() {
        // Another thread may have been quicker: both made the same.
        let _ = cell.set(make()?);
    }
    cell.get().ok_or_else(|| Error::corrupt("no values"))
}

/// All of some values, once they are decoded, and whether a few were read without that.
pub(crate) struct Lazy<T> {
    all: OnceLock<T>,
    asked: AtomicBool,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self {
            all: OnceLock::new(),
            asked: AtomicBool::new(false),
        }
    }
}

impl<T> Lazy<T> {
    /// All of them, where they are decoded.
    pub fn get(&self) -> Option<&T> {
        self.all.get()
    }

    /// All of them, decoded now or before.
    pub fn all(&self, decode: impl FnOnce() -> Result<T>) -> Result<&T> {
        get_or_try_init(&self.all, decode)
    }

    /// Whether some are to be read by themselves: `few` of them, the first that are asked for.
    pub fn spared(&self, few: bool) -> bool {
        few && self.all.get().is_none() && !self.asked.swap(true, Ordering::Relaxed)
    }
}

/// Words.
pub struct LazyWords<'a, T> {
    decoder: Box<dyn Decoder<T> + 'a>,
    all: Lazy<PoolVec<T>>,
}

impl<'a, T: Decodable> LazyWords<'a, T> {
    /// Those of a node.
    pub fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, what: &str) -> Result<Self> {
        cx.budget.take((node.len * T::BYTES) as u64, what)?;
        Ok(Self {
            decoder: cx.open_words::<T>(node)?,
            all: Lazy::default(),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.decoder.len()
    }

    /// All of them.
    pub fn all(&self) -> Result<&[T]> {
        self.all
            .all(|| decode_all(self.decoder.as_ref()))
            .map(|all| &**all)
    }

    /// The value of each code; `false` where one is beyond them.
    pub fn take(&self, codes: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<bool> {
        if self.all.spared(is_few_words(codes, self.decoder.len())) {
            return few_words(self.decoder.as_ref(), codes, cx, out);
        }
        Ok(gather(self.all()?, codes, out))
    }
}

/// Byte strings.
pub struct LazyStrings<'a> {
    decoder: Box<dyn BytesDecoder + 'a>,
    /// Bytes of all strings.
    bytes: usize,
    all: Lazy<BytesDict>,
    what: &'static str,
}

impl<'a> LazyStrings<'a> {
    /// Those of a node.
    pub fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, what: &'static str) -> Result<Self> {
        let decoder = cx.open_bytes(node)?;
        let bytes = strings_bytes(decoder.as_ref(), &mut cx.budget, what)?;
        Ok(Self {
            decoder,
            bytes,
            all: Lazy::default(),
            what,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.decoder.len()
    }

    /// All of them.
    pub fn all(&self) -> Result<&BytesDict> {
        self.all
            .all(|| decode_strings(self.decoder.as_ref(), self.bytes, self.what))
    }

    /// Appends the string of each code.
    pub fn take(&self, codes: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if self.all.spared(is_few_strings(codes, self.len())) {
            return few_strings(self.decoder.as_ref(), self.bytes, codes, cx, out);
        }
        strings_of(self.all()?, codes, out)
    }

    /// Which of them pass.
    pub fn filter(&self, test: &StringTest<'_>, cx: &mut Scratch) -> Result<Bitmap> {
        match self.all.get() {
            Some(all) => Ok((0..all.len())
                .map(|i| all.get(i).is_some_and(test.passes))
                .collect()),
            None => self.decoder.filter(test, self.bytes, cx),
        }
    }
}

/// Whether words of these codes are few among all.
pub(crate) fn is_few_words(codes: &[u32], len: usize) -> bool {
    codes.len() * WORDS <= len
}

/// Likewise strings.
pub(crate) fn is_few_strings(codes: &[u32], len: usize) -> bool {
    codes.len() * STRINGS <= len
}

/// The word of each code, each read once; `false` where one is beyond them.
pub(crate) fn few_words<T: Decodable>(
    decoder: &dyn Decoder<T>,
    codes: &[u32],
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<bool> {
    let Some(rows) = distinct(codes, decoder.len()) else {
        return Ok(false);
    };
    let mut values = vec![T::default(); rows.len()];
    decoder.take(&rows, cx, &mut values)?;
    for (code, place) in codes.iter().zip(out) {
        *place = rows
            .binary_search(code)
            .ok()
            .and_then(|i| values.get(i))
            .copied()
            .unwrap_or_default();
    }
    Ok(true)
}

/// Appends the string of each code.
pub(crate) fn strings_of(all: &BytesDict, codes: &[u32], out: &mut Appended) -> Result<()> {
    let bytes = all
        .gathered_bytes(codes)
        .ok_or_else(|| no_code(codes, all.len()))?;
    out.push_all(codes.len(), bytes as usize, |lengths, out| {
        all.gather(codes, lengths, out)
    })
}

/// Appends the string of each code, each read once; all of them take `bytes`.
pub(crate) fn few_strings(
    decoder: &dyn BytesDecoder,
    bytes: usize,
    codes: &[u32],
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    let no_code = || no_code(codes, decoder.len());
    let rows = distinct(codes, decoder.len()).ok_or_else(no_code)?;
    let mut found = Appended::default();
    found.allow(bytes);
    decoder.take(&rows, cx, &mut found)?;
    let (lengths, data) = found.into_parts()?;
    let mut end = 0;
    let spans: Vec<_> = lengths
        .iter()
        .map(|length| {
            let start = end;
            end += *length as usize;
            start..end
        })
        .collect();
    for code in codes {
        let span = rows
            .binary_search(code)
            .ok()
            .and_then(|i| spans.get(i))
            .cloned();
        out.push(span.and_then(|span| data.get(span)).ok_or_else(no_code)?)?;
    }
    Ok(())
}

/// Codes in order, each once; `None` where one is not below `len`.
fn distinct(codes: &[u32], len: usize) -> Option<Vec<u32>> {
    let mut rows = codes.to_vec();
    rows.sort_unstable();
    rows.dedup();
    rows.last()
        .is_none_or(|last| (*last as usize) < len)
        .then_some(rows)
}
