//! Shapes of strings: a string falls into runs (digits, hexadecimal digits, words) and the bytes
//! between them. Strings with the same runs and the same bytes between have one shape.

use std::ops::Range;

use crate::values::Strings;

/// A longer string has no shape.
const LONGEST: usize = 256;
/// Most bytes of a word.
pub(super) const WORD_BYTES: usize = 16;

/// The runs that a string is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Decimal,
    Words,
    Hex { upper: bool },
}

pub(super) const VIEWS: [View; 4] = [
    View::Decimal,
    View::Words,
    View::Hex { upper: false },
    View::Hex { upper: true },
];

/// What a run consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
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

/// Bytes of `text` from `start` on for which `is` holds.
pub(super) fn span(text: &[u8], start: usize, is: impl Fn(&u8) -> bool) -> usize {
    text.iter().skip(start).take_while(|byte| is(byte)).count()
}

/// The value of a hexadecimal digit.
pub(super) fn hex_digit(byte: u8, upper: bool) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'A'..=b'F' if upper => Some(u64::from(byte - b'A') + 10),
        b'a'..=b'f' if !upper => Some(u64::from(byte - b'a') + 10),
        _ => None,
    }
}

/// Bytes of a number with a comma before every three digits; 0 where there is none.
pub(super) fn grouped(text: &[u8]) -> usize {
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
        && hex_digit(byte, upper).is_some()
    {
        let len = span(text, at, |b| hex_digit(*b, upper).is_some());
        let before = text.get(..at)?;
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

/// The shape of a string, as a hash, with each of its runs to `found`; `None` for a string that no
/// template prints.
pub(super) fn shape(
    text: &[u8],
    view: View,
    mut found: impl FnMut(Class, Range<usize>),
) -> Option<u64> {
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
            // The whole of a word that is no run, or its rest would be taken for one.
            let hex = matches!(view, View::Hex { .. });
            let len = if hex {
                1
            } else {
                span(text, at, u8::is_ascii_alphabetic).max(1)
            };
            text.get(at..at + len)?.iter().for_each(|b| add(*b));
            len
        };
        at += len;
    }
    Some(hash)
}

/// Whether a few strings look like numbers, dates or identifiers.
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

/// A few strings, evenly spread.
pub(super) fn probes(strings: Strings<'_>) -> Vec<&[u8]> {
    const PROBES: usize = 48;
    let step = (strings.len() / PROBES).max(1);
    (0..strings.len())
        .step_by(step)
        .take(PROBES)
        .map(|i| strings.get(i))
        .collect()
}

/// Whether shapes and words repeat in these strings: nearly every name or text has its own.
pub(super) fn seen(probes: &[&[u8]], view: View) -> bool {
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
