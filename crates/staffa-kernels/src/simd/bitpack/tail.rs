//! Tails: fewer than 1,024 values, packed as one bit string.

use super::layout::{mask, tail_bytes};
use crate::simd::dispatch::dispatch;
use crate::word::{Int, precompiled};

precompiled! {
    /// Appends any number of values as one bit string, each cut to its low `width` bits; `false`
    /// when `width` is above the type's.
    pub fn pack_tail<'a, T: Int>(values: &'a [T], width: u32, out: &'a mut Vec<u8>) -> bool
        = pack_ints;
}

precompiled! {
    /// `out[i] = base + unpacked[i]`, wrapping, of a bit string.
    ///
    /// `false` unless `width` is at most the type's and `packed` has [`tail_bytes`].
    pub fn unpack_tail<'a, T: Int>(packed: &'a [u8], width: u32, base: T, out: &'a mut [T]) -> bool
        = unpack_ints;
}

/// One value of a bit string; `None` when it is not wholly inside, or `width` is above the type's.
#[inline]
pub fn unpack_one_tail<T: Int>(packed: &[u8], width: u32, index: usize) -> Option<T> {
    let end = index.checked_add(1)?.checked_mul(width as usize)?;
    if width > T::BITS || end.div_ceil(8) > packed.len() {
        return None;
    }
    read_bits(packed, end - width as usize, width).map(T::from_u64)
}

fn pack_ints<T: Int>(values: &[T], width: u32, out: &mut Vec<u8>) -> bool {
    if width > T::BITS {
        return false;
    }
    let mask = mask::<T>(width);
    out.reserve(tail_bytes(values.len(), width));
    let (mut held, mut bits) = (0u64, 0);
    for &value in values {
        let value = (value & mask).to_u64();
        held |= value << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&held.to_le_bytes());
            bits -= 64;
            // What of the value did not fit; by 64 bits all of it did.
            held = value.checked_shr(width - bits).unwrap_or(0);
        }
    }
    let rest = held.to_le_bytes();
    out.extend_from_slice(&rest[..bits.div_ceil(8) as usize]);
    true
}

dispatch! {
    fn unpack_ints<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool = unpack_body;
}

#[inline(always)]
fn unpack_body<T: Int>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> bool {
    if width > T::BITS || packed.len() != tail_bytes(out.len(), width) {
        return false;
    }
    let mut bit = 0;
    let mut out = out;
    if width <= 56 {
        // Up to 7 bits of the byte before and 56 of the value fit into eight bytes; the last few
        // values have fewer bytes behind them.
        let whole = (packed.len().saturating_sub(8) * 8).checked_div(width as usize);
        // Values of 0 bits are read from nothing.
        let whole = whole.map_or(0, |whole| whole.min(out.len()));
        let mask = mask::<u64>(width);
        let (head, tail) = out.split_at_mut(whole);
        for out in head {
            // SAFETY: the value begins at least eight bytes before the end.
            let bytes = unsafe { packed.as_ptr().add(bit / 8).cast::<u64>().read_unaligned() };
            *out = base.wrapping_add(T::from_u64((u64::from_le(bytes) >> (bit % 8)) & mask));
            bit += width as usize;
        }
        out = tail;
    }
    for out in out {
        let Some(value) = read_bits(packed, bit, width) else {
            return false;
        };
        *out = base.wrapping_add(T::from_u64(value));
        bit += width as usize;
    }
    true
}

/// `width` bits from `bit` on, of which those past the end are zero; `None` where `bit` is past the
/// end.
#[inline(always)]
fn read_bits(packed: &[u8], bit: usize, width: u32) -> Option<u64> {
    let rest = packed.get(bit / 8..)?;
    // Up to 7 bits of the byte before and 64 of the value take more than eight bytes.
    let word = if let Some(chunk) = rest.first_chunk::<16>() {
        u128::from_le_bytes(*chunk)
    } else {
        let mut chunk = [0; 16];
        chunk[..rest.len()].copy_from_slice(rest);
        u128::from_le_bytes(chunk)
    };
    Some((word >> (bit % 8)) as u64 & mask::<u64>(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    /// Bit by bit.
    fn scalar_pack<T: Int>(values: &[T], width: u32) -> Vec<u8> {
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
        for (width, len) in
            (0..=T::BITS).flat_map(|width| [0, 1, 7, 8, 100, 1023].map(|len| (width, len)))
        {
            let values: Vec<T> = rng.words(len);
            let base = T::from_u64(rng.next());
            let cut: Vec<T> = values.iter().map(|&v| v & mask(width)).collect();
            let expected: Vec<T> = cut.iter().map(|&v| base.wrapping_add(v)).collect();

            let mut packed = vec![9];
            assert!(pack_tail(&values, width, &mut packed));
            let packed = &packed[1..];
            assert_eq!(packed, scalar_pack(&values, width));
            let mut out = vec![T::ZERO; len];
            assert!(unpack_tail(packed, width, base, &mut out));
            assert_eq!(out, expected, "width {width}");
            for (i, &value) in cut.iter().enumerate() {
                assert_eq!(unpack_one_tail(packed, width, i), Some(value));
            }
            assert!(packed.is_empty() || !unpack_tail(&packed[1..], width, base, &mut out));
            let behind = unpack_one_tail::<T>(packed, width, len + 8);
            assert_eq!(behind.is_none(), width > 0);
        }
        let (too_wide, mut values) = (T::BITS + 1, vec![T::ZERO; 1024]);
        let packed = vec![0; tail_bytes(1024, too_wide)];
        assert!(!pack_tail(&values, too_wide, &mut Vec::new()));
        assert!(!unpack_tail(&packed, too_wide, T::ZERO, &mut values));
        assert_eq!(unpack_one_tail::<T>(&[0; 100], too_wide, 0), None);
        assert_eq!(unpack_one_tail::<T>(&[0; 100], u32::MAX, usize::MAX), None);
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
