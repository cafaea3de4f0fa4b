//! Ctrl-C at any moment of a long command: it ends, and leaves its output whole or none.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::Program;

/// Moments of each command.
const MOMENTS: u64 = 3;
/// No command takes as long, interrupted or not.
const BOUND: Duration = Duration::from_mins(2);

/// The files of a folder and those below it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap();
            found.insert(name.display().to_string());
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

/// Numbers that look random, the same in each run.
fn next(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Runs a command and interrupts it after `wait`; returns what it says if it was interrupted.
fn interrupted(program: &Program, line: &str, wait: Duration) -> Option<String> {
    let temporary = program.path("tmp");
    let child = program
        .command(line)
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(wait);
    // It may have ended: until it is waited for, its number is no other's.
    let pid = child.id().to_string();
    let _ = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    let started = Instant::now();
    let ended = child.wait_with_output().unwrap();
    assert!(started.elapsed() < BOUND, "{line}");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let code = ended.status.code();
    // A command that leaves nothing may be ended by the signal itself.
    let stopped = code == Some(130) || ended.status.signal() == Some(2);
    assert!(stopped || code == Some(0), "{line}: {code:?} {said}");
    assert_eq!(
        files(&temporary).len(),
        0,
        "{line}: {:?}",
        files(&temporary)
    );
    stopped.then_some(said)
}

#[test]
fn ctrl_c_leaves_nothing_whatever_the_moment() {
    let program = Program::with_table(10_000);
    fs::create_dir(program.path("tmp")).unwrap();
    program.run("convert -q t.staffa t.csv").succeeds();
    fs::copy(program.path("t.staffa"), program.path("u.staffa")).unwrap();
    let before = files(&program.path(""));
    let mut seed = 7;
    for line in [
        "convert -q t.csv out/t.staffa --profile small --row-group-rows 10000",
        "convert -q t.staffa out/t.parquet",
        "merge -q t.staffa u.staffa out/t.csv.zst",
        "split -q t.staffa out/new/part.staffa --by city",
        "split -q t.csv out/part.csv --rows 1000",
        "verify t.staffa u.staffa",
        "stats t.csv",
        "diff t.staffa u.staffa",
        "sample t.csv",
        "size t.csv",
    ] {
        fs::create_dir(program.path("out")).unwrap();
        let started = Instant::now();
        program.run(line).succeeds();
        let took = started.elapsed();
        let whole = files(&program.path("out"));
        fs::remove_dir_all(program.path("out")).unwrap();
        for _ in 0..MOMENTS {
            fs::create_dir(program.path("out")).unwrap();
            let share = next(&mut seed) % 1000;
            let stopped = interrupted(&program, line, took * share as u32 / 1000);
            let left = files(&program.path("out"));
            // The signal may come when all is done.
            assert!(
                left == whole || (stopped.is_some() && left.is_empty()),
                "{line}: {left:?}"
            );
            fs::remove_dir_all(program.path("out")).unwrap();
        }
    }
    assert_eq!(files(&program.path("")), before);
}
