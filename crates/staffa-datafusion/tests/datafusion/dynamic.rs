//! Dynamic filters of joins and of `ORDER BY ... LIMIT`: the answers of tables in memory.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::prelude::SessionContext;
use staffa::WriteOptions;
use tempfile::{TempDir, tempdir};

use crate::stores::{self, TestStore};
use crate::{create, in_memory, numbers, rows, same, session, write_with};

/// `t`, of three files, and `t2`, of few rows; `m` and `m2` in memory.
async fn tables(partitions: usize) -> (SessionContext, TempDir) {
    let (ctx, folder) = (session(partitions), tempdir().unwrap());
    for (i, from) in [200_000, 0, 100_000].into_iter().enumerate() {
        let path = folder.path().join(format!("t/{i}.staffa"));
        write_with(&path, &numbers(from, from + 100_000), WriteOptions::new());
    }
    write_with(
        &folder.path().join("t2/a.staffa"),
        &numbers(150_000, 150_300),
        WriteOptions::new(),
    );
    create(&ctx, "t", &folder.path().join("t")).await;
    create(&ctx, "t2", &folder.path().join("t2")).await;
    tables_in_memory(&ctx);
    (ctx, folder)
}

/// The same tables in a store that is no local disk.
async fn remote_tables(partitions: usize) -> SessionContext {
    let ctx = session(partitions);
    let store = TestStore::register(&ctx);
    for (i, from) in [200_000, 0, 100_000].into_iter().enumerate() {
        let path = format!("t/{i}.staffa");
        store.put(&path, &numbers(from, from + 100_000)).await;
    }
    store.put("t2/a.staffa", &numbers(150_000, 150_300)).await;
    stores::create(&ctx, "t").await;
    stores::create(&ctx, "t2").await;
    tables_in_memory(&ctx);
    ctx
}

fn tables_in_memory(ctx: &SessionContext) {
    in_memory(ctx, "m", &numbers(0, 300_000));
    in_memory(ctx, "m2", &numbers(150_000, 150_300));
}

const QUERIES: &[&str] = &[
    "SELECT n, s FROM t ORDER BY n LIMIT 5",
    "SELECT n, s FROM t ORDER BY n DESC LIMIT 5",
    "SELECT s, n FROM t WHERE g = 3 ORDER BY s DESC, n LIMIT 5",
    "SELECT g, n FROM t ORDER BY g NULLS FIRST, n DESC LIMIT 4 OFFSET 3",
    "SELECT count(*), sum(a.n) FROM t a JOIN t2 b ON a.n = b.n",
    "SELECT count(*), sum(a.n) FROM t a JOIN t2 b ON a.n = b.n AND a.g = b.g WHERE b.n < 150010",
    "SELECT count(*) FROM t a JOIN t2 b ON a.s = b.s WHERE b.g = 1",
    "SELECT count(*), count(b.n) FROM t a LEFT JOIN t2 b ON a.n = b.n",
    "SELECT count(*), count(a.n) FROM t a RIGHT JOIN t2 b ON a.n = b.n AND b.g = 0",
    "SELECT count(*) FROM t a FULL JOIN t2 b ON a.n = b.n + 200000",
    "SELECT count(*) FROM t a WHERE a.n IN (SELECT n FROM t2 WHERE g < 2)",
    "SELECT count(*) FROM t a WHERE a.n NOT IN (SELECT n FROM t2 WHERE g < 2)",
    "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t2 b WHERE b.n = a.n)",
    "SELECT count(*), min(a.n) FROM t a JOIN t2 b ON a.n + 1 = b.n",
    "SELECT count(*) FROM t a JOIN t2 b ON a.n = b.n WHERE b.s = 'none'",
    "SELECT a.n, b.s FROM t a JOIN t2 b ON a.n = b.n WHERE a.g = 2 ORDER BY a.n DESC LIMIT 3",
    "SELECT x.g, count(*) FROM (SELECT g, n FROM t WHERE n > 149990 ORDER BY n LIMIT 50) x JOIN t2 b ON x.n = b.n GROUP BY x.g ORDER BY x.g",
    "SELECT min(n) FROM t ",
    "SELECT max(n), min(g) FROM t ",
    "SELECT max(s) FROM t WHERE g <> 2",
    "SELECT min(n), max(n), min(s), max(s) FROM t WHERE g = 5",
];

#[tokio::test]
async fn answers_are_those_of_memory() {
    for partitions in [1, 3] {
        let (ctx, _folder) = tables(partitions).await;
        for sql in QUERIES {
            same(&ctx, sql).await;
        }
    }
}

#[tokio::test]
async fn answers_of_a_remote_store_are_those_of_memory() {
    for partitions in [1, 3] {
        let ctx = remote_tables(partitions).await;
        for sql in QUERIES {
            same(&ctx, sql).await;
        }
    }
}

/// Every `step`th number, from a file and in memory: more than DataFusion lists in a filter.
async fn keys(ctx: &SessionContext, step: usize) -> TempDir {
    let folder = tempdir().unwrap();
    ctx.deregister_table("t2").unwrap();
    ctx.deregister_table("m2").unwrap();
    let all = numbers(0, 300_000);
    let rows: UInt32Array = (0..300_000).step_by(step).map(|i| i as u32).collect();
    let some = take_record_batch(&all, &rows).unwrap();
    write_with(&folder.path().join("a.staffa"), &some, WriteOptions::new());
    create(ctx, "t2", folder.path()).await;
    in_memory(ctx, "m2", &some);
    folder
}

/// The value of a metric in `EXPLAIN ANALYZE`, of the scan of `file`.
fn metric(analyzed: &str, name: &str) -> usize {
    let scans = analyzed.lines().filter(|line| line.contains("/t/0.staffa"));
    let of_scan = |line: &str| -> Option<f64> {
        let (_, value) = line.split_once(&format!("{name}="))?;
        let value = value.split([',', ']']).next()?.trim();
        let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
        let unit = if unit == "K" { 1000.0 } else { 1.0 };
        Some(number.parse::<f64>().ok()? * unit)
    };
    scans.filter_map(of_scan).sum::<f64>() as usize
}

#[tokio::test]
async fn hash_tables_of_joins_are_filters() {
    for partitions in [1, 3] {
        let (ctx, _folder) = tables(partitions).await;
        let _keys = keys(&ctx, 1000).await;
        for sql in [
            "SELECT count(*), sum(a.n), max(a.s) FROM t a JOIN t2 b ON a.n = b.n",
            "SELECT count(*), max(a.s) FROM t a JOIN t2 b ON a.n = b.n AND a.g = b.g",
            "SELECT count(*), max(a.s) FROM t a JOIN t2 b ON a.s = b.s WHERE a.g > 2",
            "SELECT count(*) FROM t a WHERE a.n NOT IN (SELECT n FROM t2 )",
            "SELECT count(*), count(b.n) FROM t a LEFT JOIN t2 b ON a.n = b.n",
        ] {
            same(&ctx, sql).await;
        }
        let sql = "EXPLAIN ANALYZE SELECT max(a.s) FROM t a JOIN t2 b ON a.n = b.n";
        let found = rows(&ctx, sql).await.unwrap();
        assert_eq!(metric(&found, "output_rows"), 300, "{found}");
    }
}

#[tokio::test]
async fn hash_tables_that_keep_many_rows_pause() {
    let (ctx, _folder) = tables(1).await;
    let _keys = keys(&ctx, 2).await;
    same(
        &ctx,
        "SELECT count(*), max(a.s) FROM t a JOIN t2 b ON a.n = b.n",
    )
    .await;
    let sql = "EXPLAIN ANALYZE SELECT max(a.s) FROM t a JOIN t2 b ON a.n = b.n";
    let found = rows(&ctx, sql).await.unwrap();
    // Of the two parts of each file the first is tested.
    let tested = metric(&found, "rows_tested");
    assert!(tested > 190_000 && tested < 200_000, "{tested} {found}");
}

#[tokio::test]
async fn known_wrong_results_of_dynamic_filters_are_none() {
    for partitions in [1, 4] {
        let (ctx, folder) = tables(partitions).await;
        for sql in [
            // Aggregates of which only some bound the rows.
            "SELECT min(n), max(n), max(g), min(n + 1) FROM t ",
            "SELECT max(n), sum(g), min(s) FROM t WHERE g = 2",
            "SELECT min(n), count(*) FROM t WHERE g > 3",
            // Columns change their places at a filter with a projection.
            "SELECT min(x.n), max(x.s) FROM (SELECT s, g, n FROM t WHERE g + 0 = 1) x",
            "SELECT x.s, b.n FROM (SELECT s, n FROM t WHERE g % 3 = 1) x JOIN t2 b ON x.n = b.n \
             ORDER BY x.s LIMIT 7",
            "SELECT s FROM t WHERE n % 5 = 3 AND g < 4 ORDER BY g, n DESC LIMIT 9",
            "SELECT n FROM t WHERE n BETWEEN 1000 AND 90000 ORDER BY s DESC LIMIT 5",
            "SELECT x.g, x.n FROM (SELECT n, g FROM t WHERE s LIKE '%9') x \
             JOIN (SELECT g AS n, n AS g FROM t2 WHERE n % 2 = 0) y ON x.n = y.g AND x.g = y.n \
             ORDER BY x.n LIMIT 20",
            // Filters that hold above an operator only.
            "SELECT count(*), sum(x.m) FROM (SELECT g, max(n) AS m FROM t GROUP BY g) x \
             JOIN t2 b ON x.m > b.n AND x.g = b.g",
            "SELECT count(*), sum(x.c) FROM (SELECT n / 100 AS g, count(*) AS c FROM t GROUP BY n / 100) x \
             JOIN t2 b ON x.g = b.n / 100",
            "SELECT count(*) FROM (SELECT n, g FROM t ORDER BY n LIMIT 40) x JOIN t2 b ON x.g = b.g",
            "SELECT count(*), sum(x.n) FROM (SELECT n FROM t UNION ALL SELECT n + 1 AS n FROM t ) x \
             JOIN t2 b ON x.n = b.n",
            "SELECT count(*), sum(x.r) FROM \
             (SELECT n, row_number() OVER (PARTITION BY g ORDER BY n) AS r FROM t ) x \
             JOIN t2 b ON x.n = b.n",
            "SELECT a.n, c.n FROM t a JOIN t2 b ON a.n = b.n LEFT JOIN t c ON c.n = a.n + 1 AND c.g = 3 \
             ORDER BY a.n LIMIT 9",
        ] {
            same(&ctx, sql).await;
        }
        drop(folder);
    }
}

/// Numbers with NULLs among them.
fn with_nulls(values: Vec<Option<i64>>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(values));
    RecordBatch::try_from_iter_with_nullable([("k", column, true)]).unwrap()
}

#[tokio::test]
async fn nulls_of_join_keys_are_what_sql_makes_of_them() {
    let probe = (0..2000).map(|i| (i % 7 != 0).then_some(i)).collect();
    let few = vec![Some(3), None, Some(8), Some(5000)];
    let many = (0..900).map(|i| (i != 5).then_some(i * 2)).collect();
    for build in [few, many, vec![Some(4)], vec![None]] {
        for partitions in [1, 3] {
            let (ctx, folder) = (session(partitions), tempdir().unwrap());
            for (name, memory, values) in [("t", "m", &probe), ("t2", "m2", &build)] {
                let path = folder.path().join(name);
                let batch = with_nulls(Vec::clone(values));
                write_with(&path.join("0.staffa"), &batch, WriteOptions::new());
                create(&ctx, name, &path).await;
                in_memory(&ctx, memory, &batch);
            }
            for sql in [
                "SELECT count(*) AS c, sum(k) AS s FROM t WHERE k NOT IN (SELECT k FROM t2 )",
                "SELECT count(*) AS c, sum(k) AS s FROM t2 WHERE k NOT IN (SELECT k FROM t )",
                "SELECT count(*) AS c, sum(k) AS s FROM t2 WHERE k NOT IN (SELECT k FROM t WHERE k > 3)",
                "SELECT count(*) AS c, sum(k) AS s FROM t WHERE k IN (SELECT k FROM t2 )",
                "SELECT count(*) FROM t a JOIN t2 b ON a.k IS NOT DISTINCT FROM b.k",
                "SELECT count(*) FROM t a FULL JOIN t2 b ON a.k = b.k",
                "SELECT k AS x FROM t INTERSECT SELECT k AS x FROM t2 ORDER BY x LIMIT 3",
                "SELECT count(*) FROM (SELECT k FROM t EXCEPT SELECT k FROM t2 ) x",
            ] {
                same(&ctx, sql).await;
            }
        }
    }
}

#[tokio::test]
async fn a_column_that_a_file_lacks_joins_as_null() {
    let (ctx, folder) = (session(1), tempdir().unwrap());
    let whole = numbers(0, 1000);
    let without = numbers(1000, 1100).project(&[0]).unwrap();
    write_with(
        &folder.path().join("t/a.staffa"),
        &whole,
        WriteOptions::new(),
    );
    write_with(
        &folder.path().join("t/b.staffa"),
        &without,
        WriteOptions::new(),
    );
    create(&ctx, "t", &folder.path().join("t")).await;
    for (build, expected) in [("(2), (3)", 286), ("(2), (NULL)", 143)] {
        let sql = format!("SELECT count(*) AS c FROM t JOIN (VALUES {build}) v(g) ON t.g = v.g");
        let found = rows(&ctx, &sql).await.unwrap();
        assert!(found.contains(&format!("| {expected} |")), "{found}");
    }
    let found = rows(&ctx, "SELECT n FROM t ORDER BY g NULLS FIRST, n LIMIT 2")
        .await
        .unwrap();
    assert!(
        found.contains("| 1000 |") && found.contains("| 1001 |"),
        "{found}"
    );
}

#[tokio::test]
async fn a_test_that_fails_leaves_rows_to_the_query() {
    let (ctx, folder) = (session(1), tempdir().unwrap());
    let texts = (0..1000).map(|i| {
        if i < 500 {
            i.to_string()
        } else {
            format!("x{i}")
        }
    });
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    write_with(&folder.path().join("a.staffa"), &batch, WriteOptions::new());
    create(&ctx, "t", folder.path()).await;
    in_memory(&ctx, "m", &batch);
    in_memory(&ctx, "m2", &numbers(0, 300));
    let sql = "SELECT count(*) FROM t a JOIN m2 b ON cast(a.s AS BIGINT) = b.n \
               WHERE NOT (a.s ~ '^x')";
    assert!(rows(&ctx, sql).await.unwrap().contains("| 300"));
}

#[tokio::test]
async fn a_join_skips_what_the_build_side_excludes() {
    let (ctx, _folder) = tables(1).await;
    let sql = "EXPLAIN ANALYZE SELECT count(a.s) FROM t a JOIN t2 b ON a.n = b.n";
    let found = rows(&ctx, sql).await.unwrap();
    // By their statistics, two files of three are not opened.
    assert!(found.contains("files_skipped=2"), "{found}");
}
