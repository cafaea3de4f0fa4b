//! A server on loopback that answers ranges of files.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A server that answers ranges of files in a folder; the requests that it got.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn new(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, seen) = (folder.clone(), seen.clone());
                std::thread::spawn(move || drop(answer(stream, &folder, &seen)));
            }
        });
        Self { url, asked }
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, folder: &Path, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(Ok(request)) = lines.next() {
        let mut range = None;
        for line in lines.by_ref() {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            range = line
                .strip_prefix("range: bytes=")
                .map(str::to_owned)
                .or(range);
        }
        let method = request.split(' ').next().unwrap();
        let path = request
            .split(' ')
            .nth(1)
            .unwrap()
            .split('?')
            .next()
            .unwrap();
        seen.lock().unwrap().push(format!(
            "{method} {path} {}",
            range.as_deref().unwrap_or("")
        ));
        let read = std::fs::read(folder.join(path.trim_start_matches('/')));
        let bytes = match read {
            _ if path.contains("denied") => Err("403 Forbidden"),
            read => read.map_err(|_| "404 Not Found"),
        };
        match bytes {
            Ok(bytes) => send(&mut stream, method == "GET", path, &bytes, range.as_deref())?,
            Err(status) => {
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(head.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// Answers with the range of a file, or with all of it.
fn send(
    stream: &mut TcpStream,
    with_body: bool,
    path: &str,
    bytes: &[u8],
    range: Option<&str>,
) -> std::io::Result<()> {
    let len = bytes.len();
    let part = range.and_then(|range| range.split_once('-'));
    let part = part.map(
        |(start, end)| match (start.parse::<usize>(), end.parse::<usize>()) {
            (Ok(start), Ok(end)) => start..(end + 1).min(len),
            (Ok(start), Err(_)) => start..len,
            (_, Ok(last)) => len - last.min(len)..len,
            _ => panic!("range {start}-{end}"),
        },
    );
    // A server that knows no ranges.
    let part = part.filter(|_| !path.contains("whole"));
    let status = match &part {
        Some(part) => {
            let of = format!("content-range: bytes {}-{}/{len}", part.start, part.end - 1);
            format!("206 Partial Content\r\n{of}")
        }
        None => "200 OK".to_owned(),
    };
    let part = part.unwrap_or(0..len);
    let head = format!(
        "HTTP/1.1 {status}\r\netag: \"{len}\"\r\nlast-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\ncontent-length: {}\r\n\r\n",
        part.len()
    );
    stream.write_all(head.as_bytes())?;
    if with_body {
        stream.write_all(&bytes[part])?;
    }
    Ok(())
}
