//! Codes of [`OnPair`](super::OnPair) in a payload, and how many bytes every group of them has, by
//! which a row is found without the codes before it.

use std::ops::Range;

use staffa_kernels::{TOKEN_GROUP, TokenRows, prefix_sum};

use super::super::lengths::read_ends;
use super::super::packed::{PackedVectors, pack_vector};
use super::super::prelude::*;
use super::table::{LONGEST, code_width};

/// Codes whose bytes are told together.
pub(super) const GROUP: usize = 256;

/// Bits that the bytes of a group take, for each of its codes: an estimate.
pub(super) const GROUP_BITS: f64 = 11.0 / GROUP as f64;

/// The codes of a block.
pub(super) struct Codes<'a> {
    /// 0, and the end of the codes of every vector of strings.
    ends: Vec<u32>,
    /// Bytes of every full group of codes.
    groups: PackedVectors<'a>,
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
        let groups = PackedVectors::read(cursor, total / GROUP, width)?;
        let codes = PackedVectors::read(cursor, total, code_width(tokens))?;
        cursor.finish("codes")?;
        Ok(Self {
            ends,
            groups,
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

    /// How many groups are full.
    pub(super) fn groups(&self) -> usize {
        self.total / GROUP
    }

    /// Where every full group ends among all bytes.
    pub(super) fn group_ends(&self, ends: &mut [u32]) -> Result<()> {
        for (v, places) in ends.chunks_mut(VECTOR).enumerate() {
            self.groups.unpack(v, places)?;
        }
        prefix_sum(0, ends);
        Ok(())
    }

    /// The codes of one packed vector.
    pub(super) fn vector<'b>(&self, v: usize, buffer: &'b mut [u32]) -> Result<&'b mut [u32]> {
        self.codes.unpack(v, buffer)
    }

    /// Checks the bytes of every full group, which only those read that seek a row.
    pub(super) fn check(&self, tokens: &TokenRows) -> Result<()> {
        let mut cx = Scratch::default();
        let (mut codes, mut ends) = (Vec::new(), [0; GROUP.div_ceil(TOKEN_GROUP)]);
        for group in 0..self.groups() {
            self.of_groups(group..group + 1, &mut codes)?;
            if !tokens.group_ends(&codes, &mut ends) {
                return Err(too_high());
            }
            let (mut expected, [.., found]) = ([0], ends);
            self.groups.take(&[group as u32], &mut cx, &mut expected)?;
            let [expected] = expected;
            corrupt_if!(
                found != expected,
                "{expected} bytes expected in group {group} of codes, found {found}"
            );
        }
        Ok(())
    }

    /// The codes of some groups.
    pub(super) fn of_groups(&self, groups: Range<usize>, codes: &mut Vec<u32>) -> Result<()> {
        let range = groups.start * GROUP..self.total.min(groups.end * GROUP);
        codes.resize(range.len(), 0);
        self.codes.unpack_range(range, codes)
    }
}

pub(super) fn too_high() -> Error {
    Error::corrupt("codes of tokens expected, found a higher one")
}

/// Appends the bytes of every full group of codes of tokens of these lengths.
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
const fn width_of(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}
