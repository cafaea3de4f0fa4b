//! A file of the cache: a range of one version of an object.
//!
//! ```text
//! "STFACHE1" | header bytes: u32 | checksum of the header: u64 | header | payload
//! header = offset: u64 | payload bytes: u64 | object bytes: u64 | modified: i64 (nanoseconds since 1970)
//!          | name bytes: u32 | name | tag bytes: u32 | tag | checksums: u64 each
//! ```
//!
//! Numbers are little-endian. Every 64 KiB of the payload have a checksum (XXH3), so that a part is checked
//! without the rest. Name and tag stand in full: the names of files are hashes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use staffa_kernels::PoolBuf;
use twox_hash::XxHash3_64;

/// The beginning of every file.
const MAGIC: [u8; 8] = *b"STFACHE1";
/// Bytes before the header.
const PREFIX_BYTES: usize = MAGIC.len() + 4 + 8;
/// Most bytes of a header that is believed.
const MOST_HEADER_BYTES: u32 = 1 << 20;
/// How old the time of the last use may be: each change of it is written to the disk.
const USE_TOLERANCE: Duration = Duration::from_mins(1);
/// Bytes of a payload that share a checksum.
const PIECE_BYTES: u64 = 64 << 10;

/// A version of an object, as its store tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// The strong `ETag`.
    pub tag: String,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
}

/// A file whose header was checked.
#[derive(Debug)]
pub(super) struct Entry {
    file: File,
    /// Where the payload begins in the file.
    payload: u64,
    checksums: Vec<u64>,
    pub version: Version,
    /// The bytes of the object that the file holds.
    pub range: Range<u64>,
}

/// About the most bytes of the head of a payload: of an object with a long name.
pub(super) fn most_head_bytes(payload: usize) -> u64 {
    512 + 8 * (payload as u64).div_ceil(PIECE_BYTES)
}

/// What stands before the payload.
pub(super) fn head(name: &str, version: &Version, offset: u64, payload: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(offset.to_le_bytes());
    header.extend((payload.len() as u64).to_le_bytes());
    header.extend(version.bytes.to_le_bytes());
    header.extend(version.modified.to_le_bytes());
    for text in [name, &version.tag] {
        header.extend((text.len() as u32).to_le_bytes());
        header.extend(text.as_bytes());
    }
    let pieces = payload.chunks(PIECE_BYTES as usize);
    header.extend(pieces.flat_map(|piece| XxHash3_64::oneshot(piece).to_le_bytes()));
    let mut head = MAGIC.to_vec();
    head.extend((header.len() as u32).to_le_bytes());
    head.extend(XxHash3_64::oneshot(&header).to_le_bytes());
    head.extend(header);
    head
}

/// Takes numbers and texts off the front of a header.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = self.array().map(u32::from_le_bytes)?;
        std::str::from_utf8(self.take(bytes as usize)?).ok()
    }
}

impl Entry {
    /// Checks the header of a file about an object of this name; `None` where anything is not as it was written.
    pub fn read_head(mut file: File, name: &str) -> Option<Self> {
        let mut prefix = [0; PREFIX_BYTES];
        file.read_exact(&mut prefix).ok()?;
        let mut cursor = Cursor(&prefix);
        if cursor.array() != Some(MAGIC) {
            return None;
        }
        let header_bytes = cursor.array().map(u32::from_le_bytes)?;
        let checksum = cursor.number()?;
        if header_bytes > MOST_HEADER_BYTES {
            return None;
        }
        let mut header = vec![0; header_bytes as usize];
        file.read_exact(&mut header).ok()?;
        if XxHash3_64::oneshot(&header) != checksum {
            return None;
        }
        let mut cursor = Cursor(&header);
        let (offset, payload_bytes) = (cursor.number()?, cursor.number()?);
        let bytes = cursor.number()?;
        let modified = cursor.array().map(i64::from_le_bytes)?;
        if cursor.text()? != name {
            return None;
        }
        let tag = cursor.text()?.to_owned();
        let mut checksums = Vec::new();
        while !cursor.0.is_empty() {
            checksums.push(cursor.number()?);
        }
        let end = offset.checked_add(payload_bytes)?;
        let payload = PREFIX_BYTES as u64 + u64::from(header_bytes);
        let whole = payload.checked_add(payload_bytes)? == file.metadata().ok()?.len()
            && checksums.len() as u64 == payload_bytes.div_ceil(PIECE_BYTES)
            && end <= bytes;
        whole.then_some(Self {
            file,
            payload,
            checksums,
            version: Version {
                tag,
                bytes,
                modified,
            },
            range: offset..end,
        })
    }

    /// Bytes of the object within the entry's range; `None` where they are not as they were written.
    pub fn read(&mut self, range: &Range<u64>) -> Option<Bytes> {
        let within = range.start.checked_sub(self.range.start)?;
        if range.start >= range.end || range.end > self.range.end {
            return None;
        }
        let end = range.end - self.range.start;
        let first = within / PIECE_BYTES * PIECE_BYTES;
        let stop = end.next_multiple_of(PIECE_BYTES);
        let stop = stop.min(self.range.end - self.range.start);
        self.file.seek(SeekFrom::Start(self.payload + first)).ok()?;
        let mut bytes = PoolBuf::new((stop - first) as usize)?;
        self.file.read_exact(bytes.as_mut_slice()).ok()?;
        let checksums = self.checksums.get((first / PIECE_BYTES) as usize..)?;
        let pieces = bytes.as_slice().chunks(PIECE_BYTES as usize);
        let is_whole = |(piece, checksum): (&[u8], &u64)| XxHash3_64::oneshot(piece) == *checksum;
        if !pieces.zip(checksums).all(is_whole) {
            return None;
        }
        let bytes = Bytes::from_owner(bytes);
        Some(bytes.slice((within - first) as usize..(end - first) as usize))
    }

    /// Notes that the entry was used.
    pub fn touch(&self) {
        let now = SystemTime::now();
        let used = self.file.metadata().and_then(|found| found.modified());
        let is_old = |used| {
            now.duration_since(used)
                .is_ok_and(|age| age >= USE_TOLERANCE)
        };
        if used.is_ok_and(is_old) {
            // On a disk that cannot be written the order of use does not matter either.
            let _ = self.file.set_modified(now);
        }
    }
}
