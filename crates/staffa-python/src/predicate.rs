//! Predicates from the nested tuples of `python/staffa/_pushdown.py`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use staffa::{Compare, Literal, Predicate};

/// Converts a tuple of a kind and its parts.
pub(crate) fn predicate(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    let (kind, parts): (String, Bound<'_, PyAny>) = value.extract()?;
    let all = || {
        parts
            .try_iter()?
            .map(|part| predicate(&part?))
            .collect::<PyResult<Vec<_>>>()
    };
    Ok(match kind.as_str() {
        "and" => Predicate::And(all()?),
        "or" => Predicate::Or(all()?),
        "not" => Predicate::Not(Box::new(predicate(&parts)?)),
        "is_null" => Predicate::IsNull {
            column: parts.extract()?,
        },
        "in" => {
            let (column, literals): (String, Vec<Bound<'_, PyAny>>) = parts.extract()?;
            Predicate::In {
                column,
                literals: literals.iter().map(literal).collect::<PyResult<_>>()?,
            }
        }
        "starts_with" => {
            let (column, prefix) = parts.extract()?;
            Predicate::StartsWith { column, prefix }
        }
        "contains" => {
            let (column, part) = parts.extract()?;
            Predicate::Contains { column, part }
        }
        "like" => {
            let (column, pattern) = parts.extract()?;
            Predicate::Like { column, pattern }
        }
        operator => {
            let (column, value): (String, Bound<'_, PyAny>) = parts.extract()?;
            Predicate::Compare {
                column,
                op: compare(operator)?,
                literal: literal(&value)?,
            }
        }
    })
}

fn compare(operator: &str) -> PyResult<Compare> {
    Ok(match operator {
        "==" => Compare::Eq,
        "!=" => Compare::NotEq,
        "<" => Compare::Lt,
        "<=" => Compare::LtEq,
        ">" => Compare::Gt,
        ">=" => Compare::GtEq,
        other => {
            return Err(PyTypeError::new_err(format!("unknown predicate {other:?}")));
        }
    })
}

fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    // In Python a bool is also an int.
    if value.is_instance_of::<PyBool>() {
        Ok(Literal::Bool(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Literal::Int(value.extract::<i64>()?.into()))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Literal::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Literal::Text(value.extract()?))
    } else {
        Err(PyTypeError::new_err(format!(
            "a {} is no literal",
            value.get_type().name()?
        )))
    }
}
