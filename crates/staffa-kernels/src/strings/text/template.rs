//! Templates of text, prepared for printing, and rows of them.

use crate::strings::dict::BytesDict;

/// Most fields of a template.
pub const TEXT_FIELDS: usize = 32;

/// Templates of at least so many decimal fields, which tiles do not print, are printed by one store a field;
/// and of at most so many.
const FEWEST_DECIMALS: usize = 4;
pub(super) const DECIMALS: usize = 8;

/// Most bytes of a word, and of the part of a literal that one store takes.
pub(super) const WIDE: usize = 16;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes in every row.
    Literal(Vec<u8>),
    /// A number in as few digits as it needs.
    Decimal,
    /// A number in this many digits, 1 to 18, with leading zeros. A larger number is cut to its last
    /// digits.
    Fixed(u8),
    /// A number with a comma before every three digits.
    Grouped,
    /// A number in this many hexadecimal digits. A larger number is cut to its last digits.
    Hex {
        /// The number of digits, 1 to 16.
        digits: u8,
        /// `A` to `F`, not `a` to `f`.
        upper: bool,
    },
    /// One of these words, by its position; each has at most 16 bytes.
    Word(Vec<Vec<u8>>),
}

/// Rows to print.
#[derive(Clone, Copy, Debug)]
pub struct TextRows<'a> {
    /// The position of each row's template, plus 1; or 0 for the next of the other strings.
    pub codes: &'a [u8],
    /// The numbers of each slot, for the rows whose template has the slot, in row order.
    pub slots: &'a [&'a [u64]],
    /// Strings without a template.
    pub others: &'a BytesDict,
    /// The position of the first of them in these rows.
    pub first_other: usize,
}

/// A piece, or a part of a literal, as it is printed.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The bytes and their number.
    Literal([u8; WIDE], u8),
    Decimal,
    Fixed(u8),
    Grouped,
    /// The number of digits, and the distance of the letters behind `9`.
    Hex(u8, u8),
    Word(Vec<([u8; WIDE], u8)>),
}

impl Step {
    /// The step of a field; `None` for a literal, and for digits or words out of bounds.
    fn new(piece: &Piece) -> Option<Self> {
        match piece {
            Piece::Decimal => Some(Self::Decimal),
            Piece::Grouped => Some(Self::Grouped),
            Piece::Fixed(digits @ 1..=18) => Some(Self::Fixed(*digits)),
            Piece::Hex {
                digits: digits @ 1..=16,
                upper,
            } => {
                let first = if *upper { b'A' } else { b'a' };
                Some(Self::Hex(*digits, first - b'0' - 10))
            }
            Piece::Word(words) => {
                let words = words.iter().map(|word| wide(word));
                Some(Self::Word(words.collect::<Option<_>>()?))
            }
            Piece::Literal(_) | Piece::Fixed(_) | Piece::Hex { .. } => None,
        }
    }
}

impl Step {
    /// Whether it prints a number, and not a literal.
    pub(super) fn is_field(&self) -> bool {
        !matches!(self, Self::Literal(..))
    }

    /// The digits of a field of fixed width.
    pub(super) fn digits(&self) -> Option<u8> {
        match self {
            Self::Fixed(digits) | Self::Hex(digits, _) => Some(*digits),
            _ => None,
        }
    }
}

/// Up to 16 bytes, and their number.
fn wide(bytes: &[u8]) -> Option<([u8; WIDE], u8)> {
    let mut out = [0; WIDE];
    out.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some((out, bytes.len() as u8))
}

/// Division by a number known beforehand: the quotient by multiplication is at most one too small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Radix {
    radix: u64,
    inverse: u64,
}

impl Radix {
    /// Nothing is divided by the radix 0 of a field that begins a slot.
    pub(super) fn new(radix: u64) -> Self {
        let inverse = u64::MAX / radix.max(1);
        Self { radix, inverse }
    }

    pub(super) fn radix(self) -> u64 {
        self.radix
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub(super) fn divide(self, value: u64) -> (u64, u64) {
        let quotient = ((u128::from(value) * u128::from(self.inverse)) >> 64) as u64;
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.radix));
        let more = u64::from(rest >= self.radix);
        (quotient + more, rest - (self.radix & more.wrapping_neg()))
    }
}

/// The place of a field in rows of fixed length.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) digits: usize,
    /// For hexadecimal digits, as in [`Step::Hex`].
    pub(super) letters: Option<u8>,
}

/// A template: its pieces, and which slots their fields are in.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) steps: Vec<Step>,
    /// The range of fields of each slot.
    pub(super) slots: Vec<(usize, usize)>,
    pub(super) radices: Vec<Radix>,
    /// Places of the fields of fixed length; right where `variable` is `false`.
    pub(super) places: Vec<Place>,
    /// Bytes of literals and of fields of fixed length.
    pub(super) fixed: usize,
    /// Whether there are fields of other lengths.
    pub(super) variable: bool,
    /// Most bytes that printing a row may write.
    pub(super) room: usize,
    /// Where all fields are decimal, some of them, with few bytes between: the bytes behind each, and their number.
    pub(super) behind: Option<Vec<(u32, u8)>>,
}

impl Template {
    /// A template of pieces, and a radix for every field: 0 for one that begins a slot. `None` where
    /// the pieces or the radices are out of bounds.
    pub(super) fn new(pieces: &[Piece], radices: &[u64]) -> Option<Self> {
        let mut template = Self {
            steps: vec![],
            slots: vec![],
            radices: vec![],
            places: vec![],
            fixed: 0,
            variable: false,
            room: 2 * WIDE,
            behind: None,
        };
        let mut left = radices.iter();
        for piece in pieces {
            if let Piece::Literal(bytes) = piece {
                template.push_literal(bytes)?;
            } else {
                template.push_field(Step::new(piece)?, *left.next()?)?;
            }
        }
        let is_whole = left.next().is_none() && radices.len() <= TEXT_FIELDS;
        template.behind = behind(&template.steps);
        is_whole.then_some(template)
    }

    fn push_literal(&mut self, bytes: &[u8]) -> Option<()> {
        for part in bytes.chunks(WIDE) {
            let (part, len) = wide(part)?;
            self.steps.push(Step::Literal(part, len));
        }
        self.fixed += bytes.len();
        self.room += bytes.len();
        Some(())
    }

    fn push_field(&mut self, step: Step, radix: u64) -> Option<()> {
        let (digits, letters) = match step {
            Step::Fixed(digits) => (usize::from(digits), None),
            Step::Hex(digits, letters) => (usize::from(digits), Some(letters)),
            _ => (0, None),
        };
        if digits == 0 {
            self.variable = true;
        } else {
            let at = self.fixed;
            self.places.push(Place {
                at,
                digits,
                letters,
            });
            self.fixed += digits;
        }
        self.steps.push(step);
        // A number has at most 20 digits and 6 commas.
        self.room += 2 * WIDE;
        let field = self.radices.len();
        match self.slots.last_mut() {
            Some((_, end)) if radix != 0 => *end = field + 1,
            None if radix != 0 => return None,
            _ => self.slots.push((field, field + 1)),
        }
        self.radices.push(Radix::new(radix));
        Some(())
    }
}

/// The literals behind fields, which are decimal and begin the template, of at most four bytes each.
fn behind(steps: &[Step]) -> Option<Vec<(u32, u8)>> {
    let mut all: Vec<(u32, u8)> = Vec::new();
    for step in steps {
        match step {
            Step::Decimal => all.push((0, 0)),
            Step::Literal(bytes, len @ 1..=4) => {
                let (literal, before) = all.last_mut().filter(|(_, before)| *before == 0)?;
                *literal = u32::from_le_bytes(*bytes.first_chunk()?);
                *before = *len;
            }
            _ => return None,
        }
    }
    (FEWEST_DECIMALS..=DECIMALS)
        .contains(&all.len())
        .then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn joined_fields_come_apart() {
        let mut rng = Rng(0x5eed);
        for _ in 0..10_000 {
            let value = rng.next() >> rng.below(64);
            let radix = (rng.next() >> rng.below(64)).max(1);
            for (value, radix) in [(value, radix), (radix * (value / radix), radix)] {
                let divided = Radix::new(radix).divide(value);
                assert_eq!(divided, (value / radix, value % radix), "{value} / {radix}");
            }
        }
    }

    #[test]
    fn wrong_templates_are_refused() {
        let hex = |digits| Piece::Hex {
            digits,
            upper: false,
        };
        let field = |piece: Piece| Template::new(&[piece], &[0]);
        for wrong in [Piece::Fixed(0), Piece::Fixed(19), hex(0), hex(17)] {
            assert!(field(wrong).is_none());
        }
        assert!(field(Piece::Word(vec![vec![0; 17]])).is_none());
        assert!(field(Piece::Word(vec![vec![0; 16]])).is_some());
        for radices in [&[][..], &[0, 0], &[10]] {
            assert!(Template::new(&[Piece::Decimal], radices).is_none());
        }
        let many = |fields| Template::new(&vec![Piece::Decimal; fields], &vec![0; fields]);
        assert!(many(32).is_some() && many(33).is_none());
    }
}
