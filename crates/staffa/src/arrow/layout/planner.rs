//! Planning the leaves of a schema, each with a path of its own.

use std::cell::OnceCell;

use arrow_schema::{DataType, FieldRef, Fields, Schema};
use hashbrown::{HashMap, HashSet};

use super::{Domain, Leaf, LeafPath, Node, physical};
use crate::error::{Error, Result};
use crate::format::UnknownType;
use crate::values::{Kind, PhysicalType};

/// Of these a path below a column has at least one.
const JOINTS: [char; 4] = ['.', '[', '{', '#'];

/// The leaves so far.
pub(super) struct Planner<'a> {
    pub(super) leaves: Vec<Leaf>,
    fields: &'a Fields,
    /// Position and field of the column at hand, and its first leaf.
    column: usize,
    field: Option<&'a FieldRef>,
    first: usize,
    /// Whether the type at hand is that of items.
    item: bool,
    /// Names of the columns that a path below one could have as well.
    names: OnceCell<HashSet<&'a str>>,
    /// Paths below the columns.
    taken: HashSet<String>,
    /// Next number to try for a path that is taken, so that many fields of one name stay cheap.
    next: HashMap<String, usize>,
}

impl<'a> Planner<'a> {
    /// Of no column yet.
    pub(super) fn of(schema: &'a Schema) -> Self {
        Self {
            leaves: Vec::with_capacity(schema.fields().len()),
            fields: schema.fields(),
            column: 0,
            field: None,
            first: 0,
            item: false,
            names: OnceCell::new(),
            taken: HashSet::new(),
            next: HashMap::new(),
        }
    }

    /// Goes on to a column; returns the number of its first leaf.
    pub(super) fn begin(&mut self, column: usize, field: &'a FieldRef) -> usize {
        (self.column, self.field) = (column, Some(field));
        self.first = self.leaves.len();
        self.first
    }

    /// The tree of a type, its leaves added.
    pub(super) fn node(&mut self, ty: &DataType, path: &str) -> Result<Node> {
        crate::format::check_type(ty)
            .map_err(|what| Error::invalid(format!("column {path:?}: {what}")))?;
        if let Some((physical, kind)) = physical(ty) {
            return Ok(Node::Leaf(self.leaf(ty, Some(physical), kind, path)));
        }
        Ok(match ty {
            DataType::Null => Node::Null,
            DataType::List(item) | DataType::ListView(item) | DataType::Map(item, _) => {
                let lengths = self.leaf(ty, Some(PhysicalType::U32), Kind::Unsigned, path);
                let item = self.item(item.data_type(), path)?;
                Node::List { lengths, item }
            }
            DataType::LargeList(item) | DataType::LargeListView(item) => {
                let lengths = self.leaf(ty, Some(PhysicalType::U64), Kind::Unsigned, path);
                let item = self.item(item.data_type(), path)?;
                Node::List { lengths, item }
            }
            DataType::FixedSizeList(item, size) => Node::FixedList {
                validity: self.leaf(ty, None, Kind::Opaque, path),
                size: *size as usize,
                item: self.item(item.data_type(), path)?,
            },
            DataType::Struct(fields) => {
                let validity = self.leaf(ty, None, Kind::Opaque, path);
                let child = |field: &FieldRef| {
                    let name = self.child_path(path, ".", field.name());
                    self.node(field.data_type(), &name)
                };
                Node::Struct {
                    validity,
                    children: fields.iter().map(child).collect::<Result<_>>()?,
                }
            }
            DataType::Dictionary(key, values) => Node::Dictionary {
                codes: self.integers(key, path)?,
                values: self.below(values, path, "{values}")?,
            },
            DataType::RunEndEncoded(ends, values) => Node::RunEnd {
                ends: self.integers(ends.data_type(), path)?,
                values: self.below(values.data_type(), path, "{values}")?,
            },
            _ => {
                let error = Error::unsupported(format!("{ty} is not accepted"));
                return Err(error.at(|p| p.column = Some(path.to_owned())));
            }
        })
    }

    /// The items of lists, the entries of maps.
    fn item(&mut self, ty: &DataType, path: &str) -> Result<Box<Node>> {
        let outer = std::mem::replace(&mut self.item, true);
        let item = self.below(ty, path, "[]");
        self.item = outer;
        item
    }

    /// A type within another one.
    fn below(&mut self, ty: &DataType, path: &str, join: &str) -> Result<Box<Node>> {
        let name = self.child_path(path, join, "");
        self.node(ty, &name).map(Box::new)
    }

    /// The leaf of codes or run ends, whose type has been checked.
    fn integers(&mut self, ty: &DataType, path: &str) -> Result<usize> {
        let (physical, _) = physical(ty).ok_or_else(|| Error::internal("codes without a width"))?;
        let leaf = self.leaf(ty, Some(physical), Kind::Unsigned, path);
        if let Some(leaf) = self.leaves.last_mut() {
            leaf.has_sum = false;
        }
        Ok(leaf)
    }

    fn leaf(
        &mut self,
        ty: &DataType,
        physical: Option<PhysicalType>,
        kind: Kind,
        path: &str,
    ) -> usize {
        // The first leaf of a column has its name.
        let path = match self.field {
            Some(field) if self.leaves.len() == self.first => LeafPath::Column(field.clone()),
            _ => LeafPath::Own(path.into()),
        };
        self.leaves.push(Leaf {
            path,
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
            item: self.item,
            domain: Domain::of(ty),
            has_sum: ty.is_integer() || ty.is_decimal() || matches!(ty, DataType::Duration(_)),
            unknown: None,
        });
        self.leaves.len() - 1
    }

    /// Makes the leaves from `first` on, those of known types within the column, into leaves of an
    /// unknown type, and adds those of the type itself; at most `most` in all.
    pub(super) fn make_unknown(
        &mut self,
        first: usize,
        name: &str,
        unknown: &UnknownType,
        most: usize,
    ) -> Result<()> {
        let room = most.saturating_sub(self.leaves.len()) as u64;
        if unknown.leaves > room {
            return Err(Error::corrupt(format!(
                "column {:?} of type {}: at most {room} leaves expected, found {}",
                unknown.path, unknown.tag, unknown.leaves
            )));
        }
        let count = self.leaves.len() - first + unknown.leaves as usize;
        self.leaves.truncate(first);
        for leaf in 0..count {
            let path = match leaf {
                0 => name.to_owned(),
                _ => self.child_path(name, "#", &leaf.to_string()),
            };
            let leaf = self.leaf(&DataType::Null, None, Kind::Opaque, &path);
            if let Some(leaf) = self.leaves.get_mut(leaf) {
                leaf.unknown = Some(unknown.tag);
            }
        }
        Ok(())
    }

    /// Unique path of a child: the parent's path, `join` and the child's name.
    fn child_path(&mut self, parent: &str, join: &str, name: &str) -> String {
        const HALF_BYTES: usize = 120;
        let mut path = [head(parent, 2 * HALF_BYTES), join, name].concat();
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
        let all = self.fields.iter().map(|field| field.name().as_str());
        let names = self
            .names
            .get_or_init(|| all.filter(|name| name.contains(JOINTS)).collect());
        !names.contains(path) && self.taken.insert(path.to_owned())
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
