//! Predicates: parsed from text, or built: tests of NULL and of text, and, or, not.

use std::ffi::c_char;
use std::slice::from_ref;

use staffa::{Error, Predicate, Result};

use super::arguments::{borrowed, give, slice, take, text};
use super::error::{StaffaCode, StaffaError, caught, guard};

/// Deepest nesting, so that the stack does not overflow: that of the text form.
const DEPTH: usize = 100;
/// Most comparisons and literals.
const TESTS: usize = 1 << 20;

/// A predicate over columns. Those that it is made of are copied, and still freed by their owner.
#[derive(Debug)]
pub struct StaffaPredicate {
    predicate: Predicate,
    depth: usize,
    tests: usize,
}

impl StaffaPredicate {
    pub(super) fn get(&self) -> &Predicate {
        &self.predicate
    }

    fn of(predicate: Predicate, depth: usize, tests: usize) -> Result<Self> {
        if depth > DEPTH || tests > TESTS {
            return Err(Error::limit(format!(
                "a predicate of {tests} tests, {depth} deep; {TESTS} and {DEPTH} are possible"
            )));
        }
        Ok(Self {
            predicate,
            depth,
            tests,
        })
    }

    pub(super) fn leaf(predicate: Predicate) -> Result<Self> {
        Self::of(predicate, 1, 1)
    }

    /// Some predicates as one.
    fn join(parts: &[&Self], join: fn(Vec<Predicate>) -> Predicate) -> Result<Self> {
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0) + 1;
        let tests = parts.iter().map(|part| part.tests).sum::<usize>() + 1;
        // Checked before anything is copied.
        Self::of(Predicate::And(Vec::new()), depth, tests)?;
        let parts = parts.iter().map(|part| part.predicate.clone()).collect();
        Self::of(join(parts), depth, tests)
    }

    /// A predicate that was parsed, which its parser has bounded.
    pub(super) fn parsed(predicate: Predicate) -> Result<Self> {
        fn size(predicate: &Predicate) -> (usize, usize) {
            match predicate {
                Predicate::And(parts) | Predicate::Or(parts) => {
                    let sizes = parts.iter().map(size);
                    sizes.fold((1, 1), |(depth, tests), (d, t)| {
                        (depth.max(d + 1), tests + t)
                    })
                }
                Predicate::Not(part) => {
                    let (depth, tests) = size(part);
                    (depth + 1, tests + 1)
                }
                Predicate::In { literals, .. } => (1, literals.len() + 1),
                _ => (1, 1),
            }
        }
        let (depth, tests) = size(&predicate);
        Self::of(predicate, depth, tests)
    }
}

/// Parses a predicate: `price < 10 and name is not null`. The guide of Rust has the language.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_parse(
    text: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || {
                StaffaPredicate::parsed(self::text(text, "text")?.parse()?)
            })
        })
    }
}

/// `column is null`, of any type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_is_null(
    column: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || {
                let column = text(column, "column")?.to_owned();
                StaffaPredicate::leaf(Predicate::IsNull { column })
            })
        })
    }
}

/// A test of a column of text and binary with a text.
unsafe fn text_test(
    column: *const c_char,
    value: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
    test: fn(String, String) -> Predicate,
) -> StaffaCode {
    // SAFETY: the caller's.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || {
                let (column, value) = (text(column, "column")?, text(value, "text")?);
                StaffaPredicate::leaf(test(column.to_owned(), value.to_owned()))
            })
        })
    }
}

/// `column starts with prefix`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_starts_with(
    column: *const c_char,
    prefix: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let test = |column, prefix| Predicate::StartsWith { column, prefix };
    // SAFETY: the contract of `mod.rs`.
    unsafe { text_test(column, prefix, predicate, error, test) }
}

/// `column contains part`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_contains(
    column: *const c_char,
    part: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let test = |column, part| Predicate::Contains { column, part };
    // SAFETY: the contract of `mod.rs`.
    unsafe { text_test(column, part, predicate, error, test) }
}

/// `column like pattern`: SQL's, where `%` stands for any text and `_` for one character; a backslash before
/// them takes that meaning away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_like(
    column: *const c_char,
    pattern: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let test = |column, pattern| Predicate::Like { column, pattern };
    // SAFETY: the contract of `mod.rs`.
    unsafe { text_test(column, pattern, predicate, error, test) }
}

/// As `staffa_predicate_like`, upper and lower case alike.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_ilike(
    column: *const c_char,
    pattern: *const c_char,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let test = |column, pattern| Predicate::ILike { column, pattern };
    // SAFETY: the contract of `mod.rs`.
    unsafe { text_test(column, pattern, predicate, error, test) }
}

unsafe fn joined(
    parts: *const *const StaffaPredicate,
    count: usize,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
    join: fn(Vec<Predicate>) -> Predicate,
) -> StaffaCode {
    // SAFETY: the caller's, for the list and for each part.
    unsafe {
        guard(error, || {
            give(predicate, "predicate", || {
                let parts = slice(parts, count, "parts")?.iter();
                let parts: Result<Vec<_>> = parts.map(|part| borrowed(*part, "part")).collect();
                StaffaPredicate::join(&parts?, join)
            })
        })
    }
}

/// All of some predicates; of none: true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_and(
    parts: *const *const StaffaPredicate,
    count: usize,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { joined(parts, count, predicate, error, Predicate::And) }
}

/// One of some predicates; of none: false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_or(
    parts: *const *const StaffaPredicate,
    count: usize,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { joined(parts, count, predicate, error, Predicate::Or) }
}

/// True where a predicate is false; where it is NULL, neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_not(
    part: *const StaffaPredicate,
    predicate: *mut *mut StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let not = |mut parts: Vec<Predicate>| match parts.pop() {
        Some(part) => part.not(),
        None => Predicate::Or(parts),
    };
    // SAFETY: the contract of `mod.rs`.
    unsafe { joined(from_ref(&part).as_ptr(), 1, predicate, error, not) }
}

/// Writes a predicate as text that parses, cut off behind `size` bytes with the NUL, and returns the bytes
/// of all of it without the NUL: 0 for NULL. `buffer` may be NULL where `size` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_text(
    predicate: *const StaffaPredicate,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the contract of `mod.rs`.
    let Ok(predicate) = (unsafe { borrowed(predicate, "predicate") }) else {
        return 0;
    };
    let text = caught(|| Ok(predicate.predicate.to_string())).unwrap_or_default();
    if !buffer.is_null() && size > 0 {
        let len = text.len().min(size - 1);
        // SAFETY: `size` bytes of the caller, of which one is left for the NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), len);
            buffer.add(len).write(0);
        }
    }
    text.len()
}

/// Frees a predicate; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_predicate_free(predicate: *mut StaffaPredicate) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(predicate) });
}
