//! Strings that a view holds itself.

use super::copy::first_16;

/// Longest string that a view holds itself.
pub(super) const INLINE: usize = 12;

/// The view of a string that it holds itself; `None` for a longer one.
pub(super) fn inline_view(string: &[u8]) -> Option<u128> {
    let held = string.len() <= INLINE;
    held.then(|| first_16(string) << 32 | string.len() as u128)
}
