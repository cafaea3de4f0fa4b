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

use std::ops::Range;

use arrow_schema::{DataType, Field, Schema};
use hashbrown::{HashMap, HashSet};

use crate::error::{Error, Result};
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
pub(crate) struct Leaf {
    /// Unique name for messages: see the module.
    pub path: String,
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
}

impl Layout {
    /// The layout of `schema`; unions, and two columns of one name, are refused.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        // Tables of 10,000 columns are opened often: allocate once.
        let columns = schema.fields().len();
        let mut planner = Planner {
            leaves: Vec::with_capacity(columns),
            ..Planner::default()
        };
        planner.names.reserve(columns);
        for field in schema.fields() {
            if !planner.names.insert(field.name()) {
                return Err(Error::invalid(format!(
                    "two columns are called {:?}",
                    field.name()
                )));
            }
        }
        let mut starts = Vec::with_capacity(columns + 1);
        starts.push(0);
        let mut layout = Self {
            fields: Vec::with_capacity(columns),
            leaves: Vec::new(),
            starts,
        };
        for (column, field) in schema.fields().iter().enumerate() {
            planner.column = column;
            let first = planner.leaves.len();
            let node = planner.node(field.data_type(), field.name())?;
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
        self.leaves.get(leaf).map_or("?", |leaf| &leaf.path)
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

#[derive(Default)]
struct Planner<'a> {
    leaves: Vec<Leaf>,
    column: usize,
    /// Names of the columns.
    names: HashSet<&'a str>,
    /// Paths below the columns.
    taken: HashSet<String>,
    /// Next number to try for a path that is taken, so that many fields of one name stay cheap.
    next: HashMap<String, usize>,
}

impl Planner<'_> {
    fn node(&mut self, ty: &DataType, path: &str) -> Result<Node> {
        let locate = |e: Error| e.at(|p| p.column = Some(path.to_owned()));
        crate::format::check_type(ty)
            .map_err(|what| Error::invalid(format!("column {path:?}: {what}")))?;
        if let Some((physical, kind)) = physical(ty) {
            return Ok(Node::Leaf(self.leaf(ty, Some(physical), kind, path)));
        }
        Ok(match ty {
            DataType::Null => Node::Null,
            DataType::List(item) | DataType::ListView(item) | DataType::Map(item, _) => {
                self.list(ty, PhysicalType::U32, item, path)?
            }
            DataType::LargeList(item) | DataType::LargeListView(item) => {
                self.list(ty, PhysicalType::U64, item, path)?
            }
            DataType::FixedSizeList(item, size) => {
                let validity = self.leaf(ty, None, Kind::Opaque, path);
                Node::FixedList {
                    validity,
                    size: *size as usize,
                    item: self.item(item, path)?,
                }
            }
            DataType::Struct(fields) => {
                let validity = self.leaf(ty, None, Kind::Opaque, path);
                let child = |field: &std::sync::Arc<Field>| {
                    let name = self.child_path(path, ".", field.name());
                    self.node(field.data_type(), &name)
                };
                Node::Struct {
                    validity,
                    children: fields.iter().map(child).collect::<Result<_>>()?,
                }
            }
            DataType::Dictionary(key, values) => {
                let Some((physical, _)) = physical(key) else {
                    return Err(locate(Error::unsupported(format!(
                        "{ty} has no integer keys"
                    ))));
                };
                let codes = self.leaf(key, Some(physical), Kind::Unsigned, path);
                Node::Dictionary {
                    codes,
                    values: self.values(values, path)?,
                }
            }
            DataType::RunEndEncoded(ends, values) => {
                let Some((physical, _)) = physical(ends.data_type()) else {
                    return Err(locate(Error::unsupported(format!(
                        "{ty} has no integer ends"
                    ))));
                };
                let ends = self.leaf(ends.data_type(), Some(physical), Kind::Unsigned, path);
                Node::RunEnd {
                    ends,
                    values: self.values(values.data_type(), path)?,
                }
            }
            _ => return Err(locate(Error::unsupported(format!("{ty} is not accepted")))),
        })
    }

    fn list(
        &mut self,
        ty: &DataType,
        lengths: PhysicalType,
        item: &Field,
        path: &str,
    ) -> Result<Node> {
        let lengths = self.leaf(ty, Some(lengths), Kind::Unsigned, path);
        let item = self.item(item, path)?;
        Ok(Node::List { lengths, item })
    }

    fn item(&mut self, item: &Field, path: &str) -> Result<Box<Node>> {
        let name = self.child_path(path, "[]", "");
        self.node(item.data_type(), &name).map(Box::new)
    }

    fn values(&mut self, ty: &DataType, path: &str) -> Result<Box<Node>> {
        let name = self.child_path(path, "{values}", "");
        self.node(ty, &name).map(Box::new)
    }

    fn leaf(
        &mut self,
        ty: &DataType,
        physical: Option<PhysicalType>,
        kind: Kind,
        path: &str,
    ) -> usize {
        self.leaves.push(Leaf {
            path: path.to_owned(),
            column: self.column,
            ty: physical,
            kind,
            large: matches!(ty, DataType::LargeUtf8 | DataType::LargeBinary),
            width: if let DataType::FixedSizeBinary(width) = ty {
                *width as usize
            } else {
                0
            },
            utf8: matches!(
                ty,
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            ),
            flat: false,
        });
        self.leaves.len() - 1
    }

    /// Unique path of a child: the parent's path, `join` and the child's name.
    fn child_path(&mut self, parent: &str, join: &str, name: &str) -> String {
        const HALF_BYTES: usize = 120;
        let mut path = format!("{}{join}{name}", head(parent, 2 * HALF_BYTES));
        // A long name is not repeated for each of a million children.
        if path.len() > 256 {
            path = format!("{}..{}", head(&path, HALF_BYTES), tail(&path, HALF_BYTES));
        }
        if self.take(&path) {
            return path;
        }
        let mut next = self.next.get(&path).copied().unwrap_or(2);
        loop {
            let numbered = format!("{path}#{next}");
            next += 1;
            if self.take(&numbered) {
                self.next.insert(path, next);
                return numbered;
            }
        }
    }

    /// Takes a path; whether it was free.
    fn take(&mut self, path: &str) -> bool {
        !self.names.contains(path) && self.taken.insert(path.to_owned())
    }
}

/// At most `bytes` of the beginning, at a character's boundary.
fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}

/// At most `bytes` of the end.
fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..)
        .unwrap_or_default()
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
