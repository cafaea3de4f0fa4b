//! Operations on registers of 512 bits, by the width of their words.

use std::arch::x86_64::*;

use crate::word::{Int, Word};

/// The intrinsic for the bytes of a word; the last one stands for all other widths.
macro_rules! by_bytes {
    ($T:ty, $args:tt: $($bytes:literal $name:ident)*, else $last:ident) => {
        match <$T>::BYTES {
            $($bytes => $name $args,)*
            _ => $last $args,
        }
    };
}

/// Words in a register.
pub(super) const fn lanes<T: Word>() -> usize {
    64 / T::BYTES
}

/// Whether words have 32 or 64 bits, which AVX-512 F compresses and expands.
pub(super) const fn is_wide<T: Word>() -> bool {
    matches!(T::BYTES, 4 | 8)
}

/// `value` in every word.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn splat<T: Int>(value: T) -> __m512i {
    let value = value.to_u64();
    match T::BYTES {
        1 => _mm512_set1_epi8(value as i8),
        2 => _mm512_set1_epi16(value as i16),
        4 => _mm512_set1_epi32(value as i32),
        _ => _mm512_set1_epi64(value as i64),
    }
}

/// Sums of words.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn add<T: Int>(a: __m512i, b: __m512i) -> __m512i {
    by_bytes!(T, (a, b): 1 _mm512_add_epi8 2 _mm512_add_epi16 4 _mm512_add_epi32, else _mm512_add_epi64)
}

/// Differences of words.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn sub<T: Int>(a: __m512i, b: __m512i) -> __m512i {
    by_bytes!(T, (a, b): 1 _mm512_sub_epi8 2 _mm512_sub_epi16 4 _mm512_sub_epi32, else _mm512_sub_epi64)
}

/// The bits of a shift, for all words.
#[inline]
pub(super) fn shift(bits: u32) -> __m128i {
    // SAFETY: every x86-64 has the instruction.
    unsafe { _mm_cvtsi32_si128(bits as i32) }
}

/// Words shifted right, of 16 bits or more.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn shift_right<T: Int>(words: __m512i, bits: __m128i) -> __m512i {
    by_bytes!(T, (words, bits): 2 _mm512_srl_epi16 4 _mm512_srl_epi32, else _mm512_srl_epi64)
}

/// Words shifted left, of 16 bits or more.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn shift_left<T: Int>(words: __m512i, bits: __m128i) -> __m512i {
    by_bytes!(T, (words, bits): 2 _mm512_sll_epi16 4 _mm512_sll_epi32, else _mm512_sll_epi64)
}

/// A bit for every word of `a` that is at most that of `b`, both unsigned.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn at_most<T: Int>(a: __m512i, b: __m512i) -> u64 {
    match T::BYTES {
        1 => _mm512_cmple_epu8_mask(a, b),
        2 => _mm512_cmple_epu16_mask(a, b).into(),
        4 => _mm512_cmple_epu32_mask(a, b).into(),
        _ => _mm512_cmple_epu64_mask(a, b).into(),
    }
}

/// A bit for every word of `a` that is equal to that of `b`, of 32 or 64 bits.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn equal<T: Int>(a: __m512i, b: __m512i) -> u16 {
    match T::BYTES {
        4 => _mm512_cmpeq_epi32_mask(a, b),
        _ => _mm512_cmpeq_epi64_mask(a, b).into(),
    }
}

/// The words whose bit is set, moved to the front, of 32 or 64 bits; zeros behind them.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn compress<T: Word>(mask: u16, words: __m512i) -> __m512i {
    match T::BYTES {
        4 => _mm512_maskz_compress_epi32(mask, words),
        _ => _mm512_maskz_compress_epi64(mask as u8, words),
    }
}

/// The first of `words`, moved to the places whose bit is set, of 32 or 64 bits; those of `others`
/// in the other places.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn expand<T: Word>(others: __m512i, mask: u16, words: __m512i) -> __m512i {
    match T::BYTES {
        4 => _mm512_mask_expand_epi32(others, mask, words),
        _ => _mm512_mask_expand_epi64(others, mask as u8, words),
    }
}

/// Stores the words whose bit is set, of 32 or 64 bits.
///
/// # Safety
/// `to` must be valid for writes of these words.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn store<T: Word>(to: *mut T, mask: u16, words: __m512i) {
    // SAFETY: the caller's.
    unsafe {
        match T::BYTES {
            4 => _mm512_mask_storeu_epi32(to.cast(), mask, words),
            _ => _mm512_mask_storeu_epi64(to.cast(), mask as u8, words),
        }
    }
}
