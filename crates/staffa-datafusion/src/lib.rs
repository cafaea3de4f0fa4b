//! Staffa files as tables of [DataFusion](https://datafusion.apache.org).
//!
//! ```no_run
//! use datafusion::prelude::*;
//!
//! # async fn example() -> datafusion::error::Result<()> {
//! let ctx = SessionContext::new();
//! staffa_datafusion::register(&ctx)?;
//! ctx.sql("CREATE EXTERNAL TABLE prices STORED AS STAFFA LOCATION 'prices/'").await?;
//! ctx.sql("SELECT city, avg(price) FROM prices WHERE day >= '2026-01-01' GROUP BY city").await?.show().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | part of a query | what the scan does |
//! |---|---|
//! | columns | reads those that are named |
//! | comparisons, `IN`, `BETWEEN`, `LIKE`, `IS NULL`, `AND`, `OR`, `NOT` of columns and struct fields with literals | applies them, exactly: by zone maps to blocks, then to rows |
//! | other filters | leaves them to DataFusion |
//! | dynamic filters of joins and `ORDER BY ... LIMIT` | applies them, anew for every 65,536 rows; hash tables of joins where they keep few rows |
//! | files of object stores | requests the ranges that it needs, of the version that was planned |
//! | hive partitions, globs, many files | DataFusion's listing tables |
//! | files that lack a column, or have a narrower type | read through DataFusion's expression adapter |
//! | `COPY ... TO`, `INSERT INTO` | writes files, whole or not at all |
//!
//! Strings are read as views. A declared sort order, row counts, NULL counts and bounds of the footer
//! reach the planner.
//!
//! ```text
//! plan     StaffaFormat: schema, statistics, order       format.rs, schema.rs, statistics.rs
//!          StaffaSource: columns, filters, order pushed   source.rs, pushdown.rs, literal.rs, types.rs
//! run      file -> FilePlan                              opener.rs, files.rs, plan.rs
//!          local: parts, one by one -> batches           parts.rs, dynamic.rs, batches.rs
//!          remote: steps <-> requests -> batches         remote.rs, objects.rs
//! send     scan <-> bytes (feature `proto`)               codec.rs
//! write    batches -> Writer -> upload                   sink.rs, options.rs
//! ```
#![forbid(unsafe_code)]

mod batches;
#[cfg(feature = "proto")]
mod codec;
mod dynamic;
mod files;
mod format;
mod literal;
mod metrics;
mod objects;
mod opener;
mod options;
mod parts;
mod plan;
mod pushdown;
mod remote;
mod schema;
mod sink;
mod source;
mod statistics;
mod types;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::prelude::SessionContext;

#[cfg(feature = "proto")]
pub use codec::StaffaCodec;
pub use format::{StaffaFormat, StaffaFormatFactory};
pub use source::StaffaSource;

/// The extension of Staffa files.
const EXTENSION: &str = "staffa";

/// Makes a session know Staffa files: `STORED AS STAFFA`, `COPY ... TO 'x.staffa'`, and tables named
/// by a path where [`SessionContext::enable_url_table`] allows them.
///
/// Dynamic filters of `min` and `max` are turned off in the session
/// (`datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown`): those of DataFusion 55 leave out
/// aggregates of expressions, so that `SELECT min(a), min(b + 1)` misses rows.
///
/// Fails where the session has another format of that name.
pub fn register(ctx: &SessionContext) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    // https://github.com/apache/datafusion/issues/24816
    let optimizer = &mut state.config_mut().options_mut().optimizer;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    state.register_file_format(Arc::new(StaffaFormatFactory::new()), false)?;
    let tables = Arc::new(DefaultTableFactory::new());
    state
        .table_factories_mut()
        .insert("STAFFA".to_owned(), tables);
    Ok(())
}
