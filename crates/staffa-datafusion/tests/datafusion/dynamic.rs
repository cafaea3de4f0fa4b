//! Dynamic filters of joins and of `ORDER BY ... LIMIT`: the answers of tables in memory.

use datafusion::prelude::SessionContext;
use staffa::WriteOptions;
use tempfile::{TempDir, tempdir};

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
    in_memory(&ctx, "m", &numbers(0, 300_000));
    in_memory(&ctx, "m2", &numbers(150_000, 150_300));
    (ctx, folder)
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
async fn a_join_skips_what_the_build_side_excludes() {
    let (ctx, _folder) = tables(1).await;
    let sql = "EXPLAIN ANALYZE SELECT count(a.s) FROM t a JOIN t2 b ON a.n = b.n";
    let found = rows(&ctx, sql).await.unwrap();
    // By their statistics, two files of three are not opened.
    assert!(found.contains("files_skipped=2"), "{found}");
}
