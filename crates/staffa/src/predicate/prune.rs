//! Blocks that may hold a row that matches, from their zone maps alone.
//!
//! Without `NOT` (see `bind`), "may be true" of the whole follows from "may be true" of the parts.
//! Where nothing is known the answer is yes.

use std::cmp::Ordering;

use arrow_buffer::i256;

use super::Compare;
use super::bind::{Bound, Node};
use super::position::Value;
use crate::format::{Bounds, ZoneMap};

impl Bound {
    /// Whether some row may match, by zone maps: never false where a row matches.
    ///
    /// `zone` gives the map of a column over these `rows` rows, or `None` where it is not known:
    /// its NULLs counted in rows, its bounds over the physical values. Columns of dictionaries, run
    /// ends and nested types have none.
    pub fn may_match(&self, rows: u64, zone: &dyn Fn(&str) -> Option<ZoneMap>) -> bool {
        rows > 0 && may_be_true(&self.root, rows, zone)
    }
}

/// Whether a part may be true for some row.
pub(crate) fn may_be_true(node: &Node, rows: u64, zone: &dyn Fn(&str) -> Option<ZoneMap>) -> bool {
    match node {
        Node::All(parts) => parts.iter().all(|part| may_be_true(part, rows, zone)),
        Node::Any(parts) => parts.iter().any(|part| may_be_true(part, rows, zone)),
        Node::Null(column) => zone(column).is_none_or(|zone| zone.nulls > 0),
        Node::NotNull(column) => zone(column).is_none_or(|zone| zone.nulls != rows),
        Node::Compare(column, op, literal) => zone(column)
            .is_none_or(|zone| zone.nulls != rows && within(*op, &literal.value, &zone.bounds)),
        Node::In {
            column,
            values,
            negated,
            ..
        } => zone(column)
            .is_none_or(|zone| zone.nulls != rows && may_be_in(values, *negated, &zone.bounds)),
        Node::Match {
            column,
            prefix,
            whole,
            negated,
            ..
        } => zone(column).is_none_or(|zone| {
            zone.nulls != rows
                && match &zone.bounds {
                    Bounds::Bytes(min, max) if *negated => !(*whole && all_begin(prefix, min, max)),
                    Bounds::Bytes(min, max) => may_begin(prefix, min, max),
                    _ => true,
                }
        }),
    }
}

/// Whether a test of one column is true for all rows.
pub(crate) fn must_be_true(node: &Node, rows: u64, zone: &dyn Fn(&str) -> Option<ZoneMap>) -> bool {
    match node {
        Node::All(_) | Node::Any(_) => false,
        Node::Null(column) => zone(column).is_some_and(|zone| zone.nulls == rows),
        Node::NotNull(column) => zone(column).is_some_and(|zone| zone.nulls == 0),
        Node::Compare(column, op, literal) => zone(column).is_some_and(|zone| {
            zone.nulls == 0 && !within(op.negated(), &literal.value, &zone.bounds)
        }),
        Node::In {
            column,
            values,
            negated,
            ..
        } => zone(column)
            .is_some_and(|zone| zone.nulls == 0 && !may_be_in(values, !negated, &zone.bounds)),
        Node::Match {
            column,
            prefix,
            whole,
            negated,
            ..
        } => zone(column).is_some_and(|zone| {
            let all =
                matches!(&zone.bounds, Bounds::Bytes(min, max) if all_begin(prefix, min, max));
            zone.nulls == 0 && *whole && !negated && all
        }),
    }
}

/// Whether a value between the bounds may be one of these, which are in order, or none of them where
/// `negated`.
fn may_be_in(values: &[Value], negated: bool, bounds: &Bounds) -> bool {
    // No value between the bounds is up to one below them.
    let first = values.partition_point(|value| !within(Compare::LtEq, value, bounds));
    let least = values.get(first);
    match bounds {
        // All are equal to one of them only where all are equal.
        _ if negated => least.is_none_or(|value| within(Compare::NotEq, value, bounds)),
        // A NaN lies outside of the bounds.
        Bounds::Float { .. } => values
            .iter()
            .any(|value| within(Compare::Eq, value, bounds)),
        _ => least.is_some_and(|value| within(Compare::Eq, value, bounds)),
    }
}

/// Whether a value between the bounds may have the prefix.
fn may_begin(prefix: &[u8], min: &[u8], max: &[u8]) -> bool {
    max >= prefix && (min <= prefix || min.starts_with(prefix))
}

/// Whether every value between the bounds has the prefix.
fn all_begin(prefix: &[u8], min: &[u8], max: &[u8]) -> bool {
    min.starts_with(prefix) && max.starts_with(prefix)
}

fn within(op: Compare, value: &Value, bounds: &Bounds) -> bool {
    match (value, bounds) {
        // The smallest is `true` only where `false` does not occur.
        (Value::Bit(v), Bounds::Bits(no, yes)) => between(op, (!no).cmp(v), (*yes).cmp(v)),
        (Value::Int(v), Bounds::Int(min, max)) => between(
            op,
            i256::from_i128(*min).cmp(v),
            i256::from_i128(*max).cmp(v),
        ),
        // The zone map has no sign of its NaNs: they may lie on either side of all numbers.
        (Value::Float(v), Bounds::Float { nan: true, .. }) if op != Compare::Eq || v.is_nan() => {
            true
        }
        (Value::Float(v), Bounds::Float { min, max, .. }) => {
            between(op, min.total_cmp(v), max.total_cmp(v))
        }
        // All values lie between the bounds, and are equal where these are.
        (Value::Bytes(v), Bounds::Bytes(min, max)) => between(op, min.cmp(v), max.cmp(v)),
        _ => true,
    }
}

/// Whether a value between the bounds may be in this relation to the literal, by the order of the
/// bounds and the literal.
fn between(op: Compare, min: Ordering, max: Ordering) -> bool {
    match op {
        Compare::Eq => min.is_le() && max.is_ge(),
        Compare::NotEq => !(min.is_eq() && max.is_eq()),
        Compare::Lt => min.is_lt(),
        Compare::LtEq => min.is_le(),
        Compare::Gt => max.is_gt(),
        Compare::GtEq => max.is_ge(),
    }
}
