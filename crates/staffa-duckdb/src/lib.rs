//! The DuckDB extension: `FROM 'x.staffa'`, `read_staffa(...)`, `COPY ... TO 'x.staffa'`.
//!
//! ```text
//! bind          paths -> open files -> one schema, a row count      table.rs, files.rs, partitions.rs, widen.rs
//! pushdown      DuckDB's conjuncts -> a predicate                   pushdown.rs
//! init          files -> parts, for DuckDB's threads                table.rs
//! execute       part -> batches -> unfolded, in range -> vectors    scan.rs, unfold.rs, ranges.rs, vectors.rs, border.rs
//! ```
//!
//! DuckDB applies every filter again (see `pushdown.rs`): a scan may keep too many rows, but never
//! lose one.

mod border;
mod copy;
mod error;
mod files;
mod partitions;
mod pushdown;
mod ranges;
mod replacement;
mod scan;
mod table;
mod unfold;
mod vectors;

use duckdb_loadable_macros::duckdb_entrypoint_c_api_v2;
use duckdb_neo::extension::Extension;

/// The entry point that DuckDB calls on `LOAD`.
#[duckdb_entrypoint_c_api_v2(extension_name = "staffa", api_version = "v2.0.0")]
fn load(extension: &Extension) -> duckdb_neo::Result<()> {
    error::catch_panics(|| {
        table::register(extension)?;
        replacement::register(extension)?;
        copy::register(extension)
    })
}
