//! Lengths of byte strings, and where the strings of every vector begin: what plain strings, the
//! codecs, alphabet, FSST and OnPair have beside their bytes.

use std::ops::Range;

use staffa_kernels::sum_u32;

use super::prelude::*;
use crate::decode::{
    Appended, BytesDecoder, longer_than_declared, prefers_bitmap_of_strings, take_strings,
};

/// Room that a vector of strings has without a look at its lengths, where that is surely enough.
const SURELY: u64 = 1 << 17;

/// Lengths of the strings of a node.
pub(super) struct StringLengths<'a> {
    lengths: Box<dyn Decoder<u32> + 'a>,
    /// First byte of every vector, and the end; empty where these do not tell where a vector's
    /// contents are.
    starts: Vec<u32>,
}

impl<'a> StringLengths<'a> {
    /// Opens the first child of a node. The lengths must add up to at most `most`, so that what a
    /// file claims beyond its bytes is refused before it is allocated.
    pub(super) fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, most: u64) -> Result<Self> {
        let mut all = Self {
            starts: vec![0],
            ..Self::open_unplaced(node, cx)?
        };
        let (most, mut sum) = (most.min(u64::from(u32::MAX)), 0);
        let mut cx = Scratch::default();
        for v in 0..node.len.div_ceil(VECTOR) {
            sum += all.with_vector(v, &mut cx, |_, lengths| Ok(sum_u32(lengths)))?;
            corrupt_if!(
                sum > most,
                "lengths that add up to at most {most} expected, found {sum}"
            );
            all.starts.push(sum as u32);
        }
        Ok(all)
    }

    /// The same for contents that tell by themselves where those of a vector are: no length is
    /// decoded before its vector is.
    pub(super) fn open_unplaced(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        node.expect_children(1)?;
        let child = node.child(0, "lengths", PhysicalType::U32, node.len)?;
        Ok(Self {
            lengths: cx.open_words::<u32>(child)?,
            starts: Vec::new(),
        })
    }

    /// How many strings there are.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Bytes of all strings.
    pub(super) fn total(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }

    /// Bytes of the strings of vector `v` among all.
    pub(super) fn span(&self, v: usize) -> Result<Range<usize>> {
        span(&self.starts, v)
    }

    /// The same by the vector's `lengths`, which add up to at most `most`; from 0 on where the lengths
    /// are unplaced.
    fn place(&self, v: usize, lengths: &[u32], most: u64) -> Result<Range<usize>> {
        if !self.starts.is_empty() {
            return self.span(v);
        }
        let sum = sum_u32(lengths);
        corrupt_if!(
            sum > most,
            "lengths of vector {v} that add up to at most {most} expected, found {sum}"
        );
        Ok(0..usize::try_from(sum).map_err(|_| longer_than_declared())?)
    }

    /// Lends `f` the lengths of vector `v`.
    pub(super) fn with_vector<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&mut Scratch, &[u32]) -> Result<R>,
    ) -> Result<R> {
        cx.with(vector_len(self.len(), v), |cx, lengths| {
            self.lengths.vector(v, cx, lengths)?;
            f(cx, lengths)
        })
    }
}

/// Strings whose lengths are stored apart from their contents.
pub(super) struct MeasuredStrings<'a, C> {
    pub contents: C,
    pub lengths: StringLengths<'a>,
}

/// The contents of strings whose lengths are stored apart.
pub(super) trait Contents: Send + Sync + Sized {
    /// Decodes the strings of vector `v`, which are the bytes `span` (among all, unless these are
    /// [unplaced](StringLengths::open_unplaced)), to the start of `out`, which has a place for each
    /// or more; returns the bytes decoded.
    fn vector(
        &self,
        v: usize,
        span: Range<usize>,
        cx: &mut Scratch,
        out: &mut [u8],
    ) -> Result<usize>;

    /// The most bytes that the contents of vector `v` decode to, where lengths are unplaced: what
    /// claims more is refused before memory is taken for it.
    fn most_bytes(&self, _v: usize) -> Result<u64> {
        Ok(u64::MAX)
    }

    /// [`BytesDecoder::is_dense`].
    fn is_dense(strings: &MeasuredStrings<'_, Self>, v: usize, rows: usize) -> bool {
        prefers_bitmap_of_strings(rows, vector_len(strings.lengths.len(), v))
    }

    /// [`BytesDecoder::take`]; by default the vectors of the rows are decoded.
    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        take_strings(strings, rows, cx, out)
    }
}

impl<C: Contents> BytesDecoder for MeasuredStrings<'_, C> {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        Some(self.lengths.lengths.as_ref())
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let all = &self.lengths;
        if all.starts.is_empty() {
            let most = self.contents.most_bytes(v)?;
            return all.with_vector(v, cx, |_, lengths| Ok(all.place(v, lengths, most)?.len()));
        }
        Ok(all.span(v)?.len())
    }

    fn vector_room(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let most = self.contents.most_bytes(v)?;
        if self.lengths.starts.is_empty() && most <= SURELY {
            return Ok(most as usize);
        }
        self.vector_bytes(v, cx)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.lengths.lengths.vector(v, cx, lengths)?;
        let most = self.contents.most_bytes(v)?;
        let span = self.lengths.place(v, lengths, most)?;
        let bytes = span.len();
        corrupt_if!(bytes > out.len(), "strings longer than declared");
        let found = self.contents.vector(v, span, cx, out)?;
        corrupt_if!(
            found != bytes,
            "{bytes} bytes expected in vector {v}, found {found}"
        );
        Ok(bytes)
    }

    fn is_dense(&self, v: usize, rows: usize) -> bool {
        C::is_dense(self, v, rows)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        C::take(self, rows, cx, out)
    }
}

/// Where the codes of every vector end, from a payload: 0 first, then an end for each.
pub(super) fn read_ends(cursor: &mut Cursor<'_>, vectors: usize) -> Result<Vec<u32>> {
    let mut ends = vec![0];
    let mut before = 0;
    for _ in 0..vectors {
        let end = cursor.u32()?;
        corrupt_if!(
            end < before,
            "ends of codes must rise, found {end} after {before}"
        );
        ends.push(end);
        before = end;
    }
    Ok(ends)
}
