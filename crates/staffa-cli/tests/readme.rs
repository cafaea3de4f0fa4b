//! The README's commands and those of the documentation run as they stand.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_commands_of_the_readme_run() {
    assert_eq!(commands_run(&root().join("README.md")), 9);
}

#[test]
fn the_commands_of_the_documentation_run() {
    let mut pages = Vec::new();
    for folder in ["docs", "docs/guides"] {
        let found = std::fs::read_dir(root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        pages.extend(found.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let ran: usize = pages.iter().map(|page| commands_run(page)).sum();
    assert!(ran > 20, "{ran} commands in {} pages", pages.len());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs every line of a page's blocks of `sh` in a folder of their own, and counts them.
fn commands_run(page: &Path) -> usize {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("testdata/tables")).unwrap();
    for table in ["soccer_international", "babynames"] {
        let table = format!("testdata/tables/{table}.parquet");
        std::fs::copy(root().join(&table), folder.path().join(&table)).unwrap();
    }
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let mut ran = 0;
    for line in blocks.flat_map(str::lines) {
        // At the start, and behind a pipe.
        let command =
            format!(" {line}").replace(" staffa ", concat!(" ", env!("CARGO_BIN_EXE_staffa"), " "));
        let output = Command::new("sh")
            .arg("-c")
            .arg(command)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}: {line}: {}",
            page.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        ran += 1;
    }
    ran
}
