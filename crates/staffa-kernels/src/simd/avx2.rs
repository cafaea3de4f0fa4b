//! Operations on registers of 256 bits, by the width of their words.

use std::arch::x86_64::*;

use crate::word::{Int, Word};

/// For every mask of eight places, from the lowest byte on: the number of the value that an expansion puts
/// there, with the top bit set where it puts none.
pub(super) static EXPANDED: [u64; 256] = expanded();

const fn expanded() -> [u64; 256] {
    let mut all = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut place, mut number) = (0, 0);
        while place < 8 {
            let valid = mask >> place & 1 == 1;
            all[mask] |= (if valid { number } else { 0x80 }) << (place * 8);
            number += valid as u64;
            place += 1;
        }
        mask += 1;
    }
    all
}

/// Masks of four bits with every bit twice.
pub(super) static PAIRS: [usize; 16] = [
    0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff,
];

/// Numbers of eight words of 16 bits, one a byte, as those of their bytes: `2 n` and `2 n + 1`; the top
/// bit stays.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn numbers_of_bytes(numbers: __m128i) -> __m128i {
    let twice = _mm_unpacklo_epi8(numbers, numbers);
    let bytes = _mm_add_epi8(_mm_add_epi8(twice, twice), _mm_set1_epi16(0x0100));
    _mm_or_si128(bytes, _mm_and_si128(twice, _mm_set1_epi8(-0x80)))
}

/// Words that are moved at once; `None` for words of more than 64 bits.
pub(super) const fn few_lanes<T: Word>() -> Option<usize> {
    match T::BYTES {
        1 | 2 | 4 => Some(8),
        8 => Some(4),
        _ => None,
    }
}

/// `value` in every word.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn splat<T: Int>(value: T) -> __m256i {
    let value = value.to_u64();
    match T::BYTES {
        1 => _mm256_set1_epi8(value as i8),
        2 => _mm256_set1_epi16(value as i16),
        4 => _mm256_set1_epi32(value as i32),
        _ => _mm256_set1_epi64x(value as i64),
    }
}

/// Differences of words.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn sub<T: Int>(a: __m256i, b: __m256i) -> __m256i {
    match T::BYTES {
        1 => _mm256_sub_epi8(a, b),
        2 => _mm256_sub_epi16(a, b),
        4 => _mm256_sub_epi32(a, b),
        _ => _mm256_sub_epi64(a, b),
    }
}

/// Ones in every word of `a` that is equal to that of `b`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn equal<T: Int>(a: __m256i, b: __m256i) -> __m256i {
    match T::BYTES {
        1 => _mm256_cmpeq_epi8(a, b),
        2 => _mm256_cmpeq_epi16(a, b),
        4 => _mm256_cmpeq_epi32(a, b),
        _ => _mm256_cmpeq_epi64(a, b),
    }
}

/// Ones in every word of `a` that is at most that of `b`, both unsigned.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn at_most<T: Int>(a: __m256i, b: __m256i) -> __m256i {
    match T::BYTES {
        1 => _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a),
        2 => _mm256_cmpeq_epi16(_mm256_min_epu16(a, b), a),
        4 => _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a),
        _ => {
            // Signed words are compared.
            let top = _mm256_set1_epi64x(i64::MIN);
            let more = _mm256_cmpgt_epi64(_mm256_xor_si256(a, top), _mm256_xor_si256(b, top));
            _mm256_xor_si256(more, _mm256_set1_epi64x(-1))
        }
    }
}

/// A bit for each of 64 words: the top bit of the word in `word(i)`, register `i` of them. Words of 8 and of 16 bits
/// must be all ones or all zeros.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn bits_of<T: Int>(word: impl Fn(usize) -> __m256i) -> u64 {
    let bytes = |bytes: __m256i| u64::from(_mm256_movemask_epi8(bytes).cast_unsigned());
    match T::BYTES {
        1 => bytes(word(0)) | bytes(word(1)) << 32,
        2 => {
            // Packs work on each half of a register by itself.
            let packed = |i| {
                let packed = _mm256_packs_epi16(word(i), word(i + 1));
                bytes(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
            };
            packed(0) | packed(2) << 32
        }
        4 => (0..8).fold(0, |bits, i| {
            let own = _mm256_movemask_ps(_mm256_castsi256_ps(word(i)));
            bits | u64::from(own.cast_unsigned()) << (i * 8)
        }),
        _ => (0..16).fold(0, |bits, i| {
            let own = _mm256_movemask_pd(_mm256_castsi256_pd(word(i)));
            bits | u64::from(own.cast_unsigned()) << (i * 4)
        }),
    }
}
