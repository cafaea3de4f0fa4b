//! Views made of strings that stand one after another.
//!
//!   view = shuffle(first 16 bytes, control of the length) | length | buffer and offset of a long one
//!
//! Neither the length nor whether a view holds the string needs a branch: in columns of names both
//! change from row to row.

use super::super::copy::first_16;
use super::super::inline::INLINE;
use crate::simd::dispatch::dispatch;
use crate::simd::{max_u32, sum_u32};

/// Bytes of a view.
const WIDE: usize = 16;

/// Whether views hold all strings of these lengths themselves.
pub(super) fn are_inline(lengths: &[u32]) -> bool {
    max_u32(lengths) as usize <= INLINE
}

/// The views of strings of these lengths, which stand one after another in `data` from `start` on;
/// longer ones refer to `buffer`, whose data this is. Returns the end of the strings.
///
/// `None` where there are not as many places as lengths, or the strings exceed the data or the range
/// of an `i32`.
pub(super) fn make_views(
    data: &[u8],
    start: usize,
    lengths: &[u32],
    buffer: u32,
    out: &mut [u128],
) -> Option<usize> {
    let end = start.checked_add(usize::try_from(sum_u32(lengths)).ok()?)?;
    if end > data.len() || i32::try_from(end).is_err() || lengths.len() != out.len() {
        return None;
    }
    make(data, start, lengths, buffer, out);
    Some(end)
}

dispatch! {
    fn make<>(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128])
        = base, avx2: wide, avx512: fours;
}

/// SSE2 has no shuffle of bytes; NEON has one.
#[inline(always)]
fn base(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128]) {
    #[cfg(target_arch = "aarch64")]
    wide(data, start, lengths, buffer, out);
    #[cfg(not(target_arch = "aarch64"))]
    scalar(data, start, lengths, buffer, out);
}

#[inline(always)]
fn scalar(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128]) {
    let mut at = start;
    for (place, &length) in out.iter_mut().zip(lengths) {
        let first = first_16(data.get(at..).unwrap_or_default());
        *place = u128::from(length)
            | if length as usize <= INLINE {
                (first & ((1 << (length * 8)) - 1)) << 32
            } else {
                (first & u128::from(u32::MAX)) << 32 | u128::from(far(buffer, at)) << 64
            };
        at += length as usize;
    }
}

/// The second half of the view of a long string.
#[inline(always)]
fn far(buffer: u32, at: usize) -> u64 {
    u64::from(buffer) | (at as u64) << 32
}

/// By the length of a string, which of its first 16 bytes stands where in its view; 0 where the top
/// bit is set. The last one is for all strings that are longer than a view holds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static CONTROLS: [[u8; WIDE]; INLINE + 2] = {
    let mut all = [[0x80; WIDE]; INLINE + 2];
    let mut length = 0;
    while length < all.len() {
        let held = if length > INLINE { 4 } else { length };
        let mut i = 0;
        while i < held {
            all[length][4 + i] = i as u8;
            i += 1;
        }
        length += 1;
    }
    all
};

/// Makes the views of strings that have 16 bytes of `data` from their start on, and the others one
/// by one. `put` shuffles and stores: the first bytes, the control, both halves of the rest.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn make_with(
    data: &[u8],
    start: usize,
    lengths: &[u32],
    buffer: u32,
    out: &mut [u128],
    put: impl Fn(&[u8; WIDE], &[u8; WIDE], [u64; 2], &mut u128),
) {
    let (mut at, mut done) = (start, 0);
    for (place, &length) in out.iter_mut().zip(lengths) {
        let Some(first) = data.get(at..).and_then(<[u8]>::first_chunk) else {
            break;
        };
        let kind = (length as usize).min(INLINE + 1);
        let is_long = u64::from(kind > INLINE).wrapping_neg();
        let rest = [u64::from(length), far(buffer, at) & is_long];
        put(first, &CONTROLS[kind], rest, place);
        at += length as usize;
        done += 1;
    }
    scalar(data, at, &lengths[done..], buffer, &mut out[done..]);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn wide(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128]) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_or_si128, _mm_set_epi64x, _mm_shuffle_epi8, _mm_storeu_si128,
    };
    make_with(
        data,
        start,
        lengths,
        buffer,
        out,
        |first, control, rest, place| {
            let [low, high] = rest.map(u64::cast_signed);
            // SAFETY: each load takes the 16 bytes of an array; the store writes those of the place.
            unsafe {
                let first = _mm_loadu_si128(first.as_ptr().cast());
                let control = _mm_loadu_si128(control.as_ptr().cast());
                let string = _mm_shuffle_epi8(first, control);
                let view = _mm_or_si128(string, _mm_set_epi64x(high, low));
                _mm_storeu_si128(std::ptr::from_mut(place).cast(), view);
            }
        },
    );
}

/// Four strings at a time, while there are 16 bytes from the start of each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn fours(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128]) {
    let (done, at) = if are_inline(lengths) {
        make_fours::<false>(data, start, lengths, buffer, out)
    } else {
        make_fours::<true>(data, start, lengths, buffer, out)
    };
    wide(data, at, &lengths[done..], buffer, &mut out[done..]);
}

/// Returns the number of strings, and where they end. Without `LONG`, all strings are held by views.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn make_fours<const LONG: bool>(
    data: &[u8],
    start: usize,
    lengths: &[u32],
    buffer: u32,
    out: &mut [u128],
) -> (usize, usize) {
    use std::arch::x86_64::{
        _mm_add_epi32, _mm_loadu_si128, _mm_set1_epi32, _mm_setr_epi8, _mm_slli_si128,
        _mm_sub_epi32, _mm256_castsi128_si256, _mm256_inserti128_si256, _mm512_broadcast_i32x4,
        _mm512_bslli_epi128, _mm512_castsi128_si512, _mm512_castsi256_si512,
        _mm512_cmpgt_epu32_mask, _mm512_cmplt_epu8_mask, _mm512_inserti64x4, _mm512_mask_mov_epi8,
        _mm512_mask_mov_epi32, _mm512_maskz_mov_epi32, _mm512_permutexvar_epi32, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_storeu_si512,
    };
    // Which byte of its string each byte of a view is.
    let bytes = _mm_setr_epi8(-1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    let bytes = _mm512_broadcast_i32x4(bytes);
    let lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    let most = _mm512_set1_epi32(INLINE as i32);
    let buffers = _mm512_set1_epi32(buffer.cast_signed());
    let (mut done, mut at) = (0, start);
    let fours = lengths.as_chunks::<4>().0.iter();
    for (four, places) in fours.zip(out.as_chunks_mut::<4>().0) {
        let mut end = at;
        let starts = four.map(|length| {
            let start = end;
            end += length as usize;
            start
        });
        if data.len() < starts[3] + WIDE {
            break;
        }
        // SAFETY: there are 16 bytes from each start on, the last being the greatest; an array of
        // lengths has 16 bytes.
        let (firsts, own) = unsafe {
            let first = |at: usize| _mm_loadu_si128(data.as_ptr().add(at).cast());
            (starts.map(first), _mm_loadu_si128(four.as_ptr().cast()))
        };
        let pair = |i: usize| {
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(firsts[i]), firsts[i + 1])
        };
        let first = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(pair(0)), pair(2));
        let spread = |words| _mm512_permutexvar_epi32(lanes, _mm512_castsi128_si512(words));
        let length = spread(own);
        let (mut held, mut rest) = (length, _mm512_maskz_mov_epi32(0x1111, length));
        if LONG {
            // The sums of the lengths before.
            let twos = _mm_add_epi32(own, _mm_slli_si128::<4>(own));
            let sums = _mm_sub_epi32(_mm_add_epi32(twos, _mm_slli_si128::<8>(twos)), own);
            let offsets = spread(_mm_add_epi32(sums, _mm_set1_epi32(at as i32)));
            let is_long = _mm512_cmpgt_epu32_mask(length, most);
            held = _mm512_mask_mov_epi32(length, is_long, _mm512_set1_epi32(4));
            rest = _mm512_mask_mov_epi32(rest, is_long & 0x4444, buffers);
            rest = _mm512_mask_mov_epi32(rest, is_long & 0x8888, offsets);
        }
        // The lowest byte of the number that a view holds, in all bytes of the view.
        let held = _mm512_shuffle_epi8(held, _mm512_setzero_si512());
        let is_held = _mm512_cmplt_epu8_mask(bytes, held);
        let view = _mm512_mask_mov_epi8(rest, is_held, _mm512_bslli_epi128::<4>(first));
        // SAFETY: the four places have 64 bytes.
        unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), view) };
        (done, at) = (done + 4, end);
    }
    (done, at)
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn wide(data: &[u8], start: usize, lengths: &[u32], buffer: u32, out: &mut [u128]) {
    use std::arch::aarch64::{
        vcombine_u64, vcreate_u64, vld1q_u8, vorrq_u8, vqtbl1q_u8, vreinterpretq_u8_u64, vst1q_u8,
    };
    make_with(
        data,
        start,
        lengths,
        buffer,
        out,
        |first, control, rest, place| {
            let [low, high] = rest;
            // SAFETY: NEON is part of the architecture; each load takes the 16 bytes of an array, and
            // the store writes those of the place.
            unsafe {
                let string = vqtbl1q_u8(vld1q_u8(first.as_ptr()), vld1q_u8(control.as_ptr()));
                let rest = vcombine_u64(vcreate_u64(low), vcreate_u64(high));
                let view = vorrq_u8(string, vreinterpretq_u8_u64(rest));
                vst1q_u8(std::ptr::from_mut(place).cast(), view);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x71e3);
            for longest in [0, 1, 12, 13, 16, 40, 300] {
                for count in [0, 1, 2, 33, 500] {
                    let lengths: Vec<u32> =
                        (0..count).map(|_| rng.below(longest + 1) as u32).collect();
                    let start = rng.below(40);
                    let end = start + sum_u32(&lengths) as usize;
                    for behind in [0, 1, 15, 16, 40] {
                        let data = rng.bytes(end + behind);
                        let (mut found, mut expected) = (vec![1; count], vec![2; count]);
                        let made = make_views(&data, start, &lengths, 7, &mut found);
                        assert_eq!(made, Some(end));
                        scalar(&data, start, &lengths, 7, &mut expected);
                        assert_eq!(found, expected, "{longest} {count} {behind}");
                    }
                    let data = rng.bytes(end);
                    let mut out = vec![0; count + 1];
                    assert_eq!(make_views(&data, start, &lengths, 7, &mut out), None);
                    if end > 0 {
                        let out = &mut out[..count];
                        assert_eq!(make_views(&data[1..], start, &lengths, 7, out), None);
                    }
                }
            }
        });
    }
}
