//! Lazy values: what rows refer to (entries of a dictionary, values of runs, exceptions), decoded on
//! demand.
//!
//! The first read of a few values takes these by themselves: a point read decodes none of the
//! others. A read of more values, or a second read, decodes all of them: a block that is kept is
//! likely to be read again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use staffa_kernels::{BytesDict, PoolVec, gather};

use super::shared_dictionary::SharedTree;
use super::{
    Appended, BytesDecoder, Decodable, Decoder, OpenContext, Scratch, StringTest, StringVector,
    decode_all, decode_strings, no_code, strings_bytes,
};
use crate::error::{Error, Result};
use crate::format::NodeRef;
use crate::values::Bitmap;

/// Reads of a few values that take these by themselves; the next read decodes all.
const POINT_READS: usize = 1;

/// Words are few up to one in this many: a word takes 0.3 ns when all are decoded, 50 ns singly.
const WORDS_PER_POINT: usize = 256;

/// Strings are few up to one in this many: a string read singly decodes a vector of them.
const STRINGS_PER_POINT: usize = 512;

/// Returns the cell's value, computing it on first use.
pub(crate) fn get_or_try_init<T>(
    cell: &OnceLock<T>,
    init: impl FnOnce() -> Result<T>,
) -> Result<&T> {
    if cell.get().is_none() {
        // Another thread may have set the cell since, to an equal value.
        let _ = cell.set(init()?);
    }
    cell.get()
        .ok_or_else(|| Error::internal("a cell is empty after it was set"))
}

/// All of some values, once they are decoded.
pub(crate) struct Lazy<A> {
    all: OnceLock<A>,
    /// Reads of a few values so far.
    point_reads: AtomicUsize,
    /// Held while all values are decoded: one thread decodes them, others wait.
    decoding: Mutex<()>,
}

impl<A> Default for Lazy<A> {
    fn default() -> Self {
        Self {
            all: OnceLock::new(),
            point_reads: AtomicUsize::new(0),
            decoding: Mutex::new(()),
        }
    }
}

impl<A> Lazy<A> {
    /// All values, if they are decoded.
    pub fn get(&self) -> Option<&A> {
        self.all.get()
    }

    /// All values, decoded on first use.
    pub fn all(&self, decode: impl FnOnce() -> Result<A>) -> Result<&A> {
        let _decoding = self
            .all
            .get()
            .is_none()
            .then(|| self.decoding.lock().unwrap_or_else(PoisonError::into_inner));
        get_or_try_init(&self.all, decode)
    }

    /// Whether a read takes its values by themselves: they are few, and it is the first such read
    /// ([`POINT_READS`]) before all are decoded. Counts the read.
    pub fn take_few(&self, are_few: bool) -> bool {
        are_few
            && self.all.get().is_none()
            && self.point_reads.fetch_add(1, Ordering::Relaxed) < POINT_READS
    }
}

/// Lazy values and the decoder `D` that they come from.
pub struct LazyValues<D: ?Sized, A> {
    origin: Origin<D>,
    len: usize,
    /// Bytes of all strings; 0 of words.
    string_bytes: usize,
    /// What the values are, for errors.
    what: &'static str,
    all: Lazy<A>,
}

/// Where lazy values come from.
enum Origin<D: ?Sized> {
    /// A child of a block's node, open.
    Child(Box<D>),
    /// A shared dictionary, whose tree is opened for each read: its decoder would borrow from it.
    Shared(SharedTree),
    /// Nowhere else: they are decoded.
    Decoded,
}

/// Lazy words.
pub type LazyWords<'a, T> = LazyValues<dyn Decoder<T> + 'a, PoolVec<T>>;

/// Lazy byte strings.
pub type LazyStrings<'a> = LazyValues<dyn BytesDecoder + 'a, BytesDict>;

impl<D: ?Sized, A> LazyValues<D, A> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether all values are decoded.
    #[cfg(test)]
    pub fn is_decoded(&self) -> bool {
        self.all.get().is_some()
    }

    /// Values of a shared dictionary.
    pub(super) fn shared(tree: SharedTree) -> Self {
        Self {
            len: tree.len,
            string_bytes: tree.string_bytes as usize,
            what: "values",
            origin: Origin::Shared(tree),
            all: Lazy::default(),
        }
    }

    fn known(len: usize, all: A) -> Self {
        Self {
            origin: Origin::Decoded,
            len,
            string_bytes: 0,
            what: "values",
            all: Lazy {
                all: OnceLock::from(all),
                ..Lazy::default()
            },
        }
    }
}

fn no_origin() -> Error {
    Error::internal("decoded values are decoded again")
}

impl<'a, T: Decodable> LazyWords<'a, T> {
    /// Opens a node and takes the memory of all its words out of the budget.
    pub fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, what: &'static str) -> Result<Self> {
        cx.budget.take((node.len * T::BYTES) as u64, what)?;
        Ok(Self::of(cx.open_words::<T>(node)?, what))
    }

    /// The words of a decoder.
    pub fn of(decoder: Box<dyn Decoder<T> + 'a>, what: &'static str) -> Self {
        Self {
            len: decoder.len(),
            string_bytes: 0,
            what,
            origin: Origin::Child(decoder),
            all: Lazy::default(),
        }
    }

    /// Words that are decoded.
    pub fn decoded(words: PoolVec<T>) -> Self {
        Self::known(words.len(), words)
    }

    fn read<R>(&self, read: impl FnOnce(&dyn Decoder<T>) -> Result<R>) -> Result<R> {
        match &self.origin {
            Origin::Child(decoder) => read(decoder.as_ref()),
            Origin::Shared(tree) => tree.open(|node, cx| read(cx.open_words::<T>(node)?.as_ref())),
            Origin::Decoded => Err(no_origin()),
        }
    }

    /// All words.
    pub fn all(&self) -> Result<&[T]> {
        self.all.all(|| self.read(decode_all)).map(|all| &**all)
    }

    /// The word of each code; `false` where a code is not below [`len`](Self::len).
    pub fn take(&self, codes: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<bool> {
        if self.all.take_few(codes.len() * WORDS_PER_POINT <= self.len) {
            return self.read(|decoder| take_unsorted(decoder, codes, cx, out));
        }
        Ok(gather(self.all()?, codes, out))
    }
}

impl<'a> LazyStrings<'a> {
    /// Opens a node and takes the memory of all its strings out of the budget.
    pub fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, what: &'static str) -> Result<Self> {
        let decoder = cx.open_bytes(node)?;
        Ok(Self {
            len: decoder.len(),
            string_bytes: strings_bytes(decoder.as_ref(), &mut cx.budget, what)?,
            what,
            origin: Origin::Child(decoder),
            all: Lazy::default(),
        })
    }

    fn read<R>(&self, read: impl FnOnce(&dyn BytesDecoder) -> Result<R>) -> Result<R> {
        match &self.origin {
            Origin::Child(decoder) => read(decoder.as_ref()),
            Origin::Shared(tree) => tree.open(|node, cx| read(cx.open_bytes(node)?.as_ref())),
            Origin::Decoded => Err(no_origin()),
        }
    }

    /// Strings that are decoded.
    pub fn decoded(strings: BytesDict) -> Self {
        Self::known(strings.len(), strings)
    }

    /// All strings.
    pub fn all(&self) -> Result<&BytesDict> {
        self.all
            .all(|| self.read(|decoder| decode_strings(decoder, self.string_bytes, self.what)))
    }

    /// Appends the string of each code.
    pub fn take(&self, codes: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if self
            .all
            .take_few(codes.len() * STRINGS_PER_POINT <= self.len)
        {
            let max_bytes = self.string_bytes;
            return self.read(|decoder| {
                read_unsorted_strings(decoder, max_bytes, codes, cx, |string| out.push(string))
            });
        }
        out.push_entries(self.all()?, codes)
    }

    /// Which strings pass. Those of a shared dictionary are decoded, since every block filters them.
    pub fn filter(&self, test: &StringTest<'_>, cx: &mut Scratch) -> Result<Bitmap> {
        if let (Origin::Child(decoder), None) = (&self.origin, self.all.get()) {
            return decoder.filter(test, self.string_bytes, cx);
        }
        let all = self.all()?;
        let strings = (0..all.len()).map(|i| all.get(i));
        Ok(strings.map(|s| s.is_some_and(test.passes)).collect())
    }
}

/// Words at `rows` in any order, each distinct row read once; `false` where a row is past the end.
pub(crate) fn take_unsorted<T: Decodable>(
    decoder: &dyn Decoder<T>,
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<bool> {
    let Some(distinct) = distinct(rows, decoder.len()) else {
        return Ok(false);
    };
    let mut values = vec![T::default(); distinct.len()];
    decoder.take(&distinct, cx, &mut values)?;
    Ok(gather(&values, &ranks(rows, &distinct)?, out))
}

/// Hands out the strings at `rows` in any order, each distinct row read once; all strings of the
/// decoder have `max_bytes` bytes.
pub(crate) fn read_unsorted_strings(
    decoder: &dyn BytesDecoder,
    max_bytes: usize,
    rows: &[u32],
    cx: &mut Scratch,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let len = decoder.len();
    let distinct = distinct(rows, len).ok_or_else(|| no_code(rows, len))?;
    let mut found = Appended::default();
    found.allow(max_bytes);
    decoder.take(&distinct, cx, &mut found)?;
    let (lengths, data) = found.into_parts()?;
    let strings = StringVector {
        lengths: &lengths,
        bytes: data.as_slice(),
    };
    let strings: Vec<_> = strings.iter().collect::<Result<_>>()?;
    for rank in ranks(rows, &distinct)? {
        let string = strings.get(rank as usize);
        each(string.ok_or_else(|| no_code(rows, len))?)?;
    }
    Ok(())
}

/// Rows in order, each once; `None` where one is not below `len`.
fn distinct(rows: &[u32], len: usize) -> Option<Vec<u32>> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows.dedup();
    rows.last()
        .is_none_or(|last| (*last as usize) < len)
        .then_some(rows)
}

/// The place of each row among the distinct ones.
fn ranks(rows: &[u32], distinct: &[u32]) -> Result<Vec<u32>> {
    let rank = |row: &u32| distinct.binary_search(row).map(|rank| rank as u32);
    rows.iter()
        .map(rank)
        .collect::<Result<_, _>>()
        .map_err(|_| Error::internal("a row is not among the distinct rows"))
}
