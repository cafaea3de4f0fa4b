//! What the linker is told.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    // Functions that compile to the same code are kept once: a tenth of the library. Where rustc
    // links by LLD, which Zig's linker is not.
    let zig = std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig"));
    if !zig && target == "x86_64-unknown-linux-gnu" {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--icf=all");
    }
    // The interpreter that loads the library has Python's functions.
    if target.ends_with("apple-darwin") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-undefined,dynamic_lookup");
    }
}
