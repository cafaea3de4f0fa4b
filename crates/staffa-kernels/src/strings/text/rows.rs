//! Rows of text, each of its own template.
//!
//! Rows at the very end of the output, where wide stores have no room, are printed elsewhere and
//! copied.

use std::sync::OnceLock;

use super::numbers::Stop;
use super::short::Short;
use super::template::{Piece, TEXT_FIELDS, Template, TextRows};
use super::tiles::{Tiles, put_tile, tile_views};
use crate::simd::dispatch::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, level};

/// Fewer rows are not worth the tiles.
const FEW: usize = 16;

/// Templates of text, prepared for printing.
///
/// ```
/// use staffa_kernels::{BytesDict, Piece, Text, TextRows};
///
/// let pieces = [Piece::Fixed(2), Piece::Literal(b":".to_vec()), Piece::Fixed(2)];
/// // One slot has both fields: hours * 60 + minutes.
/// let text = Text::new(&[(pieces.to_vec(), vec![0, 60])]).unwrap();
/// let none = BytesDict::new(&[0], b"").unwrap();
/// let rows = TextRows { codes: &[1, 1], slots: &[&[605, 9]], others: &none, first_other: 0 };
/// let (mut lengths, mut out) = ([0; 2], [0; 10]);
/// assert_eq!(text.print(&rows, &mut lengths, &mut out), Some(10));
/// assert_eq!(&out, b"10:0500:09");
/// ```
#[derive(Clone, Debug)]
pub struct Text {
    templates: Vec<Template>,
    /// Made when rows are printed; `None` where tiles do not print them.
    tiles: OnceLock<Option<Tiles>>,
    /// The same of one template of short decimal fields.
    short: OnceLock<Option<Short>>,
}

impl Text {
    /// Prepares templates, each of pieces and a radix for every field, which is 0 for a field that
    /// begins a slot. `None` where digits or words are out of bounds, there are too many fields, or
    /// the radices do not match the fields.
    pub fn new(templates: &[(Vec<Piece>, Vec<u64>)]) -> Option<Self> {
        let templates = templates.iter();
        let templates = templates.map(|(pieces, radices)| Template::new(pieces, radices));
        Some(Self {
            templates: templates.collect::<Option<_>>()?,
            tiles: OnceLock::new(),
            short: OnceLock::new(),
        })
    }

    /// The number of slots of each template.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.templates.iter().map(|t| t.slots.len())
    }

    /// At least the bytes of any row with a template.
    pub fn longest(&self) -> usize {
        self.templates.iter().map(|t| t.room).max().unwrap_or(0)
    }

    /// The bytes of every row with a template, where there is one template, of fixed length.
    pub fn fixed(&self) -> Option<usize> {
        match self.templates.as_slice() {
            [one] if !one.variable => Some(one.fixed),
            _ => None,
        }
    }

    /// What prints these rows, if it does not take longer to make than to print them.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn tiles(&self, rows: &TextRows<'_>, places: usize) -> Option<&Tiles> {
        if rows.codes.len() < FEW || rows.codes.len() != places {
            return None;
        }
        let tiles = self.tiles.get_or_init(|| Tiles::new(&self.templates));
        tiles.as_ref()
    }

    /// The template that all of these rows have, where its decimal fields are short, and what prints it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn short(&self, rows: &TextRows<'_>, places: usize) -> Option<(&Template, &Short)> {
        let [template] = self.templates.as_slice() else {
            return None;
        };
        if rows.codes.len() < FEW || rows.codes.len() != places {
            return None;
        }
        // To the end, so that the loop vectorises.
        let others = rows.codes.iter().fold(0, |bits, code| bits | (code ^ 1));
        if others != 0 {
            return None;
        }
        let short = self.short.get_or_init(|| Short::new(template)).as_ref();
        short.map(|short| (template, short))
    }

    /// Prints the rows one after another to the start of `out`, and their bytes to `lengths`;
    /// returns the bytes written. Bytes of `out` behind them may be overwritten as well.
    ///
    /// `None` when a code, a slot or a word is out of range, there are not as many lengths as
    /// codes, or `out` is too small; `lengths` and `out` then hold anything.
    #[inline]
    pub fn print(&self, rows: &TextRows<'_>, lengths: &mut [u32], out: &mut [u8]) -> Option<usize> {
        self.has_slots(rows).then_some(())?;
        print(self, rows, lengths, out)
    }

    /// Whether views may hold rows of all templates and are made here without printing the rows: by the shortest
    /// row of each.
    pub fn may_be_inline(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if level() == Level::Baseline {
            return false;
        }
        let tiles = self.tiles.get_or_init(|| Tiles::new(&self.templates));
        tiles.as_ref().is_some_and(Tiles::may_be_inline)
    }

    /// Makes the views of rows without printing them elsewhere; returns the bytes of all rows.
    ///
    /// `None` where a view does not hold its row, a row is not of ASCII, there are few rows, or something is out of
    /// range; `out` then holds anything.
    #[inline]
    pub(crate) fn inline_views(&self, rows: &TextRows<'_>, out: &mut [u128]) -> Option<usize> {
        self.has_slots(rows).then_some(())?;
        inline_views(self, rows, out)
    }

    /// The bytes that [`print`](Self::print) would write.
    #[inline]
    pub fn printed_bytes(&self, rows: &TextRows<'_>) -> Option<usize> {
        self.has_slots(rows).then_some(())?;
        printed_bytes(self, rows)
    }

    /// Whether there are numbers for every slot of every template.
    fn has_slots(&self, rows: &TextRows<'_>) -> bool {
        self.slots().all(|count| count <= rows.slots.len())
    }
}

dispatch! {
    fn print<>(text: &Text, rows: &TextRows<'_>, lengths: &mut [u32], out: &mut [u8]) -> Option<usize>
        = print_base, avx2: print_wide, avx512: print_wide;
}

/// SSE2 has no shuffle of bytes; NEON has one.
#[inline(always)]
fn print_base(
    text: &Text,
    rows: &TextRows<'_>,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    // SAFETY: NEON is part of the architecture.
    #[cfg(target_arch = "aarch64")]
    let printed = unsafe { print_wide(text, rows, lengths, out) };
    #[cfg(not(target_arch = "aarch64"))]
    let printed = print_body(text, rows, lengths, out);
    printed
}

/// Prints by tiles where they print these rows. Inlined, so that all of it has the instructions of the caller.
///
/// # Safety
///
/// The machine has AVX2 or NEON.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn print_wide(
    text: &Text,
    rows: &TextRows<'_>,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    // SAFETY: the caller promises AVX2 or NEON.
    let put = |digits: &_, tile: &_, place: &mut _| unsafe { put_tile(digits, tile, place) };
    if let Some((template, short)) = text.short(rows, lengths.len()) {
        match short.print(template, rows, lengths, out, put) {
            Err(Stop::Unfit) => {}
            printed => return printed.ok(),
        }
    }
    if let Some(tiles) = text.tiles(rows, lengths.len()) {
        match tiles.print(rows, lengths, out, put) {
            Err(Stop::Unfit) => {}
            printed => return printed.ok(),
        }
    }
    print_body(text, rows, lengths, out)
}

#[inline(always)]
fn print_body(
    text: &Text,
    rows: &TextRows<'_>,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    if lengths.len() != rows.codes.len() {
        return None;
    }
    if let [template] = text.templates.as_slice()
        && !template.variable
        && rows.codes.iter().all(|code| *code == 1)
    {
        lengths.fill(template.fixed as u32);
        return template.print_columns(rows, out);
    }
    if let [template] = text.templates.as_slice()
        && let Some(behind) = &template.behind
        && rows.codes.iter().all(|code| *code == 1)
    {
        return template.print_decimals(behind, rows, lengths, out);
    }
    let (mut at, mut other, mut next, mut fields) =
        (0, rows.first_other, [0; TEXT_FIELDS], [0; TEXT_FIELDS]);
    for (&code, length) in rows.codes.iter().zip(lengths) {
        let rest = out.get_mut(at..)?;
        let written = if code == 0 {
            let string = rows.others.get(other)?;
            other += 1;
            rest.get_mut(..string.len())?.copy_from_slice(string);
            string.len()
        } else {
            let template = text.templates.get(usize::from(code) - 1)?;
            template.fields(rows.slots, &mut next, &mut fields)?;
            template.print_within(&fields, rest)?
        };
        *length = written as u32;
        at += written;
    }
    Some(at)
}

dispatch! {
    fn inline_views<>(text: &Text, rows: &TextRows<'_>, out: &mut [u128]) -> Option<usize>
        = views_base, avx2: views_wide, avx512: views_wide;
}

/// SSE2 has no shuffle of bytes; NEON has one.
#[inline(always)]
fn views_base(text: &Text, rows: &TextRows<'_>, out: &mut [u128]) -> Option<usize> {
    // SAFETY: NEON is part of the architecture.
    #[cfg(target_arch = "aarch64")]
    return unsafe { views_wide(text, rows, out) };
    #[cfg(not(target_arch = "aarch64"))]
    {
        let _ = (text, rows, out);
        None
    }
}

/// # Safety
///
/// The machine has AVX2 or NEON.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn views_wide(text: &Text, rows: &TextRows<'_>, out: &mut [u128]) -> Option<usize> {
    // SAFETY: the caller promises AVX2 or NEON.
    unsafe { tile_views(text.tiles(rows, out.len())?, rows, out) }.ok()
}

dispatch! { fn printed_bytes(text: &Text, rows: &TextRows<'_>) -> Option<usize> = printed_bytes_body; }

#[inline(always)]
fn printed_bytes_body(text: &Text, rows: &TextRows<'_>) -> Option<usize> {
    let (mut sum, mut other, mut next, mut fields) =
        (0, rows.first_other, [0; TEXT_FIELDS], [0; TEXT_FIELDS]);
    for &code in rows.codes {
        sum += if code == 0 {
            other += 1;
            rows.others.get(other - 1)?.len()
        } else {
            let template = text.templates.get(usize::from(code) - 1)?;
            template.fields(rows.slots, &mut next, &mut fields)?;
            if template.variable {
                template.row_bytes(&fields)?
            } else {
                template.fixed
            }
        };
    }
    Some(sum)
}

#[cfg(test)]
mod tests;
