//! SQL over Staffa files beside the same SQL over the same rows in memory.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod dynamic;
mod program;
mod pushdown;
mod remote;
mod stores;
mod tables;
mod urls;
mod write;

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use staffa::{WriteOptions, Writer};

/// A session with so many partitions that knows Staffa files.
fn session(partitions: usize) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(partitions);
    // Small files are cut into ranges as well.
    config.options_mut().optimizer.repartition_file_min_size = 1;
    let ctx = SessionContext::new_with_config(config).enable_url_table();
    staffa_datafusion::register(&ctx).unwrap();
    ctx
}

/// A file of small row groups.
fn write(path: &Path, batch: &RecordBatch) {
    write_with(path, batch, WriteOptions::new().row_group_rows(64));
}

fn write_with(path: &Path, batch: &RecordBatch, options: WriteOptions) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = Writer::create(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// `CREATE EXTERNAL TABLE name`.
async fn create(ctx: &SessionContext, name: &str, path: &Path) {
    let path = path.display();
    let sql = format!("CREATE EXTERNAL TABLE {name} STORED AS STAFFA LOCATION '{path}'");
    ctx.sql(&sql).await.unwrap();
}

fn in_memory(ctx: &SessionContext, name: &str, batch: &RecordBatch) {
    let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
    ctx.register_table(name, Arc::new(table)).unwrap();
}

/// The rows of a query as text.
async fn rows(ctx: &SessionContext, sql: &str) -> Result<String> {
    let batches = ctx.sql(sql).await?.collect().await?;
    Ok(pretty_format_batches(&batches)?.to_string())
}

/// The physical plan of a query.
async fn plan(ctx: &SessionContext, sql: &str) -> String {
    let frame = ctx.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let plan = datafusion::physical_plan::displayable(plan.as_ref());
    plan.indent(false).to_string()
}

/// Whether a query gives the same over table `t` of Staffa files and table `m` in memory.
async fn same(ctx: &SessionContext, sql: &str) {
    let found = rows(ctx, sql).await.unwrap();
    let of_memory = sql.replace(" t ", " m ").replace(" t2 ", " m2 ");
    let expected = rows(ctx, &of_memory).await.unwrap();
    let named = |rows: String, table| rows.replace(table, "");
    let (found, expected) = (named(found, "t."), named(expected, "m."));
    assert_eq!(found, expected, "{sql}\n{}", plan(ctx, sql).await);
}

/// Rows `from..to`: their number, a group, a text.
fn numbers(from: i64, to: i64) -> RecordBatch {
    let n = Int64Array::from_iter_values(from..to);
    let g = Int64Array::from_iter_values((from..to).map(|n| n % 7));
    let s = StringArray::from_iter_values((from..to).map(|n| format!("row {n}")));
    let columns: [(&str, ArrayRef); 3] =
        [("n", Arc::new(n)), ("g", Arc::new(g)), ("s", Arc::new(s))];
    RecordBatch::try_from_iter(columns).unwrap()
}
