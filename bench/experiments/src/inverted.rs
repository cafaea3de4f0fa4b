//! Super-Scalar RAM-CPU Cache Compression, table 4: inverted lists of a text, one document a line.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use fastpfor::{AnyLenCodec, FastPForSimd128, VariableByte};
use serde_json::{Map, Value, json};
use staffa::testing::bench::OpenColumn;

use crate::Result;
use crate::tables::{Random, Table, Turn, least, options, turns};

/// Shorter lists are left out.
const LEAST: usize = 64;
const ROUNDS: usize = 9;

pub fn run(file: &str) -> Result<Value> {
    let text = String::from_utf8_lossy(&std::fs::read(file)?).to_lowercase();
    let mut documents: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let found = orders(&documents)?;
    let mut random = Random(1);
    for i in (1..documents.len()).rev() {
        documents.swap(i, random.below(i as u64 + 1) as usize);
    }
    let shuffled = orders(&documents)?;
    Ok(
        json!({"bytes": text.len(), "documents": documents.len(), "least": LEAST,
        "orders": {"as found": found, "shuffled": shuffled}}),
    )
}

/// Documents of every word, in rising order of their numbers; the lists by word.
fn lists(documents: &[&str]) -> Vec<Vec<u32>> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut lists: Vec<(&str, Vec<u32>)> = Vec::new();
    for (document, line) in (0u32..).zip(documents) {
        for word in line
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let number = *numbers.entry(word).or_insert_with(|| {
                lists.push((word, Vec::new()));
                lists.len() - 1
            });
            let list = &mut lists[number].1;
            if list.last() != Some(&document) {
                list.push(document);
            }
        }
    }
    lists.retain(|(_, list)| list.len() >= LEAST);
    lists.sort();
    lists.into_iter().map(|(_, list)| list).collect()
}

fn orders(documents: &[&str]) -> Result<Value> {
    let lists = lists(documents);
    let ids: Vec<u32> = lists.concat();
    let gaps = |list: &Vec<u32>| {
        list.iter()
            .scan(0, |before, id| Some(id - std::mem::replace(before, *id)))
            .collect()
    };
    let gaps: Vec<u32> = lists.iter().map(gaps).collect::<Vec<Vec<u32>>>().concat();
    eprintln!(
        "{} documents, {} lists, {} postings",
        documents.len(),
        lists.len(),
        ids.len()
    );
    let mut out = Map::new();
    for name in ["frame_of_reference", "escape", "balanced"] {
        out.insert(format!("gaps: {name}"), column(&gaps, name)?);
    }
    for name in ["delta", "balanced"] {
        out.insert(format!("documents: {name}"), column(&ids, name)?);
    }
    out.insert(
        "gaps: SIMDFastPFor".to_owned(),
        codec::<FastPForSimd128>(&gaps)?,
    );
    out.insert("gaps: VByte".to_owned(), codec::<VariableByte<u32>>(&gaps)?);
    let ones = gaps.iter().filter(|gap| **gap == 1).count();
    Ok(json!({"lists": lists.len(), "postings": ids.len(), "ones": ones, "codecs": out}))
}

/// In a file of one column: encoded whole, decoded block by block into the same memory.
fn column(values: &[u32], name: &str) -> Result<Value> {
    let array: ArrayRef = Arc::new(UInt32Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("x", array)])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let mut options = options();
    options
        .encodings
        .extend((name != "balanced").then(|| ("x".to_owned(), name.to_owned())));
    let (bytes, encode) = least(3, || Ok(table.write(&options)?.0))?;
    let file = staffa::File::from_bytes(bytes)?;
    let explained = file.explain()?;
    let leaf = explained.first().ok_or("no column")?;
    let tree = leaf
        .blocks
        .first()
        .and_then(|block| block.values.as_ref().map(ToString::to_string));
    let (mut opened, mut anew) = (OpenColumn::new(&file, "x")?, OpenColumn::new(&file, "x")?);
    let lens = opened.lens();
    let most = lens.iter().copied().max().unwrap_or(0);
    let (mut out, mut other) = (vec![0u32; most], vec![0u32; most]);
    let mut at = 0;
    for (i, len) in lens.iter().enumerate() {
        opened.words(i, &mut out[..*len])?;
        assert_eq!(out[..*len], values[at..at + len]);
        at += len;
    }
    let runs: Vec<Turn<'_>> = vec![
        Box::new(|| {
            Ok(lens
                .iter()
                .enumerate()
                .try_for_each(|(i, len)| opened.words(i, &mut out[..*len]))?)
        }),
        Box::new(|| {
            Ok(lens.iter().enumerate().try_for_each(|(i, len)| {
                anew.reopen(i)?;
                anew.words(i, &mut other[..*len])
            })?)
        }),
    ];
    let seconds = turns(ROUNDS, 2e-3, runs)?;
    Ok(
        json!({"bytes": leaf.bytes, "encode": encode, "decode": seconds[0], "open and decode": seconds[1],
        "tree": tree}),
    )
}

/// In parts of a block's length, as ours.
fn codec<C: AnyLenCodec<Elem = u32> + Default>(values: &[u32]) -> Result<Value> {
    let mut codec = C::default();
    let (parts, encode) = least(3, || {
        let mut parts = Vec::new();
        for part in values.chunks(1 << 16) {
            let mut out = Vec::new();
            codec.encode(part, &mut out)?;
            parts.push(out);
        }
        Ok(parts)
    })?;
    let mut to: Vec<u32> = Vec::with_capacity(1 << 16);
    for (part, values) in parts.iter().zip(values.chunks(1 << 16)) {
        to.clear();
        codec.decode(part, &mut to, None)?;
        assert_eq!(to, values);
    }
    let run: Turn<'_> = Box::new(|| {
        for part in &parts {
            to.clear();
            codec.decode(part, &mut to, None)?;
        }
        Ok(())
    });
    let decode = turns(ROUNDS, 2e-3, vec![run])?[0];
    let bytes: usize = parts.iter().map(|part| 4 * part.len()).sum();
    Ok(json!({"bytes": bytes, "encode": encode, "decode": decode}))
}
