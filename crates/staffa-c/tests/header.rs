//! `include/staffa.h` is what cbindgen makes of this crate. `STAFFA_HEADER=write` writes it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_current() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_crate(crate_dir)
        .with_config(config)
        .generate()
        .unwrap();
    let mut found = Vec::new();
    bindings.write(&mut found);
    let path = crate_dir.join("include/staffa.h");
    if std::env::var("STAFFA_HEADER").is_ok_and(|value| value == "write") {
        fs::write(&path, &found).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    assert!(
        committed == found,
        "include/staffa.h is not what the crate makes: run `make c-header`"
    );
}
