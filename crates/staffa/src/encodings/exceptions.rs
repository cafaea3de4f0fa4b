//! Exceptions: exceptions as a mask of rows and a list of values, applied to a vector after a
//! branch-free loop over it.

use staffa_kernels::VECTOR;

use crate::decode::{Aggregator, Decodable, LazyWords, OpenContext, Scratch};
use crate::encode::Chooser;
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, PhysicalType, Values};

/// The mask's node: the rows that are exceptions.
pub(crate) fn mask(len: usize, rows: &[u32], chooser: &Chooser<'_>) -> Result<Node> {
    let mut mask = Bitmap::filled(len, false);
    rows.iter().for_each(|&row| mask.set(row as usize, true));
    chooser.child(Values::Bits(&mask), Kind::Unsigned)
}

/// Which rows are exceptions, with their number before every vector.
#[derive(Debug)]
pub(crate) struct Mask {
    bits: Bitmap,
    starts: Vec<u32>,
}

impl Mask {
    /// Opens child `child` of a node.
    pub(crate) fn open<'a>(
        node: &NodeRef<'a>,
        child: usize,
        cx: &mut OpenContext<'a>,
    ) -> Result<Self> {
        let bits = cx
            .open_bits(node.child(child, "mask", PhysicalType::Bits, node.len)?)?
            .bits()?;
        let mut sum = 0;
        let vectors = bits.words().chunks(VECTOR / 64).map(|words| {
            let before = sum;
            sum += words.iter().map(|w| w.count_ones()).sum::<u32>();
            before
        });
        Ok(Self {
            starts: vectors.collect(),
            bits,
        })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.bits.len()
    }

    /// How many of them are exceptions.
    pub(crate) fn count(&self) -> usize {
        self.bits.count_ones()
    }

    /// Number of the exception at `row`, where it is one.
    pub(crate) fn rank(&self, row: usize) -> Option<usize> {
        if !self.bits.get(row) {
            return None;
        }
        let (start, words) = self.vector(row / VECTOR);
        let (word, bit) = (row % VECTOR / 64, row % 64);
        let before = words
            .iter()
            .take(word)
            .map(|w| w.count_ones() as usize)
            .sum::<usize>();
        let own = words
            .get(word)
            .map_or(0, |w| (w & ((1 << bit) - 1)).count_ones() as usize);
        Some(start + before + own)
    }

    /// Exceptions before vector `v`, and the words of the mask that belong to it.
    pub(crate) fn vector(&self, v: usize) -> (usize, &[u64]) {
        let words = self
            .bits
            .words()
            .get(v * (VECTOR / 64)..)
            .unwrap_or_default();
        (
            self.starts.get(v).copied().unwrap_or(0) as usize,
            words.get(..VECTOR / 64).unwrap_or(words),
        )
    }
}

/// Exceptions of a block, decoded when there are some among the rows that are wanted.
pub(crate) struct Exceptions<'a, T> {
    mask: Mask,
    values: LazyWords<'a, T>,
}

impl<'a, T: Decodable> Exceptions<'a, T> {
    /// Opens the children `mask` and `values` of a node.
    pub(crate) fn open(
        node: &NodeRef<'a>,
        mask: usize,
        values: usize,
        cx: &mut OpenContext<'a>,
    ) -> Result<Self> {
        let mask = Mask::open(node, mask, cx)?;
        let child = node.child(values, "exceptions", T::TYPE, mask.count())?;
        Ok(Self {
            values: LazyWords::open(child, cx, "exceptions")?,
            mask,
        })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.mask.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.len() == 0
    }

    /// Hands out the exceptions among some rows, or all; which of these rows are none.
    pub(crate) fn aggregate(
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
        let values: Vec<T> = found
            .ones()
            .filter_map(|i| all.get(i as usize).copied())
            .collect();
        into.values(&values)?;
        Ok(rows.without(&self.mask.bits))
    }

    /// Puts the exceptions among `rows` in their places.
    pub(crate) fn apply_at(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let found = rows
            .iter()
            .zip(out)
            .filter_map(|(row, place)| Some((self.mask.rank(*row as usize)? as u32, place)));
        let (numbers, places): (Vec<u32>, Vec<&mut T>) = found.unzip();
        if numbers.is_empty() {
            return Ok(());
        }
        let mut values = vec![T::default(); numbers.len()];
        if !self.values.take(&numbers, cx, &mut values)? {
            return Err(Error::corrupt("more exceptions than there are"));
        }
        places
            .into_iter()
            .zip(values)
            .for_each(|(place, value)| *place = value);
        Ok(())
    }

    /// Puts the exceptions of vector `v` in their places.
    pub(crate) fn apply(&self, v: usize, out: &mut [T]) -> Result<()> {
        let (start, words) = self.mask.vector(v);
        if self.is_empty() || words.iter().all(|word| *word == 0) {
            return Ok(());
        }
        let mut values = self.values.all()?.get(start..).unwrap_or_default().iter();
        for (word, places) in words.iter().zip(out.chunks_mut(64)) {
            let mut word = *word;
            while word != 0 {
                if let (Some(place), Some(value)) = (
                    places.get_mut(word.trailing_zeros() as usize),
                    values.next(),
                ) {
                    *place = *value;
                }
                word &= word - 1;
            }
        }
        Ok(())
    }
}
