//! Functions that compile to the same code are kept once: a tenth of the library. Where rustc links
//! by LLD, which Zig's linker is not.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let zig = std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig"));
    if !zig && std::env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--icf=all");
    }
}
