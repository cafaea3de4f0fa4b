//! PosDB, table 1: integer columns of a fact table by codec.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use bitpacking::{BitPacker, BitPacker4x};
use fastpfor::{AnyLenCodec, FastPForSimd128, VariableByte};
use serde_json::{Map, Value, json};

use crate::Result;
use crate::tables::{Table, class, least, options, scan};

/// A page of PosDB, for what compresses bytes.
const PAGE: usize = 1 << 16;
/// Encodings requested by name.
const BY_NAME: [&str; 5] = [
    "bitpack",
    "frame_of_reference",
    "delta",
    "dictionary",
    "run_end",
];

pub fn run(file: &str, rows: usize) -> Result<Value> {
    let table = Table::read(Path::new(file), rows)?;
    let mut columns = Vec::new();
    for field in table
        .schema
        .fields()
        .iter()
        .filter(|field| class(field.data_type()) == "integer")
    {
        let arrays = table
            .batches
            .iter()
            .filter_map(|batch| batch.column_by_name(field.name()));
        let arrays: Vec<&dyn Array> = arrays.map(|array| &**array).collect();
        let array = cast(&concat(&arrays)?, &DataType::UInt32)?;
        if array.null_count() > 0 {
            continue;
        }
        let values = array.as_primitive::<UInt32Type>().values().to_vec();
        eprintln!("{}", field.name());
        columns.push(
            json!({"column": field.name(), "values": values.len(), "codecs": codecs(&values)?}),
        );
    }
    let others = table
        .of(|ty| class(ty) != "integer")?
        .map_or(0, |table| table.arrow_bytes());
    let rows = table
        .batches
        .iter()
        .map(RecordBatch::num_rows)
        .sum::<usize>();
    let (bytes, write) = table.write(&options())?;
    let seconds = scan(&bytes, 3)?;
    Ok(
        json!({"rows": rows, "other columns": others, "columns": columns,
        "whole": {"bytes": bytes.len(), "encode": write, "decode": seconds}}),
    )
}

fn codecs(values: &[u32]) -> Result<Value> {
    let mut out = Map::new();
    let mut put = |name: &str, bytes: usize, encode: f64, decode: f64| {
        out.insert(
            name.to_owned(),
            json!({"bytes": bytes, "encode": encode, "decode": decode}),
        );
    };
    put("raw", values.len() * 4, 0.0, 0.0);

    let mut codec = FastPForSimd128::default();
    let (packed, encode) = least(1, || {
        let mut out = Vec::new();
        codec.encode(values, &mut out)?;
        Ok(out)
    })?;
    let mut to: Vec<u32> = Vec::with_capacity(values.len());
    let ((), decode) = least(3, || {
        to.clear();
        Ok(codec.decode(&packed, &mut to, None)?)
    })?;
    assert_eq!(to, values);
    put("SIMDFastPFor", packed.len() * 4, encode, decode);

    let packer = BitPacker4x::new();
    let block = BitPacker4x::BLOCK_LEN;
    let (packed, encode) = least(1, || {
        let (mut out, mut buffer) = (Vec::new(), vec![0; 4 * block]);
        for chunk in values.chunks(block) {
            // The last is filled up.
            let mut full = chunk.to_vec();
            full.resize(block, 0);
            let bits = packer.num_bits(&full);
            out.push(bits);
            let len = packer.compress(&full, &mut buffer, bits);
            out.extend_from_slice(&buffer[..len]);
        }
        Ok(out)
    })?;
    let mut to = vec![0; values.len().next_multiple_of(block)];
    let ((), decode) = least(3, || {
        let mut at = 0;
        for out in to.chunks_mut(block) {
            let bits = packed[at];
            at += 1 + packer.decompress(&packed[at + 1..], out, bits);
        }
        Ok(())
    })?;
    assert_eq!(to[..values.len()], *values);
    put("SIMDBinaryPacking", packed.len(), encode, decode);

    let mut codec = VariableByte::<u32>::default();
    let (packed, encode) = least(1, || {
        let mut out = Vec::new();
        codec.encode(values, &mut out)?;
        Ok(out)
    })?;
    let mut to: Vec<u32> = Vec::with_capacity(values.len());
    let ((), decode) = least(3, || {
        to.clear();
        Ok(codec.decode(&packed, &mut to, None)?)
    })?;
    assert_eq!(to, values);
    put("VByte", packed.len() * 4, encode, decode);

    let (packed, encode) = least(1, || {
        let mut out = vec![0; values.len() * 5 + 16];
        let len = stream_vbyte::encode::encode::<stream_vbyte::scalar::Scalar>(values, &mut out);
        out.truncate(len);
        Ok(out)
    })?;
    let mut to = vec![0; values.len()];
    let (_, decode) = least(3, || {
        Ok(
            stream_vbyte::decode::decode::<stream_vbyte::scalar::Scalar>(
                &packed,
                values.len(),
                &mut to,
            ),
        )
    })?;
    assert_eq!(to, values);
    put("Stream VByte", packed.len(), encode, decode);

    let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut page = Vec::with_capacity(PAGE);
    let (packed, encode) = least(1, || {
        let mut pages = Vec::new();
        for page in raw.chunks(PAGE) {
            let mut out = Vec::new();
            let parameters = brotli::enc::BrotliEncoderParams {
                quality: 9,
                lgwin: 22,
                ..Default::default()
            };
            brotli::BrotliCompress(&mut &*page, &mut out, &parameters)?;
            pages.push(out);
        }
        Ok(pages)
    })?;
    let ((), decode) = least(1, || {
        for packed in &packed {
            page.clear();
            brotli::BrotliDecompress(&mut packed.as_slice(), &mut page)?;
        }
        Ok(())
    })?;
    put(
        "Brotli",
        packed.iter().map(|page| page.len() + 4).sum(),
        encode,
        decode,
    );

    let (packed, encode) = least(1, || {
        Ok(raw
            .chunks(PAGE)
            .map(|page| zstd::bulk::compress(page, 3))
            .collect::<std::io::Result<Vec<_>>>()?)
    })?;
    let mut page = vec![0; PAGE];
    let ((), decode) = least(3, || {
        for packed in &packed {
            zstd::bulk::decompress_to_buffer(packed, &mut page)?;
        }
        Ok(())
    })?;
    put(
        "Zstd",
        packed.iter().map(|page| page.len() + 4).sum(),
        encode,
        decode,
    );

    let (packed, encode) = least(1, || {
        Ok(pco::standalone::simple_compress(
            values,
            &pco::ChunkConfig::default(),
        )?)
    })?;
    let (_, decode) = least(3, || {
        Ok(pco::standalone::simple_decompress_into(&packed, &mut to)?)
    })?;
    put("pco", packed.len(), encode, decode);

    let array: Arc<dyn Array> = Arc::new(UInt32Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("x", array)])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    for name in BY_NAME.into_iter().chain([""]) {
        let mut options = options();
        options
            .encodings
            .extend((!name.is_empty()).then(|| ("x".to_owned(), name.to_owned())));
        let (bytes, encode) = table.write(&options)?;
        let name = if name.is_empty() { "balanced" } else { name };
        put(name, bytes.len(), encode, scan(&bytes, 3)?);
    }
    Ok(Value::Object(out))
}
