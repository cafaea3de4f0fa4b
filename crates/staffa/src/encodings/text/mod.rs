//! Text that is not text: numbers, dates, times, amounts, addresses, identifiers, as the numbers in
//! them.
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
//! A field of radix 0 begins a slot, any other joins the slot of the field before: `2020-01-31` may
//! be one number that grows from row to row. Slot `k` has a number for every row whose template has
//! more than `k` slots, so that templates that are much alike (with a sign and without) share their
//! slots. What no template prints back to the byte is one of the other strings.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod parsed;
mod templates;

use parsed::Parsed;
use staffa_kernels::{BytesDict, Piece, PoolVec, Text as Printer, TextRows, VECTOR};

use crate::decode::{AnyDecoder, BytesDecoder, Decoder, OpenContext, Scratch};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Cursor, Node, NodeRef};
use crate::values::{Kind, OwnedValues, PhysicalType, StringsBuf, Values, vector_len};

/// Most slots: a node has 15 children.
const SLOTS: usize = 13;

/// How many times smaller than another encoding it must be to be preferred, where there are many
/// rows.
const WORTH: f64 = 1.3;
/// Rows that templates are found in, in a trial.
const TRIED: usize = 256;

/// See the [module](self).
pub struct Text;

impl Encoding for Text {
    fn info(&self) -> &Info {
        &Info {
            id: 17,
            name: "text",
            about: "strings that are numbers, dates, times or identifiers, as the numbers in them",
            child_names: &[
                "codes", "others", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
            ],
            availability: Availability::Slow,
            decode_picos: 6000,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    /// Most columns of strings are words: a few rows tell. Where few strings come again and again,
    /// the place for this is below a dictionary.
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let Values::Bytes(strings) = values else {
            return false;
        };
        let few = stats
            .dictionary()
            .is_some_and(|coded| coded.firsts.len() * 48 < strings.len());
        !few && strings.contents().len() >= 64 && templates::likely(strings)
    }

    /// Templates and words do not grow with the rows.
    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Values::Bytes(strings) = values else {
            return Ok(None);
        };
        let sample = Chooser::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        let Some(parsed) = Parsed::of(sample, sample, false) else {
            return Ok(None);
        };
        let Some((radices, slots, size)) = parsed.layout(chooser)? else {
            return Ok(None);
        };
        let others = OwnedValues::of(Values::Bytes(sample), &parsed.others);
        let growing = size
            + chooser.estimate_child(Values::U8(&parsed.codes), Kind::Unsigned)?
            + chooser.estimate_child(others.borrow(), Kind::Unsigned)?;
        let nodes = 8 * (slots.len() + 2);
        let share = strings.len() as f64 / sample.len().max(1) as f64;
        let growing = growing.saturating_sub(nodes) as f64 * share;
        // Printing takes longer than copying: it must pay.
        Ok(Some(
            8 + parsed.payload(&radices).len() + nodes + (growing * WORTH) as usize,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let Values::Bytes(strings) = values else {
            return Ok(None);
        };
        let sample = Chooser::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        if chooser.is_trial() {
            let few: StringsBuf = sample
                .iter()
                .step_by(sample.len().div_ceil(TRIED).max(1))
                .collect();
            let Some(parsed) = Parsed::of(few.as_strings(), strings, false) else {
                return Ok(None);
            };
            return Ok(parsed.trial(values));
        }
        let Some(mut parsed) = Parsed::of(sample, strings, chooser.must_encode()) else {
            return Ok(None);
        };
        let (radices, slots) = match parsed.layout(chooser)? {
            Some((radices, slots, _)) => (radices, slots),
            None if chooser.must_encode() => {
                parsed = Parsed::nothing(strings.len());
                (Vec::new(), Vec::new())
            }
            None => return Ok(None),
        };
        let others = OwnedValues::of(values, &parsed.others);
        let mut children = vec![
            chooser.child(Values::U8(&parsed.codes), Kind::Unsigned)?,
            chooser.child(others.borrow(), Kind::Unsigned)?,
        ];
        for slot in &slots {
            children.push(slot.with(|values| chooser.child(values, Kind::Unsigned))?);
        }
        let payload = parsed.payload(&radices);
        Ok(Some(Node {
            encoding: 17,
            ty: PhysicalType::Bytes,
            len: strings.len(),
            payload,
            children,
        }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        if node.ty != PhysicalType::Bytes {
            return Err(Error::corrupt(format!(
                "byte strings expected, found {:?}",
                node.ty
            )));
        }
        // A field of two bytes takes some 120 prepared for printing, a word of one byte some 60.
        cx.budget
            .take(64 * node.payload.len() as u64, "templates")?;
        let printer = read(node)?;
        let slots: Vec<usize> = printer.slots().collect();
        node.expect_children(2 + slots.iter().max().copied().unwrap_or(0))?;
        let codes =
            cx.all_words::<u8>(node.child(0, "codes", PhysicalType::U8, node.len)?, "codes")?;
        let mut starts = Vec::with_capacity(node.len.div_ceil(VECTOR) + 1);
        let mut sums = vec![0u32; node.children.len().saturating_sub(1)];
        // The strings that are no template's first, then slot by slot.
        let per_code: Vec<Vec<usize>> = std::iter::once(vec![0])
            .chain(slots.iter().map(|slots| (1..=*slots).collect()))
            .collect();
        for vector in codes.chunks(VECTOR) {
            starts.push(sums.clone());
            let mut counts = [0u32; 256];
            let mut count = |code: u8, rows: usize| {
                counts
                    .iter_mut()
                    .skip(code.into())
                    .take(1)
                    .for_each(|count| *count += rows as u32);
            };
            match vector.first() {
                Some(first) if vector.iter().all(|code| code == first) => {
                    count(*first, vector.len());
                }
                _ => vector.iter().for_each(|code| count(*code, 1)),
            }
            for (code, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let Some(children) = per_code.get(code) else {
                    return Err(Error::corrupt(format!(
                        "codes of at most {} expected, found {code}",
                        slots.len()
                    )));
                };
                for child in children {
                    sums.iter_mut()
                        .skip(*child)
                        .take(1)
                        .for_each(|sum| *sum += count);
                }
            }
        }
        starts.push(sums.clone());
        cx.budget
            .take((starts.len() * sums.len() * 4) as u64, "positions of slots")?;
        let others = sums.first().copied().unwrap_or(0) as usize;
        let others = cx.all_strings(
            node.child(1, "others", PhysicalType::Bytes, others)?,
            "others",
        )?;
        let mut slots = Vec::new();
        for (child, sum) in node.children.iter().skip(2).zip(sums.iter().skip(1)) {
            let wide = child.ty == PhysicalType::U64;
            let ty = if wide {
                PhysicalType::U64
            } else {
                PhysicalType::U32
            };
            let child = node.child(2 + slots.len(), "slot", ty, *sum as usize)?;
            slots.push(if wide {
                Slot::U64(cx.open_words(child)?)
            } else {
                Slot::U32(cx.open_words(child)?)
            });
        }
        Ok(AnyDecoder::Bytes(Box::new(Rows {
            printer,
            codes,
            others,
            slots,
            starts,
        })))
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
            let Some(places) = out.get_mut(done..done + take) else {
                break;
            };
            match self {
                Self::U32(decoder) => {
                    let mut buffer = cx.take_u32();
                    let vector = buffer
                        .get_mut(..vector_len(decoder.len(), v))
                        .unwrap_or_default();
                    decoder.vector(v, cx, vector)?;
                    let vector = vector.get(skip..).unwrap_or_default();
                    places
                        .iter_mut()
                        .zip(vector)
                        .for_each(|(place, value)| *place = u64::from(*value));
                    cx.give_u32(buffer);
                }
                Self::U64(decoder) if skip == 0 && take == vector_len(decoder.len(), v) => {
                    decoder.vector(v, cx, places)?;
                }
                Self::U64(decoder) => {
                    let mut buffer = cx.take_u64();
                    let vector = buffer
                        .get_mut(..vector_len(decoder.len(), v))
                        .unwrap_or_default();
                    decoder.vector(v, cx, vector)?;
                    let vector = vector.get(skip..).unwrap_or_default();
                    places
                        .iter_mut()
                        .zip(vector)
                        .for_each(|(place, value)| *place = *value);
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
    codes: PoolVec<u8>,
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
        let slots: Vec<&[u64]> = buffers
            .iter()
            .map(|(len, buffer)| buffer.get(..*len).unwrap_or_default())
            .collect();
        let first_other = first.first().copied().unwrap_or(0) as usize;
        let rows = TextRows {
            codes,
            slots: &slots,
            others: &self.others,
            first_other,
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

crate::conformance!(Text);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::{holds, strings_of, tree};

    fn rows(count: usize, row: impl Fn(u64) -> String) -> Vec<Vec<u8>> {
        (0..count as u64)
            .map(|i| row(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 ^ i).into_bytes())
            .collect()
    }

    /// Shape by shape: it comes back, damaged or not, and no row is left to the other strings.
    #[test]
    fn what_looks_like_numbers_is_numbers() {
        type Row = fn(u64) -> String;
        let shapes: [(&str, Row); 14] = [
            ("dates", |i| {
                format!("20{:02}-{:02}-{:02}", i % 30, 1 + i % 12, 1 + i % 28)
            }),
            ("times", |i| {
                format!("{:02}:{:02}:{:02}", i % 24, i % 60, i % 59)
            }),
            ("timestamps", |i| {
                format!(
                    "2020-{:02}-{:02}T{:02}:{:02}:00.{:06}Z",
                    1 + i % 12,
                    1 + i % 28,
                    i % 24,
                    i % 60,
                    i % 999_983
                )
            }),
            ("uuids", |i| {
                format!("{:08x}-2da5-11e8-{:04x}-{:012x}", i as u32, i % 60_001, i)
            }),
            ("long hex", |i| {
                format!("0x{:032x}", u128::from(i).pow(2) | 0xf << 124)
            }),
            ("upper hex", |i| {
                format!("{:06X}", (i % 0xff_ffff) | 0xa0_0000)
            }),
            ("addresses", |i| {
                format!("10.{}.{}.{}", i % 4, i % 256, i / 3 % 256)
            }),
            ("amounts", |i| {
                if i % 3 == 0 {
                    format!("${}.{:02}", i % 1000, i % 100)
                } else {
                    format!("${},{:03}.{:02}", 1 + i % 900, i % 1000, i % 100)
                }
            }),
            ("signs", |i| {
                if i % 2 == 0 {
                    format!("-{}.{}", i % 50, i % 10)
                } else {
                    format!("{}.{}", i % 5000, i % 10)
                }
            }),
            ("fractions", |i| {
                format!("0.{:0w$}", i % 10, w = 1 + (i % 5) as usize)
            }),
            ("empty", |i| {
                if i % 4 == 0 {
                    String::new()
                } else {
                    format!("id-{}", i % 100_000)
                }
            }),
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
                format!(
                    "https://staffa.example/a/very/long/path/of/more/than/one/store/{}/{}.html",
                    i % 9,
                    i % 100_000
                )
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
        let odd = [
            "",
            "007",
            "1,2,3",
            "12,34",
            "x",
            "99999999999999999999999",
            "-",
            "\u{e9}1",
            "0x1G",
        ];
        let strings: Vec<Vec<u8>> = (0..3000usize)
            .map(|i| {
                if i % 11 == 5 {
                    odd[i % odd.len()].into()
                } else {
                    format!("{}", i * i).into_bytes()
                }
            })
            .collect();
        let node = tree(&Text, &strings);
        assert!(
            (50..300).contains(&node.children[1].len),
            "{} others",
            node.children[1].len
        );
        holds(&Text, &strings, false);
    }

    #[test]
    fn words_are_refused_without_a_trial() {
        let words = [
            "basalt",
            "Fingal's Cave",
            "a column of six sides",
            "sea",
            "Mull",
            "Iona 1",
            "Ulva",
            "hexagon",
        ];
        let strings: Vec<&[u8]> = (0..500usize).map(|i| words[i * i % 8].as_bytes()).collect();
        let strings: crate::values::StringsBuf = strings.into_iter().collect();
        let values = Values::Bytes(strings.as_strings());
        assert!(!Text.is_viable(values, &Stats::new(values, Kind::Unsigned)));
    }

    #[test]
    fn the_example_of_the_format_decodes() {
        let node = "11 37 03 0d 01 04 00 01 24 03 00 00 01 2e 02 02 33 \
                    02 01 03 02 01 05 01 07 01 01 2d 02 03 02 05 10 38 f9 f3 11";
        assert_eq!(strings_of(node, 3), ["$1,250.50", "-", "$90.05"]);
    }
}
