//! The schema: an Arrow schema as bytes in the footer. FORMAT.md, section 3.
//!
//! ```text
//! schema   = metadata | fields
//! fields   = count: varint | field * count
//! field    = name: text | flags: u8 | metadata, where flag 4 is set | type
//!            flags: 1 nullable | 2 the dictionary is ordered (dictionaries only) | 4 has metadata; the others are 0
//! metadata = count: varint | (key: text | value: text) * count         keys strictly ascending, compared as bytes
//! text     = length in bytes: varint | UTF-8
//! varint   = LEB128, unsigned, in its shortest form
//! type     = tag: u8 | parameters
//! ```
//!
//! | tag | type | parameters |
//! |---|---|---|
//! | 0, 1 | null, boolean | |
//! | 2, 3, 4, 5 | int8, int16, int32, int64 | |
//! | 6, 7, 8, 9 | uint8, uint16, uint32, uint64 | |
//! | 10, 11, 12 | float16, float32, float64 | |
//! | 13, 14, 15 | utf8, large utf8, utf8 view | |
//! | 16, 17, 18 | binary, large binary, binary view | |
//! | 19 | fixed-size binary | bytes: varint, at most 2^31 - 1 |
//! | 20, 21 | date32 (days), date64 (milliseconds) | |
//! | 22 | time32 | unit: u8, 0 or 1 |
//! | 23 | time64 | unit: u8, 2 or 3 |
//! | 24 | timestamp | unit: u8; zone: u8, 0 for none, or 1 and then text |
//! | 25 | duration | unit: u8 |
//! | 26 | interval | u8: 0 year-month, 1 day-time, 2 month-day-nano |
//! | 27, 28, 29, 30 | decimal of 32, 64, 128, 256 bits | precision: u8, 1 to 9, 18, 38, 76; scale: i8, at most the precision |
//! | 31, 32, 33, 34 | list, large list, list view, large list view | item: field |
//! | 35 | fixed-size list | items: varint, at most 2^31 - 1; item: field |
//! | 36 | struct | fields |
//! | 37 | map | keys sorted: u8, 0 or 1; entries: field, not nullable, a struct of two fields, the first not nullable |
//! | 38 | dictionary | key: type, one of tags 2 to 9; values: type |
//! | 39 | run-end encoded | ends: field, not nullable, one of tags 3 to 5; values: field |
//!
//! A unit is 0 seconds, 1 milliseconds, 2 microseconds, 3 nanoseconds. Types nest at most
//! [`Limits::depth`](crate::Limits::depth) deep; a top-level field is at depth 1. Extension types
//! are metadata of their field. Unions have no tag. The parameters of a tag above 39 begin with their
//! length and a number of leaves, so that a reader that does not know it passes over the column. Identifiers of dictionaries (IPC) are not kept.

mod check;
mod read;
#[cfg(test)]
mod tests;
mod write;

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

pub(crate) use self::check::check_type;
pub(crate) use self::read::decode_schema;
pub(crate) use self::write::encode_schema;

/// Key of a field's metadata: the tag of the type that a column has in the file, where this release
/// does not know it.
const UNKNOWN_TYPE: &str = "staffa.unknown_type";

/// A column whose type, or a type within it, this release does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownType {
    /// Its position among the columns.
    pub column: usize,
    /// Where in the column the first such type is.
    pub path: String,
    /// The type's tag.
    pub tag: u8,
    /// Leaves of all such types of the column.
    pub leaves: u64,
}

const NULLABLE: u8 = 1;
const ORDERED: u8 = 2;
const METADATA: u8 = 4;

/// The types without parameters, by tag.
const PLAIN: [Option<DataType>; 22] = [
    Some(DataType::Null),
    Some(DataType::Boolean),
    Some(DataType::Int8),
    Some(DataType::Int16),
    Some(DataType::Int32),
    Some(DataType::Int64),
    Some(DataType::UInt8),
    Some(DataType::UInt16),
    Some(DataType::UInt32),
    Some(DataType::UInt64),
    Some(DataType::Float16),
    Some(DataType::Float32),
    Some(DataType::Float64),
    Some(DataType::Utf8),
    Some(DataType::LargeUtf8),
    Some(DataType::Utf8View),
    Some(DataType::Binary),
    Some(DataType::LargeBinary),
    Some(DataType::BinaryView),
    None,
    Some(DataType::Date32),
    Some(DataType::Date64),
];

/// The units of time, by number.
const UNITS: [TimeUnit; 4] = [
    TimeUnit::Second,
    TimeUnit::Millisecond,
    TimeUnit::Microsecond,
    TimeUnit::Nanosecond,
];
/// The units of intervals, by number.
const INTERVALS: [IntervalUnit; 3] = [
    IntervalUnit::YearMonth,
    IntervalUnit::DayTime,
    IntervalUnit::MonthDayNano,
];
