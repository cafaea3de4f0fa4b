//! Text of fields: numbers printed between literal bytes, row by row.
//!
//!   template = pieces: literal | decimal | fixed decimal | grouped decimal | hex | word of a list
//!   row      = its template's code, and the next number of each of that template's slots
//!
//! A slot holds one field, or several joined by mixed radix. Digits are made eight at a time in one
//! register; a piece is stored 8 or 16 bytes wide and the next one overwrites what was too much.
//! Rows at the very end of the output are printed elsewhere and copied.

use super::digits::{decimal, digits, exact_decimal, exact_hex, fixed, grouped, hex8, put8, put16};
use crate::simd::dispatch::dispatch;
use crate::strings::dict::BytesDict;

/// Most fields of a template.
pub const TEXT_FIELDS: usize = 32;
/// Bytes of a literal or a word that one store takes.
pub(super) const WIDE: usize = 16;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes in every row.
    Literal(Vec<u8>),
    /// A number in as few digits as it needs.
    Decimal,
    /// A number in exactly so many digits, with leading zeros: 1 to 18. Of a larger one, the last
    /// digits.
    Fixed(u8),
    /// A number with a comma before every three digits.
    Grouped,
    /// A number in exactly so many hexadecimal digits: 1 to 16. Of a larger one, the last digits.
    Hex {
        /// How many.
        digits: u8,
        /// `A` to `F`, not `a` to `f`.
        upper: bool,
    },
    /// One of these words, by its number; each of at most 16 bytes.
    Word(Vec<Vec<u8>>),
}

/// Templates of text, prepared for printing.
///
/// ```
/// use staffa_kernels::{BytesDict, Piece, Text, TextRows};
///
/// let pieces = [Piece::Fixed(2), Piece::Literal(b":".to_vec()), Piece::Fixed(2)];
/// // Both fields in one slot: hours * 60 + minutes.
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
}

/// Rows to be printed.
#[derive(Clone, Copy, Debug)]
pub struct TextRows<'a> {
    /// Of each row its template and one, or 0 for the next of the other strings.
    pub codes: &'a [u8],
    /// Of each slot the numbers of those rows whose template has it, in row order.
    pub slots: &'a [&'a [u64]],
    /// Strings that are no template's.
    pub others: &'a BytesDict,
    /// Which of them is the first of these rows'.
    pub first_other: usize,
}

#[derive(Clone, Debug)]
struct Template {
    steps: Vec<Step>,
    /// Fields of each slot: first, and one past the last.
    slots: Vec<(usize, usize)>,
    radices: Vec<Radix>,
    /// Of templates of fixed length: where each field stands, its digits, and the letters of
    /// hexadecimal ones.
    places: Vec<(usize, usize, Option<u8>)>,
    /// Bytes of literals and of fields that have the same length in every row.
    fixed: usize,
    variable: bool,
    /// Bytes that printing may touch, at the most.
    room: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Literal([u8; WIDE], u8),
    Decimal,
    Fixed(u8),
    Grouped,
    Hex(u8, u8),
    Word(Vec<([u8; WIDE], u8)>),
}

/// Division by a number known beforehand: the quotient by multiplication is at most one too small.
#[derive(Clone, Copy, Debug)]
struct Radix {
    radix: u64,
    inverse: u64,
}

impl Radix {
    #[inline(always)]
    fn divide(self, value: u64) -> (u64, u64) {
        let quotient = ((u128::from(value) * u128::from(self.inverse)) >> 64) as u64;
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.radix));
        let more = u64::from(rest >= self.radix);
        (quotient + more, rest - (self.radix & more.wrapping_neg()))
    }
}

fn wide(bytes: &[u8]) -> Option<([u8; WIDE], u8)> {
    let mut out = [0; WIDE];
    out.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some((out, bytes.len() as u8))
}

impl Template {
    /// Of pieces, and a radix for every field: 0 for one that begins a slot.
    fn new(pieces: &[Piece], radices: &[u64]) -> Option<Self> {
        let mut out = Self {
            steps: vec![],
            slots: vec![],
            radices: vec![],
            places: vec![],
            fixed: 0,
            variable: false,
            room: 2 * WIDE,
        };
        for piece in pieces {
            let step = match piece {
                Piece::Literal(bytes) => {
                    for part in bytes.chunks(WIDE) {
                        let (word, len) = wide(part)?;
                        out.steps.push(Step::Literal(word, len));
                    }
                    out.fixed += bytes.len();
                    out.room += bytes.len();
                    continue;
                }
                Piece::Decimal => Step::Decimal,
                Piece::Grouped => Step::Grouped,
                &Piece::Fixed(digits) if (1..=18).contains(&digits) => Step::Fixed(digits),
                &Piece::Hex { digits, upper } if (1..=16).contains(&digits) => Step::Hex(
                    digits,
                    if upper {
                        b'A' - b'0' - 10
                    } else {
                        b'a' - b'0' - 10
                    },
                ),
                Piece::Word(words) => {
                    Step::Word(words.iter().map(|w| wide(w)).collect::<Option<_>>()?)
                }
                _ => return None,
            };
            match &step {
                Step::Fixed(digits) => out.places.push((out.fixed, usize::from(*digits), None)),
                Step::Hex(digits, letters) => {
                    out.places
                        .push((out.fixed, usize::from(*digits), Some(*letters)))
                }
                _ => out.variable = true,
            }
            if let Step::Fixed(digits) | Step::Hex(digits, _) = &step {
                out.fixed += usize::from(*digits);
            }
            out.steps.push(step);
            // A number has at most 20 digits and 6 commas.
            out.room += 2 * WIDE;
            let (field, radix) = (out.radices.len(), *radices.get(out.radices.len())?);
            match out.slots.last_mut() {
                Some((_, end)) if radix != 0 => *end = field + 1,
                None if radix != 0 => return None,
                _ => out.slots.push((field, field + 1)),
            }
            out.radices.push(Radix {
                radix,
                inverse: u64::MAX.checked_div(radix).unwrap_or(0),
            });
        }
        (out.radices.len() == radices.len() && radices.len() <= TEXT_FIELDS).then_some(out)
    }

    /// The fields of the next row of this template.
    #[inline(always)]
    fn values(
        &self,
        slots: &[&[u64]],
        next: &mut [usize; TEXT_FIELDS],
        fields: &mut [u64; TEXT_FIELDS],
    ) -> Option<()> {
        for ((&(first, end), slot), next) in self.slots.iter().zip(slots).zip(next) {
            let mut value = *slot.get(*next)?;
            *next += 1;
            for field in (first + 1..end).rev() {
                (value, fields[field]) = self.radices[field].divide(value);
            }
            fields[first] = value;
        }
        Some(())
    }

    #[inline(always)]
    fn length(&self, fields: &[u64; TEXT_FIELDS]) -> Option<usize> {
        let mut length = self.fixed;
        let mut fields = fields.iter();
        for step in &self.steps {
            match step {
                Step::Literal(..) => {}
                Step::Decimal => length += digits(*fields.next()?),
                Step::Grouped => {
                    let digits = digits(*fields.next()?);
                    length += digits + (digits - 1) / 3;
                }
                Step::Word(words) => length += usize::from(words.get(*fields.next()? as usize)?.1),
                Step::Fixed(_) | Step::Hex(..) => drop(fields.next()),
            }
        }
        Some(length)
    }

    /// Prints rows of the same length, a field of 64 rows after another into rows of literals.
    #[inline(always)]
    fn print_columns(&self, rows: &TextRows<'_>, out: &mut [u8]) -> Option<usize> {
        const ROWS: usize = 64;
        let (len, count) = (self.fixed, rows.codes.len());
        let out = out.get_mut(..len * count)?;
        if out.is_empty() {
            return Some(0);
        }
        let mut done = len;
        let mut at = 0;
        for step in &self.steps {
            match step {
                Step::Literal(bytes, n) => {
                    out.get_mut(at..at + usize::from(*n))?
                        .copy_from_slice(bytes.get(..usize::from(*n))?);
                    at += usize::from(*n);
                }
                Step::Fixed(n) | Step::Hex(n, _) => at += usize::from(*n),
                _ => return None,
            }
        }
        while done < out.len() {
            let more = done.min(out.len() - done);
            out.copy_within(..more, done);
            done += more;
        }
        for (i, rows_out) in out.chunks_mut(ROWS * len).enumerate() {
            let count = rows_out.len() / len;
            let mut places = self.places.iter().rev();
            for (&(first, end), slot) in self.slots.iter().zip(rows.slots).rev() {
                let mut values = [0; ROWS];
                values
                    .get_mut(..count)?
                    .copy_from_slice(slot.get(i * ROWS..i * ROWS + count)?);
                for field in (first..end).rev() {
                    let mut field_values = values;
                    if field > first {
                        let radix = self.radices[field];
                        for (value, field) in values.iter_mut().zip(&mut field_values) {
                            (*value, *field) = radix.divide(*value);
                        }
                    }
                    let &(at, digits, letters) = places.next()?;
                    let rows_out = rows_out
                        .chunks_exact_mut(len)
                        .map(|row| row.get_mut(at..at + digits));
                    match letters {
                        None => rows_out
                            .zip(field_values)
                            .try_for_each(|(row, v)| exact_decimal(row?, v))?,
                        Some(letters) => {
                            rows_out
                                .zip(field_values)
                                .try_for_each(|(row, v)| exact_hex(row?, v, letters))?;
                        }
                    }
                }
            }
        }
        Some(len * count)
    }

    /// Prints at the start of `out`, which has `room` bytes at least.
    #[inline(always)]
    fn print(&self, fields: &[u64; TEXT_FIELDS], out: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        let mut fields = fields.iter().copied();
        for step in &self.steps {
            match step {
                Step::Literal(bytes, len) => {
                    put16(out, at, bytes)?;
                    at += usize::from(*len);
                }
                Step::Decimal => at = decimal(out, at, fields.next()?)?,
                Step::Fixed(digits) => at = fixed(out, at, fields.next()?, usize::from(*digits))?,
                Step::Grouped => at = grouped(out, at, fields.next()?)?,
                Step::Hex(digits, letters) => {
                    let value = fields.next()? << (64 - 4 * u32::from(*digits));
                    put8(out, at, hex8((value >> 32) as u32, *letters))?;
                    if *digits > 8 {
                        put8(out, at + 8, hex8(value as u32, *letters))?;
                    }
                    at += usize::from(*digits);
                }
                Step::Word(words) => {
                    let (bytes, len) = words.get(fields.next()? as usize)?;
                    put16(out, at, bytes)?;
                    at += usize::from(*len);
                }
            }
        }
        Some(at)
    }
}

impl Text {
    /// Of templates: pieces, and for every field of them a radix, which is 0 for a field that
    /// begins a slot. `None` for digits or words out of bounds, too many fields, or radices that do
    /// not fit them.
    pub fn new(templates: &[(Vec<Piece>, Vec<u64>)]) -> Option<Self> {
        let templates = templates
            .iter()
            .map(|(pieces, radices)| Template::new(pieces, radices));
        Some(Self {
            templates: templates.collect::<Option<_>>()?,
        })
    }

    /// Slots of each template.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.templates.iter().map(|t| t.slots.len())
    }

    /// The bytes of every row, where that is the same for all rows of templates: there is only one,
    /// of fixed length.
    pub fn fixed(&self) -> Option<usize> {
        match self.templates.as_slice() {
            [one] if !one.variable => Some(one.fixed),
            _ => None,
        }
    }

    /// `lengths[i]` = bytes of row `i`, and the rows one after another at the start of `out`: the
    /// bytes written. What is behind them may be overwritten as well.
    ///
    /// `None` when a code, a slot or a word is out of range, there are not as many lengths as
    /// codes, or `out` is too small; `lengths` and `out` then hold anything.
    #[inline]
    pub fn print(&self, rows: &TextRows<'_>, lengths: &mut [u32], out: &mut [u8]) -> Option<usize> {
        print(self, rows, lengths, out)
    }

    /// The bytes that [`print`](Self::print) would write, without printing.
    #[inline]
    pub fn printed_bytes(&self, rows: &TextRows<'_>) -> Option<usize> {
        printed_bytes(self, rows)
    }
}

dispatch! {
    fn print(text: &Text, rows: &TextRows<'_>, lengths: &mut [u32], out: &mut [u8]) -> Option<usize> = print_body;
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
            template.values(rows.slots, &mut next, &mut fields)?;
            if rest.len() >= template.room {
                template.print(&fields, rest)?
            } else {
                let mut apart = vec![0; template.room];
                let written = template.print(&fields, &mut apart)?;
                rest.get_mut(..written)?.copy_from_slice(&apart[..written]);
                written
            }
        };
        *length = written as u32;
        at += written;
    }
    Some(at)
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
            template.values(rows.slots, &mut next, &mut fields)?;
            if template.variable {
                template.length(&fields)?
            } else {
                template.fixed
            }
        };
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::digits::POWERS;
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    /// The plain twin.
    fn scalar(pieces: &[Piece], fields: &[u64]) -> Option<String> {
        let (mut out, mut fields) = (String::new(), fields.iter().copied());
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out += std::str::from_utf8(bytes).unwrap(),
                Piece::Decimal => out += &fields.next()?.to_string(),
                Piece::Fixed(digits) => {
                    let padded = format!("{:020}", fields.next()?);
                    out += &padded[20 - usize::from(*digits)..];
                }
                Piece::Grouped => {
                    let plain = fields.next()?.to_string();
                    for (i, digit) in plain.chars().enumerate() {
                        if i > 0 && (plain.len() - i) % 3 == 0 {
                            out.push(',');
                        }
                        out.push(digit);
                    }
                }
                Piece::Hex { digits, upper } => {
                    let value = fields.next()?;
                    let padded = if *upper {
                        format!("{value:016X}")
                    } else {
                        format!("{value:016x}")
                    };
                    out += &padded[16 - usize::from(*digits)..];
                }
                Piece::Word(words) => {
                    let word = words.get(usize::try_from(fields.next()?).unwrap())?;
                    out += std::str::from_utf8(word).unwrap();
                }
            }
        }
        Some(out)
    }

    fn number(rng: &mut Rng) -> u64 {
        match rng.below(4) {
            0 => POWERS[rng.below(20)],
            1 => POWERS[rng.below(20)] - 1,
            _ => rng.next() >> rng.below(64),
        }
    }

    fn piece(rng: &mut Rng) -> Piece {
        match rng.below(6) {
            0 => Piece::Literal((0..rng.below(40)).map(|i| b'a' + i as u8 % 26).collect()),
            1 => Piece::Decimal,
            2 => Piece::Fixed(1 + rng.below(18) as u8),
            3 => Piece::Grouped,
            4 => Piece::Hex {
                digits: 1 + rng.below(16) as u8,
                upper: rng.below(2) == 0,
            },
            _ => Piece::Word((0..3).map(|i| vec![b'A' + i; rng.below(17)]).collect()),
        }
    }

    #[test]
    fn rows_agree_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for _ in 0..300 {
                let pieces: Vec<Vec<Piece>> = (0..=rng.below(3))
                    .map(|_| (0..rng.below(7)).map(|_| piece(&mut rng)).collect())
                    .collect();
                let fields =
                    |t: &[Piece]| t.iter().filter(|p| !matches!(p, Piece::Literal(_))).count();
                let templates: Vec<_> = pieces
                    .iter()
                    .map(|t| (t.clone(), vec![0; fields(t)]))
                    .collect();
                let text = Text::new(&templates).unwrap();
                let others = BytesDict::new(&[0, 0, 5, 9], b"otherones").unwrap();
                let (mut codes, mut expected, mut slots) =
                    (Vec::new(), Vec::<String>::new(), vec![Vec::new(); 7]);
                for _ in 0..rng.below(40) {
                    let code = rng.below(pieces.len() + 1);
                    let others_seen = codes.iter().filter(|c| **c == 0).count();
                    if code == 0 {
                        if others_seen == 2 {
                            continue;
                        }
                        expected.push(["other", "ones"][others_seen].into());
                    } else {
                        let row: Vec<u64> = pieces[code - 1]
                            .iter()
                            .filter(|p| !matches!(p, Piece::Literal(_)))
                            .map(|p| {
                                if matches!(p, Piece::Word(_)) {
                                    rng.below(3) as u64
                                } else {
                                    number(&mut rng)
                                }
                            })
                            .collect();
                        expected.push(scalar(&pieces[code - 1], &row).unwrap());
                        row.iter()
                            .zip(&mut slots)
                            .for_each(|(value, slot)| slot.push(*value));
                    }
                    codes.push(code as u8);
                }
                let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
                let rows = TextRows {
                    codes: &codes,
                    slots: &slots,
                    others: &others,
                    first_other: 1,
                };
                let whole = expected.concat();
                assert_eq!(text.printed_bytes(&rows), Some(whole.len()));
                for slack in [0, 1, 8, 200] {
                    let (mut lengths, mut out) =
                        (vec![0; codes.len()], vec![0; whole.len() + slack]);
                    assert_eq!(text.print(&rows, &mut lengths, &mut out), Some(whole.len()));
                    assert_eq!(std::str::from_utf8(&out[..whole.len()]).unwrap(), whole);
                    assert!(
                        expected
                            .iter()
                            .zip(&lengths)
                            .all(|(e, l)| e.len() == *l as usize)
                    );
                }
                if !whole.is_empty() {
                    let (mut lengths, mut out) = (vec![0; codes.len()], vec![0; whole.len() - 1]);
                    assert_eq!(text.print(&rows, &mut lengths, &mut out), None);
                }
            }
        });
    }

    #[test]
    fn joined_fields_come_apart() {
        let mut rng = Rng(0x5eed);
        for _ in 0..10_000 {
            let (value, radix) = (number(&mut rng), number(&mut rng).max(1));
            let divided = Radix {
                radix,
                inverse: u64::MAX / radix,
            }
            .divide(value);
            assert_eq!(divided, (value / radix, value % radix), "{value} / {radix}");
            assert_eq!(digits(value), value.to_string().len());
        }
        assert_eq!((digits(0), digits(u64::MAX)), (1, 20));
    }

    #[test]
    fn wrong_templates_and_rows_are_refused() {
        let none = BytesDict::new(&[0], b"").unwrap();
        for pieces in [
            Piece::Fixed(0),
            Piece::Fixed(19),
            Piece::Hex {
                digits: 17,
                upper: false,
            },
        ] {
            assert!(Text::new(&[(vec![pieces], vec![0])]).is_none());
        }
        assert!(Text::new(&[(vec![Piece::Word(vec![vec![0; 17]])], vec![0])]).is_none());
        assert!(Text::new(&[(vec![Piece::Decimal], vec![])]).is_none());
        assert!(Text::new(&[(vec![Piece::Decimal], vec![0, 0])]).is_none());
        assert!(Text::new(&[(vec![Piece::Decimal], vec![10])]).is_none());
        assert!(Text::new(&[(vec![Piece::Decimal; 33], vec![0; 33])]).is_none());
        let text = Text::new(&[(vec![Piece::Word(vec![b"a".to_vec()])], vec![0])]).unwrap();
        for (code, slot) in [(2, 0), (1, 1), (0, 0)] {
            let rows = TextRows {
                codes: &[code],
                slots: &[&[slot]],
                others: &none,
                first_other: 0,
            };
            assert_eq!(text.print(&rows, &mut [0], &mut [0; 100]), None);
            assert_eq!(text.printed_bytes(&rows), None);
        }
        let rows = TextRows {
            codes: &[1, 1],
            slots: &[&[0]],
            others: &none,
            first_other: 0,
        };
        assert_eq!(text.print(&rows, &mut [0; 2], &mut [0; 100]), None);
    }
}
