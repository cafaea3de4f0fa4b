//! Layout: the leaf columns of each column of a schema, which shredding and assembling share.
//! FORMAT.md, section 4.
//!
//! ```text
//!   column "a"                            leaves, depth first
//!   int64                                 a                                  values
//!   struct<b: utf8, c: bool>              a (validity), a.b, a.c
//!   list<struct<b: utf8>>                 a (lengths), a[] (validity), a[].b
//!   map<utf8, int32>                      a (lengths), a[] (validity), a[].keys, a[].values
//!   fixed_size_list<float>[3]             a (validity), a[]
//!   dictionary<int8, utf8>                a (codes), a{values}
//!   run_end_encoded<int32, utf8>          a (ends), a{values}
//!   null                                  none: the number of rows says all
//! ```
//!
//! | type | leaf |
//! |---|---|
//! | boolean | bits |
//! | (u)int8 to (u)int64, float16 to float64 | words of that width |
//! | date32, time32, interval in months, decimal32 | words of 32 bits, two's complement |
//! | date64, time64, timestamp, duration, decimal64 | words of 64 bits, two's complement |
//! | decimal128, decimal256 | words of 128, 256 bits, two's complement |
//! | interval of days and time | words of 64 bits: days in the low 32, milliseconds in the high 32 |
//! | interval of months, days, nanoseconds | words of 128 bits: months in the lowest 32, then days, then 64 of nanoseconds |
//! | utf8, binary, large and view too; fixed-size binary | byte strings |
//! | lengths of lists | words of 32 bits, of 64 in large lists and large list views; unsigned |
//! | codes, run ends | words as wide as the type of the key, of the end; not negative |
//!
//! Values under a NULL are arbitrary: a length counts as 0, a code is ignored, and a fixed-size
//! binary may have another size. Items of a fixed-size list and fields of a struct have values under
//! a NULL as well.
//!
//! The first leaf of a column has the column's name and its validity, but for run ends, which have
//! none. Lengths, codes and values give the number of rows of the next level. A path that occurs
//! twice (a struct may have two fields of one name, a column may be called `a.b`) ends in `#2`, `#3`
//! and so on; a path of more than 256 bytes is cut in the middle.

mod names;
mod path;
mod planner;

use std::ops::Range;

use arrow_schema::{DataType, Schema};

pub(crate) use self::path::LeafPath;
use self::planner::Planner;

use super::domain::Domain;
use crate::error::{Error, Result};
use crate::format::UnknownType;
use crate::values::{Kind, PhysicalType};

/// Most items of the lists of a column in a row group, and most rows of runs and NULLs, which need
/// no bytes in the file but a bitmap in Arrow.
pub(super) const MOST_ITEMS: usize = i32::MAX as usize;

/// The leaves of a schema, and one tree of them per column.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// One tree per top-level field.
    pub fields: Vec<Node>,
    leaves: Vec<Leaf>,
    /// First leaf of each column, and the number of leaves.
    starts: Vec<usize>,
}

/// One level of a column; the numbers are leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Nothing but NULLs: no leaf.
    Null,
    /// A type that this release does not know: the column is not read.
    Unknown,
    /// Words, bits or byte strings, with their validity.
    Leaf(usize),
    /// List, large list, their views, map.
    List {
        /// Length of each list, with the lists' validity; arbitrary under a NULL, which has no
        /// items.
        lengths: usize,
        /// The items, one list after another.
        item: Box<Node>,
    },
    /// Lists of one length.
    FixedList {
        /// The lists' validity.
        validity: usize,
        /// Items of each list, also of those that are NULL.
        size: usize,
        /// The items.
        item: Box<Node>,
    },
    /// One child per field, each as long as the struct.
    Struct {
        /// The structs' validity; each child has its own as well.
        validity: usize,
        /// The fields.
        children: Vec<Node>,
    },
    /// Codes into values.
    Dictionary {
        /// The keys, as wide as their type, with the column's validity; arbitrary under a NULL.
        codes: usize,
        /// The dictionary, with a number of values of its own.
        values: Box<Node>,
    },
    /// Runs of a value.
    RunEnd {
        /// Ends, strictly increasing, never NULL; the last is the number of rows.
        ends: usize,
        /// One value per run.
        values: Box<Node>,
    },
}

/// One leaf column.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of a leaf, each asked by itself"
)]
pub(crate) struct Leaf {
    /// Unique name for messages: see the module.
    pub path: LeafPath,
    /// The top-level field that it belongs to.
    pub column: usize,
    /// Its physical type; `None` where it is validity alone.
    pub ty: Option<PhysicalType>,
    /// How its values are ordered.
    pub kind: Kind,
    /// Whether byte strings are wanted with 64-bit offsets (large utf8, large binary).
    pub large: bool,
    /// Bytes of each value of a fixed-size binary, also of those that are NULL; else 0.
    pub width: usize,
    /// Whether byte strings are text.
    pub utf8: bool,
    /// Whether it is a whole column by itself, one value per row: its blocks can be read by row
    /// range.
    pub flat: bool,
    /// Whether it holds items of lists or maps, whose blocks are those of no rows.
    pub item: bool,
    /// Which words are values of its type.
    pub domain: Domain,
    /// Whether its values have a sum that means something: integers, decimals and durations.
    pub has_sum: bool,
    /// The type's tag, where this release does not know it: the leaf is not read.
    pub unknown: Option<u8>,
}

impl Leaf {
    /// Whether a reader can use the bounds of its blocks: to leave out rows, or to know that all values
    /// are in the domain of the type.
    pub(crate) fn is_prunable(&self) -> bool {
        !self.item || self.domain.has_range()
    }
}

impl Layout {
    /// The layout of `schema`; unions, and two columns of one name, are refused.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        Self::of_file(schema, &[], 0)
    }

    /// The layout of a file's schema, some columns of which have unknown types, and which should have
    /// `leaves` leaves in all.
    pub(crate) fn of_file(schema: &Schema, unknown: &[UnknownType], leaves: usize) -> Result<Self> {
        // Tables of 10,000 columns are opened often: allocate once.
        let columns = schema.fields().len();
        let mut planner = Planner::of(schema);
        names::check(schema.fields())?;
        let mut starts = Vec::with_capacity(columns + 1);
        starts.push(0);
        let mut layout = Self {
            fields: Vec::with_capacity(columns),
            leaves: Vec::new(),
            starts,
        };
        let mut unknown = unknown.iter().peekable();
        for (column, field) in schema.fields().iter().enumerate() {
            let first = planner.begin(column, field);
            let mut node = planner.node(field.data_type(), field.name())?;
            if let Some(found) = unknown.next_if(|unknown| unknown.column == column) {
                planner.make_unknown(first, field.name(), found, leaves)?;
                node = Node::Unknown;
            }
            if let (Node::Leaf(_), Some(leaf)) = (&node, planner.leaves.get_mut(first)) {
                leaf.flat = true;
            }
            layout.fields.push(node);
            layout.starts.push(planner.leaves.len());
        }
        layout.leaves = planner.leaves;
        Ok(layout)
    }

    /// All leaves, in order.
    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The leaves of a top-level column; none where there is no such column.
    pub(crate) fn leaves_of(&self, column: usize) -> Range<usize> {
        match self.starts.get(column..column.saturating_add(2)) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    /// The physical type of a leaf.
    pub(super) fn ty(&self, leaf: usize) -> Option<PhysicalType> {
        self.leaves.get(leaf).and_then(|leaf| leaf.ty)
    }

    /// The path of a leaf, for messages.
    pub(super) fn path(&self, leaf: usize) -> &str {
        self.leaves.get(leaf).map_or("?", |leaf| &*leaf.path)
    }
}

/// Physical type and order of a type without children; `None` for nested types and null.
pub(super) fn physical(ty: &DataType) -> Option<(PhysicalType, Kind)> {
    use DataType as D;
    use Kind::{Float, Opaque, Signed, Unsigned};
    use arrow_schema::IntervalUnit as I;
    Some(match ty {
        D::Boolean => (PhysicalType::Bits, Unsigned),
        D::UInt8 => (PhysicalType::U8, Unsigned),
        D::UInt16 => (PhysicalType::U16, Unsigned),
        D::UInt32 => (PhysicalType::U32, Unsigned),
        D::UInt64 => (PhysicalType::U64, Unsigned),
        D::Int8 => (PhysicalType::U8, Signed),
        D::Int16 => (PhysicalType::U16, Signed),
        D::Int32 | D::Date32 | D::Time32(_) | D::Decimal32(..) | D::Interval(I::YearMonth) => {
            (PhysicalType::U32, Signed)
        }
        D::Int64
        | D::Date64
        | D::Time64(_)
        | D::Timestamp(..)
        | D::Duration(_)
        | D::Decimal64(..) => (PhysicalType::U64, Signed),
        D::Decimal128(..) => (PhysicalType::U128, Signed),
        D::Decimal256(..) => (PhysicalType::U256, Signed),
        D::Float16 => (PhysicalType::U16, Float),
        D::Float32 => (PhysicalType::U32, Float),
        D::Float64 => (PhysicalType::U64, Float),
        D::Interval(I::DayTime) => (PhysicalType::U64, Opaque),
        D::Interval(I::MonthDayNano) => (PhysicalType::U128, Opaque),
        D::Utf8
        | D::LargeUtf8
        | D::Utf8View
        | D::Binary
        | D::LargeBinary
        | D::BinaryView
        | D::FixedSizeBinary(_) => (PhysicalType::Bytes, Unsigned),
        _ => return None,
    })
}

/// The error for a column that is not there.
pub(crate) fn unknown_column(name: &str, schema: &Schema) -> Error {
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let shown = names.get(..20).unwrap_or(&names).join(", ");
    let more = if names.len() > 20 {
        format!(" and {} more", names.len() - 20)
    } else {
        String::new()
    };
    Error::invalid(format!(
        "no column is called {name:?}; there are {shown}{more}"
    ))
}

#[cfg(test)]
mod tests;
