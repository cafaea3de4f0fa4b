//! Strings of [`OnPair`](super::OnPair), opened and decoded.

use std::ops::Range;

use staffa_kernels::{BytesDict, TOKEN_GROUP, TokenRows};

use super::super::lengths::{Contents, MeasuredStrings, StringLengths, read_ends};
use super::super::packed::PackedVectors;
use super::super::prelude::*;
use super::table::{LONGEST, SHARED, code_width};
use crate::decode::{Appended, Entries, SharedDictionary, by_vector, spans, take_strings};

/// A row is read by itself where its vector has so many codes for every such row: to find it takes
/// half the time of decoding all, and then each row that of some 80 codes.
const CODES_PER_ROW: usize = 160;

/// Room behind decoded tokens, so that all of them are copied wide.
const SLACK: usize = 128;

/// Strings as the codes of tokens.
pub(super) struct Text<'a> {
    tokens: Entries<'a, TokenRows>,
    codes: PackedVectors<'a>,
    /// 0, and the end of the codes of every vector.
    ends: Vec<u32>,
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
        let ends = read_ends(&mut cursor, node.len.div_ceil(VECTOR))?;
        let total = ends.last().map_or(0, |end| *end as usize);
        let codes = PackedVectors::read(&mut cursor, total, code_width(tokens.len()))?;
        cursor.finish("codes")?;
        let lengths = StringLengths::open_unplaced(node, cx)?;
        let contents = Self {
            tokens,
            codes,
            ends,
        };
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
    if let Some(&len) = lengths.iter().find(|len| usize::from(**len) > LONGEST) {
        return Err(too_long(usize::from(len)));
    }
    let data = cursor.bytes(lengths.iter().map(|len| usize::from(*len)).sum())?;
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
        let Range { mut start, end } = span(&self.ends, v)?;
        let mut at = 0;
        cx.with(VECTOR, |_, buffer| {
            while start < end {
                let codes = self.codes.unpack(start / VECTOR, buffer)?;
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
        Ok(span(&self.ends, v)?.len() as u64 * LONGEST as u64)
    }

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let (text, lengths) = (&strings.contents, &strings.lengths);
        by_vector(rows).try_for_each(|(v, rows)| {
            let codes = span(&text.ends, v)?.len();
            // More codes than bytes, as tokens may be empty, might not fit into memory.
            if rows.len() * CODES_PER_ROW > codes || codes > out.allowed() {
                return take_strings(strings, rows, cx, out);
            }
            lengths.with_vector(v, cx, |cx, lengths| {
                text.take_few(v, rows, lengths, cx, out)
            })
        })
    }
}

impl Text<'_> {
    /// Appends the strings at some rows of a vector, whose strings have these lengths. All its tokens
    /// are measured, and those about the rows decoded.
    fn take_few(
        &self,
        v: usize,
        rows: &[u32],
        lengths: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let Range { start, end } = span(&self.ends, v)?;
        let unpacked = start / VECTOR..end.div_ceil(VECTOR);
        cx.with(unpacked.len() * VECTOR, |cx, buffer| {
            for (vector, places) in unpacked.zip(buffer.chunks_mut(VECTOR)) {
                self.codes.unpack(vector, places)?;
            }
            let from = start % VECTOR;
            let codes = buffer.get(from..from + end - start).ok_or_else(too_few)?;
            cx.with(codes.len().div_ceil(TOKEN_GROUP), |_, ends| {
                if !self.tokens.group_ends(codes, ends) {
                    return Err(no_token(v));
                }
                let (first, mut buffer) = (0, Vec::new());
                let mut groups = Groups { codes, ends, first };
                for own in spans(rows, lengths) {
                    let string = groups.read(&self.tokens, own?, &mut buffer);
                    out.push(string.ok_or_else(|| no_token(v))?)?;
                }
                Ok(())
            })
        })
    }
}

fn too_few() -> Error {
    Error::internal("fewer codes than a vector has")
}

/// Codes of a vector, and where every group of them ends in its bytes.
struct Groups<'g> {
    codes: &'g [u32],
    ends: &'g [u32],
    /// The group in which the string read last begins.
    first: usize,
}

impl Groups<'_> {
    /// The bytes `span` of the vector, behind those read last, decoded into `buffer` with all of
    /// their groups; `None` where it has fewer.
    fn read<'b>(
        &mut self,
        tokens: &TokenRows,
        span: Range<usize>,
        buffer: &'b mut Vec<u8>,
    ) -> Option<&'b [u8]> {
        if span.is_empty() {
            return Some(&[]);
        }
        let mut later = self.ends.iter().skip(self.first);
        self.first += later.position(|end| *end as usize > span.start)?;
        let (first, end) = (self.first, span.end);
        let mut later = self.ends.iter().skip(first);
        let last = first + later.position(|group_end| *group_end as usize >= end)?;
        let start = match first.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        let bytes = *self.ends.get(last)? as usize - start;
        if buffer.len() < bytes + SLACK {
            buffer.resize(bytes + SLACK, 0);
        }
        let upto = self.codes.len().min((last + 1) * TOKEN_GROUP);
        tokens.decode(self.codes.get(first * TOKEN_GROUP..upto)?, buffer)?;
        buffer.get(span.start - start..span.end - start)
    }
}
