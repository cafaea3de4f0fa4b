//! Writing the sections, the footer and the trailer. FORMAT.md, section 2; the [module above](super)
//! shows their bytes.

use arrow_schema::Schema;
use twox_hash::xxhash3_128::Hasher;

use super::section::{
    self, CHUNK_STATISTICS, FEATURES, FILE_ID, INDEXES, METADATA, SCHEMA, SORT_ORDER, SUMMARIES,
    Section, TABLE, WRITER,
};
use super::trailer::Trailer;
use super::{
    ChunkSummary, Features, IndexEntry, Metadata, SortKey, Summary, checksum, chunk_statistics,
    encode_schema, put_prefixed, put_varint, sort_order, summary,
};
use crate::error::Result;

/// What a writer puts behind the column indexes.
#[derive(Debug)]
pub(crate) struct FooterParts<'a> {
    pub row_groups: &'a [u32],
    pub leaves: &'a [IndexEntry],
    pub schema: &'a Schema,
    pub features: &'a Features,
    pub summaries: &'a [Summary],
    /// Of every chunk, leaf by leaf; empty where they are not written.
    pub chunk_statistics: &'a [ChunkSummary],
    pub sort_order: &'a [SortKey],
    pub metadata: &'a Metadata,
    pub writer: &'a str,
}

impl FooterParts<'_> {
    /// Bytes of sections, footer and trailer; `hasher` has seen all bytes of the file before them.
    pub(crate) fn write(&self, mut hasher: Hasher) -> Result<Vec<u8>> {
        let (mut features, mut schema) = (Vec::new(), Vec::new());
        self.features.write(self.leaves.len(), &mut features);
        encode_schema(self.schema, &mut schema)?;
        // What opening needs lies next to the footer.
        let mut parts = vec![
            (SUMMARIES, false, summary::write(self.summaries)),
            (
                CHUNK_STATISTICS,
                false,
                chunk_statistics::write(self.chunk_statistics),
            ),
            (
                SORT_ORDER,
                false,
                sort_order::write(self.sort_order, self.schema)?,
            ),
            (METADATA, false, write_metadata(self.metadata)),
            (WRITER, false, self.writer.as_bytes().to_vec()),
            (FEATURES, true, features),
            (TABLE, true, self.table()),
            (INDEXES, true, self.indexes()),
            (SCHEMA, true, schema),
        ];
        parts.retain(|(id, ..)| match *id {
            METADATA => !self.metadata.is_empty(),
            SORT_ORDER => !self.sort_order.is_empty(),
            CHUNK_STATISTICS => !self.chunk_statistics.is_empty(),
            _ => true,
        });
        for (_, _, bytes) in &parts {
            hasher.write(bytes);
        }
        let id = hasher.finish_128().to_le_bytes().to_vec();
        parts.push((FILE_ID, false, id));
        let section = |(id, must_understand, bytes): &(u64, bool, Vec<u8>)| Section {
            id: *id,
            must_understand: *must_understand,
            offset: 0,
            bytes: bytes.len() as u64,
            checksum: checksum(bytes),
        };
        let sections: Vec<Section> = parts.iter().map(section).collect();
        let mut footer = Vec::new();
        section::write(&sections, &mut footer);
        let mut out: Vec<u8> = parts.into_iter().flat_map(|(_, _, bytes)| bytes).collect();
        out.extend_from_slice(&footer);
        Trailer::write(&footer, &mut out);
        Ok(out)
    }

    fn table(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.row_groups.len() as u64);
        for rows in self.row_groups {
            put_varint(&mut out, u64::from(*rows));
        }
        out
    }

    fn indexes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for leaf in self.leaves {
            put_varint(&mut out, leaf.gap);
            put_varint(&mut out, leaf.bytes);
            out.extend(leaf.checksum.to_le_bytes());
        }
        out
    }
}

fn write_metadata(metadata: &Metadata) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, metadata.len() as u64);
    for (key, value) in metadata {
        put_prefixed(&mut out, key.as_bytes());
        put_prefixed(&mut out, value);
    }
    out
}
