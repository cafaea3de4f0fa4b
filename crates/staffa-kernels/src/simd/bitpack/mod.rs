//! Bit packing.

mod vector;

pub use vector::{
    Packed, pack, pack_tail, packed_bytes, tail_bytes, unpack, unpack_one, unpack_one_tail,
    unpack_tail,
};
pub(crate) use vector::{pack_ints, pack_tail_ints, unpack_ints, unpack_tail_ints};
#[cfg(target_arch = "x86_64")]
pub(crate) use vector::{rows_avx2, rows_avx512};
