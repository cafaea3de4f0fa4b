//! Loops over words, compiled for each instruction set, each beside a plain scalar twin.
//!
//! ```text
//! dispatch      the instruction set of this machine; the macro that compiles a kernel for each
//! avx2, avx512  operations on registers, by the width of their words
//! bitpack       1,024 values of `width` bits, interleaved; shorter tails, one bit string
//! prefix_sum    differences to values; packed_sums: while they are packed
//! decimal       decimal digits to floats
//! gather        dictionary codes to values
//! lookup        codes to bytes
//! byte_set      the bytes that occur in a text
//! runs          run ends to values
//! repeats       sequences of literals and matches to values
//! escape        escape codes, or marked values, to exceptions
//! expand        compacted values to their places among NULLs
//! filter        values whose bit is set
//! bits          bits to and from marked places
//! positions     positions of set bits
//! range         values to bits: which lie in a range or in a set
//! stats         minimum and maximum, changes, bit widths
//! count         values equal to another or below it
//! sum           sums of values, runs and packed values
//! non_temporal  stores past the caches
//! ```

// Intrinsics are imported all at once.
#![cfg_attr(target_arch = "x86_64", allow(clippy::wildcard_imports))]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bitpack;
mod bits;
mod byte_set;
mod count;
mod decimal;
pub(crate) mod dispatch;
mod escape;
mod expand;
mod filter;
mod gather;
mod lookup;
mod non_temporal;
mod packed_sums;
mod positions;
mod prefix_sum;
mod range;
mod rank;
mod repeats;
mod runs;
mod stats;
mod sum;

pub use bitpack::{
    Packed, pack, pack_tail, packed_bytes, tail_bytes, unpack, unpack_one, unpack_one_tail,
    unpack_rows, unpack_tail,
};
pub use bits::{gather_bits, scatter_bits};
pub use byte_set::ByteSet;
pub use count::{count_codes, count_equal, last_below};
pub use decimal::{decimals_f32, decimals_f64, unpack_decimals_f32, unpack_decimals_f64};
pub use dispatch::{Level, level, lower_level};
pub use escape::{replace_escapes, replace_marked};
pub use expand::expand;
pub use filter::filter;
pub use gather::{gather, max_u32};
pub use lookup::lookup_bytes;
pub(crate) use non_temporal::gather_past_cache;
pub use non_temporal::{copy_past_cache, fill_past_cache};
pub use packed_sums::unpack_prefix_sum;
pub use positions::positions;
pub use prefix_sum::prefix_sum;
pub use range::{in_range, in_set, order_floats};
pub use rank::{count_set, ranks_of_set, select_ranks};
pub use repeats::{Repeated, Repeats, copy_repeats};
pub use runs::{ascends, fill_runs};
pub use stats::{bounds, changes, count_above, widths};
pub use sum::{add_times, sum, sum_packed, sum_runs, sum_u32};
