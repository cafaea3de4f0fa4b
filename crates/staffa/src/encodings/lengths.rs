//! Lengths of byte strings, and where the strings of every vector begin: what plain strings, the
//! codecs, alphabet, FSST and OnPair have beside their bytes.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;

use staffa_kernels::{VECTOR, sum_u32};

use super::common::{places, span};
use crate::decode::{Decoder, OpenContext, Scratch};
use crate::error::{Error, Result};
use crate::format::{Cursor, NodeRef};
use crate::values::{PhysicalType, vector_len};

/// Lengths of the strings of a node.
pub(super) struct StringLengths<'a> {
    lengths: Box<dyn Decoder<u32> + 'a>,
    /// First byte of every vector, and the end.
    starts: Vec<u32>,
}

impl<'a> StringLengths<'a> {
    /// Opens the first child of a node. The lengths must add up to at most `most`, so that what a
    /// file claims beyond its bytes is refused before it is allocated.
    pub(super) fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>, most: u64) -> Result<Self> {
        node.expect_children(1)?;
        let child = node.child(0, "lengths", PhysicalType::U32, node.len)?;
        let lengths = cx.open_words::<u32>(child)?;
        let (mut scratch, most) = (Scratch::default(), most.min(u64::from(u32::MAX)));
        let mut buffer = scratch.take_u32();
        let (mut starts, mut sum) = (vec![0], 0);
        for v in 0..node.len.div_ceil(VECTOR) {
            let out = places(&mut buffer, vector_len(node.len, v))?;
            lengths.vector(v, &mut scratch, out)?;
            sum += sum_u32(out);
            if sum > most {
                return Err(Error::corrupt(format!(
                    "lengths that add up to at most {most} expected, found {sum}"
                )));
            }
            starts.push(sum as u32);
        }
        Ok(Self { lengths, starts })
    }

    /// How many strings there are.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// The lengths.
    pub(super) fn decoder(&self) -> &(dyn Decoder<u32> + 'a) {
        self.lengths.as_ref()
    }

    /// Bytes of all strings.
    pub(super) fn total(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }

    /// Bytes of the strings of vector `v` among all.
    pub(super) fn span(&self, v: usize) -> Result<Range<usize>> {
        span(&self.starts, v)
    }

    /// Decodes the lengths of vector `v` into the start of `buffer`; returns these.
    pub(super) fn vector<'b>(
        &self,
        v: usize,
        cx: &mut Scratch,
        buffer: &'b mut [u32],
    ) -> Result<&'b mut [u32]> {
        let lengths = places(buffer, vector_len(self.len(), v))?;
        self.lengths.vector(v, cx, lengths)?;
        Ok(lengths)
    }
}

/// Where the codes of every vector end, from a payload: 0 first, then an end for each.
pub(super) fn read_ends(cursor: &mut Cursor<'_>, vectors: usize) -> Result<Vec<u32>> {
    let mut ends = vec![0];
    let mut before = 0;
    for _ in 0..vectors {
        let end = cursor.u32()?;
        if end < before {
            return Err(Error::corrupt(format!(
                "ends of codes must rise, found {end} after {before}"
            )));
        }
        ends.push(end);
        before = end;
    }
    Ok(ends)
}
