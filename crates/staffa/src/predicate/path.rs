//! Columns of a filter: top-level columns, or fields of structs behind points.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};

use super::parse;
use crate::error::{Error, Result};

/// The position of the top-level column that `path` names, or in which it names a field.
pub(crate) fn top_level(schema: &Schema, path: &str) -> Result<usize> {
    Ok(split(schema, path)?.0)
}

/// The type of a column or field.
pub(super) fn data_type<'a>(schema: &'a Schema, path: &str) -> Result<&'a DataType> {
    let (position, mut rest) = split(schema, path)?;
    let mut data_type = schema.field(position).data_type();
    while let Some(name) = rest {
        let (field, after) = match data_type {
            DataType::Struct(fields) => child(fields, name).ok_or_else(|| {
                Error::invalid(format!(
                    "column {path:?}: there is no field {name:?}, but {}",
                    names(fields)
                ))
            })?,
            other => {
                return Err(Error::invalid(format!(
                    "column {path:?}: a field {name:?} of a value of type {other}, a struct expected"
                )));
            }
        };
        (data_type, rest) = (field.data_type(), after);
    }
    Ok(data_type)
}

/// The values of a column or field; a field of a NULL is NULL.
pub(super) fn values(batch: &RecordBatch, path: &str) -> Result<ArrayRef> {
    let schema = batch.schema();
    let (position, mut rest) = split(&schema, path)?;
    let mut array = batch.column(position).clone();
    while let Some(name) = rest {
        let DataType::Struct(fields) = array.data_type() else {
            return Err(Error::invalid(format!(
                "column {path:?} is not in a struct"
            )));
        };
        let (field, after) = child(fields, name).ok_or_else(|| {
            Error::invalid(format!("column {path:?}: there is no field {name:?}"))
        })?;
        let position = fields.iter().position(|other| other.name() == field.name());
        let position = position.ok_or_else(|| Error::internal("a field without a place"))?;
        let parent = array.as_struct();
        let values = with_nulls(parent.column(position), parent.nulls())?;
        rest = after;
        array = values;
    }
    Ok(array)
}

/// Where a path begins, and the rest of it: the whole name goes first, then the longest one, unless
/// its parts are quoted.
fn split<'p>(schema: &Schema, path: &'p str) -> Result<(usize, Option<&'p str>)> {
    let fields = schema.fields();
    let position = |name: &str| fields.iter().position(|field| field.name() == name);
    if let Some(position) = position(path) {
        return Ok((position, None));
    }
    let missing = || {
        Error::invalid(format!(
            "there is no column {path:?}, but {}",
            names(fields)
        ))
    };
    if let Some((name, rest)) = quoted(path) {
        return Ok((position(&name).ok_or_else(missing)?, rest));
    }
    let mut points = path.rmatch_indices('.');
    let found = points.find_map(|(at, _)| Some((position(path.get(..at)?)?, path.get(at + 1..))));
    found.ok_or_else(missing)
}

/// The name at the start of a path like `"a"."b"`, and the rest of it.
fn quoted(path: &str) -> Option<(String, Option<&str>)> {
    let inner = path.strip_prefix('"')?;
    let mut name = String::new();
    let mut rest = inner.chars();
    while let Some(char) = rest.next() {
        if char != '"' {
            name.push(char);
            continue;
        }
        let after = rest.as_str();
        if after.is_empty() {
            return Some((name, None));
        }
        if let Some(after) = after.strip_prefix('.') {
            return Some((name, Some(after)));
        }
        // A doubled quote is one of the name.
        name.push(rest.next().filter(|next| *next == '"')?);
    }
    None
}

/// The field at the start of a path, and the rest of it.
fn child<'f, 'p>(fields: &'f Fields, path: &'p str) -> Option<(&'f Field, Option<&'p str>)> {
    let named = |name: &str| fields.iter().find(|field| field.name() == name);
    if let Some(field) = named(path) {
        return Some((field, None));
    }
    if let Some((name, rest)) = quoted(path) {
        return Some((named(&name)?, rest));
    }
    let mut points = path.rmatch_indices('.');
    points.find_map(|(at, _)| Some((named(path.get(..at)?)?.as_ref(), path.get(at + 1..))))
}

fn names(fields: &Fields) -> String {
    const SHOWN: usize = 20;
    let shown = fields
        .iter()
        .take(SHOWN)
        .map(|field| parse::name(field.name()));
    let more = if fields.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// The array with the NULLs of its parent as well.
fn with_nulls(array: &ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
    if parent.is_none() || array.data_type().is_null() {
        return Ok(array.clone());
    }
    // Runs have no NULLs of their own.
    let array = match array.data_type() {
        DataType::RunEndEncoded(_, values) => &arrow_cast::cast(array, values.data_type())?,
        _ => array,
    };
    let nulls = NullBuffer::union(parent, array.nulls());
    Ok(make_array(
        array.to_data().into_builder().nulls(nulls).build()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::Predicate;

    #[test]
    fn quoted_parts_are_kept_apart() {
        let inner = Field::new("b", DataType::Utf8, true);
        let schema = Schema::new(vec![
            Field::new("a.b", DataType::Int32, true),
            Field::new("a", DataType::Struct(vec![inner].into()), true),
        ]);
        for (text, position) in [
            ("a.b", 0),
            ("\"a.b\"", 0),
            ("\"a\".\"b\"", 1),
            ("\"a\".b", 1),
        ] {
            let filter: Predicate = format!("{text} is null").parse().unwrap();
            assert_eq!(
                filter.column_positions(&schema).unwrap(),
                [position],
                "{text}"
            );
            let again: Predicate = filter.to_string().parse().unwrap();
            assert_eq!(again, filter);
        }
        assert_eq!(data_type(&schema, "\"a\".\"b\"").unwrap(), &DataType::Utf8);
        assert!(data_type(&schema, "\"a\".\"c\"").is_err());
    }
}
