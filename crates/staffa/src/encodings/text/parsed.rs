//! Strings as the numbers in them: by the templates of a sample, with how the numbers are laid out
//! in slots.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, Piece, Text as Printer, TextRows};

use super::{SLOTS, templates};
use crate::encode::{Chooser, rough_bytes};
use crate::error::Result;
use crate::format::{Node, put_varint};
use crate::values::{Kind, OwnedValues, PhysicalType, Strings, Values};

/// Fewer rows are not worth trying what their slots take.
const FEW: usize = 600;

/// Radices of each template's fields, the slots, and about what these take.
pub(super) type Layout = (Vec<Vec<u64>>, Vec<Numbers>, usize);

/// Numbers of a slot, in the narrowest words that hold them.
pub(super) enum Numbers {
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl Numbers {
    fn of(values: Vec<u64>) -> Self {
        if u32::try_from(values.iter().fold(0, |all, v| all | v)).is_ok() {
            Self::U32(values.into_iter().map(|v| v as u32).collect())
        } else {
            Self::U64(values)
        }
    }

    pub(super) fn with<R>(&self, f: impl FnOnce(Values<'_>) -> R) -> R {
        match self {
            Self::U32(values) => f(Values::U32(values)),
            Self::U64(values) => f(Values::U64(values)),
        }
    }
}

/// A template, and the fields of the rows that follow it.
struct Followed {
    pieces: Vec<Piece>,
    fields: Vec<Vec<u64>>,
}

/// Strings as fields.
pub(super) struct Parsed {
    templates: Vec<Followed>,
    pub(super) codes: Vec<u8>,
    /// Rows that follow no template.
    pub(super) others: Vec<u32>,
}

impl Parsed {
    /// By the templates of a sample; `None` where half the strings follow none, unless all of that
    /// is wanted.
    pub(super) fn of(sample: Strings<'_>, strings: Strings<'_>, must_encode: bool) -> Option<Self> {
        let mut templates: Vec<Followed> = templates::find(sample)
            .into_iter()
            .map(|pieces| Followed {
                pieces,
                fields: Vec::new(),
            })
            .collect();
        let (mut codes, mut others, mut fields) =
            (Vec::with_capacity(strings.len()), Vec::new(), Vec::new());
        let mut last = 0;
        for (row, string) in (0u32..).zip(strings.iter()) {
            if !must_encode && row.is_multiple_of(1 << 10) && others.len() * 2 > row as usize {
                return None;
            }
            // That of the row before first: it is the likeliest, and makes the longest runs.
            let order = std::iter::once(last).chain((0..templates.len()).filter(|t| *t != last));
            let found = order.into_iter().find(|t| {
                templates
                    .get_mut(*t)
                    .is_some_and(|t| templates::parse(&mut t.pieces, string, &mut fields).is_some())
            });
            if let Some(template) = found.and_then(|t| templates.get_mut(t)) {
                template.fields.resize_with(fields.len(), Vec::new);
                template
                    .fields
                    .iter_mut()
                    .zip(&fields)
                    .for_each(|(column, value)| column.push(*value));
                last = found.unwrap_or(0);
                codes.push(last as u8 + 1);
            } else {
                others.push(row);
                codes.push(0);
            }
        }
        if !must_encode && others.len() * 2 > strings.len() {
            return None;
        }
        let mut parsed = Self {
            templates,
            codes,
            others,
        };
        parsed.drop_unused();
        parsed.templates.iter_mut().for_each(Followed::settle);
        Some(parsed)
    }

    /// Strings that follow no template at all.
    pub(super) fn nothing(strings: usize) -> Self {
        Self {
            templates: Vec::new(),
            codes: vec![0; strings],
            others: (0..strings as u32).collect(),
        }
    }

    /// Without templates that no row follows, or that have too many fields.
    fn drop_unused(&mut self) {
        let mut rows = [0usize; 256];
        self.codes.iter().for_each(|code| {
            rows.iter_mut()
                .skip((*code).into())
                .take(1)
                .for_each(|n| *n += 1);
        });
        let mut renamed = [0u8; 256];
        let mut kept = 0;
        for (code, name) in renamed.iter_mut().enumerate().skip(1) {
            if rows.get(code).is_some_and(|n| *n > 0) {
                kept += 1;
                *name = kept;
            }
        }
        let mut code = 0;
        self.templates.retain(|_| {
            code += 1;
            rows.get(code).is_some_and(|n| *n > 0)
        });
        self.codes
            .iter_mut()
            .for_each(|code| *code = renamed.get(usize::from(*code)).copied().unwrap_or(0));
    }

    /// Which fields are joined to slots, the slots, and about what they take: all that may be
    /// joined, or none, whichever is smaller. `None` where there would be too many slots.
    pub(super) fn layout(&self, chooser: &Chooser<'_>) -> Result<Option<Layout>> {
        let apart: Vec<Vec<u64>> = self
            .templates
            .iter()
            .map(|t| vec![0; t.fields.len()])
            .collect();
        let joined: Vec<Vec<u64>> = self.templates.iter().map(Followed::joined).collect();
        let mut best: Option<Layout> = None;
        let mut layouts = vec![apart];
        if layouts.first() != Some(&joined) {
            layouts.push(joined);
        }
        for radices in layouts {
            if radices
                .iter()
                .any(|t| t.iter().filter(|r| **r == 0).count() > SLOTS)
            {
                continue;
            }
            let slots = self.slots(&radices);
            let mut size = 0;
            for slot in &slots {
                size += match self.codes.len() {
                    0..FEW => slot.with(rough_bytes),
                    _ => slot.with(|values| chooser.estimate_child(values, Kind::Unsigned))?,
                };
            }
            if best.as_ref().is_none_or(|(_, _, least)| size < *least) {
                best = Some((radices, slots, size));
            }
        }
        Ok(best)
    }

    /// A node of about the size, without trying anything.
    pub(super) fn trial(&self, values: Values<'_>) -> Option<Node> {
        let apart: Vec<Vec<u64>> = self
            .templates
            .iter()
            .map(|t| vec![0; t.fields.len()])
            .collect();
        let joined: Vec<Vec<u64>> = self.templates.iter().map(Followed::joined).collect();
        let codes = rough_bytes(Values::U8(&self.codes));
        let others = OwnedValues::take(values, &self.others)
            .ok()?
            .borrow()
            .plain_bytes()
            * 3
            / 4
            + self.others.len();
        let of = |radices: Vec<Vec<u64>>| {
            let few = radices
                .iter()
                .all(|t| t.iter().filter(|r| **r == 0).count() <= SLOTS);
            let slots = self
                .slots(&radices)
                .iter()
                .map(|slot| slot.with(rough_bytes))
                .sum::<usize>();
            few.then(|| self.payload(&radices).len() + slots)
        };
        let size = of(apart).into_iter().chain(of(joined)).min()?;
        let payload = vec![0; size + codes + others];
        Some(Node {
            encoding: 17,
            ty: PhysicalType::Bytes,
            len: self.codes.len(),
            payload,
            children: vec![],
        })
    }

    /// The slots in row order.
    fn slots(&self, radices: &[Vec<u64>]) -> Vec<Numbers> {
        let mut slots: Vec<Vec<u64>> = Vec::new();
        let mut next = vec![0usize; self.templates.len()];
        for code in self.codes.iter().filter(|code| **code > 0) {
            let t = usize::from(*code) - 1;
            let (Some(template), Some(radices), Some(next)) =
                (self.templates.get(t), radices.get(t), next.get_mut(t))
            else {
                continue;
            };
            let mut slot = 0;
            for (field, radix) in template.fields.iter().zip(radices) {
                let value = field.get(*next).copied().unwrap_or(0);
                if *radix == 0 {
                    if slots.len() == slot {
                        slots.push(Vec::new());
                    }
                    slots
                        .iter_mut()
                        .skip(slot)
                        .take(1)
                        .for_each(|s| s.push(value));
                    slot += 1;
                } else if let Some(joined) = slots
                    .get_mut(slot.wrapping_sub(1))
                    .and_then(|s| s.last_mut())
                {
                    *joined = *joined * radix + value;
                }
            }
            *next += 1;
        }
        slots.into_iter().map(Numbers::of).collect()
    }

    pub(super) fn payload(&self, radices: &[Vec<u64>]) -> Vec<u8> {
        let mut out = vec![self.templates.len() as u8];
        for (template, radices) in self.templates.iter().zip(radices) {
            let mut radices = radices.iter().copied();
            let start = out.len();
            out.push(0);
            let mut count = 0u8;
            for piece in &template.pieces {
                count += 1;
                match piece {
                    Piece::Literal(bytes) => {
                        for part in bytes.chunks(255) {
                            out.extend([0, part.len() as u8]);
                            out.extend_from_slice(part);
                        }
                        count += (bytes.len().saturating_sub(1) / 255) as u8;
                        continue;
                    }
                    Piece::Decimal => out.push(1),
                    Piece::Fixed(digits) => out.extend([2, *digits]),
                    Piece::Grouped => out.push(3),
                    Piece::Hex { digits, upper } => out.extend([4 + u8::from(*upper), *digits]),
                    Piece::Word(words) => {
                        out.extend([6, words.len() as u8]);
                        for word in words {
                            out.push(word.len() as u8);
                            out.extend_from_slice(word);
                        }
                    }
                }
                put_varint(&mut out, radices.next().unwrap_or(0));
            }
            out.iter_mut()
                .skip(start)
                .take(1)
                .for_each(|place| *place = count);
        }
        out
    }
}

impl Followed {
    /// A field that is the same in all rows becomes a literal, a number of the same width in all
    /// one of fixed width.
    fn settle(&mut self) {
        let mut columns = std::mem::take(&mut self.fields).into_iter();
        let mut pieces = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            if let Piece::Literal(bytes) = &piece {
                templates::literal(&mut pieces, bytes);
                continue;
            }
            let column = columns.next().unwrap_or_default();
            let (least, most) = column
                .iter()
                .fold((u64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
            if least == most {
                templates::literal(&mut pieces, &printed(piece, least));
                continue;
            }
            pieces.push(match piece {
                Piece::Decimal
                    if least.checked_ilog10().unwrap_or(0)
                        == most.checked_ilog10().unwrap_or(0) =>
                {
                    Piece::Fixed(most.checked_ilog10().unwrap_or(0) as u8 + 1)
                }
                other => other,
            });
            self.fields.push(column);
        }
        self.pieces = pieces;
    }

    /// Radices with as many fields to a slot as 63 bits hold.
    fn joined(&self) -> Vec<u64> {
        let mut product = 0u128;
        let radix = |column: &Vec<u64>| {
            let radix = column.iter().max().map_or(1, |max| max.saturating_add(1));
            let joined = product.saturating_mul(radix.into());
            let fits = product > 0 && joined < 1 << 63;
            product = if fits { joined } else { radix.into() };
            if fits { radix } else { 0 }
        };
        self.fields.iter().map(radix).collect()
    }
}

/// A field as it is printed.
fn printed(piece: Piece, value: u64) -> Vec<u8> {
    let mut out = vec![0; 32];
    let (Some(printer), Some(none)) = (
        Printer::new(&[(vec![piece], vec![0])]),
        BytesDict::new(&[0], &[]),
    ) else {
        return Vec::new();
    };
    let rows = TextRows {
        codes: &[1],
        slots: &[&[value]],
        others: &none,
        first_other: 0,
    };
    let written = printer.print(&rows, &mut [0], &mut out).unwrap_or(0);
    out.truncate(written);
    out
}
