//! The program and its outcome.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::tables::{table, write_parquet};

/// The program, run in a temporary folder.
pub(crate) struct Program {
    folder: TempDir,
}

/// Exit code and output.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        serde_json::from_slice(&self.out).unwrap()
    }

    /// Asserts exit code 0 and an empty stderr.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(
            (self.code, self.err.as_str()),
            (0, ""),
            "{}",
            String::from_utf8_lossy(&self.out)
        );
        self
    }

    /// Asserts exit code 0, whatever is said on stderr.
    #[track_caller]
    pub(crate) fn ends_well(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// Asserts this exit code, and one sentence on stderr that contains all `parts`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}", self.err);
        assert!(self.err.starts_with("staffa: "), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        for part in parts {
            assert!(
                self.err.contains(part),
                "expected {part:?} in: {}",
                self.err
            );
        }
    }
}

impl Program {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder with `t.parquet` and `t.staffa` of `rows` rows.
    pub(crate) fn with_table(rows: usize) -> Self {
        let program = Self::new();
        write_parquet(&program.path("t.parquet"), &[table(rows)]);
        program.run("convert -q t.parquet t.staffa").succeeds();
        program
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_staffa"));
        command.current_dir(self.folder.path()).args(words(line));
        command
    }

    pub(crate) fn run(&self, line: &str) -> Outcome {
        self.run_with(line, b"")
    }

    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Outcome {
        let mut command = self.command(line);
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The program may end before it has read all of it.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            out: output.stdout,
            err,
        }
    }

    /// The files of the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Splits at spaces outside double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_string());
        } else {
            words.extend(part.split_whitespace().map(String::from));
        }
    }
    words
}
