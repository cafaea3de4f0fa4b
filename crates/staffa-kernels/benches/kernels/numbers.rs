//! Kernels of words.

use std::hint::black_box;

use criterion::Criterion;
use staffa_kernels::{
    Int, Packed, PoolBuf, Repeated, Repeats, VECTOR, Word, copy_repeats, expand, fill_past_cache,
    fill_runs, filter, gather, in_range, in_set, pack, pack_tail, positions, prefix_sum,
    replace_escapes, sum_packed, unpack, unpack_decimals_f32, unpack_decimals_f64,
    unpack_prefix_sum, unpack_tail,
};

use crate::{Rng, measure};

pub(crate) fn all(c: &mut Criterion) {
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
    selections::<u16>(c);
    selections::<u32>(c);
    selections::<u64>(c);
    sets(c);
    decimals(c);
    pool(c);
    past(c);
    bits(c);
}

fn ints<T: Int>(c: &mut Criterion, widths: &[u32]) {
    let mut rng = Rng(7);
    let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
    let mut out = vec![T::ZERO; VECTOR];
    let bytes = VECTOR * T::BYTES;
    let name = format!("u{}", T::BITS);
    measure(c, &format!("memcpy {name}"), bytes, || {
        black_box(&mut out).copy_from_slice(black_box(&values));
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
    measure(c, &format!("prefix_sum {name}"), bytes, || {
        prefix_sum(T::from_u64(3), black_box(&mut out));
    });
    packed_sums(c, &name, &values);
}

fn packed_sums<T: Int>(c: &mut Criterion, name: &str, values: &[T]) {
    let (mut out, bytes) = (vec![T::ZERO; VECTOR], VECTOR * T::BYTES);
    for width in [4, 5] {
        let mut packed = Vec::new();
        pack(values, width, &mut packed);
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
    runs(c, name, word);
}

fn runs<T: Word>(c: &mut Criterion, name: &str, word: impl Fn(u64) -> T) {
    let mut rng = Rng(7);
    let mut out = vec![T::default(); VECTOR];
    let bytes = VECTOR * T::BYTES;
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

/// Values of a block.
const LEN: usize = 65_536;

/// Sequences of a block: literals, length and offset.
fn sequences(rng: &mut Rng) -> Vec<(&'static str, Vec<[usize; 3]>)> {
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
    cases
}

/// Blocks put together from sequences.
fn repeats<T: Word>(c: &mut Criterion, name: &str, word: impl Fn(u64) -> T) {
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
    for (case, sequences) in sequences(&mut rng) {
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

fn pool(c: &mut Criterion) {
    measure(c, "PoolBuf 1 MiB, new and drop", 1 << 20, || {
        black_box(PoolBuf::new(1 << 20));
    });
}

/// Vectors in the L1 cache to 64 MiB, which no cache holds.
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

/// Positions in 65,536 bits.
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
            black_box(&mut out).copy_from_slice(&all);
        });
        measure(c, &format!("positions, 1 of {among}"), bytes, || {
            black_box(positions(black_box(&words), 0));
        });
    }
}

/// A vector filtered, expanded, compared and patched; one value in eight is wanted.
fn selections<T: Int>(c: &mut Criterion) {
    let mut rng = Rng(7);
    let name = format!("u{}", T::BITS);
    let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
    let mask: Vec<u64> = (0..VECTOR / 64)
        .map(|_| rng.next() & rng.next() & rng.next())
        .collect();
    let wanted: u32 = mask.iter().map(|word| word.count_ones()).sum();
    let (bytes, mut out) = (VECTOR * T::BYTES, values.clone());
    measure(c, &format!("filter {name}"), bytes, || {
        assert!(filter(black_box(&values), black_box(&mask), black_box(&mut out)).is_some());
    });
    measure(c, &format!("expand {name}"), bytes, || {
        assert!(expand(
            black_box(&mut out),
            wanted as usize,
            black_box(&mask)
        ));
    });
    let mut bits = [0; VECTOR / 64];
    let span = T::MAX >> 3;
    measure(c, &format!("in_range {name}"), bytes, || {
        in_range(black_box(&values), T::ZERO, span, black_box(&mut bits));
    });
    for (bits, share) in [(3, "1 of 8"), (6, "1 of 64")] {
        let low = T::from_u64((1 << bits) - 1);
        let escapes: Vec<T> = values.iter().map(|v| *v & low).collect();
        measure(
            c,
            &format!("replace_escapes {name}, {share}"),
            bytes,
            || {
                out.copy_from_slice(&escapes);
                black_box(replace_escapes(&mut out, T::ZERO, black_box(&values)));
            },
        );
    }
    let mut packed = Vec::new();
    pack(&values, 3, &mut packed);
    measure(c, &format!("sum_packed {name}"), bytes, || {
        black_box(sum_packed::<T>(black_box(&packed), 3));
    });
}

/// Which codes are in a set of so many: as a filter of a dictionary finds them.
fn sets(c: &mut Criterion) {
    let mut rng = Rng(7);
    for entries in [200, 1000, 20_000] {
        let set: Vec<u64> = (0..=entries / 64).map(|_| rng.next()).collect();
        let codes: Vec<u32> = (0..VECTOR).map(|_| (rng.next() % entries) as u32).collect();
        let mut bits = [0; VECTOR / 64];
        measure(c, &format!("in_set of {entries}"), 4 * VECTOR, || {
            in_set(black_box(&codes), black_box(&set), black_box(&mut bits));
        });
    }
}

fn decimals(c: &mut Criterion) {
    let mut rng = Rng(7);
    let values: Vec<u64> = (0..VECTOR).map(|_| rng.next()).collect();
    let (mut packed, mut out) = (Vec::new(), vec![0; VECTOR]);
    pack(&values, 20, &mut packed);
    let digits = Packed {
        packed: &packed,
        width: 20,
        base: 5,
    };
    measure(c, "unpack_decimals_f64", 8 * VECTOR, || {
        assert!(unpack_decimals_f64(
            black_box(digits),
            1.0,
            0.01,
            black_box(&mut out)
        ));
    });
    let mut out = vec![0; VECTOR];
    measure(c, "unpack_decimals_f32", 4 * VECTOR, || {
        assert!(unpack_decimals_f32(
            black_box(digits),
            1.0,
            0.01,
            black_box(&mut out)
        ));
    });
}
