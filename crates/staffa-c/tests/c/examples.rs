//! The programs in `examples/c` and on the page about C are compiled and run, where there is a C compiler.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn crate_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The C compiler, `cc` unless the environment names another one; `None` where there is none.
fn compiler() -> Option<OsString> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let found = Command::new(&compiler).arg("--version").output();
    found
        .is_ok_and(|found| found.status.success())
        .then_some(compiler)
}

/// Compiles a program against the header and the shared library, and runs it in a folder of its own.
fn run(compiler: &OsString, source: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    // Where cargo puts what it builds for tests: beside this program.
    let library = env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut command = Command::new(compiler);
    command.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-g",
        "-o",
    ]);
    command
        .arg(&program)
        .arg(source)
        .arg("-I")
        .arg(crate_dir().join("include"));
    command.arg("-L").arg(&library).arg("-lstaffa_c");
    command.arg(format!("-Wl,-rpath,{}", library.display()));
    let built = command.output().unwrap();
    assert!(
        built.status.success(),
        "{source:?}: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    let found = Command::new(&program)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        found.status.success(),
        "{source:?}: {}{}",
        text(&found.stdout),
        text(&found.stderr)
    );
}

#[test]
fn the_examples_run() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: no C compiler");
        return;
    };
    let folder = crate_dir().join("../../examples/c");
    let sources = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = sources
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    assert!(sources.len() >= 3);
    sources.iter().for_each(|source| run(&compiler, source));
}

/// Each block of C on the page is a program.
#[test]
fn the_page_runs() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: no C compiler");
        return;
    };
    let page = fs::read_to_string(crate_dir().join("../../docs/guides/c.md")).unwrap();
    let programs = page
        .split("```c\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for program in programs {
        let source = folder.path().join("page.c");
        fs::write(&source, program).unwrap();
        run(&compiler, &source);
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_header_is_cpp_too() {
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.cpp");
    fs::write(&source, "#include \"staffa.h\"\nint main() { return staffa_abi_version() != STAFFA_ABI_VERSION; }\n").unwrap();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    match command
        .arg("-I")
        .arg(crate_dir().join("include"))
        .arg(&source)
        .output()
    {
        Ok(found) => assert!(
            found.status.success(),
            "{}",
            String::from_utf8_lossy(&found.stderr)
        ),
        Err(_) => eprintln!("skipped: no C++ compiler"),
    }
}
