//! Which of four words are the same as a word of a text, on each instruction set.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    uint64x2_t, vaddvq_u32, vandq_u32, vandq_u64, vceqq_u64, vcombine_u32, vdupq_n_u64, vld1q_u32,
    vld1q_u64, vmovn_u64,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256,
    _mm256_movemask_pd, _mm256_set1_epi64x,
};

/// Words that are compared at once.
pub(super) const LANES: usize = 4;

/// Which of four words are the same as a word of a text.
pub(super) trait Equal {
    /// A bit for each of the four whose bits of `masks` are those of `x`.
    ///
    /// # Safety
    /// The machine must have the instructions.
    unsafe fn masked(words: &[u64; LANES], masks: &[u64; LANES], x: u64) -> u32;

    /// A bit for each of the four that is `x`.
    ///
    /// # Safety
    /// As [`masked`](Self::masked).
    unsafe fn whole(words: &[u64; LANES], x: u64) -> u32;
}

/// One word after the other.
#[cfg(not(target_arch = "aarch64"))]
pub(super) struct Plain;

#[cfg(not(target_arch = "aarch64"))]
impl Equal for Plain {
    #[inline(always)]
    unsafe fn masked(words: &[u64; LANES], masks: &[u64; LANES], x: u64) -> u32 {
        let bit = |lane: usize| u32::from(x & masks[lane] == words[lane]) << lane;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    #[inline(always)]
    unsafe fn whole(words: &[u64; LANES], x: u64) -> u32 {
        // SAFETY: plain code.
        unsafe { Self::masked(words, &[u64::MAX; LANES], x) }
    }
}

/// One register.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Equal for Avx2 {
    #[inline(always)]
    unsafe fn masked(words: &[u64; LANES], masks: &[u64; LANES], x: u64) -> u32 {
        // SAFETY: the caller's; the arrays have 32 bytes.
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let masks = _mm256_loadu_si256(masks.as_ptr().cast());
            let x = _mm256_and_si256(_mm256_set1_epi64x(x.cast_signed()), masks);
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, words))).cast_unsigned()
        }
    }

    #[inline(always)]
    unsafe fn whole(words: &[u64; LANES], x: u64) -> u32 {
        // SAFETY: the caller's; the array has 32 bytes.
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let x = _mm256_set1_epi64x(x.cast_signed());
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, words))).cast_unsigned()
        }
    }
}

/// Two registers.
#[cfg(target_arch = "aarch64")]
pub(super) struct Neon;

#[cfg(target_arch = "aarch64")]
impl Neon {
    /// A bit for each lane of two registers that has ones.
    #[inline(always)]
    unsafe fn bits(low: uint64x2_t, high: uint64x2_t) -> u32 {
        // SAFETY: every machine of the architecture has NEON.
        unsafe {
            let lanes = vcombine_u32(vmovn_u64(low), vmovn_u64(high));
            let bits = vandq_u32(lanes, vld1q_u32([1, 2, 4, 8].as_ptr()));
            vaddvq_u32(bits)
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl Equal for Neon {
    #[inline(always)]
    unsafe fn masked(words: &[u64; LANES], masks: &[u64; LANES], x: u64) -> u32 {
        // SAFETY: the caller's; the loads take two words of four.
        unsafe {
            let x = vdupq_n_u64(x);
            let equal = |from: usize| {
                let words = vld1q_u64(words.as_ptr().add(from));
                vceqq_u64(vandq_u64(x, vld1q_u64(masks.as_ptr().add(from))), words)
            };
            Self::bits(equal(0), equal(2))
        }
    }

    #[inline(always)]
    unsafe fn whole(words: &[u64; LANES], x: u64) -> u32 {
        // SAFETY: the caller's; the loads take two words of four.
        unsafe {
            let x = vdupq_n_u64(x);
            let equal = |from: usize| vceqq_u64(vld1q_u64(words.as_ptr().add(from)), x);
            Self::bits(equal(0), equal(2))
        }
    }
}
