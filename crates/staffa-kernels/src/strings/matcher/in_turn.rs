//! Texts that are matched in turn.

#[cfg(target_arch = "x86_64")]
use super::equal::Avx2;
use super::equal::Equal;
#[cfg(target_arch = "aarch64")]
use super::equal::Neon as Baseline;
#[cfg(not(target_arch = "aarch64"))]
use super::equal::Plain as Baseline;
use super::longest::TokenMatcher;
use super::tier::{LONGEST_TOKEN, TokenMatch};
use crate::simd::dispatch::dispatch;
use crate::strings::copy::first_16;

/// Parts of a text that are matched in turn.
pub(super) const PARTS: usize = 4;

/// A text of fewer bytes is one part.
pub(super) const SHORT: usize = 1 << 10;

/// Tokens of a text that [`TokenMatcher::next_of_two`] finds at most.
pub const TOKENS_AT_ONCE: usize = 16;

/// Bytes of a text that are matched in parts.
pub(super) const CHUNK: usize = 1 << 14;

impl TokenMatcher {
    /// The next tokens of two texts, of each as many as are returned: at most [`TOKENS_AT_ONCE`], and none where a text
    /// has fewer than 16 bytes.
    ///
    /// ```
    /// use staffa_kernels::{TOKENS_AT_ONCE, TokenMatch, TokenMatcher};
    ///
    /// let mut tokens = TokenMatcher::new(b"ab", 100);
    /// assert!(tokens.add(b"ab"));
    /// let mut found = [[TokenMatch::NONE; TOKENS_AT_ONCE]; 2];
    /// let texts = [&b"abababababababababababababababab"[..], b"bababababababababa"];
    /// assert_eq!(tokens.next_of_two(texts, &mut found), 1);
    /// assert_eq!(found.map(|found| (found[0].code(), found[0].bytes())), [(2, 2), (1, 1)]);
    /// ```
    #[inline]
    pub fn next_of_two(
        &self,
        texts: [&[u8]; 2],
        found: &mut [[TokenMatch; TOKENS_AT_ONCE]; 2],
    ) -> usize {
        next_of_two(self, texts, found)
    }

    /// Appends the codes of a text, at each place that of the longest token. No token spans two parts: a text has four for
    /// every 16 KiB, and one for a rest of less than 1 KiB. Bytes without a token have code 0: the caller knows that there
    /// are none.
    #[inline]
    pub fn codes(&self, text: &[u8], codes: &mut Vec<u32>) {
        let mut scratch = vec![0; text.len().min(CHUNK)];
        for chunk in text.chunks(CHUNK) {
            append_codes(self, chunk, &mut scratch, codes);
        }
    }
}

dispatch! {
    fn next_of_two<>(tokens: &TokenMatcher, texts: [&[u8]; 2], found: &mut [[TokenMatch; TOKENS_AT_ONCE]; 2]) -> usize
        = next_baseline, avx2: next_avx2, avx512: next_avx2;
}

dispatch! {
    /// Appends the codes of at most [`CHUNK`] bytes.
    fn append_codes<>(tokens: &TokenMatcher, text: &[u8], scratch: &mut [u16], codes: &mut Vec<u32>)
        = codes_baseline, avx2: codes_avx2, avx512: codes_avx2;
}

fn next_baseline(
    tokens: &TokenMatcher,
    texts: [&[u8]; 2],
    found: &mut [[TokenMatch; TOKENS_AT_ONCE]; 2],
) -> usize {
    // SAFETY: every machine has the instructions.
    unsafe { next_by::<Baseline>(tokens, texts, found) }
}

/// Not compiled for AVX-512, whose masks take longer to reach a register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
fn next_avx2(
    tokens: &TokenMatcher,
    texts: [&[u8]; 2],
    found: &mut [[TokenMatch; TOKENS_AT_ONCE]; 2],
) -> usize {
    // SAFETY: the function has the instructions.
    unsafe { next_by::<Avx2>(tokens, texts, found) }
}

/// # Safety
/// As that of [`Equal::masked`].
#[inline(always)]
unsafe fn next_by<E: Equal>(
    tokens: &TokenMatcher,
    texts: [&[u8]; 2],
    [a, b]: &mut [[TokenMatch; TOKENS_AT_ONCE]; 2],
) -> usize {
    // No token takes more than `LONGEST_TOKEN`.
    let steps = texts.map(|text| text.len() / LONGEST_TOKEN);
    let steps = steps[0].min(steps[1]).min(TOKENS_AT_ONCE);
    let mut places = texts.map(<[u8]>::as_ptr);
    for (a, b) in a.iter_mut().zip(b).take(steps) {
        // SAFETY: the steps before have left `LONGEST_TOKEN` bytes.
        unsafe {
            *a = tokens.longest_by::<E>(&*places[0].cast());
            *b = tokens.longest_by::<E>(&*places[1].cast());
            places[0] = places[0].add(a.bytes());
            places[1] = places[1].add(b.bytes());
        }
    }
    steps
}

fn codes_baseline(tokens: &TokenMatcher, text: &[u8], scratch: &mut [u16], codes: &mut Vec<u32>) {
    // SAFETY: every machine has the instructions.
    unsafe { codes_by::<Baseline>(tokens, text, scratch, codes) }
}

/// As [`next_avx2`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
fn codes_avx2(tokens: &TokenMatcher, text: &[u8], scratch: &mut [u16], codes: &mut Vec<u32>) {
    // SAFETY: the function has the instructions.
    unsafe { codes_by::<Avx2>(tokens, text, scratch, codes) }
}

/// Appends one code of a part.
///
/// # Safety
/// As that of [`Equal::masked`]; the text has [`LONGEST_TOKEN`] bytes behind `at`, and there is a place `to`.
#[inline(always)]
unsafe fn step<E: Equal>(
    tokens: &TokenMatcher,
    text: &[u8],
    scratch: &mut [u16],
    at: &mut usize,
    to: &mut usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let head = text.as_ptr().add(*at).cast();
        let found = tokens.longest_by::<E>(&*head);
        *scratch.get_unchecked_mut(*to) = found.code();
        *at += found.bytes();
        *to += 1;
    }
}

/// # Safety
/// As that of [`Equal::masked`].
#[inline(always)]
unsafe fn codes_by<E: Equal>(
    tokens: &TokenMatcher,
    text: &[u8],
    scratch: &mut [u16],
    codes: &mut Vec<u32>,
) {
    assert!(scratch.len() >= text.len());
    let parts = if text.len() < SHORT { 1 } else { PARTS };
    let size = text.len().div_ceil(parts);
    let ends: [usize; PARTS] = std::array::from_fn(|part| text.len().min((part + 1) * size));
    let starts: [usize; PARTS] = std::array::from_fn(|part| text.len().min(part * size));
    // Where a part goes on, in the text and among the codes: never more codes than bytes.
    let (mut at, mut to) = (starts, starts);
    loop {
        // No token takes more than `LONGEST_TOKEN`.
        let steps = (0..PARTS)
            .map(|part| (ends[part] - at[part]) / LONGEST_TOKEN)
            .min();
        let Some(steps @ 1..) = steps else { break };
        for _ in 0..steps {
            // One after the other, so that places stand in registers.
            // SAFETY: the steps before have left `LONGEST_TOKEN` bytes of each part. No token has 0 bytes, so there are
            // never more codes than bytes; `scratch` has as many places.
            unsafe {
                step::<E>(tokens, text, scratch, &mut at[0], &mut to[0]);
                step::<E>(tokens, text, scratch, &mut at[1], &mut to[1]);
                step::<E>(tokens, text, scratch, &mut at[2], &mut to[2]);
                step::<E>(tokens, text, scratch, &mut at[3], &mut to[3]);
            }
        }
    }
    for part in 0..PARTS {
        let (mut at, mut to) = (at[part], to[part]);
        while at < ends[part] {
            let head = first_16(&text[at..]).to_le_bytes();
            // SAFETY: the caller's.
            let found = unsafe { tokens.longest_by::<E>(&head) };
            // Not over the end of the part: its bytes alone.
            let found = if found.bytes() <= ends[part] - at {
                found
            } else {
                tokens.longest(&text[at..ends[part]])
            };
            scratch[to] = found.code();
            (at, to) = (at + found.bytes(), to + 1);
        }
        codes.extend(
            scratch[starts[part]..to]
                .iter()
                .map(|code| u32::from(*code)),
        );
    }
}
