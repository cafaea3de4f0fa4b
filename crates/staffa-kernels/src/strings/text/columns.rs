//! What tiles make of templates: columns, with a tile for each number of digits.

use super::block::{Block, DIGITS, Places};
use super::numbers::{Conversion, SlotNumbers};
use super::template::{Step, Template, WIDE};
use crate::strings::inline::INLINE;

/// Most columns of all templates, of 768 bytes each.
pub(super) const MOST: usize = 128;
/// Most columns of a template.
pub(super) const MOST_OF_ONE: usize = 32;
/// Most conversions of numbers in as few digits as they need: of more, steps take less time.
const MOST_VARIABLE: usize = 3;
/// The byte of a control for which a shuffle gives 0.
const NONE: u8 = 0x80;

/// Up to 16 bytes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(super) struct Tile {
    pub(super) control: [u8; WIDE],
    pub(super) literal: [u8; WIDE],
    /// At most 16: set by [`Tile::of`] alone.
    len: u8,
}

/// Up to 16 bytes of every row of a template.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The block that has the digits.
    pub(super) block: usize,
    /// By the number of digits, less one.
    tiles: [Tile; DIGITS],
    /// Whether all of these are the same.
    pub(super) is_fixed: bool,
    /// The first of these that has bytes; `None` where none has.
    first: Option<u8>,
}

/// A byte of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Byte {
    Literal(u8),
    /// A place in the register of digits.
    Digit(u8),
}

/// The columns of a template.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// Of how many blocks they are.
    pub(super) blocks: usize,
    /// What a row takes of them.
    pub(super) taken: Places,
    /// The bytes of a row by the number of its digits, less one; `None` where these are in several blocks, or there
    /// is no column.
    pub(super) lengths: Option<[u16; DIGITS]>,
}

impl Tile {
    /// Bytes of the row, 16 at most.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        usize::from(self.len)
    }
}

impl Column {
    /// The tile of a row.
    #[inline(always)]
    pub(super) fn tile(&self, block: &Block, row: usize) -> &Tile {
        &self.tiles[block.index(row)]
    }

    /// Whether it has no bytes of rows that need one digit and at most so many more.
    #[inline(always)]
    pub(super) fn is_empty(&self, most: u8) -> bool {
        self.first.is_none_or(|first| most < first)
    }

    /// The tile of a row that needs one digit and so many more.
    #[inline(always)]
    pub(super) fn tile_of(&self, more: u8) -> &Tile {
        &self.tiles[usize::from(more) % DIGITS]
    }

    /// The tile of a row that needs one digit.
    #[inline(always)]
    pub(super) fn first_tile(&self) -> &Tile {
        &self.tiles[0]
    }
}

impl Columns {
    /// The first column, and the bytes of a row by the number of its digits, less one; `None` where these are in
    /// several blocks.
    #[inline(always)]
    pub(super) fn of_one_block(&self) -> Option<(&Column, &[u16; DIGITS])> {
        self.columns.first().zip(self.lengths.as_ref())
    }

    /// Whether views may hold rows: by the shortest, and by the literals.
    pub(super) fn may_be_inline(&self) -> bool {
        self.of_one_block().is_some_and(|(column, lengths)| {
            let shortest = lengths.iter().min().map_or(0, |len| usize::from(*len));
            shortest <= INLINE && column.tiles.iter().all(|tile| tile.literal.is_ascii())
        })
    }
}

/// What the templates say of a slot.
struct SlotOfAll {
    numbers: SlotNumbers,
    /// The most digits, of which a field of any length counts as one.
    width: u8,
    /// Whether a field has as many digits as its number needs. Of another fixed width, each template has tiles of its
    /// own, which pick the last digits.
    is_variable: bool,
}

/// The conversions of the slots, one after another; `None` where templates disagree about a slot.
pub(super) fn conversions(templates: &[Template]) -> Option<Vec<Conversion>> {
    let mut slots: Vec<SlotOfAll> = Vec::new();
    for template in templates {
        for (slot, fields) in template.slot_fields().enumerate() {
            let numbers = SlotNumbers::of(&fields)?;
            let digits = fields.iter().map(|(step, _)| step.digits());
            let is_variable = digits.clone().any(|digits| digits.is_none());
            let width = digits.map(|digits| digits.unwrap_or(1)).sum();
            match slots.get_mut(slot) {
                None => slots.push(SlotOfAll {
                    numbers,
                    width,
                    is_variable,
                }),
                Some(known) if known.numbers != numbers => return None,
                Some(known) => {
                    known.width = known.width.max(width);
                    known.is_variable |= is_variable;
                }
            }
        }
    }
    let has_any_length = |slot: &&SlotOfAll| slot.is_variable && !slot.numbers.are_words();
    if slots.iter().filter(has_any_length).count() > MOST_VARIABLE {
        return None;
    }
    let mut all: Vec<Conversion> = Vec::new();
    for (i, slot) in slots.into_iter().enumerate() {
        let is_shared = templates.iter().all(|template| template.slots.len() != i);
        let joins = match all.last_mut() {
            Some(before) if is_shared && !slot.is_variable => {
                before.push(&slot.numbers, slot.width)
            }
            _ => false,
        };
        if !joins {
            all.push(Conversion::new(slot.numbers, slot.width, slot.is_variable)?);
        }
    }
    Some(all)
}

/// The columns of a template.
pub(super) fn columns(template: &Template, conversions: &[Conversion]) -> Option<Columns> {
    let mut columns = Vec::new();
    let (mut steps, mut field, mut slot, mut block) = (template.steps.as_slice(), 0, 0, 0);
    while let Some(conversion) = conversions
        .get(block)
        .filter(|_| slot < template.slots.len())
    {
        let slots = template.slots.get(slot..slot + conversion.slots())?;
        slot += slots.len();
        let (_, end) = slots.last()?;
        // Literals stand before the fields of a block; the last has those behind it, too.
        let is_last = slot == template.slots.len();
        let mut taken = 0;
        for step in steps {
            let is_field = step.is_field();
            if field == *end && (is_field || !is_last) {
                break;
            }
            field += usize::from(is_field);
            taken += 1;
        }
        let (own, rest) = steps.split_at(taken);
        steps = rest;
        let fields = slots.iter().map(|(first, end)| end - first);
        let slots: Vec<_> = fields.zip(conversion.digits_behind()).collect();
        push_columns(own, &slots, block, &mut columns)?;
        block += 1;
    }
    if block == 0 {
        push_columns(steps, &[], 0, &mut columns)?;
    }
    Some(Columns {
        lengths: lengths(&columns),
        taken: Places::one_of(block),
        columns,
        blocks: block,
    })
}

/// The bytes of a row by the number of its digits, less one; `None` where its columns are of several blocks, or
/// there are none.
fn lengths(columns: &[Column]) -> Option<[u16; DIGITS]> {
    let first = columns.first()?;
    let mut lengths = [0u16; DIGITS];
    for column in columns {
        if column.block != first.block {
            return None;
        }
        for (length, tile) in lengths.iter_mut().zip(&column.tiles) {
            *length = length.checked_add(tile.len.into())?;
        }
    }
    Some(lengths)
}

/// Appends the columns of a block, whose slots have so many fields, and so many digits behind them.
fn push_columns(
    steps: &[Step],
    slots: &[(usize, u8)],
    block: usize,
    all: &mut Vec<Column>,
) -> Option<()> {
    let rows = (1..=DIGITS as u8).map(|count| bytes(steps, slots, count));
    let rows = rows.collect::<Option<Vec<_>>>()?;
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
        all.push(Column {
            block,
            is_fixed: tiles.array_windows().all(|[a, b]| a == b),
            first: (0..)
                .zip(&tiles)
                .find(|(_, tile)| tile.len > 0)
                .map(|(i, _)| i),
            tiles,
        });
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
    /// A tile of these bytes, the first 16 at most.
    pub(super) fn of(bytes: &[Byte]) -> Self {
        let mut tile = Self {
            len: bytes.len().min(WIDE) as u8,
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

/// The bytes of a block of which a row needs `count` digits, if its first field has as many as it needs.
fn bytes(steps: &[Step], slots: &[(usize, u8)], count: u8) -> Option<Vec<Byte>> {
    let mut fields = steps.iter().filter(|step| step.is_field());
    // Of every field, the place of its first digit, and how many it has.
    let mut places = Vec::new();
    for (i, (of_slot, behind)) in slots.iter().enumerate() {
        let own: Vec<_> = fields.by_ref().take(*of_slot).map(Step::digits).collect();
        let others = own.iter().skip(1).copied().sum::<Option<u8>>()?;
        let first = match own.first()? {
            Some(digits) => *digits,
            None if i == 0 => count.saturating_sub(others.checked_add(*behind)?).max(1),
            None => return None,
        };
        let width = first.checked_add(others)?.checked_add(*behind)?;
        let mut place = (DIGITS as u8).checked_sub(width)?;
        for digits in std::iter::once(first).chain(own.into_iter().skip(1).flatten()) {
            places.push((place, digits));
            place += digits;
        }
    }
    let (mut out, mut places) = (Vec::new(), places.into_iter());
    for step in steps {
        if let Step::Literal(bytes, len) = step {
            let literal = bytes.get(..usize::from(*len))?.iter();
            out.extend(literal.map(|byte| Byte::Literal(*byte)));
            continue;
        }
        let (place, digits) = places.next()?;
        for (place, left) in (place..).zip((0..digits).rev()) {
            out.push(Byte::Digit(place));
            if matches!(step, Step::Grouped) && left > 0 && left % 3 == 0 {
                out.push(Byte::Literal(b','));
            }
        }
    }
    Some(out)
}
