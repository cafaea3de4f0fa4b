//! Templates out of a sample of strings: what is the same in many of them, and where their numbers
//! stand.
//!
//! A string falls into runs (digits, hexadecimal digits, words) and the bytes between them. Strings
//! with the same runs and the same bytes between have one shape. Each run of a shape becomes a
//! field, by what the sample's strings have there; where they are numbers of several widths with
//! leading zeros, the shape falls apart by width.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::ops::Range;

use staffa_kernels::{Piece, TEXT_FIELDS};

use crate::values::Strings;

/// Most templates of a block.
const MOST: usize = 24;
/// Longest string that is looked at.
const LONGEST: usize = 256;
/// Most words that a field has in a sample.
const WORDS: usize = 100;
/// Most words of a field.
const MOST_WORDS: usize = 255;
/// Bytes of a word.
const WORD_BYTES: usize = 16;
/// Decimal digits that a field may have.
const DIGITS: usize = 18;
/// Hexadecimal digits that a field may have.
const HEX_DIGITS: usize = 16;

/// Which runs a string is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Decimal,
    Words,
    Hex { upper: bool },
}

const VIEWS: [View; 4] = [
    View::Decimal,
    View::Words,
    View::Hex { upper: false },
    View::Hex { upper: true },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Digits,
    Hex,
    Word,
}

/// Stands in a shape for a run; no UTF-8 has these bytes.
fn mark(class: Class) -> u8 {
    match class {
        Class::Digits => 0xf9,
        Class::Hex => 0xfa,
        Class::Word => 0xfb,
    }
}

fn span(text: &[u8], start: usize, is: impl Fn(&u8) -> bool) -> usize {
    text.get(start..)
        .unwrap_or_default()
        .iter()
        .take_while(|b| is(b))
        .count()
}

fn is_hex(byte: u8, upper: bool) -> bool {
    byte.is_ascii_digit()
        || if upper {
            matches!(byte, b'A'..=b'F')
        } else {
            matches!(byte, b'a'..=b'f')
        }
}

/// Bytes of a number with a comma before every three digits; 0 where there is none.
fn grouped(text: &[u8]) -> usize {
    let first = span(text, 0, u8::is_ascii_digit);
    if !(1..=3).contains(&first) || text.first() == Some(&b'0') {
        return 0;
    }
    let mut end = first;
    while text.get(end) == Some(&b',') && span(text, end + 1, u8::is_ascii_digit) == 3 {
        end += 4;
    }
    if end > first { end } else { 0 }
}

/// The run that begins at `at`.
fn run(text: &[u8], at: usize, view: View) -> Option<(Class, usize)> {
    let byte = *text.get(at)?;
    if let View::Hex { upper } = view
        && is_hex(byte, upper)
    {
        let len = span(text, at, |b| is_hex(*b, upper));
        let before = text.get(..at).unwrap_or_default();
        let starts =
            !before.last().is_some_and(u8::is_ascii_alphanumeric) || before.ends_with(b"0x");
        let ends = !text.get(at + len).is_some_and(u8::is_ascii_alphanumeric);
        if len >= 2 && starts && ends {
            return Some((Class::Hex, len));
        }
    }
    if byte.is_ascii_digit() {
        let grouped = if at > 0 && text.get(at - 1) == Some(&b',') {
            0
        } else {
            grouped(text.get(at..)?)
        };
        return Some((
            Class::Digits,
            grouped.max(span(text, at, u8::is_ascii_digit)),
        ));
    }
    let word = if view == View::Words {
        span(text, at, u8::is_ascii_alphabetic)
    } else {
        0
    };
    (1..=WORD_BYTES)
        .contains(&word)
        .then_some((Class::Word, word))
}

/// The shape of a string, as a hash, and each of its runs to `found`; `None` for a string that no
/// template can have.
fn shape(text: &[u8], view: View, mut found: impl FnMut(Class, Range<usize>)) -> Option<u64> {
    if text.len() > LONGEST {
        return None;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte >= mark(Class::Digits) {
            return None;
        }
        let len = if let Some((class, len)) = run(text, at, view) {
            add(mark(class));
            found(class, at..at + len);
            len
        } else {
            // All of a word that is none of the runs, or its rest would be looked at again.
            let hex = matches!(view, View::Hex { .. });
            let len = if hex {
                1
            } else {
                span(text, at, u8::is_ascii_alphabetic).max(1)
            };
            text.get(at..at + len)
                .unwrap_or_default()
                .iter()
                .for_each(|b| add(*b));
            len
        };
        at += len;
    }
    Some(hash)
}

/// A string and its runs.
#[derive(Debug, Clone)]
struct Row<'a> {
    text: &'a [u8],
    runs: Vec<(Class, Range<usize>)>,
}

impl<'a> Row<'a> {
    fn field(&self, i: usize) -> &'a [u8] {
        self.runs
            .get(i)
            .and_then(|(_, range)| self.text.get(range.clone()))
            .unwrap_or_default()
    }
}

/// Whether strings look like numbers, dates or identifiers: a few of them are looked at.
pub(super) fn likely(strings: Strings<'_>) -> bool {
    let probes = probes(strings);
    let with_digits = probes
        .iter()
        .filter(|s| s.iter().take(LONGEST).any(u8::is_ascii_digit))
        .count();
    let empty = probes.iter().filter(|s| s.is_empty()).count();
    with_digits > 0
        && (with_digits + empty) * 2 >= probes.len()
        && VIEWS.iter().any(|view| seen(&probes, *view))
}

/// A few strings.
fn probes(strings: Strings<'_>) -> Vec<&[u8]> {
    const PROBES: usize = 48;
    let step = (strings.len() / PROBES).max(1);
    (0..strings.len())
        .step_by(step)
        .take(PROBES)
        .map(|i| strings.get(i))
        .collect()
}

/// Whether some shapes, and some words, come again and again: nearly every name or text has its
/// own.
fn seen(probes: &[&[u8]], view: View) -> bool {
    let mut words: Vec<&[u8]> = Vec::new();
    let mut shapes: Vec<u64> = Vec::new();
    for text in probes {
        shapes.extend(shape(text, view, |class, range| {
            words.extend(text.get(range).filter(|_| class == Class::Word));
        }));
    }
    shapes.sort_unstable();
    let often: usize = shapes
        .chunk_by(|a, b| a == b)
        .map(<[_]>::len)
        .filter(|rows| *rows > 2)
        .sum();
    if often * 2 < probes.len() {
        return false;
    }
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    words.len() * 4 <= all * 3
}

/// Templates that most strings of a sample follow, the most frequent first.
pub(super) fn find(sample: Strings<'_>) -> Vec<Vec<Piece>> {
    let mut best = (0, Vec::new());
    let probes = probes(sample);
    for view in VIEWS
        .into_iter()
        .filter(|view| sample.len() < 8 || seen(&probes, *view))
    {
        let found = find_in(sample, view);
        // A view that finds hardly more is not worth its shapes.
        if found.0 * 20 > best.0 * 21 {
            best = found;
        }
        if best.0 * 20 >= sample.len() * 19 {
            break;
        }
    }
    best.1
}

/// The strings that are covered, and the templates.
fn find_in(sample: Strings<'_>, view: View) -> (usize, Vec<Vec<Piece>>) {
    let mut rows: Vec<(u64, Row<'_>)> = Vec::with_capacity(sample.len());
    for text in sample.iter() {
        let mut runs = Vec::new();
        if let Some(shape) = shape(text, view, |class, range| runs.push((class, range))) {
            rows.push((shape, Row { text, runs }));
        }
    }
    rows.sort_by_key(|(shape, _)| *shape);
    let least = (sample.len() / 100).max(2);
    let mut found: Vec<(usize, Vec<Piece>)> = Vec::new();
    for rows in rows
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|rows| rows.len() >= least)
    {
        resolve(
            rows.iter().map(|(_, row)| row.clone()).collect(),
            least,
            &mut found,
        );
    }
    found.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    found.truncate(MOST);
    (
        found.iter().map(|(rows, _)| rows).sum(),
        found.into_iter().map(|(_, pieces)| pieces).collect(),
    )
}

/// Fields for the runs of strings of one shape.
fn resolve(rows: Vec<Row<'_>>, least: usize, found: &mut Vec<(usize, Vec<Piece>)>) {
    let Some(first) = rows.first().filter(|_| rows.len() >= least) else {
        return;
    };
    let (mut pieces, mut end) = (Vec::new(), 0);
    for (i, (class, range)) in first.runs.iter().enumerate() {
        literal(
            &mut pieces,
            first.text.get(end..range.start).unwrap_or_default(),
        );
        end = range.end;
        let fields = || rows.iter().map(|row| row.field(i));
        let one_width = fields().all(|f| f.len() == range.len());
        let all_digits =
            *class == Class::Digits || fields().all(|f| f.iter().all(u8::is_ascii_digit));
        if *class == Class::Word {
            let mut words: Vec<Vec<u8>> = fields().map(<[u8]>::to_vec).collect();
            words.sort_unstable();
            words.dedup();
            match words.as_slice() {
                [word] => literal(&mut pieces, word),
                _ if words.len() <= WORDS && words.len() * 4 <= rows.len() => {
                    pieces.push(Piece::Word(words));
                }
                _ => return,
            }
            continue;
        }
        let padded = fields()
            .filter(|f| f.len() > 1 && f.starts_with(b"0"))
            .count();
        if all_digits && fields().any(|f| f.contains(&b',')) {
            pieces.push(Piece::Grouped);
        } else if all_digits && padded * 50 <= rows.len() && fields().all(|f| f.len() <= DIGITS) {
            pieces.push(Piece::Decimal);
        } else if one_width {
            let upper = fields().any(|f| f.iter().any(u8::is_ascii_uppercase));
            let most = if all_digits { DIGITS } else { HEX_DIGITS };
            let mut left = range.len();
            while left > 0 {
                let digits = left.min(most);
                pieces.push(if all_digits {
                    Piece::Fixed(digits as u8)
                } else {
                    Piece::Hex {
                        digits: digits as u8,
                        upper,
                    }
                });
                left -= digits;
            }
        } else {
            let mut widths: BTreeMap<usize, Vec<Row<'_>>> = BTreeMap::new();
            for row in rows {
                widths.entry(row.field(i).len()).or_default().push(row);
            }
            widths
                .into_values()
                .for_each(|rows| resolve(rows, least, found));
            return;
        }
    }
    literal(&mut pieces, first.text.get(end..).unwrap_or_default());
    if pieces
        .iter()
        .filter(|p| !matches!(p, Piece::Literal(_)))
        .count()
        <= TEXT_FIELDS
    {
        found.push((rows.len(), pieces));
    }
}

/// Appends bytes that are the same in every row.
pub(super) fn literal(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    match pieces.last_mut() {
        _ if bytes.is_empty() => {}
        Some(Piece::Literal(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Piece::Literal(bytes.to_vec())),
    }
}

/// The fields of a string that these pieces print as it is; what it has of words that the lists
/// lack is added to them.
pub(super) fn parse(pieces: &mut [Piece], mut text: &[u8], fields: &mut Vec<u64>) -> Option<()> {
    fields.clear();
    let mut new_words: Vec<(usize, Vec<u8>)> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let len = match piece {
            Piece::Literal(bytes) => {
                text = text.strip_prefix(bytes.as_slice())?;
                continue;
            }
            Piece::Decimal => {
                let len = span(text, 0, u8::is_ascii_digit);
                if len == 0 || len > DIGITS || len > 1 && text.starts_with(b"0") {
                    return None;
                }
                fields.push(decimal(text.get(..len)?)?);
                len
            }
            Piece::Fixed(digits) => {
                let len = usize::from(*digits);
                fields.push(decimal(text.get(..len)?)?);
                len
            }
            Piece::Grouped => {
                let len = grouped(text).max(span(text, 0, u8::is_ascii_digit).min(4));
                let digits: Vec<u8> = text
                    .get(..len)?
                    .iter()
                    .copied()
                    .filter(|b| *b != b',')
                    .collect();
                let plain = digits.len() == len;
                if len == 0
                    || digits.len() > DIGITS
                    || plain && (len > 3 || len > 1 && text.starts_with(b"0"))
                {
                    return None;
                }
                fields.push(decimal(&digits)?);
                len
            }
            Piece::Hex { digits, upper } => {
                let len = usize::from(*digits);
                let digit = |value: u64, byte: &u8| {
                    is_hex(*byte, *upper)
                        .then(|| value << 4 | u64::from((byte & 15) + 9 * (byte >> 6)))
                };
                fields.push(text.get(..len)?.iter().try_fold(0, digit)?);
                len
            }
            Piece::Word(words) => {
                let len = span(text, 0, u8::is_ascii_alphabetic);
                let word = text.get(..len)?;
                let at = words.iter().position(|w| w == word).unwrap_or(words.len());
                if at == words.len() && (at >= MOST_WORDS || len == 0 || len > WORD_BYTES) {
                    return None;
                }
                if at == words.len() {
                    new_words.push((i, word.to_vec()));
                }
                fields.push(at as u64);
                len
            }
        };
        text = text.get(len..)?;
    }
    if !text.is_empty() {
        return None;
    }
    for (i, word) in new_words {
        if let Some(Piece::Word(words)) = pieces.get_mut(i) {
            words.push(word);
        }
    }
    Some(())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value: u64, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + u64::from(byte - b'0'))
    })
}
