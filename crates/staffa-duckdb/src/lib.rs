//! The DuckDB extension: `FROM 'x.staffa'`, `read_staffa(...)`, `COPY ... TO 'x.staffa'`.
//!
//! ```text
//! bind          paths -> open files -> one schema, a row count      table.rs, source.rs
//! pushdown      DuckDB's conjuncts -> a predicate                   pushdown.rs
//! init          files -> parts, for DuckDB's threads                table.rs
//! execute       part -> batches -> vectors                          table.rs, fill.rs, border.rs
//! ```
//!
//! DuckDB tests every filter again (see `pushdown.rs`), so that scans need not be exact, only never
//! lose a row.

mod border;
mod copy;
mod error;
mod fill;
mod pushdown;
mod replacement;
mod source;
mod table;

use duckdb_loadable_macros::duckdb_entrypoint_c_api_v2;
use duckdb_neo::extension::Extension;

/// What DuckDB calls on `LOAD`.
#[duckdb_entrypoint_c_api_v2(extension_name = "staffa", api_version = "v2.0.0")]
fn load(extension: &Extension) -> duckdb_neo::Result<()> {
    error::guarded(|| {
        // DuckDB's threads decode: a pool of one thread means "where you are". It fails where there
        // is one already.
        drop(
            rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build_global(),
        );
        table::register(extension)?;
        replacement::register(extension)?;
        copy::register(extension)
    })
}
