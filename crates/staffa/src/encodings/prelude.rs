//! What encodings name: the vocabulary of values, nodes, choosers and decoders, and common helpers.

pub(super) use staffa_kernels::VECTOR;

pub(super) use super::common::{
    bits_of, byte_strings, count_of, encode_floats, encode_ints, entry, entry_mut, expect_strings,
    first_byte, fits_u64, is_float, is_integer, little_endian, node, of_vector, open_floats,
    open_ints, places, read_flag, read_word, span, strings, within,
};
pub(super) use crate::decode::{
    AnyDecoder, Decodable, Decoder, Integer, OpenContext, Rows, Scratch, StreamOf, corrupt_if,
    read_by_rows,
};
pub(super) use crate::encode::{Availability, Chooser, Encoding, Info, PointAccess, Stats};
pub(super) use crate::error::{Error, Result};
pub(super) use crate::format::{Cursor, Node, NodeRef};
pub(super) use crate::values::{Bitmap, Kind, PhysicalType, Values, vector_len};
