//! Templates of a sample of strings.
//!
//! Strings of one [shape](super::shapes) make a template. Each run of the shape becomes a field, by
//! the sample's strings; numbers of several widths with leading zeros make a template per width.

use std::collections::BTreeMap;
use std::ops::Range;

use staffa_kernels::{Piece, TEXT_FIELDS};

use super::fields::{DIGITS, HEX_DIGITS};
use super::shapes::{Class, VIEWS, View, probes, seen, shape};
use crate::error::{Error, Result};
use crate::values::Strings;

/// Most templates of a block.
const MOST: usize = 24;
/// Most words of a field in a sample.
const WORDS: usize = 100;
/// Digits of a group of an address, at most.
const GROUP: u8 = 4;

/// A string and its runs.
#[derive(Debug, Clone)]
struct Row<'a> {
    text: &'a [u8],
    runs: Vec<(Class, Range<usize>)>,
}

impl<'a> Row<'a> {
    /// The bytes before run `i`, and behind the run before it.
    fn between(&self, i: usize) -> Result<&'a [u8]> {
        let end = self
            .runs
            .get(i)
            .map_or(self.text.len(), |(_, range)| range.start);
        let before = i.checked_sub(1).and_then(|i| self.runs.get(i));
        let bytes = self.text.get(before.map_or(0, |(_, range)| range.end)..end);
        bytes.ok_or_else(|| Error::internal("runs in ascending order expected"))
    }

    fn field(&self, i: usize) -> Result<&'a [u8]> {
        let field = self
            .runs
            .get(i)
            .and_then(|(_, range)| self.text.get(range.clone()));
        field.ok_or_else(|| Error::internal("strings of one shape with other runs"))
    }
}

/// The templates of most strings of a sample, the most frequent first.
pub(super) fn find(sample: Strings<'_>) -> Result<Vec<Vec<Piece>>> {
    let mut best = (0, Vec::new());
    let probes = probes(sample);
    for view in VIEWS
        .into_iter()
        .filter(|view| sample.len() < 8 || seen(&probes, *view))
    {
        let found = find_in(sample, view)?;
        // A view that covers hardly more strings is not worth its templates.
        if found.0 * 20 > best.0 * 21 {
            best = found;
        }
        if best.0 * 20 >= sample.len() * 19 {
            break;
        }
    }
    Ok(best.1)
}

/// The number of strings that follow templates, and the templates.
fn find_in(sample: Strings<'_>, view: View) -> Result<(usize, Vec<Vec<Piece>>)> {
    let mut rows: Vec<(u64, Row<'_>)> = Vec::with_capacity(sample.len());
    for text in sample.iter() {
        let mut runs = Vec::new();
        if let Some(shape) = shape(text, view, |class, range| runs.push((class, range))) {
            rows.push((shape, Row { text, runs }));
        }
    }
    rows.sort_by_key(|(shape, _)| *shape);
    let least = (sample.len() / 100).max(2);
    let mut found = Vec::new();
    for rows in rows
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|rows| rows.len() >= least)
    {
        let rows: Vec<Row<'_>> = rows.iter().map(|(_, row)| row.clone()).collect();
        resolve(&rows, least, &mut found)?;
    }
    found.sort_by_key(|template| std::cmp::Reverse(template.rows));
    found.truncate(MOST);
    share_bases(&mut found);
    let covered = found.iter().map(|template| template.rows).sum();
    let pieces = found.into_iter().map(|template| template.pieces);
    Ok((covered, pieces.collect()))
}

/// The template of strings of one shape.
struct Found {
    /// How many strings of the sample have it.
    rows: usize,
    pieces: Vec<Piece>,
    /// Of every piece the digits, where all of these strings have as many there.
    widths: Vec<Option<u8>>,
}

impl Found {
    /// Where a field is among the pieces, and the bytes before and behind it.
    fn place(&self, field: usize) -> Option<(usize, [Option<u8>; 2])> {
        let pieces = self.pieces.iter().enumerate();
        let mut fields = pieces.filter(|(_, piece)| !matches!(piece, Piece::Literal(_)));
        let (at, _) = fields.nth(field)?;
        let literal = |at: Option<usize>| match self.pieces.get(at?)? {
            Piece::Literal(bytes) => Some(bytes.as_slice()),
            _ => None,
        };
        let before = literal(at.checked_sub(1)).and_then(|bytes| bytes.last());
        let behind = literal(Some(at + 1)).and_then(|bytes| bytes.first());
        Some((at, [before.copied(), behind.copied()]))
    }
}

/// Short fields that are hexadecimal in one template are so in others, between the same bytes, where the sample has one
/// width: `4` and `4c8` in addresses are numbers of one slot, which grow and are printed together. Longer numbers stay
/// decimal: they take a sixth less.
fn share_bases(found: &mut [Found]) {
    for field in 0..TEXT_FIELDS {
        let hex = found.iter().find_map(|template| {
            let (at, around) = template.place(field)?;
            match template.pieces.get(at)? {
                Piece::Hex { digits, upper } if *digits <= GROUP => Some((*upper, around)),
                _ => None,
            }
        });
        let Some((upper, around)) = hex else { continue };
        for template in found.iter_mut() {
            if let Some((at, own)) = template.place(field)
                && own == around
                && let Some(digits @ ..=GROUP) = template.widths.get(at).copied().flatten()
                && let Some(piece @ (Piece::Decimal | Piece::Fixed(_))) =
                    template.pieces.get_mut(at)
            {
                *piece = Piece::Hex { digits, upper };
            }
        }
    }
}

/// Appends the template of strings of one shape to `found`, or one per width of a field.
fn resolve(rows: &[Row<'_>], least: usize, found: &mut Vec<Found>) -> Result<()> {
    let Some(first) = rows.first().filter(|_| rows.len() >= least) else {
        return Ok(());
    };
    let (mut pieces, mut widths) = (Vec::new(), Vec::new());
    for (i, (class, _)) in first.runs.iter().enumerate() {
        literal(&mut pieces, first.between(i)?);
        widths.resize(pieces.len(), None);
        let fields = rows
            .iter()
            .map(|row| row.field(i))
            .collect::<Result<Vec<_>>>()?;
        match field(*class, &fields) {
            Field::Literal(bytes) => literal(&mut pieces, bytes),
            Field::Pieces(field) => {
                let width = fields.first().map_or(0, |field| field.len());
                let is_same = field.len() == 1 && fields.iter().all(|field| field.len() == width);
                pieces.extend(field);
                widths.resize(pieces.len(), u8::try_from(width).ok().filter(|_| is_same));
            }
            Field::TooManyWords => return Ok(()),
            Field::Widths => {
                let mut widths: BTreeMap<usize, Vec<Row<'_>>> = BTreeMap::new();
                for (field, row) in fields.iter().zip(rows) {
                    widths.entry(field.len()).or_default().push(row.clone());
                }
                return widths
                    .into_values()
                    .try_for_each(|rows| resolve(&rows, least, found));
            }
        }
    }
    literal(&mut pieces, first.between(first.runs.len())?);
    let fields = pieces
        .iter()
        .filter(|piece| !matches!(piece, Piece::Literal(_)));
    if fields.count() <= TEXT_FIELDS {
        widths.resize(pieces.len(), None);
        found.push(Found {
            rows: rows.len(),
            pieces,
            widths,
        });
    }
    Ok(())
}

/// How a run is printed.
enum Field<'a> {
    /// The same in all strings.
    Literal(&'a [u8]),
    Pieces(Vec<Piece>),
    TooManyWords,
    /// Apart for strings of each width.
    Widths,
}

/// The field of a run, by what the strings have there.
fn field<'a>(class: Class, fields: &[&'a [u8]]) -> Field<'a> {
    let all_digits =
        class == Class::Digits || fields.iter().all(|f| f.iter().all(u8::is_ascii_digit));
    if class == Class::Word {
        let mut words = fields.to_vec();
        words.sort_unstable();
        words.dedup();
        return match words.as_slice() {
            [word] => Field::Literal(word),
            words if words.len() <= WORDS && words.len() * 4 <= fields.len() => {
                let words = words.iter().map(|word| word.to_vec()).collect();
                Field::Pieces(vec![Piece::Word(words)])
            }
            _ => Field::TooManyWords,
        };
    }
    let padded = fields
        .iter()
        .filter(|f| f.len() > 1 && f.starts_with(b"0"))
        .count();
    let short = fields.iter().all(|f| f.len() <= DIGITS);
    if all_digits && fields.iter().any(|f| f.contains(&b',')) {
        return Field::Pieces(vec![Piece::Grouped]);
    }
    if all_digits && padded * 50 <= fields.len() && short {
        return Field::Pieces(vec![Piece::Decimal]);
    }
    let width = fields.first().map_or(0, |field| field.len());
    if fields.iter().any(|f| f.len() != width) {
        return Field::Widths;
    }
    let upper = fields.iter().any(|f| f.iter().any(u8::is_ascii_uppercase));
    let most = if all_digits { DIGITS } else { HEX_DIGITS };
    let piece = |start| {
        let digits = most.min(width - start) as u8;
        if all_digits {
            Piece::Fixed(digits)
        } else {
            Piece::Hex { digits, upper }
        }
    };
    Field::Pieces((0..width).step_by(most).map(piece).collect())
}

/// Appends bytes that are the same in every row.
pub(super) fn literal(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    match pieces.last_mut() {
        _ if bytes.is_empty() => {}
        Some(Piece::Literal(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Piece::Literal(bytes.to_vec())),
    }
}
