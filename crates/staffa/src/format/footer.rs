//! Header, footer and trailer. FORMAT.md, section 2; the [module above](super) shows their bytes.

use arrow_schema::Schema;

use super::{
    Cursor, FORMAT_VERSION, HEADER_BYTES, MAGIC, MAX_BLOCK_ROWS, Store, TRAILER_BYTES,
    decode_schema, encode_schema, header, put_prefixed,
};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The footer, and the version of the file.
#[derive(Debug, Clone)]
pub(crate) struct Footer {
    pub rows: u64,
    pub row_groups: Vec<u32>,
    pub block_rows: u32,
    /// Place and bytes of every leaf's column index.
    pub leaves: Vec<(u64, u32)>,
    pub schema: Schema,
    pub writer: String,
    /// Format version found; the writer writes its own.
    pub version: u16,
    /// Where the footer begins; set by the reader.
    pub offset: u64,
}

/// Bytes of the first read, at the end of a file: footer and indexes of some dozen columns.
const TAIL_BYTES: u64 = 16 << 10;

impl Footer {
    /// Bytes of footer and trailer.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        out.extend(self.rows.to_le_bytes());
        out.extend((self.row_groups.len() as u32).to_le_bytes());
        out.extend((self.leaves.len() as u32).to_le_bytes());
        out.extend(self.block_rows.to_le_bytes());
        self.row_groups
            .iter()
            .for_each(|rows| out.extend(rows.to_le_bytes()));
        for (offset, bytes) in &self.leaves {
            out.extend(offset.to_le_bytes());
            out.extend(bytes.to_le_bytes());
        }
        encode_schema(&self.schema, &mut out)?;
        put_prefixed(&mut out, self.writer.as_bytes());
        let bytes = u32::try_from(out.len())
            .map_err(|_| Error::limit("a footer of at most 4 GiB is possible"))?;
        let sum = trailer_checksum(&out, bytes, FORMAT_VERSION, 0);
        out.extend(bytes.to_le_bytes());
        out.extend(sum.to_le_bytes());
        out.extend(FORMAT_VERSION.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        out.extend(MAGIC);
        Ok(out)
    }

    /// Reads and checks header, trailer and footer.
    pub(crate) fn read(store: &Store, limits: &Limits) -> Result<Self> {
        let len = store.len();
        let version = read_header(store)?;
        // One read for footer, trailer and column indexes, as long as these are small.
        let tail_len = (len - HEADER_BYTES).min(TAIL_BYTES);
        let tail = store.read(len - tail_len, tail_len)?;
        let Some((front, trailer)) = tail.split_last_chunk::<{ TRAILER_BYTES as usize }>() else {
            return Err(Error::internal("a trailer shorter than itself"));
        };
        let trailer = Trailer::parse(trailer, version)?;
        let bytes = u64::from(trailer.bytes);
        if bytes > limits.metadata_bytes {
            return Err(Error::limit(format!(
                "a footer of at most {} bytes is allowed, found {bytes}",
                limits.metadata_bytes
            )));
        }
        let offset = (len - TRAILER_BYTES)
            .checked_sub(bytes)
            .filter(|offset| *offset >= HEADER_BYTES)
            .ok_or_else(|| {
                Error::truncated(format!(
                    "a footer of {bytes} bytes expected, the file has {len}"
                ))
            })?;
        let footer = match front.len().checked_sub(trailer.bytes as usize) {
            Some(start) => tail.slice(start..front.len()),
            None => store.read(offset, bytes)?,
        };
        trailer
            .check(&footer)
            .map_err(|e| e.at(|p| p.offset = Some(offset)))?;
        let parsed = Self::parse(&footer, version, offset, limits);
        let parsed = parsed.map_err(|e| e.within("footer").at(|p| p.offset = Some(offset)))?;
        let indexes = parsed.leaves.iter().map(|(offset, _)| *offset);
        let first = indexes.filter(|index| *index >= len - tail_len).min();
        if let Some(first) = first {
            store.keep_end(first, &tail);
        }
        Ok(parsed)
    }

    fn parse(bytes: &[u8], version: u16, offset: u64, limits: &Limits) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let rows = cursor.u64()?;
        let (groups, leaves, block_rows) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        if block_rows == 0 || block_rows > MAX_BLOCK_ROWS {
            return Err(Error::corrupt(format!(
                "blocks of 1 to {MAX_BLOCK_ROWS} values expected, found {block_rows}"
            )));
        }
        if u64::from(leaves) > limits.leaves {
            return Err(Error::limit(format!(
                "at most {} leaves are allowed, found {leaves}",
                limits.leaves
            )));
        }
        let table = cursor.bytes((groups as usize).saturating_mul(4))?;
        let row_groups: Vec<u32> = table
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| u32::from_le_bytes(*b))
            .collect();
        let sum = row_groups.iter().map(|rows| u64::from(*rows)).sum::<u64>();
        let most = limits.row_group_values;
        if let Some(rows) = row_groups.iter().find(|rows| u64::from(**rows) > most) {
            return Err(Error::limit(format!(
                "row groups of at most {most} rows are allowed, found {rows}"
            )));
        }
        if sum != rows {
            return Err(Error::corrupt(format!(
                "row groups of {rows} rows expected, found {sum}"
            )));
        }
        let mut table = Cursor::new(cursor.bytes((leaves as usize).saturating_mul(12))?);
        let mut places = Vec::with_capacity(leaves as usize);
        for _ in 0..leaves {
            places.push((table.u64()?, table.u32()?));
        }
        let schema = decode_schema(&mut cursor, limits)?;
        let writer = cursor.text("the writer's name")?.to_owned();
        cursor.finish("the footer")?;
        Ok(Self {
            rows,
            row_groups,
            block_rows,
            leaves: places,
            schema,
            writer,
            version,
            offset,
        })
    }
}

/// Checks the header, whose version it gives, and that there is room for a trailer.
fn read_header(store: &Store) -> Result<u16> {
    let len = store.len();
    let least = HEADER_BYTES + TRAILER_BYTES;
    let found = store.read(0, len.min(HEADER_BYTES))?;
    if !found.starts_with(&MAGIC) {
        let found = String::from_utf8_lossy(found.get(..4).unwrap_or(&found)).into_owned();
        return Err(Error::corrupt(format!(
            "not a Staffa file: it begins with {found:?}, \"STFA\" expected"
        )));
    }
    if len < least {
        return Err(Error::truncated(format!(
            "a file of at least {least} bytes expected, found {len}"
        )));
    }
    let mut cursor = Cursor::new(&found);
    cursor.bytes(MAGIC.len())?;
    let version = cursor.u16()?;
    if version > FORMAT_VERSION {
        return Err(Error::unsupported(format!(
            "format version {version} is newer than {FORMAT_VERSION}, the latest that this release reads"
        )));
    }
    let expected = header(version);
    if found.as_ref() != expected {
        return Err(Error::corrupt(format!(
            "header {expected:02x?} expected, found {:02x?}",
            found.as_ref()
        )));
    }
    Ok(version)
}

struct Trailer {
    /// Of the footer.
    bytes: u32,
    checksum: u32,
    version: u16,
    flags: u16,
}

impl Trailer {
    /// Parses the last bytes of a file whose header has this version.
    fn parse(bytes: &[u8], version: u16) -> Result<Self> {
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
        if trailer.version != version {
            return Err(Error::corrupt(format!(
                "format version {version} expected at the end as in front, found {}",
                trailer.version
            )));
        }
        Ok(trailer)
    }

    /// Checks the checksum and the flags.
    fn check(&self, footer: &[u8]) -> Result<()> {
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
