//! Filters of Spark, as text, for one file: what the file's columns can answer.
//!
//! Spark tests every row again, so that a part that is left out costs time, never a row.

use arrow_schema::{DataType, Schema};
use staffa::Predicate;

use crate::convert::find;
use crate::error::Result;
use crate::types::spark_type;

/// The parts of a filter that the columns of a file can answer, by their names in the file; `None`
/// where there are none.
pub(crate) fn of_file(text: &str, schema: &Schema, any_case: bool) -> Result<Option<Predicate>> {
    let parts = match text.parse()? {
        Predicate::And(parts) => parts,
        one => vec![one],
    };
    let parts = parts.into_iter().filter_map(|mut part| {
        let known = rename(&mut part, schema, any_case) && part.bind(schema).is_ok();
        known.then_some(part)
    });
    let parts: Vec<Predicate> = parts.collect();
    Ok((!parts.is_empty()).then_some(Predicate::And(parts)))
}

/// Gives the columns their names in the file; false where one is missing, or where its values in
/// Spark's type compare unlike those in the file.
fn rename(predicate: &mut Predicate, schema: &Schema, any_case: bool) -> bool {
    match predicate {
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::StartsWith { column, .. }
        | Predicate::Contains { column, .. }
        | Predicate::Like { column, .. }
        | Predicate::IsNull { column } => match find(schema.fields(), column, any_case) {
            Some(found) if is_comparable(found.data_type()) => {
                column.clone_from(found.name());
                true
            }
            _ => false,
        },
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter_mut().all(|part| rename(part, schema, any_case))
        }
        Predicate::Not(part) => rename(part, schema, any_case),
        _ => false,
    }
}

/// Half floats are compared with the nearest half float, which Spark does not do.
fn is_comparable(ty: &DataType) -> bool {
    let is_float = |ty: &DataType| ty.is_floating();
    match spark_type(ty) {
        Ok(own) if is_float(&own) => own == *ty,
        Ok(_) => true,
        Err(_) => false,
    }
}
