//! BtrBlocks, section 6.5 (table 3 and the table after it): schemes for doubles side by side.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::{Map, Value, json};
use staffa::{Profile, WriteOptions};

use crate::Result;
use crate::tables::{Table, files, least, options, scan};

/// As roots; `bitpack` has no form for doubles, see below.
const ROOTS: [&str; 6] = [
    "pseudodecimal",
    "alp",
    "alp_rd",
    "dictionary",
    "run_end",
    "frequency",
];
/// What the fixed cascade of two levels has below the root, as the paper has FastBP128.
const BELOW: [&str; 5] = [
    "plain",
    "bitmap",
    "constant",
    "bitpack",
    "frame_of_reference",
];
const LEAST_VALUES: usize = 8192;
const MOST_VALUES: usize = 1 << 19;
/// Columns of one table.
const COLUMNS: usize = 4;

pub fn run(folder: &str) -> Result<Value> {
    let mut out = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, MOST_VALUES)?;
        let mut columns = Vec::new();
        for (i, field) in table.schema.fields().iter().enumerate() {
            if *field.data_type() != DataType::Float64 {
                continue;
            }
            let arrays = table
                .batches
                .iter()
                .map(|batch| batch.column(i).as_primitive::<Float64Type>());
            let values: Vec<f64> = arrays.flat_map(|array| array.iter().flatten()).collect();
            let trivial = values.iter().all(|v| v.to_bits() == values[0].to_bits());
            if values.len() >= LEAST_VALUES && !trivial {
                columns.push((field.name().clone(), values));
            }
        }
        // Spread over the table.
        let step = columns.len().div_ceil(COLUMNS).max(1);
        for (name, values) in columns.into_iter().step_by(step) {
            eprintln!("{} {name}", table.name);
            out.push(
                json!({"table": table.name, "column": name, "values": values.len(), "schemes": schemes(&values)?}),
            );
        }
    }
    Ok(json!(out))
}

/// Bytes and CPU seconds to decode, by scheme.
fn schemes(values: &[f64]) -> Result<Value> {
    let array: Arc<dyn Array> = Arc::new(Float64Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("x", array)])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let mut out = Map::new();
    let mut ours = |label: String, options: WriteOptions| -> Result<()> {
        let (bytes, write) = table.write(&options)?;
        let seconds = scan(&bytes, 5)?;
        let size: u64 = staffa::File::from_bytes(bytes)?
            .explain()?
            .iter()
            .map(|leaf| leaf.bytes)
            .sum();
        out.insert(
            label,
            json!({"bytes": size, "decode": seconds, "encode": write}),
        );
        Ok(())
    };
    let all = staffa::encodings();
    let others = all
        .iter()
        .map(|e| e.name)
        .filter(|name| !BELOW.contains(name));
    for root in ROOTS {
        let mut options = options();
        options.encodings.push(("x".to_owned(), root.to_owned()));
        ours(format!("{root} cascade"), options.clone())?;
        options.without = others.clone().map(str::to_owned).collect();
        ours(format!("{root} fixed"), options)?;
    }
    for (name, profile) in [("balanced", Profile::Balanced), ("small", Profile::Small)] {
        let mut options = options();
        options.profile = profile;
        ours(name.to_owned(), options)?;
    }
    // The words as integers, bit-packed with a base of each vector: what bit packing makes of
    // doubles.
    let words: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
    let array: Arc<dyn Array> = Arc::new(arrow_array::UInt64Array::from(words.clone()));
    let batch = RecordBatch::try_from_iter([("x", array)])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let mut packed = options();
    packed
        .encodings
        .push(("x".to_owned(), "frame_of_reference".to_owned()));
    let (bytes, write) = table.write(&packed)?;
    let seconds = scan(&bytes, 5)?;
    let size: u64 = staffa::File::from_bytes(bytes)?
        .explain()?
        .iter()
        .map(|leaf| leaf.bytes)
        .sum();
    out.insert(
        "bit packing".to_owned(),
        json!({"bytes": size, "decode": seconds, "encode": write}),
    );

    let (packed, write) = least(1, || {
        Ok(pco::standalone::simple_compress(
            values,
            &pco::ChunkConfig::default(),
        )?)
    })?;
    let mut to = vec![0.0f64; values.len()];
    let ((), seconds) = least(5, || {
        pco::standalone::simple_decompress_into(&packed, &mut to)?;
        Ok(())
    })?;
    assert!(
        to.iter()
            .zip(values)
            .all(|(a, b)| a.to_bits() == b.to_bits())
    );
    out.insert(
        "pco".to_owned(),
        json!({"bytes": packed.len(), "decode": seconds, "encode": write}),
    );

    let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let (packed, write) = least(1, || Ok(zstd::bulk::compress(&raw, 3)?))?;
    let mut to = vec![0; raw.len()];
    let (_, seconds) = least(5, || {
        Ok(zstd::bulk::decompress_to_buffer(&packed, &mut to)?)
    })?;
    assert_eq!(to, raw);
    out.insert(
        "zstd".to_owned(),
        json!({"bytes": packed.len(), "decode": seconds, "encode": write}),
    );
    let (packed, write) = least(1, || Ok(lz4_flex::block::compress(&raw)))?;
    let (_, seconds) = least(5, || {
        Ok(lz4_flex::block::decompress_into(&packed, &mut to)?)
    })?;
    out.insert(
        "lz4".to_owned(),
        json!({"bytes": packed.len(), "decode": seconds, "encode": write}),
    );
    out.insert(
        "gorilla".to_owned(),
        json!({"bytes": gorilla_bits(&words) / 8}),
    );
    Ok(Value::Object(out))
}

/// Bits that Gorilla's XOR of values takes (Pelkonen et al., VLDB 2015, section 4.1.2): 1 for the
/// same value again; 2 and the bits in the window of before; or 2, 5 for leading zeros, 6 for a
/// length, and the bits.
fn gorilla_bits(words: &[u64]) -> usize {
    let (mut bits, mut before, mut window) = (64, words[0], None::<(u32, u32)>);
    for &word in &words[1..] {
        let xor = word ^ before;
        before = word;
        bits += 1;
        if xor == 0 {
            continue;
        }
        let (leading, trailing) = (xor.leading_zeros().min(31), xor.trailing_zeros());
        match window {
            Some((l, t)) if leading >= l && trailing >= t => bits += 1 + (64 - l - t) as usize,
            _ => {
                bits += 1 + 5 + 6 + (64 - leading - trailing) as usize;
                window = Some((leading, trailing));
            }
        }
    }
    bits
}
