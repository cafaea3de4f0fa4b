//! BtrBlocks, sections 5 and 6.8: what each decode optimisation brings, and how much of the speed
//! is SIMD.

use serde_json::{Value, json};
use staffa_kernels::{BytesDict, FsstTable, Level, VECTOR, fill_runs, gather, level, lower_level};

use crate::Result;
use crate::decode::encoded_cases;
use crate::tables::{Random, Table, Turn, files, options, turns};

const ROUNDS: usize = 21;
/// Tables of less say little.
const LEAST_BYTES: usize = 1_000_000;

pub fn run(folder: &str, tpch: &str) -> Result<Value> {
    let best = level();
    let levels: Vec<Level> = [Level::Avx512, Level::Avx2, Level::Baseline]
        .into_iter()
        .filter(|level| *level <= best)
        .collect();
    let names: Vec<String> = levels.iter().map(|level| format!("{level:?}")).collect();

    let cases = encoded_cases(folder, tpch)?;
    let mut runs: Vec<Turn<'_>> = Vec::new();
    for case in &cases {
        for level in levels.iter().copied() {
            let (mut opened, mut decoder) = (case.open()?, case.decoder());
            runs.push(Box::new(move || {
                lower_level(level);
                // Opened anew: `repeat` and the codecs decode there.
                opened.reopen(0)?;
                decoder.decode(&mut opened)
            }));
        }
    }
    let seconds = turns(ROUNDS, 4e-4, runs)?;
    let encodings: Vec<Value> = cases
        .iter()
        .zip(seconds.chunks(levels.len()))
        .map(
            |(case, seconds)| json!({"case": case.name, "output": case.output, "seconds": seconds}),
        )
        .collect();

    let mut tables = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, usize::MAX)?;
        let arrow = table.arrow_bytes();
        if arrow < LEAST_BYTES {
            continue;
        }
        let file = &staffa::File::from_bytes(table.write(&options())?.0)?;
        let scan = |level| -> Turn<'_> {
            Box::new(move || {
                lower_level(level);
                file.scan()
                    .reader()?
                    .try_for_each(|batch| batch.map(drop))?;
                Ok(())
            })
        };
        let seconds = turns(9, 5e-3, levels.iter().map(|level| scan(*level)).collect())?;
        eprintln!("{} {seconds:?}", table.name);
        tables.push(json!({"table": table.name, "arrow": arrow, "seconds": seconds}));
    }
    lower_level(best);
    Ok(json!({"levels": names, "encodings": encodings, "tables": tables, "kernels": kernels()?}))
}

/// Kernels beside the plain loops that they stand for, over vectors in the first cache. Names,
/// output, seconds of both.
fn kernels() -> Result<Value> {
    let mut random = Random(7);
    let mut out = Vec::new();
    for average in [2, 4, 8, 32, 100] {
        let mut end = 0;
        let ends: Vec<u32> = std::iter::from_fn(|| {
            (end < VECTOR as u32).then(|| {
                end += 1 + random.below(2 * average - 1) as u32;
                end
            })
        })
        .collect();
        let values: Vec<u32> = ends.iter().map(|_| random.next() as u32).collect();
        let words: Vec<u64> = ends.iter().map(|_| random.next()).collect();
        let (mut a, mut b) = (vec![0u32; VECTOR], vec![0u32; VECTOR]);
        plain_runs(&values, &ends, &mut a);
        assert!(fill_runs(&values, &ends, 0, 0, &mut b).is_some() && a == b);
        let plain: Turn<'_> = Box::new(|| {
            plain_runs(std::hint::black_box(&values), &ends, &mut a);
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            std::hint::black_box(fill_runs(
                std::hint::black_box(&values),
                &ends,
                0,
                0,
                &mut b,
            ));
            Ok(())
        });
        out.push(beside(
            format!("runs of {average}, u32"),
            4 * VECTOR,
            plain,
            kernel,
        )?);
        let (mut a, mut b) = (vec![0u64; VECTOR], vec![0u64; VECTOR]);
        let plain: Turn<'_> = Box::new(|| {
            plain_runs(std::hint::black_box(&words), &ends, &mut a);
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            std::hint::black_box(fill_runs(std::hint::black_box(&words), &ends, 0, 0, &mut b));
            Ok(())
        });
        out.push(beside(
            format!("runs of {average}, u64"),
            8 * VECTOR,
            plain,
            kernel,
        )?);

        // Codes of a dictionary in runs: the dictionary looked up for every run, or codes first and
        // then for every value.
        let dictionary: Vec<u64> = (0..256).map(|_| random.next()).collect();
        let codes: Vec<u32> = ends.iter().map(|_| random.below(256) as u32).collect();
        let (mut a, mut b) = (vec![0u64; VECTOR], vec![0u64; VECTOR]);
        let (mut every, mut each) = (vec![0u32; VECTOR], vec![0u64; codes.len()]);
        let plain: Turn<'_> = Box::new(|| {
            fill_runs(std::hint::black_box(&codes), &ends, 0, 0, &mut every);
            std::hint::black_box(gather(&dictionary, &every, &mut a));
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            gather(&dictionary, std::hint::black_box(&codes), &mut each);
            std::hint::black_box(fill_runs(&each, &ends, 0, 0, &mut b));
            Ok(())
        });
        out.push(beside(
            format!("dictionary and runs of {average} fused, u64"),
            8 * VECTOR,
            plain,
            kernel,
        )?);
    }
    for (name, entries) in [("1,000", 1000u64), ("60,000", 60_000)] {
        let codes: Vec<u32> = (0..VECTOR).map(|_| random.below(entries) as u32).collect();
        let ints: Vec<u32> = (0..entries).map(|_| random.next() as u32).collect();
        let doubles: Vec<u64> = (0..entries).map(|_| random.next()).collect();
        let (mut a, mut b) = (vec![0u32; VECTOR], vec![0u32; VECTOR]);
        let plain: Turn<'_> = Box::new(|| {
            plain_gather(&ints, std::hint::black_box(&codes), &mut a);
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            std::hint::black_box(gather(&ints, std::hint::black_box(&codes), &mut b));
            Ok(())
        });
        out.push(beside(
            format!("dictionary of {name}, u32"),
            4 * VECTOR,
            plain,
            kernel,
        )?);
        let (mut a, mut b) = (vec![0u64; VECTOR], vec![0u64; VECTOR]);
        let plain: Turn<'_> = Box::new(|| {
            plain_gather(&doubles, std::hint::black_box(&codes), &mut a);
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            std::hint::black_box(gather(&doubles, std::hint::black_box(&codes), &mut b));
            Ok(())
        });
        out.push(beside(
            format!("dictionary of {name}, doubles"),
            8 * VECTOR,
            plain,
            kernel,
        )?);
    }
    let symbols: Vec<_> = (0..255)
        .map(|_| (random.next().to_le_bytes(), 1 + random.below(8) as u8))
        .collect();
    let table = FsstTable::new(&symbols).ok_or("no table")?;
    for (name, codes) in [("8", 2), ("27", 6), ("90", 20)] {
        let ends: Vec<usize> = (1..=VECTOR).map(|i| i * codes).collect();
        let input: Vec<u8> = (0..VECTOR * codes)
            .map(|_| random.below(255) as u8)
            .collect();
        let mut whole = vec![0; 8 * input.len() + 64];
        let mut parts = whole.clone();
        let bytes = table.decode(&input, &mut whole).ok_or("no codes")?;
        let plain: Turn<'_> = Box::new(|| {
            let (mut from, mut at) = (0, 0);
            for end in &ends {
                let string = std::hint::black_box(&input[from..*end]);
                at += table.decode(string, &mut parts[at..]).ok_or("no codes")?;
                from = *end;
            }
            std::hint::black_box(at);
            Ok(())
        });
        let kernel: Turn<'_> = Box::new(|| {
            std::hint::black_box(table.decode(std::hint::black_box(&input), &mut whole));
            Ok(())
        });
        out.push(beside(
            format!("FSST, strings of {name} bytes at once"),
            bytes,
            plain,
            kernel,
        )?);
    }
    let mut offsets = vec![0u32];
    (0..256).for_each(|i| offsets.push(offsets[i] + 6 + random.below(19) as u32));
    let data: Vec<u8> = (0..offsets[256])
        .map(|_| b'a' + random.below(26) as u8)
        .collect();
    let strings = BytesDict::new(&offsets, &data).ok_or("no strings")?;
    let codes: Vec<u32> = (0..VECTOR).map(|_| random.below(256) as u32).collect();
    let bytes = strings.gathered_bytes(&codes).ok_or("no codes")? as usize;
    let (mut a, mut b) = (vec![0u8; bytes + 64], vec![0u8; bytes + 64]);
    let (mut lengths, mut more) = (vec![0u32; VECTOR], vec![0u32; VECTOR]);
    let plain: Turn<'_> = Box::new(|| {
        let mut at = 0;
        for code in std::hint::black_box(&codes) {
            let string = strings.get(*code as usize).ok_or("no code")?;
            a[at..at + string.len()].copy_from_slice(string);
            at += string.len();
        }
        Ok(())
    });
    let kernel: Turn<'_> = Box::new(|| {
        std::hint::black_box(strings.gather(std::hint::black_box(&codes), &mut lengths, &mut b));
        Ok(())
    });
    out.push(beside(
        "dictionary of 256 strings, copied".to_owned(),
        bytes,
        plain,
        kernel,
    )?);
    let views: Vec<u128> = (0..256).map(|_| u128::from(random.next())).collect();
    let (mut a, mut b) = (vec![0u128; VECTOR], vec![0u8; bytes + 64]);
    let plain: Turn<'_> = Box::new(|| {
        std::hint::black_box(strings.gather(std::hint::black_box(&codes), &mut more, &mut b));
        Ok(())
    });
    let kernel: Turn<'_> = Box::new(|| {
        std::hint::black_box(gather(&views, std::hint::black_box(&codes), &mut a));
        Ok(())
    });
    out.push(beside(
        "dictionary of 256 strings, views not copies".to_owned(),
        bytes,
        plain,
        kernel,
    )?);
    Ok(json!(out))
}

fn beside(name: String, bytes: usize, plain: Turn<'_>, kernel: Turn<'_>) -> Result<Value> {
    let seconds = turns(ROUNDS, 4e-4, vec![plain, kernel])?;
    Ok(json!({"kernel": name, "output": bytes, "plain": seconds[0], "own": seconds[1]}))
}

/// A loop over runs, and one over the values of each.
fn plain_runs<T: Copy>(values: &[T], ends: &[u32], out: &mut [T]) {
    let mut start = 0;
    for (value, end) in values.iter().zip(ends) {
        let end = (*end as usize).min(out.len());
        for place in &mut out[start..end] {
            *place = *value;
        }
        start = end;
    }
}

fn plain_gather<T: Copy>(dictionary: &[T], codes: &[u32], out: &mut [T]) {
    for (place, code) in out.iter_mut().zip(codes) {
        *place = dictionary[*code as usize];
    }
}
