//! Files of object stores: right rows or one clear error, by few requests.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::error::Result;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use staffa::WriteOptions;

use crate::stores::{self, FAULTS, Fault, TestStore};
use crate::{in_memory, numbers, rows, same, session};

/// Rows of a query, within a time in which a query that hangs is told from one that does not.
async fn ended(ctx: &SessionContext, sql: &str) -> Result<String> {
    let ran = tokio::time::timeout(Duration::from_secs(60), rows(ctx, sql)).await;
    ran.expect("a query that does not end")
}

/// Numbers that no encoding makes small.
fn noise(len: u64, columns: usize) -> RecordBatch {
    let mix = |i: u64| {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 1) as i64
    };
    let column = |c: u64| {
        let values = (0..len).map(|i| mix(i * 64 + c));
        Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
    };
    let named = (0..columns).map(|c| (format!("c{c}"), column(c as u64)));
    RecordBatch::try_from_iter(named).unwrap()
}

fn bytes_of(asked: &[(String, std::ops::Range<u64>)]) -> u64 {
    asked.iter().map(|(_, range)| range.end - range.start).sum()
}

#[tokio::test]
async fn requests_are_few_and_no_byte_comes_twice() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    store.put("t/a.staffa", &noise(100_000, 20)).await;
    stores::create(&ctx, "t").await;
    // The last 64 KiB; the file stays open from then on.
    let asked = store.asked();
    assert_eq!((asked.len(), bytes_of(&asked)), (1, 64 << 10), "{asked:?}");
    ended(&ctx, "SELECT count(*) FROM t").await.unwrap();
    assert_eq!(store.asked(), []);
    let length = store.bytes("t/a.staffa").await.len() as u64;
    ended(&ctx, "SELECT max(c7) FROM t").await.unwrap();
    let asked = store.asked();
    assert!(asked.len() <= 3, "{asked:?}");
    assert!(bytes_of(&asked) < length / 15, "{asked:?}");
    let all: Vec<String> = (0..20).map(|c| format!("max(c{c})")).collect();
    let sql = format!("SELECT {} FROM t", all.join(", "));
    ended(&ctx, &sql).await.unwrap();
    let mut asked = store.asked();
    assert!(asked.len() as u64 <= length / (16 << 20) + 2, "{asked:?}");
    asked.sort_by_key(|(_, range)| range.start);
    let apart = asked
        .windows(2)
        .all(|pair| pair[0].1.end <= pair[1].1.start);
    assert!(apart && bytes_of(&asked) <= length, "{asked:?}");
}

#[tokio::test]
async fn filters_read_what_they_need() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    let batch = noise(400_000, 3);
    let row = Arc::new(Int64Array::from_iter_values(0..400_000)) as ArrayRef;
    let mut columns: Vec<(String, ArrayRef)> = vec![("n".to_owned(), row)];
    columns.extend((0..3).map(|c| (format!("c{c}"), batch.column(c).clone())));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriteOptions::new().row_group_rows(100_000);
    store.put_with("t/a.staffa", &batch, options).await;
    stores::create(&ctx, "t").await;
    in_memory(&ctx, "m", &batch);
    store.asked();
    same(
        &ctx,
        "SELECT c1, n FROM t WHERE n BETWEEN 250000 AND 250004",
    )
    .await;
    let (asked, length) = (store.asked(), store.bytes("t/a.staffa").await.len() as u64);
    assert!(
        asked.len() <= 4 && bytes_of(&asked) < length / 4,
        "{asked:?}"
    );
    let sql = "EXPLAIN ANALYZE SELECT c1 FROM t WHERE n BETWEEN 250000 AND 250004";
    let found = ended(&ctx, sql).await.unwrap();
    for part in [
        "parts_read=1",
        "parts_skipped=7",
        "requests=",
        "bytes_read=",
    ] {
        assert!(found.contains(part), "{part} {found}");
    }
    let sql = "EXPLAIN ANALYZE SELECT c1 FROM t WHERE n > 900000";
    let found = ended(&ctx, sql).await.unwrap();
    assert!(found.contains("files_skipped=1"), "{found}");
    assert!(found.contains("rows_skipped=400.0 K"), "{found}");
}

#[tokio::test]
async fn many_partitions_and_files_read_at_once() {
    for partitions in [1, 2, 5] {
        let ctx = session(partitions);
        let store = TestStore::register(&ctx);
        let options = || WriteOptions::new().row_group_rows(30_000);
        for i in 0..6 {
            let from = i * 50_000;
            let path = format!("t/{i}.staffa");
            store
                .put_with(&path, &numbers(from, from + 50_000), options())
                .await;
        }
        stores::create(&ctx, "t").await;
        in_memory(&ctx, "m", &numbers(0, 300_000));
        store.unsteady(partitions as u64, &[]);
        for sql in [
            "SELECT count(*), sum(n), max(s) FROM t ",
            "SELECT g, count(*), min(s) FROM t WHERE n % 3 = 1 GROUP BY g ORDER BY g",
            "SELECT n, s FROM t WHERE s LIKE '%77' AND g = 4 ORDER BY n DESC LIMIT 12",
            "SELECT sum(n) FROM t WHERE n BETWEEN 90000 AND 210000 AND g < 5",
            "SELECT count(*) FROM t a WHERE n = 123456 OR n = 299999",
        ] {
            same(&ctx, sql).await;
        }
        assert!(store.most_running() <= 16, "{}", store.most_running());
        assert_eq!(
            ended(&ctx, "SELECT n FROM t WHERE g = 2 LIMIT 3")
                .await
                .unwrap()
                .lines()
                .count(),
            7
        );
    }
}

#[tokio::test]
async fn answers_are_right_or_one_error_that_names_the_file() {
    let sql = "SELECT count(*) AS c, max(c0) AS a, min(c1) AS b, max(c2) AS d FROM t WHERE c0 > 9";
    let (all, mut failed) = (noise(150_000, 3), 0);
    for seed in 1..=60 {
        let ctx = session(1 + seed as usize % 3);
        let store = TestStore::register(&ctx);
        let options = || WriteOptions::new().row_group_rows(20_000);
        for i in 0..3 {
            let rows = all.slice(i * 50_000, 50_000);
            store
                .put_with(&format!("t/{i}.staffa"), &rows, options())
                .await;
        }
        stores::create(&ctx, "t").await;
        in_memory(&ctx, "m", &all);
        let expected = rows(&ctx, &sql.replace(" t ", " m ")).await.unwrap();
        let fault = FAULTS[seed as usize % FAULTS.len()];
        store.unsteady(seed, &[(seed as usize / FAULTS.len() % 5, fault)]);
        match ended(&ctx, sql).await {
            Ok(found) => assert_eq!(found, expected, "{fault:?} {seed}"),
            Err(e) => {
                let e = e.to_string();
                assert!(e.contains(".staffa"), "{fault:?}: {e}");
                let said = match fault {
                    Fault::Status500 | Fault::CutBody => "500 Internal Server Error",
                    Fault::ShortBody | Fault::WholeBody => "the store answered with",
                    Fault::Changed => "the object was changed",
                    Fault::Gone => "not found",
                };
                assert!(e.contains(said), "{fault:?}: {e}");
                failed += 1;
            }
        }
    }
    assert!(failed > 30, "{failed}");
}

#[tokio::test]
async fn faults_while_a_table_is_made_are_errors_that_name_the_file() {
    for fault in FAULTS {
        let ctx = session(1);
        let store = TestStore::register(&ctx);
        store.put("t/a.staffa", &noise(40_000, 2)).await;
        store.put("t/b.staffa", &noise(50_000, 3)).await;
        store.unsteady(7, &[(0, fault)]);
        let sql = "CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION 'memory://lake/t/'";
        let error = ctx.sql(sql).await.unwrap_err().to_string();
        assert!(
            error.contains("t/a.staffa") || error.contains("t/b.staffa"),
            "{fault:?}: {error}"
        );
    }
}

#[tokio::test]
async fn an_object_that_changes_after_planning_is_an_error() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    store.put("t/a.staffa", &noise(90_000, 2)).await;
    stores::create(&ctx, "t").await;
    let frame = ctx.sql("SELECT max(c0), min(c1) FROM t").await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    store.put("t/a.staffa", &noise(80_000, 2)).await;
    let error = collect(plan, ctx.task_ctx()).await.unwrap_err().to_string();
    assert!(
        error.contains("t/a.staffa: the object was changed"),
        "{error}"
    );
    // A table of the new object has its rows, though the old file was known.
    ctx.deregister_table("t").unwrap();
    stores::create(&ctx, "t").await;
    in_memory(&ctx, "m", &noise(80_000, 2));
    same(&ctx, "SELECT max(c0), min(c1) FROM t ").await;
}

#[tokio::test]
async fn a_listing_that_is_cut_off_is_an_error() {
    let ctx = session(2);
    let store = TestStore::register(&ctx);
    for i in 0..4 {
        store
            .put(&format!("t/{i}.staffa"), &numbers(i * 10, i * 10 + 10))
            .await;
    }
    store.cut_listing(2);
    let sql = "CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION 'memory://lake/t/'";
    let error = ctx.sql(sql).await.unwrap_err().to_string();
    assert!(error.contains("500 Internal Server Error"), "{error}");
}

#[tokio::test]
async fn one_damaged_object_among_many_is_named() {
    let ctx = session(2);
    let store = TestStore::register(&ctx);
    for i in 0..4 {
        store.put(&format!("t/{i}.staffa"), &noise(30_000, 2)).await;
    }
    let mut bytes = store.bytes("t/2.staffa").await;
    bytes[1000] ^= 1;
    store.put_bytes("t/2.staffa", bytes).await;
    stores::create(&ctx, "t").await;
    let error = ended(&ctx, "SELECT max(c0), max(c1) FROM t")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("t/2.staffa"), "{error}");
    store.put_bytes("t/3.staffa", b"no file".to_vec()).await;
    ctx.deregister_table("t").unwrap();
    let sql = "CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION 'memory://lake/t/'";
    let error = ctx.sql(sql).await.unwrap_err().to_string();
    assert!(error.contains("t/3.staffa"), "{error}");
}

#[tokio::test]
async fn footers_larger_than_the_first_request_are_read() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    let names: Vec<String> = (0..3000)
        .map(|c| format!("a column with a long name {c}"))
        .collect();
    let column = |c: usize| Arc::new(Int64Array::from_iter_values([c as i64, 7])) as ArrayRef;
    let named = names.iter().enumerate().map(|(c, name)| (name, column(c)));
    let batch = RecordBatch::try_from_iter(named).unwrap();
    let options = WriteOptions::new().sort_order(["a column with a long name 3".parse().unwrap()]);
    store.put_with("t/a.staffa", &batch, options).await;
    stores::create(&ctx, "t").await;
    assert!(store.asked().len() <= 6);
    let sql = "SELECT \"a column with a long name 2999\" AS c FROM t";
    assert!(ended(&ctx, sql).await.unwrap().contains("2999"));
}

#[tokio::test]
async fn tables_that_are_cached_are_read_once() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    store.put("t/a.staffa", &noise(100_000, 3)).await;
    for (table, cached) in [("cold", "false"), ("warm", "true")] {
        let sql = format!(
            "CREATE EXTERNAL TABLE {table} STORED AS STAFFA LOCATION 'memory://lake/t/' OPTIONS (cached {cached})"
        );
        ctx.sql(&sql).await.unwrap();
        let sql = format!("SELECT max(c1), count(*) FROM {table} WHERE c2 > 0");
        let first = ended(&ctx, &sql).await.unwrap();
        assert!(!store.asked().is_empty());
        assert_eq!(ended(&ctx, &sql).await.unwrap(), first);
        assert_eq!(store.asked().is_empty(), cached == "true");
    }
    let sql = "CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION 'memory://lake/t/' OPTIONS (cached maybe)";
    let error = ctx.sql(sql).await.unwrap_err().to_string();
    assert!(error.contains("'maybe' is not a value"), "{error}");
}

#[tokio::test]
async fn stores_with_the_same_paths_are_told_apart() {
    let ctx = session(1);
    let url = url::Url::parse("memory://pond").unwrap();
    let (lake, pond) = (TestStore::register(&ctx), TestStore::default());
    ctx.register_object_store(&url, Arc::new(pond.clone()));
    lake.put("t/a.staffa", &numbers(0, 10)).await;
    pond.put("t/a.staffa", &numbers(10, 20)).await;
    for (store, expected) in [("lake", "| 45 "), ("pond", "| 145 ")] {
        let sql = format!(
            "CREATE EXTERNAL TABLE {store} STORED AS STAFFA LOCATION 'memory://{store}/t/'"
        );
        ctx.sql(&sql).await.unwrap();
        let found = ended(&ctx, &format!("SELECT sum(n) AS s FROM {store}"))
            .await
            .unwrap();
        assert!(found.contains(expected), "{found}");
    }
}

#[tokio::test]
async fn what_fails_leaves_no_object() {
    let ctx = session(1);
    let store = TestStore::register(&ctx);
    in_memory(&ctx, "m", &numbers(0, 1000));
    let all = "COPY m TO 'memory://lake/t/' STORED AS STAFFA PARTITIONED BY (g)";
    for (sql, refused) in [
        (
            "COPY (SELECT 1 / (n - 999) FROM m) TO 'memory://lake/t.staffa'",
            None,
        ),
        (all, Some("g=4")),
        (all, Some("g=0")),
    ] {
        if let Some(refused) = refused {
            store.refuse(refused);
        }
        let error = ended(&ctx, sql).await.unwrap_err();
        assert_eq!(store.names().await, [""; 0], "{sql}: {error}");
    }
    store.refuse("no such path");
    ended(&ctx, all).await.unwrap();
    assert_eq!(store.names().await.len(), 7);
    // An upload of many parts.
    let mut config = SessionConfig::new();
    config
        .options_mut()
        .execution
        .objectstore_writer_buffer_size = 1 << 20;
    let ctx = SessionContext::new_with_config_rt(config, ctx.runtime_env());
    staffa_datafusion::register(&ctx).unwrap();
    in_memory(&ctx, "m", &noise(500_000, 4));
    ended(&ctx, "COPY m TO 'memory://lake/u/a.staffa'")
        .await
        .unwrap();
    stores::create(&ctx, "u").await;
    let sql = "SELECT count(*), max(c0), min(c3) FROM m";
    let expected = rows(&ctx, sql).await.unwrap();
    let found = ended(&ctx, &sql.replace("FROM m", "FROM u")).await.unwrap();
    assert_eq!(found.replace("u.", "m."), expected);
}
