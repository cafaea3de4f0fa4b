//! The program `staffa-sql` with URLs: an object store behind a server on loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::{TempDir, tempdir};

use crate::{numbers, write};

/// The URL of a server that answers ranges of the files in a folder. It ends with the tests.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            std::thread::spawn(move || drop(answer(stream, &folder)));
        }
    });
    url
}

fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(Ok(request)) = lines.next() {
        let headers: Vec<String> = lines
            .by_ref()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .map(|line| line.to_ascii_lowercase())
            .collect();
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let path = path.split('?').next().unwrap();
        if path.contains("denied") {
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        let Ok(bytes) = std::fs::read(folder.join(path.trim_start_matches('/'))) else {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        };
        let range = headers.iter().find_map(|h| h.strip_prefix("range: bytes="));
        let range = range.and_then(|range| range.split_once('-'));
        let (status, part) = match range {
            Some((start, end)) => {
                let (start, end): (usize, usize) = (start.parse().unwrap(), end.parse().unwrap());
                let of = format!("content-range: bytes {start}-{end}/{}", bytes.len());
                (format!("206 Partial Content\r\n{of}"), start..end + 1)
            }
            None => ("200 OK".to_owned(), 0..bytes.len()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\netag: \"{}\"\r\nlast-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n\
             content-length: {}\r\n\r\n",
            bytes.len(),
            part.len()
        );
        stream.write_all(head.as_bytes())?;
        if method == "GET" {
            stream.write_all(&bytes[part])?;
        }
    }
    Ok(())
}

/// A folder with `t.staffa`, and its server.
fn served() -> (TempDir, String) {
    let folder = tempdir().unwrap();
    write(&folder.path().join("t.staffa"), &numbers(0, 90_000));
    let url = serve(folder.path().to_path_buf());
    (folder, url)
}

/// The program, with a server for S3 and credentials that must not be shown.
fn run(server: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_staffa-sql"));
    command
        .env("AWS_ENDPOINT", server)
        .env("AWS_REGION", "eu-north-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIDHIDDEN");
    command.env("AWS_SECRET_ACCESS_KEY", "hidden");
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_second_query_asks_for_no_data() {
    let (folder, server) = served();
    let cache = folder.path().join("cache");
    let option = format!("{}=100 MB", cache.display());
    let sql = format!("SELECT sum(n) AS s FROM '{server}/t.staffa' WHERE n >= 10");
    let query = || {
        let counts = ["--json", "--stats", "--cost", "cores=1"];
        let args = [&counts[..], &["--disk-cache", &option, &sql]].concat();
        let found = run(&server, &args);
        let said = text(&found.stderr);
        assert_eq!(text(&found.stdout), "{\"s\":4049954955}\n", "{said}");
        said
    };
    let first = query();
    assert!(!first.contains("requests to object stores: 0"), "{first}");
    let second = query();
    for line in [
        "requests to object stores: 0",
        "bytes of their answers: 0",
        // The planner has asked for the length of the object and its tag.
        "bytes of objects: 0",
    ] {
        assert!(second.contains(line), "{second}");
    }
    // Another file under the same URL.
    write(&folder.path().join("t.staffa"), &numbers(0, 5));
    let sql = format!("SELECT count(*) AS c FROM '{server}/t.staffa'");
    let found = run(&server, &["--disk-cache", &option, "--json", &sql]);
    assert_eq!(
        text(&found.stdout),
        "{\"c\":5}\n",
        "{}",
        text(&found.stderr)
    );
    let no_folder = folder.path().join("t.staffa").display().to_string();
    let no_size = format!("{}=much", cache.display());
    for (option, expected) in [(&no_folder, "t.staffa"), (&no_size, "FOLDER=SIZE expected")] {
        let found = run(&server, &["--disk-cache", option, &sql]);
        let said = text(&found.stderr);
        assert!(!found.status.success() && said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn tables_are_read_by_url() {
    let (folder, server) = served();
    let url = format!("{server}/t.staffa");
    let table = format!("t={url}");
    let sql = "SELECT count(*) AS c, sum(n) AS s FROM t WHERE n >= 10";
    let found = run(&server, &["--table", &table, "--json", "--stats", sql]);
    let said = text(&found.stderr);
    assert_eq!(
        text(&found.stdout),
        "{\"c\":89990,\"s\":4049954955}\n",
        "{said}"
    );
    for line in [
        "rows: 1",
        "requests to object stores: ",
        "time waited for answers: ",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("bytes of their answers: 0"), "{said}");
    // Wildcards, of a store that lists.
    let pattern = format!("t=file://{}/[a-t]*.staffa", folder.path().display());
    let found = run(
        &server,
        &["--table", &pattern, "--json", "SELECT max(n) AS m FROM t"],
    );
    assert_eq!(
        text(&found.stdout),
        "{\"m\":89999}\n",
        "{}",
        text(&found.stderr)
    );
    // Without a table, and by the protocol of S3.
    for url in [url, "s3://bucket/t.staffa".to_owned()] {
        if url.starts_with("s3") {
            let bucket = folder.path().join("bucket");
            std::fs::create_dir(&bucket).unwrap();
            std::fs::copy(folder.path().join("t.staffa"), bucket.join("t.staffa")).unwrap();
        }
        let sql = format!("SELECT max(n) AS m FROM '{url}'");
        let found = run(&server, &["--json", &sql]);
        assert_eq!(
            text(&found.stdout),
            "{\"m\":89999}\n",
            "{}",
            text(&found.stderr)
        );
    }
}

#[test]
fn what_is_not_there_or_not_allowed_is_told_on_one_line() {
    let (_folder, server) = served();
    let url = |name: &str| format!("t={server}/{name}");
    for (table, expected) in [
        (url("none.staffa"), "No files found at"),
        (url("denied.staffa"), "permission denied"),
        (
            "t=s3://none/t.staffa".to_owned(),
            "no such object or bucket",
        ),
        ("t=s3://denied/t.staffa".to_owned(), "permission denied"),
        ("t=s3://none/t/".to_owned(), "no such object or bucket"),
        ("t=ftp://host/t.staffa".to_owned(), "no store for \"ftp\""),
        (
            format!("{}?sig=hidden", url("t.staffa")),
            "URLs with a query",
        ),
        (
            "t=https://u:hidden@host/t.staffa".to_owned(),
            "credentials within a URL",
        ),
    ] {
        let found = run(&server, &["--table", &table, "SELECT count(*) FROM t"]);
        let said = text(&found.stderr);
        assert!(
            !found.status.success() && said.contains(expected),
            "{table}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.to_lowercase().contains("hidden"), "{said}");
    }
}

#[test]
fn errors_name_the_place_in_the_sql_and_the_file() {
    let (folder, server) = served();
    let mut bytes = std::fs::read(folder.path().join("t.staffa")).unwrap();
    bytes[40] ^= 1;
    std::fs::write(folder.path().join("damaged.staffa"), bytes).unwrap();
    let (whole, damaged) = (
        format!("t={server}/t.staffa"),
        format!("t={server}/damaged.staffa"),
    );
    for (table, sql, expected) in [
        (
            &whole,
            "SELECT n,\n  x FROM t",
            &["line 2, column 3", "x"][..],
        ),
        (
            &whole,
            "SELECT n FROM t WHERE (n n",
            &["Line: 1, Column: 26"],
        ),
        (
            &whole,
            "SELECT uax(n), uin(n) FROM t",
            &["line 1, column 8", "'uax'", "'uin'"],
        ),
        (&whole, "SELECT n FROM u", &["line 1, column 15", "u"]),
        (
            &damaged,
            "SELECT sum(n), max(s), sum(g) FROM t",
            &["damaged.staffa", "checksum"],
        ),
    ] {
        let found = run(&server, &["--table", table, sql]);
        let said = text(&found.stderr);
        assert!(
            !found.status.success() && said.lines().count() == 1,
            "{said}"
        );
        assert!(expected.iter().all(|part| said.contains(part)), "{said}");
    }
}
