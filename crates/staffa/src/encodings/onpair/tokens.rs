//! Tokens of [`OnPair`](super::OnPair), and the codes of a text by the longest token at each place.

use staffa_kernels::TokenMatcher;

use super::super::packed::pack_vector;
use super::super::prelude::*;
use super::codes::put_groups;
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
}

impl Tokens {
    /// With a token for each of some bytes, and room for `most`.
    pub(super) fn of_bytes(bytes: &[u8], most: usize) -> Self {
        Self {
            strings: bytes.chunks(1).collect(),
            matcher: TokenMatcher::new(bytes, most),
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

    /// The payload, tokens, ends and codes, and the number of codes.
    pub(super) fn payload(&self, strings: Strings<'_>) -> Result<(Vec<u8>, usize)> {
        let mut payload = self.head(strings.contents().len() / 2);
        // The codes of vectors that follow each other, and where those of each end.
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
        let mut codes = Vec::new();
        for (part, ends) in map_parallel((0..strings.len()).step_by(PART), of_part)? {
            let before = codes.len();
            payload.extend(
                ends.iter()
                    .flat_map(|end| ((before + end) as u32).to_le_bytes()),
            );
            codes.extend(part);
        }
        put_groups(&codes, &self.strings.as_strings().lengths(), &mut payload)?;
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, self.width(), &mut payload);
        }
        Ok((payload, codes.len()))
    }

    /// A payload as long as that of the strings, about, with zeros for ends and codes.
    pub(super) fn sized_payload(&self, strings: Strings<'_>) -> Vec<u8> {
        let ends = 4 * strings.len().div_ceil(VECTOR);
        let codes = self.estimated_bytes(strings.contents(), 2 * TRIED);
        let mut payload = self.head(ends + codes);
        payload.resize(payload.len() + ends + codes, 0);
        payload
    }

    /// The number of tokens and the tokens, with room for `more` bytes.
    fn head(&self, more: usize) -> Vec<u8> {
        let strings = self.strings.as_strings();
        let mut head = Vec::with_capacity(2 + self.table_bytes() + more);
        head.extend((strings.len() as u16 - 1).to_le_bytes());
        head.extend(strings.lengths().iter().map(|len| *len as u8));
        head.extend_from_slice(&self.strings.data);
        head
    }

    pub(super) fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}
