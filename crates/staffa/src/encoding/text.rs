//! Text that is not text: numbers, dates, times, amounts, addresses, identifiers, as the numbers in them.
//!
//! ```text
//! payload  = templates: u8 | template...
//! template = pieces: u8 | piece...
//! piece    = 0: u8 | length: u8 | bytes                              a literal
//!          | field: u8 | parameters | radix: varint                  1 decimal, 2 fixed decimal, 3 grouped,
//!                                                                    4 hex, 5 HEX, 6 words
//! child: codes (u8; 0 = another string, else a template and one) | child: other strings | child: slot (u32 or u64)...
//! ```
//!
//! A field of radix 0 begins a slot, any other joins the slot of the field before: `2020-01-31` may be one number that
//! grows from row to row. Slot `k` has a number for every row whose template has more than `k` slots, so that templates
//! that are much alike (with a sign and without) share their slots. What no template prints back to the byte is one of the
//! other strings.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod templates;

use staffa_kernels::{BytesDict, Piece, Text as Printer, TextRows, VECTOR};

use super::{Encoding, Offered};
use crate::choose::{Cascade, Stats, rough_bytes};
use crate::cursor::{Cursor, put_varint};
use crate::decode::{AnyDecoder, BytesDecoder, Decoder, OpenContext, Scratch, vector_len};
use crate::error::{Error, Result};
use crate::node::{Node, NodeRef};
use crate::picked::Picked;
use crate::values::{Kind, PhysicalType, Strings, StringsBuf, Values};

/// Most slots: a node has 15 children.
const SLOTS: usize = 13;

/// How many times smaller than another encoding it must be to be preferred, where there are many rows.
const WORTH: f64 = 1.3;
/// Fewer rows are not worth trying what their slots take.
const FEW: usize = 600;
/// Rows that templates are found in, in a trial.
const TRIED: usize = 256;

/// See the [module](self).
pub struct Text;

impl Encoding for Text {
    fn id(&self) -> u8 {
        17
    }

    fn name(&self) -> &'static str {
        "text"
    }

    fn offered(&self) -> Offered {
        Offered::Slow
    }

    fn decode_picos(&self) -> u32 {
        6000
    }

    fn about(&self) -> &'static str {
        "strings that are numbers, dates, times or identifiers, as the numbers in them"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["codes", "others", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"]
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    /// Most columns of strings are words: a few rows tell. Where few strings come again and again, the place for this
    /// is below a dictionary.
    fn suits(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let Values::Bytes(strings) = values else { return false };
        let few = stats.dictionary().is_some_and(|coded| coded.firsts.len() * 48 < strings.len());
        !few && strings.contents().len() >= 64 && templates::likely(strings)
    }

    /// Templates and words do not grow with the rows.
    fn estimate(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let Values::Bytes(strings) = values else { return Ok(None) };
        let sample = Cascade::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        let Some(parsed) = Parsed::of(sample, sample, false) else { return Ok(None) };
        let Some((radices, slots, size)) = parsed.layout(cascade)? else { return Ok(None) };
        let others = Picked::of(Values::Bytes(sample), &parsed.others);
        let growing = size
            + cascade.estimate_child(Values::U8(&parsed.codes), Kind::Unsigned)?
            + cascade.estimate_child(others.borrow(), Kind::Unsigned)?;
        let nodes = 8 * (slots.len() + 2);
        let share = strings.len() as f64 / sample.len().max(1) as f64;
        let growing = growing.saturating_sub(nodes) as f64 * share;
        // Printing takes longer than copying: it must pay.
        Ok(Some(8 + parsed.payload(&radices).len() + nodes + (growing * WORTH) as usize))
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let Values::Bytes(strings) = values else { return Ok(None) };
        let sample = Cascade::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        if cascade.is_trial() {
            let few: StringsBuf = sample.iter().step_by(sample.len().div_ceil(TRIED).max(1)).collect();
            let Some(parsed) = Parsed::of(few.as_strings(), strings, false) else { return Ok(None) };
            return Ok(parsed.trial(values));
        }
        let Some(mut parsed) = Parsed::of(sample, strings, cascade.is_forced()) else { return Ok(None) };
        let (radices, slots) = match parsed.layout(cascade)? {
            Some((radices, slots, _)) => (radices, slots),
            None if cascade.is_forced() => {
                parsed = Parsed::nothing(strings.len());
                (Vec::new(), Vec::new())
            }
            None => return Ok(None),
        };
        let others = Picked::of(values, &parsed.others);
        let mut children = vec![
            cascade.child(Values::U8(&parsed.codes), Kind::Unsigned)?,
            cascade.child(others.borrow(), Kind::Unsigned)?,
        ];
        for slot in &slots {
            children.push(slot.with(|values| cascade.child(values, Kind::Unsigned))?);
        }
        let payload = parsed.payload(&radices);
        Ok(Some(Node { encoding: 17, ty: PhysicalType::Bytes, len: strings.len(), payload, children }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        if node.ty != PhysicalType::Bytes {
            return Err(Error::corrupt(format!("byte strings expected, found {:?}", node.ty)));
        }
        // A field of two bytes takes some 120 prepared for printing, a word of one byte some 60.
        cx.budget.take(64 * node.payload.len() as u64, "templates")?;
        let printer = read(node)?;
        let slots: Vec<usize> = printer.slots().collect();
        node.expect_children(2 + slots.iter().max().copied().unwrap_or(0))?;
        let codes = cx.all_words::<u8>(node.child(0, "codes", PhysicalType::U8, node.len)?, "codes")?;
        let mut starts = Vec::with_capacity(node.len.div_ceil(VECTOR) + 1);
        let mut sums = vec![0u32; node.children.len().saturating_sub(1)];
        // The strings that are no template's first, then slot by slot.
        let per_code: Vec<Vec<usize>> =
            std::iter::once(vec![0]).chain(slots.iter().map(|slots| (1..=*slots).collect())).collect();
        for vector in codes.chunks(VECTOR) {
            starts.push(sums.clone());
            let mut counts = [0u32; 256];
            let mut count = |code: u8, rows: usize| {
                counts.iter_mut().skip(code.into()).take(1).for_each(|count| *count += rows as u32);
            };
            match vector.first() {
                Some(first) if vector.iter().all(|code| code == first) => count(*first, vector.len()),
                _ => vector.iter().for_each(|code| count(*code, 1)),
            }
            for (code, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let Some(children) = per_code.get(code) else {
                    return Err(Error::corrupt(format!("codes of at most {} expected, found {code}", slots.len())));
                };
                for child in children {
                    sums.iter_mut().skip(*child).take(1).for_each(|sum| *sum += count);
                }
            }
        }
        starts.push(sums.clone());
        cx.budget.take((starts.len() * sums.len() * 4) as u64, "positions of slots")?;
        let others = sums.first().copied().unwrap_or(0) as usize;
        let (offsets, data) = cx.all_strings(node.child(1, "others", PhysicalType::Bytes, others)?, "others")?;
        cx.budget.take(data.len() as u64, "others")?;
        let others = BytesDict::new(&offsets, &data).ok_or_else(|| Error::corrupt("no strings"))?;
        let mut slots = Vec::new();
        for (child, sum) in node.children.iter().skip(2).zip(sums.iter().skip(1)) {
            let wide = child.ty == PhysicalType::U64;
            let ty = if wide { PhysicalType::U64 } else { PhysicalType::U32 };
            let child = node.child(2 + slots.len(), "slot", ty, *sum as usize)?;
            slots.push(if wide { Slot::U64(cx.open_words(child)?) } else { Slot::U32(cx.open_words(child)?) });
        }
        Ok(AnyDecoder::Bytes(Box::new(Rows { printer, codes, others, slots, starts })))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        format!("{} templates", node.payload.first().copied().unwrap_or(0))
    }
}

/// The templates of a payload.
fn read(node: &NodeRef<'_>) -> Result<Printer> {
    let mut cursor = node.cursor();
    let mut templates = Vec::new();
    for _ in 0..cursor.u8()? {
        let (mut pieces, mut radices) = (Vec::new(), Vec::new());
        for _ in 0..cursor.u8()? {
            let kind = cursor.u8()?;
            pieces.push(match kind {
                0 => {
                    let len = cursor.u8()?;
                    Piece::Literal(cursor.bytes(len.into())?.to_vec())
                }
                1 => Piece::Decimal,
                2 => Piece::Fixed(cursor.u8()?),
                3 => Piece::Grouped,
                4 | 5 => Piece::Hex { digits: cursor.u8()?, upper: kind == 5 },
                6 => Piece::Word((0..cursor.u8()?).map(|_| word(&mut cursor)).collect::<Result<_>>()?),
                other => return Err(Error::corrupt(format!("pieces of kind 0 to 6 expected, found {other}"))),
            });
            if kind > 0 {
                radices.push(cursor.varint()?);
            }
        }
        templates.push((pieces, radices));
    }
    cursor.finish("templates")?;
    Printer::new(&templates).ok_or_else(|| {
        Error::corrupt(
            "at most 32 fields of 1 to 18 digits or 1 to 16 hexadecimal ones expected, of which the first has radix 0",
        )
    })
}

fn word(cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let len = cursor.u8()?;
    Ok(cursor.bytes(len.into())?.to_vec())
}

/// Radices of each template's fields, the slots, and about what these take.
type Layout = (Vec<Vec<u64>>, Vec<Numbers>, usize);

/// Numbers of a slot, in the narrowest words that hold them.
enum Numbers {
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

    fn with<R>(&self, f: impl FnOnce(Values<'_>) -> R) -> R {
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
struct Parsed {
    templates: Vec<Followed>,
    codes: Vec<u8>,
    /// Rows that follow no template.
    others: Vec<u32>,
}

impl Parsed {
    /// By the templates of a sample; `None` where half the strings follow none, unless all of that is wanted.
    fn of(sample: Strings<'_>, strings: Strings<'_>, insisted: bool) -> Option<Self> {
        let mut templates: Vec<Followed> =
            templates::find(sample).into_iter().map(|pieces| Followed { pieces, fields: Vec::new() }).collect();
        let (mut codes, mut others, mut fields) = (Vec::with_capacity(strings.len()), Vec::new(), Vec::new());
        let mut last = 0;
        for (row, string) in (0u32..).zip(strings.iter()) {
            if !insisted && row.is_multiple_of(1 << 10) && others.len() * 2 > row as usize {
                return None;
            }
            // That of the row before first: it is the likeliest, and makes the longest runs.
            let order = std::iter::once(last).chain((0..templates.len()).filter(|t| *t != last));
            let found = order.into_iter().find(|t| {
                templates.get_mut(*t).is_some_and(|t| templates::parse(&mut t.pieces, string, &mut fields).is_some())
            });
            if let Some(template) = found.and_then(|t| templates.get_mut(t)) {
                template.fields.resize_with(fields.len(), Vec::new);
                template.fields.iter_mut().zip(&fields).for_each(|(column, value)| column.push(*value));
                last = found.unwrap_or(0);
                codes.push(last as u8 + 1);
            } else {
                others.push(row);
                codes.push(0);
            }
        }
        if !insisted && others.len() * 2 > strings.len() {
            return None;
        }
        let mut parsed = Self { templates, codes, others };
        parsed.drop_unused();
        parsed.templates.iter_mut().for_each(Followed::settle);
        Some(parsed)
    }

    /// Strings that follow no template at all.
    fn nothing(strings: usize) -> Self {
        Self { templates: Vec::new(), codes: vec![0; strings], others: (0..strings as u32).collect() }
    }

    /// Without templates that no row follows, or that have too many fields.
    fn drop_unused(&mut self) {
        let mut rows = [0usize; 256];
        self.codes.iter().for_each(|code| rows.iter_mut().skip((*code).into()).take(1).for_each(|n| *n += 1));
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
        self.codes.iter_mut().for_each(|code| *code = renamed.get(usize::from(*code)).copied().unwrap_or(0));
    }

    /// Which fields are joined to slots, the slots, and about what they take: all that may be joined, or none,
    /// whichever is smaller. `None` where there would be too many slots.
    fn layout(&self, cascade: &Cascade<'_>) -> Result<Option<Layout>> {
        let apart: Vec<Vec<u64>> = self.templates.iter().map(|t| vec![0; t.fields.len()]).collect();
        let joined: Vec<Vec<u64>> = self.templates.iter().map(Followed::joined).collect();
        let mut best: Option<Layout> = None;
        let mut layouts = vec![apart];
        if layouts.first() != Some(&joined) {
            layouts.push(joined);
        }
        for radices in layouts {
            if radices.iter().any(|t| t.iter().filter(|r| **r == 0).count() > SLOTS) {
                continue;
            }
            let slots = self.slots(&radices);
            let mut size = 0;
            for slot in &slots {
                size += match self.codes.len() {
                    0..FEW => slot.with(rough_bytes),
                    _ => slot.with(|values| cascade.estimate_child(values, Kind::Unsigned))?,
                };
            }
            if best.as_ref().is_none_or(|(_, _, least)| size < *least) {
                best = Some((radices, slots, size));
            }
        }
        Ok(best)
    }

    /// A node of about the size, without trying anything.
    fn trial(&self, values: Values<'_>) -> Option<Node> {
        let apart: Vec<Vec<u64>> = self.templates.iter().map(|t| vec![0; t.fields.len()]).collect();
        let joined: Vec<Vec<u64>> = self.templates.iter().map(Followed::joined).collect();
        let codes = rough_bytes(Values::U8(&self.codes));
        let others = Picked::of(values, &self.others).borrow().plain_bytes() * 3 / 4 + self.others.len();
        let of = |radices: Vec<Vec<u64>>| {
            let few = radices.iter().all(|t| t.iter().filter(|r| **r == 0).count() <= SLOTS);
            let slots = self.slots(&radices).iter().map(|slot| slot.with(rough_bytes)).sum::<usize>();
            few.then(|| self.payload(&radices).len() + slots)
        };
        let size = of(apart).into_iter().chain(of(joined)).min()?;
        let payload = vec![0; size + codes + others];
        Some(Node { encoding: 17, ty: PhysicalType::Bytes, len: self.codes.len(), payload, children: vec![] })
    }

    /// The slots in row order.
    fn slots(&self, radices: &[Vec<u64>]) -> Vec<Numbers> {
        let mut slots: Vec<Vec<u64>> = Vec::new();
        let mut next = vec![0usize; self.templates.len()];
        for code in self.codes.iter().filter(|code| **code > 0) {
            let t = usize::from(*code) - 1;
            let (Some(template), Some(radices), Some(next)) = (self.templates.get(t), radices.get(t), next.get_mut(t))
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
                    slots.iter_mut().skip(slot).take(1).for_each(|s| s.push(value));
                    slot += 1;
                } else if let Some(joined) = slots.get_mut(slot.wrapping_sub(1)).and_then(|s| s.last_mut()) {
                    *joined = *joined * radix + value;
                }
            }
            *next += 1;
        }
        slots.into_iter().map(Numbers::of).collect()
    }

    fn payload(&self, radices: &[Vec<u64>]) -> Vec<u8> {
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
            out.iter_mut().skip(start).take(1).for_each(|place| *place = count);
        }
        out
    }
}

impl Followed {
    /// A field that is the same in all rows becomes a literal, a number of the same width in all one of fixed width.
    fn settle(&mut self) {
        let mut columns = std::mem::take(&mut self.fields).into_iter();
        let mut pieces = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            if let Piece::Literal(bytes) = &piece {
                templates::literal(&mut pieces, bytes);
                continue;
            }
            let column = columns.next().unwrap_or_default();
            let (least, most) = column.iter().fold((u64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
            if least == most {
                templates::literal(&mut pieces, &printed(piece, least));
                continue;
            }
            pieces.push(match piece {
                Piece::Decimal if least.checked_ilog10().unwrap_or(0) == most.checked_ilog10().unwrap_or(0) => {
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
    let (Some(printer), Some(none)) = (Printer::new(&[(vec![piece], vec![0])]), BytesDict::new(&[0], &[])) else {
        return Vec::new();
    };
    let rows = TextRows { codes: &[1], slots: &[&[value]], others: &none, first_other: 0 };
    let written = printer.print(&rows, &mut [0], &mut out).unwrap_or(0);
    out.truncate(written);
    out
}

enum Slot<'a> {
    U32(Box<dyn Decoder<u32> + 'a>),
    U64(Box<dyn Decoder<u64> + 'a>),
}

impl Slot<'_> {
    /// Numbers `first..last`, at most a vector of them, to the start of `out`.
    fn read(&self, first: usize, last: usize, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        let (mut at, mut done) = (first, 0);
        while at < last {
            let (v, skip) = (at / VECTOR, at % VECTOR);
            let take = (VECTOR - skip).min(last - at);
            let Some(places) = out.get_mut(done..done + take) else { break };
            match self {
                Self::U32(decoder) => {
                    let mut buffer = cx.take_u32();
                    let vector = buffer.get_mut(..vector_len(decoder.len(), v)).unwrap_or_default();
                    decoder.vector(v, cx, vector)?;
                    let vector = vector.get(skip..).unwrap_or_default();
                    places.iter_mut().zip(vector).for_each(|(place, value)| *place = u64::from(*value));
                    cx.give_u32(buffer);
                }
                Self::U64(decoder) if skip == 0 && take == vector_len(decoder.len(), v) => {
                    decoder.vector(v, cx, places)?;
                }
                Self::U64(decoder) => {
                    let mut buffer = cx.take_u64();
                    let vector = buffer.get_mut(..vector_len(decoder.len(), v)).unwrap_or_default();
                    decoder.vector(v, cx, vector)?;
                    let vector = vector.get(skip..).unwrap_or_default();
                    places.iter_mut().zip(vector).for_each(|(place, value)| *place = *value);
                    cx.give_u64(buffer);
                }
            }
            (at, done) = (at + take, done + take);
        }
        Ok(())
    }
}

struct Rows<'a> {
    printer: Printer,
    codes: Vec<u8>,
    others: BytesDict,
    slots: Vec<Slot<'a>>,
    /// Before every vector, and at the end: other strings, and numbers of each slot.
    starts: Vec<Vec<u32>>,
}

impl Rows<'_> {
    fn with_rows<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&Printer, &TextRows<'_>) -> Option<R>,
    ) -> Result<R> {
        let Some([first, last]) = self.starts.get(v..v + 2) else {
            return Err(Error::corrupt(format!("no vector {v}")));
        };
        let codes = self.codes.get(v * VECTOR..).unwrap_or_default();
        let codes = codes.get(..VECTOR).unwrap_or(codes);
        let mut buffers = Vec::with_capacity(SLOTS);
        for (slot, (first, last)) in self.slots.iter().zip(first.iter().zip(last).skip(1)) {
            let mut buffer = cx.take_u64();
            slot.read(*first as usize, *last as usize, cx, &mut buffer)?;
            buffers.push(((last - first) as usize, buffer));
        }
        let slots: Vec<&[u64]> = buffers.iter().map(|(len, buffer)| buffer.get(..*len).unwrap_or_default()).collect();
        let first_other = first.first().copied().unwrap_or(0) as usize;
        let rows = TextRows { codes, slots: &slots, others: &self.others, first_other };
        let result = f(&self.printer, &rows);
        buffers.into_iter().for_each(|(_, buffer)| cx.give_u64(buffer));
        result
            .ok_or_else(|| Error::corrupt("words that the templates have and strings no longer than declared expected"))
    }
}

impl BytesDecoder for Rows<'_> {
    fn len(&self) -> usize {
        self.codes.len()
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        if let Some(bytes) = self.printer.fixed().filter(|_| self.others.is_empty()) {
            return Ok(bytes * vector_len(self.codes.len(), v));
        }
        self.with_rows(v, cx, Printer::printed_bytes)
    }

    fn vector(&self, v: usize, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        self.with_rows(v, cx, |printer, rows| printer.print(rows, lengths, out))
    }
}

crate::conformance!(Text);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conforming::{holds, strings_of, tree};

    fn rows(count: usize, row: impl Fn(u64) -> String) -> Vec<Vec<u8>> {
        (0..count as u64).map(|i| row(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 ^ i).into_bytes()).collect()
    }

    /// Shape by shape: it comes back, damaged or not, and no row is left to the other strings.
    #[test]
    fn what_looks_like_numbers_is_numbers() {
        type Row = fn(u64) -> String;
        let shapes: [(&str, Row); 14] = [
            ("dates", |i| format!("20{:02}-{:02}-{:02}", i % 30, 1 + i % 12, 1 + i % 28)),
            ("times", |i| format!("{:02}:{:02}:{:02}", i % 24, i % 60, i % 59)),
            ("timestamps", |i| {
                format!("2020-{:02}-{:02}T{:02}:{:02}:00.{:06}Z", 1 + i % 12, 1 + i % 28, i % 24, i % 60, i % 999_983)
            }),
            ("uuids", |i| format!("{:08x}-2da5-11e8-{:04x}-{:012x}", i as u32, i % 60_001, i)),
            ("long hex", |i| format!("0x{:032x}", u128::from(i).pow(2) | 0xf << 124)),
            ("upper hex", |i| format!("{:06X}", (i % 0xff_ffff) | 0xa0_0000)),
            ("addresses", |i| format!("10.{}.{}.{}", i % 4, i % 256, i / 3 % 256)),
            ("amounts", |i| {
                if i % 3 == 0 {
                    format!("${}.{:02}", i % 1000, i % 100)
                } else {
                    format!("${},{:03}.{:02}", 1 + i % 900, i % 1000, i % 100)
                }
            }),
            (
                "signs",
                |i| if i % 2 == 0 { format!("-{}.{}", i % 50, i % 10) } else { format!("{}.{}", i % 5000, i % 10) },
            ),
            ("fractions", |i| format!("0.{:0w$}", i % 10, w = 1 + (i % 5) as usize)),
            ("empty", |i| if i % 4 == 0 { String::new() } else { format!("id-{}", i % 100_000) }),
            ("words", |i| {
                format!(
                    "{}, {} {}",
                    ["Mon", "Tuesday", "Sun"][i as usize % 3],
                    ["May", "June"][i as usize / 8 % 2],
                    i % 31
                )
            }),
            ("digits", |i| format!("{:040}", u128::from(i).pow(2))),
            ("urls", |i| {
                format!("https://staffa.example/a/very/long/path/of/more/than/one/store/{}/{}.html", i % 9, i % 100_000)
            }),
        ];
        for (name, row) in shapes {
            for count in [90, 2100] {
                let strings = rows(count, row);
                let node = tree(&Text, &strings);
                assert_eq!(node.children[1].len, 0, "{name}: strings left over");
                assert!(node.payload[0] < 7, "{name}: {} templates", node.payload[0]);
                holds(&Text, &strings, count < 1000);
            }
        }
    }

    #[test]
    fn what_no_template_prints_is_kept_as_it_is() {
        let odd = ["", "007", "1,2,3", "12,34", "x", "99999999999999999999999", "-", "\u{e9}1", "0x1G"];
        let strings: Vec<Vec<u8>> = (0..3000usize)
            .map(|i| if i % 11 == 5 { odd[i % odd.len()].into() } else { format!("{}", i * i).into_bytes() })
            .collect();
        let node = tree(&Text, &strings);
        assert!((50..300).contains(&node.children[1].len), "{} others", node.children[1].len);
        holds(&Text, &strings, false);
    }

    #[test]
    fn words_are_refused_without_a_trial() {
        let words = ["basalt", "Fingal's Cave", "a column of six sides", "sea", "Mull", "Iona 1", "Ulva", "hexagon"];
        let strings: Vec<&[u8]> = (0..500usize).map(|i| words[i * i % 8].as_bytes()).collect();
        let strings: crate::values::StringsBuf = strings.into_iter().collect();
        let values = Values::Bytes(strings.as_strings());
        assert!(!Text.suits(values, &Stats::new(values, Kind::Unsigned)));
    }

    #[test]
    fn the_example_of_the_format_decodes() {
        let node = "11 37 03 0d 01 04 00 01 24 03 00 00 01 2e 02 02 33 \
                    02 01 03 02 01 05 01 07 01 01 2d 02 03 02 05 10 38 f9 f3 11";
        assert_eq!(strings_of(node, 3), ["$1,250.50", "-", "$90.05"]);
    }
}
