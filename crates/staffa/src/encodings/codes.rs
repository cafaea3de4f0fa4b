//! Byte strings by codes: how dictionary, run-end and frequency decode a vector of them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::BytesDict;

use super::common::places;
use crate::decode::{DictionaryStrings, Scratch, StringTest, no_code};
use crate::error::{Error, Result};
use crate::values::{Bitmap, vector_len};

/// What `f` makes of the codes of vector `v`, which has `rows`.
fn with_codes<R>(
    dictionary: &impl DictionaryStrings,
    v: usize,
    rows: usize,
    cx: &mut Scratch,
    f: impl FnOnce(&BytesDict, &[u32]) -> Option<R>,
) -> Result<R> {
    let strings = dictionary.strings()?;
    let mut buffer = cx.take_u32();
    let codes = places(&mut buffer, rows)?;
    dictionary.codes(v, cx, codes)?;
    let result = f(strings, codes).ok_or_else(|| {
        if codes.iter().any(|code| *code as usize >= strings.len()) {
            no_code(codes, strings.len())
        } else {
            Error::corrupt("strings longer than declared")
        }
    });
    cx.give_u32(buffer);
    result
}

/// Bytes of the strings of vector `v`, of `len` in all.
pub(super) fn vector_bytes(
    dictionary: &impl DictionaryStrings,
    len: usize,
    v: usize,
    cx: &mut Scratch,
) -> Result<usize> {
    let bytes = with_codes(
        dictionary,
        v,
        vector_len(len, v),
        cx,
        BytesDict::gathered_bytes,
    )?;
    Ok(bytes as usize)
}

/// Strings of vector `v`, one after another, and their lengths.
pub(super) fn vector(
    dictionary: &impl DictionaryStrings,
    v: usize,
    cx: &mut Scratch,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Result<usize> {
    let rows = lengths.len();
    with_codes(dictionary, v, rows, cx, |strings, codes| {
        strings.gather(codes, lengths, out)
    })
}

/// Which strings of a dictionary pass.
pub(super) fn passing(strings: &BytesDict, test: &StringTest<'_>) -> Bitmap {
    (0..strings.len())
        .map(|i| strings.get(i).is_some_and(test.passes))
        .collect()
}
