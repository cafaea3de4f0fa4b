//! Kernels of strings.

use std::hint::black_box;

use criterion::Criterion;
use staffa_kernels::{
    BytesDict, FsstTable, Piece, StringViews, StringsError, Text, TextRows, TokenMatcher, VECTOR,
    ViewStrings, join_prefixes, lengths_to_offsets_i32, lookup_bytes, max_u32, sum_u32,
};

use crate::{Rng, measure};

pub(crate) fn all(c: &mut Criterion) {
    dictionaries(c);
    fronts(c);
    lengths(c);
    fsst(c);
    tokens(c);
    alphabets(c);
    text(c);
}

/// Codes of an alphabet.
fn alphabets(c: &mut Criterion) {
    let mut rng = Rng(7);
    let mut out = vec![0; VECTOR];
    for bytes in [16u8, 62, 128] {
        let table: Vec<u8> = (0..bytes).collect();
        let codes: Vec<u8> = (0..VECTOR)
            .map(|_| (rng.next() % u64::from(bytes)) as u8)
            .collect();
        measure(c, &format!("lookup_bytes of {bytes}"), VECTOR, || {
            lookup_bytes(black_box(&table), black_box(&codes), black_box(&mut out));
        });
    }
}

fn dictionaries(c: &mut Criterion) {
    let mut rng = Rng(7);
    for (name, longest) in [("up to 16", 16), ("up to 40", 40), ("up to 120", 120)] {
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
        let mut out = vec![0; 160 * VECTOR];
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
}

/// Names in order, which share most of their bytes.
fn fronts(c: &mut Criterion) {
    let mut rng = Rng(7);
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
}

fn lengths(c: &mut Criterion) {
    let mut rng = Rng(7);
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
}

fn fsst(c: &mut Criterion) {
    let mut rng = Rng(7);
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

/// The codes of a text of words, by tokens of 2 to 16 letters of which many begin alike.
fn tokens(c: &mut Criterion) {
    let mut rng = Rng(7);
    let letters = b"etaoinshrdlu ";
    let mut words: Vec<Vec<u8>> = letters.iter().map(|letter| vec![*letter]).collect();
    let mut matcher = TokenMatcher::new(letters, 4096);
    while words.len() < 4096 {
        let mut pick = || (rng.next() % words.len() as u64) as usize;
        let pair = [&words[pick()], &words[pick()]].map(Vec::as_slice);
        let word = pair.concat();
        if matcher.add(&word) {
            words.push(word);
        }
    }
    let word = |_| words[(rng.next() % words.len() as u64) as usize].as_slice();
    let text = (0..8192).map(word).collect::<Vec<_>>().concat();
    let mut codes = Vec::new();
    measure(c, "TokenMatcher::codes", text.len(), || {
        codes.clear();
        matcher.codes(black_box(&text), black_box(&mut codes));
    });
}

/// Templates: name, pieces, radices, and a bound of the numbers.
fn templates() -> [(&'static str, Vec<Piece>, Vec<u64>, u64); 10] {
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
    let dash = || Piece::Literal(b"-".to_vec());
    let date = vec![
        Piece::Fixed(4),
        dash(),
        Piece::Fixed(2),
        dash(),
        Piece::Fixed(2),
    ];
    let version = vec![Piece::Decimal, dot(), Piece::Decimal, dot(), Piece::Decimal];
    let hour = vec![Piece::Literal(b"T".to_vec()), Piece::Fixed(2)];
    let of_hour = || [Piece::Literal(b":".to_vec()), Piece::Fixed(2)].to_vec();
    let milliseconds = vec![dot(), Piece::Fixed(3)];
    let moment = [date.clone(), hour, of_hour(), of_hour(), milliseconds].concat();
    let amount = vec![
        Piece::Literal(b"$".to_vec()),
        Piece::Grouped,
        dot(),
        Piece::Fixed(2),
    ];
    [
        ("times, joined", time.clone(), vec![0, 60, 60], 86_400),
        ("times", time, vec![0; 3], 60),
        ("uuids", uuid, vec![0; 3], 1 << 16),
        (
            "addresses, joined",
            address.clone(),
            vec![0, 256, 256, 256],
            1 << 32,
        ),
        ("addresses", address, vec![0; 4], 256),
        ("amounts", amount, vec![0, 100], 10_000_000),
        ("numbers", vec![Piece::Decimal], vec![0], 1_000_000),
        ("dates, joined", date, vec![0, 13, 32], 2_030 * 13 * 32),
        ("versions, joined", version, vec![0, 30, 100], 90_000),
        (
            "moments, joined",
            moment,
            vec![0, 13, 32, 24, 60, 60, 1000],
            2_030 * 13 * 32 * 86_400_000,
        ),
    ]
}

fn text(c: &mut Criterion) {
    let (mut rng, codes) = (Rng(7), vec![1; VECTOR]);
    let Some(none) = BytesDict::new(&[0], &[]) else {
        return;
    };
    for (name, pieces, radices, most) in templates() {
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
        measure(c, &format!("views of text, {name}"), 16 * VECTOR, || {
            assert!(views_of(&printer, black_box(&rows), bytes).is_ok());
        });
    }
    signed(c, &none);
}

/// Views of text, made directly where they hold all rows.
fn views_of(
    printer: &Text,
    rows: &TextRows<'_>,
    bytes: usize,
) -> Result<StringViews, StringsError> {
    let mut views = StringViews::new(VECTOR, true).ok_or(StringsError::Long)?;
    for slot in views.slots([VECTOR]).iter_mut().flatten() {
        let mut strings = ViewStrings::new(slot, bytes).ok_or(StringsError::Long)?;
        if !strings.push_text(printer, rows)? {
            strings.push(VECTOR, |lengths, out| {
                let printed = printer.print(rows, lengths, out);
                printed.ok_or(StringsError::Long)
            })?;
        }
        strings.finish(VECTOR, None)?;
    }
    Ok(views)
}

/// Coordinates: rows of two templates in any order, with a sign and without.
fn signed(c: &mut Criterion, none: &BytesDict) {
    let mut rng = Rng(7);
    let degrees = [
        Piece::Decimal,
        Piece::Literal(b".".to_vec()),
        Piece::Fixed(6),
    ];
    let negative = [&[Piece::Literal(b"-".to_vec())], degrees.as_slice()].concat();
    let radices = vec![0, 1_000_000];
    let templates = [(degrees.to_vec(), radices.clone()), (negative, radices)];
    let Some(printer) = Text::new(&templates) else {
        return;
    };
    let codes: Vec<u8> = (0..VECTOR).map(|_| 1 + (rng.next() % 2) as u8).collect();
    let numbers: Vec<u64> = (0..VECTOR).map(|_| rng.next() % 180_000_000).collect();
    let rows = TextRows {
        codes: &codes,
        slots: &[&numbers],
        others: none,
        first_other: 0,
    };
    let bytes = printer.printed_bytes(&rows).unwrap_or(0);
    let (mut lengths, mut out) = (vec![0; VECTOR], vec![0; bytes + 64]);
    measure(c, "Text::print coordinates", bytes, || {
        let printed = printer.print(black_box(&rows), &mut lengths, black_box(&mut out));
        assert!(printed.is_some());
    });
    measure(c, "views of text, coordinates", 16 * VECTOR, || {
        assert!(views_of(&printer, black_box(&rows), bytes).is_ok());
    });
}
