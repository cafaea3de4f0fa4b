//! Where rows are printed to, 16 bytes at a time.
//!
//! A wide store writes behind the row, where the next one begins: where there is no room for that, a row is copied.

use super::block::{BLOCK, Block, MOST_BLOCKS, Places};
use super::columns::{Column, Columns, Tile};
use super::template::WIDE;

/// A row of a template, whose digits are at this place of each block, or another string.
pub(super) enum Row<'a> {
    Of(&'a Columns, usize),
    Other(&'a [u8]),
}

/// Where rows are printed to, and how a tile is.
pub(super) struct Output<'a, Put> {
    out: &'a mut [u8],
    /// The bytes printed.
    at: usize,
    put: Put,
}

impl<'a, Put: Fn(&[u64; 2], &Tile, &mut [u8; WIDE])> Output<'a, Put> {
    /// An output of which nothing is printed.
    #[inline(always)]
    pub(super) fn new(out: &'a mut [u8], put: Put) -> Self {
        Self { out, at: 0, put }
    }

    /// The bytes printed.
    #[inline(always)]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Prints up to 64 rows of a template.
    #[inline(always)]
    pub(super) fn of_template(
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
            5 => self.columns(columns.first::<5>()?, blocks, lengths),
            6 => self.columns(columns.first::<6>()?, blocks, lengths),
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
        if !self.has_room(N) {
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
    pub(super) fn run(
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
    pub(super) fn rows<'c>(
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
    pub(super) fn row(
        &mut self,
        template: &Columns,
        blocks: &[Block],
        places: Places,
    ) -> Option<()> {
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
        let len = tile.bytes();
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

    pub(super) fn string(&mut self, string: &[u8]) -> Option<()> {
        let place = self.out.get_mut(self.at..)?.get_mut(..string.len())?;
        place.copy_from_slice(string);
        self.at += string.len();
        Some(())
    }
}

/// Most columns that are printed by loops of their own.
const FEW: usize = 6;

/// A few columns of a template.
pub(super) struct Few<'c> {
    columns: [&'c Column; FEW],
    count: usize,
}

impl<'c> Few<'c> {
    /// Those that are needed; `None` where these are too many, or there is no column.
    #[inline(always)]
    pub(super) fn of(columns: &'c [Column], is_needed: impl Fn(&Column) -> bool) -> Option<Self> {
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
