//! Words: the fixed-width values that kernels work on, little-endian, with every bit pattern valid.
//!
//!   u8 u16 u32 u64 u128 | U256 = 4 limbs of u64, the least significant first
//!
//! Signed integers, floats, dates and decimals are words underneath. Bytes of a file are viewed as
//! words where they are aligned, and copied where they are not.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, Shl, Shr};

/// Values in a vector, on which one call of a kernel works: they stay in the L1 cache.
pub const VECTOR: usize = 1024;

/// A 256-bit word: little-endian limbs, the least significant first.
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct U256(pub [u64; 4]);

/// A fixed-width physical value: `u8`, `u16`, `u32`, `u64`, `u128` and [`U256`].
///
/// The trait is sealed: the views below rely on types without padding or invalid bit patterns.
pub trait Word:
    sealed::RunWord + Copy + Eq + Hash + Debug + Default + Send + Sync + 'static
{
    /// The size of a value.
    const BYTES: usize;
    /// The first `BYTES` bytes as a value; `None` when there are fewer.
    fn read_le(bytes: &[u8]) -> Option<Self>;
    /// Appends the `BYTES` bytes of the value.
    fn write_le(self, out: &mut Vec<u8>);
}

/// An integer that can be bit-packed: `u8`, `u16`, `u32`, `u64`.
pub trait Int:
    Word
    + sealed::RunInt
    + Ord
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
{
    /// The width of a value.
    const BITS: u32;
    /// Zero.
    const ZERO: Self;
    /// All ones.
    const MAX: Self;
    /// Sum modulo 2^BITS.
    #[must_use]
    fn wrapping_add(self, o: Self) -> Self;
    /// Difference modulo 2^BITS.
    #[must_use]
    fn wrapping_sub(self, o: Self) -> Self;
    /// Product modulo 2^BITS.
    #[must_use]
    fn wrapping_mul(self, o: Self) -> Self;
    /// The number of zero bits above the highest one; `BITS` for zero.
    fn leading_zeros(self) -> u32;
    /// The same number as a `u64`.
    fn to_u64(self) -> u64;
    /// The low `BITS` bits of `v`.
    fn from_u64(v: u64) -> Self;
    /// Signed to unsigned with small magnitudes first: 0, -1, 1, -2 become 0, 1, 2, 3.
    #[must_use]
    fn zigzag(self) -> Self;
    /// The inverse of [`zigzag`](Int::zigzag).
    #[must_use]
    fn unzigzag(self) -> Self;
    /// `self < o`, both as two's complement.
    fn signed_lt(self, o: Self) -> bool;
}

/// The tie between the type of a word and the kernels that [`precompiled!`] declares.
pub(crate) mod sealed {
    use super::U256;

    /// Arguments and result of a kernel on words of type `T`.
    pub trait Signature {
        type Args<'a, T: 'a>;
        type Out;
    }

    /// A kernel on words of type `T`.
    pub trait Kernel<T>: Signature {
        fn run(args: Self::Args<'_, T>) -> Self::Out;
    }

    /// A kernel on the integers.
    pub trait IntKernel: Kernel<u8> + Kernel<u16> + Kernel<u32> + Kernel<u64> {}
    impl<K: Kernel<u8> + Kernel<u16> + Kernel<u32> + Kernel<u64>> IntKernel for K {}

    /// A kernel on all words.
    pub trait WordKernel: IntKernel + Kernel<u128> + Kernel<U256> {}
    impl<K: IntKernel + Kernel<u128> + Kernel<U256>> WordKernel for K {}

    pub trait RunInt: Sized {
        fn run_int<K: IntKernel>(args: K::Args<'_, Self>) -> K::Out;
    }

    pub trait RunWord: Sized {
        fn run_word<K: WordKernel>(args: K::Args<'_, Self>) -> K::Out;
    }

    macro_rules! run {
        ($run:ident $kernel:ident $method:ident: $($t:ty)*) => {$(
            impl $run for $t {
                #[inline(always)]
                fn $method<K: $kernel>(args: K::Args<'_, Self>) -> K::Out {
                    <K as Kernel<$t>>::run(args)
                }
            }
        )*};
    }
    run!(RunInt IntKernel run_int: u8 u16 u32 u64);
    run!(RunWord WordKernel run_word: u8 u16 u32 u64 u128 U256);
}

/// `pub fn name<'a, T: Word>(args) -> R = body;` is the generic function `body`, compiled in this
/// crate for every word (or every integer, for `T: Int`) and not wherever a generic function is
/// called: a debug build of a caller runs the optimised kernels.
macro_rules! precompiled {
    ($(#[$meta:meta])* pub fn $name:ident<'a, T: Word> $args:tt $(-> $ret:ty)? = $body:path;) => {
        precompiled! { @public $(#[$meta])* $name Word run_word [u8, u16, u32, u64, u128, $crate::word::U256] $args ($($ret)?) $body }
    };
    ($(#[$meta:meta])* pub fn $name:ident<'a, T: Int> $args:tt $(-> $ret:ty)? = $body:path;) => {
        precompiled! { @public $(#[$meta])* $name Int run_int [u8, u16, u32, u64] $args ($($ret)?) $body }
    };
    (@public $(#[$meta:meta])* $name:ident $word:ident $run:ident [$($t:ty),*]
        ($($arg:ident: $ty:ty),* $(,)?) $ret:tt $body:path) => {
        $(#[$meta])*
        #[inline]
        pub fn $name<'a, T: $crate::word::$word>($($arg: $ty),*) -> precompiled!(@result $ret) {
            struct Kernel;
            impl $crate::word::sealed::Signature for Kernel {
                type Args<'a, T: 'a> = ($($ty,)*);
                type Out = precompiled!(@result $ret);
            }
            precompiled! { @types [$($t),*] ($($arg: $ty),*) $ret $body }
            T::$run::<Kernel>(($($arg,)*))
        }
    };
    (@types [$($t:ty),*] $args:tt $ret:tt $body:path) => {
        $(precompiled! { @type $t, $args $ret $body })*
    };
    (@type $t:ty, ($($arg:ident: $ty:ty),*) $ret:tt $body:path) => {
        const _: () = {
            type T = $t;
            impl $crate::word::sealed::Kernel<T> for Kernel {
                #[inline(always)]
                fn run(($($arg,)*): Self::Args<'_, T>) -> Self::Out {
                    // Not generic: compiled here.
                    fn compiled<'a>($($arg: $ty),*) -> precompiled!(@result $ret) {
                        $body($($arg),*)
                    }
                    compiled($($arg),*)
                }
            }
        };
    };
    (@result ()) => { () };
    (@result ($ret:ty)) => { $ret };
}
pub(crate) use precompiled;

macro_rules! word {
    ($($t:ty)*) => {$(
        impl Word for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline]
            fn read_le(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|b| <$t>::from_le_bytes(*b))
            }
            #[inline]
            fn write_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
word!(u8 u16 u32 u64 u128);

impl Word for U256 {
    const BYTES: usize = 32;

    #[inline]
    fn read_le(bytes: &[u8]) -> Option<Self> {
        let mut word = U256::default();
        copy_from_le(bytes.get(..32)?, &mut word.0);
        Some(word)
    }

    #[inline]
    fn write_le(self, out: &mut Vec<u8>) {
        out.extend_from_slice(as_bytes(&self.0));
    }
}

macro_rules! int {
    ($($t:ident $signed:ident)*) => {$(
        impl Int for $t {
            const BITS: u32 = $t::BITS;
            const ZERO: Self = 0;
            const MAX: Self = $t::MAX;
            #[inline(always)]
            fn wrapping_add(self, o: Self) -> Self {
                $t::wrapping_add(self, o)
            }
            #[inline(always)]
            fn wrapping_sub(self, o: Self) -> Self {
                $t::wrapping_sub(self, o)
            }
            #[inline(always)]
            fn wrapping_mul(self, o: Self) -> Self {
                $t::wrapping_mul(self, o)
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                $t::leading_zeros(self)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_u64(v: u64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn zigzag(self) -> Self {
                (self << 1) ^ ((self as $signed) >> ($t::BITS - 1)) as $t
            }
            #[inline(always)]
            fn unzigzag(self) -> Self {
                (self >> 1) ^ (self & 1).wrapping_neg()
            }
            #[inline(always)]
            fn signed_lt(self, o: Self) -> bool {
                (self as $signed) < (o as $signed)
            }
        }
    )*};
}
int!(u8 i8 u16 i16 u32 i32 u64 i64);

/// Views bytes as words; `None` when they are misaligned or not a multiple of the word.
///
/// ```
/// let words = [1u32, 2];
/// let bytes = staffa_kernels::as_bytes(&words);
/// assert_eq!(bytes, [1, 0, 0, 0, 2, 0, 0, 0]);
/// assert_eq!(staffa_kernels::cast_slice::<u32>(bytes), Some(&words[..]));
/// assert_eq!(staffa_kernels::cast_slice::<u32>(&bytes[1..5]), None);
/// ```
#[inline]
pub fn cast_slice<T: Word>(bytes: &[u8]) -> Option<&[T]> {
    if bytes.is_empty() {
        return Some(&[]); // An empty slice may point anywhere.
    }
    let words = bytes.as_ptr().cast::<T>();
    if !words.is_aligned() || !bytes.len().is_multiple_of(T::BYTES) {
        return None;
    }
    // SAFETY: aligned, as long as the bytes, and every bit pattern is a `T` (`Word` is sealed).
    Some(unsafe { std::slice::from_raw_parts(words, bytes.len() / T::BYTES) })
}

/// Views bytes as words; `None` when they are misaligned or not a multiple of the word.
#[inline]
pub fn cast_slice_mut<T: Word>(bytes: &mut [u8]) -> Option<&mut [T]> {
    if bytes.is_empty() {
        return Some(&mut []);
    }
    let words = bytes.as_mut_ptr().cast::<T>();
    if !words.is_aligned() || !bytes.len().is_multiple_of(T::BYTES) {
        return None;
    }
    // SAFETY: aligned, as long as the bytes, every bit pattern is a `T`, and a `T` has no padding
    // to leave bytes unset.
    Some(unsafe { std::slice::from_raw_parts_mut(words, bytes.len() / T::BYTES) })
}

/// Views words as their little-endian bytes.
#[inline]
pub fn as_bytes<T: Word>(words: &[T]) -> &[u8] {
    // SAFETY: a `Word` has no padding; the length in bytes is that of the slice.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Views words as their little-endian bytes.
#[inline]
pub fn as_bytes_mut<T: Word>(words: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`, and any bytes written are a valid `T`.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Copies little-endian bytes of any alignment into words; `false` when the lengths differ.
#[inline]
pub fn copy_from_le<T: Word>(bytes: &[u8], out: &mut [T]) -> bool {
    let out = as_bytes_mut(out);
    if bytes.len() != out.len() {
        return false;
    }
    out.copy_from_slice(bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Word>() {
        let bytes: Vec<u8> = (0..97).collect();
        let word = T::read_le(&bytes[1..]).unwrap();
        let mut out = Vec::new();
        word.write_le(&mut out);
        assert_eq!(out, bytes[1..=T::BYTES]);
        assert_eq!(T::read_le(&bytes[..T::BYTES - 1]), None);

        let mut words = [T::default(); 2];
        assert!(copy_from_le(&bytes[1..=2 * T::BYTES], &mut words));
        assert_eq!(words[0], word);
        assert_eq!(as_bytes(&words), &bytes[1..=2 * T::BYTES]);
        assert!(!copy_from_le(&bytes[1..2 * T::BYTES], &mut words));
        assert_eq!(cast_slice::<T>(as_bytes(&words)), Some(&words[..]));
        if T::BYTES > 1 {
            assert_eq!(cast_slice::<T>(&as_bytes(&words)[1..=T::BYTES]), None);
            assert_eq!(cast_slice::<T>(&as_bytes(&words)[..T::BYTES - 1]), None);
        }
        cast_slice_mut::<T>(as_bytes_mut(&mut words)).unwrap()[1] = word;
        assert_eq!(words[1], word);
        assert_eq!(cast_slice::<T>(&[]), Some(&[][..]));
    }

    #[test]
    fn bytes_and_words_are_the_same() {
        round_trip::<u8>();
        round_trip::<u16>();
        round_trip::<u32>();
        round_trip::<u64>();
        round_trip::<u128>();
        round_trip::<U256>();
    }

    fn ints<T: Int>() {
        let minus_one = T::MAX;
        let one = T::from_u64(1);
        assert_eq!(minus_one.zigzag(), one);
        assert_eq!(one.zigzag(), T::from_u64(2));
        for v in [T::ZERO, one, minus_one, one << (T::BITS - 1), T::MAX >> 1] {
            assert_eq!(v.zigzag().unzigzag(), v);
        }
        assert!(minus_one.signed_lt(T::ZERO) && !T::ZERO.signed_lt(minus_one));
        assert_eq!(T::from_u64(u64::MAX), T::MAX);
        assert_eq!(T::ZERO.leading_zeros(), T::BITS);
    }

    #[test]
    fn zigzag_puts_small_magnitudes_first() {
        ints::<u8>();
        ints::<u16>();
        ints::<u32>();
        ints::<u64>();
    }
}
