//! Hostile bytes to the reader: no panic, no hang, no more memory than the limits allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use staffa_fuzz::{Input, exercise::exercise, seed::SEEDS};

fuzz_target!(
    init: {
        // On the fuzzer's own thread: quicker, and the same every time.
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
        println!("{} seeds", SEEDS.len());
    },
    |input: Input| {
        let file = input.file();
        if let Some(path) = std::env::var_os("STAFFA_FUZZ_SAVE") {
            std::fs::write(path, &file).expect("the file can be saved");
        }
        let _ = exercise(file);
    }
);
