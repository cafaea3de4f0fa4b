//! Templates out of a sample of strings: what is the same in many of them, and where their numbers stand.
//!
//! A string falls into runs (digits, hexadecimal digits, words) and the bytes between them. Strings with the same runs
//! and the same bytes between have one shape. Each run of a shape becomes a field, by what the sample's strings have
//! there; where they are numbers of several widths with leading zeros, the shape falls apart by width.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::HashMap;
use staffa_kernels::{Piece, TEXT_FIELDS};

use crate::values::Strings;

/// Most templates of a block.
const MOST: usize = 24;
/// Longest string that is looked at.
const LONGEST: usize = 256;
/// Most words that a field has in a sample.
const WORDS: usize = 100;
/// Most words of a field.
pub(super) const MOST_WORDS: usize = 255;
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

const VIEWS: [View; 4] = [View::Decimal, View::Words, View::Hex { upper: false }, View::Hex { upper: true }];

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
    text.get(start..).unwrap_or_default().iter().take_while(|b| is(b)).count()
}

fn is_hex(byte: u8, upper: bool) -> bool {
    byte.is_ascii_digit() || if upper { matches!(byte, b'A'..=b'F') } else { matches!(byte, b'a'..=b'f') }
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
        let starts = !before.last().is_some_and(u8::is_ascii_alphanumeric) || before.ends_with(b"0x");
        let ends = !text.get(at + len).is_some_and(u8::is_ascii_alphanumeric);
        if len >= 2 && starts && ends {
            return Some((Class::Hex, len));
        }
    }
    if byte.is_ascii_digit() {
        let grouped = if at > 0 && text.get(at - 1) == Some(&b',') { 0 } else { grouped(text.get(at..)?) };
        return Some((Class::Digits, grouped.max(span(text, at, u8::is_ascii_digit))));
    }
    let word = if view == View::Words { span(text, at, u8::is_ascii_alphabetic) } else { 0 };
    (1..=16).contains(&word).then_some((Class::Word, word))
}

/// A string and its runs.
#[derive(Debug, Clone)]
struct Row<'a> {
    text: &'a [u8],
    runs: Vec<(Class, Range<usize>)>,
}

impl<'a> Row<'a> {
    /// With its shape: the string, each run of it one mark. `None` for a string that no template can have.
    fn new(text: &'a [u8], view: View) -> Option<(Vec<u8>, Self)> {
        let (mut shape, mut runs, mut at) = (Vec::new(), Vec::new(), 0);
        if text.len() > LONGEST {
            return None;
        }
        while let Some(&byte) = text.get(at) {
            if byte >= mark(Class::Digits) {
                return None;
            }
            if let Some((class, len)) = run(text, at, view) {
                shape.push(mark(class));
                runs.push((class, at..at + len));
                at += len;
            } else {
                // All of a word, or its rest would be looked at again.
                let len = span(text, at, u8::is_ascii_alphabetic).max(1);
                let len = if matches!(view, View::Hex { .. }) { 1 } else { len };
                shape.extend_from_slice(text.get(at..at + len)?);
                at += len;
            }
        }
        Some((shape, Self { text, runs }))
    }

    fn field(&self, i: usize) -> &'a [u8] {
        self.runs.get(i).and_then(|(_, range)| self.text.get(range.clone())).unwrap_or_default()
    }
}

/// Whether strings look like numbers, dates or identifiers: a few of them are looked at.
pub(super) fn likely(strings: Strings<'_>) -> bool {
    const PROBES: usize = 48;
    let step = (strings.len() / PROBES).max(1);
    let probes: Vec<&[u8]> = (0..strings.len()).step_by(step).take(PROBES).map(|i| strings.get(i)).collect();
    let with_digits = probes.iter().filter(|s| s.iter().take(LONGEST).any(u8::is_ascii_digit)).count();
    let empty = probes.iter().filter(|s| s.is_empty()).count();
    if with_digits == 0 || (with_digits + empty) * 2 < probes.len() {
        return false;
    }
    VIEWS.iter().skip(1).any(|view| {
        let mut shapes: Vec<Vec<u8>> = probes.iter().filter_map(|s| Some(Row::new(s, *view)?.0)).collect();
        let held = shapes.len();
        shapes.sort_unstable();
        shapes.dedup();
        held * 2 >= probes.len() && shapes.len() * 2 <= held.max(4)
    })
}

/// Templates that most strings of a sample follow, the most frequent first.
pub(super) fn find(sample: Strings<'_>) -> Vec<Vec<Piece>> {
    let mut best = (0, Vec::new());
    for view in VIEWS {
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
    let mut shapes: BTreeMap<Vec<u8>, Vec<Row<'_>>> = BTreeMap::new();
    for string in sample.iter() {
        if let Some((shape, row)) = Row::new(string, view) {
            shapes.entry(shape).or_default().push(row);
        }
    }
    let least = (sample.len() / 100).max(2);
    let mut found: Vec<(usize, Vec<Piece>)> = Vec::new();
    for (_, rows) in shapes {
        resolve(rows, least, &mut found);
    }
    found.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    found.truncate(MOST);
    (found.iter().map(|(rows, _)| rows).sum(), found.into_iter().map(|(_, pieces)| pieces).collect())
}

/// Fields for the runs of strings of one shape.
fn resolve(rows: Vec<Row<'_>>, least: usize, found: &mut Vec<(usize, Vec<Piece>)>) {
    let Some(first) = rows.first().filter(|_| rows.len() >= least) else { return };
    let (mut pieces, mut end) = (Vec::new(), 0);
    for (i, (class, range)) in first.runs.iter().enumerate() {
        literal(&mut pieces, first.text.get(end..range.start).unwrap_or_default());
        end = range.end;
        let fields = || rows.iter().map(|row| row.field(i));
        let one_width = fields().all(|f| f.len() == range.len());
        let all_digits = *class == Class::Digits || fields().all(|f| f.iter().all(u8::is_ascii_digit));
        if *class == Class::Word {
            let mut words: Vec<Vec<u8>> = fields().map(<[u8]>::to_vec).collect();
            words.sort_unstable();
            words.dedup();
            match words.as_slice() {
                [word] => literal(&mut pieces, word),
                _ if words.len() <= WORDS && words.len() * 2 <= rows.len() => pieces.push(Piece::Word(words)),
                _ => return,
            }
            continue;
        }
        let padded = fields().filter(|f| f.len() > 1 && f.starts_with(b"0")).count();
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
                    Piece::Hex { digits: digits as u8, upper }
                });
                left -= digits;
            }
        } else {
            let mut widths: BTreeMap<usize, Vec<Row<'_>>> = BTreeMap::new();
            for row in rows {
                widths.entry(row.field(i).len()).or_default().push(row);
            }
            widths.into_values().for_each(|rows| resolve(rows, least, found));
            return;
        }
    }
    literal(&mut pieces, first.text.get(end..).unwrap_or_default());
    if pieces.iter().filter(|p| !matches!(p, Piece::Literal(_))).count() <= TEXT_FIELDS {
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

/// Pieces, ready to parse strings.
pub(super) struct Template {
    pub pieces: Vec<Piece>,
    /// Of every piece the numbers of its words.
    words: Vec<HashMap<Vec<u8>, u64>>,
}

impl Template {
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        let words = |piece: &Piece| match piece {
            Piece::Word(words) => words.iter().cloned().zip(0..).collect(),
            _ => HashMap::new(),
        };
        Self { words: pieces.iter().map(words).collect(), pieces }
    }

    /// The fields of a string that the pieces print as it is; what it has of words that the lists lack is added to them.
    pub(super) fn parse(&mut self, mut text: &[u8], fields: &mut Vec<u64>) -> Option<()> {
        fields.clear();
        let mut new_words: Vec<(usize, &[u8])> = Vec::new();
        for (i, (piece, words)) in self.pieces.iter().zip(&self.words).enumerate() {
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
                    let digits: Vec<u8> = text.get(..len)?.iter().copied().filter(|b| *b != b',').collect();
                    let plain = digits.len() == len;
                    if len == 0 || digits.len() > DIGITS || plain && (len > 3 || len > 1 && text.starts_with(b"0")) {
                        return None;
                    }
                    fields.push(decimal(&digits)?);
                    len
                }
                Piece::Hex { digits, upper } => {
                    let len = usize::from(*digits);
                    let digit = |value: u64, byte: &u8| {
                        is_hex(*byte, *upper).then(|| value << 4 | u64::from((byte & 15) + 9 * (byte >> 6)))
                    };
                    fields.push(text.get(..len)?.iter().try_fold(0, digit)?);
                    len
                }
                Piece::Word(_) => {
                    let len = span(text, 0, u8::is_ascii_alphabetic);
                    let word = text.get(..len)?;
                    fields.push(if let Some(number) = words.get(word) {
                        *number
                    } else {
                        if words.len() >= MOST_WORDS || !(1..=16).contains(&len) {
                            return None;
                        }
                        new_words.push((i, word));
                        words.len() as u64
                    });
                    len
                }
            };
            text = text.get(len..)?;
        }
        if !text.is_empty() {
            return None;
        }
        for (i, word) in new_words {
            if let (Some(Piece::Word(words)), Some(numbers)) = (self.pieces.get_mut(i), self.words.get_mut(i)) {
                numbers.insert(word.to_vec(), words.len() as u64);
                words.push(word.to_vec());
            }
        }
        Some(())
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value: u64, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}
