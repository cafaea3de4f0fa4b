//! Summaries: what a planner asks of a leaf before its column index is read. FORMAT.md, section 2.
//!
//! ```text
//! summaries = (bytes: varint | summary) * leaves
//! summary   = flags: u8 | decoded bytes: varint | distinct values: varint | zone map | sources: varint | leaf: varint * sources
//!             flags: 1 the values that are not NULL never decrease | 2 never increase
//! ```
//!
//! A reader passes over bytes of a summary behind those that it knows.

use super::{Bounds, Cursor, ZoneMap, put_varint};
use crate::error::{Error, Result};

const ASCENDING: u8 = 1;
const DESCENDING: u8 = 2;
/// Bytes of a summary, above which its bounds are cut, then left out.
const MAX_BYTES: usize = 40;

/// What the footer says of a leaf.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    /// Whether the values that are not NULL never decrease.
    pub ascending: bool,
    /// Whether they never increase.
    pub descending: bool,
    /// Bytes of all values: words, bits or strings.
    pub decoded_bytes: u64,
    /// Estimate of the number of different values that are not NULL.
    pub distinct: u64,
    /// NULLs, and the bounds of the other values.
    pub zone: ZoneMap,
    /// The leaves from which chunks of this one are derived.
    pub sources: Vec<u32>,
}

/// The bytes of the section.
pub(crate) fn write(summaries: &[Summary]) -> Vec<u8> {
    let mut out = Vec::new();
    for summary in summaries {
        let bytes = summary.bytes();
        put_varint(&mut out, bytes.len() as u64);
        out.extend(bytes);
    }
    out
}

/// Reads the section of a file of so many leaves.
pub(crate) fn read(bytes: &[u8], leaves: usize) -> Result<Vec<Summary>> {
    let mut cursor = Cursor::new(bytes);
    let mut summaries = Vec::new();
    for leaf in 0..leaves {
        let summary = Summary::read(&mut Cursor::new(cursor.prefixed()?), leaves);
        summaries.push(summary.map_err(|e| e.within(&format!("summary of leaf {leaf}")))?);
    }
    cursor.finish("the summaries")?;
    Ok(summaries)
}

impl Summary {
    fn bytes(&self) -> Vec<u8> {
        let with = |zone: &ZoneMap| {
            let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
            let mut out = vec![flag(self.ascending, ASCENDING) | flag(self.descending, DESCENDING)];
            put_varint(&mut out, self.decoded_bytes);
            put_varint(&mut out, self.distinct);
            zone.write(&mut out);
            put_varint(&mut out, self.sources.len() as u64);
            self.sources
                .iter()
                .for_each(|leaf| put_varint(&mut out, (*leaf).into()));
            out
        };
        let nulls = self.zone.nulls;
        let tries = [
            self.zone.clone(),
            ZoneMap {
                nulls,
                bounds: self.zone.bounds.shortened(8),
            },
        ];
        let fitting = tries
            .iter()
            .map(with)
            .find(|bytes| bytes.len() <= MAX_BYTES);
        fitting.unwrap_or_else(|| {
            with(&ZoneMap {
                nulls,
                bounds: Bounds::None,
            })
        })
    }

    fn read(cursor: &mut Cursor<'_>, leaves: usize) -> Result<Self> {
        let flags = cursor.u8()?;
        let (decoded_bytes, distinct) = (cursor.varint()?, cursor.varint()?);
        let zone = ZoneMap::read(cursor)?;
        let count = cursor.varint_up_to(cursor.remaining() as u64, "number of sources")?;
        let leaf = |_| {
            let leaf = cursor.varint()?;
            if leaf >= leaves as u64 {
                return Err(Error::corrupt(format!(
                    "a leaf below {leaves} expected, found {leaf}"
                )));
            }
            Ok(leaf as u32)
        };
        Ok(Self {
            ascending: flags & ASCENDING != 0,
            descending: flags & DESCENDING != 0,
            decoded_bytes,
            distinct,
            zone,
            sources: (0..count).map(leaf).collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(bounds: Bounds) -> Summary {
        Summary {
            ascending: true,
            descending: false,
            decoded_bytes: 80_000_000,
            distinct: 1234,
            zone: ZoneMap { nulls: 77, bounds },
            sources: vec![0, 1],
        }
    }

    #[test]
    fn summaries_round_trip() {
        let all = [
            summary(Bounds::None),
            summary(Bounds::Int(-5, 1 << 40)),
            summary(Bounds::Bits(true, false)),
            summary(Bounds::Float {
                min: -0.5,
                max: 9.0,
                nan: true,
            }),
            summary(Bounds::Bytes(b"aa".to_vec(), b"zz".to_vec())),
        ];
        let bytes = write(&all);
        assert_eq!(read(&bytes, all.len()).unwrap(), all);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], all.len()).is_err(), "cut at {cut}");
        }
        assert!(read(&bytes, all.len() + 1).is_err());
    }

    #[test]
    fn a_summary_has_forty_bytes_at_most() {
        let long = summary(Bounds::Bytes(vec![b'a'; 16], vec![b'b'; 16]));
        let bytes = long.bytes();
        assert!(bytes.len() <= MAX_BYTES);
        let read = Summary::read(&mut Cursor::new(&bytes), 2).unwrap();
        assert_eq!(
            read.zone.bounds,
            Bounds::Bytes(vec![b'a'; 8], b"bbbbbbbc".to_vec())
        );
        let huge = summary(Bounds::Int(i128::MIN, i128::MAX)).bytes();
        let read = Summary::read(&mut Cursor::new(&huge), 2).unwrap();
        assert_eq!(
            (huge.len() <= MAX_BYTES, read.zone.bounds),
            (true, Bounds::None)
        );
    }

    #[test]
    fn bytes_behind_those_known_are_passed_over() {
        let mut bytes = summary(Bounds::None).bytes();
        bytes.extend([1, 2, 3]);
        assert!(Summary::read(&mut Cursor::new(&bytes), 2).is_ok());
    }

    #[test]
    fn sources_beyond_the_leaves_are_refused() {
        let bytes = summary(Bounds::None).bytes();
        assert!(Summary::read(&mut Cursor::new(&bytes), 1).is_err());
    }
}
