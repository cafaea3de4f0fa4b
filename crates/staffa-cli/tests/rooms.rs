//! The rooms of the program stand in an order: each uses only rooms before it.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up; `lib.rs` describes the rooms.
const ORDER: [&str; 12] = [
    "error", "terminal", "files", "formats", "dataset", "print", "trees", "bench", "report",
    "browse", "commands", "cli",
];

#[test]
fn rooms_use_only_rooms_before_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let position = |room: &str| ORDER.iter().position(|known| *known == room);
    let mut arrows = 0;
    for file in rust_files(&src) {
        let room = room_of(&src, &file);
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        let own = position(&room).unwrap_or_else(|| panic!("{room} has no place in the order"));
        for used in used_rooms(&fs::read_to_string(&file).unwrap()) {
            let other = position(&used).unwrap_or_else(|| panic!("{used} has no place"));
            assert!(
                other <= own,
                "{}: {room} uses {used}, which stands after it",
                file.display()
            );
            arrows += 1;
        }
    }
    assert!(arrows > 100, "{arrows} arrows found");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| {
        if path.is_dir() {
            rust_files(&path)
        } else {
            vec![path]
        }
    });
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

/// The folder, or the file at the root.
fn room_of(src: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(src).unwrap();
    let first = Path::new(inside.iter().next().unwrap());
    first.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The rooms behind every `crate::`.
fn used_rooms(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let room = |path: &str| -> String {
        path.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    code.split("crate::").skip(1).map(room).collect()
}
