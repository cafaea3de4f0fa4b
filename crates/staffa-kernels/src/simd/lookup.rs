//! Bytes by their codes, of a table of at most 128 bytes that stays in registers.
//!
//! A register looks up in a part of 16 bytes at once. Codes less the first place of the part are 0 to 15
//! where they belong to it; a saturating addition of 112 sets the highest bit of all others, for which
//! the shuffle gives 0.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    uint8x16_t, vdupq_n_u8, vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8, vsubq_u8,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::dispatch::dispatch;

/// Bytes of a part of the table.
const PART: usize = 16;
/// Most bytes of a table.
#[cfg(any(test, not(target_arch = "aarch64")))]
const MOST: usize = 128;

dispatch! {
    /// Writes the byte of each code to `out`, as many as both have; 0 for a code past the table, which has at
    /// most 128 bytes: others count as past it.
    ///
    /// ```
    /// let mut out = [9; 4];
    /// staffa_kernels::lookup_bytes(b"ab", &[1, 0, 1, 7], &mut out);
    /// assert_eq!(&out, b"bab\0");
    /// ```
    pub fn lookup_bytes<>(table: &[u8], codes: &[u8], out: &mut [u8])
        = lookup_base, avx2: lookup_avx2, avx512: lookup_avx512;
}

#[cfg(any(test, not(target_arch = "aarch64")))]
#[inline(always)]
fn scalar(table: &[u8], codes: &[u8], out: &mut [u8]) {
    // Every code has a place: no bound is checked.
    let mut places = [0; 256];
    let most = table.len().min(MOST);
    places[..most].copy_from_slice(&table[..most]);
    for (place, code) in out.iter_mut().zip(codes) {
        *place = places[usize::from(*code)];
    }
}

/// SSE2 has no shuffle of bytes; NEON has one.
#[inline(always)]
fn lookup_base(table: &[u8], codes: &[u8], out: &mut [u8]) {
    #[cfg(target_arch = "aarch64")]
    lookup_neon(table, codes, out);
    #[cfg(not(target_arch = "aarch64"))]
    scalar(table, codes, out);
}

/// Part `i` of a table, 0 past its end.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn part(table: &[u8], i: usize) -> [u8; PART] {
    let rest = table.get(i * PART..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut part = [0; PART];
        part[..rest.len()].copy_from_slice(rest);
        part
    })
}

/// Codes and places of `out` a register at a time, the last ones by copies of them.
macro_rules! by_registers {
    ($bytes:literal, $codes:ident, $out:ident, |$from:ident, $to:ident| $body:block) => {{
        let len = $codes.len().min($out.len());
        let (codes, rest) = $codes[..len].as_chunks::<$bytes>();
        let (out, places) = $out[..len].as_chunks_mut::<$bytes>();
        for ($from, $to) in codes.iter().zip(out) $body
        if !rest.is_empty() {
            let (mut last, mut bytes) = ([0; $bytes], [0; $bytes]);
            last[..rest.len()].copy_from_slice(rest);
            let ($from, $to) = (&last, &mut bytes);
            $body
            places.copy_from_slice(&bytes[..rest.len()]);
        }
    }};
}

/// The kernel of as many parts as the table has.
macro_rules! by_parts {
    ($kernel:ident, $table:ident, $codes:ident, $out:ident) => {
        match $table.len().div_ceil(PART) {
            0 | 1 => $kernel::<1>($table, $codes, $out),
            2 => $kernel::<2>($table, $codes, $out),
            3 | 4 => $kernel::<4>($table, $codes, $out),
            _ => $kernel::<8>($table, $codes, $out),
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn lookup_avx2(table: &[u8], codes: &[u8], out: &mut [u8]) {
    by_parts!(parts_avx2, table, codes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn parts_avx2<const N: usize>(table: &[u8], codes: &[u8], out: &mut [u8]) {
    let parts: [__m256i; N] = std::array::from_fn(|i| {
        // SAFETY: a part has 16 bytes.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(part(table, i).as_ptr().cast()) })
    });
    by_registers!(32, codes, out, |from, to| {
        // SAFETY: the array has 32 bytes.
        let codes = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
        let mut bytes = _mm256_setzero_si256();
        for (i, part) in parts.iter().enumerate() {
            let place = _mm256_sub_epi8(codes, _mm256_set1_epi8((i * PART) as i8));
            let place = _mm256_adds_epu8(place, _mm256_set1_epi8(0x70));
            bytes = _mm256_or_si256(bytes, _mm256_shuffle_epi8(*part, place));
        }
        // SAFETY: the array has 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) };
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw")]
#[inline]
fn lookup_avx512(table: &[u8], codes: &[u8], out: &mut [u8]) {
    by_parts!(parts_avx512, table, codes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw")]
#[inline]
fn parts_avx512<const N: usize>(table: &[u8], codes: &[u8], out: &mut [u8]) {
    let parts: [__m512i; N] = std::array::from_fn(|i| {
        // SAFETY: a part has 16 bytes.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(part(table, i).as_ptr().cast()) })
    });
    by_registers!(64, codes, out, |from, to| {
        // SAFETY: the array has 64 bytes.
        let codes = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
        let mut bytes = _mm512_setzero_si512();
        for (i, part) in parts.iter().enumerate() {
            let place = _mm512_sub_epi8(codes, _mm512_set1_epi8((i * PART) as i8));
            let place = _mm512_adds_epu8(place, _mm512_set1_epi8(0x70));
            bytes = _mm512_or_si512(bytes, _mm512_shuffle_epi8(*part, place));
        }
        // SAFETY: the array has 64 bytes.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) };
    });
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn lookup_neon(table: &[u8], codes: &[u8], out: &mut [u8]) {
    by_parts!(parts_neon, table, codes, out);
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn parts_neon<const N: usize>(table: &[u8], codes: &[u8], out: &mut [u8]) {
    // SAFETY: NEON is part of the architecture; a part has 16 bytes.
    let parts: [uint8x16_t; N] =
        std::array::from_fn(|i| unsafe { vld1q_u8(part(table, i).as_ptr()) });
    by_registers!(16, codes, out, |from, to| {
        // SAFETY: NEON is part of the architecture; the arrays have 16 bytes.
        unsafe {
            let codes = vld1q_u8(from.as_ptr());
            let mut bytes = vdupq_n_u8(0);
            for (i, part) in parts.iter().enumerate() {
                // A place past the part gives 0, whatever it is.
                let place = vsubq_u8(codes, vdupq_n_u8((i * PART) as u8));
                bytes = vorrq_u8(bytes, vqtbl1q_u8(*part, place));
            }
            vst1q_u8(to.as_mut_ptr(), bytes);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_single_codes() {
        on_every_level(|| {
            let mut rng = Rng(0x10_0b);
            for round in 0..400usize {
                let table: Vec<u8> = (0..round % 140).map(|_| rng.next() as u8).collect();
                let codes: Vec<u8> = (0..round).map(|_| rng.next() as u8).collect();
                let mut out = vec![1; (round + 7 - round % 15).max(1)];
                let mut twin = out.clone();
                lookup_bytes(&table, &codes, &mut out);
                scalar(&table, &codes, &mut twin);
                assert_eq!(out, twin);
                for (i, byte) in out.iter().enumerate() {
                    let place = codes.get(i).map(|code| usize::from(*code));
                    let own = |place| table.get(place).copied().filter(|_| place < MOST);
                    assert_eq!(*byte, place.map_or(1, |place| own(place).unwrap_or(0)));
                }
            }
        });
    }
}
