//! Bit packing: values of `width` bits each.
//!
//! ```text
//! layout     where the bits of a value are
//! registers  rows of a full vector to registers
//! vector     1,024 values, interleaved
//! tail       fewer values, one bit string
//! ```

pub(super) mod layout;
#[cfg(target_arch = "x86_64")]
pub(super) mod registers;
mod tail;
mod vector;

pub use layout::{Packed, packed_bytes, tail_bytes};
pub use tail::{pack_tail, unpack_one_tail, unpack_tail};
pub use vector::{pack, unpack, unpack_one, unpack_rows};
