//! Rows printed 16 bytes at a time: bytes picked out of a register of digits, with literals between
//! them.
//!
//!   tile = shuffle(digits, control) | literal
//!
//! A template is a row of columns; a column has a tile for each number of digits, so that neither
//! template nor number of digits needs a branch. Rows that tiles do not print (words, numbers of
//! more than 16 digits) are printed step by step.

use super::block::{BLOCK, Block, MOST_BLOCKS, Places};
use super::columns::{Column, Columns, MOST, MOST_OF_ONE, Tile, columns, conversions};
use super::numbers::{Conversion, Stop};
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
        let mut output = Output { out, at: 0, put };
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
        Ok(output.at)
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
                    let start = output.at;
                    output.row(template, blocks, next)?;
                    *length = (output.at - start) as u32;
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

/// A row of a template, whose digits are at this place of each block, or another string.
enum Row<'a> {
    Of(&'a Columns, usize),
    Other(&'a [u8]),
}

/// Where rows are printed to, and how a tile is.
struct Output<'a, Put> {
    out: &'a mut [u8],
    /// The bytes printed.
    at: usize,
    put: Put,
}

impl<Put: Fn(&[u64; 2], &Tile, &mut [u8; WIDE])> Output<'_, Put> {
    /// Prints up to 64 rows of a template.
    #[inline(always)]
    fn of_template(
        &mut self,
        template: &Columns,
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        let all = template.columns.as_slice();
        let is_needed = |column: &Column| {
            let block = blocks.get(column.block);
            block.is_none_or(|block| !column.is_empty(block.most(lengths.len())))
        };
        let Some(columns) = Few::of(all, is_needed) else {
            return self.many(all, blocks, lengths);
        };
        if self.run(&columns, blocks, |_| Some(0), lengths)? {
            return Some(());
        }
        match columns.count {
            1 => self.columns(columns.first::<1>()?, blocks, lengths),
            2 => self.columns(columns.first::<2>()?, blocks, lengths),
            3 => self.columns(columns.first::<3>()?, blocks, lengths),
            4 => self.columns(columns.first::<4>()?, blocks, lengths),
            _ => self.many(all, blocks, lengths),
        }
    }

    /// Prints up to 64 rows of few columns.
    #[inline(always)]
    fn columns<const N: usize>(
        &mut self,
        columns: [&Column; N],
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
        let (to, mut at) = (self.out.as_mut_ptr(), self.at);
        for (row, length) in (0..BLOCK).zip(lengths) {
            let start = at;
            for (column, block) in columns.into_iter().zip(own) {
                let tile = column.tile(block, row);
                // SAFETY: there was room for 16 bytes for each of `N` tiles of 64 rows, and a tile
                // advances by 16 at most.
                (self.put)(&block.digits[row], tile, unsafe { &mut *to.add(at).cast() });
                at += tile.bytes();
            }
            *length = (at - start) as u32;
        }
        self.at = at;
        Some(())
    }

    /// Prints up to 64 rows, whose numbers begin at this `place` of each block, where all rows have the same
    /// number of digits in each column, and so of bytes; `false`, with nothing printed, where they have not, or
    /// there is no room for wide stores.
    #[inline(always)]
    fn fixed<const N: usize>(
        &mut self,
        columns: [&Column; N],
        blocks: &[Block],
        place: impl Fn(usize) -> Option<usize>,
        lengths: &mut [u32],
    ) -> Option<bool> {
        let rows = lengths.len();
        let none: (Tile, &[[u64; 2]]) = (Tile::default(), &[]);
        let mut own = [none; N];
        for ((tile, digits), column) in own.iter_mut().zip(columns) {
            let (block, first) = (blocks.get(column.block)?, place(column.block)?);
            *digits = block.digits.get(first..)?.get(..rows)?;
            *tile = *column.first_tile();
            if !column.is_fixed {
                let (first, rest) = block.more.get(first..)?.get(..rows)?.split_first()?;
                // To the end, so that the loop vectorises.
                if rest.iter().fold(0, |bits, more| bits | (more ^ first)) != 0 {
                    return Some(false);
                }
                *tile = *column.tile_of(*first);
            }
        }
        let bytes = own.iter().map(|(tile, _)| tile.bytes()).sum::<usize>();
        if self.out.len() - self.at < rows * bytes + WIDE {
            return Some(false);
        }
        let to = self.out.as_mut_ptr();
        // The places are known beforehand: no row waits for the one before.
        for row in 0..rows {
            let mut place = self.at + row * bytes;
            for (tile, digits) in &own {
                // SAFETY: there was room for 16 bytes behind all rows, of which each takes as many.
                (self.put)(&digits[row], tile, unsafe { &mut *to.add(place).cast() });
                place += tile.bytes();
            }
        }
        lengths.fill(bytes as u32);
        self.at += rows * bytes;
        Some(true)
    }

    /// [`fixed`](Self::fixed), from any number of columns.
    #[inline(always)]
    fn run(
        &mut self,
        columns: &Few<'_>,
        blocks: &[Block],
        place: impl Fn(usize) -> Option<usize>,
        lengths: &mut [u32],
    ) -> Option<bool> {
        if lengths.len() < 2 {
            return Some(false);
        }
        match columns.count {
            1 => self.fixed(columns.first::<1>()?, blocks, place, lengths),
            2 => self.fixed(columns.first::<2>()?, blocks, place, lengths),
            3 => self.fixed(columns.first::<3>()?, blocks, place, lengths),
            4 => self.fixed(columns.first::<4>()?, blocks, place, lengths),
            5 => self.fixed(columns.first::<5>()?, blocks, place, lengths),
            6 => self.fixed(columns.first::<6>()?, blocks, place, lengths),
            _ => Some(false),
        }
    }

    /// Whether there is room for wide stores of 64 rows of so many columns.
    #[inline(always)]
    fn has_room(&self, columns: usize) -> bool {
        self.out.len() - self.at >= BLOCK * columns * WIDE
    }

    /// Prints up to 64 rows, each of which takes digits of all blocks, of templates of `widest` columns at most, or is
    /// another string.
    #[inline(always)]
    fn rows<'c>(
        &mut self,
        widest: usize,
        rows: impl Iterator<Item = Option<Row<'c>>>,
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        match blocks {
            // Behind the blocks is one that no template has.
            [block, _] => self.rows_of_block(widest, rows, block, lengths),
            blocks => self.rows_of_blocks(widest, rows, blocks, lengths),
        }
    }

    /// As [`rows`](Self::rows), of one block.
    #[inline(always)]
    fn rows_of_block<'c>(
        &mut self,
        widest: usize,
        rows: impl Iterator<Item = Option<Row<'c>>>,
        block: &Block,
        lengths: &mut [u32],
    ) -> Option<()> {
        let (mut has_room, mut at) = (self.has_room(widest), self.at);
        for (row, length) in rows.zip(lengths) {
            let (columns, place) = match row? {
                Row::Of(columns, place) => (columns, place),
                Row::Other(string) => {
                    self.at = at;
                    self.string(string)?;
                    *length = string.len() as u32;
                    (at, has_room) = (self.at, self.has_room(widest));
                    continue;
                }
            };
            let (first, bytes) = columns.of_one_block()?;
            let bytes = usize::from(bytes[block.index(place)]);
            *length = bytes as u32;
            if has_room && bytes <= WIDE {
                // SAFETY: there was room for 16 bytes for each column of 64 rows, and no row advances by more; as much
                // behind another string.
                let to = unsafe { &mut *self.out.as_mut_ptr().add(at).cast() };
                (self.put)(&block.digits[place], first.tile(block, place), to);
                at += bytes;
            } else {
                self.at = at;
                for column in &columns.columns {
                    self.column(column, block, place)?;
                }
                at = self.at;
            }
        }
        self.at = at;
        Some(())
    }

    /// As [`rows`](Self::rows), of several blocks.
    #[inline(always)]
    fn rows_of_blocks<'c>(
        &mut self,
        widest: usize,
        rows: impl Iterator<Item = Option<Row<'c>>>,
        blocks: &[Block],
        lengths: &mut [u32],
    ) -> Option<()> {
        let mut most = [u8::MAX; MOST_BLOCKS];
        for (most, block) in most.iter_mut().zip(blocks) {
            *most = block.most(lengths.len());
        }
        let mut has_room = self.has_room(widest);
        for (row, length) in rows.zip(lengths) {
            let start = self.at;
            match row? {
                Row::Of(columns, place) => {
                    for column in &columns.columns {
                        let block = blocks.get(column.block)?;
                        if !has_room {
                            self.column(column, block, place)?;
                            continue;
                        }
                        if column.is_empty(*most.get(column.block)?) {
                            continue;
                        }
                        let tile = column.tile(block, place);
                        // SAFETY: there was room for 16 bytes for each column of 64 rows, and a tile advances by 16 at
                        // most; as much behind another string.
                        let to = unsafe { &mut *self.out.as_mut_ptr().add(self.at).cast() };
                        (self.put)(&block.digits[place], tile, to);
                        self.at += tile.bytes();
                    }
                }
                Row::Other(string) => {
                    self.string(string)?;
                    has_room = self.has_room(widest);
                }
            }
            *length = (self.at - start) as u32;
        }
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

    /// Prints a row whose digits are at these places of the blocks.
    #[inline(always)]
    fn row(&mut self, template: &Columns, blocks: &[Block], places: Places) -> Option<()> {
        let has_room = self.out.len() - self.at >= template.columns.len() * WIDE;
        let (to, mut at) = (self.out.as_mut_ptr(), self.at);
        for column in &template.columns {
            let block = blocks.get(column.block)?;
            let row = places.of(column.block)? % BLOCK;
            if !has_room {
                self.column(column, block, row)?;
                at = self.at;
                continue;
            }
            let tile = column.tile(block, row);
            // SAFETY: there was room for 16 bytes for each column, and a tile advances by 16 at most.
            (self.put)(&block.digits[row], tile, unsafe { &mut *to.add(at).cast() });
            at += tile.bytes();
        }
        self.at = at;
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

/// Most columns that are printed by loops of their own.
const FEW: usize = 6;

/// A few columns of a template.
struct Few<'c> {
    columns: [&'c Column; FEW],
    count: usize,
}

impl<'c> Few<'c> {
    /// Those that are needed; `None` where these are too many, or there is no column.
    #[inline(always)]
    fn of(columns: &'c [Column], is_needed: impl Fn(&Column) -> bool) -> Option<Self> {
        let first = columns.first()?;
        let mut few = Self {
            columns: [first; FEW],
            count: 0,
        };
        for column in columns.iter().filter(|column| is_needed(column)) {
            *few.columns.get_mut(few.count)? = column;
            few.count += 1;
        }
        Some(few)
    }

    /// The first of them.
    #[inline(always)]
    fn first<const N: usize>(&self) -> Option<[&'c Column; N]> {
        self.columns.first_chunk().copied()
    }
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
