//! Binding to a schema: literals become values of the columns' types, and `NOT` disappears.
//!
//! A comparison with a literal between two values of the type becomes one with a neighbour (see
//! `position`): `x < 10.5` is `x <= 10`, `x = 10.5` is never true.
//!
//! `NOT` is pushed down to the comparisons, which are negated. That is exact in three-valued logic:
//! `NOT (x < 1)` and `x >= 1` are both NULL where x is. Without `NOT`, evaluation only needs the rows
//! that are true.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Datum, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, Scalar, make_array,
};
use arrow_buffer::Buffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use super::like::Pattern;
use super::position::{Half, Position, Value, accepts, position};
use super::{Compare, Literal, Predicate, path};
use crate::error::{Error, Result};

/// Deepest nesting; every predicate that parses has less.
const DEPTH: usize = 256;

/// Literals of a list up to which comparing with each takes less than a set of them.
const FEW: usize = 2;

/// A predicate bound to a schema: to evaluate on batches and to compare with zone maps.
///
/// ```
/// # fn main() -> staffa::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int8Array, RecordBatch};
/// use staffa::Predicate;
///
/// let x: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None, Some(11)]));
/// let batch = RecordBatch::try_from_iter([("x", x)])?;
/// let bound = "not (x < 10.5)".parse::<Predicate>()?.bind(&batch.schema())?;
/// assert_eq!(bound.evaluate(&batch)?.values().iter().collect::<Vec<_>>(), [false, false, true]);
/// // Nothing is known of a block without zone maps.
/// assert!(bound.may_match(100, &|_| None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Bound {
    pub(crate) root: Node,
}

/// A bound predicate without `NOT`.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Null(String),
    NotNull(String),
    Compare(String, Compare, BoundLiteral),
    /// Equal to one of many values, or not NULL and equal to none.
    In {
        column: String,
        /// The type of the values.
        ty: DataType,
        /// In order, each once; one at least.
        values: Arc<[Value]>,
        negated: bool,
    },
    /// A test of text or binary.
    Match {
        column: String,
        test: Test,
        /// Operand of the kernel, of the column's type; binary for binary of fixed size.
        scalar: Scalar<ArrayRef>,
        /// The operand as bytes.
        text: Vec<u8>,
        /// Prefix of every value for which the test holds.
        prefix: Vec<u8>,
        /// Whether the test holds for every value with this prefix.
        whole: bool,
        negated: bool,
    },
}

/// A test by one of Arrow's kernels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    StartsWith,
    Contains,
    Like,
    ILike,
}

/// A value of a column's type.
#[derive(Debug, Clone)]
pub(crate) struct BoundLiteral {
    /// Operand of the kernels.
    pub(super) scalar: Scalar<ArrayRef>,
    /// Compares with zone maps.
    pub(crate) value: Value,
}

impl BoundLiteral {
    /// A value of a type.
    pub(super) fn of(ty: &DataType, value: Value) -> Result<Self> {
        let scalar = Scalar::new(array_of_one(ty, &value)?);
        Ok(Self { scalar, value })
    }

    pub(super) fn data_type(&self) -> &DataType {
        self.scalar.get().0.data_type()
    }
}

impl Predicate {
    /// Checks its columns and literals against a schema. Fails where a column is not there or
    /// cannot be compared with its literal, and names both.
    pub fn bind(&self, schema: &Schema) -> Result<Bound> {
        Ok(Bound {
            root: bind(self, schema, false, 0)?,
        })
    }
}

/// `Node::All` or `Node::Any`.
type Join = fn(Vec<Node>) -> Node;

fn bind(predicate: &Predicate, schema: &Schema, negated: bool, depth: usize) -> Result<Node> {
    check_depth(depth)?;
    // De Morgan's laws.
    let (and, or): (Join, Join) = if negated {
        (Node::Any, Node::All)
    } else {
        (Node::All, Node::Any)
    };
    let bind_part = |part| bind(part, schema, negated, depth + 1);
    let matching = |column, pattern| matching(predicate, column, schema, pattern, negated);
    match predicate {
        Predicate::Compare {
            column,
            op,
            literal,
        } => {
            let op = if negated { op.negated() } else { *op };
            compare(column, path::data_type(schema, column)?, op, literal)
        }
        Predicate::In { column, literals } => {
            let ty = path::data_type(schema, column)?;
            if literals.len() > FEW && !matches!(innermost(ty), DataType::Boolean | DataType::Null)
            {
                return one_of(column, innermost(ty), literals, negated);
            }
            let op = if negated { Compare::NotEq } else { Compare::Eq };
            let compare = |literal| compare(column, ty, op, literal);
            literals.iter().map(compare).collect::<Result<_>>().map(or)
        }
        Predicate::StartsWith { column, prefix } => {
            matching(column, Pattern::Prefix(prefix.clone()))
        }
        Predicate::Contains { column, part } => matching(column, Pattern::Contains(part.clone())),
        Predicate::Like { column, pattern } => matching(column, Pattern::of(pattern)),
        Predicate::ILike { column, pattern } => matching(column, Pattern::AnyCase(pattern.clone())),
        Predicate::IsNull { column } => {
            path::data_type(schema, column)?;
            let column = column.clone();
            Ok(if negated {
                Node::NotNull(column)
            } else {
                Node::Null(column)
            })
        }
        Predicate::And(parts) => {
            let parts = parts.iter().map(bind_part).collect::<Result<_>>()?;
            Ok(and(lists(parts, !negated)))
        }
        Predicate::Or(parts) => {
            let mut each = Vec::new();
            alternatives(parts, depth + 1, &mut each)?;
            let bind_each = |(part, depth)| bind(part, schema, negated, depth);
            let parts = each.into_iter().map(bind_each).collect::<Result<_>>()?;
            Ok(or(lists(parts, negated)))
        }
        Predicate::Not(part) => bind(part, schema, !negated, depth + 1),
    }
}

/// Equal to one of these literals, or to none of them.
fn one_of(column: &str, ty: &DataType, literals: &[Literal], negated: bool) -> Result<Node> {
    let (mut values, mut nulls) = (Vec::with_capacity(literals.len()), false);
    for literal in literals {
        match located(column, ty, literal)? {
            Some(Position::At(value)) => values.push(value),
            // No value equals it.
            Some(_) => {}
            None => nulls = true,
        }
    }
    // Whether a value differs from NULL is not known.
    if nulls && negated {
        return Ok(Node::Any(Vec::new()));
    }
    let column = column.to_owned();
    Ok(match (values.is_empty(), negated) {
        (true, true) => Node::NotNull(column),
        (true, false) => Node::Any(Vec::new()),
        (false, _) => among(column, ty, values, negated),
    })
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > DEPTH {
        return Err(Error::invalid(format!(
            "a predicate of at most {DEPTH} parts within each other expected, found more"
        )));
    }
    Ok(())
}

/// The parts of an `OR` and of those within it, each with its depth.
fn alternatives<'p>(
    parts: &'p [Predicate],
    depth: usize,
    out: &mut Vec<(&'p Predicate, usize)>,
) -> Result<()> {
    check_depth(depth)?;
    for part in parts {
        match part {
            Predicate::Or(parts) => alternatives(parts, depth + 1, out)?,
            part => out.push((part, depth)),
        }
    }
    Ok(())
}

/// Parts of an `OR` with those that compare one column with many literals as one, in the place of the
/// first; of an `AND` (`negated`) with those that say that it differs from them.
fn lists(parts: Vec<Node>, negated: bool) -> Vec<Node> {
    let same = if negated { Compare::NotEq } else { Compare::Eq };
    let column_of = |part: &Node| match part {
        Node::Compare(column, op, literal)
            if *op == same && *literal.data_type() != DataType::Boolean =>
        {
            Some(column.clone())
        }
        _ => None,
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for column in parts.iter().filter_map(column_of) {
        *counts.entry(column).or_default() += 1;
    }
    counts.retain(|_, count| *count > FEW);
    let mut joined = Vec::new();
    // Where the list of a column stands, and its values.
    let mut found: BTreeMap<String, (usize, DataType, Vec<Value>)> = BTreeMap::new();
    for part in parts {
        let column = column_of(&part).filter(|column| counts.contains_key(column));
        match (column, part) {
            (Some(column), Node::Compare(_, _, literal)) => {
                let (_, _, values) = found.entry(column).or_insert_with(|| {
                    joined.push(Node::Any(Vec::new()));
                    (joined.len() - 1, literal.data_type().clone(), Vec::new())
                });
                values.push(literal.value);
            }
            (_, part) => joined.push(part),
        }
    }
    for (column, (at, ty, values)) in found {
        if let Some(place) = joined.get_mut(at) {
            *place = among(column, &ty, values, negated);
        }
    }
    joined
}

/// Equal to one of these values, or not NULL and equal to none; there is one at least.
fn among(column: String, ty: &DataType, mut values: Vec<Value>, negated: bool) -> Node {
    values.sort_unstable_by(Value::order);
    values.dedup_by(|a, b| a.order(b).is_eq());
    Node::In {
        column,
        ty: ty.clone(),
        values: values.into(),
        negated,
    }
}

/// The position of a literal among the values of a type; `None` for NULL.
fn located(column: &str, ty: &DataType, literal: &Literal) -> Result<Option<Position>> {
    let refuse = |why: &dyn fmt::Display| {
        Error::invalid(format!(
            "column {column:?} of type {ty} cannot be compared with {literal}: {why}"
        ))
    };
    let accepts = accepts(ty).ok_or_else(|| refuse(&"it can only be tested for NULL"))?;
    if *literal == Literal::Null {
        return Ok(None);
    }
    position(ty, literal)
        .map(Some)
        .map_err(|why| refuse(&why.unwrap_or_else(|| format!("{accepts} expected"))))
}

fn compare(column: &str, ty: &DataType, op: Compare, literal: &Literal) -> Result<Node> {
    let ty = innermost(ty);
    let never = Node::Any(Vec::new());
    if ty.is_null() {
        return Ok(never);
    }
    let Some(position) = located(column, ty, literal)? else {
        return Ok(never);
    };
    let (op, value) = match (position, op) {
        (Position::At(value), op) => (op, value),
        (_, Compare::Eq) => return Ok(never),
        (_, Compare::NotEq) => return Ok(Node::NotNull(column.to_owned())),
        (Position::Before(next), Compare::Lt | Compare::LtEq) => (Compare::Lt, next),
        (Position::Before(next), Compare::Gt | Compare::GtEq) => (Compare::GtEq, next),
        (Position::After(last), Compare::Lt | Compare::LtEq) => (Compare::LtEq, last),
        (Position::After(last), Compare::Gt | Compare::GtEq) => (Compare::Gt, last),
    };
    let literal = BoundLiteral::of(ty, value)?;
    Ok(Node::Compare(column.to_owned(), op, literal))
}

fn matching(
    predicate: &Predicate,
    column: &str,
    schema: &Schema,
    pattern: Pattern,
    negated: bool,
) -> Result<Node> {
    let whole_type = path::data_type(schema, column)?;
    let ty = innermost(whole_type);
    if ty.is_null() {
        return Ok(Node::Any(Vec::new()));
    }
    let refuse = |why| {
        Error::invalid(format!(
            "column {column:?} of type {whole_type} cannot be tested by `{predicate}`: {why}"
        ))
    };
    let binary = ty.is_binary() || matches!(ty, DataType::FixedSizeBinary(_));
    if !ty.is_string() && !binary {
        return Err(refuse("text or binary expected"));
    }
    let (test, text, prefix) = match pattern {
        Pattern::Exact(text) => {
            let op = if negated { Compare::NotEq } else { Compare::Eq };
            return compare(column, ty, op, &Literal::Text(text));
        }
        Pattern::Prefix(text) | Pattern::Contains(text) if text.is_empty() => {
            return Ok(if negated {
                Node::Any(Vec::new())
            } else {
                Node::NotNull(column.to_owned())
            });
        }
        Pattern::Prefix(text) => (Test::StartsWith, text.clone(), text),
        Pattern::Contains(text) => (Test::Contains, text, String::new()),
        Pattern::Other { .. } | Pattern::AnyCase(_) if binary => {
            let why = "of binary, `like` tests for 'text', 'text%' and '%text%' alone";
            return Err(refuse(why));
        }
        Pattern::Other { pattern, prefix } => (Test::Like, pattern, prefix),
        Pattern::AnyCase(pattern) => (Test::ILike, pattern, String::new()),
    };
    let of_type = if matches!(ty, DataType::FixedSizeBinary(_)) {
        &DataType::Binary
    } else {
        ty
    };
    let (column, text, prefix) = (column.to_owned(), text.into_bytes(), prefix.into_bytes());
    let scalar = Scalar::new(array_of_one(of_type, &Value::Bytes(text.clone()))?);
    Ok(Node::Match {
        column,
        test,
        scalar,
        text,
        prefix,
        whole: matches!(test, Test::StartsWith),
        negated,
    })
}

/// The type of the values, through runs and then through a dictionary, as Arrow's kernels see it.
pub(crate) fn innermost(ty: &DataType) -> &DataType {
    let ty = if let DataType::RunEndEncoded(_, values) = ty {
        values.data_type()
    } else {
        ty
    };
    if let DataType::Dictionary(_, values) = ty {
        values
    } else {
        ty
    }
}

/// An array of the type that holds the value alone.
pub(crate) fn array_of_one(ty: &DataType, value: &Value) -> Result<ArrayRef> {
    Ok(match (ty, value) {
        (_, Value::Bit(value)) => Arc::new(BooleanArray::from(vec![*value])),
        (DataType::Float16, Value::Float(value)) => {
            Arc::new(Float16Array::from(vec![Half::from_f64(*value)]))
        }
        (DataType::Float32, Value::Float(value)) => {
            Arc::new(Float32Array::from(vec![*value as f32]))
        }
        (_, Value::Float(value)) => Arc::new(Float64Array::from(vec![*value])),
        (DataType::FixedSizeBinary(len), Value::Bytes(bytes)) => Arc::new(
            FixedSizeBinaryArray::try_new_with_len(*len, Buffer::from(bytes.as_slice()), None, 1)?,
        ),
        (ty, Value::Bytes(bytes)) => {
            let strict = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            let binary = BinaryArray::from(vec![bytes.as_slice()]);
            cast_with_options(&binary, ty, &strict)
                .map_err(|e| Error::corrupt(format!("text is not UTF-8: {e}")))?
        }
        (ty, Value::Int(value)) => {
            let bytes = value.to_le_bytes();
            let word = ty.primitive_width().and_then(|width| bytes.get(..width));
            let word =
                word.ok_or_else(|| Error::internal(format!("a literal as words of {ty}")))?;
            make_array(
                ArrayData::builder(ty.clone())
                    .len(1)
                    .add_buffer(Buffer::from(word))
                    .build()?,
            )
        }
    })
}
