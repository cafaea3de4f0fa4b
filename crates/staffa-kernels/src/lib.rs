//! The kernels of Staffa: plain loops over slices, compiled for each instruction set, and the memory
//! that they write to.
//!
//! Kernels work on values in memory and know nothing of files, but their bytes are hostile: every
//! size is checked up front, and a wrong one gives `false` or `None`; no input panics or leaves its
//! slices.
//!
//! The crate has three floors. A room names only the floors below it, and files have no cycle; a test
//! reads the imports and holds both.
//!
//! ```text
//! strings           dictionaries, FSST, text; Arrow arrays of strings, built in parallel
//! ------------------------------------------------------------------------------------------
//! simd              loops over words: bit packing, sums, runs, filters, ...
//! memory            output memory that is used again: huge pages, offers, limits
//! ------------------------------------------------------------------------------------------
//! word              u8 .. u128, U256; views between words and bytes; one compilation a type
//! ```
//!
//! All `unsafe` code of Staffa is here, but for `border.rs` of the DuckDB extension and `border/` of
//! the C interface. Each kernel stands beside a plain scalar twin, and tests hold it against that on
//! every instruction set of the machine.
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

// The dispatch rests on inlining: a body that is not inlined into its wrappers is compiled for the
// baseline.
#![allow(clippy::inline_always)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(target_endian = "big")]
compile_error!(
    "staffa-kernels views little-endian file bytes as words: a big-endian machine would need copies"
);

mod memory;
mod simd;
mod strings;
#[cfg(test)]
mod testing;
mod word;

pub use memory::*;
pub use simd::*;
pub use strings::*;
pub use word::{
    Int, U256, VECTOR, Word, as_bytes, as_bytes_mut, cast_slice, cast_slice_mut, copy_from_le,
};
