//! Strings as the numbers in them, by the templates of a sample, and the layout of the numbers in
//! slots.

use staffa_kernels::{BytesDict, Piece, Text as Printer, TextRows};

use super::super::prelude::*;
use super::{SLOTS, Text, fields, templates};
use crate::encode::rough_bytes;
use crate::format::put_varint;
use crate::values::{OwnedValues, Strings};

/// Bytes of a node's header, about.
const NODE: usize = 8;

/// The slots of fewer rows are not worth a trial.
const FEW: usize = 600;

/// Radices of each template's fields, the slots, and about how many bytes these take.
pub(super) type Layout = (Vec<Vec<u64>>, Vec<OwnedValues>, usize);

/// Numbers of a slot, in the narrowest words that hold them.
fn narrowed(values: Vec<u64>) -> OwnedValues {
    if u32::try_from(values.iter().fold(0, |all, v| all | v)).is_ok() {
        OwnedValues::U32(values.into_iter().map(|v| v as u32).collect())
    } else {
        OwnedValues::U64(values)
    }
}

/// A template, and its fields, each with a number for every row.
struct Followed {
    pieces: Vec<Piece>,
    fields: Vec<Vec<u64>>,
    /// The largest number of each field.
    largest: Vec<u64>,
}

/// Strings as fields.
pub(super) struct Parsed {
    templates: Vec<Followed>,
    pub(super) codes: Vec<u8>,
    /// Rows that follow no template.
    pub(super) others: Vec<u32>,
}

impl Parsed {
    /// By the templates of a sample; `None` where half the strings follow none, unless this must
    /// encode them.
    pub(super) fn of(
        sample: Strings<'_>,
        strings: Strings<'_>,
        must_encode: bool,
    ) -> Result<Option<Self>> {
        // Each with the fields of its rows, row by row.
        let templates = templates::find(sample)?.into_iter();
        let mut templates: Vec<(Vec<Piece>, Vec<u64>)> =
            templates.map(|pieces| (pieces, Vec::new())).collect();
        let (mut codes, mut others) = (Vec::with_capacity(strings.len()), Vec::new());
        let mut last = 0;
        for (row, string) in (0u32..).zip(strings.iter()) {
            if !must_encode && row.is_multiple_of(1 << 10) && others.len() * 2 > row as usize {
                return Ok(None);
            }
            // The template of the row before first: it is the likeliest, and makes the longest runs.
            let order = std::iter::once(last).chain((0..templates.len()).filter(|t| *t != last));
            let mut follows = |t: &usize| {
                let (pieces, rows) = templates.get_mut(*t)?;
                fields::parse(pieces, string, rows)
            };
            let Some(template) = order.into_iter().find(|t| follows(t).is_some()) else {
                others.push(row);
                codes.push(0);
                continue;
            };
            last = template;
            codes.push(template as u8 + 1);
        }
        if !must_encode && others.len() * 2 > strings.len() {
            return Ok(None);
        }
        drop_unused(&mut templates, &mut codes);
        let templates = templates.into_iter();
        let templates = templates.map(|(pieces, rows)| Followed::of(pieces, &rows));
        Ok(Some(Self {
            templates: templates.collect::<Result<_>>()?,
            codes,
            others,
        }))
    }

    /// Strings of which none follows a template.
    pub(super) fn nothing(strings: usize) -> Self {
        Self {
            templates: Vec::new(),
            codes: vec![0; strings],
            others: (0..strings as u32).collect(),
        }
    }

    /// Radices of the fields: none joined to slots, and all that may be, without those that have too
    /// many slots.
    fn radices(&self) -> impl Iterator<Item = Vec<Vec<u64>>> {
        let apart = self
            .templates
            .iter()
            .map(|t| vec![0; t.fields.len()])
            .collect();
        let joined: Vec<Vec<u64>> = self.templates.iter().map(|t| self.joined(t)).collect();
        let joined = Some(joined).filter(|joined| *joined != apart);
        let few = |t: &Vec<u64>| t.iter().filter(|radix| **radix == 0).count() <= SLOTS;
        std::iter::once(apart)
            .chain(joined)
            .filter(move |radices| radices.iter().all(few))
    }

    /// Radices of a template with as many fields to a slot as 63 bits hold. Templates of the same fields, such as
    /// those with a sign and without, have the same: readers then print their rows together.
    fn joined(&self, template: &Followed) -> Vec<u64> {
        let alike = self.templates.iter();
        let alike = alike.filter(|other| other.field_pieces().eq(template.field_pieces()));
        let alike: Vec<&Followed> = alike.collect();
        let mut product = 0u128;
        let radix = |(i, piece): (usize, &Piece)| {
            let columns = alike.iter().filter_map(|other| other.largest.get(i));
            let radix = columns.max().map_or(1, |max| max.saturating_add(1));
            let radix = rounded(piece, radix);
            let joined = product.saturating_mul(radix.into());
            let fits = product > 0 && joined < 1 << 63;
            product = if fits { joined } else { radix.into() };
            if fits { radix } else { 0 }
        };
        template.field_pieces().enumerate().map(radix).collect()
    }

    /// The layout with the fewest bytes, all fields apart or joined; `None` where there would be too
    /// many slots.
    pub(super) fn layout(&self, chooser: &Chooser<'_>) -> Result<Option<Layout>> {
        let mut best: Option<Layout> = None;
        for radices in self.radices() {
            let slots = self.slots(&radices)?;
            let mut size = 0;
            for slot in &slots {
                size += match self.codes.len() {
                    0..FEW => rough_bytes(slot.borrow()),
                    _ => chooser.estimate_child(slot.borrow(), Kind::Unsigned)?,
                };
            }
            if best.as_ref().is_none_or(|(_, _, least)| size < *least) {
                best = Some((radices, slots, size));
            }
        }
        Ok(best)
    }

    /// A node of `values` of about the size, by some of these, without a trial of its children.
    pub(super) fn trial(&self, some: Strings<'_>, values: Values<'_>) -> Result<Option<Node>> {
        let mut least: Option<(usize, usize)> = None;
        for radices in self.radices() {
            let slots = self.slots(&radices)?;
            let growing = slots.iter().map(|slot| rough_bytes(slot.borrow()));
            let growing: usize = growing.map(|bytes| bytes.saturating_sub(NODE)).sum();
            let fixed = self.payload(&radices)?.len() + NODE * (slots.len() + 1);
            if least.is_none_or(|(fix, grow)| fixed + growing < fix + grow) {
                least = Some((fixed, growing));
            }
        }
        let Some((fixed, growing)) = least else {
            return Ok(None);
        };
        let codes = rough_bytes(Values::U8(&self.codes)).saturating_sub(NODE);
        let others = self.others.iter();
        let others: usize = others
            .map(|row| 1 + some.get(*row as usize).len() * 3 / 4)
            .sum();
        // Templates and headers do not grow with the rows.
        let growing = (growing + codes + others) * values.len() / some.len().max(1);
        let payload = vec![0; fixed + growing];
        node(&Text, values, payload, vec![])
    }

    /// The slots in row order.
    fn slots(&self, radices: &[Vec<u64>]) -> Result<Vec<OwnedValues>> {
        let of_templates = self.templates.iter().zip(radices);
        let of_templates = of_templates.map(|(template, radices)| template.slots(radices));
        let mut of_templates = of_templates.collect::<Result<Vec<_>>>()?;
        let slots = match of_templates.as_mut_slice() {
            [slots] => std::mem::take(slots),
            several => self.in_row_order(several)?,
        };
        Ok(slots.into_iter().map(narrowed).collect())
    }

    /// The slots of templates, merged in row order.
    fn in_row_order(&self, of_templates: &[Vec<Vec<u64>>]) -> Result<Vec<Vec<u64>>> {
        let mut slots: Vec<Vec<u64>> = Vec::new();
        // The slots of every template, and the next number of each.
        let mut rest: Vec<_> = of_templates.iter().map(|slots| (slots, 0)).collect();
        for code in self.codes.iter().filter(|code| **code > 0) {
            let of_template = rest.get_mut(usize::from(*code) - 1);
            let (of_template, next) = of_template.ok_or_else(no_template)?;
            if slots.len() < of_template.len() {
                slots.resize_with(of_template.len(), Vec::new);
            }
            for (slot, numbers) in slots.iter_mut().zip(of_template.iter()) {
                slot.push(*numbers.get(*next).ok_or_else(no_template)?);
            }
            *next += 1;
        }
        Ok(slots)
    }

    /// Templates with the radices of their fields.
    pub(super) fn payload(&self, radices: &[Vec<u64>]) -> Result<Vec<u8>> {
        let mut out = vec![self.templates.len() as u8];
        for (template, radices) in self.templates.iter().zip(radices) {
            let mut radices = radices.iter();
            let (mut count, mut pieces) = (0u8, Vec::new());
            for piece in &template.pieces {
                count += 1;
                match piece {
                    Piece::Literal(bytes) => {
                        for part in bytes.chunks(255) {
                            pieces.extend([0, part.len() as u8]);
                            pieces.extend_from_slice(part);
                        }
                        count += (bytes.len().saturating_sub(1) / 255) as u8;
                        continue;
                    }
                    Piece::Decimal => pieces.push(1),
                    Piece::Fixed(digits) => pieces.extend([2, *digits]),
                    Piece::Grouped => pieces.push(3),
                    Piece::Hex { digits, upper } => pieces.extend([4 + u8::from(*upper), *digits]),
                    Piece::Word(words) => {
                        pieces.extend([6, words.len() as u8]);
                        for word in words {
                            pieces.push(word.len() as u8);
                            pieces.extend_from_slice(word);
                        }
                    }
                }
                put_varint(&mut pieces, *radices.next().ok_or_else(no_template)?);
            }
            out.push(count);
            out.extend(pieces);
        }
        Ok(out)
    }
}

/// Drops the templates that no row follows.
fn drop_unused<T>(templates: &mut Vec<T>, codes: &mut [u8]) {
    let mut used = [false; 256];
    codes
        .iter()
        .for_each(|code| *entry_mut(&mut used, *code) = true);
    let (mut renamed, mut kept) = ([0u8; 256], 0);
    for (name, used) in renamed.iter_mut().zip(used).skip(1) {
        kept += u8::from(used);
        *name = kept;
    }
    let mut used = used.into_iter().skip(1);
    templates.retain(|_| used.next() == Some(true));
    codes
        .iter_mut()
        .for_each(|code| *code = *entry(&renamed, *code));
}

fn no_template() -> Error {
    Error::internal("a template with other fields than its rows")
}

impl Followed {
    /// Of the fields of its rows, row by row. A field that is the same in all rows becomes a literal, numbers that have
    /// one width a field of fixed width.
    fn of(pieces: Vec<Piece>, rows: &[u64]) -> Result<Self> {
        let count = field_pieces(&pieces).count();
        let column = |i| -> Vec<u64> { rows.iter().skip(i).step_by(count).copied().collect() };
        // Without fields none is made.
        let mut columns = (0..count).map(column);
        let mut followed = Self {
            pieces: Vec::new(),
            fields: Vec::new(),
            largest: Vec::new(),
        };
        for piece in pieces {
            if let Piece::Literal(bytes) = &piece {
                templates::literal(&mut followed.pieces, bytes);
                continue;
            }
            let column = columns.next().ok_or_else(no_template)?;
            let (least, most) = column
                .iter()
                .fold((u64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
            if least == most {
                templates::literal(&mut followed.pieces, &printed(piece, least)?);
                continue;
            }
            let digits = |value: u64| value.checked_ilog10().map_or(1, |log| log as u8 + 1);
            followed.pieces.push(match piece {
                Piece::Decimal if digits(least) == digits(most) => Piece::Fixed(digits(most)),
                other => other,
            });
            followed.fields.push(column);
            followed.largest.push(most);
        }
        Ok(followed)
    }

    /// The slots of its rows.
    fn slots(&self, radices: &[u64]) -> Result<Vec<Vec<u64>>> {
        let mut slots: Vec<Vec<u64>> = Vec::new();
        for (field, radix) in self.fields.iter().zip(radices) {
            if *radix == 0 {
                slots.push(field.clone());
                continue;
            }
            let joined = slots.last_mut().ok_or_else(no_template)?;
            let numbers = joined.iter_mut().zip(field);
            numbers.for_each(|(joined, number)| *joined = *joined * radix + number);
        }
        Ok(slots)
    }

    /// The pieces that have a number.
    fn field_pieces(&self) -> impl Iterator<Item = &Piece> {
        field_pieces(&self.pieces)
    }
}

fn field_pieces(pieces: &[Piece]) -> impl Iterator<Item = &Piece> {
    let pieces = pieces.iter();
    pieces.filter(|piece| !matches!(piece, Piece::Literal(_)))
}

/// The radix, or the number of all values of so many digits where the radix is at most 1/256 less: digits are then
/// printed without a division, and a field takes at most 0.006 bits more.
fn rounded(piece: &Piece, radix: u64) -> u64 {
    let all = match piece {
        Piece::Fixed(digits) => 10u64.checked_pow((*digits).into()),
        Piece::Hex { digits, .. } => 16u64.checked_pow((*digits).into()),
        _ => None,
    };
    all.filter(|all| (all - all / 256..*all).contains(&radix))
        .unwrap_or(radix)
}

/// The bytes that a field prints.
fn printed(piece: Piece, value: u64) -> Result<Vec<u8>> {
    let mut out = vec![0; 32];
    let unprinted = || Error::internal("a number that its field does not print");
    let printer = Printer::new(&[(vec![piece], vec![0])]).ok_or_else(unprinted)?;
    let none = BytesDict::new(&[0], &[]).ok_or_else(unprinted)?;
    let rows = TextRows {
        codes: &[1],
        slots: &[&[value]],
        others: &none,
        first_other: 0,
    };
    let written = printer
        .print(&rows, &mut [0], &mut out)
        .ok_or_else(unprinted)?;
    out.truncate(written);
    Ok(out)
}
