//! The README's commands run as they stand.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_commands_of_the_readme_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("testdata/tables")).unwrap();
    let table = "testdata/tables/soccer_international.parquet";
    std::fs::copy(root.join(table), folder.path().join(table)).unwrap();
    let mut ran = 0;
    for line in block.lines() {
        let line = line.replacen("staffa", env!("CARGO_BIN_EXE_staffa"), 1);
        let output = Command::new("sh").arg("-c").arg(&line).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
    }
    assert_eq!(ran, 8);
}
