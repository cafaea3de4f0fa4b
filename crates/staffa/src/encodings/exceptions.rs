//! Exceptions: values that an encoding does not hold, as a mask of rows and a list, patched after a
//! branch-free loop over the vector.
//!
//! ```text
//! child: mask (bits, set where a row is an exception) | child: exceptions
//! ```

use staffa_kernels::{Word, count_set, replace_marked};

use super::prelude::*;
use crate::decode::{Aggregator, LazyWords};

/// The mask's node: the rows that are exceptions.
pub(super) fn mask(len: usize, rows: &[u32], chooser: &Chooser<'_>) -> Result<Node> {
    let mut mask = Bitmap::filled(len, false);
    rows.iter().for_each(|&row| mask.set(row as usize, true));
    chooser.child(Values::Bits(&mask), Kind::Unsigned)
}

/// Words `T` as what an encoding holds of them, `V`, and as exceptions.
pub(super) struct Separated<V, T> {
    /// For every row; an exception has the value before, which costs the least.
    pub(super) values: Vec<V>,
    /// Rows of the exceptions.
    pub(super) rows: Vec<u32>,
    exceptions: Vec<T>,
}

impl<V: Copy + Default, T: Decodable> Separated<V, T> {
    /// Of no words yet.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            values: Vec::with_capacity(capacity),
            rows: Vec::new(),
            exceptions: Vec::new(),
        }
    }

    /// Appends a word, as the value that stands for it or as an exception.
    #[inline]
    pub(super) fn push(&mut self, word: T, value: Option<V>) {
        if value.is_none() {
            self.rows.push(self.values.len() as u32);
            self.exceptions.push(word);
        }
        let before = || self.values.last().copied().unwrap_or_default();
        self.values.push(value.unwrap_or_else(before));
    }

    /// Whether more than half of `len` words are exceptions, and the encoding may decline.
    pub(super) fn declines(&self, len: usize, chooser: &Chooser<'_>) -> bool {
        !chooser.must_encode() && self.rows.len() * 2 > len
    }

    /// The children: the node of the values, the mask and the exceptions.
    pub(super) fn children(
        &self,
        values: Node,
        kind: Kind,
        chooser: &Chooser<'_>,
    ) -> Result<Vec<Node>> {
        let mask = mask(self.values.len(), &self.rows, chooser)?;
        Ok(vec![
            values,
            mask,
            chooser.child(T::values(&self.exceptions), kind)?,
        ])
    }
}

/// Which rows are exceptions, with their number before every vector.
#[derive(Debug)]
pub(super) struct Mask {
    bits: Bitmap,
    starts: Vec<u32>,
}

impl Mask {
    /// Opens child `child` of a node.
    pub(super) fn open<'a>(
        node: &NodeRef<'a>,
        child: usize,
        cx: &mut OpenContext<'a>,
    ) -> Result<Self> {
        let bits = cx.open_bits(node.child(child, "mask", PhysicalType::Bits, node.len)?)?;
        let bits = bits.bits()?;
        let mut count = 0;
        let vectors = bits.words().chunks(VECTOR / 64).map(|words| {
            let before = count;
            count += ones(words);
            before as u32
        });
        let starts = vectors.collect();
        Ok(Self { bits, starts })
    }

    /// How many rows there are.
    fn len(&self) -> usize {
        self.bits.len()
    }

    /// How many of them are exceptions.
    pub(super) fn count(&self) -> usize {
        self.bits.count_ones()
    }

    /// Number of the exception at `row`, where it is one.
    fn rank(&self, row: usize) -> Option<usize> {
        if !self.bits.get(row) {
            return None;
        }
        let (start, words) = self.vector(row / VECTOR)?;
        let (before, rest) = words.split_at_checked(row % VECTOR / 64)?;
        let own = rest.first()? & ((1 << (row % 64)) - 1);
        Some(start + ones(before) + own.count_ones() as usize)
    }

    /// Exceptions before vector `v`, and the words of the mask that belong to it.
    fn vector(&self, v: usize) -> Option<(usize, &[u64])> {
        Some((*self.starts.get(v)? as usize, self.bits.vector(v)))
    }

    /// Puts the exceptions of vector `v`, out of all of the block, in their places.
    fn patch<T: Word>(&self, v: usize, exceptions: &[T], out: &mut [T]) -> Result<()> {
        let missing = || Error::internal(format!("exceptions of vector {v} that are not there"));
        let (start, words) = self.vector(v).ok_or_else(missing)?;
        // Those of later vectors as well: the kernel loads many at a time.
        let values = exceptions.get(start..).ok_or_else(missing)?;
        let count = replace_marked(out, words, values);
        (count == ones(words) && count <= values.len())
            .then_some(())
            .ok_or_else(missing)
    }
}

fn ones(words: &[u64]) -> usize {
    count_set(words)
}

/// Exceptions of a block, decoded when there are some among the rows that are wanted.
pub(super) struct Exceptions<'a, T> {
    pub(super) mask: Mask,
    pub(super) values: LazyWords<'a, T>,
}

impl<'a, T: Decodable> Exceptions<'a, T> {
    /// Opens the children `mask` and `values` of a node.
    pub(super) fn open(
        node: &NodeRef<'a>,
        mask: usize,
        values: usize,
        cx: &mut OpenContext<'a>,
    ) -> Result<Self> {
        let mask = Mask::open(node, mask, cx)?;
        let child = node.child(values, "exceptions", T::TYPE, mask.count())?;
        let values = LazyWords::open(child, cx, "exceptions")?;
        Ok(Self { mask, values })
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.mask.len()
    }

    /// Whether no row is an exception.
    pub(super) fn is_empty(&self) -> bool {
        self.values.len() == 0
    }

    /// Aggregates the exceptions among some rows, or all; returns which of these rows are none.
    pub(super) fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
    ) -> Result<Bitmap> {
        let all = self.values.all()?;
        let Some(rows) = rows else {
            into.values(all)?;
            return Ok(Bitmap::filled(self.len(), true).without(&self.mask.bits));
        };
        let found = rows.gathered(&self.mask.bits);
        let values = found
            .ones()
            .map(|i| all.get(i as usize).copied().ok_or_else(no_exception));
        into.values(&values.collect::<Result<Vec<T>>>()?)?;
        Ok(rows.without(&self.mask.bits))
    }

    /// Puts the exceptions among `rows` in their places.
    pub(super) fn patch(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        match rows {
            _ if self.is_empty() => Ok(()),
            Rows::Vector(v) if self.mask.bits.vector(v).iter().all(|word| *word == 0) => Ok(()),
            Rows::Vector(v) => self.mask.patch(v, self.values.all()?, out),
            Rows::At(rows) => self.patch_at(rows, cx, out),
        }
    }

    fn patch_at(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let found = rows.iter().zip(out);
        let found =
            found.filter_map(|(row, place)| Some((self.mask.rank(*row as usize)? as u32, place)));
        let (numbers, places): (Vec<u32>, Vec<&mut T>) = found.unzip();
        if numbers.is_empty() {
            return Ok(());
        }
        let mut values = vec![T::default(); numbers.len()];
        if !self.values.take(&numbers, cx, &mut values)? {
            return Err(no_exception());
        }
        let places = places.into_iter().zip(values);
        places.for_each(|(place, value)| *place = value);
        Ok(())
    }
}

fn no_exception() -> Error {
    Error::internal("more exceptions than the mask has")
}
