//! The footer and the sections before it. FORMAT.md, section 2; the
//! [module above](super) shows their bytes.

use arrow_schema::Schema;
use bytes::Bytes;

use super::section::{
    self, CHUNK_STATISTICS, FEATURES, FILE_ID, INDEXES, METADATA, SCHEMA, SORT_ORDER, SUMMARIES,
    Section, TABLE, WRITER,
};
use super::trailer::{Trailer, check_header};
use super::{
    ChunkSummary, Cursor, Features, HEADER_BYTES, SortKey, Store, Summary, TRAILER_BYTES,
    UnknownType, chunk_statistics, decode_schema, sort_order, summary, verify_checksum,
};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Keys and values of the user, ascending by key.
pub(crate) type Metadata = Vec<(String, Vec<u8>)>;

/// Place and checksum of a leaf's column index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct IndexEntry {
    /// Bytes between the index before, or the header, and this one.
    pub gap: u64,
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u32,
}

/// What a reader knows of a file once it is open.
#[derive(Debug, Clone)]
pub(crate) struct Footer {
    pub rows: u64,
    pub row_groups: Vec<u32>,
    /// Of every leaf.
    pub leaves: Vec<IndexEntry>,
    pub schema: Schema,
    /// The columns of types that this release does not know.
    pub unknown: Vec<UnknownType>,
    pub features: Features,
    pub writer: String,
    /// A hash of all bytes before the section; zeros where the file has no id.
    pub id: Option<[u8; 16]>,
    /// Where the sections lie; those not read yet among them.
    pub sections: Vec<Section>,
    /// Where the first section begins, and the row groups and indexes end.
    pub offset: u64,
}

impl Footer {
    /// Reads and checks trailer, footer and the sections that opening needs. The header, which says
    /// nothing that the trailer does not, is checked where it was read along, and in doubt.
    pub(crate) fn read(store: &Store, limits: &Limits) -> Result<Self> {
        let len = store.len();
        // One read for footer, sections and column indexes, as long as these are small.
        let tail_len = store.tail_bytes();
        let tail = store.read(len - tail_len, tail_len)?;
        let last = tail.split_last_chunk::<{ TRAILER_BYTES as usize }>();
        let trailer = last.map(|(_, trailer)| Trailer::parse(trailer));
        if tail_len == len {
            check_header(&tail, len)?;
        } else if !matches!(trailer, Some(Ok(_))) {
            check_header(&store.read(0, HEADER_BYTES)?, len)?;
        }
        let Some(((front, _), trailer)) = last.zip(trailer) else {
            return Err(Error::internal("a trailer shorter than itself"));
        };
        let trailer = trailer?;
        let bytes = u64::from(trailer.bytes);
        check_metadata_bytes("a footer", bytes, limits)?;
        let end = (len - TRAILER_BYTES)
            .checked_sub(bytes)
            .filter(|end| *end >= HEADER_BYTES)
            .ok_or_else(|| {
                Error::truncated(format!(
                    "a footer of {bytes} bytes expected, the file has {len}"
                ))
            })?;
        let footer = match front.len().checked_sub(trailer.bytes as usize) {
            Some(start) => tail.slice(start..front.len()),
            None => store.read(end, bytes)?,
        };
        trailer
            .check(&footer)
            .map_err(|e| e.at(|p| p.offset = Some(end)))?;
        let sections = section::read(&footer, end);
        let sections = sections.map_err(|e| e.within("footer").at(|p| p.offset = Some(end)))?;
        let needed = NeededSections::read(store, &sections, &tail, limits)?;
        let parsed = Self::parse(&needed, end, limits)?;
        let tail_start = len - tail_len;
        let indexes = parsed
            .leaves
            .iter()
            .map(|index| (index.offset, index.bytes));
        let sections = parsed
            .sections
            .iter()
            .map(|section| (section.offset, section.bytes));
        let in_tail = indexes
            .chain(sections)
            .filter(|(offset, bytes)| offset.saturating_add(*bytes) > tail_start);
        if let Some(first) = in_tail.map(|(offset, _)| offset.max(tail_start)).min() {
            store.keep_end(first, &tail);
        }
        Ok(parsed)
    }

    fn parse(needed: &NeededSections<'_>, end: u64, limits: &Limits) -> Result<Self> {
        let row_groups = needed.parse(TABLE, |bytes| read_table(bytes, limits))?;
        let (schema, unknown) = needed.parse(SCHEMA, |bytes| {
            let mut cursor = Cursor::new(bytes);
            let schema = decode_schema(&mut cursor, limits)?;
            cursor.finish("the schema").map(|()| schema)
        })?;
        let sections = needed.sections;
        let offset = sections.first().map_or(end, |section| section.offset);
        let leaves = needed.parse(INDEXES, |bytes| read_indexes(bytes, offset, limits))?;
        let features = needed.parse(FEATURES, |bytes| Features::read(bytes, leaves.len()))?;
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec());
            text.map_err(|e| Error::corrupt(format!("UTF-8 expected: {e}")))
        };
        let id = |bytes: &[u8]| {
            bytes
                .try_into()
                .map_err(|_| Error::corrupt(format!("16 bytes expected, found {}", bytes.len())))
        };
        Ok(Self {
            rows: row_groups.iter().map(|rows| u64::from(*rows)).sum(),
            row_groups,
            leaves,
            schema,
            unknown,
            features,
            writer: needed.parse_if_there(WRITER, text)?.unwrap_or_default(),
            id: needed.parse_if_there(FILE_ID, id)?,
            sections: sections.to_vec(),
            offset,
        })
    }

    /// The bytes of a section, checked; `None` where the file has none.
    pub(crate) fn section(&self, store: &Store, id: u64, limits: &Limits) -> Result<Option<Bytes>> {
        let Some(section) = self.sections.iter().find(|section| section.id == id) else {
            return Ok(None);
        };
        let place = |e: Error| {
            e.within(&Section::name(id))
                .at(|p| p.offset = Some(section.offset))
        };
        let read = || {
            check_metadata_bytes("a section", section.bytes, limits)?;
            let bytes = store.read(section.offset, section.bytes)?;
            verify_checksum(&bytes, section.checksum, "a section")?;
            Ok(bytes)
        };
        read().map(Some).map_err(place)
    }

    /// The summaries of all leaves; `None` where the file has none.
    pub(crate) fn summaries(&self, store: &Store, limits: &Limits) -> Result<Option<Vec<Summary>>> {
        let bytes = self.section(store, SUMMARIES, limits)?;
        bytes
            .map(|bytes| summary::read(&bytes, self.leaves.len()))
            .transpose()
    }

    /// The statistics of all chunks, leaf by leaf; `None` where the file has none.
    pub(crate) fn chunk_statistics(
        &self,
        store: &Store,
        limits: &Limits,
    ) -> Result<Option<Vec<ChunkSummary>>> {
        let bytes = self.section(store, CHUNK_STATISTICS, limits)?;
        let chunks = self.leaves.len() * self.row_groups.len();
        bytes
            .map(|bytes| chunk_statistics::read(&bytes, chunks))
            .transpose()
    }

    /// The order of the rows; nothing where the file names none.
    pub(crate) fn sort_order(&self, store: &Store, limits: &Limits) -> Result<Vec<SortKey>> {
        let bytes = self.section(store, SORT_ORDER, limits)?;
        let keys = bytes.map(|bytes| sort_order::read(&bytes, &self.schema));
        keys.unwrap_or_else(|| Ok(Vec::new()))
    }

    /// The keys and values of the user.
    pub(crate) fn metadata(&self, store: &Store, limits: &Limits) -> Result<Metadata> {
        let Some(bytes) = self.section(store, METADATA, limits)? else {
            return Ok(Metadata::new());
        };
        let mut cursor = Cursor::new(&bytes);
        let count = cursor.varint_up_to(cursor.remaining() as u64 / 2, "number of keys")?;
        let mut metadata = Metadata::new();
        for _ in 0..count {
            let key = cursor.text("a key")?.to_owned();
            if let Some((last, _)) = metadata.last().filter(|(last, _)| *last >= key) {
                return Err(Error::corrupt(format!(
                    "keys must ascend, found {key:?} after {last:?}"
                )));
            }
            metadata.push((key, cursor.prefixed()?.to_vec()));
        }
        cursor.finish("the metadata")?;
        Ok(metadata)
    }
}

/// The sections that opening needs, in one read.
struct NeededSections<'a> {
    sections: &'a [Section],
    /// Bytes of the file from `offset` on.
    bytes: Bytes,
    offset: u64,
}

impl<'a> NeededSections<'a> {
    const IDS: [u64; 6] = [TABLE, SCHEMA, INDEXES, FEATURES, WRITER, FILE_ID];

    fn read(store: &Store, sections: &'a [Section], tail: &Bytes, limits: &Limits) -> Result<Self> {
        let needed = || {
            sections
                .iter()
                .filter(|section| Self::IDS.contains(&section.id))
        };
        let tail_offset = store.len() - tail.len() as u64;
        let start = needed().map(|section| section.offset).min();
        let end = needed().map(|section| section.offset + section.bytes).max();
        let (start, end) = start.zip(end).unwrap_or_default();
        let (bytes, offset) = if start >= tail_offset {
            (tail.clone(), tail_offset)
        } else {
            check_metadata_bytes("the sections", end - start, limits)?;
            (store.read(start, end - start)?, start)
        };
        Ok(Self {
            sections,
            bytes,
            offset,
        })
    }

    /// A section that must be there.
    fn parse<T>(&self, id: u64, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        self.parse_if_there(id, parse)?.ok_or_else(|| {
            let name = Section::name(id);
            Error::corrupt(format!("a section {name} expected, found none"))
        })
    }

    fn parse_if_there<T>(
        &self,
        id: u64,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(section) = self.sections.iter().find(|section| section.id == id) else {
            return Ok(None);
        };
        let start = (section.offset - self.offset) as usize;
        let bytes = self.bytes.get(start..start + section.bytes as usize);
        let parse = || {
            let bytes = bytes.ok_or_else(|| Error::internal("a section that was not read"))?;
            verify_checksum(bytes, section.checksum, "a section")?;
            parse(bytes)
        };
        let named = |e: Error| {
            e.within(&Section::name(id))
                .at(|p| p.offset = Some(section.offset))
        };
        parse().map(Some).map_err(named)
    }
}

fn check_metadata_bytes(what: &str, bytes: u64, limits: &Limits) -> Result<()> {
    let most = limits.metadata_bytes;
    if bytes > most {
        return Err(Error::limit(format!(
            "{what} of at most {most} bytes is allowed, found {bytes}"
        )));
    }
    Ok(())
}

/// Rows of every row group.
fn read_table(bytes: &[u8], limits: &Limits) -> Result<Vec<u32>> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.varint_up_to(cursor.remaining() as u64, "number of row groups")?;
    let most = limits.row_group_values.min(u32::MAX.into());
    let mut row_groups = Vec::with_capacity(count);
    for _ in 0..count {
        let rows = cursor.varint()?;
        if rows > most {
            return Err(Error::limit(format!(
                "row groups of at most {most} rows are allowed, found {rows}"
            )));
        }
        row_groups.push(rows as u32);
    }
    cursor.finish("the table")?;
    Ok(row_groups)
}

/// Places of the column indexes, which end at `end` or before.
fn read_indexes(bytes: &[u8], end: u64, limits: &Limits) -> Result<Vec<IndexEntry>> {
    let mut cursor = Cursor::new(bytes);
    let mut leaves: Vec<IndexEntry> =
        Vec::with_capacity((bytes.len() / 6).min(limits.leaves as usize));
    let mut offset = HEADER_BYTES;
    while cursor.remaining() > 0 {
        if leaves.len() as u64 == limits.leaves {
            return Err(Error::limit(format!(
                "at most {} leaves are allowed, found more",
                limits.leaves
            )));
        }
        let (gap, bytes, checksum) = (cursor.varint()?, cursor.varint()?, cursor.u32()?);
        let start = offset.checked_add(gap);
        let next = start.and_then(|start| start.checked_add(bytes));
        let (Some(start), Some(next)) = (start, next.filter(|next| *next <= end)) else {
            return Err(Error::corrupt(format!(
                "column indexes that end at {end} or before expected, found {gap} and {bytes} bytes at {offset}"
            )));
        };
        leaves.push(IndexEntry {
            gap,
            offset: start,
            bytes,
            checksum,
        });
        offset = next;
    }
    Ok(leaves)
}
