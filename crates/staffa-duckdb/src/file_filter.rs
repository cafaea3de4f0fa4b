//! The part of a filter that holds for the rows of one file.
//!
//! A file may lack columns of the filter or have them in another type, and its partition keys may decide the
//! filter before the file is read. DuckDB applies every filter again, so a part may be left out.

use std::cmp::Ordering;

use arrow_schema::Schema;
use staffa::{Compare, Literal, Predicate};

use crate::partitions::Constant;

/// What is known of a filter for a file.
#[derive(Debug, PartialEq)]
pub(crate) enum Known {
    /// The same for all rows.
    Always(bool),
    /// No row that the filter keeps is lost by this one, which is the same if `exact`.
    Implied {
        by: Predicate,
        exact: bool,
    },
    Nothing,
}

/// A file, for a filter over the columns of all files.
pub(crate) struct FileColumns<'f> {
    pub(crate) all: &'f Schema,
    pub(crate) stored: &'f Schema,
    pub(crate) constants: &'f [(String, Constant)],
}

impl FileColumns<'_> {
    /// What is known of a filter.
    pub(crate) fn known(&self, filter: &Predicate) -> Known {
        match filter {
            Predicate::And(parts) => self.all_of(parts),
            Predicate::Or(parts) => self.any_of(parts),
            Predicate::Not(part) => match self.known(part) {
                Known::Always(value) => Known::Always(!value),
                Known::Implied { by, exact: true } => implied(Predicate::Not(Box::new(by)), true),
                _ => Known::Nothing,
            },
            part => self.known_of_one(part),
        }
    }

    fn known_of_one(&self, part: &Predicate) -> Known {
        let columns = part.columns();
        let [column] = columns[..] else {
            return Known::Nothing;
        };
        if let Some((_, constant)) = self.constants.iter().find(|(name, _)| name == column) {
            return holds(part, constant).map_or(Known::Nothing, Known::Always);
        }
        let field = |schema: &Schema| schema.field_with_name(column).ok().cloned();
        match field(self.all).zip(field(self.stored)) {
            Some((all, own)) if all.data_type().equals_datatype(own.data_type()) => {
                implied(part.clone(), true)
            }
            _ => Known::Nothing,
        }
    }

    fn all_of(&self, parts: &[Predicate]) -> Known {
        let (mut kept, mut all_exact) = (Vec::new(), true);
        for part in parts {
            match self.known(part) {
                Known::Always(false) => return Known::Always(false),
                Known::Always(true) => {}
                Known::Implied { by, exact } => {
                    kept.push(by);
                    all_exact &= exact;
                }
                Known::Nothing => all_exact = false,
            }
        }
        match kept.len() {
            0 if all_exact => Known::Always(true),
            0 => Known::Nothing,
            _ => implied(Predicate::And(kept), all_exact),
        }
    }

    fn any_of(&self, parts: &[Predicate]) -> Known {
        let (mut kept, mut all_exact) = (Vec::new(), true);
        for part in parts {
            match self.known(part) {
                Known::Always(true) => return Known::Always(true),
                Known::Always(false) => {}
                Known::Implied { by, exact } => {
                    kept.push(by);
                    all_exact &= exact;
                }
                Known::Nothing => return Known::Nothing,
            }
        }
        match kept.len() {
            0 => Known::Always(false),
            _ => implied(Predicate::Or(kept), all_exact),
        }
    }
}

fn implied(by: Predicate, exact: bool) -> Known {
    Known::Implied { by, exact }
}

/// Whether the value of a column matches; `None` if that is not known, or NULL.
fn holds(part: &Predicate, constant: &Constant) -> Option<bool> {
    let is_null = matches!(constant, Constant::Int(None) | Constant::Text(None));
    match part {
        Predicate::IsNull { .. } => Some(is_null),
        Predicate::Compare { op, literal, .. } => {
            let order = compared(constant, literal)?;
            Some(match op {
                Compare::Eq => order == Ordering::Equal,
                Compare::NotEq => order != Ordering::Equal,
                Compare::Lt => order == Ordering::Less,
                Compare::LtEq => order != Ordering::Greater,
                Compare::Gt => order == Ordering::Greater,
                Compare::GtEq => order != Ordering::Less,
                _ => return None,
            })
        }
        Predicate::In { literals, .. } => {
            let equal = |literal| Some(compared(constant, literal)? == Ordering::Equal);
            let all: Option<Vec<bool>> = literals.iter().map(equal).collect();
            Some(all?.contains(&true))
        }
        _ => None,
    }
}

fn compared(constant: &Constant, literal: &Literal) -> Option<Ordering> {
    match (constant, literal) {
        (Constant::Int(value), Literal::Int(other)) => Some(i128::from((*value)?).cmp(other)),
        (Constant::Text(value), Literal::Text(other)) => Some(value.as_deref()?.cmp(other)),
        _ => None,
    }
}
