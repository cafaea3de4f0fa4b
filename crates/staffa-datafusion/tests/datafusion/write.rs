//! `COPY ... TO` and `INSERT INTO`.

use tempfile::tempdir;

use crate::{create, in_memory, numbers, rows, session, write};

#[tokio::test]
async fn copy_writes_a_file() {
    let folder = tempdir().unwrap();
    let (ctx, path) = (session(2), folder.path().join("out.staffa"));
    in_memory(&ctx, "m", &numbers(0, 1000));
    let sql = format!(
        "COPY (SELECT n, s FROM m WHERE n >= 10) TO '{}' \
         OPTIONS ('format.profile' 'fast', 'format.row_group_rows' '100')",
        path.display()
    );
    assert!(rows(&ctx, &sql).await.unwrap().contains("990"));
    let file = staffa::File::open(&path).unwrap();
    assert_eq!((file.num_rows(), file.num_row_groups()), (990, 10));
    let sql = format!("SELECT sum(n) AS s FROM '{}'", path.display());
    assert!(rows(&ctx, &sql).await.unwrap().contains("499455"));
}

#[tokio::test]
async fn copy_writes_a_folder_by_key() {
    let folder = tempdir().unwrap();
    let (ctx, path) = (session(2), folder.path().join("out"));
    in_memory(&ctx, "m", &numbers(0, 700));
    let location = path.display();
    let sql = format!("COPY m TO '{location}/' STORED AS STAFFA PARTITIONED BY (g)");
    rows(&ctx, &sql).await.unwrap();
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 7);
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS STAFFA PARTITIONED BY (g) LOCATION '{location}/'"
    );
    ctx.sql(&sql).await.unwrap();
    let found = rows(
        &ctx,
        "SELECT count(*) AS c, sum(n) AS s FROM t WHERE g = '3'",
    )
    .await
    .unwrap();
    assert!(found.contains("| 100 | 34950 |"), "{found}");
}

#[tokio::test]
async fn insert_appends_a_file() {
    let folder = tempdir().unwrap();
    write(&folder.path().join("first.staffa"), &numbers(0, 100));
    let ctx = session(2);
    let location = format!("{}/", folder.path().display());
    create(&ctx, "t", location.as_ref()).await;
    in_memory(&ctx, "m", &numbers(100, 150));
    rows(&ctx, "INSERT INTO t SELECT * FROM m").await.unwrap();
    let found = rows(&ctx, "SELECT count(*) AS c, sum(n) AS s FROM t")
        .await
        .unwrap();
    assert!(found.contains("| 150 | 11175 |"), "{found}");
    let error = rows(&ctx, "INSERT OVERWRITE t SELECT * FROM m")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("INSERT OVERWRITE"), "{error}");
}

#[tokio::test]
async fn what_fails_leaves_no_file() {
    let folder = tempdir().unwrap();
    let ctx = session(1);
    in_memory(&ctx, "m", &numbers(0, 1000));
    let path = folder.path().join("out.staffa");
    let path = path.display();
    for (sql, expected) in [
        (
            format!("COPY (SELECT 1 / (n - 999) FROM m) TO '{path}'"),
            "Divide by zero",
        ),
        (
            format!("COPY m TO '{path}' OPTIONS ('format.colour' 'red')"),
            "row_group_rows",
        ),
        (
            format!("COPY m TO '{path}' OPTIONS ('format.profile' 'red')"),
            "balanced",
        ),
        (
            format!("COPY m TO '{path}' OPTIONS ('format.sort_order' 'g')"),
            "row 7 is out of the declared order",
        ),
    ] {
        let error = rows(&ctx, &sql).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{sql}: {error}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{sql}: {left:?}");
    }
}
