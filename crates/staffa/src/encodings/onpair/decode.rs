//! Strings of [`OnPair`](super::OnPair), opened and decoded.

use std::ops::Range;

use staffa_kernels::{BytesDict, TOKEN_GROUP, TokenRows};

use super::super::lengths::{Contents, MeasuredStrings, StringLengths};
use super::super::prelude::*;
use super::codes::{Codes, GROUP};
use super::table::{LONGEST, SHARED};
use crate::decode::{Appended, Entries, SharedDictionary, by_vector, spans, take_strings};

/// A row is read by itself where its vector has so many codes for every such row: one row takes the
/// time of so many codes.
const CODES_PER_ROW: usize = 160;

/// Room behind decoded tokens, so that all of them are copied wide.
const SLACK: usize = 128;

/// Strings as the codes of tokens.
pub(super) struct Text<'a> {
    tokens: Entries<'a, TokenRows>,
    codes: Codes<'a>,
}

impl<'a> Text<'a> {
    pub(super) fn open(
        node: &NodeRef<'a>,
        cx: &mut OpenContext<'a>,
    ) -> Result<MeasuredStrings<'a, Self>> {
        expect_strings(node)?;
        let mut cursor = node.cursor();
        let tokens = match cursor.u16()? {
            SHARED => Entries::Shared(shared(cx.shared_dictionary(usize::from(cursor.u8()?))?)?),
            last => Entries::Own(own(usize::from(last) + 1, &mut cursor, cx)?),
        };
        let codes = Codes::read(&mut cursor, node.len.div_ceil(VECTOR), tokens.len())?;
        // Every code has a byte at least.
        cx.budget.covers(codes.total() as u64, "codes of strings")?;
        let lengths = StringLengths::open_unplaced(node, cx)?;
        let contents = Self { tokens, codes };
        if cx.thorough {
            contents.check()?;
        }
        Ok(MeasuredStrings { contents, lengths })
    }

    /// Checks the bytes of all groups: only those that a row needs are checked when it is read.
    fn check(&self) -> Result<()> {
        let mut groups = Groups::of(self)?;
        (0..groups.ends.len()).try_for_each(|group| groups.unpack(group))
    }
}

/// The error for tokens of which one has no byte or too many.
fn wrong_length(mut lengths: impl Iterator<Item = usize>) -> Error {
    let is_wrong = |len: &usize| !(1..=LONGEST).contains(len);
    let len = lengths.find(is_wrong).unwrap_or(0);
    Error::corrupt(format!(
        "tokens of 1 to {LONGEST} bytes expected, found {len}"
    ))
}

/// The tokens of a payload.
fn own(count: usize, cursor: &mut Cursor<'_>, cx: &mut OpenContext<'_>) -> Result<TokenRows> {
    let lengths = cursor.bytes(count)?;
    let bytes: u32 = lengths.iter().map(|len| u32::from(*len)).sum();
    let data = cursor.bytes(bytes as usize)?;
    cx.budget.count_beside(TokenRows::bytes_of(count) as u64);
    let wrong = || wrong_length(lengths.iter().map(|len| usize::from(*len)));
    TokenRows::new(lengths, data).ok_or_else(wrong)
}

/// Strings of a shared dictionary, where they can be tokens.
fn shared(part: &SharedDictionary) -> Result<&TokenRows> {
    let strings = part.strings()?;
    let tokens = part.len();
    let is_between = (1..=usize::from(SHARED)).contains(&tokens);
    corrupt_if!(!is_between, "1 to {SHARED} tokens expected, found {tokens}");
    let wrong = |strings: &BytesDict| wrong_length(strings.ranges().map(|range| range.len()));
    part.tokens()?
        .map_or_else(|| Err(wrong(strings.all()?)), Ok)
}

fn no_token(v: usize) -> Error {
    Error::corrupt(format!("codes of vector {v} do not decode to its bytes"))
}

impl Contents for Text<'_> {
    fn vector(&self, v: usize, _: Range<usize>, cx: &mut Scratch, out: &mut [u8]) -> Result<usize> {
        let Range { mut start, end } = self.codes.of_vector(v)?;
        let mut at = 0;
        cx.with(VECTOR, |_, buffer| {
            while start < end {
                let codes = self.codes.vector(start / VECTOR, buffer)?;
                let from = start % VECTOR;
                let to = VECTOR.min(from + end - start);
                let codes = codes.get(from..to).ok_or_else(too_few)?;
                let rest = out.get_mut(at..).ok_or_else(|| no_token(v))?;
                at += self.tokens.decode(codes, rest).ok_or_else(|| no_token(v))?;
                start += codes.len();
            }
            Ok(at)
        })
    }

    fn most_bytes(&self, v: usize) -> Result<u64> {
        Ok(self.codes.of_vector(v)?.len() as u64 * LONGEST as u64)
    }

    fn is_dense(strings: &MeasuredStrings<'_, Self>, v: usize, rows: usize) -> bool {
        let codes = strings.contents.codes.of_vector(v);
        codes.is_ok_and(|codes| rows * CODES_PER_ROW > codes.len())
    }

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let (text, lengths) = (&strings.contents, &strings.lengths);
        // More codes than bytes, which no string has, might not fit into memory.
        if text.codes.total() > out.allowed() {
            return take_strings(strings, rows, cx, out);
        }
        let mut groups = None;
        by_vector(rows).try_for_each(|(v, rows)| {
            if Self::is_dense(strings, v, rows.len()) {
                return take_strings(strings, rows, cx, out);
            }
            let groups = match &mut groups {
                Some(groups) => groups,
                None => groups.insert(Groups::of(text)?),
            };
            let start = groups.start_of(v)?;
            lengths.with_vector(v, cx, |_, lengths| {
                spans(rows, lengths).try_for_each(|own| {
                    let Range { start: from, end } = own?;
                    let bytes = start + from..start + end;
                    out.push_with(bytes.len(), |out| groups.read(bytes, out))
                })
            })
        })
    }
}

fn no_string(bytes: &Range<usize>) -> Error {
    let Range { start, end } = bytes;
    Error::corrupt(format!("codes do not decode to bytes {start} to {end}"))
}

fn too_few() -> Error {
    Error::internal("fewer codes than a vector has")
}

/// Reads strings by the groups of codes that have them, one group after the other: what a group claims
/// is checked before the next one is read.
struct Groups<'g, 'a> {
    text: &'g Text<'a>,
    /// Where every full group ends among all bytes.
    ends: Vec<u32>,
    /// The group of the byte that was sought last.
    at: usize,
    /// The end of the codes of the vector: none of its strings goes on behind it.
    end_of_codes: usize,
    /// The group whose codes are unpacked, and the bytes of its strings among all.
    unpacked: Option<usize>,
    bytes: Range<usize>,
    codes: Vec<u32>,
    /// Where every few of the codes end in the group.
    token_ends: [u32; GROUP.div_ceil(TOKEN_GROUP)],
    decoded: [u8; GROUP * LONGEST + SLACK],
}

impl<'g, 'a> Groups<'g, 'a> {
    fn of(text: &'g Text<'a>) -> Result<Self> {
        Ok(Self {
            text,
            ends: text.codes.group_ends()?,
            at: 0,
            end_of_codes: 0,
            unpacked: None,
            bytes: 0..0,
            codes: Vec::new(),
            token_ends: [0; GROUP.div_ceil(TOKEN_GROUP)],
            decoded: [0; GROUP * LONGEST + SLACK],
        })
    }

    /// Goes to a vector; where its strings begin among all bytes.
    fn start_of(&mut self, v: usize) -> Result<usize> {
        let Range { start, end } = self.text.codes.of_vector(v)?;
        let before = start % GROUP;
        (self.at, self.end_of_codes) = (start / GROUP, end);
        if before == 0 {
            return Ok(self.start_of_group(self.at));
        }
        self.unpack(self.at)?;
        let mut ends = [0; GROUP.div_ceil(TOKEN_GROUP)];
        let ends = places(&mut ends, before.div_ceil(TOKEN_GROUP))?;
        let codes = self.codes.get(..before).ok_or_else(too_few)?;
        if !self.text.tokens.group_ends(codes, ends) {
            return Err(no_token(v));
        }
        Ok(self.bytes.start + ends.last().map_or(0, |end| *end as usize))
    }

    /// Reads some bytes among all, a place for each; none of them is before those of the last call.
    fn read(&mut self, bytes: Range<usize>, mut out: &mut [u8]) -> Result<()> {
        let later = self.ends.iter().skip(self.at);
        self.at += later
            .take_while(|end| **end as usize <= bytes.start)
            .count();
        let (mut group, mut start) = (self.at, bytes.start);
        while !out.is_empty() {
            self.unpack(group)?;
            let end = self.bytes.end.min(bytes.end);
            let part = self.decode(start..end).ok_or_else(|| no_string(&bytes))?;
            let (now, rest) = out.split_at_mut_checked(part.len()).ok_or_else(too_few)?;
            now.copy_from_slice(part);
            (out, start, group) = (rest, end, group + 1);
        }
        Ok(())
    }

    /// Where a group begins among all bytes.
    fn start_of_group(&self, group: usize) -> usize {
        let before = group
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        before.map_or(0, |end| *end as usize)
    }

    /// Unpacks the codes of a group, and measures their tokens.
    fn unpack(&mut self, group: usize) -> Result<()> {
        if self.unpacked == Some(group) {
            return Ok(());
        }
        let Text { tokens, codes } = self.text;
        let start = self.start_of_group(group);
        codes.of_group(group, &mut self.codes)?;
        let few = self.codes.len().div_ceil(TOKEN_GROUP);
        let ends = places(&mut self.token_ends, few)?;
        if !tokens.group_ends(&self.codes, ends) {
            let what = format!("codes of group {group} of codes are not those of tokens");
            return Err(Error::corrupt(what));
        }
        let found = start + ends.last().map_or(0, |end| *end as usize);
        let expected = self.ends.get(group).map_or(found, |end| *end as usize);
        corrupt_if!(
            found != expected,
            "group {group} of codes that ends at byte {expected} expected, found {found}"
        );
        (self.unpacked, self.bytes) = (Some(group), start..found);
        Ok(())
    }

    /// Some bytes among all, one or more; `None` where the vector's codes in the unpacked group do not
    /// have them.
    fn decode(&mut self, bytes: Range<usize>) -> Option<&[u8]> {
        let own = bytes.start.checked_sub(self.bytes.start)?;
        let own = own..own + bytes.end.checked_sub(bytes.start).filter(|len| *len > 0)?;
        let ends = self
            .token_ends
            .get(..self.codes.len().div_ceil(TOKEN_GROUP))?;
        let first = ends.iter().position(|end| *end as usize > own.start)?;
        let mut later = ends.iter().skip(first);
        let last = first + later.position(|end| *end as usize >= own.end)?;
        let before = first.checked_sub(1).and_then(|before| ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        let of_vector = self.end_of_codes.checked_sub(self.unpacked? * GROUP)?;
        let upto = self.codes.len().min((last + 1) * TOKEN_GROUP);
        let codes = self.codes.get(first * TOKEN_GROUP..upto.min(of_vector))?;
        let found = self.text.tokens.decode(codes, &mut self.decoded)?;
        let decoded = self.decoded.get(..found)?;
        decoded.get(own.start - start..own.end - start)
    }
}
