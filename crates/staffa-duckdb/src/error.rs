//! Errors for DuckDB. Panics do not cross the C interface.

use std::panic::{AssertUnwindSafe, catch_unwind};

use duckdb_neo::error::DuckDBError;
use duckdb_neo::{Error, Result};

/// An error of the library; its message names the file, the column and the block.
pub(crate) fn of_staffa(error: &staffa::Error) -> Error {
    let code = match error {
        staffa::Error::Io { .. } => DuckDBError::IoGeneral,
        // As of `internal`: DuckDB closes a database after an internal error of its own.
        staffa::Error::Internal { .. } => DuckDBError::Api,
        _ => DuckDBError::InputInvalid,
    };
    Error {
        code,
        message: error.to_string(),
    }
}

/// An error of Arrow, or another one that is only a text.
pub(crate) fn of_text(error: impl std::fmt::Display) -> Error {
    Error::invalid_input(error.to_string())
}

/// An impossible state.
pub(crate) fn internal(what: &str) -> Error {
    Error::api_error(format!("staffa: internal error: {what}; please report it"))
}

/// Turns a panic into an error: DuckDB would treat it as a failure of its own and stop.
pub(crate) fn catch_panics<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Err(internal(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_staffa_is_not_an_error_of_the_input() {
        let of_library = of_staffa(&staffa::Error::internal("no block 7"));
        assert!(matches!(of_library.code, DuckDBError::Api));
        assert!(of_library.message.contains("please report"));
        let of_panic = catch_panics(|| -> Result<()> { panic!("no block 7") }).unwrap_err();
        assert!(matches!(of_panic.code, DuckDBError::Api));
        assert!(of_panic.message.contains("please report"));
    }
}
