//! `staffa browse` in a real terminal, which tmux provides; skipped where there is no tmux.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A key is answered in some milliseconds; this long a busy machine may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn staffa(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_staffa"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A folder with a table of 1,000 rows, as CSV and as Staffa.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..1000).map(|i| format!("{i},city {}", i % 7)).collect();
    let text = format!("id,city\n{}\n", rows.join("\n"));
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    let converted = staffa(folder.path(), &["convert", "-q", "t.csv", "t.staffa"]);
    assert!(converted.status.success());
    folder
}

#[test]
fn without_a_terminal_there_is_one_clear_line() {
    let folder = folder();
    for file in ["t.staffa", "none.staffa"] {
        let output = staffa(folder.path(), &["browse", file]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("needs a terminal") && said.lines().count() == 1,
            "{said}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// A server of tmux with one shell, which ends with this.
struct Tmux<'a> {
    folder: &'a Path,
}

impl Tmux<'_> {
    fn run(&self, args: &[&str]) -> String {
        let socket = self.folder.join("tmux");
        let output = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .args(["-f", "/dev/null"])
            .args(args)
            .current_dir(self.folder)
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "t"], keys].concat());
    }

    #[track_caller]
    fn shows(&self, part: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = self.run(&["capture-pane", "-p", "-t", "t"]);
            if screen.contains(part) {
                return screen;
            }
            assert!(started.elapsed() < PATIENCE, "{part:?} is not in\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        let socket = self.folder.join("tmux");
        let kill = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .arg("kill-server")
            .output();
        drop(kill);
    }
}

#[test]
fn a_file_is_browsed_in_a_terminal() {
    let is_there = Command::new("tmux").arg("-V").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no tmux");
        return;
    }
    let folder = folder();
    let tmux = Tmux {
        folder: folder.path(),
    };
    tmux.run(&[
        "new-session",
        "-d",
        "-s",
        "t",
        "-x",
        "100",
        "-y",
        "20",
        "sh",
    ]);
    let browse = |file: &str| {
        let program = env!("CARGO_BIN_EXE_staffa");
        tmux.keys(&[
            &format!("'{program}' browse {file}; echo le\"\"ft $?"),
            "Enter",
        ]);
    };
    // A command as it is typed has quotes, what it prints has none.
    tmux.keys(&["echo be\"\"fore", "Enter"]);
    tmux.shows("before");
    browse("t.staffa");
    tmux.shows("row 0 of 1,000 rows");
    tmux.keys(&["End"]);
    tmux.shows("row 999 of 1,000");
    tmux.keys(&["f", "city = 'city 3'", "Enter"]);
    tmux.shows("143 matching rows");
    tmux.run(&["resize-window", "-t", "t", "-x", "70", "-y", "12"]);
    tmux.keys(&["3"]);
    tmux.shows("row group 0 of 0 to 0");
    tmux.keys(&["q"]);
    let after = tmux.shows("left 0");
    assert!(
        !after.contains("row group"),
        "the screen is as before:\n{after}"
    );
    // Other tables are converted; Ctrl-C leaves, and the shell works on.
    browse("t.csv");
    tmux.shows("row 0 of 1,000 rows");
    tmux.keys(&["C-c"]);
    tmux.shows("left 130");
    tmux.keys(&["echo af\"\"ter", "Enter"]);
    tmux.shows("after");
    browse("none.staffa");
    tmux.shows("left 3");
    tmux.keys(&["exit", "Enter"]);
}
