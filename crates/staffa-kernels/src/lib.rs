//! The kernels of Staffa: plain loops over slices, compiled three times, and the memory they write
//! to.
//!
//! Everything here works on values that are already in memory and knows nothing of files, but the
//! bytes that it is given are hostile: every size is checked up front, and a wrong one gives
//! `false` or `None`; no input panics or leaves its slices.
//!
//! ```text
//! word      what a value is: u8 .. u128, U256; views between words and bytes
//! dispatch  which instruction set this machine has; the macro that compiles a body for each
//! bitpack   1,024 values of `width` bits, interleaved; the shorter tail, consecutive
//! bits      bits from and to marked places
//! delta     inclusive prefix sum
//! frame     the range of values, and how many bits they need
//! escape    values that are an escape become exceptions
//! expand    values to the places of those that are not NULL
//! filter    values and strings whose bit is set
//! positions of bits that are set
//! range     values to bits: which lie in a range
//! gather    dictionary codes to values
//! runs      run ends to values
//! repeats   lists of values that came before, copied again
//! bytes     dictionaries of byte strings; lengths to offsets
//! strings   Arrow's string arrays over memory that was checked here
//! past      decoded values past the caches to memory
//! plain     plain strings put together, each checked while it is in the cache
//! prefix    strings to bits: which begin with a text
//! front     shared prefixes and suffixes to strings
//! sum       sums, of packed values too
//! fsst      symbol codes to bytes
//! tokens    codes of short tokens to bytes
//! text      numbers and literals to rows of text
//! pool      output memory that is used again
//! retained  what of it waits: from the system (`mapping`), within limits (`malloc`)
//! kept      a value beside what it borrows from
//! ```
//!
//! This is the only crate of Staffa with `unsafe` in it. Each kernel stands beside a plain scalar
//! twin, which the tests hold it against on every instruction set of the machine.
//!
//! ```
//! use staffa_kernels::{VECTOR, pack, packed_bytes, unpack};
//!
//! let values: Vec<u32> = (0..VECTOR as u32).map(|i| i % 100).collect();
//! let mut packed = Vec::new();
//! assert!(pack(&values, 7, &mut packed));
//! assert_eq!(packed.len(), packed_bytes(7));
//!
//! let mut out = vec![0u32; VECTOR];
//! assert!(unpack(&packed, 7, 1_000, &mut out));
//! assert_eq!(out[42], 1_042);
//! ```

// A body must be inlined into each of its wrappers, or it is compiled for the baseline: this is
// what the dispatch is.
#![allow(clippy::inline_always)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(target_endian = "big")]
compile_error!(
    "staffa-kernels views little-endian file bytes as words: a big-endian machine would need copies"
);

mod memory;
mod simd;
mod strings;
mod word;

pub use memory::pool::{PoolBuf, PoolVec};
pub use memory::retained::{retained_bytes, set_retained_limit};
#[cfg(feature = "small-pieces")]
pub use memory::small::SmallPieces;
pub use memory::yoke::{Kept, Lends};
pub use simd::bitpack::{
    Packed, pack, pack_tail, packed_bytes, tail_bytes, unpack, unpack_one, unpack_one_tail,
    unpack_tail,
};
pub use simd::bits::{gather_bits, scatter_bits};
pub use simd::decimal::{decimals_f32, decimals_f64, unpack_decimals_f32, unpack_decimals_f64};
pub use simd::dispatch::{Level, level, lower_level};
pub use simd::escape::replace_escapes;
pub use simd::expand::expand;
pub use simd::filter::{filter, filter_strings};
pub use simd::gather::{gather, max_u32};
pub use simd::non_temporal::fill_past_cache;
pub use simd::positions::positions;
pub use simd::prefix_sum::{prefix_sum, unpack_prefix_sum};
pub use simd::range::{in_range, in_set, order_floats};
pub use simd::repeats::{Repeated, Repeats, copy_repeats};
pub use simd::runs::{ascends, fill_runs};
pub use simd::stats::{bounds, changes, count_above, widths};
pub use simd::sum::{add_times, sum, sum_packed, sum_runs};
pub use strings::dict::{
    BytesDict, BytesDictBuilder, lengths_to_offsets_i32, lengths_to_offsets_i64, sum_u32,
};
pub use strings::front::join_prefixes;
pub use strings::fsst::FsstTable;
pub use strings::plain::{Misfit, PlainStrings, StringSlot};
pub use strings::prefix::begin_with;
pub use strings::text::{Piece, TEXT_FIELDS, Text, TextRows};
pub use strings::tokens::TokenRows;
pub use strings::views::{StringViews, ViewSlot, rising_offsets, text_array};
pub use word::{Int, U256, Word, as_bytes, as_bytes_mut, cast_slice, cast_slice_mut, copy_from_le};

/// Values in a vector: what one call of a kernel works on, what stays in the L1 cache.
pub const VECTOR: usize = 1024;

#[cfg(test)]
mod testing {
    /// xorshift64*: random enough for values, and the same on every run.
    pub(crate) struct Rng(pub(crate) u64);

    impl Rng {
        pub(crate) fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }

        /// A number in `0..bound`.
        pub(crate) fn below(&mut self, bound: usize) -> usize {
            (self.next() >> 16) as usize % bound.max(1)
        }
    }
}
