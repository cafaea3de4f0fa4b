//! Rows printed 16 bytes at a time: bytes picked out of a register of digits, with literals between
//! them.
//!
//!   tile = shuffle(digits, control) | literal
//!
//! A template is a row of columns; a column has a tile for each number of digits, so that neither
//! template nor number of digits needs a branch. A word is a number whose digits are its bytes. Rows that tiles do not
//! print (numbers of more than 16 digits, words without bytes) are printed step by step.

use super::block::{BLOCK, Block, MOST_BLOCKS, Places};
use super::columns::{Columns, MOST, MOST_OF_ONE, Tile, columns, conversions};
use super::numbers::{Conversion, Stop};
use super::output::{Few, Output, Row};
use super::parts::Parts;
use super::template::{Template, TextRows, WIDE};
use crate::strings::inline::{INLINE, inline_view};

/// The tiles of templates.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// How the numbers of slots come apart; `None` where these are converted as they are.
    parts: Option<Parts>,
    /// Of every block, the next slots.
    conversions: Vec<Conversion>,
    templates: Vec<Columns>,
    /// Whether all templates have digits in all blocks, which are few, so that those of a row are at the same place
    /// of each.
    in_place: bool,
    /// Most columns of a template.
    widest: usize,
}

impl Tiles {
    /// `None` where tiles do not print the templates, or would be too many.
    pub(super) fn new(templates: &[Template]) -> Option<Self> {
        Self::of(templates).or_else(|| {
            let (apart, parts) = Parts::of(templates)?;
            let parts = Some(parts);
            Some(Self {
                parts,
                ..Self::of(&apart)?
            })
        })
    }

    fn of(templates: &[Template]) -> Option<Self> {
        let conversions = conversions(templates)?;
        let (mut all, mut count) = (Vec::new(), 0);
        for template in templates {
            let columns = columns(template, &conversions)?;
            count += columns.columns.len();
            if columns.columns.len() > MOST_OF_ONE || count > MOST {
                return None;
            }
            all.push(columns);
        }
        Some(Self {
            parts: None,
            in_place: conversions.len() <= MOST_BLOCKS
                && all
                    .iter()
                    .all(|template| template.blocks > 0 && template.blocks == conversions.len()),
            widest: all.iter().map(|template| template.columns.len()).max()?,
            templates: all,
            conversions,
        })
    }

    /// Of how many numbers the digits are.
    #[cfg(test)]
    pub(super) fn conversions(&self) -> usize {
        self.conversions.len()
    }

    /// Prints rows; `put` makes the bytes of a tile out of 16 digits.
    #[inline(always)]
    pub(super) fn print(
        &self,
        rows: &TextRows<'_>,
        lengths: &mut [u32],
        out: &mut [u8],
        put: impl Fn(&[u64; 2], &Tile, &mut [u8; WIDE]),
    ) -> Result<usize, Stop> {
        // Templates of literals alone name a block, but nothing in it.
        let mut blocks = vec![Block::EMPTY; self.conversions.len() + 1];
        let apart = self.parts.as_ref().map(|parts| parts.numbers(rows.slots));
        let mut left = numbers(rows, apart.as_deref());
        let mut others = (rows.first_other..).map_while(|i| rows.others.get(i));
        let mut output = Output::new(out, put);
        for (codes, lengths) in rows.codes.chunks(BLOCK).zip(lengths.chunks_mut(BLOCK)) {
            let common = self.common(codes);
            self.read(common, codes, &mut left, &mut blocks)?;
            let printed = match common {
                Common::InPlace if codes.contains(&0) => {
                    let mut next = 0;
                    let mut row = |code: u8| {
                        if code == 0 {
                            return others.next().map(Row::Other);
                        }
                        let place = next % BLOCK;
                        next += 1;
                        Some(Row::Of(self.template(code)?, place))
                    };
                    let rows = codes.iter().map(|code| row(*code));
                    output.rows(self.widest, rows, &blocks, lengths)
                }
                Common::InPlace => {
                    let rows = (0..BLOCK).zip(codes);
                    let rows = rows.map(|(i, code)| Some(Row::Of(self.template(*code)?, i)));
                    output.rows(self.widest, rows, &blocks, lengths)
                }
                Common::One(template) => output.of_template(template, &blocks, lengths),
                Common::Any => self.print_mixed(codes, &mut others, &blocks, lengths, &mut output),
            };
            printed.ok_or(Stop::Wrong)?;
        }
        Ok(output.at())
    }

    /// Makes the views of rows that these hold themselves, which are of ASCII; `put` makes a view out of
    /// 16 digits, a tile and the bytes of the row. Returns the bytes of all rows.
    #[inline(always)]
    fn views(
        &self,
        rows: &TextRows<'_>,
        out: &mut [u128],
        put: impl Fn(&[u64; 2], &Tile, u16, &mut u128),
    ) -> Result<usize, Stop> {
        let mut blocks = vec![Block::EMPTY; self.conversions.len() + 1];
        let apart = self.parts.as_ref().map(|parts| parts.numbers(rows.slots));
        let mut left = numbers(rows, apart.as_deref());
        let mut others = (rows.first_other..).map_while(|i| rows.others.get(i));
        let (mut bytes, mut longest) = (0, 0);
        let mut view = |columns: &Columns, block: &Block, row: usize, place: &mut u128| {
            let (column, lengths) = columns.of_one_block().ok_or(Stop::Unfit)?;
            let length = lengths[block.index(row)];
            put(&block.digits[row], column.tile(block, row), length, place);
            bytes += usize::from(length);
            longest = length.max(longest);
            Ok(())
        };
        let mut other_bytes = 0;
        for (codes, places) in rows.codes.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let common = self.common(codes);
            self.read(common, codes, &mut left, &mut blocks)?;
            if let Common::One(columns) = common {
                let (column, _) = columns.of_one_block().ok_or(Stop::Unfit)?;
                let block = blocks.get(column.block).ok_or(Stop::Wrong)?;
                for (row, place) in (0..BLOCK).zip(places) {
                    view(columns, block, row, place)?;
                }
            } else if let Common::InPlace = common
                && !codes.contains(&0)
            {
                let block = blocks.first().ok_or(Stop::Wrong)?;
                for ((row, place), code) in (0..BLOCK).zip(places).zip(codes) {
                    view(self.template(*code).ok_or(Stop::Wrong)?, block, row, place)?;
                }
            } else {
                let mut next = Places::default();
                for (code, place) in codes.iter().zip(places) {
                    if *code == 0 {
                        let string = others.next().ok_or(Stop::Wrong)?;
                        *place = inline_view(string).ok_or(Stop::Unfit)?;
                        other_bytes += string.len();
                        continue;
                    }
                    let columns = self.template(*code).ok_or(Stop::Wrong)?;
                    let (column, _) = columns.of_one_block().ok_or(Stop::Unfit)?;
                    let block = blocks.get(column.block).ok_or(Stop::Wrong)?;
                    let row = next.of(column.block).ok_or(Stop::Unfit)?;
                    view(columns, block, row % BLOCK, place)?;
                    next.advance(columns.taken);
                }
            }
        }
        let all = out.iter().fold(0, |all, view| all | view);
        let is_ascii = all >> 32 & u128::from_le_bytes([0x80; 16]) == 0;
        if usize::from(longest) > INLINE || !is_ascii {
            return Err(Stop::Unfit);
        }
        Ok(bytes + other_bytes)
    }

    /// Whether views may hold rows of all templates.
    pub(super) fn may_be_inline(&self) -> bool {
        self.templates.iter().all(Columns::may_be_inline)
    }

    /// The template of a row.
    #[inline(always)]
    fn template(&self, code: u8) -> Option<&Columns> {
        self.templates.get(usize::from(code).checked_sub(1)?)
    }

    /// Whether these rows take digits of all blocks, if any.
    #[inline(always)]
    fn are_in_place(&self, codes: &[u8]) -> bool {
        let largest = codes.iter().fold(0, |largest, code| largest.max(*code));
        self.in_place && usize::from(largest) <= self.templates.len()
    }

    /// What these rows have in common.
    #[inline(always)]
    fn common(&self, codes: &[u8]) -> Common<'_> {
        match self.only(codes) {
            Some(columns) => Common::One(columns),
            None if self.are_in_place(codes) => Common::InPlace,
            None => Common::Any,
        }
    }

    /// The template of all of these rows.
    #[inline(always)]
    fn only(&self, codes: &[u8]) -> Option<&Columns> {
        let (first, rest) = codes.split_first()?;
        let differ = rest.iter().fold(0, |bits, code| bits | (code ^ first));
        self.template(*first).filter(|_| differ == 0)
    }

    /// The digits of the numbers of these rows, which are taken from those left of every slot.
    #[inline(always)]
    fn read(
        &self,
        common: Common<'_>,
        codes: &[u8],
        left: &mut [&[u64]],
        blocks: &mut [Block],
    ) -> Result<(), Stop> {
        let all = |taken| if taken { codes.len() } else { 0 };
        let mut counts = Places::default();
        if let Common::Any = common {
            for code in codes.iter().filter(|code| **code > 0) {
                counts.advance(self.template(*code).ok_or(Stop::Wrong)?.taken);
            }
        }
        let mut slot = 0;
        for (i, (conversion, block)) in self.conversions.iter().zip(blocks).enumerate() {
            let needed = match common {
                Common::One(columns) => all(i < columns.blocks),
                Common::InPlace => codes.iter().filter(|code| **code > 0).count(),
                Common::Any => counts.of(i).ok_or(Stop::Unfit)?,
            };
            if needed > 0 {
                let left = left.get_mut(slot..).ok_or(Stop::Wrong)?;
                conversion.digits(left, needed, block)?;
            }
            slot += conversion.slots();
        }
        Ok(())
    }

    /// Prints up to 64 rows of several templates, or of none: the next of the other strings.
    #[inline(always)]
    fn print_mixed<'a>(
        &self,
        codes: &[u8],
        others: &mut impl Iterator<Item = &'a [u8]>,
        blocks: &[Block],
        lengths: &mut [u32],
        output: &mut Output<'_, impl Fn(&[u64; 2], &Tile, &mut [u8; WIDE])>,
    ) -> Option<()> {
        let (mut next, mut rows) = (Places::default(), lengths);
        for run in codes.chunk_by(|a, b| a == b) {
            let (lengths, rest) = rows.split_at_mut_checked(run.len())?;
            rows = rest;
            let code = *run.first()?;
            if code == 0 {
                for length in lengths {
                    let string = others.next()?;
                    output.string(string)?;
                    *length = string.len() as u32;
                }
                continue;
            }
            let template = self.template(code)?;
            let is_printed = match Few::of(&template.columns, |_| true) {
                Some(columns) => output.run(&columns, blocks, |block| next.of(block), lengths)?,
                None => false,
            };
            for length in lengths {
                if !is_printed {
                    let start = output.at();
                    output.row(template, blocks, next)?;
                    *length = (output.at() - start) as u32;
                }
                next.advance(template.taken);
            }
        }
        Some(())
    }
}

/// The numbers of all slots, or of their parts.
#[inline(always)]
fn numbers<'a>(rows: &TextRows<'a>, apart: Option<&'a [Vec<u64>]>) -> Vec<&'a [u64]> {
    match apart {
        Some(parts) => parts.iter().map(Vec::as_slice).collect(),
        None => rows.slots.to_vec(),
    }
}

/// What up to 64 rows have in common.
#[derive(Clone, Copy)]
enum Common<'a> {
    /// Their template.
    One(&'a Columns),
    /// Each takes digits of all blocks, or is one of the other strings.
    InPlace,
    /// Nothing: a row may have no template.
    Any,
}

/// Makes views of rows by tiles.
///
/// # Safety
///
/// The machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn tile_views(
    tiles: &Tiles,
    rows: &TextRows<'_>,
    out: &mut [u128],
) -> Result<usize, Stop> {
    use std::arch::x86_64::{
        _mm_cvtsi32_si128, _mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_slli_si128,
        _mm_storeu_si128,
    };
    tiles.views(rows, out, |digits, tile, length, place| {
        // SAFETY: the caller promises AVX2; each load takes the 16 bytes of an array, the store those of the
        // view.
        unsafe {
            let digits = _mm_loadu_si128(digits.as_ptr().cast());
            let control = _mm_loadu_si128(tile.control.as_ptr().cast());
            let literal = _mm_loadu_si128(tile.literal.as_ptr().cast());
            let text = _mm_or_si128(_mm_shuffle_epi8(digits, control), literal);
            let length = _mm_cvtsi32_si128(length.into());
            let view = _mm_or_si128(_mm_slli_si128::<4>(text), length);
            _mm_storeu_si128(std::ptr::from_mut(place).cast(), view);
        }
    })
}

/// Makes views of rows by tiles.
///
/// # Safety
///
/// NEON is part of the architecture.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) unsafe fn tile_views(
    tiles: &Tiles,
    rows: &TextRows<'_>,
    out: &mut [u128],
) -> Result<usize, Stop> {
    use std::arch::aarch64::{vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8};
    tiles.views(rows, out, |digits, tile, length, place| {
        let mut text = [0; WIDE];
        // SAFETY: NEON is part of the architecture; each load and the store take the 16 bytes of an
        // array.
        unsafe {
            let digits = vld1q_u8(digits.as_ptr().cast());
            let picked = vqtbl1q_u8(digits, vld1q_u8(tile.control.as_ptr()));
            let printed = vorrq_u8(picked, vld1q_u8(tile.literal.as_ptr()));
            vst1q_u8(text.as_mut_ptr(), printed);
        }
        *place = u128::from_le_bytes(text) << 32 | u128::from(length);
    })
}

/// Puts the bytes of a tile, made out of 16 digits.
///
/// # Safety
///
/// The machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn put_tile(digits: &[u64; 2], tile: &Tile, place: &mut [u8; WIDE]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_storeu_si128};
    // SAFETY: the caller promises AVX2; each load and the store take the 16 bytes of an array.
    unsafe {
        let digits = _mm_loadu_si128(digits.as_ptr().cast());
        let control = _mm_loadu_si128(tile.control.as_ptr().cast());
        let literal = _mm_loadu_si128(tile.literal.as_ptr().cast());
        let picked = _mm_or_si128(_mm_shuffle_epi8(digits, control), literal);
        _mm_storeu_si128(place.as_mut_ptr().cast(), picked);
    }
}

/// Puts the bytes of a tile, made out of 16 digits.
///
/// # Safety
///
/// NEON is part of the architecture.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) unsafe fn put_tile(digits: &[u64; 2], tile: &Tile, place: &mut [u8; WIDE]) {
    use std::arch::aarch64::{vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8};
    // SAFETY: NEON is part of the architecture; each load and the store take the 16 bytes of an array.
    unsafe {
        let digits = vld1q_u8(digits.as_ptr().cast());
        let picked = vqtbl1q_u8(digits, vld1q_u8(tile.control.as_ptr()));
        let text = vorrq_u8(picked, vld1q_u8(tile.literal.as_ptr()));
        vst1q_u8(place.as_mut_ptr(), text);
    }
}
