//! In-cache decode throughput by encoding: one block, opened, decoded again and again into the same
//! memory.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_cast::cast;
use arrow_ord::sort::sort;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use bytes::Bytes;
use serde_json::{Value, json};
use staffa::WriteOptions;
use staffa::testing::bench::OpenColumn;
use staffa_kernels::PoolBuf;

use crate::Result;
use crate::tables::{Random, Table, Turn, options, turns};

const ROUNDS: usize = 41;

/// What is decoded to.
#[derive(Clone, Copy)]
enum Way {
    Words,
    Strings,
    Views,
    Bits,
}

use Way::{Bits, Strings, Views, Words};

pub fn run(folder: &str, tpch: &str) -> Result<Value> {
    let cases = cases(folder, tpch)?
        .into_iter()
        .map(|case| Encoded::new(case, options()))
        .collect::<Result<Vec<_>>>()?;
    let mut runs: Vec<Turn<'_>> = Vec::new();
    for case in &cases {
        let bytes = case.output;
        let (mut opened, mut decoder) = (case.open()?, case.decoder());
        runs.push(Box::new(move || decoder.decode(&mut opened)));
        let (mut opened, mut decoder) = (case.open()?, case.decoder());
        runs.push(Box::new(move || {
            opened.reopen(0)?;
            decoder.decode(&mut opened)
        }));
        let (from, mut to) = (memory(bytes), memory(bytes));
        runs.push(Box::new(move || {
            std::hint::black_box(to.as_mut_slice())
                .copy_from_slice(std::hint::black_box(from.as_slice()));
            Ok(())
        }));
    }
    let seconds = turns(ROUNDS, 4e-4, runs)?;
    let measured = cases.iter().zip(seconds.chunks(3)).map(|(case, seconds)| {
        json!({"case": case.name, "encoding": case.encoding, "rows": case.rows, "output": case.output,
            "encoded": case.encoded, "tree": case.tree, "decode": seconds[0], "open and decode": seconds[1],
            "memcpy": seconds[2]})
    });
    Ok(measured.collect())
}

/// All cases, encoded.
pub fn encoded_cases(folder: &str, tpch: &str) -> Result<Vec<Encoded>> {
    cases(folder, tpch)?
        .into_iter()
        .map(|case| Encoded::new(case, options()))
        .collect()
}

/// So many strings of a column.
fn column(path: &Path, name: &str, rows: usize) -> Result<ArrayRef> {
    let table = Table::read(path, rows)?
        .only(name)?
        .ok_or_else(|| format!("{name} in {}", path.display()))?;
    let arrays: Vec<&dyn arrow_array::Array> = table
        .batches
        .iter()
        .map(|batch| &**batch.column(0))
        .collect();
    Ok(cast(&concat(&arrays)?, &DataType::Utf8)?)
}

/// Strings that `of` makes of random numbers.
fn strings(rows: usize, of: impl Fn(&mut Random) -> String) -> ArrayRef {
    let mut random = Random(3);
    Arc::new(StringArray::from_iter_values(
        (0..rows).map(|_| of(&mut random)),
    ))
}

type Case = (&'static str, &'static str, Way, ArrayRef);

/// Output of a quarter of a megabyte or less each: it stays in the second cache, with what it is
/// decoded from.
fn cases(folder: &str, tpch: &str) -> Result<Vec<Case>> {
    let (n32, n64, nviews) = (1 << 16, 1 << 15, 1 << 14);
    let u32s = |of: &dyn Fn(&mut Random) -> u32| -> ArrayRef {
        let mut random = Random(1);
        Arc::new(UInt32Array::from_iter_values(
            (0..n32).map(|_| of(&mut random)),
        ))
    };
    let u64s = |of: &dyn Fn(&mut Random) -> u64| -> ArrayRef {
        let mut random = Random(1);
        Arc::new(UInt64Array::from_iter_values(
            (0..n64).map(|_| of(&mut random)),
        ))
    };
    let f64s = |of: &dyn Fn(&mut Random) -> f64| -> ArrayRef {
        let mut random = Random(1);
        Arc::new(Float64Array::from_iter_values(
            (0..n64).map(|_| of(&mut random)),
        ))
    };
    let mut random = Random(2);
    let sorted: ArrayRef = Arc::new(UInt32Array::from_iter_values((0..n32).scan(
        1_000_000,
        |sum, _| {
            *sum += random.below(16) as u32;
            Some(*sum)
        },
    )));
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n64).scan(
        1_700_000_000_000_000,
        |sum, _| {
            *sum += 1_000 + random.below(200) as i64;
            Some(*sum)
        },
    )));
    let mut runs = |average: u64| -> Vec<u32> {
        let (mut value, mut left) = (0, 0);
        let each = |_| {
            if left == 0 {
                left = 1 + random.below(2 * average - 1);
                value = random.below(1 << 20) as u32;
            }
            left -= 1;
            value
        };
        (0..n32).map(each).collect()
    };
    let (short, long) = (runs(8), runs(100));
    let repeated: Vec<u32> = {
        let mut values: Vec<u32> = (0..1000).map(|_| random.below(1 << 15) as u32).collect();
        while values.len() < n32 {
            // A match of 30 on average, and a few values of its own.
            let (from, len) = (
                random.below(values.len() as u64 - 60) as usize,
                20 + random.below(21) as usize,
            );
            values.extend_from_within(from..from + len);
            values.extend((0..1 + random.below(3)).map(|_| random.below(1 << 15) as u32));
        }
        values.truncate(n32);
        values
    };
    let words: Vec<String> = {
        let letters = |random: &mut Random| char::from(b'a' + random.below(26) as u8);
        (0..256)
            .map(|_| {
                (0..6 + random.below(19))
                    .map(|_| letters(&mut random))
                    .collect()
            })
            .collect()
    };
    let of_words = |rows| strings(rows, |random| words[random.below(256) as usize].clone());
    let numbers: Vec<f64> = (0..1000).map(|_| random.next() as f64 / 7e19).collect();
    let cents = |random: &mut Random| random.below(10_000_000) as f64 / 100.0;
    let lineitem = Path::new(tpch).join("lineitem.parquet");
    let comments = column(&lineitem, "l_comment", 1 << 13)?;
    let tokens = column(
        &Path::new(folder).join("text_firstname.parquet"),
        "firstname",
        n64,
    )?;
    let urls = column(
        &Path::new(folder).join("text_urls2.parquet"),
        "urls2",
        1 << 12,
    )?;
    let uuids = column(
        &Path::new(folder).join("text_uuid.parquet"),
        "uuid",
        1 << 12,
    )?;
    let bools = |share: u64| -> ArrayRef {
        let mut random = Random(4);
        Arc::new(BooleanArray::from_iter(
            (0..n32).map(|_| Some(random.below(1000) < share)),
        ))
    };
    let holes: ArrayRef = {
        let mut random = Random(5);
        let value = |random: &mut Random| (random.below(10) > 0).then(|| cents(random));
        Arc::new(Float64Array::from_iter(
            (0..n64).map(|_| value(&mut random)),
        ))
    };
    let flags: ArrayRef = Arc::new(BooleanArray::from_iter(long.iter().scan(
        (0, false),
        |(before, flag), value| {
            *flag ^= *before != *value;
            *before = *value;
            Some(Some(*flag))
        },
    )));
    let array = |values: &[u32]| -> ArrayRef { Arc::new(UInt32Array::from(values.to_vec())) };
    let skewed = |random: &mut Random| {
        if random.below(20) > 0 {
            7
        } else {
            random.next() as u32
        }
    };
    let tailed = |random: &mut Random| {
        random.below(200) as u32 >> random.below(2) << (random.below(40) / 38 * 12)
    };
    let rare = |random: &mut Random| {
        if random.below(100) > 0 {
            random.below(2048)
        } else {
            random.below(1 << 30)
        }
    };
    Ok(vec![
        ("plain, u32", "plain", Words, u32s(&|r| r.next() as u32)),
        (
            "bitpack, u32 of 11 bits",
            "bitpack",
            Words,
            u32s(&|r| r.below(2048) as u32),
        ),
        (
            "bitpack, u32 of 27 bits",
            "bitpack",
            Words,
            u32s(&|r| r.below(1 << 27) as u32),
        ),
        (
            "bitpack, u64 of 40 bits",
            "bitpack",
            Words,
            u64s(&|r| r.below(1 << 40)),
        ),
        ("bitpack, u8 of 5 bits", "bitpack", Words, {
            let mut random = Random(1);
            Arc::new(UInt8Array::from_iter_values(
                (0..4 * n32).map(|_| random.below(32) as u8),
            ))
        }),
        (
            "frame of reference, u32 of 11 bits",
            "frame_of_reference",
            Words,
            { u32s(&|r| 1_000_000 + r.below(2048) as u32) },
        ),
        (
            "frame of reference, 1% exceptions",
            "frame_of_reference",
            Words,
            u32s(&|r| 1_000_000 + rare(r) as u32),
        ),
        ("delta, u32 in steps of 0 to 15", "delta", Words, sorted),
        ("delta, times in microseconds", "delta", Words, times),
        ("run-end, u32, runs of 8", "run_end", Words, array(&short)),
        ("run-end, u32, runs of 100", "run_end", Words, array(&long)),
        (
            "repeat, u32, matches of 30",
            "repeat",
            Words,
            array(&repeated),
        ),
        ("repeat, u16, matches of 30", "repeat", Words, {
            Arc::new(UInt16Array::from_iter_values(
                repeated.iter().map(|v| *v as u16),
            ))
        }),
        ("constant, u32", "constant", Words, u32s(&|_| 7)),
        (
            "frequency, u32, 95% one value",
            "frequency",
            Words,
            u32s(&skewed),
        ),
        ("escape, u32 with a tail", "escape", Words, u32s(&tailed)),
        (
            "Stream VByte, u32 of 11 bits",
            "stream_vbyte",
            Words,
            u32s(&|r| r.below(2048) as u32),
        ),
        (
            "VByte, u32 of 11 bits",
            "vbyte",
            Words,
            u32s(&|r| r.below(2048) as u32),
        ),
        ("ALP, cents", "alp", Words, f64s(&cents)),
        ("ALP, cents, one in ten NULL", "alp", Words, holes),
        (
            "ALP-RD, random doubles",
            "alp_rd",
            Words,
            f64s(&|r| (r.next() >> 11) as f64 / (1u64 << 53) as f64),
        ),
        (
            "fixed point, sixteenths",
            "fixed_point",
            Words,
            f64s(&|r| r.below(1 << 20) as f64 / 16.0),
        ),
        ("pseudodecimal, cents", "pseudodecimal", Words, f64s(&cents)),
        ("pco, cents", "pco", Words, f64s(&cents)),
        (
            "dictionary, 1,000 doubles",
            "dictionary",
            Words,
            f64s(&|r| numbers[r.below(1000) as usize]),
        ),
        (
            "dictionary, 256 strings, as views",
            "dictionary",
            Views,
            of_words(nviews),
        ),
        (
            "dictionary, 256 strings, copied",
            "dictionary",
            Strings,
            of_words(nviews),
        ),
        (
            "constant, strings, as views",
            "constant",
            Views,
            strings(nviews, |_| "a string of 23 letters".to_owned()),
        ),
        ("OnPair, comments", "onpair", Strings, comments.clone()),
        ("OnPair, first names", "onpair", Strings, tokens.clone()),
        (
            "OnPair, comments, as views",
            "onpair",
            Views,
            comments.clone(),
        ),
        ("FSST, comments", "fsst", Strings, comments.clone()),
        ("FSST, first names", "fsst", Strings, tokens),
        (
            "front coding, sorted URLs",
            "front_coding",
            Strings,
            sort(&urls, None)?,
        ),
        ("alphabet, DNA", "alphabet", Strings, {
            strings(1 << 13, |r| {
                (0..20)
                    .map(|_| char::from(b"ACGT"[r.below(4) as usize]))
                    .collect()
            })
        }),
        ("text, numbers of 1 to 7 digits", "text", Strings, {
            strings(n64, |r| {
                (r.below(10_000_000) >> (4 * r.below(3))).to_string()
            })
        }),
        ("text, dates", "text", Strings, {
            strings(nviews, |r| {
                format!(
                    "{}-{:02}-{:02}",
                    1990 + r.below(40),
                    1 + r.below(12),
                    1 + r.below(28)
                )
            })
        }),
        ("text, UUIDs", "text", Strings, uuids),
        ("Zstd, comments", "zstd", Strings, comments.clone()),
        ("LZ4, comments", "lz4", Strings, comments),
        ("bitmap, half set", "bitmap", Bits, bools(500)),
        ("Roaring, 1% set", "roaring", Bits, bools(10)),
        ("run-end, bits, runs of 100", "run_end", Bits, flags),
    ])
}

/// A case, encoded.
pub struct Encoded {
    pub name: &'static str,
    encoding: &'static str,
    way: Way,
    rows: usize,
    bytes: Bytes,
    /// Bytes of what is decoded.
    pub output: usize,
    /// Bytes of the column.
    encoded: u64,
    tree: Option<String>,
}

impl Encoded {
    fn new((name, encoding, way, array): Case, mut options: WriteOptions) -> Result<Self> {
        let rows = array.len();
        let batch = RecordBatch::try_from_iter([("x", array.clone())])?;
        let table = Table {
            name: String::new(),
            schema: batch.schema(),
            batches: vec![batch],
        };
        options.block_rows = rows.next_multiple_of(1024);
        options
            .encodings
            .push(("x".to_owned(), encoding.to_owned()));
        let bytes = Bytes::from(table.write(&options)?.0);
        let file = staffa::File::from_bytes(bytes.clone())?;
        let every: Vec<u64> = (0..rows as u64).collect();
        assert_eq!(file.take(&every).read()?.column(0), &array, "{name}");
        let explained = file.explain()?;
        let leaf = explained.first().ok_or("no column")?;
        let tree = leaf
            .blocks
            .first()
            .and_then(|block| block.values.as_ref().map(ToString::to_string));
        let output = match way {
            Views => 16 * rows,
            Strings => OpenColumn::new(&file, "x")?.string_bytes(0),
            Bits => rows.div_ceil(8),
            Words => {
                rows * array
                    .data_type()
                    .primitive_width()
                    .ok_or("words expected")?
            }
        };
        Ok(Self {
            name,
            encoding,
            way,
            rows,
            bytes,
            output,
            encoded: leaf.bytes,
            tree,
        })
    }

    /// By a file that keeps no block from before.
    pub fn open(&self) -> Result<OpenColumn> {
        let column = OpenColumn::new(&staffa::File::from_bytes(self.bytes.clone())?, "x")?;
        assert_eq!(column.lens(), [self.rows], "{}", self.name);
        Ok(column)
    }

    pub fn decoder(&self) -> Decoder {
        Decoder::new(self.way, self.output, self.rows)
    }
}

/// Memory that is decoded to: of the pool, as a scan's, so it begins with a cache line.
pub struct Decoder {
    way: Way,
    width: usize,
    out: PoolBuf,
    lengths: Vec<u32>,
}

impl Decoder {
    fn new(way: Way, bytes: usize, rows: usize) -> Self {
        // Strings may be written to a little beyond their end.
        Self {
            way,
            width: bytes / rows,
            out: memory(bytes + 64),
            lengths: vec![0; rows],
        }
    }

    pub fn decode(&mut self, column: &mut OpenColumn) -> Result<()> {
        let rows = self.lengths.len();
        match (self.way, self.width) {
            (Words, 1) => column.words(0, &mut self.out.words_mut::<u8>()[..rows])?,
            (Words, 2) => column.words(0, &mut self.out.words_mut::<u16>()[..rows])?,
            (Words, 4) => column.words(0, &mut self.out.words_mut::<u32>()[..rows])?,
            (Words, _) => column.words(0, &mut self.out.words_mut::<u64>()[..rows])?,
            (Strings, _) => drop(column.strings(0, &mut self.lengths, self.out.as_mut_slice())?),
            (Views, _) => column.views(0)?,
            (Bits, _) => drop(std::hint::black_box(column.bits(0)?)),
        }
        Ok(())
    }
}

/// So many bytes that are written to once, as memory that is used again has been.
pub fn memory(bytes: usize) -> PoolBuf {
    let mut memory = PoolBuf::new(bytes).expect("memory");
    memory.as_mut_slice().fill(1);
    memory
}
