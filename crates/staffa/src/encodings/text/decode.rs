//! Strings of [`Text`](super::Text): templates read from the payload, and rows printed.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, Piece, PoolVec, Text as Printer, TextRows, VECTOR};

use super::super::common::{entry_mut, expect_strings, of_vector, places};
use crate::decode::{BytesDecoder, Decoder, OpenContext, Scratch};
use crate::error::{Error, Result};
use crate::format::{Cursor, NodeRef};
use crate::values::{PhysicalType, vector_len};

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
/// the numbers of each slot; `slots` has the number of slots of each template.
fn starts(codes: &[u8], slots: &[usize], counts: usize) -> Result<Vec<Vec<u32>>> {
    let mut sums = vec![0u32; counts];
    let mut starts = Vec::with_capacity(codes.len().div_ceil(VECTOR) + 1);
    for vector in codes.chunks(VECTOR) {
        starts.push(sums.clone());
        let mut rows = [0u32; 256];
        match vector {
            [first, ..] if vector.iter().all(|code| code == first) => {
                *entry_mut(&mut rows, *first) = vector.len() as u32;
            }
            _ => vector
                .iter()
                .for_each(|code| *entry_mut(&mut rows, *code) += 1),
        }
        for (code, rows) in (0..).zip(rows).filter(|(_, rows)| *rows > 0) {
            let counted = match usize::checked_sub(code, 1).map(|template| slots.get(template)) {
                None => sums.get_mut(..1),
                Some(Some(slots)) => sums.get_mut(1..=*slots),
                Some(None) => {
                    let most = slots.len();
                    return Err(Error::corrupt(format!(
                        "codes of at most {most} expected, found {code}"
                    )));
                }
            };
            counted
                .ok_or_else(no_numbers)?
                .iter_mut()
                .for_each(|sum| *sum += rows);
        }
    }
    starts.push(sums);
    Ok(starts)
}

/// The numbers of a slot.
enum Slot<'a> {
    U32(Box<dyn Decoder<u32> + 'a>),
    U64(Box<dyn Decoder<u64> + 'a>),
}

impl<'a> Slot<'a> {
    fn open(node: &NodeRef<'a>, i: usize, len: u32, cx: &mut OpenContext<'a>) -> Result<Self> {
        let wide = node.any_child(i, "slot")?.ty == PhysicalType::U64;
        let ty = if wide {
            PhysicalType::U64
        } else {
            PhysicalType::U32
        };
        let child = node.child(i, "slot", ty, len as usize)?;
        Ok(if wide {
            Self::U64(cx.open_words(child)?)
        } else {
            Self::U32(cx.open_words(child)?)
        })
    }

    /// Numbers `first..last`, at most a vector of them, to the start of `out`.
    fn read(&self, first: usize, last: usize, cx: &mut Scratch, out: &mut [u64]) -> Result<()> {
        let (mut at, mut rest) = (first, out);
        while at < last {
            let (v, skip) = (at / VECTOR, at % VECTOR);
            let count = (VECTOR - skip).min(last - at);
            let (out, others) = rest.split_at_mut_checked(count).ok_or_else(no_numbers)?;
            match self {
                Self::U32(decoder) => {
                    let mut buffer = cx.take_u32();
                    let vector = places(&mut buffer, vector_len(decoder.len(), v))?;
                    decoder.vector(v, cx, vector)?;
                    copy(vector, skip, out)?;
                    cx.give_u32(buffer);
                }
                Self::U64(decoder) if skip == 0 && count == vector_len(decoder.len(), v) => {
                    decoder.vector(v, cx, out)?;
                }
                Self::U64(decoder) => {
                    let mut buffer = cx.take_u64();
                    let vector = places(&mut buffer, vector_len(decoder.len(), v))?;
                    decoder.vector(v, cx, vector)?;
                    copy(vector, skip, out)?;
                    cx.give_u64(buffer);
                }
            }
            (at, rest) = (at + count, others);
        }
        Ok(())
    }
}

/// Copies numbers from `skip` on, as many as `out` has places.
fn copy<T: Copy + Into<u64>>(numbers: &[T], skip: usize, out: &mut [u64]) -> Result<()> {
    let numbers = numbers.get(skip..skip + out.len()).ok_or_else(no_numbers)?;
    out.iter_mut()
        .zip(numbers)
        .for_each(|(place, number)| *place = (*number).into());
    Ok(())
}

fn no_numbers() -> Error {
    Error::internal("fewer numbers of a slot than counted")
}

/// Strings as templates and numbers.
pub(super) struct Rows<'a> {
    printer: Printer,
    codes: PoolVec<u8>,
    others: BytesDict,
    slots: Vec<Slot<'a>>,
    /// Before every vector, and at the end: counts of other strings, and of numbers of each slot.
    starts: Vec<Vec<u32>>,
}

impl<'a> Rows<'a> {
    pub(super) fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        expect_strings(node)?;
        // A field of two bytes takes some 120 prepared for printing, a word of one byte some 60.
        cx.budget
            .take(64 * node.payload.len() as u64, "templates")?;
        let printer = read(node)?;
        let slots: Vec<usize> = printer.slots().collect();
        let children = 2 + slots.iter().max().copied().unwrap_or(0);
        node.expect_children(children)?;
        let codes = node.child(0, "codes", PhysicalType::U8, node.len)?;
        let codes = cx.all_words::<u8>(codes, "codes")?;
        let starts = starts(&codes, &slots, children - 1)?;
        let bytes = starts.len() * (children - 1) * 4;
        cx.budget.take(bytes as u64, "positions of slots")?;
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
            starts,
        })
    }

    fn with_rows<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&Printer, &TextRows<'_>) -> Option<R>,
    ) -> Result<R> {
        let (first, last) = (of_vector(&self.starts, v)?, of_vector(&self.starts, v + 1)?);
        let ([first_other, first @ ..], [_, last @ ..]) = (first.as_slice(), last.as_slice())
        else {
            return Err(no_numbers());
        };
        let codes = self.codes.chunks(VECTOR).nth(v).ok_or_else(no_numbers)?;
        let mut buffers = Vec::with_capacity(self.slots.len());
        for (slot, (first, last)) in self.slots.iter().zip(first.iter().zip(last)) {
            let mut buffer = cx.take_u64();
            slot.read(*first as usize, *last as usize, cx, &mut buffer)?;
            buffers.push(((last - first) as usize, buffer));
        }
        let slots = buffers
            .iter()
            .map(|(len, buffer)| buffer.get(..*len).ok_or_else(no_numbers));
        let slots = slots.collect::<Result<Vec<&[u64]>>>()?;
        let rows = TextRows {
            codes,
            slots: &slots,
            others: &self.others,
            first_other: *first_other as usize,
        };
        let result = f(&self.printer, &rows);
        buffers
            .into_iter()
            .for_each(|(_, buffer)| cx.give_u64(buffer));
        result.ok_or_else(|| {
            Error::corrupt(
                "words that the templates have and strings no longer than declared expected",
            )
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
        self.with_rows(v, cx, Printer::printed_bytes)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.with_rows(v, cx, |printer, rows| printer.print(rows, lengths, out))
    }
}
