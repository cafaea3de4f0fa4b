//! Rows printed 16 bytes at a time: bytes picked out of a register of digits, with literals between
//! them.
//!
//!   tile = shuffle(digits, control) | literal
//!
//! A template is a row of columns; a column has a tile for each number of digits, so that neither
//! template nor number of digits needs a branch. Rows that tiles do not print (words, numbers of
//! more than 16 digits) are printed step by step.

use super::block::{BLOCK, Block};
use super::columns::{Column, Columns, MOST, MOST_OF_ONE, Tile, columns, conversions};
use super::numbers::{Conversion, Stop};
use super::template::{Template, TextRows, WIDE};

/// The tiles of templates.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// Of every block, the next slots.
    conversions: Vec<Conversion>,
    templates: Vec<Columns>,
}

impl Tiles {
    /// `None` where tiles do not print the templates, or would be too many.
    pub(super) fn new(templates: &[Template]) -> Option<Self> {
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
            conversions,
            templates: all,
        })
    }

    /// Prints rows; `put` makes the bytes of a tile out of 16 digits.
    #[inline(always)]
    fn print(
        &self,
        rows: &TextRows<'_>,
        lengths: &mut [u32],
        out: &mut [u8],
        put: impl Fn(&[u64; 2], &Tile, &mut [u8; WIDE]),
    ) -> Result<usize, Stop> {
        // Templates of literals alone name a block, but nothing in it.
        let mut blocks = vec![Block::EMPTY; self.conversions.len() + 1];
        let mut left: Vec<&[u64]> = rows.slots.to_vec();
        let mut others = (rows.first_other..).map_while(|i| rows.others.get(i));
        let mut output = Output { out, at: 0, put };
        for (codes, lengths) in rows.codes.chunks(BLOCK).zip(lengths.chunks_mut(BLOCK)) {
            self.read(codes, &mut left, &mut blocks)?;
            let printed = match self.only(codes) {
                Some(Columns {
                    columns, is_fixed, ..
                }) => match columns.as_slice() {
                    [a] => output.columns([a], *is_fixed, &blocks, lengths),
                    [a, b] => output.columns([a, b], *is_fixed, &blocks, lengths),
                    [a, b, c] => output.columns([a, b, c], *is_fixed, &blocks, lengths),
                    [a, b, c, d] => output.columns([a, b, c, d], *is_fixed, &blocks, lengths),
                    columns => output.many(columns, &blocks, lengths),
                },
                None => self.print_mixed(codes, &mut others, &blocks, lengths, &mut output),
            };
            printed.ok_or(Stop::Wrong)?;
        }
        Ok(output.at)
    }

    /// The template of all of these rows.
    #[inline(always)]
    fn only(&self, codes: &[u8]) -> Option<&Columns> {
        let (first, rest) = codes.split_first()?;
        let differ = rest.iter().fold(0, |bits, code| bits | (code ^ first));
        let template = self.templates.get(usize::from(*first).checked_sub(1)?);
        template.filter(|_| differ == 0)
    }

    /// The digits of the numbers of these rows, which are taken from those left of every slot.
    #[inline(always)]
    fn read(&self, codes: &[u8], left: &mut [&[u64]], blocks: &mut [Block]) -> Result<(), Stop> {
        let only = self.only(codes).map(|template| template.blocks);
        let own = |code: &u8| match usize::from(*code).checked_sub(1) {
            None => Some(0),
            Some(template) => self.templates.get(template).map(|template| template.blocks),
        };
        let mut slot = 0;
        for (i, (conversion, block)) in self.conversions.iter().zip(blocks).enumerate() {
            let mut needed = 0;
            match only {
                Some(blocks) => needed = if i < blocks { codes.len() } else { 0 },
                None => {
                    for code in codes {
                        needed += usize::from(own(code).ok_or(Stop::Wrong)? > i);
                    }
                }
            }
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
        let mut next = vec![0u8; blocks.len()];
        for (&code, length) in codes.iter().zip(lengths) {
            let start = output.at;
            if code == 0 {
                output.string(others.next()?)?;
            } else {
                let template = self.templates.get(usize::from(code) - 1)?;
                for column in &template.columns {
                    let row = usize::from(*next.get(column.block)?) % BLOCK;
                    output.column(column, blocks.get(column.block)?, row)?;
                }
                for next in next.get_mut(..template.blocks)? {
                    *next += 1;
                }
            }
            *length = (output.at - start) as u32;
        }
        Some(())
    }
}

/// Where rows are printed to, and how a tile is.
struct Output<'a, Put> {
    out: &'a mut [u8],
    /// The bytes printed.
    at: usize,
    put: Put,
}

impl<Put: Fn(&[u64; 2], &Tile, &mut [u8; WIDE])> Output<'_, Put> {
    /// Prints up to 64 rows of a template of few columns.
    #[inline(always)]
    fn columns<const N: usize>(
        &mut self,
        columns: [&Column; N],
        is_fixed: bool,
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        if self.out.len() - self.at < BLOCK * N * WIDE {
            return self.many(columns, blocks, lengths);
        }
        let empty = &Block::EMPTY;
        let mut own = [empty; N];
        for (own, column) in own.iter_mut().zip(columns) {
            *own = blocks.get(column.block)?;
        }
        let len = |tile: &Tile| usize::from(tile.len).min(WIDE);
        let (to, mut at) = (self.out.as_mut_ptr(), self.at);
        let put = |at: usize, digits: &[u64; 2], tile: &Tile| {
            // SAFETY: there was room for 16 bytes for each of `N` tiles of 64 rows, and a tile
            // advances by 16 at most.
            (self.put)(digits, tile, unsafe { &mut *to.add(at).cast() });
        };
        if is_fixed {
            // The places are known beforehand: no row waits for the one before.
            let tiles = columns.map(|column| *column.first_tile());
            let bytes = tiles.iter().map(len).sum::<usize>();
            let rows = lengths.len().min(BLOCK);
            for row in 0..rows {
                let mut place = at + row * bytes;
                for (tile, block) in tiles.iter().zip(own) {
                    put(place, &block.digits[row], tile);
                    place += len(tile);
                }
            }
            lengths.fill(bytes as u32);
            at += rows * bytes;
        } else {
            for (row, length) in (0..BLOCK).zip(lengths) {
                let start = at;
                for (column, block) in columns.into_iter().zip(own) {
                    let tile = column.tile(block, row);
                    put(at, &block.digits[row], tile);
                    at += len(tile);
                }
                *length = (at - start) as u32;
            }
        }
        self.at = at;
        Some(())
    }

    /// Prints up to 64 rows of a template.
    #[inline(always)]
    fn many<'c>(
        &mut self,
        columns: impl IntoIterator<Item = &'c Column> + Copy,
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        for (row, length) in (0..BLOCK).zip(lengths) {
            let start = self.at;
            for column in columns {
                self.column(column, blocks.get(column.block)?, row)?;
            }
            *length = (self.at - start) as u32;
        }
        Some(())
    }

    /// Prints a column of a row.
    #[inline(always)]
    fn column(&mut self, column: &Column, block: &Block, row: usize) -> Option<()> {
        let tile = column.tile(block, row);
        let digits = &block.digits[row];
        let rest = self.out.get_mut(self.at..)?;
        let len = usize::from(tile.len);
        if let Some(place) = rest.first_chunk_mut() {
            (self.put)(digits, tile, place);
        } else {
            let mut text = [0; WIDE];
            (self.put)(digits, tile, &mut text);
            rest.get_mut(..len)?.copy_from_slice(text.get(..len)?);
        }
        self.at += len;
        Some(())
    }

    fn string(&mut self, string: &[u8]) -> Option<()> {
        let place = self.out.get_mut(self.at..)?.get_mut(..string.len())?;
        place.copy_from_slice(string);
        self.at += string.len();
        Some(())
    }
}

/// Prints rows by tiles.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
pub(super) fn print_tiles(
    tiles: &Tiles,
    rows: &TextRows<'_>,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Result<usize, Stop> {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_or_si128, _mm_shuffle_epi8, _mm_storeu_si128};
    tiles.print(rows, lengths, out, |digits, tile, place| {
        // SAFETY: each load and the store take the 16 bytes of an array.
        unsafe {
            let digits = _mm_loadu_si128(digits.as_ptr().cast());
            let control = _mm_loadu_si128(tile.control.as_ptr().cast());
            let literal = _mm_loadu_si128(tile.literal.as_ptr().cast());
            let picked = _mm_or_si128(_mm_shuffle_epi8(digits, control), literal);
            _mm_storeu_si128(place.as_mut_ptr().cast(), picked);
        }
    })
}

/// Prints rows by tiles.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn print_tiles(
    tiles: &Tiles,
    rows: &TextRows<'_>,
    lengths: &mut [u32],
    out: &mut [u8],
) -> Result<usize, Stop> {
    use std::arch::aarch64::{vld1q_u8, vorrq_u8, vqtbl1q_u8, vst1q_u8};
    tiles.print(rows, lengths, out, |digits, tile, place| {
        // SAFETY: NEON is part of the architecture; each load and the store take the 16 bytes of an
        // array.
        unsafe {
            let digits = vld1q_u8(digits.as_ptr().cast());
            let picked = vqtbl1q_u8(digits, vld1q_u8(tile.control.as_ptr()));
            let text = vorrq_u8(picked, vld1q_u8(tile.literal.as_ptr()));
            vst1q_u8(place.as_mut_ptr(), text);
        }
    })
}
