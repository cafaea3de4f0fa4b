//! Full vectors: 1,024 values, interleaved so that plain loops vectorise.

use super::layout::{ROW, mask, packed_bytes, place, words};
use crate::simd::dispatch::dispatch;
use crate::word::{Int, VECTOR, as_bytes, precompiled};

precompiled! {
    /// Appends the packed form of exactly 1,024 values, each cut to its low `width` bits.
    ///
    /// `false` when there are not 1,024 values or `width` is above the type's.
    pub fn pack<'a, T: Int>(values: &'a [T], width: u32, out: &'a mut Vec<u8>) -> bool = pack_ints;
}

precompiled! {
    /// `out[i] = base + unpacked[i]`, wrapping.
    ///
    /// `false` unless `width` is at most the type's, `packed` has [`packed_bytes`] and `out` has
    /// 1,024 values.
    pub fn unpack<'a, T: Int>(packed: &'a [u8], width: u32, base: T, out: &'a mut [T]) -> bool
        = unpack_ints;
}

precompiled! {
    /// Unpacks those of 1,024 packed values that stand from `first` on: whole rows of the layout, 128
    /// bytes of values each.
    ///
    /// `false` unless `width` is at most the type's, `packed` has [`packed_bytes`], and `first` and the
    /// length of `out` are whole rows among the 1,024 values; `out` then is as it was.
    ///
    /// ```
    /// let values: Vec<u32> = (0..1024).collect();
    /// let (mut packed, mut out) = (Vec::new(), [0; 64]);
    /// assert!(staffa_kernels::pack(&values, 10, &mut packed));
    /// assert!(staffa_kernels::unpack_rows(&packed, 10, 320, &mut out));
    /// assert_eq!(out, values[320..384]);
    /// ```
    pub fn unpack_rows<'a, T: Int>(packed: &'a [u8], width: u32, first: usize, out: &'a mut [T]) -> bool
        = unpack_some;
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

dispatch! { fn pack_ints<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool = pack_body; }

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
    fn unpack_ints<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool
        = unpack_body, avx2: unpack_body, avx512: unpack_avx512;
}

/// Two registers a row for every type; the compiler's code for the plain loop takes 1.5 times as
/// long.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn unpack_avx512<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    use std::arch::x86_64::_mm512_storeu_si512;

    if T::BYTES == 1 || width == 0 || out.len() != VECTOR {
        return unpack_body(packed, width, base, out);
    }
    super::registers::rows_avx512(packed, width, base, |i, found| {
        // SAFETY: the values of a register from `i` on are among the 1,024.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(i).cast(), found) };
    })
}

dispatch! {
    fn unpack_some<T: Int>(packed: &[u8], width: u32, first: usize, out: &mut [T]) -> bool = unpack_some_body;
}

#[inline(always)]
fn unpack_body<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    out.len() == VECTOR && unpack_from(packed, width, base, 0, out)
}

#[inline(always)]
fn unpack_some_body<T: Int>(packed: &[u8], width: u32, first: usize, out: &mut [T]) -> bool {
    unpack_from(packed, width, T::ZERO, first, out)
}

/// The values from `first` on, whole rows; `false` where there are none of these.
#[inline(always)]
fn unpack_from<T: Int>(packed: &[u8], width: u32, base: T, first: usize, out: &mut [T]) -> bool {
    let lanes = ROW / T::BYTES;
    let is_there = out.len() <= VECTOR && first <= VECTOR - out.len();
    let is_whole = first.is_multiple_of(lanes) && out.len().is_multiple_of(lanes);
    if width > T::BITS || packed.len() != packed_bytes(width) || !is_there || !is_whole {
        return false;
    }
    if width == 0 {
        out.fill(base);
        return true;
    }
    let mask = mask::<T>(width);
    let (rows, _) = packed.as_chunks::<ROW>();
    // SAFETY: the last bit of the last row of values is bit `BITS * width` of a lane, so the word in
    // which a row begins, and the next one where the row reaches into it, are below `width`; all rows
    // of `out` are among those of the values.
    let row_of_words = |word: usize| unsafe { rows.get_unchecked(word) };
    for (row, out) in (first / lanes..).zip(out.chunks_exact_mut(lanes)) {
        let (word, shift) = place::<T>(row, width);
        let low = words::<T>(row_of_words(word));
        if shift + width <= T::BITS {
            for (out, low) in out.iter_mut().zip(low) {
                *out = base.wrapping_add((low >> shift) & mask);
            }
        } else {
            let high = words::<T>(row_of_words(word + 1));
            for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
                *out = base.wrapping_add((low >> shift | high << (T::BITS - shift)) & mask);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    /// Bit by bit, as the head of `layout` says it.
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

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for width in 0..=T::BITS {
            let values: Vec<T> = rng.words(VECTOR);
            let base = T::from_u64(rng.next());
            let cut: Vec<T> = values.iter().map(|&v| v & mask(width)).collect();
            let expected: Vec<T> = cut.iter().map(|&v| base.wrapping_add(v)).collect();

            // One byte in front misaligns the words.
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
            let lanes = VECTOR / T::BITS as usize;
            for (from, to) in [(0, 1), (1, 3), (T::BITS as usize - 2, T::BITS as usize)] {
                let some = from * lanes..to * lanes;
                let mut out = vec![T::ZERO; some.len()];
                assert!(unpack_rows(packed, width, some.start, &mut out));
                assert_eq!(out, cut[some], "width {width}");
            }
            for (first, len) in [
                (1, lanes),
                (lanes, lanes - 1),
                (VECTOR, lanes),
                (0, VECTOR + lanes),
            ] {
                assert!(!unpack_rows(packed, width, first, &mut vec![T::ZERO; len]));
            }
            assert!(width == 0 || !unpack_rows(&packed[1..], width, 0, &mut out));
            assert!(!unpack(packed, width + 1, base, &mut out));
            assert!(!unpack(packed, width, base, &mut out[1..]));
            assert!(width == 0 || !unpack(&packed[1..], width, base, &mut out));
            assert!(!pack(&values[1..], width, &mut Vec::new()));
        }
        let (too_wide, mut values) = (T::BITS + 1, vec![T::ZERO; VECTOR]);
        let packed = vec![0; packed_bytes(too_wide)];
        assert!(!pack(&values, too_wide, &mut Vec::new()));
        assert!(!unpack(&packed, too_wide, T::ZERO, &mut values));
        assert_eq!(unpack_one::<T>(&packed, too_wide, 0), None);
        assert!(!unpack_rows(&packed, too_wide, 0, &mut values));
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
