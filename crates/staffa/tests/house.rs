//! The rooms of the library: each knows only the floors below it, and there are few of them.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../../staffa-kernels/tests/imports/mod.rs"]
#[allow(dead_code)]
mod imports;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use imports::{Arrow, arrows, upwards};

/// From the ground up. A room names only the floors below its own.
const FLOORS: [&[&str]; 13] = [
    &["error"],
    &["limits"],
    &["values"],
    &["format"],
    &["arrow"],
    &["predicate"],
    &["decode"],
    &["encode"],
    &["encodings"],
    &["read"],
    &["write"],
    &["inspect"],
    &["testing"],
];
/// Most pairs of rooms of which one names the other; `testing` is not part of the library that is
/// shipped and does not count.
const MOST_ARROWS: usize = 45;
/// Most files and folders at the root of `src`, `lib.rs` included.
const MOST_ENTRIES: usize = 14;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Arrows between modules; those of the crate's root, which may name every room, are left out.
fn module_arrows() -> Vec<Arrow> {
    let mut found = arrows(&sources().join("lib.rs"));
    found.retain(|arrow| !arrow.from.is_empty());
    assert!(found.len() > 200, "only {} arrows were read", found.len());
    found
}

/// `error` and, above it, `limits` together are the ground.
fn room(module: &[String]) -> &str {
    match module.first().map_or("lib", String::as_str) {
        "error" | "limits" => "ground",
        room => room,
    }
}

/// Pairs of rooms, the first naming the second, each with one line where it does.
fn room_arrows(arrows: &[Arrow]) -> BTreeMap<(&str, &str), &str> {
    let pairs = arrows.iter().map(|arrow| {
        let pair = (room(&arrow.from), room(&arrow.to));
        (pair, arrow.place.as_str())
    });
    pairs
        .filter(|((from, to), _)| from != to && *to != "lib" && *from != "testing")
        .collect()
}

#[test]
fn rooms_name_only_the_floors_below() {
    let mut arrows = module_arrows();
    // The macros of `lib.rs` are no room.
    arrows.retain(|arrow| !arrow.to.is_empty());
    let wrong = upwards(&arrows, &FLOORS);
    assert!(
        wrong.is_empty(),
        "a room names one that is not below it (order: {FLOORS:?}):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn few_rooms_name_each_other() {
    let arrows = module_arrows();
    let pairs = room_arrows(&arrows);
    let shown: Vec<String> = pairs
        .iter()
        .map(|((from, to), place)| format!("{from} -> {to} ({place})"))
        .collect();
    assert!(
        pairs.len() <= MOST_ARROWS,
        "{} arrows between rooms, at most {MOST_ARROWS} expected:\n{}",
        pairs.len(),
        shown.join("\n")
    );
}

#[test]
fn the_root_has_few_entries() {
    let entries = std::fs::read_dir(sources()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(
        names.len() <= MOST_ENTRIES,
        "{} entries in src, at most {MOST_ENTRIES} expected: {names:?}",
        names.len()
    );
}

#[test]
fn arrows_between_rooms_are_counted_once() {
    let arrow = |from: &str, to: &str, place: &str| {
        let module = |path: &str| path.split("::").map(str::to_owned).collect();
        Arrow {
            from: module(from),
            to: module(to),
            place: place.to_owned(),
        }
    };
    let arrows = [
        arrow("read::a", "error", "a.rs:1"),
        arrow("read::b", "limits", "b.rs:2"),
        arrow("read::b", "read::a", "b.rs:3"),
        arrow("values", "read::a", "v.rs:4"),
        arrow("testing", "values", "t.rs:5"),
    ];
    let pairs: Vec<_> = room_arrows(&arrows).into_keys().collect();
    assert_eq!(pairs, [("read", "ground"), ("values", "read")]);
    assert_eq!(
        upwards(&arrows, &FLOORS),
        ["v.rs:4: crate::values -> crate::read::a"]
    );
}
