//! Checksums: the CRC-32C of a part stands where the part's place stands. FORMAT.md, section 10.
//!
//! ```text
//! trailer -> footer -> sections -> column indexes -> blocks and shared parts
//! ```
//!
//! So a part cannot be exchanged for another one: the checksum of what names its place would not hold.

use crate::error::{Error, Result};

/// CRC-32C (Castagnoli), as in iSCSI.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Refuses bytes of another checksum; `what` names the part.
pub(crate) fn verify_checksum(bytes: &[u8], expected: u32, what: &str) -> Result<()> {
    let found = checksum(bytes);
    if found != expected {
        return Err(Error::corrupt(format!(
            "checksum of {what} is {found:08x}, {expected:08x} expected: bytes were changed"
        )));
    }
    Ok(())
}
