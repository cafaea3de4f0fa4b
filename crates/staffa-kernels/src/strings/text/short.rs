//! Rows of two to four short decimal fields, such as versions and IPv4 addresses: all of a row is one tile, picked by
//! the number of digits of every field. Sorted addresses of a block may have first fields of as many digits, which are
//! a field of fixed width.

use super::block::BLOCK;
use super::columns::{Byte, Tile};
use super::numbers::{Stop, divide_by};
use super::template::{Step, Template, TextRows, WIDE};

/// Fewest and most fields of a row, which are the last of four, and bytes of the digits of each.
const FEWEST: usize = 2;
const FIELDS: usize = 4;
const FIELD_BYTES: usize = 4;
/// Most digits of a field, and the first number that has more.
const DIGITS: usize = 3;
const TOO_LARGE: u32 = 1000;
/// Numbers of digits of all fields.
const TILES: usize = DIGITS.pow(FIELDS as u32);

/// The tiles of a template of decimal fields.
#[derive(Clone, Debug)]
pub(super) struct Short {
    tiles: Box<[Tile; TILES]>,
}

impl Short {
    /// `None` for a template of other fields, where a row may need more than a tile, and where only the first field has
    /// as many digits as it needs: tiles of all templates print those out of one register.
    pub(super) fn new(template: &Template) -> Option<Self> {
        let is_short = |step: &Step| match step {
            Step::Decimal | Step::Literal(..) => true,
            Step::Fixed(digits) => usize::from(*digits) <= DIGITS,
            _ => false,
        };
        let fields = template.steps.iter().filter(|step| step.is_field());
        let mut behind = fields.skip(1);
        let is_variable = behind.any(|step| matches!(step, Step::Decimal));
        let count = template.radices.len();
        let is_count = (FEWEST..=FIELDS).contains(&count);
        if !is_count || !is_variable || !template.steps.iter().all(is_short) {
            return None;
        }
        let mut tiles = Box::new([Tile::default(); TILES]);
        for (k, tile) in tiles.iter_mut().enumerate() {
            let (mut bytes, mut field) = (Vec::with_capacity(WIDE), FIELDS - count);
            let mut left = DIGITS.pow(count as u32);
            for step in &template.steps {
                if let Step::Literal(literal, len) = step {
                    let literal = literal.iter().take(usize::from(*len));
                    bytes.extend(literal.map(|byte| Byte::Literal(*byte)));
                    continue;
                }
                left /= DIGITS;
                // A number of more digits than its fixed width is cut to its last ones.
                let digits = step.digits().map_or(k / left % DIGITS + 1, usize::from);
                let places = (FIELD_BYTES * field..).take(DIGITS).skip(DIGITS - digits);
                bytes.extend(places.map(|place| Byte::Digit(place as u8)));
                field += 1;
            }
            if bytes.len() > WIDE {
                return None;
            }
            *tile = Tile::of(&bytes);
        }
        Some(Self { tiles })
    }

    /// Prints rows that all have the template; `put` makes the bytes of a tile out of 16 digits. Returns the bytes
    /// written.
    #[inline(always)]
    pub(super) fn print(
        &self,
        template: &Template,
        rows: &TextRows<'_>,
        lengths: &mut [u32],
        out: &mut [u8],
        put: impl Fn(&[u64; 2], &Tile, &mut [u8; WIDE]),
    ) -> Result<usize, Stop> {
        let (all, mut at) = (&*self.tiles, 0);
        for (i, lengths) in lengths.chunks_mut(BLOCK).enumerate() {
            let fields = fields(template, rows, i * BLOCK, lengths.len())?;
            let (digits, tiles) = digits(&fields)?;
            let rest = out.get_mut(at..).ok_or(Stop::Wrong)?;
            if rest.len() >= BLOCK * WIDE {
                let (to, mut end) = (rest.as_mut_ptr(), 0);
                for ((digits, tile), length) in digits.iter().zip(tiles).zip(lengths) {
                    let tile = all.get(usize::from(tile)).ok_or(Stop::Wrong)?;
                    let len = tile.bytes();
                    // SAFETY: there was room for 16 bytes for each of 64 rows, and none advances by more.
                    put(digits, tile, unsafe { &mut *to.add(end).cast() });
                    *length = len as u32;
                    end += len;
                }
                at += end;
                continue;
            }
            // Not a byte is written behind the rows.
            for ((digits, tile), length) in digits.iter().zip(tiles).zip(lengths) {
                let (tile, mut text) = (all.get(usize::from(tile)).ok_or(Stop::Wrong)?, [0; WIDE]);
                put(digits, tile, &mut text);
                let text = text.get(..tile.bytes()).ok_or(Stop::Wrong)?;
                let place = out
                    .get_mut(at..)
                    .and_then(|rest| rest.get_mut(..text.len()));
                place.ok_or(Stop::Wrong)?.copy_from_slice(text);
                *length = text.len() as u32;
                at += text.len();
            }
        }
        Ok(at)
    }
}

/// The fields of up to 64 rows, the first of which is row `first`; 0 for those before.
#[inline(always)]
fn fields(
    template: &Template,
    rows: &TextRows<'_>,
    first: usize,
    count: usize,
) -> Result<[[u32; BLOCK]; FIELDS], Stop> {
    let mut fields = [[0; BLOCK]; FIELDS];
    let before = FIELDS.saturating_sub(template.radices.len());
    for (&(begin, end), slot) in template.slots.iter().zip(rows.slots) {
        let numbers = slot.get(first..first + count).ok_or(Stop::Wrong)?;
        let (mut values, mut all) = ([0; BLOCK], 0);
        for (value, number) in values.iter_mut().zip(numbers) {
            *value = *number as u32;
            all |= number;
        }
        if all >> 32 > 0 {
            return Err(Stop::Unfit);
        }
        for field in (begin + 1..end).rev() {
            let radix = template.radices.get(field).ok_or(Stop::Wrong)?.radix();
            let radix = u32::try_from(radix).map_err(|_| Stop::Unfit)?;
            let place = fields.get_mut(before + field).ok_or(Stop::Wrong)?;
            for (value, place) in values.iter_mut().zip(place) {
                (*value, *place) = divide_by(radix, *value);
            }
        }
        *fields.get_mut(before + begin).ok_or(Stop::Wrong)? = values;
    }
    Ok(fields)
}

/// The digits of the fields of each row, four bytes a field, and its tile.
#[inline(always)]
fn digits(fields: &[[u32; BLOCK]; FIELDS]) -> Result<([[u64; 2]; BLOCK], [u8; BLOCK]), Stop> {
    let (mut digits, mut tiles, mut fit) = ([[0u32; BLOCK]; FIELDS], [0u32; BLOCK], true);
    for (field, digits) in fields.iter().zip(&mut digits) {
        for ((value, digits), tile) in field.iter().zip(digits).zip(&mut tiles) {
            fit &= *value < TOO_LARGE;
            // A little more than 1 / 100, exact below 10^3; than 1 / 10, exact below 100.
            let hundreds = value.wrapping_mul(41) >> 12;
            let rest = value.wrapping_sub(hundreds.wrapping_mul(100));
            let tens = rest.wrapping_mul(103) >> 10;
            let ones = rest.wrapping_sub(tens.wrapping_mul(10));
            *digits = (hundreds | tens << 8 | ones << 16).wrapping_add(0x0030_3030);
            *tile = *tile * DIGITS as u32 + u32::from(*value > 9) + u32::from(*value > 99);
        }
    }
    if !fit {
        return Err(Stop::Unfit);
    }
    let [a, b, c, d] = &digits;
    let mut by_row = [[0u64; 2]; BLOCK];
    let fields = a.iter().zip(b).zip(c.iter().zip(d));
    for (row, ((a, b), (c, d))) in by_row.iter_mut().zip(fields) {
        *row = [
            u64::from(*a) | u64::from(*b) << 32,
            u64::from(*c) | u64::from(*d) << 32,
        ];
    }
    Ok((by_row, tiles.map(|tile| tile as u8)))
}
