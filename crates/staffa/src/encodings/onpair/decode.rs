//! Strings of [`OnPair`](super::OnPair), opened and decoded.

use std::ops::Range;

use staffa_kernels::{BytesDict, TokenRows};

use super::super::lengths::{Contents, MeasuredStrings, StringLengths, read_ends};
use super::super::packed::PackedVectors;
use super::super::prelude::*;
use super::table::{LONGEST, SHARED, code_width};
use crate::decode::{
    Appended, BytesDecoder, Entries, SharedDictionary, by_vector, no_row, take_strings,
};

/// With as many rows of a vector, all of it is decoded: that takes 2 to 7 us, a row by itself some
/// 0.2.
const MANY: usize = 16;

/// Codes that are measured at once.
const MEASURED: usize = 64;

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
        let lengths = StringLengths::open(node, cx, (total * LONGEST) as u64)?;
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
        cx.with(VECTOR, |_, buffer| {
            let (mut tokens, mut at) = (TokenReader::new(self, v, buffer)?, 0);
            while tokens.next < tokens.end {
                let codes = tokens.peek(VECTOR)?;
                let rest = out.get_mut(at..).ok_or_else(|| no_token(v))?;
                at += self.tokens.decode(codes, rest).ok_or_else(|| no_token(v))?;
                tokens.next += codes.len();
            }
            Ok(at)
        })
    }

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        by_vector(rows).try_for_each(|(v, rows)| {
            if rows.len() >= MANY {
                return take_strings(strings, rows, cx, out);
            }
            if let Some(row) = rows.last().filter(|row| **row as usize >= strings.len()) {
                return Err(no_row(*row, strings.len()));
            }
            strings.lengths.with_vector(v, cx, |cx, lengths| {
                cx.with(VECTOR, |_, buffer| {
                    let tokens = TokenReader::new(&strings.contents, v, buffer)?;
                    tokens.push_rows(rows, lengths, out)
                })
            })
        })
    }
}

fn too_few() -> Error {
    Error::corrupt("fewer codes than strings need")
}

/// Reads single strings of a vector: tokens before a string are only measured.
struct TokenReader<'t, 'a> {
    text: &'t Text<'a>,
    v: usize,
    /// The codes in the buffer are those from `unpacked * 1024` on.
    unpacked: usize,
    buffer: &'t mut [u32],
    /// The next code, and the end of the vector's codes.
    next: usize,
    end: usize,
    /// Where the next token starts, in bytes of the vector.
    at: usize,
}

impl<'t, 'a> TokenReader<'t, 'a> {
    fn new(text: &'t Text<'a>, v: usize, buffer: &'t mut [u32]) -> Result<Self> {
        let Range { start: next, end } = span(&text.ends, v)?;
        Ok(Self {
            text,
            v,
            unpacked: usize::MAX,
            buffer,
            next,
            end,
            at: 0,
        })
    }

    /// Appends the strings at some rows of the vector, whose strings have these lengths.
    fn push_rows(mut self, rows: &[u32], lengths: &[u32], out: &mut Appended) -> Result<()> {
        let (mut i, mut start, mut string) = (0, 0, Vec::new());
        for row in rows {
            let row = *row as usize % VECTOR;
            let (before, length) = lengths
                .get(i..row)
                .zip(lengths.get(row))
                .ok_or_else(|| Error::internal("rows in ascending order expected"))?;
            start += before.iter().map(|length| *length as usize).sum::<usize>();
            self.read(start, *length as usize, &mut string)?;
            out.push(&string)?;
            start += *length as usize;
            i = row + 1;
        }
        Ok(())
    }

    /// At least one and at most `most` of the next codes.
    fn peek(&mut self, most: usize) -> Result<&[u32]> {
        if self.unpacked != self.next / VECTOR {
            self.text.codes.unpack(self.next / VECTOR, self.buffer)?;
            self.unpacked = self.next / VECTOR;
        }
        let from = self.next % VECTOR;
        let to = VECTOR.min(from + most.min(self.end.saturating_sub(self.next)));
        let codes = self.buffer.get(from..to).filter(|codes| !codes.is_empty());
        codes.ok_or_else(too_few)
    }

    /// Skips the tokens that end at byte `start` or before.
    fn skip_to(&mut self, start: usize) -> Result<()> {
        let (text, v, mut most) = (self.text, self.v, MEASURED);
        while most > 0 {
            let codes = self.peek(most)?;
            let (count, bytes) = (codes.len(), text.tokens.decoded_bytes(codes));
            let bytes = bytes.ok_or_else(|| no_token(v))? as usize;
            if self.at + bytes <= start {
                self.at += bytes;
                self.next += count;
            } else {
                most /= 4;
            }
        }
        Ok(())
    }

    /// The string of `length` bytes at byte `start`.
    fn read(&mut self, start: usize, length: usize, string: &mut Vec<u8>) -> Result<()> {
        string.clear();
        if length > 0 {
            self.skip_to(start)?;
        }
        let (text, v) = (self.text, self.v);
        while string.len() < length {
            let code = self.peek(1)?.first().copied();
            let token = code.and_then(|code| text.tokens.get(code as usize));
            let token = token.ok_or_else(|| no_token(v))?;
            // A token may begin in the string before, or end in the next one.
            let before = (start + string.len()).checked_sub(self.at);
            let part = before.and_then(|before| token.get(before..));
            let part = part.ok_or_else(|| Error::internal("a token past its string"))?;
            string.extend(part.get(..length - string.len()).unwrap_or(part));
            if self.at + token.len() <= start + string.len() {
                self.at += token.len();
                self.next += 1;
            }
        }
        Ok(())
    }
}
