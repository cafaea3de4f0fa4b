//! The experiments of `bench/README.md`: each measures and prints one JSON document.
//!
//! ```text
//! experiments pool|sampling|types|doubles|without FOLDER_OF_PARQUET_TABLES
//! experiments codecs LINEORDER.parquet
//! experiments selections FOLDER_OF_TPCH [ROWS]
//! experiments positions - [ROWS]
//! experiments decode|simd FOLDER_OF_PARQUET_TABLES FOLDER_OF_TPCH
//! experiments superscalar FOLDER_OF_TPCH
//! experiments inverted DOCUMENTS.txt
//! experiments checksum FOLDER_OF_PARQUET_TABLES
//! ```
//!
//! Everything runs in one thread, in memory; times are CPU time, the least or the median of a few
//! rounds.

mod checksum;
mod codecs;
mod decode;
mod doubles;
mod inverted;
mod pool;
mod positions;
mod query6;
mod sampling;
mod selections;
mod simd;
mod superscalar;
mod tables;
mod types;
mod without;

use std::error::Error;

/// What can go wrong here is only shown.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, data, rest @ ..] = arguments.as_slice() else {
        return Err("an experiment and a folder (or file) of Parquet tables expected".into());
    };
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RAYON_NUM_THREADS", "1") };
    let number = rest.first().and_then(|n| n.parse().ok());
    let measured = match name.as_str() {
        "pool" => pool::run(data)?,
        "sampling" => sampling::run(data, number.unwrap_or(120))?,
        "types" => types::run(data)?,
        "doubles" => doubles::run(data)?,
        "without" => without::run(data)?,
        "codecs" => codecs::run(data, number.unwrap_or(usize::MAX))?,
        "selections" => selections::run(data, number.unwrap_or(2_000_000))?,
        "decode" => decode::run(
            data,
            rest.first()
                .ok_or("a folder of TPC-H's tables expected, too")?,
        )?,
        "checksum" => checksum::run(data)?,
        "superscalar" => superscalar::run(data)?,
        "inverted" => inverted::run(data)?,
        "simd" => simd::run(
            data,
            rest.first()
                .ok_or("a folder of TPC-H's tables expected, too")?,
        )?,
        "positions" => positions::run(number.unwrap_or(1 << 22))?,
        other => return Err(format!("no experiment is called {other:?}").into()),
    };
    println!("{measured}");
    Ok(())
}
