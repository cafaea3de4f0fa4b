//! Checksums: CRC-32C behind the bytes that it covers. FORMAT.md, section 10.
//!
//! ```text
//! sealed = bytes | CRC-32C of them: u32
//! ```

use crate::error::{Error, Result};

/// CRC-32C (Castagnoli), as in iSCSI.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Bytes without their trailing checksum, which must be right.
pub(crate) fn checked<'a>(bytes: &'a [u8], what: &str) -> Result<&'a [u8]> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Error::truncated(format!(
            "{what} of at least 4 bytes expected, found {}",
            bytes.len()
        )));
    };
    let (stored, found) = (u32::from_le_bytes(*stored), checksum(body));
    if stored != found {
        return Err(Error::corrupt(format!(
            "checksum of {what} is {found:08x}, {stored:08x} expected: bytes were changed"
        )));
    }
    Ok(body)
}

/// Appends the checksum of all bytes so far.
pub(crate) fn seal(bytes: &mut Vec<u8>) {
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}
