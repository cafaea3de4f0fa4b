//! FSST, decoding: codes of one byte to symbols of 1 to 8 bytes.
//!
//!   code 0..=254 = that symbol      code 255 = an escape: the next byte stands for itself
//!
//! Eight codes at a time where each of them has a symbol: a store of 8 bytes for each, then a step by
//! the symbol's length; the next store overwrites the excess. Boncz, Neumann and Leis, FSST: Fast
//! Random Access String Compression, VLDB 2020.

use crate::simd::dispatch::dispatch;

/// The code before a literal byte.
const ESCAPE: u8 = 255;

/// The symbols of a column, prepared for decoding.
#[derive(Clone)]
pub struct FsstTable {
    /// Symbols by code; bytes past a symbol's length and symbols past `count` are zero.
    symbols: [u64; 256],
    lengths: [u8; 256],
    /// The first code without a symbol; at most 255, the escape.
    count: u8,
}

impl std::fmt::Debug for FsstTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FsstTable")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl FsstTable {
    /// A table of symbols, as (bytes, length): at most 255, each of 1 to 8 bytes; `None` otherwise.
    ///
    /// ```
    /// let table = staffa_kernels::FsstTable::new(&[(*b"http://w", 8), (*b"ww.\0\0\0\0\0", 3)]).unwrap();
    /// let mut out = [0; 16];
    /// assert_eq!(table.decode(&[0, 1, 255, b'x'], &mut out), Some(12));
    /// assert_eq!(&out[..12], b"http://www.x");
    /// ```
    pub fn new(symbols: &[([u8; 8], u8)]) -> Option<Self> {
        let count = u8::try_from(symbols.len()).ok()?;
        let mut table = Self {
            symbols: [0; 256],
            lengths: [0; 256],
            count,
        };
        for (code, &(bytes, length)) in symbols.iter().enumerate() {
            if !(1..=8).contains(&length) {
                return None;
            }
            table.symbols[code] =
                u64::from_le_bytes(bytes) & (u64::MAX >> (64 - 8 * u32::from(length)));
            table.lengths[code] = length;
        }
        Some(table)
    }

    /// Decodes all of `input` to the start of `out`; returns the bytes written. Up to 8 bytes of
    /// `out` behind them may be overwritten as well.
    ///
    /// `None` when a code has no symbol, the input ends in an escape, or `out` is too small; `out`
    /// then holds anything.
    #[inline]
    pub fn decode(&self, input: &[u8], out: &mut [u8]) -> Option<usize> {
        decode(self, input, out)
    }
}

dispatch! { fn decode(table: &FsstTable, input: &[u8], out: &mut [u8]) -> Option<usize> = decode_body; }

#[inline(always)]
fn decode_body(table: &FsstTable, input: &[u8], out: &mut [u8]) -> Option<usize> {
    let without_symbol = AtLeast::new(table.count);
    let mut input = input;
    let mut at = 0;
    while let Some(&eight) = input.first_chunk::<8>()
        // Eight stores of 8 bytes stay inside.
        && out.len() - at >= 64
    {
        let codes = u64::from_le_bytes(eight);
        let found = without_symbol.mark(codes);
        // The number of codes before the first one without a symbol.
        let plain = found.trailing_zeros() / 8;
        if plain == 8 {
            for i in 0..8 {
                // SAFETY: at most 56 bytes come before, and there is room for 64.
                at += unsafe { put(table, (codes >> (8 * i)) as u8, out, at) };
            }
            input = &input[8..];
        } else {
            for i in 0..plain {
                // SAFETY: as above.
                at += unsafe { put(table, (codes >> (8 * i)) as u8, out, at) };
            }
            input = &input[plain as usize..];
            let [ESCAPE, literal, rest @ ..] = input else {
                return None;
            };
            // There is room for 64 bytes, and at most 7 symbols of 8 come before.
            *out.get_mut(at)? = *literal;
            at += 1;
            input = rest;
        }
    }
    decode_exactly(table, input, out, at)
}

/// Stores the symbol of `code` at `at`, 8 bytes wide; returns its length.
///
/// # Safety
/// `at + 8 <= out.len()`.
#[inline(always)]
unsafe fn put(table: &FsstTable, code: u8, out: &mut [u8], at: usize) -> usize {
    // SAFETY: the caller's.
    unsafe {
        out.as_mut_ptr()
            .add(at)
            .cast::<u64>()
            .write_unaligned(table.symbols[code as usize].to_le());
    }
    table.lengths[code as usize] as usize
}

/// The plain twin: one code at a time from `at` on, not a byte past the end.
#[inline(always)]
fn decode_exactly(
    table: &FsstTable,
    mut input: &[u8],
    out: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    while let [code, rest @ ..] = input {
        if *code < table.count {
            let length = table.lengths[*code as usize] as usize;
            let symbol = table.symbols[*code as usize].to_le_bytes();
            if let Some(wide) = out.get_mut(at..at + 8) {
                wide.copy_from_slice(&symbol);
            } else {
                out.get_mut(at..at + length)?
                    .copy_from_slice(&symbol[..length]);
            }
            at += length;
            input = rest;
        } else {
            let ([ESCAPE, literal, rest @ ..], Some(byte)) = (input, out.get_mut(at)) else {
                return None;
            };
            *byte = *literal;
            at += 1;
            input = rest;
        }
    }
    Some(at)
}

/// Marks the bytes of a word that are at least a bound: a carry-free comparison of the low 7 bits,
/// then of the highest bit.
#[derive(Copy, Clone)]
struct AtLeast {
    /// The low 7 bits of the bound in every byte.
    low: u64,
    /// All ones for a bound of 128 or more.
    high: u64,
}

impl AtLeast {
    const TOP: u64 = 0x8080_8080_8080_8080;

    #[inline(always)]
    fn new(bound: u8) -> Self {
        Self {
            low: u64::from(bound & 127) * 0x0101_0101_0101_0101,
            high: if bound < 128 { 0 } else { u64::MAX },
        }
    }

    /// The top bit of each such byte.
    #[inline(always)]
    fn mark(self, bytes: u64) -> u64 {
        // No borrow crosses a byte, as each has its top bit set and loses at most 127.
        let low = (bytes | Self::TOP) - self.low;
        ((low & bytes) | (!self.high & (low | bytes))) & Self::TOP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn scalar(symbols: &[([u8; 8], u8)], mut input: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while let [code, rest @ ..] = input {
            input = rest;
            if *code == ESCAPE {
                let [literal, rest @ ..] = input else {
                    return None;
                };
                out.push(*literal);
                input = rest;
            } else {
                let (bytes, length) = symbols.get(*code as usize)?;
                out.extend_from_slice(&bytes[..*length as usize]);
            }
        }
        Some(out)
    }

    fn table(rng: &mut Rng, count: usize) -> Vec<([u8; 8], u8)> {
        (0..count)
            .map(|_| (rng.next().to_le_bytes(), 1 + rng.below(8) as u8))
            .collect()
    }

    fn agree(symbols: &[([u8; 8], u8)], input: &[u8]) {
        let table = FsstTable::new(symbols).unwrap();
        let expected = scalar(symbols, input);
        let bytes = expected.as_ref().map_or(8 * input.len(), Vec::len);
        for slack in [0, 1, 7, 8, 64, 100] {
            let mut out = vec![0xaa; bytes + slack];
            let written = table.decode(input, &mut out);
            let decoded = written.map(|len| &out[..len]);
            assert_eq!(decoded, expected.as_deref(), "{symbols:?} {input:?}");
            assert!(written.is_none() || out[bytes..].iter().skip(8).all(|&b| b == 0xaa));
        }
        if bytes > 0 && expected.is_some() {
            assert_eq!(table.decode(input, &mut vec![0; bytes - 1]), None);
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for count in [0, 1, 100, 127, 128, 129, 200, 254, 255] {
                let symbols = table(&mut rng, count);
                for len in (0..40).chain([1000]) {
                    for escapes in [0, 3, 50] {
                        let mut code = || {
                            let is_escape = rng.below(100) < escapes;
                            let symbol = rng.below(count + (len & 1)) as u8;
                            if is_escape { ESCAPE } else { symbol }
                        };
                        let input: Vec<u8> = (0..len).map(|_| code()).collect();
                        agree(&symbols, &input);
                    }
                }
            }
        });
    }

    #[test]
    fn random_bytes_agree() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for _ in 0..3000 {
                let count = rng.below(256);
                let symbols = table(&mut rng, count);
                let table = FsstTable::new(&symbols).unwrap();
                let input: Vec<u8> = (0..rng.below(60)).map(|_| rng.next() as u8).collect();
                let mut out = vec![0; rng.below(500)];
                let expected = scalar(&symbols, &input).filter(|e| e.len() <= out.len());
                assert_eq!(
                    table.decode(&input, &mut out).map(|n| &out[..n]),
                    expected.as_deref()
                );
            }
        });
    }

    #[test]
    fn marks_are_exact() {
        for bound in 0..=255u8 {
            for byte in 0..=255u8 {
                let marks = AtLeast::new(bound)
                    .mark(u64::from_le_bytes([byte, 0, 255, byte, byte, 1, 127, 128]));
                let expected = [byte, 0, 255, byte, byte, 1, 127, 128]
                    .map(|b| if b >= bound { 128 } else { 0 });
                assert_eq!(marks, u64::from_le_bytes(expected), "{byte} {bound}");
            }
        }
    }

    #[test]
    fn wrong_tables_are_refused() {
        assert!(FsstTable::new(&[(*b"abcdefgh", 0)]).is_none());
        assert!(FsstTable::new(&[(*b"abcdefgh", 9)]).is_none());
        assert!(FsstTable::new(&vec![(*b"abcdefgh", 8); 256]).is_none());
        assert!(FsstTable::new(&vec![(*b"abcdefgh", 8); 255]).is_some());
    }
}
