//! Predicates that compare a column with values: numbers and text of C, or any value of Arrow.

use std::ffi::c_char;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use staffa::{Compare, Error, Literal, Predicate, Result};

use super::arguments::{give, text};
use super::arrow::{array_in, array_of, data_type, schema_in};
use super::error::{StaffaCode, StaffaError, guard};
use super::predicate::StaffaPredicate;
use crate::literal::literals;

/// How a column is compared with a literal. Floats stand in IEEE 754's total order.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffaCompare {
    /// Equal.
    Eq = 0,
    /// Not equal.
    NotEq = 1,
    /// Less.
    Lt = 2,
    /// Less or equal.
    LtEq = 3,
    /// Greater.
    Gt = 4,
    /// Greater or equal.
    GtEq = 5,
}

fn compare(op: i32) -> Result<Compare> {
    Ok(match op {
        0 => Compare::Eq,
        1 => Compare::NotEq,
        2 => Compare::Lt,
        3 => Compare::LtEq,
        4 => Compare::Gt,
        5 => Compare::GtEq,
        other => {
            return Err(Error::invalid(format!(
                "op: 0 to 5 expected, found {other}"
            )));
        }
    })
}

unsafe fn compared(column: *const c_char, op: i32, literal: Literal) -> Result<StaffaPredicate> {
    StaffaPredicate::leaf(Predicate::Compare {
        // SAFETY: the caller's.
        column: unsafe { text(column, "column") }?.to_owned(),
        op: compare(op)?,
        literal,
    })
}

/// `column op value`. `op` is one of `StaffaCompare`; a field of a struct is named behind a point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_compare_int(
    column: *const c_char,
    op: i32,
    value: i64,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let literal = Literal::Int(value.into());
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || compared(column, op, literal))
        })
    }
}

/// `column op value`. A column of integers compares with the exact value of this double.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_compare_double(
    column: *const c_char,
    op: i32,
    value: f64,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let literal = Literal::Float(value);
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || compared(column, op, literal))
        })
    }
}

/// `column op value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_compare_bool(
    column: *const c_char,
    op: i32,
    value: bool,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let literal = Literal::Bool(value);
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || compared(column, op, literal))
        })
    }
}

/// `column op value`, of text and binary (its UTF-8), dates (`2020-01-31`), times (`12:30:00.5`), timestamps
/// (`2020-01-31T12:30:00Z`) and decimals (`0.1`, exact at any length).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_compare_text(
    column: *const c_char,
    op: i32,
    value: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || {
                let literal = Literal::Text(text(value, "value")?.to_owned());
                compared(column, op, literal)
            })
        })
    }
}

/// The literals of an array of the host, which is released whatever comes.
unsafe fn array_literals(
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
) -> Result<Vec<Literal>> {
    // SAFETY: the caller's.
    let (schema, array) = unsafe { (schema_in(schema), array_in(array)) };
    literals(&array_of(array?, data_type(&schema?)?)?)
}

/// `column op value`, where the value is an Arrow array of one value: exact for every type, NULL too.
/// Durations are taken in the column's unit. Array and schema are moved: released, whatever comes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_compare(
    column: *const c_char,
    op: i32,
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let literals = array_literals(schema, array);
            give(predicate, "predicate", || {
                let mut literals = literals?;
                let count = literals.len();
                match (literals.pop(), count) {
                    (Some(literal), 1) => compared(column, op, literal),
                    _ => Err(Error::invalid(format!(
                        "array: 1 value expected, found {count}"
                    ))),
                }
            })
        })
    }
}

/// `column in (values)`: the values are an Arrow array, which is moved with its schema: released, whatever
/// comes. Of no values: false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_in(
    column: *const c_char,
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let literals = array_literals(schema, array);
            give(predicate, "predicate", || {
                let (column, literals) = (text(column, "column")?.to_owned(), literals?);
                StaffaPredicate::parsed(Predicate::In { column, literals })
            })
        })
    }
}
