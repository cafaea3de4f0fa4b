//! Non-temporal stores, past the caches: for output of many megabytes that is not read soon.
//!
//! A plain store first reads the line of memory that it changes, and evicts another from the caches.
//! A decoded table is written once, from beginning to end: a vector is decoded into the L1 cache and
//! copied from there. On architectures other than x86-64 these are plain copies.

use super::gather::max_u32;
use crate::word::{VECTOR, Word, as_bytes, as_bytes_mut};

/// Orders the stores before its drop ahead of everything after it, for other threads as well.
struct Fence;

impl Drop for Fence {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has the instruction.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

#[repr(align(64))]
struct Aligned<T>([T; VECTOR]);

/// Fills `out` a vector at a time, by way of a buffer in the L1 cache: `fill(v, values)` writes
/// vector `v`. After an error `out` holds anything.
///
/// ```
/// let mut out = vec![0u32; 3000];
/// staffa_kernels::fill_past_cache(&mut out, |v, values| {
///     values.fill(v as u32);
///     Ok::<_, ()>(())
/// })?;
/// assert_eq!((out[1023], out[1024], out[2999]), (0, 1, 2));
/// # Ok::<(), ()>(())
/// ```
///
/// # Errors
/// The errors of `fill`.
pub fn fill_past_cache<T: Word, E>(
    out: &mut [T],
    mut fill: impl FnMut(usize, &mut [T]) -> Result<(), E>,
) -> Result<(), E> {
    let _fence = Fence;
    let mut buffer = Aligned([T::default(); VECTOR]);
    for (v, places) in out.chunks_mut(VECTOR).enumerate() {
        let values = &mut buffer.0[..places.len()];
        fill(v, values)?;
        stream(as_bytes(values), as_bytes_mut(places));
    }
    Ok(())
}

/// Copies values, up to the shorter length.
///
/// ```
/// let mut out = [0u64; 3];
/// staffa_kernels::copy_past_cache(&[7, 8, 9], &mut out);
/// assert_eq!(out, [7, 8, 9]);
/// ```
pub fn copy_past_cache<T: Word>(from: &[T], to: &mut [T]) {
    let _fence = Fence;
    stream(as_bytes(from), as_bytes_mut(to));
}

/// `out[i] = dict[codes[i]]`, as [`gather`](crate::gather) does.
pub(crate) fn gather_past_cache(dict: &[u128], codes: &[u32], out: &mut [u128]) -> bool {
    let _fence = Fence;
    if codes.len() != out.len() || !codes.is_empty() && max_u32(codes) as usize >= dict.len() {
        return false;
    }
    for (out, &code) in out.iter_mut().zip(codes) {
        // SAFETY: no code is above the maximum, and that is below the length.
        put(out, unsafe { *dict.get_unchecked(code as usize) });
    }
    true
}

/// Copies bytes, up to the shorter length. A [`Fence`] must follow.
fn stream(from: &[u8], to: &mut [u8]) {
    let len = from.len().min(to.len());
    // SAFETY: any bytes are a `u128`.
    let (head, places, tail) = unsafe { to[..len].align_to_mut::<u128>() };
    let (first, rest) = from[..len].split_at(head.len());
    head.copy_from_slice(first);
    let (values, last) = rest.as_chunks();
    places
        .iter_mut()
        .zip(values)
        .for_each(|(place, value)| put(place, u128::from_ne_bytes(*value)));
    tail.copy_from_slice(last);
}

/// Stores a value past the caches, where the architecture can. A [`Fence`] must follow.
#[inline(always)]
fn put(place: &mut u128, value: u128) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instructions; the place has 16 bytes and is aligned to them.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let value = _mm_loadu_si128(std::ptr::from_ref(&value).cast::<__m128i>());
        _mm_stream_si128(std::ptr::from_mut(place).cast::<__m128i>(), value);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather;
    use crate::simd::dispatch::testing::for_words;
    use crate::testing::Rng;

    #[test]
    fn bytes_of_any_alignment_and_length_are_copied() {
        let mut rng = Rng(0x9a57);
        let from: Vec<u8> = (0..5000).map(|_| rng.next() as u8).collect();
        for _ in 0..2000 {
            let most = [70, 300, 4000][rng.below(3)];
            let (start, to, len) = (rng.below(200), rng.below(200), rng.below(most));
            let mut out = vec![7; 4400];
            let fence = Fence;
            stream(&from[start..start + len], &mut out[to..to + len]);
            drop(fence);
            assert_eq!(out[to..to + len], from[start..start + len]);
            assert!(
                out[..to]
                    .iter()
                    .chain(&out[to + len..])
                    .all(|byte| *byte == 7)
            );
        }
    }

    fn fill<T: Word>() {
        let mut rng = Rng(0x9a57);
        for len in [0, 1, 5, 1023, 1024, 1025, 4096, 5000] {
            let expected: Vec<T> = rng.words(len);
            let mut all = vec![T::default(); len + 3];
            let filled = fill_past_cache(&mut all[3..], |v, values| {
                values.copy_from_slice(&expected[v * VECTOR..len.min((v + 1) * VECTOR)]);
                Ok::<_, ()>(())
            });
            filled.unwrap();
            assert!(all[..3].iter().all(|v| *v == T::default()));
            assert_eq!(all[3..], expected);
            copy_past_cache(&expected, &mut all[2..]);
            assert_eq!(all[2..len + 2], expected);
        }
        let third = |v, _: &mut [T]| if v < 2 { Ok(()) } else { Err(v) };
        assert_eq!(fill_past_cache(&mut [T::default(); 3000], third), Err(2));
    }

    #[test]
    fn words_are_filled() {
        for_words!(fill);
    }

    #[test]
    fn gathers_as_the_plain_one_does() {
        let mut rng = Rng(0x9a7);
        for len in [0, 1, 3, 1000, 1024, 4099] {
            for entries in [0, 1, 700] {
                let dict: Vec<u128> = (0..entries).map(|_| u128::from(rng.next()) << 30).collect();
                let codes: Vec<u32> = (0..len).map(|_| rng.below(entries + 1) as u32).collect();
                let (mut out, mut expected) = (vec![0; len], vec![0; len]);
                let done = gather(&dict, &codes, &mut expected);
                assert_eq!(gather_past_cache(&dict, &codes, &mut out), done);
                assert!(!done || out == expected);
                assert!(!gather_past_cache(&dict, &codes, &mut vec![0; len + 1]));
            }
        }
    }
}
