//! Codes of [`OnPair`](super::OnPair) in a payload, and the number of bytes of every group of them, by
//! which a row is found without the codes before it.

use std::ops::Range;

use staffa_kernels::prefix_sum;

use super::super::lengths::read_ends;
use super::super::packed::{PackedVectors, pack_vector};
use super::super::prelude::*;
use super::table::{LONGEST, code_width};

/// Codes whose bytes are counted together.
pub(super) const GROUP: usize = 256;

/// Bits that the number of bytes of a group takes, for each of its codes: an estimate.
pub(super) const GROUP_BITS_PER_CODE: f64 = 11.0 / GROUP as f64;

/// The codes of a block.
pub(super) struct Codes<'a> {
    /// 0, and the end of the codes of every vector of strings.
    ends: Vec<u32>,
    /// The number of bytes of every full group of codes.
    group_bytes: PackedVectors<'a>,
    codes: PackedVectors<'a>,
    total: usize,
}

impl<'a> Codes<'a> {
    /// The rest of a payload: codes of so many vectors of strings, below `tokens`.
    pub(super) fn read(cursor: &mut Cursor<'a>, vectors: usize, tokens: usize) -> Result<Self> {
        let ends = read_ends(cursor, vectors)?;
        let total = ends.last().map_or(0, |end| *end as usize);
        let (width, most) = (u32::from(cursor.u8()?), width_of((GROUP * LONGEST) as u32));
        corrupt_if!(
            width > most,
            "bytes of groups of at most {most} bits expected, found {width}"
        );
        let group_bytes = PackedVectors::read(cursor, total / GROUP, width)?;
        let codes = PackedVectors::read(cursor, total, code_width(tokens))?;
        cursor.finish("codes")?;
        Ok(Self {
            ends,
            group_bytes,
            codes,
            total,
        })
    }

    /// The number of codes.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// The codes of a vector of strings.
    pub(super) fn of_vector(&self, v: usize) -> Result<Range<usize>> {
        span(&self.ends, v)
    }

    /// Where every full group ends among all bytes.
    pub(super) fn group_ends(&self) -> Result<Vec<u32>> {
        let mut ends = vec![0; self.total / GROUP];
        for (v, places) in ends.chunks_mut(VECTOR).enumerate() {
            self.group_bytes.unpack(v, places)?;
        }
        prefix_sum(0, &mut ends);
        Ok(ends)
    }

    /// The codes of one packed vector.
    pub(super) fn vector<'b>(&self, v: usize, buffer: &'b mut [u32]) -> Result<&'b mut [u32]> {
        self.codes.unpack(v, buffer)
    }

    /// The codes of a group; those left over are in the last one.
    pub(super) fn of_group(&self, group: usize, codes: &mut Vec<u32>) -> Result<()> {
        let start = (group * GROUP).min(self.total);
        let range = start..self.total.min(start + GROUP);
        codes.resize(range.len(), 0);
        self.codes.unpack_range(range, codes)
    }
}

/// Appends the number of bytes of every full group of codes, whose tokens have these lengths.
pub(super) fn put_groups(codes: &[u32], lengths: &[u32], payload: &mut Vec<u8>) -> Result<()> {
    let length = |code: &u32| lengths.get(*code as usize).copied();
    let groups = codes.chunks_exact(GROUP);
    let groups = groups.map(|codes| codes.iter().map(length).sum::<Option<u32>>());
    let groups: Option<Vec<u32>> = groups.collect();
    let groups = groups.ok_or_else(|| Error::internal("a code of no token"))?;
    let width = width_of(groups.iter().copied().max().unwrap_or(0));
    payload.push(width as u8);
    for vector in groups.chunks(VECTOR) {
        pack_vector(vector, width, payload);
    }
    Ok(())
}

/// Bits of a number.
fn width_of(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}
