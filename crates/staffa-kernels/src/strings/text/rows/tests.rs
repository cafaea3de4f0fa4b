#[cfg(target_arch = "x86_64")]
use super::super::block::MOST_BLOCKS;
use super::super::digits::{POWERS, digits};
use super::super::template::WIDE;
use super::*;
use crate::simd::dispatch::testing::on_every_level;
#[cfg(target_arch = "aarch64")]
use crate::simd::{Level, level};
use crate::strings::dict::BytesDict;
use crate::strings::inline::inline_view;
use crate::testing::Rng;

mod parts;

/// The plain twin.
fn scalar(pieces: &[Piece], fields: &[u64]) -> Option<String> {
    let (mut out, mut fields) = (String::new(), fields.iter().copied());
    for piece in pieces {
        match piece {
            Piece::Literal(bytes) => out += std::str::from_utf8(bytes).unwrap(),
            Piece::Decimal => out += &fields.next()?.to_string(),
            Piece::Fixed(digits) => {
                let padded = format!("{:020}", fields.next()?);
                out += &padded[20 - usize::from(*digits)..];
            }
            Piece::Grouped => {
                let plain = fields.next()?.to_string();
                for (i, digit) in plain.chars().enumerate() {
                    if i > 0 && (plain.len() - i) % 3 == 0 {
                        out.push(',');
                    }
                    out.push(digit);
                }
            }
            Piece::Hex { digits, upper } => {
                let padded = format!("{:016x}", fields.next()?);
                let shown = &padded[16 - usize::from(*digits)..];
                out += &if *upper {
                    shown.to_uppercase()
                } else {
                    shown.to_owned()
                };
            }
            Piece::Word(words) => {
                let word = words.get(usize::try_from(fields.next()?).unwrap())?;
                out += std::str::from_utf8(word).unwrap();
            }
        }
    }
    Some(out)
}

fn number(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => POWERS[rng.below(20)],
        1 => POWERS[rng.below(20)] - 1,
        _ => rng.next() >> rng.below(64),
    }
}

fn piece(rng: &mut Rng) -> Piece {
    match rng.below(6) {
        0 => Piece::Literal((0..rng.below(40)).map(|i| b'a' + i as u8 % 26).collect()),
        1 => Piece::Decimal,
        2 => Piece::Fixed(1 + rng.below(18) as u8),
        3 => Piece::Grouped,
        4 => Piece::Hex {
            digits: 1 + rng.below(16) as u8,
            upper: rng.below(2) == 0,
        },
        _ => Piece::Word((0..3).map(|i| vec![b'A' + i; rng.below(17)]).collect()),
    }
}

/// A field for each piece that is not a literal.
fn fields(rng: &mut Rng, pieces: &[Piece]) -> Vec<u64> {
    let fields = pieces.iter().filter_map(|piece| match piece {
        Piece::Literal(_) => None,
        Piece::Word(_) => Some(rng.below(3) as u64),
        _ => Some(number(rng)),
    });
    fields.collect()
}

fn agree(text: &Text, rows: &TextRows<'_>, expected: &[String]) {
    let (whole, count) = (expected.concat(), rows.codes.len());
    assert_eq!(text.printed_bytes(rows), Some(whole.len()));
    for slack in [0, 1, 8, 200] {
        let (mut lengths, mut out) = (vec![0; count], vec![0; whole.len() + slack]);
        assert_eq!(text.print(rows, &mut lengths, &mut out), Some(whole.len()));
        assert_eq!(std::str::from_utf8(&out[..whole.len()]).unwrap(), whole);
        let wanted = expected.iter().map(|row| row.len() as u32);
        assert!(wanted.eq(lengths));
    }
    if !whole.is_empty() {
        let (mut lengths, mut out) = (vec![0; count], vec![0; whole.len() - 1]);
        assert_eq!(text.print(rows, &mut lengths, &mut out), None);
    }
    let mut views = vec![u128::MAX; count];
    if let Some(bytes) = text.inline_views(rows, &mut views) {
        assert_eq!(bytes, whole.len());
        let expected = expected.iter().map(|row| inline_view(row.as_bytes()));
        assert!(expected.eq(views.iter().copied().map(Some)));
        assert_eq!(text.inline_views(rows, &mut views[1..]), None);
    }
}

/// Whether views hold rows of one template, of which a number is `number`, the others 0.
fn are_inline(pieces: &[Piece], radices: &[u64], number: u64) -> bool {
    let text = Text::new(&[(pieces.to_vec(), radices.to_vec())]).unwrap();
    let (mut slots, codes) = (vec![vec![0; 100]; 2], [1; 100]);
    slots[0][70] = number;
    let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
    let rows = TextRows {
        codes: &codes,
        slots: &slots,
        others: &BytesDict::new(&[0], b"").unwrap(),
        first_other: 0,
    };
    let found = text.inline_views(&rows, &mut [0; 100]);
    assert!(found.is_none() || found == text.printed_bytes(&rows));
    found.is_some()
}

#[test]
fn views_hold_short_rows_of_ascii() {
    let literal = |text: &str| Piece::Literal(text.as_bytes().to_vec());
    on_every_level(|| {
        let has_shuffles = cfg!(target_arch = "aarch64") || level() > Level::Baseline;
        let date = [
            Piece::Fixed(4),
            literal("-"),
            Piece::Fixed(2),
            literal("-"),
            Piece::Fixed(2),
        ];
        assert_eq!(
            are_inline(&date, &[0, 13, 32], 2020 * 13 * 32),
            has_shuffles
        );
        let amount = [literal("$"), Piece::Decimal, literal("."), Piece::Fixed(2)];
        let longest = 12_345_678 * 100;
        assert_eq!(are_inline(&amount, &[0, 100], longest), has_shuffles);
        assert!(!are_inline(&amount, &[0, 100], longest * 10));
        assert!(!are_inline(&[literal("\u{20ac}"), Piece::Decimal], &[0], 7));
        // Numbers of which each has digits of its own.
        let two = [Piece::Decimal, literal(":"), Piece::Decimal];
        assert!(!are_inline(&two, &[0, 0], 7));
    });
}

#[test]
fn rows_agree_with_the_scalar_twin() {
    on_every_level(|| {
        let mut rng = Rng(0x5eed);
        for _ in 0..300 {
            let templates: Vec<(Vec<Piece>, Vec<u64>)> = (0..=rng.below(3))
                .map(|_| (0..rng.below(7)).map(|_| piece(&mut rng)).collect())
                .map(|pieces: Vec<Piece>| {
                    let fields = pieces.iter().filter(|p| !matches!(p, Piece::Literal(_)));
                    let radices = vec![0; fields.count()];
                    (pieces, radices)
                })
                .collect();
            let text = Text::new(&templates).unwrap();
            let others = BytesDict::new(&[0, 0, 5, 9], b"otherones").unwrap();
            let mut left = ["other", "ones"].into_iter();
            let (mut codes, mut expected) = (Vec::new(), Vec::new());
            let mut slots = vec![Vec::new(); 7];
            for _ in 0..rng.below(40) {
                let code = rng.below(templates.len() + 1);
                if code > 0 {
                    let pieces = &templates[code - 1].0;
                    let row = fields(&mut rng, pieces);
                    expected.push(scalar(pieces, &row).unwrap());
                    row.iter()
                        .zip(&mut slots)
                        .for_each(|(value, slot)| slot.push(*value));
                } else if let Some(other) = left.next() {
                    expected.push(other.to_owned());
                } else {
                    continue;
                }
                codes.push(code as u8);
            }
            let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
            let (codes, slots) = (codes.as_slice(), slots.as_slice());
            let rows = TextRows {
                codes,
                slots,
                others: &others,
                first_other: 1,
            };
            agree(&text, &rows, &expected);
        }
    });
}

/// A template that tiles may print, and for each of its fields the first number that it has not.
fn of_digits(rng: &mut Rng) -> (Vec<Piece>, Vec<u64>, Vec<u64>) {
    let (mut pieces, mut radices, mut below) = (Vec::new(), Vec::new(), Vec::new());
    let (upper, mut product) = (rng.below(2) == 0, 1u128);
    for i in 0..=rng.below(4) {
        pieces.push(Piece::Literal(
            rng.bytes(20)[..rng.below(20)]
                .iter()
                .map(|b| b'a' + b % 26)
                .collect(),
        ));
        let digits = 1 + rng.below(6) as u8;
        pieces.push(match rng.below(12) {
            0 => Piece::Grouped,
            1 | 2 => Piece::Hex { digits, upper },
            3 | 4 => Piece::Decimal,
            _ => Piece::Fixed(digits),
        });
        let power = match pieces.last() {
            Some(Piece::Hex { .. }) => 1 << (4 * digits),
            Some(Piece::Fixed(_)) => POWERS[usize::from(digits)],
            _ => POWERS[1 + rng.below(17)],
        };
        // Now and then a field has more digits than it prints.
        let power = if rng.below(40) == 0 {
            power * 10
        } else {
            power
        };
        let own = if rng.below(2) == 0 {
            power
        } else {
            1 + rng.next() % power
        };
        let is_joined = i > 0 && product * u128::from(own) < 1 << 63 && rng.below(2) == 0;
        let most = if is_joined { own } else { power };
        product = if is_joined { product } else { 1 } * u128::from(most);
        radices.push(if is_joined { own } else { 0 });
        below.push(most);
    }
    pieces.push(Piece::Literal(vec![b'.'; rng.below(3)]));
    (pieces, radices, below)
}

/// Rows of templates of digits, and the strings that they are.
#[test]
fn rows_of_digits_agree_with_the_scalar_twin() {
    on_every_level(|| {
        let (mut rng, mut by_tiles) = (Rng(0x5eed), 0);
        for round in 0..400 {
            let templates: Vec<_> = (0..=rng.below(2)).map(|_| of_digits(&mut rng)).collect();
            let own = templates
                .iter()
                .map(|(pieces, radices, _)| (pieces.clone(), radices.clone()));
            let text = Text::new(&own.collect::<Vec<_>>()).unwrap();
            by_tiles += usize::from(Tiles::new(&text.templates).is_some());
            let others = BytesDict::new(&[0, 5, 5, 9], b"otherones").unwrap();
            let mut left = ["other", "", "ones"].into_iter();
            let (mut codes, mut expected) = (Vec::new(), Vec::new());
            let mut slots: Vec<Vec<u64>> = vec![Vec::new(); 4];
            for _ in 0..rng.below(200) {
                let code = if round % 2 == 0 {
                    1
                } else {
                    rng.below(templates.len() + 1)
                };
                if code == 0 {
                    let Some(other) = left.next() else { continue };
                    expected.push(other.to_owned());
                } else {
                    let (pieces, radices, below) = &templates[code - 1];
                    let row: Vec<u64> = below.iter().map(|most| rng.next() % most).collect();
                    expected.push(scalar(pieces, &row).unwrap());
                    let mut slot = 0;
                    for (value, radix) in row.iter().zip(radices) {
                        if *radix == 0 {
                            slots[slot].push(*value);
                            slot += 1;
                        } else {
                            let joined = slots[slot - 1].last_mut().unwrap();
                            *joined = *joined * radix + value % radix;
                        }
                    }
                }
                codes.push(code as u8);
            }
            let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
            let rows = TextRows {
                codes: &codes,
                slots: &slots,
                others: &others,
                first_other: 0,
            };
            agree(&text, &rows, &expected);
        }
        assert!(by_tiles > 150, "{by_tiles}");
    });
}

/// Rows longer than a byte counts, of templates in turn.
#[test]
fn long_rows_have_their_lengths() {
    on_every_level(|| {
        let literal = |len: usize| Piece::Literal(vec![b'x'; len]);
        let templates = [
            vec![literal(300), Piece::Decimal],
            vec![literal(3), Piece::Decimal],
        ];
        let text = Text::new(&templates.clone().map(|pieces| (pieces, vec![0]))).unwrap();
        let codes: Vec<u8> = (0..130).map(|i| 1 + i % 2).collect();
        let numbers: Vec<u64> = (0..130).map(|i| i * i * i).collect();
        let rows = codes.iter().zip(&numbers);
        let row =
            |(code, number): (&u8, &u64)| scalar(&templates[usize::from(*code) - 1], &[*number]);
        let expected: Vec<String> = rows.map(|row_of| row(row_of).unwrap()).collect();
        let rows = TextRows {
            codes: &codes,
            slots: &[&numbers],
            others: &BytesDict::new(&[0], b"").unwrap(),
            first_other: 0,
        };
        agree(&text, &rows, &expected);
        assert!(!text.may_be_inline());
    });
}

/// Of some blocks all rows fit into the first columns of their template; of others some need more.
#[test]
fn rows_of_few_digits_need_fewer_columns() {
    on_every_level(|| {
        let mut rng = Rng(0xc015);
        for literal in [1, 14, 15, 16, 30, 33] {
            let pieces = vec![
                Piece::Decimal,
                Piece::Literal(vec![b'.'; literal]),
                Piece::Fixed(2),
            ];
            let text = Text::new(&[(pieces.clone(), vec![0, 100])]).unwrap();
            let mut numbers: Vec<u64> = (0..640).map(|_| rng.next() % 10_000_000).collect();
            for row in [130, 200, 300, 401] {
                numbers[row] = POWERS[rng.below(16)] - 1;
            }
            numbers[500..564].fill(12_345);
            let row = |number: &u64| scalar(&pieces, &[number / 100, number % 100]).unwrap();
            let expected: Vec<String> = numbers.iter().map(row).collect();
            let rows = TextRows {
                codes: &[1; 640],
                slots: &[&numbers],
                others: &BytesDict::new(&[0], b"").unwrap(),
                first_other: 0,
            };
            agree(&text, &rows, &expected);
        }
    });
}

/// Small numbers with few bytes between them, each of a slot of its own, or all of one: a row of up to 16
/// bytes has a tile of its own.
#[test]
fn addresses_agree_with_the_scalar_twin() {
    let literal = |len: usize| Piece::Literal(vec![b'.'; len]);
    on_every_level(|| {
        let mut rng = Rng(0xadd2);
        for round in 0..120 {
            let is_joined = round % 2 == 1;
            let between = match round % 6 {
                0..2 => [1, 1, 1, 0],
                2 | 3 => [0, 2, 2, 0],
                _ => [round % 5, 3, 0, 1],
            };
            // The first field of sorted addresses has as many digits in all rows, often; others may, too.
            let mut field = |place: usize| match rng.below(6) {
                0 => Piece::Fixed(1 + rng.below(3) as u8),
                1 if place == 0 => Piece::Fixed(3),
                _ => Piece::Decimal,
            };
            let fields = [0, 1, 2, 3].map(&mut field);
            let pieces = fields.into_iter().zip(between);
            let pieces: Vec<Piece> = pieces
                .flat_map(|(field, len)| [field, literal(len)])
                .collect();
            let radix = if is_joined { 256 } else { 0 };
            let text = Text::new(&[(pieces.clone(), vec![0, radix, radix, radix])]).unwrap();
            let digits = pieces.iter().map(|piece| match piece {
                Piece::Literal(bytes) => bytes.len(),
                Piece::Fixed(digits) => usize::from(*digits),
                _ => 3,
            });
            let is_variable = pieces.iter().skip(2).any(|piece| *piece == Piece::Decimal);
            let is_tile = is_variable && digits.sum::<usize>() <= WIDE;
            assert_eq!(Short::new(&text.templates[0]).is_some(), is_tile);
            // Most rows have fields below the bound; of every fourth text one may have any field.
            let most = if is_joined { 256 } else { 1000 };
            let mut rows: Vec<Vec<u64>> = (0..rng.below(300))
                .map(|_| (0..4).map(|_| rng.next() % most).collect())
                .collect();
            if let Some(row) = rows.get_mut(100).filter(|_| round % 4 > 1) {
                row[0] = [999, 1000, (1 << 8) - 1, 1 << 8, 100_000][rng.below(5)];
            }
            let joined = |row: &Vec<u64>| row.iter().fold(0, |all, field| all * 256 + field);
            let slots: Vec<Vec<u64>> = if is_joined {
                vec![rows.iter().map(joined).collect()]
            } else {
                let slot = |slot: usize| rows.iter().map(|row| row[slot]).collect();
                (0..4).map(slot).collect()
            };
            let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
            let expected: Option<Vec<String>> =
                rows.iter().map(|row| scalar(&pieces, row)).collect();
            let rows = TextRows {
                codes: &vec![1; rows.len()],
                slots: &slots,
                others: &BytesDict::new(&[0], b"").unwrap(),
                first_other: 0,
            };
            agree(&text, &rows, &expected.unwrap());
        }
    });
}

/// Templates of the same fields in other widths, of which some have only the first: those that all templates have are
/// digits of one number.
#[test]
fn templates_of_other_widths_agree_with_the_scalar_twin() {
    on_every_level(|| {
        let (mut rng, mut joined) = (Rng(0x1b6), 0);
        for round in 0..200 {
            // Of wide fields each has a register; there are more of them than rows of several templates have.
            let (is_hex, fields, is_wide) = (rng.below(2) == 0, 1 + rng.below(18), round % 5 == 0);
            let mut template = |fields: usize| {
                let pieces = (0..fields).flat_map(|field| {
                    let digits = if is_wide { 9 } else { 1 } + rng.below(4) as u8;
                    let number = match (is_hex, field) {
                        (true, _) => Piece::Hex {
                            digits,
                            upper: false,
                        },
                        (false, 0) if round % 2 == 0 => Piece::Decimal,
                        (false, _) => Piece::Fixed(digits),
                    };
                    [number, Piece::Literal(vec![b':'; rng.below(3)])]
                });
                pieces.collect::<Vec<_>>()
            };
            let mut templates = vec![template(fields), template(fields)];
            if round % 3 == 0 {
                templates.push(template(1 + fields / 2));
            }
            let slots_of = |pieces: &[Piece]| pieces.len() / 2;
            let own = templates.iter();
            let own = own.map(|pieces| (pieces.clone(), vec![0; slots_of(pieces)]));
            let text = Text::new(&own.collect::<Vec<_>>()).unwrap();
            let tiles = Tiles::new(&text.templates).unwrap();
            joined += usize::from(tiles.conversions() < fields);
            let is_fit = round % 4 > 0;
            let others = BytesDict::new(&[0, 5, 5, 9], b"otherones").unwrap();
            let mut left = ["other", "", "ones"].into_iter();
            let (mut codes, mut expected) = (Vec::new(), Vec::new());
            let mut slots: Vec<Vec<u64>> = vec![Vec::new(); fields];
            for _ in 0..rng.below(300) {
                let code = match rng.below(40) {
                    0 => 0,
                    _ => 1 + rng.below(templates.len()),
                };
                if code == 0 {
                    let Some(other) = left.next() else { continue };
                    expected.push(other.to_owned());
                } else {
                    let pieces = &templates[code - 1];
                    // All ones, nines, and now and then more digits than are printed.
                    let mut number = |piece: &Piece| {
                        let most = match piece {
                            Piece::Hex { digits, .. } => 1 << (4 * digits),
                            Piece::Fixed(digits) => POWERS[usize::from(*digits)],
                            Piece::Decimal => 10_000,
                            _ => return None,
                        };
                        Some(match rng.below(400) {
                            0 if !is_fit => most * 7 + 3,
                            n if n % 4 == 0 => most - 1,
                            _ => rng.next() % most,
                        })
                    };
                    let row: Vec<u64> = pieces.iter().filter_map(&mut number).collect();
                    expected.push(scalar(pieces, &row).unwrap());
                    row.iter()
                        .zip(&mut slots)
                        .for_each(|(value, slot)| slot.push(*value));
                }
                codes.push(code as u8);
            }
            let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
            let rows = TextRows {
                codes: &codes,
                slots: &slots,
                others: &others,
                first_other: 0,
            };
            agree(&text, &rows, &expected);
            // Tiles print them, not the steps behind those.
            #[cfg(target_arch = "x86_64")]
            if is_fit && tiles.conversions() <= MOST_BLOCKS && level() > Level::Baseline {
                let (mut lengths, mut out) = (vec![0; codes.len()], vec![0; 1 << 18]);
                let printed = tiles.print(&rows, &mut lengths, &mut out, |digits, tile, place| {
                    // SAFETY: the level has AVX2.
                    unsafe { put_tile(digits, tile, place) };
                });
                assert_eq!(printed, Ok(expected.concat().len()));
            }
        }
        assert!(joined > 100, "{joined}");
    });
}

/// Text of short fields from rows that lack a slot, or numbers of one.
#[test]
fn slots_that_are_not_there_are_refused() {
    let dot = || Piece::Literal(vec![b'.']);
    let pieces = [0; 4].map(|_| [Piece::Decimal, dot()]).concat();
    let text = Text::new(&[(pieces, vec![0; 4])]).unwrap();
    let (numbers, others) = ([7; 20], BytesDict::new(&[0], b"").unwrap());
    let all = [&numbers[..]; 4];
    let short = [&numbers[..], &numbers[..], &numbers[..19], &numbers[..]];
    on_every_level(|| {
        for (slots, expected) in [(&all[..], Some(160)), (&all[..3], None), (&short[..], None)] {
            let rows = TextRows {
                codes: &[1; 20],
                slots,
                others: &others,
                first_other: 0,
            };
            assert_eq!(text.print(&rows, &mut [0; 20], &mut [0; 2000]), expected);
            assert_eq!(text.printed_bytes(&rows), expected);
        }
    });
}

#[test]
fn digits_are_counted() {
    let mut rng = Rng(0x5eed);
    for _ in 0..10_000 {
        let value = number(&mut rng);
        assert_eq!(digits(value), value.to_string().len());
    }
    assert_eq!((digits(0), digits(u64::MAX)), (1, 20));
}

#[test]
fn wrong_rows_are_refused() {
    let others = &BytesDict::new(&[0], b"").unwrap();
    let word = Piece::Word(vec![b"a".to_vec()]);
    let text = Text::new(&[(vec![word], vec![0])]).unwrap();
    for (codes, slot) in [(&[2][..], 0), (&[1], 1), (&[0], 0), (&[1, 1], 0)] {
        let rows = TextRows {
            codes,
            slots: &[&[slot]],
            others,
            first_other: 0,
        };
        let mut lengths = vec![0; codes.len()];
        assert_eq!(text.print(&rows, &mut lengths, &mut [0; 100]), None);
        assert_eq!(text.printed_bytes(&rows), None);
    }
}
