//! The table of tokens in a payload of [`OnPair`](super::OnPair).

pub(super) use staffa_kernels::LONGEST_TOKEN as LONGEST;

use crate::values::StringsBuf;

/// In place of the number of tokens where they are in a shared dictionary.
pub(super) const SHARED: u16 = u16::MAX;

/// The table of a payload that has its own tokens: their number, their lengths, their bytes.
pub(super) fn table(payload: &[u8]) -> Option<&[u8]> {
    let count = u16::from_le_bytes(*payload.first_chunk()?);
    if count == SHARED {
        return None;
    }
    let lengths = 2 + usize::from(count) + 1;
    let bytes: usize = payload
        .get(2..lengths)?
        .iter()
        .map(|len| usize::from(*len))
        .sum();
    payload.get(..lengths + bytes)
}

/// The tokens of a table, as strings.
pub(super) fn strings_of(table: &[u8]) -> Option<StringsBuf> {
    let count = usize::from(u16::from_le_bytes(*table.first_chunk()?)) + 1;
    let (lengths, mut bytes) = table.get(2..)?.split_at_checked(count)?;
    let mut tokens = StringsBuf::new();
    for len in lengths {
        let (token, rest) = bytes.split_at_checked(usize::from(*len))?;
        tokens.push(token);
        bytes = rest;
    }
    Some(tokens)
}

/// Bits of a code among `tokens`.
pub(super) fn code_width(tokens: usize) -> u32 {
    usize::BITS - tokens.saturating_sub(1).leading_zeros()
}
