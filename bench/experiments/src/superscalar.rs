//! Super-Scalar RAM-CPU Cache Compression: patching against branches, page-wise against
//! vector-wise, single values.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use bytes::Bytes;
use serde_json::{Value, json};
use staffa::testing::bench::{OpenColumn, encode};
use staffa_kernels::{VECTOR, pack, packed_bytes, unpack};

use crate::Result;
use crate::query6;
use crate::tables::{Random, Run, Table, Turn, medians, options, turns};

const ROUNDS: usize = 21;
/// Percent of the values.
const RATES: [u64; 13] = [0, 1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 35];
const PAGES: [u64; 5] = [0, 5, 10, 20, 30];
/// Bits of the codes, as in the paper's example of the two loops.
const WIDTH: u32 = 8;
/// The code of an exception, where codes say so.
const ESCAPE: u64 = (1 << WIDTH) - 1;
const BASE: u64 = 1_000_000;
/// An entry point for a number of values.
const ENTRY: usize = 128;

pub fn run(tpch: &str) -> Result<Value> {
    let kernels = RATES.into_iter().map(kernels).collect::<Result<Vec<_>>>()?;
    let mut widths = Vec::new();
    for width in 1..=8 {
        for rate in [1, 2, 5, 10, 20, 30] {
            widths.push(compulsory(width, rate)?);
        }
    }
    let pages = PAGES.into_iter().map(pages).collect::<Result<Vec<_>>>()?;
    let points = PAGES.into_iter().map(points).collect::<Result<Vec<_>>>()?;
    Ok(
        json!({"kernels": kernels, "widths": widths, "pages": pages, "points": points, "query": query6::run(tpch)?}),
    )
}

/// Values of `width` bits above the base, some of them of 32 bits, at random.
fn values(count: usize, width: u32, percent: u64) -> Vec<u64> {
    let mut random = Random(percent + 1);
    let most = 1 << width;
    let value = |_| {
        let exception = random.below(100) < percent;
        BASE + if exception {
            most + random.below((1 << 32) - most)
        } else {
            random.below(most - u64::from(width > 1))
        }
    };
    (0..count).map(value).collect()
}

/// By one encoding, all blocks open.
fn opened(array: ArrayRef, encoding: &str) -> Result<(OpenColumn, u64, String)> {
    let batch = RecordBatch::try_from_iter([("x", array)])?;
    let table = Table {
        name: String::new(),
        schema: batch.schema(),
        batches: vec![batch],
    };
    let mut options = options();
    options
        .encodings
        .push(("x".to_owned(), encoding.to_owned()));
    let file = staffa::File::from_bytes(Bytes::from(table.write(&options)?.0))?;
    let explained = file.explain()?;
    let leaf = explained.first().ok_or("no column")?;
    let detail = leaf
        .blocks
        .first()
        .and_then(|block| Some(block.values.as_ref()?.detail.clone()));
    Ok((
        OpenColumn::new(&file, "x")?,
        leaf.bytes,
        detail.unwrap_or_default(),
    ))
}

/// What stands in the place of an exception.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// A code that no value has.
    Escape,
    /// How far it is to the next one.
    Distance,
    /// Nothing: positions stand beside the codes.
    None,
}

/// Codes, a vector after another, and what does not fit them.
#[derive(Default)]
struct Coded {
    packed: Vec<u8>,
    exceptions: Vec<u64>,
    positions: Vec<u16>,
    /// Exceptions before every vector, and in all.
    starts: Vec<usize>,
}

impl Coded {
    fn new(values: &[u64], mark: Mark) -> Self {
        let mut out = Self {
            starts: vec![0],
            ..Self::default()
        };
        for vector in values.chunks(VECTOR) {
            let mut codes: Vec<u64> = vector.iter().map(|value| value - BASE).collect();
            let mut missing: Vec<usize> = (0..VECTOR).filter(|i| codes[*i] >= ESCAPE).collect();
            let mut at = 0;
            while mark == Mark::Distance && at + 1 < missing.len() {
                // Compulsory exceptions, where the next one is farther away than a code can say.
                if missing[at + 1] - missing[at] > 1 << WIDTH {
                    missing.insert(at + 1, missing[at] + (1 << WIDTH));
                }
                at += 1;
            }
            for (k, i) in missing.iter().enumerate() {
                out.exceptions.push(vector[*i]);
                out.positions.push(*i as u16);
                codes[*i] = match mark {
                    Mark::Escape => ESCAPE,
                    Mark::Distance => missing.get(k + 1).map_or(0, |next| (next - i - 1) as u64),
                    Mark::None => 0,
                };
            }
            out.starts.push(out.exceptions.len());
            pack(&codes, WIDTH, &mut out.packed);
        }
        out
    }

    /// Every vector: its codes, its exceptions and their positions, where it goes.
    fn vectors<'a>(
        &'a self,
        out: &'a mut [u64],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u64], &'a [u16], &'a mut [u64])> {
        let packed = self
            .packed
            .chunks(packed_bytes(WIDTH))
            .zip(out.chunks_mut(VECTOR))
            .zip(self.starts.array_windows());
        packed.map(|((packed, out), [start, end])| {
            (
                packed,
                &self.exceptions[*start..*end],
                &self.positions[*start..*end],
                out,
            )
        })
    }

    /// One branch for every value.
    fn naive(&self, codes: &mut [u64], out: &mut [u64]) {
        for (packed, exceptions, _, out) in self.vectors(out) {
            unpack(packed, WIDTH, 0, codes);
            let mut next = 0;
            for (code, out) in codes.iter().zip(out) {
                if *code < ESCAPE {
                    *out = BASE + code;
                } else {
                    *out = exceptions[next];
                    next += 1;
                }
            }
        }
    }

    /// The paper's: all decoded, then the linked list of exceptions walked. In steps of a vector,
    /// not of 128 values.
    fn linked(&self, out: &mut [u64]) {
        for (packed, exceptions, positions, out) in self.vectors(out) {
            unpack(packed, WIDTH, BASE, out);
            let mut at = positions.first().copied().unwrap_or(0) as usize;
            for value in exceptions {
                let next = at + (out[at] - BASE) as usize + 1;
                out[at] = *value;
                at = next;
            }
        }
    }

    /// Ours: all decoded, then exceptions put to the positions that stand beside them.
    fn patched(&self, out: &mut [u64]) {
        for (packed, exceptions, positions, out) in self.vectors(out) {
            unpack(packed, WIDTH, BASE, out);
            for (position, value) in positions.iter().zip(exceptions) {
                out[usize::from(*position)] = *value;
            }
        }
    }
}

/// The paper's three ways to find exceptions while encoding.
struct Encoder {
    codes: Vec<u64>,
    missing: Vec<usize>,
    exceptions: Vec<u64>,
    packed: Vec<u8>,
}

impl Encoder {
    fn new() -> Self {
        let (codes, missing) = (vec![0; VECTOR], vec![0; VECTOR + 1]);
        Self {
            codes,
            missing,
            exceptions: Vec::new(),
            packed: Vec::new(),
        }
    }

    fn encode(
        &mut self,
        values: &[u64],
        find: impl Fn(&[u64], &mut [u64], &mut [usize], &mut Vec<u64>),
    ) {
        self.exceptions.clear();
        self.packed.clear();
        for vector in values.chunks(VECTOR) {
            find(
                vector,
                &mut self.codes,
                &mut self.missing,
                &mut self.exceptions,
            );
            pack(&self.codes, WIDTH, &mut self.packed);
        }
    }
}

/// One branch for every value.
fn branches(values: &[u64], codes: &mut [u64], _: &mut [usize], exceptions: &mut Vec<u64>) {
    for (value, code) in values.iter().zip(codes) {
        if value - BASE < ESCAPE {
            *code = value - BASE;
        } else {
            *code = ESCAPE;
            exceptions.push(*value);
        }
    }
}

/// Predication: the place is always noted, and kept where it is one of an exception.
fn predicated(values: &[u64], codes: &mut [u64], missing: &mut [usize], exceptions: &mut Vec<u64>) {
    let mut found = 0;
    for (i, (value, code)) in values.iter().zip(codes.iter_mut()).enumerate() {
        *code = value - BASE;
        missing[found] = i;
        found += usize::from(*code >= ESCAPE);
    }
    link(values, codes, &missing[..found], exceptions);
}

/// Double-cursor predication: from the start and from the middle at once.
fn double_cursor(
    values: &[u64],
    codes: &mut [u64],
    missing: &mut [usize],
    exceptions: &mut Vec<u64>,
) {
    let half = values.len() / 2;
    let (first, second) = missing.split_at_mut(half);
    let (mut a, mut b) = (0, 0);
    let (low, high) = values.split_at(half);
    let (low_codes, high_codes) = codes.split_at_mut(half);
    for (i, ((x, y), (p, q))) in low
        .iter()
        .zip(high)
        .zip(low_codes.iter_mut().zip(high_codes.iter_mut()))
        .enumerate()
    {
        (*p, *q) = (x - BASE, y - BASE);
        // There is a place more than values, and none is noted behind the last.
        first[a.min(half - 1)] = i;
        second[b] = half + i;
        a += usize::from(*p >= ESCAPE);
        b += usize::from(*q >= ESCAPE);
    }
    link(values, codes, &first[..a], exceptions);
    link(values, codes, &second[..b], exceptions);
}

fn link(values: &[u64], codes: &mut [u64], missing: &[usize], exceptions: &mut Vec<u64>) {
    let mut before: Option<usize> = None;
    for i in missing {
        exceptions.push(values[*i]);
        if let Some(before) = before {
            codes[before] = (i - before - 1) as u64 & ESCAPE;
        }
        before = Some(*i);
    }
}

/// Figures 4 and 5.
fn kernels(percent: u64) -> Result<Value> {
    eprintln!("exceptions {percent}%");
    let values = &values(16 * VECTOR, WIDTH, percent);
    let array = || -> ArrayRef { Arc::new(UInt64Array::from(values.clone())) };
    let (naive, linked, patched) = (
        Coded::new(values, Mark::Escape),
        Coded::new(values, Mark::Distance),
        Coded::new(values, Mark::None),
    );
    let (mut codes, mut out) = (vec![0; VECTOR], vec![0; values.len()]);
    naive.naive(&mut codes, &mut out);
    assert_eq!(out, *values);
    linked.linked(&mut out);
    assert_eq!(out, *values);
    patched.patched(&mut out);
    assert_eq!(out, *values);
    let (mut file, bytes, detail) = opened(array(), "frame_of_reference")?;
    let (mut escaped, escaped_bytes, _) = opened(array(), "escape")?;
    let memory = || vec![0u64; values.len()];
    let (mut a, mut b, mut c, mut d, mut e) = (memory(), memory(), memory(), memory(), memory());
    let runs: Vec<Turn<'_>> = vec![
        Box::new(|| {
            naive.naive(&mut codes, &mut a);
            Ok(())
        }),
        Box::new(|| {
            linked.linked(&mut b);
            Ok(())
        }),
        Box::new(|| {
            patched.patched(&mut c);
            Ok(())
        }),
        Box::new(|| Ok(file.words(0, &mut d)?)),
        Box::new(|| Ok(escaped.words(0, &mut e)?)),
    ];
    let decode = turns(ROUNDS, 4e-4, runs)?;
    let mut encoders = [Encoder::new(), Encoder::new(), Encoder::new()];
    let [x, y, z] = &mut encoders;
    let runs: Vec<Turn<'_>> = vec![
        Box::new(|| {
            x.encode(values, branches);
            Ok(())
        }),
        Box::new(|| {
            y.encode(values, predicated);
            Ok(())
        }),
        Box::new(|| {
            z.encode(values, double_cursor);
            Ok(())
        }),
        Box::new(|| {
            std::hint::black_box(encode(values, "frame_of_reference")?);
            Ok(())
        }),
    ];
    let encode = turns(ROUNDS, 4e-4, runs)?;
    let bytes = json!({"frame_of_reference": bytes, "escape": escaped_bytes});
    Ok(
        json!({"percent": percent, "output": values.len() * 8, "decode": decode, "encode": encode, "bytes": bytes,
        "detail": detail, "linked exceptions": linked.exceptions.len(), "exceptions": patched.exceptions.len()}),
    )
}

/// Figure 6: values of few bits, and what exceptions among them cost.
fn compulsory(width: u32, percent: u64) -> Result<Value> {
    let values: Vec<u32> = values(1 << 16, width, percent)
        .into_iter()
        .map(|v| (v - BASE) as u32)
        .collect();
    let limit = 1u32 << width;
    let (mut real, mut linked) = (0, 0);
    for part in values.chunks(ENTRY) {
        let places: Vec<usize> = (0..part.len()).filter(|i| part[*i] >= limit).collect();
        real += places.len();
        linked += places.len();
        // A code says how far it is to the next one: at most 2^b.
        linked += places
            .array_windows()
            .map(|[a, b]| (b - a - 1) >> width)
            .sum::<usize>();
    }
    let array: ArrayRef = Arc::new(UInt32Array::from(values.clone()));
    let (_, bytes, detail) = opened(array.clone(), "frame_of_reference")?;
    let (_, escape, _) = opened(array, "escape")?;
    Ok(
        json!({"width": width, "percent": percent, "values": values.len(), "real": real, "linked": linked,
        "bytes": bytes, "detail": detail, "escape": escape}),
    )
}

/// Sum of all words.
fn sum(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// Figure 7: decoded and summed, by so much at a time.
fn pages(percent: u64) -> Result<Value> {
    eprintln!("pages, exceptions {percent}%");
    let values = values(1 << 23, WIDTH, percent);
    let expected = sum(&values);
    let (column, bytes, _) = opened(
        Arc::new(UInt64Array::from(values.clone())),
        "frame_of_reference",
    )?;
    let lens = column.lens();
    let column = std::cell::RefCell::new(column);
    let memory = std::cell::RefCell::new(vec![1u64; values.len()]);
    let by = |rows: usize| {
        let (mut column, mut memory) = (column.borrow_mut(), memory.borrow_mut());
        let (mut total, mut at) = (0u64, 0);
        for (i, len) in lens.iter().enumerate() {
            if rows == VECTOR {
                for v in 0..len.div_ceil(VECTOR) {
                    let out = &mut memory[..VECTOR.min(len - v * VECTOR)];
                    column.vector(i, v, out)?;
                    total = total.wrapping_add(sum(out));
                }
                continue;
            }
            column.words(i, &mut memory[at..at + len])?;
            at += len;
            if at >= rows || i + 1 == lens.len() {
                total = total.wrapping_add(sum(&memory[..at]));
                at = 0;
            }
        }
        assert_eq!(total, expected);
        Ok(())
    };
    let rows = [VECTOR, 1 << 16, 1 << 20, 1 << 23];
    let mut runs: Vec<Run<'_>> = rows
        .iter()
        .map(|rows| Box::new(|| by(*rows)) as Run<'_>)
        .collect();
    runs.push(Box::new(|| {
        assert_eq!(sum(std::hint::black_box(&values)), expected);
        Ok(())
    }));
    let seconds = medians(5, &runs)?;
    Ok(
        json!({"percent": percent, "output": values.len() * 8, "bytes": bytes, "rows": rows, "seconds": seconds}),
    )
}

/// One value at a time, out of an opened block in the cache.
fn points(percent: u64) -> Result<Value> {
    let values = values(1 << 16, WIDTH, percent);
    let mut random = Random(9);
    let rows: Vec<u32> = (0..4096)
        .map(|_| random.below(values.len() as u64) as u32)
        .collect();
    let (mut column, _, _) = opened(
        Arc::new(UInt64Array::from(values.clone())),
        "frame_of_reference",
    )?;
    let ordered: Vec<u64> = values
        .iter()
        .scan(0u64, |sum, v| {
            Some(std::mem::replace(sum, *sum + (v & 255)))
        })
        .collect();
    let (mut deltas, _, _) = opened(Arc::new(UInt64Array::from(ordered.clone())), "delta")?;
    for row in &rows[..100] {
        assert_eq!(column.value::<u64>(0, *row)?, values[*row as usize]);
        assert_eq!(deltas.value::<u64>(0, *row)?, ordered[*row as usize]);
    }
    let mut memory = vec![0u64; VECTOR];
    let (mut again, _, _) = opened(
        Arc::new(UInt64Array::from(values.clone())),
        "frame_of_reference",
    )?;
    let runs: Vec<Turn<'_>> = vec![
        Box::new(|| {
            let total = rows.iter().try_fold(0u64, |sum, row| {
                column.value::<u64>(0, *row).map(|v| sum.wrapping_add(v))
            });
            std::hint::black_box(total?);
            Ok(())
        }),
        Box::new(|| {
            let total = rows.iter().try_fold(0u64, |sum, row| {
                deltas.value::<u64>(0, *row).map(|v| sum.wrapping_add(v))
            });
            std::hint::black_box(total?);
            Ok(())
        }),
        Box::new(|| {
            Ok(rows
                .iter()
                .try_for_each(|row| again.vector(0, *row as usize / VECTOR, &mut memory))?)
        }),
    ];
    let seconds = turns(ROUNDS, 4e-4, runs)?;
    let each: Vec<f64> = seconds
        .iter()
        .map(|s| s * 1e9 / rows.len() as f64)
        .collect();
    Ok(json!({"percent": percent, "nanoseconds": each, "gigahertz": gigahertz()}))
}

/// Rate of the processor's time stamps.
#[cfg(target_arch = "x86_64")]
fn gigahertz() -> Option<f64> {
    // SAFETY: every x86-64 processor has it.
    let stamp = || unsafe { core::arch::x86_64::_rdtsc() };
    let (start, before) = (std::time::Instant::now(), stamp());
    while start.elapsed().as_millis() < 20 {}
    Some((stamp() - before) as f64 / start.elapsed().as_nanos() as f64)
}

#[cfg(not(target_arch = "x86_64"))]
fn gigahertz() -> Option<f64> {
    None
}
