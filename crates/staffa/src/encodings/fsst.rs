//! FSST: frequent substrings of up to 8 bytes become one-byte codes (Boncz, Neumann, Leis: FSST,
//! VLDB 2020).
//!
//! ```text
//! payload = symbols: u8 | length of every symbol: u8 | symbols, one after another
//!         | per vector: end of its codes, u32 | codes
//! child: lengths of the strings (u32)
//! ```
//!
//! Code 255 escapes the byte that follows. The codes of a vector are contiguous, as its strings are,
//! and decoded in one call.

use std::ops::Range;

use staffa_kernels::FsstTable;

use super::lengths::{Contents, MeasuredStrings, StringLengths, read_ends};
use super::onpair::OnPair;
use super::prelude::*;
use crate::values::Strings;

/// See the [module](self).
pub struct Fsst;

impl Encoding for Fsst {
    fn info(&self) -> &Info {
        &Info {
            id: 9,
            name: "fsst",
            about: "strings with frequent substrings as one-byte codes",
            child_names: &["lengths"],
            terminal: true,
            availability: Availability::Instead(&OnPair),
            decode_picos: 2300,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        values.plain_bytes() >= 64 && !stats.is_few_strings()
    }

    /// The symbol table does not grow with the rows: only the codes of the sample are scaled.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let strings = byte_strings(values)?;
        if onpair_is_smaller(strings, chooser) {
            return Ok(None);
        }
        let sample = Chooser::sample_strings(strings);
        let sample = sample.as_ref().map_or(strings, |s| s.as_strings());
        let Some(compressed) = Compressed::of(sample, VECTOR) else {
            return Ok(None);
        };
        let share = strings.contents().len() as f64 / sample.contents().len().max(1) as f64;
        let lengths = chooser.estimate_lengths(strings, stats)?;
        let table = compressed.table.len() + 4 * strings.len().div_ceil(VECTOR);
        Ok(Some(
            8 + table + lengths + (compressed.codes.len() as f64 * share) as usize,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let strings = byte_strings(values)?;
        let Some(compressed) = Compressed::of(strings, VECTOR) else {
            return Ok(None);
        };
        let mut payload = compressed.table;
        payload.extend(compressed.ends.iter().flat_map(|end| end.to_le_bytes()));
        payload.extend_from_slice(&compressed.codes);
        let lengths = chooser.lengths(&strings.lengths())?;
        node(self, values, payload, vec![lengths])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        expect_strings(node)?;
        let mut cursor = node.cursor();
        let count = usize::from(cursor.u8()?);
        let mut symbols = Vec::with_capacity(count);
        for &len in cursor.bytes(count)? {
            let mut symbol = [0; 8];
            let Some(place) = symbol.get_mut(..usize::from(len)) else {
                return Err(Error::corrupt(format!(
                    "symbols of at most 8 bytes expected, found {len}"
                )));
            };
            place.copy_from_slice(cursor.bytes(usize::from(len))?);
            symbols.push((symbol, len));
        }
        let table = FsstTable::new(&symbols)
            .ok_or_else(|| Error::corrupt("symbols of 1 to 8 bytes expected"))?;
        let ends = read_ends(&mut cursor, node.len.div_ceil(VECTOR))?;
        let codes = cursor.bytes(cursor.remaining())?;
        let (bytes, last) = (codes.len(), ends.last().map_or(0, |end| *end as usize));
        corrupt_if!(
            last != bytes,
            "codes that end at {bytes} expected, found {last}"
        );
        let lengths = StringLengths::open_unplaced(node, cx)?;
        strings(MeasuredStrings {
            contents: Codes { table, codes, ends },
            lengths,
        })
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        first_byte(node, "symbols")
    }
}

/// Whether OnPair may be chosen and is smaller, as it is for longer texts: a second trial would only
/// take time. In a trial OnPair stands for both.
fn onpair_is_smaller(strings: Strings<'_>, chooser: &Chooser<'_>) -> bool {
    let most = if chooser.is_trial() { 1 << 12 } else { 1 << 17 };
    strings.contents().len() > most && chooser.offers(&OnPair)
}

/// Strings as symbols, ends and codes.
struct Compressed {
    table: Vec<u8>,
    ends: Vec<u32>,
    codes: Vec<u8>,
}

impl Compressed {
    fn of(strings: Strings<'_>, vector_rows: usize) -> Option<Self> {
        if strings.contents().is_empty() {
            let ends = vec![0; strings.len().div_ceil(vector_rows)];
            return Some(Self {
                table: vec![0],
                ends,
                codes: Vec::new(),
            });
        }
        let all: Vec<&[u8]> = strings.iter().collect();
        let compressor = fsst::Compressor::train(&all);
        let lengths = compressor.symbol_lengths();
        let mut table = vec![u8::try_from(lengths.len()).ok()?];
        table.extend_from_slice(lengths);
        for (symbol, &len) in compressor.symbol_table().iter().zip(lengths) {
            table.extend_from_slice(symbol.to_u64().to_le_bytes().get(..usize::from(len))?);
        }
        let (mut codes, mut ends) = (Vec::with_capacity(strings.contents().len() / 2), Vec::new());
        for first in (0..strings.len()).step_by(vector_rows) {
            let rows = strings.slice(first, vector_rows.min(strings.len() - first));
            codes.extend_from_slice(&compressor.compress(rows.contents()));
            ends.push(u32::try_from(codes.len()).ok()?);
        }
        Some(Self { table, ends, codes })
    }
}

struct Codes<'a> {
    table: FsstTable,
    codes: &'a [u8],
    /// Begins with 0; end of the codes of vector `v` is at `v + 1`.
    ends: Vec<u32>,
}

impl Contents for Codes<'_> {
    /// A code decodes to 8 bytes at the most.
    fn most_bytes(&self, v: usize) -> Result<u64> {
        Ok(span(&self.ends, v)?.len() as u64 * 8)
    }

    fn vector(&self, v: usize, _: Range<usize>, _: &mut Scratch, out: &mut [u8]) -> Result<usize> {
        let codes = within(self.codes, span(&self.ends, v)?)?;
        let decoded = self.table.decode(codes, out);
        decoded.ok_or_else(|| Error::corrupt(format!("codes of vector {v} that decode expected")))
    }
}

crate::conformance!(Fsst);
