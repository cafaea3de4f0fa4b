//! Output GB/s of each kernel beside memcpy of the same output: 1,024 values in L1, strings in L2.
//!
//! `cargo bench -p staffa-kernels`; `cargo bench -p staffa-kernels -- unpack` for some of them.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use staffa_kernels::{
    BytesDict, FsstTable, Int, Packed, Piece, PoolBuf, Repeated, Repeats, Text, TextRows, VECTOR,
    Word, copy_repeats, fill_past_cache, fill_runs, gather, join_prefixes, lengths_to_offsets_i32,
    max_u32, pack, pack_tail, positions, prefix_sum, sum_u32, unpack, unpack_prefix_sum,
    unpack_tail,
};
use std::hint::black_box;
use std::time::Duration;

/// xorshift64*.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}

fn measure(c: &mut Criterion, name: &str, output_bytes: usize, mut kernel: impl FnMut()) {
    let mut group = c.benchmark_group("kernels");
    group.throughput(Throughput::Bytes(output_bytes as u64));
    group.bench_function(name, |b| b.iter(&mut kernel));
    group.finish();
}

fn ints<T: Int>(c: &mut Criterion, widths: &[u32]) {
    let mut rng = Rng(7);
    let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
    let mut out = vec![T::ZERO; VECTOR];
    let bytes = VECTOR * T::BYTES;
    let name = format!("u{}", T::BITS);
    measure(c, &format!("memcpy {name}"), bytes, || {
        black_box(&mut out).copy_from_slice(black_box(&values))
    });
    for &width in widths {
        let (mut packed, mut tail) = (Vec::new(), Vec::new());
        pack(&values, width, &mut packed);
        pack_tail(&values, width, &mut tail);
        measure(c, &format!("unpack {name} {width} bits"), bytes, || {
            assert!(unpack(
                black_box(&packed),
                width,
                T::from_u64(3),
                black_box(&mut out)
            ));
        });
        if width == widths[0] {
            measure(
                c,
                &format!("unpack_tail {name} {width} bits"),
                bytes,
                || {
                    assert!(unpack_tail(
                        black_box(&tail),
                        width,
                        T::from_u64(3),
                        black_box(&mut out)
                    ));
                },
            );
            measure(c, &format!("pack {name} {width} bits"), bytes, || {
                packed.clear();
                assert!(pack(black_box(&values), width, black_box(&mut packed)));
            });
        }
    }
    for width in [4, 5] {
        let mut packed = Vec::new();
        pack(&values, width, &mut packed);
        let differences = Packed {
            packed: &packed,
            width,
            base: T::ZERO,
        };
        measure(
            c,
            &format!("unpack_prefix_sum {name} {width} bits"),
            bytes,
            || {
                assert!(unpack_prefix_sum(
                    black_box(differences),
                    T::from_u64(3),
                    black_box(&mut out)
                ));
            },
        );
    }
    measure(c, &format!("prefix_sum {name}"), bytes, || {
        prefix_sum(T::from_u64(3), black_box(&mut out))
    });
}

fn words<T: Word>(c: &mut Criterion, name: &str, word: impl Fn(u64) -> T) {
    let mut rng = Rng(7);
    let mut out = vec![T::default(); VECTOR];
    let bytes = VECTOR * T::BYTES;
    for entries in [1000, 60_000] {
        let dict: Vec<T> = (0..entries).map(|_| word(rng.next())).collect();
        let codes: Vec<u32> = (0..VECTOR).map(|_| (rng.next() % entries) as u32).collect();
        measure(c, &format!("gather {name} of {entries}"), bytes, || {
            assert!(gather(
                black_box(&dict),
                black_box(&codes),
                black_box(&mut out)
            ));
        });
    }
    for average in [2, 8, 100] {
        let mut end = 0;
        let ends: Vec<u32> = (0..VECTOR)
            .map(|_| {
                end += 1 + (rng.next() % (2 * average - 1)) as u32;
                end
            })
            .collect();
        let values: Vec<T> = ends.iter().map(|_| word(rng.next())).collect();
        let near = ends.partition_point(|&end| end <= 300);
        measure(c, &format!("fill_runs {name} of {average}"), bytes, || {
            assert!(
                fill_runs(
                    black_box(&values),
                    black_box(&ends),
                    300,
                    near,
                    black_box(&mut out)
                )
                .is_some()
            );
        });
    }
}

/// Blocks of 65,536 values, put together from what came before.
fn repeats<T: Word>(c: &mut Criterion, name: &str, word: impl Fn(u64) -> T) {
    const LEN: usize = 65_536;
    let mut rng = Rng(7);
    let mut out = vec![T::default(); LEN];
    let values: Vec<T> = (0..LEN).map(|_| word(rng.next())).collect();
    measure(
        c,
        &format!("memcpy of a block, {name}"),
        LEN * T::BYTES,
        || {
            black_box(&mut out).copy_from_slice(black_box(&values));
        },
    );
    let mut cases = vec![
        ("matches of 30 far back", Vec::new()),
        ("matches of 30 near", Vec::new()),
    ];
    for (farthest, (_, case)) in [20_000, 200].into_iter().zip(&mut cases) {
        let mut there = 0;
        while there + 60 < LEN {
            let before = 1 + rng.next() as usize % 4 + if there == 0 { 300 } else { 0 };
            let length = 20 + rng.next() as usize % 21;
            case.push([
                before,
                length,
                1 + rng.next() as usize % (there + before).min(farthest),
            ]);
            there += before + length;
        }
    }
    for (period, name) in [(107, "a period of 107"), (7, "a period of 7")] {
        cases.push((name, vec![[period, LEN - period, period]]));
    }
    for (case, sequences) in cases {
        let [before, lengths, offsets] = [0, 1, 2].map(|part| {
            sequences
                .iter()
                .map(|parts| parts[part] as u32)
                .collect::<Vec<_>>()
        });
        let used: u32 = before.iter().sum();
        let len = (used + lengths.iter().sum::<u32>()) as usize;
        let (literals, out) = (&values[..used as usize], &mut out[..len]);
        measure(
            c,
            &format!("copy_repeats {name}, {case}"),
            len * T::BYTES,
            || {
                let repeats = Repeats {
                    literals: &before,
                    lengths: &lengths,
                    offsets: &offsets,
                };
                assert!(
                    copy_repeats(
                        black_box(literals),
                        repeats,
                        &mut Repeated::default(),
                        black_box(out)
                    )
                    .is_ok()
                );
            },
        );
    }
}

fn strings(c: &mut Criterion) {
    let mut rng = Rng(7);
    for (name, longest) in [("up to 16", 16), ("up to 40", 40)] {
        let mut offsets = vec![0];
        for i in 0..500 {
            offsets.push(offsets[i] + 1 + (rng.next() % longest) as u32);
        }
        let data: Vec<u8> = (0..offsets[500]).map(|_| rng.next() as u8).collect();
        let Some(dict) = BytesDict::new(&offsets, &data) else {
            return;
        };
        let codes: Vec<u32> = (0..VECTOR).map(|_| (rng.next() % 500) as u32).collect();
        let mut lengths = vec![0; VECTOR];
        let mut out = vec![0; 64 * VECTOR];
        let bytes = dict.gathered_bytes(&codes).unwrap_or(0) as usize;
        measure(c, &format!("BytesDict::gather {name}"), bytes, || {
            assert!(
                dict.gather(black_box(&codes), &mut lengths, black_box(&mut out))
                    .is_some()
            );
        });
        let run = vec![codes[0]; VECTOR];
        let run_bytes = dict.gathered_bytes(&run).unwrap_or(0) as usize;
        measure(
            c,
            &format!("BytesDict::gather one, {name}"),
            run_bytes,
            || {
                assert!(
                    dict.gather(black_box(&run), &mut lengths, black_box(&mut out))
                        .is_some()
                );
            },
        );
        measure(
            c,
            &format!("BytesDict::gathered_bytes {name}"),
            bytes,
            || {
                black_box(dict.gathered_bytes(black_box(&codes)));
            },
        );
    }
    // Names in order: they share most of their bytes.
    let prefixes: Vec<u32> = (0..VECTOR)
        .map(|i| if i == 0 { 0 } else { (rng.next() % 6) as u32 })
        .collect();
    let suffixes: Vec<u32> = prefixes
        .iter()
        .map(|_| 5 + (rng.next() % 4) as u32)
        .collect();
    let data: Vec<u8> = (0..suffixes.iter().sum())
        .map(|_| rng.next() as u8)
        .collect();
    let bytes = (prefixes.iter().sum::<u32>() + suffixes.iter().sum::<u32>()) as usize;
    let (mut lengths, mut out) = (suffixes.clone(), vec![0; bytes + 64]);
    measure(c, "join_prefixes", bytes, || {
        lengths.copy_from_slice(&suffixes);
        assert!(
            join_prefixes(
                black_box(&prefixes),
                black_box(&data),
                &mut lengths,
                black_box(&mut out)
            )
            .is_some()
        );
    });
    let lengths: Vec<u32> = (0..VECTOR).map(|_| (rng.next() % 40) as u32).collect();
    let mut offsets = vec![0; VECTOR];
    measure(c, "lengths_to_offsets_i32", 4 * VECTOR, || {
        offsets.copy_from_slice(black_box(&lengths));
        assert!(lengths_to_offsets_i32(5, black_box(&mut offsets)).is_some());
    });
    measure(c, "sum_u32", 4 * VECTOR, || {
        black_box(sum_u32(black_box(&lengths)));
    });
    measure(c, "max_u32", 4 * VECTOR, || {
        black_box(max_u32(black_box(&lengths)));
    });

    let symbols: Vec<_> = (0..255)
        .map(|_| (rng.next().to_le_bytes(), 1 + (rng.next() % 8) as u8))
        .collect();
    let Some(table) = FsstTable::new(&symbols) else {
        return;
    };
    for (name, escapes) in [("no escapes", 0), ("1% escapes", 1), ("10% escapes", 10)] {
        let input: Vec<u8> = (0..16_384)
            .map(|_| {
                if rng.next() % 100 < escapes {
                    255
                } else {
                    (rng.next() % 255) as u8
                }
            })
            .chain([0])
            .collect();
        let mut out = vec![0; 8 * input.len() + 8];
        let bytes = table.decode(&input, &mut out).unwrap_or(0);
        measure(c, &format!("FSST {name}"), bytes, || {
            assert!(
                table
                    .decode(black_box(&input), black_box(&mut out))
                    .is_some()
            );
        });
    }
}

fn text(c: &mut Criterion) {
    let colon = || Piece::Literal(b":".to_vec());
    let time = vec![
        Piece::Fixed(2),
        colon(),
        Piece::Fixed(2),
        colon(),
        Piece::Fixed(2),
    ];
    let hex = |digits| Piece::Hex {
        digits,
        upper: false,
    };
    let uuid = vec![
        hex(8),
        Piece::Literal(b"-2da5-11e8-".to_vec()),
        hex(4),
        Piece::Literal(b"-".to_vec()),
        hex(12),
    ];
    let dot = || Piece::Literal(b".".to_vec());
    let address = vec![
        Piece::Decimal,
        dot(),
        Piece::Decimal,
        dot(),
        Piece::Decimal,
        dot(),
        Piece::Decimal,
    ];
    let amount = vec![
        Piece::Literal(b"$".to_vec()),
        Piece::Grouped,
        dot(),
        Piece::Fixed(2),
    ];
    let cases = [
        ("times, joined", time.clone(), vec![0, 60, 60], 86_400),
        ("times", time, vec![0; 3], 60),
        ("uuids", uuid, vec![0; 3], u64::MAX),
        ("addresses", address, vec![0; 4], 256),
        ("amounts", amount, vec![0, 100], 10_000_000),
    ];
    let (mut rng, codes) = (Rng(7), vec![1; VECTOR]);
    let Some(none) = BytesDict::new(&[0], &[]) else {
        return;
    };
    for (name, pieces, radices, most) in cases {
        let Some(printer) = Text::new(&[(pieces, radices)]) else {
            return;
        };
        let slots: Vec<Vec<u64>> = (0..4)
            .map(|_| (0..VECTOR).map(|_| rng.next() % most).collect())
            .collect();
        let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
        let rows = TextRows {
            codes: &codes,
            slots: &slots,
            others: &none,
            first_other: 0,
        };
        let bytes = printer.printed_bytes(&rows).unwrap_or(0);
        let (mut lengths, mut out) = (vec![0; VECTOR], vec![0; bytes + 64]);
        measure(c, &format!("Text::print {name}"), bytes, || {
            assert!(
                printer
                    .print(black_box(&rows), &mut lengths, black_box(&mut out))
                    .is_some()
            );
        });
        measure(c, &format!("Text::printed_bytes {name}"), bytes, || {
            black_box(printer.printed_bytes(black_box(&rows)));
        });
    }
}

fn pool(c: &mut Criterion) {
    measure(c, "PoolBuf 1 MiB, new and drop", 1 << 20, || {
        black_box(PoolBuf::new(1 << 20));
    });
}

/// Vectors in the L1 cache to 64 MiB that no cache holds.
fn past(c: &mut Criterion) {
    let mut rng = Rng(7);
    let values: Vec<u64> = (0..VECTOR).map(|_| rng.next()).collect();
    let mut out = vec![0u64; 8 << 20];
    let bytes = out.len() * 8;
    measure(c, "memory by plain stores", bytes, || {
        black_box(&mut out)
            .chunks_mut(VECTOR)
            .for_each(|out| out.copy_from_slice(black_box(&values)));
    });
    measure(c, "memory by fill_past_cache", bytes, || {
        let filled = fill_past_cache(black_box(&mut out), |_, out| {
            out.copy_from_slice(black_box(&values));
            Ok::<_, ()>(())
        });
        assert!(filled.is_ok());
    });
}

/// Of 65,536 bits, of which one of so many is set.
fn bits(c: &mut Criterion) {
    let mut rng = Rng(7);
    for among in [1000, 100, 20, 5] {
        let words: Vec<u64> = (0..1024)
            .map(|_| {
                (0..64).fold(0, |w, i| {
                    w | u64::from(rng.next().is_multiple_of(among)) << i
                })
            })
            .collect();
        let all = positions(&words, 0);
        let mut out = all.clone();
        let bytes = all.len() * 4;
        measure(c, &format!("memcpy positions, 1 of {among}"), bytes, || {
            black_box(&mut out).copy_from_slice(&all)
        });
        measure(c, &format!("positions, 1 of {among}"), bytes, || {
            black_box(positions(black_box(&words), 0));
        });
    }
}

fn kernels(c: &mut Criterion) {
    ints::<u8>(c, &[5]);
    ints::<u16>(c, &[11]);
    ints::<u32>(c, &[11, 16, 27]);
    ints::<u64>(c, &[11, 40]);
    words(c, "u16", |v| v as u16);
    words(c, "u32", |v| v as u32);
    words(c, "u64", |v| v);
    words(c, "u128", u128::from);
    repeats(c, "u8", |v| v as u8);
    repeats(c, "u32", |v| v as u32);
    repeats(c, "u64", |v| v);
    strings(c);
    text(c);
    pool(c);
    past(c);
    bits(c);
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(200))
        .nresamples(1000)
        .sample_size(20);
    targets = kernels
}
criterion_main!(benches);
