//! Filters of Spark, as text, for one file: what the file's columns can answer.
//!
//! Spark tests every row again, so that a part that is left out costs time, never a row.

use arrow_schema::{DataType, Schema};
use staffa::{Literal, Predicate};

use crate::convert::find;
use crate::error::Result;

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

/// Gives the columns their names in the file; false where one is missing, or where its values compare
/// unlike those that Spark sees.
fn rename(predicate: &mut Predicate, schema: &Schema, any_case: bool) -> bool {
    let (column, literals) = match predicate {
        Predicate::Compare {
            column, literal, ..
        } => (column, std::slice::from_ref(literal)),
        Predicate::In { column, literals } => (column, literals.as_slice()),
        Predicate::StartsWith { column, .. }
        | Predicate::Contains { column, .. }
        | Predicate::Like { column, .. }
        | Predicate::IsNull { column } => (column, &[][..]),
        Predicate::And(parts) | Predicate::Or(parts) => {
            return parts.iter_mut().all(|part| rename(part, schema, any_case));
        }
        Predicate::Not(part) => return rename(part, schema, any_case),
        _ => return false,
    };
    let Some(found) = find(schema.fields(), column, any_case) else {
        return false;
    };
    column.clone_from(found.name());
    literals
        .iter()
        .all(|literal| is_exact(found.data_type(), literal))
}

/// Whether a literal is a value of a float column: it compares with the nearest one, but in Spark,
/// which may read the column as doubles, with each of them exactly.
fn is_exact(ty: &DataType, literal: &Literal) -> bool {
    match (ty, literal) {
        (DataType::Float32, Literal::Float(value)) => {
            f64::from(*value as f32).to_bits() == value.to_bits()
        }
        (DataType::Float16, _) => false,
        (DataType::Dictionary(_, values), _) => is_exact(values, literal),
        (DataType::RunEndEncoded(_, values), _) => is_exact(values.data_type(), literal),
        _ => true,
    }
}
