//! Rows printed 16 bytes at a time: bytes picked out of a register of digits, with literals between
//! them.
//!
//!   tile = shuffle(digits, control) | literal
//!
//! A template is a row of columns; a column has a tile for each number of digits, so that neither
//! template nor number of digits needs a branch. Rows that tiles do not print (words, numbers of
//! more than 16 digits) are printed step by step.

use super::numbers::{BLOCK, Block, Conversion, DIGITS, SlotNumbers, Stop};
use super::template::{Step, Template, TextRows, WIDE};

/// Most columns of all templates, of 768 bytes each.
const MOST: usize = 128;
/// Most columns of a template.
const MOST_OF_ONE: usize = 32;
/// Most conversions of numbers in as few digits as they need: of more, steps take less time.
const MOST_VARIABLE: usize = 3;
/// The byte of a control for which a shuffle gives 0.
const NONE: u8 = 0x80;

/// Up to 16 bytes of a row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct Tile {
    control: [u8; WIDE],
    literal: [u8; WIDE],
    len: u8,
}

/// Up to 16 bytes of every row of a template.
#[derive(Clone, Debug)]
struct Column {
    /// The block that has the digits.
    block: usize,
    /// By the number of digits, less one.
    tiles: [Tile; DIGITS],
}

/// A byte of a row.
#[derive(Clone, Copy, Debug)]
enum Byte {
    Literal(u8),
    /// A place in the register of digits.
    Digit(u8),
}

/// The columns of a template.
#[derive(Clone, Debug)]
struct Columns {
    columns: Vec<Column>,
    /// Of how many blocks they are.
    blocks: usize,
}

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
                Some(template) => match template.columns.as_slice() {
                    [a] => output.columns([a], &blocks, lengths),
                    [a, b] => output.columns([a, b], &blocks, lengths),
                    [a, b, c] => output.columns([a, b, c], &blocks, lengths),
                    [a, b, c, d] => output.columns([a, b, c, d], &blocks, lengths),
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
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        let empty = &Block::EMPTY;
        let mut own = [empty; N];
        for (own, column) in own.iter_mut().zip(columns) {
            *own = blocks.get(column.block)?;
        }
        let is_wide = self.out.len() - self.at >= BLOCK * N * WIDE;
        if !is_wide {
            for (row, length) in (0..BLOCK).zip(lengths) {
                let start = self.at;
                for (column, block) in columns.into_iter().zip(own) {
                    self.column(column, block, row)?;
                }
                *length = (self.at - start) as u32;
            }
            return Some(());
        }
        let (to, mut at) = (self.out.as_mut_ptr(), self.at);
        for (row, length) in (0..BLOCK).zip(lengths) {
            let start = at;
            for (column, block) in columns.into_iter().zip(own) {
                let tile = column.tile(block, row);
                // SAFETY: there was room for 16 bytes for each of `N` tiles of 64 rows, and a tile
                // advances by 16 at most.
                let place = unsafe { &mut *to.add(at).cast::<[u8; WIDE]>() };
                (self.put)(&block.digits[row], tile, place);
                at += usize::from(tile.len).min(WIDE);
            }
            *length = (at - start) as u32;
        }
        self.at = at;
        Some(())
    }

    /// Prints up to 64 rows of a template.
    #[inline(always)]
    fn many(&mut self, columns: &[Column], blocks: &[Block], lengths: &mut [u32]) -> Option<()> {
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

impl Column {
    /// The tile of a row.
    #[inline(always)]
    fn tile(&self, block: &Block, row: usize) -> &Tile {
        &self.tiles[usize::from(block.more[row]) % DIGITS]
    }
}

/// The conversions of the slots, one after another; `None` where templates disagree about a slot.
fn conversions(templates: &[Template]) -> Option<Vec<Conversion>> {
    // Of every slot: its numbers, its digits if they are fixed, and the most if they are not.
    let mut slots: Vec<(SlotNumbers, Option<u8>, u8)> = Vec::new();
    for template in templates {
        for (slot, fields) in template.slot_fields().enumerate() {
            let numbers = SlotNumbers::of(&fields)?;
            let digits = fields.iter().map(|(step, _)| step.digits());
            let width = digits.clone().sum::<Option<u8>>();
            let least = digits.map(|digits| digits.unwrap_or(1)).sum();
            match slots.get_mut(slot) {
                None => slots.push((numbers, width, least)),
                Some((known, ..)) if *known != numbers => return None,
                Some((_, known, most)) => {
                    *known = known.filter(|known| Some(*known) == width);
                    *most = least.max(*most);
                }
            }
        }
    }
    let variable = slots.iter().filter(|(_, width, _)| width.is_none());
    if variable.count() > MOST_VARIABLE {
        return None;
    }
    let mut all: Vec<Conversion> = Vec::new();
    for (slot, (numbers, width, least)) in slots.into_iter().enumerate() {
        let is_shared = templates
            .iter()
            .all(|template| template.slots.len() != slot);
        let joins = match (width, all.last_mut()) {
            (Some(width), Some(before)) if is_shared => before.push(&numbers, width),
            _ => false,
        };
        if !joins {
            all.push(Conversion::new(numbers, least)?);
        }
    }
    Some(all)
}

/// The columns of a template.
fn columns(template: &Template, conversions: &[Conversion]) -> Option<Columns> {
    let mut columns = Vec::new();
    let (mut steps, mut field, mut slot, mut block) = (template.steps.as_slice(), 0, 0, 0);
    while let Some(conversion) = conversions
        .get(block)
        .filter(|_| slot < template.slots.len())
    {
        slot += conversion.slots();
        let (_, end) = template.slots.get(slot - 1)?;
        // Literals stand before the fields of a block; the last has those behind it, too.
        let is_last = slot == template.slots.len();
        let mut taken = 0;
        for step in steps {
            let is_field = !matches!(step, Step::Literal(..));
            if field == *end && (is_field || !is_last) {
                break;
            }
            field += usize::from(is_field);
            taken += 1;
        }
        let (own, rest) = steps.split_at(taken);
        steps = rest;
        push_columns(own, block, &mut columns)?;
        block += 1;
    }
    if block == 0 {
        push_columns(steps, 0, &mut columns)?;
    }
    Some(Columns {
        columns,
        blocks: block,
    })
}

/// Appends the columns of a block.
fn push_columns(steps: &[Step], block: usize, all: &mut Vec<Column>) -> Option<()> {
    let mut fields = steps
        .iter()
        .filter(|step| !matches!(step, Step::Literal(..)));
    let first = fields.next();
    let behind = fields.map(Step::digits).sum::<Option<u8>>()?;
    let mut rows = Vec::with_capacity(DIGITS);
    for count in 1..=DIGITS as u8 {
        let own = match first {
            None => 0,
            Some(step) => step
                .digits()
                .unwrap_or_else(|| count.saturating_sub(behind).max(1)),
        };
        rows.push(bytes(steps, own, behind)?);
    }
    let longest = rows.iter().map(Vec::len).max()?;
    if longest > MOST_OF_ONE * WIDE {
        return None;
    }
    for start in (0..longest).step_by(WIDE) {
        let mut tiles = [Tile::default(); DIGITS];
        for (tile, row) in tiles.iter_mut().zip(&rows) {
            let end = row.len().min(start + WIDE);
            *tile = Tile::of(row.get(start.min(end)..end)?);
        }
        all.push(Column { block, tiles });
    }
    Some(())
}

impl Default for Tile {
    fn default() -> Self {
        Self {
            control: [NONE; WIDE],
            literal: [0; WIDE],
            len: 0,
        }
    }
}

impl Tile {
    /// A tile of at most 16 bytes.
    fn of(bytes: &[Byte]) -> Self {
        let mut tile = Self {
            len: bytes.len() as u8,
            ..Self::default()
        };
        let places = tile.control.iter_mut().zip(&mut tile.literal);
        for ((control, literal), byte) in places.zip(bytes) {
            match byte {
                Byte::Literal(byte) => *literal = *byte,
                Byte::Digit(place) => *control = *place,
            }
        }
        tile
    }
}

/// The bytes of a block of which the first field has `first` digits, those behind it `behind`.
fn bytes(steps: &[Step], first: u8, behind: u8) -> Option<Vec<Byte>> {
    let mut place = (DIGITS as u8).saturating_sub(first.checked_add(behind)?);
    let (mut out, mut is_first) = (Vec::new(), true);
    for step in steps {
        let digits = match step {
            Step::Literal(bytes, len) => {
                let literal = bytes.get(..usize::from(*len))?.iter();
                out.extend(literal.map(|byte| Byte::Literal(*byte)));
                continue;
            }
            _ if is_first => first,
            Step::Fixed(digits) | Step::Hex(digits, _) => *digits,
            _ => return None,
        };
        is_first = false;
        for left in (0..digits).rev() {
            out.push(Byte::Digit(place));
            place += 1;
            if matches!(step, Step::Grouped) && left > 0 && left % 3 == 0 {
                out.push(Byte::Literal(b','));
            }
        }
    }
    Some(out)
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
