//! Errors as DuckDB shows them. Nothing panics across the border.

use std::panic::{AssertUnwindSafe, catch_unwind};

use duckdb_neo::error::DuckDBError;
use duckdb_neo::{Error, Result};

/// The library's errors name the file, the column, the block and both values.
pub(crate) fn of_staffa(error: &staffa::Error) -> Error {
    let code = match error {
        staffa::Error::Io { .. } => DuckDBError::IoGeneral,
        _ => DuckDBError::InputInvalid,
    };
    Error {
        code,
        message: error.to_string(),
    }
}

/// Arrow's errors, or others that have only a text.
pub(crate) fn of_text(error: impl std::fmt::Display) -> Error {
    Error::invalid_input(error.to_string())
}

/// A panic becomes an error: DuckDB would take it as its own failure and refuse to work on.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Err(Error::invalid_input(format!(
            "staffa: a defect of the extension, please report it: {text}"
        )))
    })
}
