//! Statistics of every chunk, where the writer was asked for them. FORMAT.md, section 2.
//!
//! ```text
//! chunk statistics = (bytes: varint | statistics) * row groups, leaf by leaf
//! statistics       = decoded bytes: varint | zone map | length: u8, at most 32 | sum: so many bytes, two's complement
//! ```
//!
//! A reader passes over bytes of statistics behind those that it knows.

use arrow_buffer::i256;

use super::{Cursor, ZoneMap, put_prefixed, put_varint};
use crate::error::{Error, Result};

/// What the file says of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkSummary {
    /// As in a summary.
    pub decoded_bytes: u64,
    /// NULLs, and the bounds of the other values.
    pub zone: ZoneMap,
    /// The sum of the values that are not NULL, where it is exact.
    pub sum: Option<i256>,
}

/// The bytes of the section: the chunks of the first leaf, of the next.
pub(super) fn write(chunks: &[ChunkSummary]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in chunks {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, chunk.decoded_bytes);
        chunk.zone.write(&mut bytes);
        match chunk.sum {
            Some(sum) => put_sum(sum, &mut bytes),
            None => bytes.push(0),
        }
        put_prefixed(&mut out, &bytes);
    }
    out
}

/// Reads the section of a file of so many chunks.
pub(super) fn read(bytes: &[u8], chunks: usize) -> Result<Vec<ChunkSummary>> {
    let mut cursor = Cursor::new(bytes);
    let mut all = Vec::new();
    for _ in 0..chunks {
        let mut chunk = Cursor::new(cursor.prefixed()?);
        all.push(ChunkSummary {
            decoded_bytes: chunk.varint()?,
            zone: ZoneMap::read(&mut chunk)?,
            sum: sum(&mut chunk)?,
        });
    }
    cursor.finish("the chunk statistics")?;
    Ok(all)
}

/// Appends the fewest bytes that keep the sign, at least one.
fn put_sum(sum: i256, out: &mut Vec<u8>) {
    let bytes = sum.to_le_bytes();
    let sign = if sum.is_negative() { 0xff } else { 0 };
    let mut len = bytes.len();
    while let Some([before, last]) = len.checked_sub(2).and_then(|at| bytes.get(at..len)) {
        if *last != sign || (before ^ sign) & 0x80 != 0 {
            break;
        }
        len -= 1;
    }
    out.push(len as u8);
    out.extend(bytes.iter().take(len));
}

fn sum(cursor: &mut Cursor<'_>) -> Result<Option<i256>> {
    let len = cursor.u8()?;
    let bytes = cursor.bytes(usize::from(len))?;
    let Some(last) = bytes.last() else {
        return Ok(None);
    };
    let mut le = [if *last >> 7 == 1 { 0xff } else { 0 }; 32];
    let Some(low) = le.get_mut(..bytes.len()) else {
        return Err(Error::corrupt(format!(
            "a sum of at most 32 bytes expected, found {len}"
        )));
    };
    low.copy_from_slice(bytes);
    Ok(Some(i256::from_le_bytes(le)))
}

#[cfg(test)]
mod tests {
    use super::super::Bounds;
    use super::*;

    #[test]
    fn statistics_round_trip() {
        let sums = [
            None,
            Some(i256::ZERO),
            Some(i256::from_i128(-1)),
            Some(i256::from_i128(127)),
            Some(i256::from_i128(128)),
            Some(i256::from_i128(-129)),
            Some(i256::MAX),
            Some(i256::MIN),
        ];
        let chunk = |sum| ChunkSummary {
            decoded_bytes: 800,
            zone: ZoneMap {
                nulls: 3,
                bounds: Bounds::Int(-5, 9),
            },
            sum,
        };
        let chunks: Vec<ChunkSummary> = sums.into_iter().map(chunk).collect();
        let bytes = write(&chunks);
        assert_eq!(read(&bytes, chunks.len()).unwrap(), chunks);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], chunks.len()).is_err(), "cut at {cut}");
        }
        assert!(read(&bytes, chunks.len() - 1).is_err());
        let lengths: Vec<usize> = chunks
            .iter()
            .map(|chunk| write(std::slice::from_ref(chunk)).len() - 11)
            .collect();
        assert_eq!(lengths, [0, 1, 1, 1, 2, 2, 32, 32]);
    }

    #[test]
    fn later_bytes_are_passed_over_and_long_sums_refused() {
        let zone = [0, 0];
        assert!(read(&[5, 8, zone[0], zone[1], 0, 99], 1).is_ok());
        let long = [&[37, 8][..], &zone, &[33], &[0; 33]].concat();
        assert!(read(&long, 1).is_err());
    }
}
