//! Sections: what a file says of itself, each part with a place and a checksum of its own.
//! FORMAT.md, section 2.
//!
//! ```text
//! footer  = section * sections
//! section = id: varint | flags: u8 | bytes: varint | CRC-32C of them: u32
//!           flags: 1 a reader must understand it | the others 0
//! ```
//!
//! The sections lie one after another in front of the footer, in its order: the last one ends where
//! the footer begins. A reader passes over a section that it does not know, unless flag 1 is set.

use super::{Cursor, HEADER_BYTES, put_varint};
use crate::error::{Error, Result};

/// Rows of every row group.
pub(crate) const TABLE: u64 = 0;
/// The schema.
pub(crate) const SCHEMA: u64 = 1;
/// Places and checksums of the column indexes.
pub(crate) const INDEXES: u64 = 2;
/// Features of the file, and the encodings of every leaf.
pub(crate) const FEATURES: u64 = 3;
/// A summary of every leaf.
pub(crate) const SUMMARIES: u64 = 4;
/// The program that wrote the file.
pub(crate) const WRITER: u64 = 5;
/// Keys and values of the user.
pub(crate) const METADATA: u64 = 6;
/// A hash of all bytes before it.
pub(crate) const FILE_ID: u64 = 7;

/// The order of the rows.
pub(crate) const SORT_ORDER: u64 = 8;
/// Statistics of every chunk.
pub(crate) const CHUNK_STATISTICS: u64 = 9;

/// Names of the sections by id. Those above [`CHUNK_STATISTICS`] are reserved: no release writes them yet.
const NAMES: [&str; 14] = [
    "table",
    "schema",
    "column indexes",
    "features",
    "summaries",
    "writer",
    "metadata",
    "file id",
    "sort order",
    "chunk statistics",
    "Bloom filters",
    "encryption",
    "geometry boxes",
    "Variant shredding",
];

/// Most sections of a file.
const MAX_SECTIONS: usize = 256;

/// Flag of a section without which the file must not be read.
const MUST_UNDERSTAND: u8 = 1;

/// Place of a section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub id: u64,
    /// Whether a reader that does not know it refuses the file.
    pub must_understand: bool,
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u32,
}

impl Section {
    /// Name of a section, or its number where this release knows none.
    pub(crate) fn name(id: u64) -> String {
        let name = usize::try_from(id).ok().and_then(|id| NAMES.get(id));
        name.map_or_else(|| format!("section {id}"), |name| (*name).to_owned())
    }

    /// Whether this release reads it.
    fn is_known(&self) -> bool {
        self.id <= CHUNK_STATISTICS
    }
}

/// Appends the entries of sections, which lie in this order.
pub(crate) fn write(sections: &[Section], out: &mut Vec<u8>) {
    for section in sections {
        put_varint(out, section.id);
        out.push(if section.must_understand {
            MUST_UNDERSTAND
        } else {
            0
        });
        put_varint(out, section.bytes);
        out.extend(section.checksum.to_le_bytes());
    }
}

/// Reads the entries of the sections that end at `end`, in the order of the file.
pub(crate) fn read(footer: &[u8], end: u64) -> Result<Vec<Section>> {
    let mut cursor = Cursor::new(footer);
    let mut sections: Vec<Section> = Vec::new();
    let mut total = 0u64;
    while cursor.remaining() > 0 {
        let id = cursor.varint()?;
        let name = Section::name(id);
        let flags = cursor.u8()?;
        let bytes = cursor.varint()?;
        let checksum = cursor.u32()?;
        if sections.len() == MAX_SECTIONS {
            return Err(Error::corrupt(format!(
                "at most {MAX_SECTIONS} sections expected, found more"
            )));
        }
        if sections.iter().any(|section| section.id == id) {
            return Err(Error::corrupt(format!("{name} expected once, found twice")));
        }
        if flags & !MUST_UNDERSTAND != 0 {
            return Err(Error::unsupported(format!(
                "flags {flags:#04x} of {name} are not known to this release"
            )));
        }
        let section = Section {
            id,
            must_understand: flags & MUST_UNDERSTAND != 0,
            offset: 0,
            bytes,
            checksum,
        };
        if section.must_understand && !section.is_known() {
            return Err(Error::unsupported(format!(
                "the file needs a reader that understands {name} ({id}); this release does not"
            )));
        }
        if section.is_known() && section.must_understand != (id <= FEATURES) {
            return Err(Error::corrupt(format!(
                "flag 1 of {name} expected as FORMAT.md has it"
            )));
        }
        total = total
            .checked_add(bytes)
            .filter(|total| *total <= end - HEADER_BYTES.min(end))
            .ok_or_else(|| {
                Error::truncated(format!(
                    "{name} of {bytes} bytes expected, which the file has no room for"
                ))
            })?;
        sections.push(section);
    }
    let mut offset = end - total;
    for section in &mut sections {
        section.offset = offset;
        offset += section.bytes;
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: u64, must_understand: bool, bytes: u64) -> Section {
        Section {
            id,
            must_understand,
            offset: 0,
            bytes,
            checksum: 7,
        }
    }

    fn written(sections: &[Section]) -> Vec<u8> {
        let mut out = Vec::new();
        write(sections, &mut out);
        out
    }

    #[test]
    fn sections_lie_one_after_another_up_to_the_footer() {
        let read = read(
            &written(&[section(1, true, 30), section(900, false, 5)]),
            100,
        )
        .unwrap();
        assert_eq!(
            read.iter().map(|s| (s.id, s.offset)).collect::<Vec<_>>(),
            [(1, 65), (900, 95)]
        );
    }

    #[test]
    fn what_must_be_understood_and_is_not_is_refused_by_name() {
        let error = read(&written(&[section(11, true, 0)]), 100).unwrap_err();
        assert!(error.to_string().contains("encryption (11)"), "{error}");
        let error = read(&written(&[section(70_000, true, 0)]), 100).unwrap_err();
        assert!(error.to_string().contains("section 70000"), "{error}");
        assert!(read(&written(&[section(11, false, 0)]), 100).is_ok());
    }

    #[test]
    fn sections_twice_outside_or_of_unknown_flags_are_refused() {
        assert!(read(&written(&[section(9, false, 1), section(9, false, 1)]), 100).is_err());
        assert!(read(&written(&[section(9, false, 93)]), 100).is_err());
        assert!(read(&written(&[section(9, false, 92)]), 100).is_ok());
        assert!(
            read(
                &written(&[section(9, false, u64::MAX), section(10, false, 2)]),
                100
            )
            .is_err()
        );
        for bit in 1..8 {
            let mut bytes = written(&[section(9, false, 1)]);
            bytes[1] |= 1 << bit;
            assert!(read(&bytes, 100).is_err(), "flag {bit}");
        }
        let bytes = written(&[section(9, false, 1)]);
        for cut in 1..bytes.len() {
            assert!(read(&bytes[..cut], 100).is_err(), "cut at {cut}");
        }
    }
}
