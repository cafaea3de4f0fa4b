//! Files as tables: many files, hive keys, other schemas, parts, statistics, order, bad input.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::object_store::memory::InMemory;
use datafusion::prelude::SessionContext;
use staffa::WriteOptions;
use tempfile::tempdir;
use url::Url;

use crate::{create, numbers, plan, rows, same, session, write, write_with};

#[tokio::test]
async fn parts_have_every_row_once() {
    let folder = tempdir().unwrap();
    let batch = numbers(0, 400_000);
    let options = WriteOptions::new().row_group_rows(150_000);
    write_with(&folder.path().join("t.staffa"), &batch, options);
    for partitions in [1, 2, 3, 7, 16] {
        let ctx = session(partitions);
        create(&ctx, "t", folder.path()).await;
        let found = rows(
            &ctx,
            "SELECT count(*) AS c, count(DISTINCT n) AS d, sum(n) AS s FROM t",
        )
        .await
        .unwrap();
        assert!(
            found.contains("| 400000 | 400000 | 79999800000 |"),
            "{partitions}: {found}"
        );
    }
    let ctx = session(4);
    create(&ctx, "t", folder.path()).await;
    let scan = plan(&ctx, "SELECT n FROM t").await;
    assert!(scan.contains("4 groups"), "{scan}");
}

#[tokio::test]
async fn blocks_without_a_match_are_skipped() {
    let folder = tempdir().unwrap();
    write_with(
        &folder.path().join("t.staffa"),
        &numbers(0, 400_000),
        WriteOptions::new(),
    );
    let ctx = session(1);
    create(&ctx, "t", folder.path()).await;
    let sql = "EXPLAIN ANALYZE SELECT s FROM t WHERE n = 200000";
    let found = rows(&ctx, sql).await.unwrap();
    assert!(found.contains("parts_skipped=6"), "{found}");
    assert!(found.contains("parts_read=1"), "{found}");
}

#[tokio::test]
async fn hive_keys_are_columns() {
    let folder = tempdir().unwrap();
    for (year, from) in [(2024, 0), (2025, 100), (2026, 200)] {
        let path = folder.path().join(format!("year={year}/part.staffa"));
        write(&path, &numbers(from, from + 100));
    }
    let ctx = session(2);
    let location = folder.path().display();
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS STAFFA PARTITIONED BY (year) LOCATION '{location}/'"
    );
    ctx.sql(&sql).await.unwrap();
    let sql = "SELECT year, count(*), min(n) FROM t WHERE year >= '2025' AND n < 250 GROUP BY year ORDER BY year";
    let found = rows(&ctx, sql).await.unwrap();
    assert!(
        found.contains("| 2025 | 100      | 100      |\n| 2026 | 50       | 200      |"),
        "{found}"
    );
    let pruned = plan(&ctx, "SELECT n FROM t WHERE year = '2026'").await;
    assert!(!pruned.contains("year=2024"), "{pruned}");
    // A filter on a key and a column at once stays above the scan.
    let keys = "SELECT count(*) AS c FROM t WHERE year <> s";
    assert!(rows(&ctx, keys).await.unwrap().contains("| 300 |"));
    let mixed = "SELECT count(*) AS c FROM t WHERE year = '2024' OR n >= 290";
    assert!(rows(&ctx, mixed).await.unwrap().contains("| 110 |"));
}

/// Three files: without `b`, with `b` narrow, with columns in another order and wide.
fn evolved(folder: &std::path::Path) -> SessionContext {
    let a = |from| Arc::new(Int32Array::from_iter_values(from..from + 10)) as ArrayRef;
    let wide = |from| Arc::new(Int64Array::from_iter_values(from..from + 10)) as ArrayRef;
    let text = Arc::new(StringArray::from_iter_values(
        (0..10).map(|i| format!("t{i}")),
    )) as ArrayRef;
    let files: [Vec<(&str, ArrayRef)>; 3] = [
        vec![("a", a(0))],
        vec![("a", a(10)), ("b", a(100))],
        vec![("c", text), ("b", wide(1 << 40)), ("a", wide(20))],
    ];
    for (i, columns) in files.into_iter().enumerate() {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        write(&folder.join(format!("{i}.staffa")), &batch);
    }
    session(2)
}

#[tokio::test]
async fn files_may_lack_columns_and_have_narrower_types() {
    let folder = tempdir().unwrap();
    let ctx = evolved(folder.path());
    create(&ctx, "t", folder.path()).await;
    for (sql, expected) in [
        ("SELECT count(*) AS c, sum(a) AS s FROM t", "| 30 | 435 |"),
        ("SELECT count(b) AS c, min(b) AS s FROM t", "| 20 | 100 |"),
        // A filter on a column that one file lacks.
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE b IS NULL",
            "| 10 | 45 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE b IS NOT NULL",
            "| 20 | 390 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE b > 105",
            "| 14 | 315 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE NOT (b > 105)",
            "| 6 | 75 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE b > 105 OR a < 3",
            "| 17 | 318 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE c LIKE 't%'",
            "| 10 | 245 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE c IS NULL AND a <> 5",
            "| 19 | 185 |",
        ),
        (
            "SELECT count(*) AS c, sum(a) AS s FROM t WHERE a = 15 OR a + 1 = 3",
            "| 2 | 17 |",
        ),
        (
            "SELECT a AS c, b AS s FROM t WHERE a IN (5, 15) ORDER BY a",
            "| 15 | 105 |",
        ),
    ] {
        let found = rows(&ctx, sql)
            .await
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert!(found.contains(expected), "{sql}\n{found}");
    }
}

#[tokio::test]
async fn structs_may_have_narrower_fields() {
    let folder = tempdir().unwrap();
    let x = Arc::new(Int32Array::from(vec![100, 200, 300])) as ArrayRef;
    let x = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int32, true)), x)]);
    let id = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", id), ("s", Arc::new(x) as ArrayRef)]);
    write(&folder.path().join("a.staffa"), &batch.unwrap());
    let ctx = session(1);
    let sql = format!(
        "CREATE EXTERNAL TABLE t (id BIGINT, s STRUCT<x BIGINT, y VARCHAR>) \
         STORED AS STAFFA LOCATION '{}'",
        folder.path().display()
    );
    ctx.sql(&sql).await.unwrap();
    for (filter, expected) in [
        ("s['x'] = 200", "| 2  |"),
        ("s['y'] IS NULL AND id > 2", "| 3  |"),
        ("s['x'] > 100 AND id < 3", "| 2  |"),
    ] {
        let sql = format!("SELECT id FROM t WHERE {filter}");
        let found = rows(&ctx, &sql).await.unwrap();
        assert!(
            found.contains(expected) && found.lines().count() == 5,
            "{sql}\n{found}"
        );
    }
}

#[tokio::test]
async fn types_that_do_not_fit_are_named_with_their_files() {
    let folder = tempdir().unwrap();
    let number =
        RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let text =
        RecordBatch::try_from_iter([("x", Arc::new(StringArray::from(vec!["1"])) as ArrayRef)]);
    write(&folder.path().join("a.staffa"), &number.unwrap());
    write(&folder.path().join("b.staffa"), &text.unwrap());
    let path = folder.path().display();
    let sql = format!("CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION '{path}'");
    let error = session(1).sql(&sql).await.unwrap_err().to_string();
    for part in ["column \"x\"", "Int64", "a.staffa", "Utf8View", "b.staffa"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_named() {
    let folder = tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(
            &folder.path().join(format!("{name}.staffa")),
            &numbers(0, 100),
        );
    }
    let damaged = folder.path().join("b.staffa");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let ctx = session(2);
    create(&ctx, "t", folder.path()).await;
    let error = rows(&ctx, "SELECT sum(n), max(s), sum(g) FROM t")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("b.staffa"), "{error}");
    std::fs::write(&damaged, "no such file").unwrap();
    let path = folder.path().display();
    let sql = format!("CREATE EXTERNAL TABLE u STORED AS STAFFA LOCATION '{path}'");
    let error = session(1).sql(&sql).await.unwrap_err().to_string();
    assert!(error.contains("b.staffa"), "{error}");
}

#[tokio::test]
async fn the_planner_knows_rows_and_order() {
    let folder = tempdir().unwrap();
    let keys = ["n".parse().unwrap()];
    let options = WriteOptions::new().row_group_rows(1000).sort_order(keys);
    write_with(&folder.path().join("t.staffa"), &numbers(0, 5000), options);
    let ctx = session(1);
    create(&ctx, "t", folder.path()).await;
    crate::in_memory(&ctx, "m", &numbers(0, 5000));
    let counted = plan(&ctx, "SELECT count(*) FROM t").await;
    assert!(counted.contains("PlaceholderRowExec"), "{counted}");
    let sorted = plan(&ctx, "SELECT n FROM t ORDER BY n").await;
    assert!(!sorted.contains("SortExec"), "{sorted}");
    let last = "SELECT n, s FROM t ORDER BY n DESC LIMIT 3";
    assert!(
        plan(&ctx, last).await.contains("reversed"),
        "{}",
        plan(&ctx, last).await
    );
    same(&ctx, last).await;
    same(&ctx, "SELECT n, s FROM t WHERE g = 3 ORDER BY n LIMIT 3").await;
}

#[tokio::test]
async fn files_of_other_stores_are_tables() {
    let ctx = session(2);
    let url = Url::parse("memory://lake").unwrap();
    ctx.register_object_store(&url, Arc::new(InMemory::new()));
    crate::in_memory(&ctx, "m", &numbers(0, 200_000));
    let sql = "COPY m TO 'memory://lake/t/' STORED AS STAFFA PARTITIONED BY (g)";
    rows(&ctx, sql).await.unwrap();
    let sql = "CREATE EXTERNAL TABLE t (n BIGINT, s VARCHAR, g BIGINT) STORED AS STAFFA \
               PARTITIONED BY (g) LOCATION 'memory://lake/t/'";
    ctx.sql(sql).await.unwrap();
    for sql in [
        "SELECT count(*), sum(n), min(s) FROM t ",
        "SELECT n, s, g FROM t WHERE n < 100 AND g > 2 ORDER BY n",
        "SELECT g, max(s) FROM t WHERE n BETWEEN 65000 AND 67000 GROUP BY g ORDER BY g",
    ] {
        same(&ctx, sql).await;
    }
}

#[tokio::test]
async fn a_path_is_a_table() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    write(&path, &numbers(0, 10));
    let sql = format!("SELECT count(*) AS c FROM '{}'", path.display());
    assert!(rows(&session(1), &sql).await.unwrap().contains("| 10 |"));
}
