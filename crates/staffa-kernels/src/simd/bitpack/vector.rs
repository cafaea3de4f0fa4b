//! Bit packing: 1,024 values of `width` bits, interleaved as in `FastLanes`, so that plain loops
//! vectorise.
//!
//!   packed = width rows of 128 bytes; for a type of B bits, LANES = 1024 / B words of B bits to
//!   the row
//!   value  = row * LANES + lane        row in 0..B, lane in 0..LANES: values stay in order
//!   lane   = its B values one after another, a little-endian bit string, in the words lane, LANES
//!   + lane, ...
//!   tail   = fewer than 1,024 values: one consecutive little-endian bit string, ceil(len * width /
//!   8) bytes
//!
//! Row `r` of the values begins at bit `r * width` of every lane: one shift for a whole row, and a
//! second one where it reaches into the next word. Any byte alignment. Afroozeh and Boncz, The
//! `FastLanes` Compression Layout, VLDB 2023 (their layout also permutes the rows, for delta with a
//! base per lane; we keep one base, and the rows in order).

use crate::VECTOR;
use crate::simd::dispatch::dispatch;
use crate::word::{Int, as_bytes};
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does.
use std::arch::x86_64::*;

/// Bytes of one row of words: 1,024 bits.
const ROW: usize = 128;

/// Bytes of 1,024 packed values.
#[inline]
pub fn packed_bytes(width: u32) -> usize {
    ROW * width as usize
}

/// Bytes of a packed tail: `ceil(len * width / 8)`.
#[inline]
pub fn tail_bytes(len: usize, width: u32) -> usize {
    len.saturating_mul(width as usize).div_ceil(8)
}

/// Appends the packed form of exactly 1,024 values, each cut to its low `width` bits.
///
/// `false` when there are not 1,024 values or `width` is above the type's.
#[inline]
pub fn pack<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool {
    T::pack(values, width, out)
}

/// `out[i] = base + unpacked[i]`, wrapping.
///
/// `false` unless `width` is at most the type's, `packed` has [`packed_bytes`] and `out` has 1,024
/// values.
#[inline]
pub fn unpack<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    T::unpack(packed, width, base, out)
}

/// 1,024 packed values, as [`unpack`] takes them.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a, T> {
    /// The bits.
    pub packed: &'a [u8],
    /// Bits of each.
    pub width: u32,
    /// Added to each, wrapping.
    pub base: T,
}

/// One of 1,024 packed values; `None` where [`unpack`] is `false` or `index` is not below 1,024.
#[inline]
pub fn unpack_one<T: Int>(packed: &[u8], width: u32, index: usize) -> Option<T> {
    if width > T::BITS || packed.len() != packed_bytes(width) || index >= VECTOR {
        return None;
    }
    if width == 0 {
        return Some(T::ZERO);
    }
    let lanes = VECTOR / T::BITS as usize;
    let (row, lane) = (index / lanes, index % lanes);
    let (word, shift) = place::<T>(row, width);
    let read = |word: usize| T::read_le(packed.get((word * lanes + lane) * T::BYTES..)?);
    let mut value = read(word)? >> shift;
    if shift + width > T::BITS {
        value = value | (read(word + 1)? << (T::BITS - shift));
    }
    Some(value & mask(width))
}

/// Appends any number of values as one bit string, each cut to its low `width` bits; `false` when
/// `width` is above the type's.
#[inline]
pub fn pack_tail<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool {
    T::pack_tail(values, width, out)
}

/// `out[i] = base + unpacked[i]`, wrapping, of a bit string; `false` unless `width` is at most the
/// type's and `packed` has
/// [`tail_bytes`].
#[inline]
pub fn unpack_tail<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    T::unpack_tail(packed, width, base, out)
}

/// One value of a bit string; `None` when it is not wholly inside, or `width` is above the type's.
#[inline]
pub fn unpack_one_tail<T: Int>(packed: &[u8], width: u32, index: usize) -> Option<T> {
    let end = index.checked_add(1)?.checked_mul(width as usize)?;
    if width > T::BITS || end.div_ceil(8) > packed.len() {
        return None;
    }
    Some(T::from_u64(read_bits(packed, end - width as usize, width)))
}

/// The low `width` bits.
#[inline(always)]
fn mask<T: Int>(width: u32) -> T {
    if width == 0 {
        T::ZERO
    } else {
        T::MAX >> (T::BITS - width)
    }
}

/// Where a row of values begins: (row of words, bit inside of the word).
#[inline(always)]
fn place<T: Int>(row: usize, width: u32) -> (usize, u32) {
    let bit = row as u32 * width;
    ((bit / T::BITS) as usize, bit % T::BITS)
}

dispatch! { pub(crate) fn pack_ints<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool = pack_body; }

#[inline(always)]
fn pack_body<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool {
    if width > T::BITS || values.len() != VECTOR {
        return false;
    }
    let lanes = VECTOR / T::BITS as usize;
    let mask = mask::<T>(width);
    let mut words = [T::ZERO; VECTOR];
    for (row, values) in values.chunks_exact(lanes).enumerate() {
        let (word, shift) = place::<T>(row, width);
        if word >= width as usize {
            break; // Width 0: no words.
        }
        for (word, &value) in words[word * lanes..][..lanes].iter_mut().zip(values) {
            *word = *word | ((value & mask) << shift);
        }
        if shift + width > T::BITS {
            for (word, &value) in words[(word + 1) * lanes..][..lanes].iter_mut().zip(values) {
                *word = *word | ((value & mask) >> (T::BITS - shift));
            }
        }
    }
    out.extend_from_slice(&as_bytes(&words)[..packed_bytes(width)]);
    true
}

dispatch! {
    pub(crate) fn unpack_ints<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool
        = unpack_body, avx2: unpack_body, avx512: unpack_avx512;
}

/// Two registers a row, whatever the type: what the compiler makes of the plain loop takes half as
/// long again.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn unpack_avx512<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    if T::BYTES == 1 || width == 0 || out.len() != VECTOR {
        return unpack_body(packed, width, base, out);
    }
    rows_avx512(packed, width, base, |i, found| {
        // SAFETY: the values of a register from `i` on are among the 1,024.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(i).cast(), found) };
    })
}

/// Gives `put(i, values)` a register of unpacked values above `base` after another, `i` being the
/// number of the first; every one of them lies below 1,024. Not of bytes. `false` unless the width
/// is 1 to the type's and fits `packed`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(crate) fn rows_avx512<T: Int>(
    packed: &[u8],
    width: u32,
    base: T,
    mut put: impl FnMut(usize, __m512i),
) -> bool {
    if width == 0 || width > T::BITS || packed.len() != packed_bytes(width) {
        return false;
    }
    let splat = |value: T| match T::BYTES {
        2 => _mm512_set1_epi16(value.to_u64() as i16),
        4 => _mm512_set1_epi32(value.to_u64() as i32),
        _ => _mm512_set1_epi64(value.to_u64() as i64),
    };
    let right = |word, bits| match T::BYTES {
        2 => _mm512_srl_epi16(word, bits),
        4 => _mm512_srl_epi32(word, bits),
        _ => _mm512_srl_epi64(word, bits),
    };
    let left = |word, bits| match T::BYTES {
        2 => _mm512_sll_epi16(word, bits),
        4 => _mm512_sll_epi32(word, bits),
        _ => _mm512_sll_epi64(word, bits),
    };
    let above = |values| match T::BYTES {
        2 => _mm512_add_epi16(splat(base), values),
        4 => _mm512_add_epi32(splat(base), values),
        _ => _mm512_add_epi64(splat(base), values),
    };
    let mask = splat(mask::<T>(width));
    let lanes = VECTOR / T::BITS as usize;
    for row in 0..T::BITS as usize {
        let (word, shift) = place::<T>(row, width);
        // SAFETY (all reads): as in `unpack_body`; two registers of 64 bytes are a row of words.
        let read = |word: usize, half: usize| unsafe {
            _mm512_loadu_si512(packed.as_ptr().add(word * ROW + half * 64).cast())
        };
        let down = _mm_cvtsi32_si128(shift as i32);
        if shift + width <= T::BITS {
            for half in 0..2 {
                let low = right(read(word, half), down);
                put(
                    row * lanes + half * lanes / 2,
                    above(_mm512_and_si512(low, mask)),
                );
            }
        } else {
            let up = _mm_cvtsi32_si128((T::BITS - shift) as i32);
            for half in 0..2 {
                let (low, high) = (
                    right(read(word, half), down),
                    left(read(word + 1, half), up),
                );
                put(
                    row * lanes + half * lanes / 2,
                    above(_mm512_and_si512(_mm512_or_si512(low, high), mask)),
                );
            }
        }
    }
    true
}

/// [`rows_avx512`] of registers half as long, and only of 64 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn rows_avx2(
    packed: &[u8],
    width: u32,
    base: u64,
    mut put: impl FnMut(usize, __m256i),
) -> bool {
    if width == 0 || width > 64 || packed.len() != packed_bytes(width) {
        return false;
    }
    let (mask, base) = (
        _mm256_set1_epi64x(mask::<u64>(width) as i64),
        _mm256_set1_epi64x(base as i64),
    );
    for row in 0..64 {
        let (word, shift) = place::<u64>(row, width);
        // SAFETY (all reads): as in `unpack_body`; four registers of 32 bytes are a row of words.
        let read = |word: usize, part: usize| unsafe {
            _mm256_loadu_si256(packed.as_ptr().add(word * ROW + part * 32).cast())
        };
        let down = _mm_cvtsi32_si128(shift as i32);
        if shift + width <= 64 {
            for part in 0..4 {
                let low = _mm256_srl_epi64(read(word, part), down);
                put(
                    row * 16 + part * 4,
                    _mm256_add_epi64(base, _mm256_and_si256(low, mask)),
                );
            }
        } else {
            let up = _mm_cvtsi32_si128((64 - shift) as i32);
            for part in 0..4 {
                let (low, high) = (
                    _mm256_srl_epi64(read(word, part), down),
                    _mm256_sll_epi64(read(word + 1, part), up),
                );
                put(
                    row * 16 + part * 4,
                    _mm256_add_epi64(base, _mm256_and_si256(_mm256_or_si256(low, high), mask)),
                );
            }
        }
    }
    true
}

#[inline(always)]
fn unpack_body<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    if width > T::BITS || packed.len() != packed_bytes(width) || out.len() != VECTOR {
        return false;
    }
    if width == 0 {
        out.fill(base);
        return true;
    }
    let lanes = VECTOR / T::BITS as usize;
    let mask = mask::<T>(width);
    let words = packed.as_ptr().cast::<T>();
    for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
        let (word, shift) = place::<T>(row, width);
        // SAFETY (both reads): the last bit of the last row is bit `BITS * width` of a lane, so
        // `word`, and `word + 1` where the row reaches into it, are below `width`; `packed` has
        // `width` rows of `lanes` words.
        if shift + width <= T::BITS {
            for (lane, out) in out.iter_mut().enumerate() {
                let low = unsafe { words.add(word * lanes + lane).read_unaligned() } >> shift;
                *out = base.wrapping_add(low & mask);
            }
        } else {
            for (lane, out) in out.iter_mut().enumerate() {
                let low = unsafe { words.add(word * lanes + lane).read_unaligned() } >> shift;
                let high = unsafe { words.add((word + 1) * lanes + lane).read_unaligned() }
                    << (T::BITS - shift);
                *out = base.wrapping_add((low | high) & mask);
            }
        }
    }
    true
}

pub(crate) fn pack_tail_ints<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool {
    if width > T::BITS {
        return false;
    }
    let mask = mask::<T>(width);
    out.reserve(tail_bytes(values.len(), width));
    let (mut held, mut bits) = (0u128, 0);
    for &value in values {
        held |= u128::from((value & mask).to_u64()) << bits;
        bits += width;
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(held as u8);
    }
    true
}

dispatch! {
    pub(crate) fn unpack_tail_ints<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool = unpack_tail_body;
}

#[inline(always)]
fn unpack_tail_body<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    if width > T::BITS || packed.len() != tail_bytes(out.len(), width) {
        return false;
    }
    let mut bit = 0;
    let mut out = out;
    if width <= 56 {
        // Up to 7 bits of the byte before and 56 of the value fit into eight bytes; the last few
        // have fewer behind them.
        let whole = (packed.len().saturating_sub(8) * 8)
            .checked_div(width as usize)
            .unwrap_or(0)
            .min(out.len());
        let mask = mask::<u64>(width);
        let (head, tail) = out.split_at_mut(whole);
        for out in head {
            // SAFETY: the value ends `8 * (packed.len() - 8)` bits from the start, or before that.
            let bytes = unsafe { packed.as_ptr().add(bit / 8).cast::<u64>().read_unaligned() };
            *out = base.wrapping_add(T::from_u64((u64::from_le(bytes) >> (bit % 8)) & mask));
            bit += width as usize;
        }
        out = tail;
    }
    for out in out {
        *out = base.wrapping_add(T::from_u64(read_bits(packed, bit, width)));
        bit += width as usize;
    }
    true
}

/// `width` bits from `bit`; bits past the end are zero.
#[inline(always)]
fn read_bits(packed: &[u8], bit: usize, width: u32) -> u64 {
    let rest = packed.get(bit / 8..).unwrap_or(&[]);
    // Up to 7 bits of the byte before and 64 of the value: more than eight bytes.
    let word = if let Some(chunk) = rest.first_chunk::<16>() {
        u128::from_le_bytes(*chunk)
    } else {
        let mut chunk = [0; 16];
        chunk[..rest.len()].copy_from_slice(rest);
        u128::from_le_bytes(chunk)
    };
    (word >> (bit % 8)) as u64 & mask::<u64>(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    /// Bit by bit, as the head of this file says it.
    fn scalar_pack<T: Int>(values: &[T], width: u32) -> Vec<u8> {
        let lanes = VECTOR / T::BITS as usize;
        let mut packed = vec![0; packed_bytes(width)];
        for (i, value) in values.iter().enumerate() {
            for b in 0..width as usize {
                let lane_bit = (i / lanes) * width as usize + b;
                let word = lane_bit / T::BITS as usize * lanes + i % lanes;
                let bit = word * T::BITS as usize + lane_bit % T::BITS as usize;
                packed[bit / 8] |= (((value.to_u64() >> b) & 1) as u8) << (bit % 8);
            }
        }
        packed
    }

    fn scalar_pack_tail<T: Int>(values: &[T], width: u32) -> Vec<u8> {
        let mut packed = vec![0; tail_bytes(values.len(), width)];
        for (i, value) in values.iter().enumerate() {
            for b in 0..width as usize {
                let bit = i * width as usize + b;
                packed[bit / 8] |= (((value.to_u64() >> b) & 1) as u8) << (bit % 8);
            }
        }
        packed
    }

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for width in 0..=T::BITS {
            let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
            let base = T::from_u64(rng.next());
            let cut: Vec<T> = values.iter().map(|&v| v & mask(width)).collect();
            let expected: Vec<T> = cut.iter().map(|&v| base.wrapping_add(v)).collect();

            // One byte in front, so that the words are misaligned.
            let mut packed = vec![9];
            assert!(pack(&values, width, &mut packed));
            let packed = &packed[1..];
            assert_eq!(packed, scalar_pack(&values, width));
            let mut out = vec![T::ZERO; VECTOR];
            assert!(unpack(packed, width, base, &mut out));
            assert_eq!(out, expected, "width {width}");
            for (i, &value) in cut.iter().enumerate() {
                assert_eq!(unpack_one(packed, width, i), Some(value));
            }
            assert_eq!(unpack_one::<T>(packed, width, VECTOR), None);
            assert!(!unpack(packed, width + 1, base, &mut out));
            assert!(!unpack(packed, width, base, &mut out[1..]));
            assert!(width == 0 || !unpack(&packed[1..], width, base, &mut out));
            assert!(!pack(&values[1..], width, &mut Vec::new()));

            for len in [0, 1, 7, 8, 100, 1023] {
                let mut packed = vec![9];
                assert!(pack_tail(&values[..len], width, &mut packed));
                let packed = &packed[1..];
                assert_eq!(packed, scalar_pack_tail(&values[..len], width));
                assert!(unpack_tail(packed, width, base, &mut out[..len]));
                assert_eq!(out[..len], expected[..len], "width {width}");
                for (i, &value) in cut[..len].iter().enumerate() {
                    assert_eq!(unpack_one_tail(packed, width, i), Some(value));
                }
                assert!(
                    packed.is_empty() || !unpack_tail(&packed[1..], width, base, &mut out[..len])
                );
                assert_eq!(
                    unpack_one_tail::<T>(packed, width, len + 8).is_none(),
                    width > 0
                );
            }
        }
        let too_wide = T::BITS + 1;
        let values = vec![T::ZERO; VECTOR];
        assert!(
            !pack(&values, too_wide, &mut Vec::new())
                && !pack_tail(&values, too_wide, &mut Vec::new())
        );
        assert!(!unpack(
            &vec![0; packed_bytes(too_wide)],
            too_wide,
            T::ZERO,
            &mut values.clone()
        ));
        assert!(!unpack_tail(
            &vec![0; packed_bytes(too_wide)],
            too_wide,
            T::ZERO,
            &mut values.clone()
        ));
        assert_eq!(
            unpack_one::<T>(&vec![0; packed_bytes(too_wide)], too_wide, 0),
            None
        );
        assert_eq!(unpack_one_tail::<T>(&[0; 100], too_wide, 0), None);
        assert_eq!(unpack_one_tail::<T>(&[0; 100], u32::MAX, usize::MAX), None);
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            agree::<u8>();
            agree::<u16>();
            agree::<u32>();
            agree::<u64>();
        });
    }
}
