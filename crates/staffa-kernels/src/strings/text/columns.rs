//! What tiles make of templates: columns, with a tile for each number of digits.

use super::block::{Block, DIGITS};
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
    pub(super) len: u8,
}

/// Up to 16 bytes of every row of a template.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The block that has the digits.
    pub(super) block: usize,
    /// By the number of digits, less one.
    tiles: [Tile; DIGITS],
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
    /// Whether the rows of every column have the same tile.
    pub(super) is_fixed: bool,
    /// The bytes of a row by the number of its digits, less one; `None` where these are in several blocks, or there
    /// is no column.
    pub(super) lengths: Option<[u16; DIGITS]>,
}

impl Column {
    /// The tile of a row.
    #[inline(always)]
    pub(super) fn tile(&self, block: &Block, row: usize) -> &Tile {
        &self.tiles[block.index(row)]
    }

    /// The tile of a row that needs one digit.
    #[inline(always)]
    pub(super) fn first_tile(&self) -> &Tile {
        &self.tiles[0]
    }

    fn is_fixed(&self) -> bool {
        self.tiles.iter().all(|tile| tile == self.first_tile())
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

/// The conversions of the slots, one after another; `None` where templates disagree about a slot.
pub(super) fn conversions(templates: &[Template]) -> Option<Vec<Conversion>> {
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
            all.push(Conversion::new(numbers, least, width.is_none())?);
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
        is_fixed: columns.iter().all(Column::is_fixed),
        lengths: lengths(&columns),
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
    pub(super) fn of(bytes: &[Byte]) -> Self {
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
