//! Floats by their bits: what decimal encodings compute with.

use staffa_kernels::Packed;

use super::Physical;

/// A word that holds an IEEE 754 float; arithmetic is done in doubles and rounded once.
pub(crate) trait FloatBits: Physical {
    /// Bits of the word.
    const BITS: u32;
    /// As a double, exactly.
    fn to_f64(self) -> f64;
    /// The nearest float of this width.
    fn from_f64(value: f64) -> Self;
    /// `digits * f * e` of signed digits, each.
    fn of_digits(digits: &[u64], f: f64, e: f64, out: &mut [Self]);
    /// The same of packed digits; `false` where `out` is not a vector long.
    fn of_packed(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [Self]) -> bool;
    /// The bits, zero-extended.
    fn to_bits64(self) -> u64;
    /// The low bits.
    fn from_bits64(bits: u64) -> Self;
}

impl FloatBits for u32 {
    const BITS: u32 = 32;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(f32::from_bits(self))
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        (value as f32).to_bits()
    }

    fn of_digits(digits: &[u64], f: f64, e: f64, out: &mut [Self]) {
        staffa_kernels::decimals_f32(digits, f, e, out);
    }

    fn of_packed(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [Self]) -> bool {
        staffa_kernels::unpack_decimals_f32(digits, f, e, out)
    }

    #[inline]
    fn to_bits64(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn from_bits64(bits: u64) -> Self {
        bits as Self
    }
}

impl FloatBits for u64 {
    const BITS: u32 = 64;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from_bits(self)
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        value.to_bits()
    }

    fn of_digits(digits: &[u64], f: f64, e: f64, out: &mut [Self]) {
        staffa_kernels::decimals_f64(digits, f, e, out);
    }

    fn of_packed(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [Self]) -> bool {
        staffa_kernels::unpack_decimals_f64(digits, f, e, out)
    }

    #[inline]
    fn to_bits64(self) -> u64 {
        self
    }

    #[inline]
    fn from_bits64(bits: u64) -> Self {
        bits
    }
}

/// 2^exponent, for -1022 to 1023.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}
