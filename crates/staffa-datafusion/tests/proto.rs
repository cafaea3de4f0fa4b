//! Plans as bytes and back: the same plan, the same rows.
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec as from_bytes,
    physical_plan_to_bytes_with_extension_codec as to_bytes,
};
use staffa_datafusion::StaffaCodec;
use tempfile::tempdir;

fn shown(plan: &dyn ExecutionPlan) -> String {
    displayable(plan).indent(true).to_string()
}

async fn rows(plan: Arc<dyn ExecutionPlan>, ctx: &SessionContext) -> String {
    let batches = collect(plan, ctx.task_ctx()).await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

fn session() -> SessionContext {
    let ctx = SessionContext::new();
    staffa_datafusion::register(&ctx).unwrap();
    ctx
}

#[tokio::test]
async fn plans_survive_the_way_through_bytes() {
    let folder = tempdir().unwrap();
    for day in 0..3 {
        let n = Int64Array::from_iter_values(day * 100..day * 100 + 100);
        let s = StringArray::from_iter_values((0..100).map(|i| format!("text {i}")));
        let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("s", Arc::new(s))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let path = folder.path().join(format!("day={day}"));
        std::fs::create_dir(&path).unwrap();
        let options = staffa::WriteOptions::new().sort_order(["n".parse().unwrap()]);
        let path = path.join("a.staffa");
        let mut writer = staffa::Writer::create(path, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    let ctx = session();
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS STAFFA PARTITIONED BY (day) LOCATION '{}/'",
        folder.path().display()
    );
    ctx.sql(&sql).await.unwrap();
    for sql in [
        "SELECT * FROM t ORDER BY n",
        "SELECT count(*), sum(n), day FROM t WHERE s LIKE '%7' AND n > 30 GROUP BY day ORDER BY day",
        "SELECT n + 1 AS m, s FROM t WHERE day = '1' AND s IN ('text 3', 'text 8') ORDER BY m",
        "SELECT s, n FROM t ORDER BY n DESC LIMIT 4",
        "SELECT a.n, b.s FROM t a JOIN t b ON a.n = b.n WHERE b.s = 'text 9' ORDER BY a.n",
    ] {
        let plan = ctx
            .sql(sql)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let bytes = to_bytes(plan.clone(), &StaffaCodec).unwrap();
        // A process that knows nothing of the table.
        let other = session();
        let sent = from_bytes(&bytes, &other.task_ctx(), &StaffaCodec).unwrap();
        assert_eq!(shown(sent.as_ref()), shown(plan.as_ref()), "{sql}");
        assert_eq!(rows(sent, &other).await, rows(plan, &ctx).await, "{sql}");
    }
    let copy = format!("COPY t TO '{}/out.staffa'", folder.path().display());
    let frame = ctx.sql(&copy).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let error = to_bytes(plan, &StaffaCodec).unwrap_err().to_string();
    assert!(error.contains("DataSinkExec"), "{error}");
    for bytes in [&b"nothing"[..], b"\x0a\x03abc"] {
        assert!(from_bytes(bytes, &ctx.task_ctx(), &StaffaCodec).is_err());
    }
}
