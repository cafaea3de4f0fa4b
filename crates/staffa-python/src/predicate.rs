//! Predicates from the nested tuples of `python/staffa/_pushdown.py`, and text to such tuples.

use std::fmt::Display;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};
use staffa::{Compare, Literal, Predicate};

use crate::errors::run;

/// Parses a filter, such as `price < 10 and name is not null`, to nested tuples.
#[pyfunction]
pub(crate) fn parse_filter<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyTuple>> {
    let parsed: Predicate = run(py, || text.parse())?;
    tuple(py, &parsed)
}

/// The tuple of a kind and its parts.
pub(crate) fn tuple<'py>(py: Python<'py>, value: &Predicate) -> PyResult<Bound<'py, PyTuple>> {
    let pair = |kind: &str, column: &str, text: &str| (kind, (column, text)).into_pyobject(py);
    let all = |kind: &str, parts: &[Predicate]| {
        let parts = parts.iter().map(|part| tuple(py, part));
        (kind, parts.collect::<PyResult<Vec<_>>>()?).into_pyobject(py)
    };
    match value {
        Predicate::And(parts) => all("and", parts),
        Predicate::Or(parts) => all("or", parts),
        Predicate::Not(inner) => ("not", tuple(py, inner)?).into_pyobject(py),
        Predicate::IsNull { column } => ("is_null", column).into_pyobject(py),
        Predicate::In { column, literals } => {
            let literals = literals.iter().map(|literal| object(py, literal));
            let literals = literals.collect::<PyResult<Vec<_>>>()?;
            ("in", (column, literals)).into_pyobject(py)
        }
        Predicate::StartsWith { column, prefix } => pair("starts_with", column, prefix),
        Predicate::Contains { column, part } => pair("contains", column, part),
        Predicate::Like { column, pattern } => pair("like", column, pattern),
        Predicate::ILike { column, pattern } => pair("ilike", column, pattern),
        Predicate::Compare {
            column,
            op,
            literal,
        } => (symbol(*op)?, (column, object(py, literal)?)).into_pyobject(py),
        other => Err(unknown(other)),
    }
}

fn object<'py>(py: Python<'py>, literal: &Literal) -> PyResult<Bound<'py, PyAny>> {
    match literal {
        Literal::Null => Ok(py.None().into_bound(py)),
        Literal::Bool(value) => value.into_bound_py_any(py),
        Literal::Int(value) => value.into_bound_py_any(py),
        Literal::Float(value) => value.into_bound_py_any(py),
        Literal::Text(value) => value.into_bound_py_any(py),
        other => Err(unknown(other)),
    }
}

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
        "ilike" => {
            let (column, pattern) = parts.extract()?;
            Predicate::ILike { column, pattern }
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

fn symbol(op: Compare) -> PyResult<&'static str> {
    Ok(match op {
        Compare::Eq => "==",
        Compare::NotEq => "!=",
        Compare::Lt => "<",
        Compare::LtEq => "<=",
        Compare::Gt => ">",
        Compare::GtEq => ">=",
        other => return Err(unknown(&other)),
    })
}

fn unknown(part: &impl Display) -> PyErr {
    PyTypeError::new_err(format!("unknown predicate {:?}", part.to_string()))
}

fn compare(operator: &str) -> PyResult<Compare> {
    Ok(match operator {
        "==" => Compare::Eq,
        "!=" => Compare::NotEq,
        "<" => Compare::Lt,
        "<=" => Compare::LtEq,
        ">" => Compare::Gt,
        ">=" => Compare::GtEq,
        other => return Err(unknown(&other)),
    })
}

fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::Null);
    }
    // In Python a bool is also an int.
    if value.is_instance_of::<PyBool>() {
        Ok(Literal::Bool(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Literal::Int(value.extract()?))
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
