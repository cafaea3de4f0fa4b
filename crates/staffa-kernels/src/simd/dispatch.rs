//! The instruction set of this machine, and the macro that compiles a kernel for each set.
//!
//! A kernel is a plain loop, `#[inline(always)]`. [`dispatch!`] puts it into one wrapper per
//! instruction set, which the compiler vectorises for that set, and picks the wrapper by a cached
//! level: a load and a well-predicted branch. The crate itself is built for the baseline (x86-64,
//! or another architecture, which has one body and no choice).

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that the kernels are compiled for.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// The baseline of the architecture (SSE2, NEON).
    Baseline = 1,
    /// AVX2 and BMI, x86-64-v3.
    Avx2 = 2,
    /// AVX-512 F, BW, CD, DQ and VL, x86-64-v4.
    Avx512 = 3,
}

/// The cached level, 0 before the first look. Threads that race detect the same level.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// Lowers the level of the whole process to at most `most`, to measure what higher levels gain.
#[doc(hidden)]
pub fn lower_level(most: Level) {
    LEVEL.store(detect().min(most) as u8, Ordering::Relaxed);
}

/// The highest level of this machine; detected once.
#[inline]
pub fn level() -> Level {
    let found = match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Baseline,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let found = detect();
            LEVEL.store(found as u8, Ordering::Relaxed);
            found
        }
    };
    #[cfg(test)]
    let found = found.min(testing::cap());
    found
}

#[cold]
fn detect() -> Level {
    // A wrapper is sound to call because every feature that it enables is detected here.
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            return Level::Avx512;
        }
        return Level::Avx2;
    }
    Level::Baseline
}

/// `pub fn name<T: Bound>(args) -> R = body;` is the function `body`, compiled for each level and
/// chosen at run time.
///
/// `fn name<>(args) = body, avx2: other, avx512: another;` has hand-written bodies for the upper
/// levels. They may be `unsafe` for the instructions of the level, and for nothing else.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $args:tt $(-> $ret:ty)? = $body:path;) => {
        dispatch! { $(#[$meta])* $vis fn $name<> $args $(-> $ret)? = $body, avx2: $body, avx512: $body; }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident <$T:ident: $bound:path> $args:tt $(-> $ret:ty)? = $body:path;) => {
        dispatch! { $(#[$meta])* $vis fn $name<$T: $bound> $args $(-> $ret)? = $body, avx2: $body, avx512: $body; }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident <$($T:ident: $bound:path)?> ($($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? = $body:path, avx2: $body2:path, avx512: $body512:path;) => {
        $(#[$meta])*
        $vis fn $name $(<$T: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2 $(<$T: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: the wrapper has the instructions; see above.
                    #[allow(unused_unsafe)]
                    unsafe { $body2($($arg),*) }
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
                fn avx512 $(<$T: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: as above.
                    #[allow(unused_unsafe)]
                    unsafe { $body512($($arg),*) }
                }
                match $crate::simd::dispatch::level() {
                    // SAFETY: `level` has found every feature of the wrapper on this machine.
                    $crate::simd::dispatch::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::dispatch::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::dispatch::Level::Baseline => {}
                }
            }
            $body($($arg),*)
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
pub(crate) mod testing {
    use super::Level;
    use std::cell::Cell;

    thread_local!(static CAP: Cell<Level> = const { Cell::new(Level::Avx512) });

    pub(super) fn cap() -> Level {
        CAP.get()
    }

    /// Runs a test on each level of this machine.
    pub(crate) fn on_every_level(test: impl Fn()) {
        for level in [Level::Baseline, Level::Avx2, Level::Avx512] {
            CAP.set(level);
            test();
        }
    }

    /// Runs `test::<T>()` on each level, for each of the integers.
    macro_rules! for_ints {
        ($test:ident) => {
            $crate::simd::dispatch::testing::on_every_level(|| {
                $test::<u8>();
                $test::<u16>();
                $test::<u32>();
                $test::<u64>();
            })
        };
    }
    pub(crate) use for_ints;

    /// Runs `test::<T>()` on each level, for each of the words.
    macro_rules! for_words {
        ($test:ident) => {
            $crate::simd::dispatch::testing::for_ints!($test);
            $crate::simd::dispatch::testing::on_every_level(|| {
                $test::<u128>();
                $test::<$crate::word::U256>();
            })
        };
    }
    pub(crate) use for_words;
}
