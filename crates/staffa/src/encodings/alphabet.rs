//! Alphabet: strings of few distinct bytes, each byte in as few bits as it needs: identifiers in
//! base 62 and the like.
//!
//! ```text
//! payload = bytes - 1: u8 | the bytes that occur | codes, bit-packed
//! child: lengths of the strings (u32)
//! ```
//!
//! The codes of all strings follow one another, in vectors of 1,024 codes and a tail as in bitpack.
//! For strings like noise: text in which some bytes or pairs of bytes are more frequent than others
//! is smaller in OnPair or FSST.

use std::collections::HashSet;
use std::ops::Range;

use staffa_kernels::lookup_bytes;

use super::lengths::{Contents, MeasuredStrings, StringLengths};
use super::packed::{PackedVectors, pack_vector, packed_len};
use super::prelude::*;
use crate::decode::{Appended, by_vector, spans};
use crate::encode::UnsupportedValue;
use crate::values::distinct_bytes;

/// Most distinct bytes.
const MOST: usize = 128;

/// See the [module](self).
pub struct Alphabet;

impl Encoding for Alphabet {
    fn info(&self) -> &Info {
        &Info {
            id: 18,
            name: "alphabet",
            about: "strings of few distinct bytes, each in as few bits as it needs",
            child_names: &["lengths"],
            terminal: true,
            decode_picos: 700,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let Values::Bytes(strings) = values else {
            return false;
        };
        !stats.is_few_strings() && like_noise(strings.contents())
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let strings = byte_strings(values)?;
        let Some(table) = Table::of(strings.contents()) else {
            return Ok(None);
        };
        let lengths = chooser.estimate_lengths(strings, stats)?;
        Ok(Some(
            8 + table.bytes.len() + packed_len(strings.contents().len(), table.width()) + lengths,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let strings = byte_strings(values)?;
        let Some(table) = Table::of(strings.contents()) else {
            return Ok(None);
        };
        let mut payload = vec![table.bytes.len() as u8 - 1];
        payload.extend_from_slice(&table.bytes);
        if chooser.is_trial() {
            // The table does not grow with the rows: it is no part of the size that is scaled.
            payload = vec![0; (strings.contents().len() * table.width() as usize).div_ceil(8)];
        } else {
            let mut codes = Vec::with_capacity(VECTOR);
            for part in strings.contents().chunks(VECTOR) {
                codes.clear();
                codes.extend(part.iter().map(|byte| *entry(&table.codes, *byte)));
                pack_vector(&codes, table.width(), &mut payload);
            }
        }
        let lengths = chooser.lengths(&strings.lengths())?;
        node(self, values, payload, vec![lengths])
    }

    fn unsupported_value(&self, values: Values<'_>) -> Option<UnsupportedValue> {
        let Values::Bytes(strings) = values else {
            return None;
        };
        let mut seen: HashSet<u8> = HashSet::new();
        let at = strings.iter().position(|string| {
            seen.extend(string);
            seen.len() > MOST
        })?;
        Some(UnsupportedValue {
            at,
            holds: "at most 128 distinct bytes in a block",
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        expect_strings(node)?;
        let mut cursor = node.cursor();
        let count = usize::from(cursor.u8()?) + 1;
        corrupt_if!(
            count > MOST,
            "at most {MOST} distinct bytes expected, found {count}"
        );
        let bytes = cursor.bytes(count)?;
        let width = code_width(count);
        // Codes past the table decode to its last byte: every code decodes.
        let last = bytes
            .last()
            .ok_or_else(|| Error::internal("an alphabet of no bytes"))?;
        let mut table = bytes.to_vec();
        table.resize(1 << width, *last);
        let most = cursor.remaining() as u64 * 8 / u64::from(width);
        let lengths = StringLengths::open(node, cx, most)?;
        let codes = PackedVectors::read(&mut cursor, lengths.total(), width)?;
        cursor.finish("codes")?;
        strings(MeasuredStrings {
            contents: Codes { table, codes },
            lengths,
        })
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let last = node.payload.first();
        last.map_or_else(String::new, |last| {
            format!("{} bytes", u32::from(*last) + 1)
        })
    }
}

/// Bits of a code among `count` bytes; at least one, so that the size of a file bounds what it
/// decodes to.
fn code_width(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}

/// Whether no byte, and no pair of bytes, is much more frequent than others, by a sample.
fn like_noise(text: &[u8]) -> bool {
    const SAMPLE: usize = 1 << 12;
    const PART: usize = 64;
    const PAIRS: usize = 1 << 12;
    let stride = (text.len() / (SAMPLE / PART)).max(PART);
    if text.len() < 512 {
        return false;
    }
    let (mut bytes, mut pairs, mut seen) = ([0u32; 256], vec![0u32; PAIRS], 0u32);
    for part in (0..text.len())
        .step_by(stride)
        .filter_map(|at| text.get(at..(at + PART).min(text.len())))
    {
        for &[a, b] in part.array_windows() {
            *entry_mut(&mut bytes, a) += 1;
            // Never past the end, by the remainder.
            let pair = (usize::from(a) * 64 + usize::from(b)) % PAIRS;
            if let Some(count) = pairs.get_mut(pair) {
                *count += 1;
            }
            seen += 1;
        }
    }
    let distinct = bytes.iter().filter(|n| **n > 0).count();
    if !(2..=MOST).contains(&distinct) {
        return false;
    }
    // How often two of the sample are equal: 1 / distinct where all are as frequent as each other,
    // more where some are more frequent.
    let same = |counts: &[u32]| {
        let pairs: f64 = counts
            .iter()
            .map(|n| f64::from(*n) * f64::from(n.saturating_sub(1)))
            .sum();
        pairs / (f64::from(seen) * f64::from(seen.saturating_sub(1)))
    };
    let (single, double) = (same(&bytes), same(&pairs));
    single * (distinct as f64) < 1.5 && double < 1.5 * single * single + 1.0 / PAIRS as f64
}

/// The bytes that occur, and the code of each.
struct Table {
    bytes: Vec<u8>,
    codes: [u8; 256],
}

impl Table {
    /// `None` for more than [`MOST`].
    fn of(text: &[u8]) -> Option<Self> {
        let bytes = distinct_bytes(&[text]);
        let mut codes = [0; 256];
        for (code, byte) in (0u8..=255).zip(&bytes) {
            *entry_mut(&mut codes, *byte) = code;
        }
        (bytes.len() <= MOST).then_some(Self { bytes, codes })
    }

    fn width(&self) -> u32 {
        code_width(self.bytes.len())
    }
}

struct Codes<'a> {
    /// The byte of each code.
    table: Vec<u8>,
    codes: PackedVectors<'a>,
}

impl Contents for Codes<'_> {
    fn vector(
        &self,
        _: usize,
        span: Range<usize>,
        _: &mut Scratch,
        out: &mut [u8],
    ) -> Result<usize> {
        let bytes = span.len();
        Unpacked::of(self).read(span, places(out, bytes)?)?;
        Ok(bytes)
    }

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        let (mut codes, mut string) = (Unpacked::of(&strings.contents), Vec::new());
        by_vector(rows).try_for_each(|(v, rows)| {
            let first = strings.lengths.span(v)?.start;
            strings.lengths.with_vector(v, cx, |_, lengths| {
                for own in spans(rows, lengths) {
                    let own = own?;
                    string.resize(own.len(), 0);
                    codes.read(first + own.start..first + own.end, &mut string)?;
                    out.push(&string)?;
                }
                Ok(())
            })
        })
    }
}

/// Bytes that are looked up one by one sooner than the table is in registers: those of a short string.
const FEW_BYTES: usize = 32;

/// The codes of one vector, unpacked.
struct Unpacked<'c, 'a> {
    all: &'c Codes<'a>,
    /// The vector in the buffer, and its values.
    vector: usize,
    len: usize,
    buffer: [u8; VECTOR],
}

impl<'c, 'a> Unpacked<'c, 'a> {
    fn of(all: &'c Codes<'a>) -> Self {
        Self {
            all,
            vector: usize::MAX,
            len: 0,
            buffer: [0; VECTOR],
        }
    }

    /// The bytes of the codes `span` among all into `out`, which has a place for each.
    fn read(&mut self, span: Range<usize>, out: &mut [u8]) -> Result<()> {
        let (mut next, mut places) = (span.start, out);
        while !places.is_empty() {
            if self.vector != next / VECTOR {
                let vector = next / VECTOR;
                self.len = self.all.codes.unpack(vector, &mut self.buffer)?.len();
                self.vector = vector;
            }
            let at = next % VECTOR;
            let (part, rest) = places.split_at_mut((VECTOR - at).min(places.len()));
            let codes = self.buffer.get(..self.len);
            let codes = codes.and_then(|codes| codes.get(at..at + part.len()));
            let codes = codes.ok_or_else(|| Error::internal("codes end before their span"))?;
            if part.len() > FEW_BYTES {
                lookup_bytes(&self.all.table, codes, part);
            } else {
                for (place, code) in part.iter_mut().zip(codes) {
                    let byte = self.all.table.get(usize::from(*code));
                    *place = byte.copied().unwrap_or_default();
                }
            }
            next += part.len();
            places = rest;
        }
        Ok(())
    }
}

crate::conformance!(Alphabet);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::{holds, strings_of, tree};

    fn ids(count: u64) -> Vec<Vec<u8>> {
        let letters = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut state = 0x5eed_u64;
        let mut letter = || {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            letters[(state >> 33) as usize % letters.len()]
        };
        (0..count)
            .map(|i| (0..16 + i % 3).map(|_| letter()).collect())
            .collect()
    }

    #[test]
    fn identifiers_take_six_bits_a_byte() {
        let strings = ids(3000);
        let node = tree(&Alphabet, &strings);
        let bytes: usize = strings.iter().map(Vec::len).sum();
        assert_eq!(node.payload.len(), 1 + 62 + packed_len(bytes, 6));
        holds(&Alphabet, &strings, false);
        holds(&Alphabet, &ids(70), true);
    }

    #[test]
    fn noise_is_not_text() {
        assert!(like_noise(&ids(500).concat()));
        let text =
            "Staffa is an island of basalt columns in a lake of its own, and the sea around it is loud. ".repeat(20);
        assert!(!like_noise(text.as_bytes()));
        let names: Vec<u8> = (0..2000u32)
            .flat_map(|i| format!("item-{} ", i * i % 977).into_bytes())
            .collect();
        assert!(!like_noise(&names));
    }

    #[test]
    fn the_example_of_the_format_decodes() {
        let node = "12 17 02 04 01 61 62 02 02 03 02 02 02 06";
        assert_eq!(strings_of(node, 2), ["ab", "a"]);
    }
}
