//! The rooms of this crate know only the floors below them, and its files have no cycle.
#![allow(clippy::panic, clippy::unwrap_used)]

mod imports;

use std::path::Path;

use imports::{Arrow, arrows, cycles, paths, tokens, upwards, without_tests};

/// From the ground up, as the documentation of the crate draws them.
const FLOORS: [&[&str]; 3] = [&["word"], &["memory", "simd"], &["strings"]];

const NONE: [String; 0] = [];

#[test]
fn rooms_know_only_the_floors_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let arrows = arrows(&root);
    assert!(arrows.len() > 50, "{} arrows read", arrows.len());
    assert_eq!(upwards(&arrows, &FLOORS), NONE);
    assert_eq!(cycles(&arrows), NONE);
}

#[test]
fn arrows_up_and_cycles_are_found() {
    let arrow = |from: &str, to: &str| {
        let module = |path: &str| path.split("::").map(str::to_owned).collect();
        Arrow {
            from: module(from),
            to: module(to),
            place: "a.rs:1".to_owned(),
        }
    };
    let arrows = [
        arrow("simd::a", "word"),
        arrow("simd::a", "simd::b"),
        arrow("simd::b", "simd::c"),
        arrow("simd::c", "simd::b"),
        arrow("simd::c", "memory"),
        arrow("word", "simd::a"),
        arrow("else", "word"),
    ];
    let wrong = [
        "simd::c -> crate::memory",
        "word -> crate::simd::a",
        "else -> crate::word",
    ];
    assert_eq!(
        upwards(&arrows, &FLOORS),
        wrong.map(|arrow| format!("a.rs:1: crate::{arrow}"))
    );
    // `word` and `simd::a` name each other, too.
    assert_eq!(cycles(&arrows).len(), 5);
    assert_eq!(cycles(&arrows[..3]), NONE);
}

#[test]
fn paths_are_read_wherever_they_stand() {
    let source = r##"
        //! crate::not::this
        mod child;
        use crate::{a, b::{c as d, e::{self, *}}, f::g as _};
        use child::X; /* crate::nor::this */
        use other::Y;
        pub(crate) fn f<'a>(x: &'a str, c: char) -> crate::h::Z<'a> {
            let _ = ("crate::no", '"', r#"crate::"no"#, '\'', b'\\');
            super::sibling::g::<u8>(x.child::<u8>()) + self::child::h()
        }
        mod inline { use super::own; use super::super::above; }
        macro_rules! m { () => { $crate::i::j!() } }
        #[cfg(test)]
        pub(crate) mod tests { use crate::no::no; fn f() {} }
        #[cfg(test)]
        let x = crate::no();
        fn g(_: crate::last::One) {}
    "##;
    let module = ["room".to_owned(), "file".to_owned()];
    let found = paths(&module, &without_tests(&tokens(source)));
    let found: Vec<String> = found.into_iter().map(|(path, _)| path.join("::")).collect();
    let expected = [
        "a",
        "b::c",
        "b::e",
        "b::e",
        "f::g",
        "room::file::child::X",
        "h::Z",
        "room::sibling::g",
        "room::file::child::h",
        "room::file::own",
        "room::above",
        "i::j",
        "last::One",
    ];
    assert_eq!(found, expected);
}
