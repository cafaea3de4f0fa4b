//! The ends of a file: its header and its trailer. FORMAT.md, section 2.
//!
//! ```text
//! header  = "STFA" | format version: u16 | 0: u16
//! trailer = footer bytes: u32 | CRC-32C of footer, footer bytes, version and flags: u32 | format version: u16 | flags: u16 | "STFA"
//! ```

use super::{Cursor, FORMAT_VERSION, HEADER_BYTES, MAGIC, TRAILER_BYTES, header};
use crate::error::{Error, Result};

/// Checks the header, with which these bytes begin, and that a file of `len` bytes has room for a
/// trailer.
pub(crate) fn check_header(bytes: &[u8], len: u64) -> Result<()> {
    let least = HEADER_BYTES + TRAILER_BYTES;
    let found = bytes.get(..HEADER_BYTES as usize).unwrap_or(bytes);
    if !found.starts_with(&MAGIC) {
        let found = String::from_utf8_lossy(found.get(..4).unwrap_or(found)).into_owned();
        return Err(Error::corrupt(format!(
            "not a Staffa file: it begins with {found:?}, \"STFA\" expected"
        )));
    }
    if len < least {
        return Err(Error::truncated(format!(
            "a file of at least {least} bytes expected, found {len}"
        )));
    }
    let mut cursor = Cursor::new(found);
    cursor.bytes(MAGIC.len())?;
    let version = cursor.u16()?;
    check_version(version)?;
    let expected = header(version);
    if found != expected {
        return Err(Error::corrupt(format!(
            "header {expected:02x?} expected, found {found:02x?}"
        )));
    }
    Ok(())
}

fn check_version(version: u16) -> Result<()> {
    let than = match version.cmp(&FORMAT_VERSION) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "older",
        std::cmp::Ordering::Greater => "newer",
    };
    Err(Error::unsupported(format!(
        "format version {version} is {than} than {FORMAT_VERSION}, which this release reads"
    )))
}

/// The last bytes of a file, of which a reader comes to all others.
pub(super) struct Trailer {
    /// Of the footer.
    pub bytes: u32,
    checksum: u32,
    version: u16,
    flags: u16,
}

impl Trailer {
    /// Appends the trailer of a footer.
    pub fn write(footer: &[u8], out: &mut Vec<u8>) {
        let bytes = footer.len() as u32;
        let sum = trailer_checksum(footer, bytes, FORMAT_VERSION, 0);
        out.extend(bytes.to_le_bytes());
        out.extend(sum.to_le_bytes());
        out.extend(FORMAT_VERSION.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        out.extend(MAGIC);
    }

    /// Parses the last bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let trailer = Self {
            bytes: cursor.u32()?,
            checksum: cursor.u32()?,
            version: cursor.u16()?,
            flags: cursor.u16()?,
        };
        if cursor.bytes(MAGIC.len())? != MAGIC {
            return Err(Error::truncated(
                "the file does not end with \"STFA\": it was cut off, or its end was changed",
            ));
        }
        check_version(trailer.version)?;
        Ok(trailer)
    }

    /// Checks the checksum and the flags.
    pub fn check(&self, footer: &[u8]) -> Result<()> {
        if trailer_checksum(footer, self.bytes, self.version, self.flags) != self.checksum {
            return Err(Error::corrupt(
                "checksum of the footer does not hold: bytes were changed",
            ));
        }
        if self.flags != 0 {
            return Err(Error::unsupported(format!(
                "file flags {:#x} are not known to this release",
                self.flags
            )));
        }
        Ok(())
    }
}

fn trailer_checksum(footer: &[u8], bytes: u32, version: u16, flags: u16) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(footer);
    digest.update(&bytes.to_le_bytes());
    digest.update(&version.to_le_bytes());
    digest.update(&flags.to_le_bytes());
    digest.finalize() as u32
}
