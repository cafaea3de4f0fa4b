//! Strings of [`Text`](super::Text): templates read from the payload, and rows printed.

use std::ops::Range;

use staffa_kernels::{
    BytesDict, Piece, PoolVec, Text as Printer, TextRows, ViewStrings, count_codes,
};

use super::super::prelude::*;
use crate::decode::{Appended, BytesDecoder, StringVector, by_vector, no_row};

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
                4 | 5 => Piece::Hex {
                    digits: cursor.u8()?,
                    upper: kind == 5,
                },
                6 => Piece::Word(
                    (0..cursor.u8()?)
                        .map(|_| word(&mut cursor))
                        .collect::<Result<_>>()?,
                ),
                other => {
                    return Err(Error::corrupt(format!(
                        "pieces of kind 0 to 6 expected, found {other}"
                    )));
                }
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

/// Counts before every vector, and at the end: of strings that no template prints (code 0), then of
/// the numbers of each slot; `slots` has the number of slots of each code.
fn starts(codes: &[u8], slots: &[usize], counts: usize) -> Result<Vec<Vec<u32>>> {
    let mut sums = vec![0; counts];
    let mut starts = Vec::with_capacity(codes.len().div_ceil(VECTOR) + 1);
    let mut rows = vec![0; slots.len()];
    for vector in codes.chunks(VECTOR) {
        starts.push(sums.clone());
        rows.fill(0);
        if !count_codes(vector, &mut rows) {
            let (most, found) = (slots.len().saturating_sub(1), vector.iter().max());
            let found = found.copied().unwrap_or(0);
            return Err(Error::corrupt(format!(
                "codes of at most {most} expected, found {found}"
            )));
        }
        add(&mut sums, &rows, slots)?;
    }
    starts.push(sums);
    Ok(starts)
}

/// Adds the rows of each code to the count of other strings, or to those of the slots' numbers.
fn add(sums: &mut [u32], rows: &[u32], slots: &[usize]) -> Result<()> {
    let (others, numbers) = sums.split_first_mut().ok_or_else(no_numbers)?;
    let (first, rows) = rows.split_first().ok_or_else(no_numbers)?;
    *others += first;
    let each = rows.iter().zip(slots.get(1..).unwrap_or_default());
    for (rows, slots) in each.filter(|(rows, _)| **rows > 0) {
        let numbers = numbers.get_mut(..*slots).ok_or_else(no_numbers)?;
        numbers.iter_mut().for_each(|sum| *sum += rows);
    }
    Ok(())
}

/// The numbers of a slot.
enum Slot<'a> {
    U32(Box<dyn Decoder<u32> + 'a>),
    U64(Box<dyn Decoder<u64> + 'a>),
}

impl<'a> Slot<'a> {
    fn open(node: &NodeRef<'a>, i: usize, len: u32, cx: &mut OpenContext<'a>) -> Result<Self> {
        let child = |ty| node.child(i, "slot", ty, len as usize);
        Ok(match node.any_child(i, "slot")?.ty {
            PhysicalType::U64 => Self::U64(cx.open_words(child(PhysicalType::U64)?)?),
            _ => Self::U32(cx.open_words(child(PhysicalType::U32)?)?),
        })
    }

    /// Some numbers, at most a vector of them, to the start of `out`.
    fn read(&self, numbers: Range<usize>, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        match self {
            Self::U32(decoder) => read_numbers(decoder.as_ref(), numbers, cx, out),
            Self::U64(decoder) => read_numbers(decoder.as_ref(), numbers, cx, out),
        }
    }

    /// The numbers at some positions, which ascend.
    fn take(&self, positions: &[u32], cx: &mut Scratch) -> Result<Vec<u64>> {
        match self {
            Self::U32(decoder) => {
                let mut numbers = vec![0u32; positions.len()];
                decoder.take(positions, cx, &mut numbers)?;
                Ok(numbers.into_iter().map(u64::from).collect())
            }
            Self::U64(decoder) => {
                let mut numbers = vec![0; positions.len()];
                decoder.take(positions, cx, &mut numbers)?;
                Ok(numbers)
            }
        }
    }
}

fn read_numbers<T: Integer>(
    decoder: &dyn Decoder<T>,
    numbers: Range<usize>,
    cx: &mut Scratch,
    out: &mut [u64],
) -> Result<()> {
    let (mut at, mut rest) = (numbers.start, out);
    while at < numbers.end {
        let (v, skip) = (at / VECTOR, at % VECTOR);
        let count = (VECTOR - skip).min(numbers.end - at);
        let (places, others) = rest.split_at_mut_checked(count).ok_or_else(no_numbers)?;
        cx.with(vector_len(decoder.len(), v), |cx, vector: &mut [T]| {
            decoder.vector(v, cx, vector)?;
            let numbers = vector.get(skip..skip + count).ok_or_else(no_numbers)?;
            let places = places.iter_mut().zip(numbers);
            places.for_each(|(place, number)| *place = number.to_u64());
            Ok(())
        })?;
        (at, rest) = (at + count, others);
    }
    Ok(())
}

fn no_numbers() -> Error {
    Error::internal("fewer numbers of a slot than counted")
}

fn unprinted() -> Error {
    Error::corrupt("words that the templates have and strings no longer than declared expected")
}

/// Strings as templates and numbers.
pub(super) struct Rows<'a> {
    printer: Printer,
    codes: PoolVec<u8>,
    others: BytesDict,
    slots: Vec<Slot<'a>>,
    /// By code: how many slots the template has.
    counted: Vec<usize>,
    /// Before every vector, and at the end: counts of other strings, and of numbers of each slot.
    starts: Vec<Vec<u32>>,
}

impl<'a> Rows<'a> {
    pub(super) fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        expect_strings(node)?;
        // A field of two bytes takes some 120 prepared for printing, a word of one byte some 60.
        cx.budget.count_beside(64 * node.payload.len() as u64);
        let printer = read(node)?;
        let counted: Vec<usize> = std::iter::once(0).chain(printer.slots()).collect();
        let children = 2 + counted.iter().max().copied().unwrap_or(0);
        node.expect_children(children)?;
        let codes = node.child(0, "codes", PhysicalType::U8, node.len)?;
        let codes = cx.all_words::<u8>(codes, "codes")?;
        let starts = starts(&codes, &counted, children - 1)?;
        let bytes = starts.len() * (children - 1) * 4;
        cx.budget.count_beside(bytes as u64);
        let counts = starts.last().map_or(&[][..], Vec::as_slice);
        let [others, numbers @ ..] = counts else {
            return Err(Error::internal("counts of strings and numbers expected"));
        };
        let others = node.child(1, "others", PhysicalType::Bytes, *others as usize)?;
        let others = cx.all_strings(others, "others")?;
        let slots = (2..)
            .zip(numbers)
            .map(|(i, count)| Slot::open(node, i, *count, cx));
        let slots = slots.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            printer,
            codes,
            others,
            slots,
            counted,
            starts,
        })
    }

    fn with_rows<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&Printer, &TextRows<'_>) -> Result<R>,
    ) -> Result<R> {
        let (first, last) = (of_vector(&self.starts, v)?, of_vector(&self.starts, v + 1)?);
        let ([first_other, first @ ..], [_, last @ ..]) = (first.as_slice(), last.as_slice())
        else {
            return Err(no_numbers());
        };
        let codes = self.codes.chunks(VECTOR).nth(v).ok_or_else(no_numbers)?;
        cx.with(self.slots.len() * VECTOR, |cx, buffer: &mut [u64]| {
            let mut slots: Vec<&[u64]> = Vec::with_capacity(self.slots.len());
            let numbers = first.iter().zip(last);
            let buffers = buffer.chunks_mut(VECTOR);
            for ((slot, buffer), (first, last)) in self.slots.iter().zip(buffers).zip(numbers) {
                let numbers = *first as usize..*last as usize;
                let places = places(buffer, numbers.len())?;
                slot.read(numbers, cx, places)?;
                slots.push(places);
            }
            let rows = TextRows {
                codes,
                slots: &slots,
                others: &self.others,
                first_other: *first_other as usize,
            };
            f(&self.printer, &rows)
        })
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
        self.with_rows(v, cx, |printer, rows| {
            printer.printed_bytes(rows).ok_or_else(unprinted)
        })
    }

    fn vector_room(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        let rows = vector_len(self.codes.len(), v);
        let others = self.others.contents().len();
        Ok((self.printer.longest().saturating_mul(rows)).saturating_add(others))
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.with_rows(v, cx, |printer, rows| {
            printer.print(rows, lengths, out).ok_or_else(unprinted)
        })
    }

    /// A row by itself takes the time of two in a vector.
    fn is_dense(&self, v: usize, rows: usize) -> bool {
        2 * rows >= vector_len(self.codes.len(), v)
    }

    fn push_views(
        &self,
        v: usize,
        cx: &mut Scratch,
        views: &mut ViewStrings<'_, '_>,
    ) -> Result<bool> {
        if !self.printer.may_be_inline() {
            return Ok(false);
        }
        self.with_rows(v, cx, |printer, rows| Ok(views.push_text(printer, rows)?))
    }

    /// The numbers of these rows alone, by their rank among those of the slot.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut picked = Picked::new(self.slots.len());
        by_vector(rows).try_for_each(|(v, rows)| self.pick(v, rows, &mut picked))?;
        self.print_picked(&picked, cx, out)
    }
}

impl Rows<'_> {
    /// Picks some rows of a vector.
    fn pick(&self, v: usize, rows: &[u32], picked: &mut Picked) -> Result<()> {
        let (first, last) = (of_vector(&self.starts, v)?, of_vector(&self.starts, v + 1)?);
        let codes = self.codes.chunks(VECTOR).nth(v).ok_or_else(no_numbers)?;
        let missing = |row: &u32| no_row(*row, self.codes.len());
        let ([other, first @ ..], [last_other, last @ ..]) = (first.as_slice(), last.as_slice())
        else {
            return Err(no_numbers());
        };
        let all = codes.len() as u32;
        if other == last_other
            && first
                .iter()
                .zip(last)
                .all(|(first, last)| last - first == all)
        {
            // Every row has a number of every slot.
            for row in rows {
                let i = *row as usize % VECTOR;
                let code = codes.get(i).ok_or_else(|| missing(row))?;
                picked.push(*code, first.iter().map(|first| first + i as u32));
            }
            return Ok(());
        }
        let mut counts = of_vector(&self.starts, v)?.clone();
        let mut next = 0;
        for row in rows {
            let i = *row as usize % VECTOR;
            let before = codes.get(next..i).ok_or_else(|| missing(row))?;
            self.count(before, &mut counts)?;
            let code = *codes.get(i).ok_or_else(|| missing(row))?;
            let (other, numbers) = counts.split_first().ok_or_else(no_numbers)?;
            if code == 0 {
                let other = self.others.get(*other as usize).ok_or_else(no_numbers)?;
                picked.push_other(other);
            } else {
                let slots = *self.counted.get(usize::from(code)).ok_or_else(no_numbers)?;
                let numbers = numbers.get(..slots).ok_or_else(no_numbers)?;
                picked.push(code, numbers.iter().copied());
            }
            next = i;
        }
        Ok(())
    }

    /// Counts the other strings, and the numbers of each slot, of rows with these codes.
    fn count(&self, codes: &[u8], counts: &mut [u32]) -> Result<()> {
        if codes.len() > AT_ONCE {
            let mut rows = vec![0; self.counted.len()];
            if !count_codes(codes, &mut rows) {
                return Err(no_numbers());
            }
            return add(counts, &rows, &self.counted);
        }
        for code in codes {
            let slots = *self
                .counted
                .get(usize::from(*code))
                .ok_or_else(no_numbers)?;
            let counted = if *code == 0 { 0..1 } else { 1..slots + 1 };
            let sums = counts.get_mut(counted).ok_or_else(no_numbers)?;
            sums.iter_mut().for_each(|sum| *sum += 1);
        }
        Ok(())
    }

    /// Prints the rows picked, and appends them.
    fn print_picked(&self, picked: &Picked, cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut numbers = Vec::with_capacity(self.slots.len());
        for (slot, positions) in self.slots.iter().zip(&picked.positions) {
            numbers.push(slot.take(positions, cx)?);
        }
        let slots: Vec<&[u64]> = numbers.iter().map(Vec::as_slice).collect();
        let others = BytesDict::new(&picked.other_ends, &picked.others).ok_or_else(no_numbers)?;
        let rows = TextRows {
            codes: &picked.codes,
            slots: &slots,
            others: &others,
            first_other: 0,
        };
        let count = picked.codes.len();
        let room = self.printer.longest().saturating_mul(count);
        let room = room.saturating_add(picked.others.len()).min(out.room());
        cx.with(count, |cx, lengths| {
            cx.with_bytes(room, |_, bytes| {
                let printed = self.printer.print(&rows, lengths, bytes);
                let bytes = within(bytes, 0..printed.ok_or_else(unprinted)?)?;
                out.push_strings(StringVector { lengths, bytes })
            })
        })
    }
}

/// Codes up to which counting one by one takes less.
const AT_ONCE: usize = 16;

/// Rows to print.
struct Picked {
    codes: Vec<u8>,
    /// Of each slot, where the numbers of these rows are.
    positions: Vec<Vec<u32>>,
    /// Strings that no template prints.
    others: Vec<u8>,
    /// 0, and the end of each of them.
    other_ends: Vec<u32>,
}

impl Picked {
    fn new(slots: usize) -> Self {
        Self {
            codes: Vec::new(),
            positions: vec![Vec::new(); slots],
            others: Vec::new(),
            other_ends: vec![0],
        }
    }

    fn push(&mut self, code: u8, positions: impl Iterator<Item = u32>) {
        self.codes.push(code);
        let slots = self.positions.iter_mut().zip(positions);
        slots.for_each(|(slot, position)| slot.push(position));
    }

    fn push_other(&mut self, string: &[u8]) {
        self.codes.push(0);
        self.others.extend_from_slice(string);
        self.other_ends.push(self.others.len() as u32);
    }
}
