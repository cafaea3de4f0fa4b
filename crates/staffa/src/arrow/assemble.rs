//! Assembling: decoded leaves to one Arrow array per column.
//!
//! The leaves come from a file that nobody vouches for. Width and number of words, text, sums of
//! lengths and ranges of codes are checked here, and all arrays are made by Arrow's checked
//! constructors. Contents are not copied.

use std::sync::Arc;

use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, DictionaryArray, NullArray, downcast_integer};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema};

use super::assemble_leaf::{leaf_array, words};
use super::build;
use super::build::{Length, Mask, boolean_buffer, refused, scalars};
use super::layout::{MOST_ITEMS, Node, physical};
use crate::error::{Error, Result};
use crate::values::{DecodedLeaf, DecodedValues};

/// The array of `field` with `rows` rows from the leaves of `node`; `leaves(i)` is called once for
/// each leaf, in order.
///
/// `field` decides on the type, since utf8, large utf8 and views have the same leaves. Leaves that
/// do not fit are `Error::Corrupt`.
pub(crate) fn assemble(
    field: &Field,
    node: &Node,
    rows: usize,
    leaves: &mut dyn FnMut(usize) -> Result<DecodedLeaf>,
) -> Result<ArrayRef> {
    assemble_within(MOST_ITEMS, field, node, rows, leaves)
}

/// As [`assemble`], with at most `most` rows of NULLs and of runs, which need no bytes in the file.
pub(crate) fn assemble_within(
    most: usize,
    field: &Field,
    node: &Node,
    rows: usize,
    leaves: &mut dyn FnMut(usize) -> Result<DecodedLeaf>,
) -> Result<ArrayRef> {
    let most = most.min(MOST_ITEMS);
    let mut assemble = || {
        let array = Assembler { leaves, most }.node(
            field.data_type(),
            node,
            Some(rows),
            &Mask::default(),
        )?;
        if !field.is_nullable() && array.logical_null_count() > 0 {
            return Err(Error::corrupt(
                "the column is not nullable, but holds a NULL",
            ));
        }
        Ok(array)
    };
    assemble().map_err(|e| e.at(|p| p.column = Some(field.name().clone())))
}

/// The schema with every string and binary type as a view, also in structs and lists; the leaves are
/// the same.
///
/// The values of dictionaries and of runs keep their types: few programs know views there.
pub(crate) fn with_string_views(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(view_field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn view_field(field: &FieldRef) -> FieldRef {
    let ty = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::List(item) => DataType::List(view_field(item)),
        DataType::LargeList(item) => DataType::LargeList(view_field(item)),
        DataType::ListView(item) => DataType::ListView(view_field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(view_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(view_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(view_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(view_field(entries), *sorted),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

/// The schema with 64 bits for every column of decimals of up to 18 digits that has 128.
pub(crate) fn with_short_decimals(schema: &Schema) -> Schema {
    let short = |field: &FieldRef| match field.data_type() {
        DataType::Decimal128(digits, scale) if *digits <= DECIMAL64_MAX_PRECISION => {
            let ty = DataType::Decimal64(*digits, *scale);
            Arc::new(field.as_ref().clone().with_data_type(ty))
        }
        _ => field.clone(),
    };
    let fields: Fields = schema.fields().iter().map(short).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// The leaves whose strings are assembled as views, ascending.
pub(crate) fn view_leaves(ty: &DataType, node: &Node) -> Vec<usize> {
    let mut leaves = Vec::new();
    add_view_leaves(ty, node, &mut leaves);
    leaves
}

fn add_view_leaves(ty: &DataType, node: &Node, leaves: &mut Vec<usize>) {
    match (node, ty) {
        (Node::Leaf(leaf), DataType::Utf8View | DataType::BinaryView) => leaves.push(*leaf),
        (
            Node::List { item, .. } | Node::FixedList { item, .. },
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _),
        ) => add_view_leaves(field.data_type(), item, leaves),
        (Node::Struct { children, .. }, DataType::Struct(fields)) => {
            for (node, field) in children.iter().zip(fields) {
                add_view_leaves(field.data_type(), node, leaves);
            }
        }
        _ => {}
    }
}

struct Assembler<'a> {
    leaves: &'a mut dyn FnMut(usize) -> Result<DecodedLeaf>,
    most: usize,
}

impl Assembler<'_> {
    /// `rows` is `None` for the values of a dictionary, whose number the leaf gives.
    fn node(
        &mut self,
        ty: &DataType,
        node: &Node,
        rows: Option<usize>,
        above: &Mask<'_>,
    ) -> Result<ArrayRef> {
        match (node, ty) {
            (Node::Null, DataType::Null) => self.nulls(rows),
            (Node::Leaf(leaf), ty) => {
                let (values, nulls) = self.leaf(*leaf, rows)?;
                leaf_array(ty, values, nulls)
            }
            (
                Node::List { lengths, item },
                DataType::List(field) | DataType::ListView(field) | DataType::Map(field, _),
            ) => self.list::<u32>(ty, field, (*lengths, item), rows),
            (
                Node::List { lengths, item },
                DataType::LargeList(field) | DataType::LargeListView(field),
            ) => self.list::<u64>(ty, field, (*lengths, item), rows),
            (
                Node::FixedList {
                    validity,
                    size,
                    item,
                },
                DataType::FixedSizeList(field, declared),
            ) => {
                if i32::try_from(*size) != Ok(*declared) {
                    return Err(Error::invalid(format!(
                        "{ty} expected, but the layout has lists of {size}"
                    )));
                }
                let (rows, nulls) = self.validity(*validity, rows)?;
                self.fixed_lists(field, *size, item, rows, nulls.as_ref(), above)
            }
            (Node::Struct { validity, children }, DataType::Struct(fields))
                if children.len() == fields.len() =>
            {
                let (rows, nulls) = self.validity(*validity, rows)?;
                self.structs(fields, children, rows, nulls.as_ref(), above)
            }
            (Node::Dictionary { codes, values }, DataType::Dictionary(key, value)) => {
                macro_rules! of {
                    ($key:ty) => {
                        self.dictionary::<$key>(*codes, values, value, rows)
                    };
                }
                downcast_integer! {
                    key.as_ref() => (of),
                    _ => Err(unlike(ty))
                }
            }
            (Node::RunEnd { ends, values }, DataType::RunEndEncoded(index, field)) => {
                self.runs(ty, (*ends, index), (values, field), rows, above)
            }
            (_, ty) => Err(unlike(ty)),
        }
    }

    fn nulls(&self, rows: Option<usize>) -> Result<ArrayRef> {
        match rows {
            Some(rows) if rows <= self.most => Ok(Arc::new(NullArray::new(rows))),
            Some(rows) => Err(self.too_many("NULLs", rows)),
            None => Err(Error::internal("NULLs without a number of rows")),
        }
    }

    fn too_many(&self, what: &str, found: usize) -> Error {
        Error::limit(format!(
            "{found} {what} in one row group, at most {} are accepted",
            self.most
        ))
    }

    /// Values and validity of a leaf, both of `rows` values.
    fn leaf(
        &mut self,
        leaf: usize,
        rows: Option<usize>,
    ) -> Result<(DecodedValues, Option<NullBuffer>)> {
        let DecodedLeaf { validity, values } = (self.leaves)(leaf)?;
        expect(values.len(), rows, "values")?;
        let Some(validity) = validity else {
            return Ok((values, None));
        };
        expect(validity.len(), Some(values.len()), "bits of validity")?;
        let nulls = NullBuffer::new(boolean_buffer(validity));
        Ok((values, Some(nulls).filter(|nulls| nulls.null_count() > 0)))
    }

    /// Number of rows and validity of a leaf of validity alone.
    fn validity(
        &mut self,
        leaf: usize,
        rows: Option<usize>,
    ) -> Result<(usize, Option<NullBuffer>)> {
        match self.leaf(leaf, rows)? {
            (DecodedValues::Empty(rows), nulls) => Ok((rows, nulls)),
            _ => Err(Error::corrupt(
                "validity alone expected, found values as well",
            )),
        }
    }

    fn list<L: Length>(
        &mut self,
        ty: &DataType,
        field: &FieldRef,
        (lengths, item): (usize, &Node),
        rows: Option<usize>,
    ) -> Result<ArrayRef> {
        let (values, nulls) = self.leaf(lengths, rows)?;
        let lengths = scalars::<L>(words(values, L::TYPE)?)?;
        let offsets = build::offsets(ty, &lengths, nulls.as_ref())?;
        let items = offsets.last().map(|end| end.as_usize());
        let items = self.node(field.data_type(), item, items, &Mask::default())?;
        build::list(ty, offsets, items, nulls)
    }

    fn fixed_lists(
        &mut self,
        field: &FieldRef,
        size: usize,
        item: &Node,
        rows: usize,
        nulls: Option<&NullBuffer>,
        above: &Mask<'_>,
    ) -> Result<ArrayRef> {
        let Some(items) = rows.checked_mul(size) else {
            return Err(Error::corrupt(format!("{rows} lists of {size} items")));
        };
        let below = Mask::below(above, nulls, size);
        let items = self.node(field.data_type(), item, Some(items), &below)?;
        build::fixed_lists(field, size, items, nulls.cloned(), rows, above)
    }

    fn structs(
        &mut self,
        fields: &Fields,
        nodes: &[Node],
        rows: usize,
        nulls: Option<&NullBuffer>,
        above: &Mask<'_>,
    ) -> Result<ArrayRef> {
        let below = Mask::below(above, nulls, 1);
        let child = |(node, field): (&Node, &FieldRef)| {
            self.node(field.data_type(), node, Some(rows), &below)
        };
        let children = nodes.iter().zip(fields).map(child);
        let children = children.collect::<Result<Vec<_>>>()?;
        build::structs(fields, children, nulls.cloned(), rows, above)
    }

    fn runs(
        &mut self,
        ty: &DataType,
        (ends, index): (usize, &Field),
        (values, field): (&Node, &Field),
        rows: Option<usize>,
        above: &Mask<'_>,
    ) -> Result<ArrayRef> {
        let (end_values, nulls) = self.leaf(ends, None)?;
        if nulls.is_some() {
            return Err(Error::corrupt("a run end is NULL"));
        }
        let ends = leaf_array(index.data_type(), end_values, None)?;
        let (none, runs) = (Mask::default(), Some(ends.len()));
        let values = self.node(field.data_type(), values, runs, &none)?;
        let array = build::runs(ty, ends.as_ref(), &values, above)?;
        expect(array.len(), rows, "rows covered by runs")?;
        if array.len() > self.most {
            return Err(self.too_many("rows covered by runs", array.len()));
        }
        Ok(array)
    }

    fn dictionary<K: ArrowDictionaryKeyType>(
        &mut self,
        leaf: usize,
        node: &Node,
        value: &DataType,
        rows: Option<usize>,
    ) -> Result<ArrayRef> {
        let (codes, nulls) = self.leaf(leaf, rows)?;
        let Some((width, _)) = physical(&K::DATA_TYPE) else {
            return Err(unlike(&K::DATA_TYPE));
        };
        let mut codes = scalars::<K::Native>(words(codes, width)?)?;
        let valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let values = if matches!(node, Node::Null) {
            // No leaf gives the number of NULLs of this dictionary: the largest code does.
            let reach = codes
                .iter()
                .enumerate()
                .filter(|(row, _)| valid(*row))
                .map(|(_, code)| code.to_usize());
            let reach = reach
                .map(|code| code.map_or(usize::MAX, |code| code.saturating_add(1)))
                .max();
            self.node(value, node, Some(reach.unwrap_or(0)), &Mask::default())?
        } else {
            self.node(value, node, None, &Mask::default())?
        };
        // Some programs follow codes under a NULL: they must be in range, too.
        let outside = |code: &K::Native| code.to_usize().is_none_or(|code| code >= values.len());
        if nulls.as_ref().is_some_and(|n| {
            (0..codes.len()).any(|i| n.is_null(i) && codes.get(i).is_some_and(outside))
        }) {
            let cleared = |(row, code): (usize, &K::Native)| {
                if valid(row) {
                    *code
                } else {
                    K::Native::default()
                }
            };
            codes = codes.iter().enumerate().map(cleared).collect();
        }
        let keys = build::primitive::<K>(&K::DATA_TYPE, codes, nulls)?;
        Ok(Arc::new(
            DictionaryArray::try_new(keys, values).map_err(refused)?,
        ))
    }
}

pub(super) fn unlike(ty: &DataType) -> Error {
    Error::invalid(format!("the layout is not that of {ty}"))
}

fn expect(found: usize, expected: Option<usize>, what: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(Error::corrupt(format!(
            "{expected} {what} expected, found {found}"
        ))),
        _ => Ok(()),
    }
}
