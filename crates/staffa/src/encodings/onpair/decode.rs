//! Strings of [`OnPair`](super::OnPair), opened and decoded.

use std::ops::Range;

use staffa_kernels::{BytesDict, TOKEN_GROUP, TokenRows};

use super::super::lengths::{Contents, MeasuredStrings, StringLengths};
use super::super::prelude::*;
use super::codes::{Codes, GROUP, too_high};
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
        if cx.thorough {
            codes.check(&tokens)?;
        }
        let lengths = StringLengths::open_unplaced(node, cx)?;
        let contents = Self { tokens, codes };
        Ok(MeasuredStrings { contents, lengths })
    }
}

fn too_long(len: usize) -> Error {
    Error::corrupt(format!(
        "tokens of at most {LONGEST} bytes expected, found {len}"
    ))
}

/// The tokens of a payload.
fn own(count: usize, cursor: &mut Cursor<'_>, cx: &mut OpenContext<'_>) -> Result<TokenRows> {
    let lengths = cursor.bytes(count)?;
    let longest = usize::from(lengths.iter().copied().max().unwrap_or(0));
    if longest > LONGEST {
        return Err(too_long(longest));
    }
    let bytes: u32 = lengths.iter().map(|len| u32::from(*len)).sum();
    let data = cursor.bytes(bytes as usize)?;
    cx.budget.count_beside(TokenRows::bytes_of(count) as u64);
    TokenRows::new(lengths, data).ok_or_else(|| Error::corrupt("no tokens"))
}

/// Strings of a shared dictionary, where they can be tokens.
fn shared(part: &SharedDictionary) -> Result<&TokenRows> {
    let strings = part.strings()?;
    let tokens = part.len();
    let is_between = (1..=usize::from(SHARED)).contains(&tokens);
    corrupt_if!(!is_between, "1 to {SHARED} tokens expected, found {tokens}");
    let longest =
        |strings: &BytesDict| strings.ranges().map(|range| range.len()).max().unwrap_or(0);
    part.tokens()?
        .map_or_else(|| Err(too_long(longest(strings.all()?))), Ok)
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

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let (text, lengths) = (&strings.contents, &strings.lengths);
        // More codes than bytes, as tokens may be empty, might not fit into memory.
        if text.codes.total() > out.allowed() {
            return take_strings(strings, rows, cx, out);
        }
        cx.with(text.codes.groups(), |cx, ends| {
            text.codes.group_ends(ends)?;
            let mut groups = Groups::of(text, ends);
            by_vector(rows).try_for_each(|(v, rows)| {
                if rows.len() * CODES_PER_ROW > text.codes.of_vector(v)?.len() {
                    return take_strings(strings, rows, cx, out);
                }
                let start = groups.start_of(v)?;
                lengths.with_vector(v, cx, |_, lengths| {
                    spans(rows, lengths).try_for_each(|own| {
                        let own = own?;
                        out.push(groups.read(start + own.start..start + own.end)?)
                    })
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

/// Reads strings by the groups of codes that have them.
struct Groups<'g, 'a> {
    text: &'g Text<'a>,
    /// Where every full group ends among all bytes.
    ends: &'g [u32],
    /// The group of the byte that was sought last.
    at: usize,
    /// The groups whose codes are unpacked, where they begin among all bytes, their codes, and where
    /// every few of these end.
    unpacked: Range<usize>,
    start: usize,
    codes: Vec<u32>,
    token_ends: Vec<u32>,
    decoded: Vec<u8>,
}

impl<'g, 'a> Groups<'g, 'a> {
    fn of(text: &'g Text<'a>, ends: &'g [u32]) -> Self {
        Self {
            text,
            ends,
            at: 0,
            unpacked: 0..0,
            start: 0,
            codes: Vec::new(),
            token_ends: Vec::new(),
            decoded: Vec::new(),
        }
    }

    /// Goes to a vector; where its strings begin among all bytes.
    fn start_of(&mut self, v: usize) -> Result<usize> {
        let first = self.text.codes.of_vector(v)?.start;
        let before = first % GROUP;
        self.at = first / GROUP;
        if before == 0 {
            return Ok(self.start_of_group(self.at));
        }
        self.unpack(self.at..self.at + 1)?;
        let mut ends = [0; GROUP.div_ceil(TOKEN_GROUP)];
        let ends = places(&mut ends, before.div_ceil(TOKEN_GROUP))?;
        let codes = self.codes.get(..before).ok_or_else(too_few)?;
        if !self.text.tokens.group_ends(codes, ends) {
            return Err(no_token(v));
        }
        Ok(self.start + ends.last().map_or(0, |end| *end as usize))
    }

    /// Some bytes among all; none of them is before those of the last call.
    fn read(&mut self, bytes: Range<usize>) -> Result<&[u8]> {
        if bytes.is_empty() {
            return Ok(&[]);
        }
        let group_of = |byte: usize, from: usize| {
            let later = self.ends.iter().skip(from);
            from + later.take_while(|end| **end as usize <= byte).count()
        };
        let first = group_of(bytes.start, self.at);
        let last = group_of(bytes.end - 1, first);
        self.at = first;
        self.unpack(first..last + 1)?;
        let string = bytes.start.checked_sub(self.start).and_then(|start| {
            let end = start + bytes.len();
            self.decode(start..end)
        });
        string.ok_or_else(|| no_string(&bytes))
    }

    /// Where a group begins among all bytes.
    fn start_of_group(&self, group: usize) -> usize {
        let before = group
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        before.map_or(0, |end| *end as usize)
    }

    /// Unpacks the codes of some groups, and measures their tokens.
    fn unpack(&mut self, groups: Range<usize>) -> Result<()> {
        if self.unpacked == groups {
            return Ok(());
        }
        let Text { tokens, codes } = self.text;
        codes.of_groups(groups.clone(), &mut self.codes)?;
        let few = self.codes.len().div_ceil(TOKEN_GROUP);
        self.token_ends.resize(few, 0);
        if !tokens.group_ends(&self.codes, &mut self.token_ends) {
            return Err(too_high());
        }
        self.start = self.start_of_group(groups.start);
        let found = self.start + self.token_ends.last().map_or(0, |end| *end as usize);
        let end = self.ends.get(groups.end - 1);
        let expected = end.map_or(found, |end| *end as usize);
        corrupt_if!(
            found != expected,
            "groups of codes that end at byte {expected} expected, found {found}"
        );
        self.unpacked = groups;
        Ok(())
    }

    /// Some bytes among those of the unpacked groups; `None` where these have fewer.
    fn decode(&mut self, bytes: Range<usize>) -> Option<&[u8]> {
        let ends = &self.token_ends;
        let first = ends.iter().position(|end| *end as usize > bytes.start)?;
        let mut later = ends.iter().skip(first);
        let last = first + later.position(|end| *end as usize >= bytes.end)?;
        let end_of = |few: usize| ends.get(few).map(|end| *end as usize);
        let start = first.checked_sub(1).and_then(end_of).unwrap_or(0);
        let decoded = end_of(last)? - start;
        if self.decoded.len() < decoded + SLACK {
            self.decoded.resize(decoded + SLACK, 0);
        }
        let upto = self.codes.len().min((last + 1) * TOKEN_GROUP);
        let codes = self.codes.get(first * TOKEN_GROUP..upto)?;
        self.text.tokens.decode(codes, &mut self.decoded)?;
        self.decoded.get(bytes.start - start..bytes.end - start)
    }
}
