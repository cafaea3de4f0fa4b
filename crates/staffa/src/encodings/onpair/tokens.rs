//! Tokens of [`OnPair`](super::OnPair), and the codes of a text by the longest token at each place.

use staffa_kernels::TokenMatcher;

use super::super::packed::pack_vector;
use super::super::prelude::*;
use super::codes::put_groups;
use super::rare::Paying;
use super::table::{code_width, strings_of};
use super::train::TRIED;
use crate::limits::map_parallel;
use crate::values::{Strings, StringsBuf, distinct_bytes};

/// Strings that a thread encodes at once.
const PART: usize = 4 * VECTOR;

/// The tokens of one byte, which are the first.
fn first_bytes<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Vec<u8> {
    let single = |token: &'t [u8]| match token {
        [byte] => Some(*byte),
        _ => None,
    };
    tokens.map_while(single).collect()
}

/// Tokens, and what finds the longest one at a place of a text.
pub(super) struct Tokens {
    pub(super) strings: StringsBuf,
    pub(super) matcher: TokenMatcher,
    /// The pairs that all but tokens of one byte were joined from, in training: then those that do not pay can be
    /// replaced.
    pub(super) pairs: Vec<[u32; 2]>,
}

impl Tokens {
    /// With a token for each of some bytes, and room for `most`.
    pub(super) fn of_bytes(bytes: &[u8], most: usize) -> Self {
        Self {
            strings: bytes.chunks(1).collect(),
            matcher: TokenMatcher::new(bytes, most),
            pairs: Vec::new(),
        }
    }

    /// With these tokens, those of one byte first, and room for `most`.
    pub(super) fn of_list<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone, most: usize) -> Self {
        let bytes = first_bytes(tokens.clone());
        let mut list = Self::of_bytes(&bytes, most);
        for token in tokens.skip(bytes.len()) {
            list.add(token);
        }
        list
    }

    /// The tokens of a [table](super::table::table).
    pub(super) fn read(table: &[u8]) -> Option<Self> {
        let strings = strings_of(table)?;
        let strings = strings.as_strings();
        Some(Self::of_list(strings.iter(), strings.len()))
    }

    /// Adds a token; false where it is there.
    pub(super) fn add(&mut self, token: &[u8]) -> bool {
        let is_new = self.matcher.add(token);
        if is_new {
            self.strings.push(token);
        }
        is_new
    }

    /// None of them is to be replaced: other blocks use them, too.
    pub(super) fn for_all_blocks(mut self) -> Self {
        self.pairs.clear();
        self
    }

    /// Number of codes of parts of a text.
    pub(super) fn count(&self, parts: &[&[u8]]) -> usize {
        let mut codes = Vec::new();
        for part in parts {
            self.matcher.codes(part, &mut codes);
        }
        codes.len()
    }

    /// Whether every byte of a text has a token.
    pub(super) fn knows(&self, text: &[u8]) -> bool {
        let known = first_bytes(self.strings.as_strings().iter());
        text.is_empty()
            || distinct_bytes(&[text])
                .iter()
                .all(|byte| known.contains(byte))
    }

    /// The payload, tokens, ends and codes, and the number of codes; without the tokens that do not pay.
    pub(super) fn payload(&self, strings: Strings<'_>) -> Result<(Vec<u8>, usize)> {
        let (mut codes, mut ends) = self.codes(strings)?;
        let all = self.strings.as_strings();
        let paying = Paying::of(all, &self.pairs, &codes)?;
        if let Some(paying) = &paying {
            let replaced = paying.replace(&codes, &mut ends);
            codes = replaced.ok_or_else(|| Error::internal("a code of no token"))?;
        }
        let tokens = paying
            .as_ref()
            .map_or(all, |paying| paying.tokens.as_strings());
        let mut payload = head(tokens, strings.contents().len() / 2);
        payload.extend(ends.iter().flat_map(|end| (*end as u32).to_le_bytes()));
        put_groups(&codes, &tokens.lengths(), &mut payload)?;
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, code_width(tokens.len()), &mut payload);
        }
        Ok((payload, codes.len()))
    }

    /// The codes of strings, and where those of each vector end.
    fn codes(&self, strings: Strings<'_>) -> Result<(Vec<u32>, Vec<usize>)> {
        let of_part = |first: usize| -> Result<(Vec<u32>, Vec<usize>)> {
            let (mut codes, mut ends) = (Vec::new(), Vec::new());
            let behind = strings.len().min(first + PART);
            for first in (first..behind).step_by(VECTOR) {
                let rows = strings.slice(first, VECTOR.min(behind - first));
                self.matcher.codes(rows.contents(), &mut codes);
                ends.push(codes.len());
            }
            Ok((codes, ends))
        };
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        for (part, ends_in_part) in map_parallel((0..strings.len()).step_by(PART), of_part)? {
            ends.extend(ends_in_part.iter().map(|end| codes.len() + end));
            codes.extend(part);
        }
        Ok((codes, ends))
    }

    /// A payload as long as that of the strings, about, with zeros for ends and codes.
    pub(super) fn sized_payload(&self, strings: Strings<'_>) -> Vec<u8> {
        let ends = 4 * strings.len().div_ceil(VECTOR);
        let codes = self.estimated_bytes(strings.contents(), 2 * TRIED);
        let mut payload = head(self.strings.as_strings(), ends + codes);
        payload.resize(payload.len() + ends + codes, 0);
        payload
    }

    pub(super) fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}

/// The number of tokens and the tokens, with room for `more` bytes.
fn head(tokens: Strings<'_>, more: usize) -> Vec<u8> {
    let bytes = tokens.contents();
    let mut head = Vec::with_capacity(2 + tokens.len() + bytes.len() + more);
    head.extend((tokens.len() as u16 - 1).to_le_bytes());
    head.extend(tokens.lengths().iter().map(|len| *len as u8));
    head.extend_from_slice(bytes);
    head
}
