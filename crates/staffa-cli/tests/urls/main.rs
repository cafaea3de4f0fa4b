//! URLs in place of paths: objects on the local disk and behind a server on loopback.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::panic)]

mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::server::Server;

/// The program, and whether it wrote what is expected.
fn staffa(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_staffa"));
    command.args(args).output().unwrap()
}

fn ok(args: &[&str]) -> String {
    let output = staffa(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message and the exit code of a failure, one line.
fn fails(args: &[&str]) -> (String, i32) {
    let output = staffa(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() <= 2, "{args:?}: {said}");
    (said, output.status.code().unwrap())
}

/// A table of 30,000 rows as CSV.
fn table(folder: &Path) -> PathBuf {
    let mix = |i: u64| {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 3
    };
    let row = |i| format!("{i},city {},{}", i % 7, mix(i));
    let rows: Vec<String> = (0..30_000).map(row).collect();
    let path = folder.join("t.csv");
    std::fs::write(&path, format!("id,city,n\n{}\n", rows.join("\n"))).unwrap();
    path
}

#[test]
fn every_command_takes_urls_of_objects() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let base = format!("file://{}", folder.path().display());
    let url = |name: &str| format!("{base}/{name}");
    let (from, to) = (url("t.csv"), url("t.staffa"));
    ok(&["convert", "-q", &from, &to]);
    let local = folder.path().join("t.staffa");
    assert_eq!(ok(&["count", &to]), ok(&["count", local.to_str().unwrap()]));
    for command in [
        vec!["head", "-n", "3", "--csv"],
        vec!["cat", "--where", "id = 77", "--csv"],
        vec!["schema"],
        vec!["stats"],
        vec!["tail", "-n", "2", "--csv"],
        vec!["aggregate", "id=max"],
    ] {
        let mut of_url = command.clone();
        of_url.insert(1, &to);
        let mut of_path = command.clone();
        of_path.insert(1, local.to_str().unwrap());
        assert_eq!(ok(&of_url), ok(&of_path), "{command:?}");
    }
    assert!(ok(&["verify", &to]).contains("30,000 rows"));
    assert!(ok(&["inspect", &to]).contains(&to));
}

#[test]
fn objects_are_replaced_if_forced_and_named_by_folders_and_wildcards() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let url = |name: &str| format!("file://{}/{name}", folder.path().display());
    let (from, to) = (url("t.csv"), url("t.staffa"));
    ok(&["convert", "-q", &from, &to]);
    let (said, code) = fails(&["convert", "-q", &from, &to]);
    assert!(
        said.contains("the object exists") && code == 3,
        "{said} {code}"
    );
    ok(&["convert", "-q", "--force", &from, &to]);
    // Other formats, in both directions.
    ok(&["convert", "-q", &to, &url("out/t.parquet")]);
    ok(&[
        "convert",
        "-q",
        &url("out/t.parquet"),
        &url("out/t.jsonl.gz"),
    ]);
    assert_eq!(ok(&["count", &url("out/t.jsonl.gz")]), "30000\n");
    // Folders, wildcards, hive keys.
    ok(&["convert", "-q", &from, &url("day=1/a.staffa")]);
    ok(&["convert", "-q", &from, &url("day=2/a.staffa")]);
    assert!(ok(&["count", &url("day=*/*.staffa")]).ends_with("60000  total\n"));
    let several = url("day=*/*.staffa");
    let found = ok(&["cat", "--csv", &several, "--where", "day = 2 and id < 2"]);
    assert!(
        found.ends_with(",2\n") && found.lines().count() == 3,
        "{found}"
    );
    let (said, code) = fails(&["count", &url("none/*.staffa")]);
    assert!(
        said.contains("no object matches") && code == 3,
        "{said} {code}"
    );
    let (said, code) = fails(&["count", &url("none.staffa")]);
    assert!(
        said.contains("none.staffa: no such object") && code == 3,
        "{said} {code}"
    );
}

#[test]
fn a_file_behind_a_server_is_read_by_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let csv = table(folder.path());
    let file = folder.path().join("t.staffa");
    ok(&[
        "convert",
        "-q",
        csv.to_str().unwrap(),
        file.to_str().unwrap(),
    ]);
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size > 150_000, "{size}");
    let server = Server::new(folder.path().to_path_buf());
    let url = |name: &str| format!("{}/{name}", server.url);
    assert_eq!(ok(&["count", &url("t.staffa")]), "30000\n");
    let asked = server.take();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        ok(&["cat", "--csv", &url("t.staffa")]),
        ok(&["cat", "--csv", file.to_str().unwrap()])
    );
    let asked = server.take();
    assert!(asked.len() <= 3, "{asked:?}");
    let found = ok(&[
        "cat",
        "--csv",
        "--columns",
        "id",
        "--where",
        "id = 12345",
        &url("t.staffa"),
    ]);
    assert_eq!(found, "id\n12345\n");
    // A CSV file is copied first.
    assert_eq!(ok(&["count", &url("t.csv")]), "30000\n");
}

#[test]
fn failures_of_a_server_are_named_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let csv = table(folder.path());
    let csv = csv.to_str().unwrap();
    let whole = folder.path().join("whole.staffa");
    ok(&["convert", "-q", csv, whole.to_str().unwrap()]);
    let server = Server::new(folder.path().to_path_buf());
    let url = |name: &str| format!("{}/{name}", server.url);
    for (name, says) in [
        ("none.staffa", "no such object"),
        ("denied.staffa", "permission denied"),
        ("whole.staffa", "range"),
    ] {
        let (said, code) = fails(&["count", &url(name)]);
        assert!(
            said.contains(name) && said.to_lowercase().contains(says),
            "{said}"
        );
        assert!(!said.contains("SECRET"), "{said}");
        assert_eq!(code, 3, "{said}");
    }
    let signed = format!("{}?sig=SECRET", url("t.staffa"));
    for args in [vec!["count", &signed], vec!["convert", csv, &signed]] {
        let (said, code) = fails(&args);
        assert!(
            said.contains("URLs with a query are not taken") && code == 2,
            "{said} {code}"
        );
        assert!(!said.contains("SECRET"), "{said}");
    }
    let (said, code) = fails(&["count", "ftp://host/t.staffa"]);
    assert!(
        said.contains("no store for \"ftp\"") && code == 2,
        "{said} {code}"
    );
}

#[test]
fn tables_are_split_indexed_appended_to_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let csv = table(folder.path());
    let csv = csv.to_str().unwrap();
    let local = |name: &str| folder.path().join(name).display().to_string();
    for base in [local(""), format!("file://{}/", local("u"))] {
        let place = |name: &str| format!("{base}{name}");
        ok(&["split", "-q", csv, &place("by/part.staffa"), "--by", "city"]);
        let by = place("by/");
        let counted = ok(&["count", &by]);
        let total: Vec<&str> = counted.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(total, ["30000", "total"]);
        let said = ok(&["index", &by]);
        assert!(
            said.contains("7 files of 30,000 rows") && said.contains("7 files opened"),
            "{said}"
        );
        assert!(ok(&["index", &by]).contains("0 files opened"));
        let rows_where = |columns: &str, filter: &str, table: &str| {
            ok(&[
                "cat",
                "--csv",
                "--where",
                filter,
                "--columns",
                columns,
                table,
            ])
        };
        let found = rows_where("id,city", "city = 'city 3' and id = 10", &by);
        assert_eq!(found, "id,city\n10,city 3\n");
        let more = local("more.csv");
        std::fs::write(&more, "n,city,id\n1,city 3,90000\n2,city 9,90001\n").unwrap();
        ok(&["append", "-q", &by, &more]);
        let found = rows_where("n,city", "id >= 90000", &by);
        assert_eq!(found, "n,city\n1,city 3\n2,city 9\n");
        std::fs::write(&more, "n,city,more\n1,x,2\n").unwrap();
        let (said, code) = fails(&["append", "-q", &by, &more]);
        assert!(code == 2 && said.contains("\"more\" is not in"), "{said}");
        let to = place("large/");
        ok(&["compact", "-q", &by, "--to", &to, "--sort", "id desc"]);
        let found = rows_where("id", "city = 'city 3'", &to);
        assert!(found.starts_with("id\n90000\n29998\n"), "{found}");
        for (to, says) in [(&by, "twice"), (&to, "has Staffa files")] {
            let (said, code) = fails(&["compact", "-q", &by, "--to", to]);
            assert!(code > 0 && said.contains(says), "{said}");
        }
        let (said, code) = fails(&["compact", "-q", &by, "--to", &place("w/"), "--sort", "none"]);
        assert!(code == 2 && said.contains("none"), "{said}");
    }
    let (said, code) = fails(&["index", &local("nowhere")]);
    assert!(code == 3 && said.contains("nowhere"), "{said}");
}

#[test]
fn a_damaged_file_is_named_and_left_out_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let csv = table(folder.path());
    let place = |name: &str| folder.path().join(name).display().to_string();
    let parts = place("parts");
    ok(&[
        "split",
        "-q",
        csv.to_str().unwrap(),
        &place("parts/p.staffa"),
        "--rows",
        "10000",
    ]);
    let bytes = std::fs::read(place("parts/p-00002.staffa")).unwrap();
    std::fs::write(place("parts/p-00002.staffa"), &bytes[..bytes.len() - 30]).unwrap();
    let (said, code) = fails(&["cat", "--csv", &parts]);
    assert!(code == 1 && said.contains("p-00002.staffa"), "{said}");
    let output = staffa(&["cat", "--csv", "--skip-damaged", &parts]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("p-00002.staffa") && said.contains("left out"),
        "{said}"
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().count(),
        20_001
    );
}

#[test]
fn nothing_is_left_of_a_split_into_a_store_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let csv = table(folder.path());
    let base = format!("file://{}/by", folder.path().display());
    // The file of the last value is there already.
    let taken = folder.path().join("by/city=city 6/p.staffa");
    std::fs::create_dir_all(taken.parent().unwrap()).unwrap();
    std::fs::write(&taken, "taken").unwrap();
    let (said, code) = fails(&[
        "split",
        "-q",
        csv.to_str().unwrap(),
        &format!("{base}/p.staffa"),
        "--by",
        "city",
    ]);
    assert!(code == 3 && said.contains("exists"), "{said}");
    let found = std::fs::read_dir(folder.path().join("by")).unwrap();
    let names: Vec<String> = found
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let whole = names.iter().filter(|name| {
        folder
            .path()
            .join("by")
            .join(name)
            .join("p.staffa")
            .is_file()
    });
    assert_eq!(whole.count(), 1, "{names:?}");
}
