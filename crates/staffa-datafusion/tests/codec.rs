//! Plans sent as bytes: the same rows as of the plan itself, or one clear error.
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use staffa_datafusion::StaffaCodec;

fn session() -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(2);
    let ctx = SessionContext::new_with_config(config);
    staffa_datafusion::register(&ctx).unwrap();
    ctx
}

/// Two files of a folder each, whose name is a key.
async fn with_table(folder: &Path) -> SessionContext {
    for year in [2025_i64, 2026] {
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3000));
        let city = (0..3000).map(|i| (i % 5 > 0).then(|| format!("city {}", i % 7)));
        let city: ArrayRef = Arc::new(city.collect::<StringArray>());
        let batch =
            RecordBatch::try_from_iter_with_nullable([("n", n, false), ("city", city, true)]);
        let batch = batch.unwrap();
        let path = folder.join(format!("year={year}"));
        std::fs::create_dir_all(&path).unwrap();
        let options = staffa::WriteOptions::new().row_group_rows(500);
        let path = path.join("a.staffa");
        let mut writer = staffa::Writer::create(path, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    let ctx = session();
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS STAFFA PARTITIONED BY (year) LOCATION '{}/'",
        folder.display()
    );
    ctx.sql(&sql).await.unwrap();
    ctx
}

async fn plan(ctx: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    let frame = ctx.sql(sql).await.unwrap();
    frame.create_physical_plan().await.unwrap()
}

fn decode(bytes: &[u8]) -> Result<Arc<dyn ExecutionPlan>> {
    physical_plan_from_bytes_with_extension_codec(bytes, &session().task_ctx(), &StaffaCodec)
}

async fn rows(plan: Arc<dyn ExecutionPlan>) -> String {
    let batches = collect(plan, session().task_ctx()).await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

#[tokio::test]
async fn plans_give_the_same_rows_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = with_table(folder.path()).await;
    for sql in [
        "SELECT count(*), sum(n) FROM t",
        "SELECT city, n + 1, year FROM t WHERE n BETWEEN 40 AND 44 ORDER BY year, n",
        "SELECT year, n FROM t WHERE city LIKE 'city 3%' AND n % 100 = 3 ORDER BY year, n",
        "SELECT n FROM t WHERE year = 2026 AND (city IS NULL OR n < 10) ORDER BY n DESC LIMIT 7",
        "SELECT a.n, b.city FROM t a JOIN t b ON a.n = b.n AND a.year = b.year \
         WHERE b.n IN (5, 2999) AND b.city IS NOT NULL ORDER BY a.n, b.city",
    ] {
        let here = plan(&ctx, sql).await;
        let bytes = physical_plan_to_bytes_with_extension_codec(here.clone(), &StaffaCodec);
        let there = decode(&bytes.unwrap()).unwrap();
        let text =
            |plan: &Arc<dyn ExecutionPlan>| displayable(plan.as_ref()).indent(false).to_string();
        assert_eq!(text(&here), text(&there), "{sql}");
        assert_eq!(rows(here).await, rows(there).await, "{sql}");
    }
}

#[tokio::test]
async fn what_is_no_scan_of_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = with_table(folder.path()).await;
    let sql = format!(
        "COPY t TO '{}/copy.staffa' STORED AS STAFFA",
        folder.path().display()
    );
    let copy = plan(&ctx, &sql).await;
    let error = physical_plan_to_bytes_with_extension_codec(copy, &StaffaCodec).unwrap_err();
    assert!(error.to_string().contains("DataSinkExec"), "{error}");
}

#[tokio::test]
async fn bytes_cut_off_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = with_table(folder.path()).await;
    let scan = plan(&ctx, "SELECT n FROM t WHERE n > 5").await;
    let bytes = physical_plan_to_bytes_with_extension_codec(scan, &StaffaCodec).unwrap();
    for len in 1..bytes.len() {
        assert!(
            decode(&bytes[..len]).is_err(),
            "{len} of {} bytes",
            bytes.len()
        );
    }
}
