//! A file taken apart, and put together again with its sizes, places and checksums made right.
//!
//! Follows the layout as it is documented (the file, its column indexes, blocks, nodes and zone
//! maps) and uses no code of the library for it: what is put together without an edit must be the
//! very bytes that the library wrote.

mod body;

pub use self::body::{Body, Tree};
use self::body::{Front, checksum, put_varint};
use crate::edit::Patch;

/// A file.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Magic and version, as they were.
    pub header: Vec<u8>,
    pub row_groups: Vec<u64>,
    pub leaves: Vec<Leaf>,
    /// Those of the row groups and of the column indexes are made anew.
    pub sections: Vec<Section>,
    /// Leaves that the sections speak of.
    section_leaves: usize,
    /// Whether the last chunk of a leaf is followed by its index; else all indexes are at the end.
    interleaved: bool,
    /// Version, flags and magic, as they were.
    pub trailer: Vec<u8>,
    /// To the footer before it is sealed.
    pub footer_patches: Vec<Patch>,
    /// To the whole, after everything is sealed.
    pub file_patches: Vec<Patch>,
}

/// A section, known by its id.
#[derive(Debug, Clone)]
pub struct Section {
    pub id: u64,
    pub flags: u8,
    pub bytes: Vec<u8>,
    /// To the bytes before they are sealed.
    pub patches: Vec<Patch>,
}

const TABLE: u64 = 0;
const INDEXES: u64 = 2;
const FEATURES: u64 = 3;
const SUMMARIES: u64 = 4;

/// A leaf column.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// One per row group.
    pub chunks: Vec<Chunk>,
    /// To the column index before it is sealed.
    pub patches: Vec<Patch>,
}

/// A leaf column in one row group.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Leaves of its reference columns.
    pub sources: Vec<u64>,
    pub values: u64,
    /// Values of a block, as a power of two.
    pub block_rows: u8,
    pub shared: Vec<Body>,
    pub blocks: Vec<Block>,
}

/// A block with what the column index says of it.
#[derive(Debug, Clone)]
pub struct Block {
    pub string_bytes: u64,
    pub zone: Vec<u8>,
    pub body: Body,
}

impl Parts {
    /// Parts of a file that the library wrote; `strings` are the leaves of byte strings.
    pub fn of(file: &[u8], strings: &[bool]) -> Self {
        let (front, trailer) = file.split_at(file.len() - 16);
        let footer_bytes = Front(trailer).u32() as usize;
        let (front, footer) = front.split_at(front.len() - footer_bytes);
        let mut footer = Front(footer);
        let (mut heads, mut total) = (Vec::new(), 0);
        while !footer.0.is_empty() {
            let (id, flags, len) = (footer.varint(), footer.u8(), footer.varint() as usize);
            footer.u32();
            heads.push((id, flags, len));
            total += len;
        }
        let mut rest = Front(&front[front.len() - total..]);
        let section = |(id, flags, len)| Section {
            id,
            flags,
            bytes: rest.bytes(len).to_vec(),
            patches: Vec::new(),
        };
        let sections: Vec<Section> = heads.into_iter().map(section).collect();
        let bytes_of = |id| {
            let found = sections.iter().find(|section: &&Section| section.id == id);
            Front(&found.expect("every file has it").bytes)
        };
        let mut table = bytes_of(TABLE);
        let row_groups: Vec<u64> = (0..table.varint()).map(|_| table.varint()).collect();
        let (mut places, mut index, mut end) = (Vec::new(), bytes_of(INDEXES), 8);
        let mut interleaved = false;
        while !index.0.is_empty() {
            let gap = index.varint() as usize;
            interleaved |= gap > 0 && !places.is_empty();
            let (start, len) = (end + gap, index.varint() as usize);
            index.u32();
            places.push(start..start + len);
            end = start + len;
        }
        let leaves = places.into_iter().zip(strings).map(|(place, &strings)| {
            let mut index = Front(&file[place]);
            let chunks = row_groups.iter().map(|_| {
                let len = index.varint() as usize;
                chunk(file, &mut Front(index.bytes(len)), strings)
            });
            Leaf {
                chunks: chunks.collect(),
                patches: Vec::new(),
            }
        });
        let leaves: Vec<Leaf> = leaves.collect();
        Self {
            header: file[..8].to_vec(),
            section_leaves: leaves.len(),
            leaves,
            row_groups,
            sections,
            interleaved,
            trailer: trailer[8..].to_vec(),
            footer_patches: Vec::new(),
            file_patches: Vec::new(),
        }
    }

    /// The bytes of the file.
    pub fn assemble(&self) -> Vec<u8> {
        let mut out = self.header.clone();
        let mut indexes = vec![Vec::new(); self.leaves.len()];
        let (mut places, mut end) = (Vec::new(), out.len());
        let mut put_index = |out: &mut Vec<u8>, leaf: &Leaf, mut index: Vec<u8>| {
            let patches = leaf.patches.iter();
            patches.for_each(|patch| patch.apply(&mut index));
            put_varint(&mut places, (out.len() - end) as u64);
            put_varint(&mut places, index.len() as u64);
            places.extend(checksum(&index).to_le_bytes());
            out.extend(index);
            end = out.len();
        };
        let groups = self.leaves.iter().map(|leaf| leaf.chunks.len()).max();
        let groups = groups.unwrap_or(0);
        for group in 0..groups {
            for (leaf, index) in self.leaves.iter().zip(&mut indexes) {
                if let Some(chunk) = leaf.chunks.get(group) {
                    let entry = chunk.write(&mut out);
                    put_varint(index, entry.len() as u64);
                    index.extend(entry);
                }
                if self.interleaved && group + 1 == groups {
                    put_index(&mut out, leaf, std::mem::take(index));
                }
            }
        }
        if !self.interleaved || groups == 0 {
            let all = self.leaves.iter().zip(indexes);
            all.for_each(|(leaf, index)| put_index(&mut out, leaf, index));
        }
        let mut footer = self.put_sections(&mut out, &places);
        self.footer_patches
            .iter()
            .for_each(|patch| patch.apply(&mut footer));
        let bytes = (footer.len() as u32).to_le_bytes();
        // The checksum covers the trailer's numbers around it, the magic at the end apart.
        let sum = checksum(&[&footer, &bytes[..], &self.trailer[..4]].concat());
        out.extend(footer);
        out.extend(bytes);
        out.extend(sum.to_le_bytes());
        out.extend_from_slice(&self.trailer);
        self.file_patches
            .iter()
            .for_each(|patch| patch.apply(&mut out));
        out
    }

    /// Appends the sections to the file; returns the footer, which names them.
    fn put_sections(&self, out: &mut Vec<u8>, indexes: &[u8]) -> Vec<u8> {
        let mut footer = Vec::new();
        for section in &self.sections {
            let mut bytes = match section.id {
                TABLE => self.table(),
                INDEXES => indexes.to_vec(),
                FEATURES if self.section_leaves != self.leaves.len() => self.all_features(),
                SUMMARIES if self.section_leaves != self.leaves.len() => continue,
                _ => section.bytes.clone(),
            };
            let patches = section.patches.iter();
            patches.for_each(|patch| patch.apply(&mut bytes));
            put_varint(&mut footer, section.id);
            footer.push(section.flags);
            put_varint(&mut footer, bytes.len() as u64);
            footer.extend(checksum(&bytes).to_le_bytes());
            out.extend(bytes);
        }
        footer
    }

    fn table(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.row_groups.len() as u64);
        let rows = self.row_groups.iter();
        rows.for_each(|rows| put_varint(&mut out, *rows));
        out
    }

    /// One set of all encodings, for every leaf.
    fn all_features(&self) -> Vec<u8> {
        let mut out = vec![1, 1, 1, 5, 255, 255, 255, 63, 8, 0];
        put_varint(&mut out, self.leaves.len() as u64);
        out
    }

    /// A section, counted around.
    pub fn section_mut(&mut self, n: u8) -> Option<&mut Section> {
        let n = usize::from(n).checked_rem(self.sections.len())?;
        self.sections.get_mut(n)
    }

    /// Every chunk.
    pub fn chunks_mut(&mut self) -> impl Iterator<Item = &mut Chunk> {
        self.leaves.iter_mut().flat_map(|leaf| &mut leaf.chunks)
    }

    /// Every block.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.chunks_mut().flat_map(|chunk| &mut chunk.blocks)
    }

    /// What every block and shared part holds.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Body> {
        self.chunks_mut().flat_map(|chunk| {
            chunk
                .shared
                .iter_mut()
                .chain(chunk.blocks.iter_mut().map(|block| &mut block.body))
        })
    }

    /// Node `n` of all, counted around.
    pub fn node_mut(&mut self, n: u16) -> Option<&mut Tree> {
        let count: usize = self
            .bodies_mut()
            .flat_map(|body| &body.trees)
            .map(Tree::count)
            .sum();
        let mut n = usize::from(n).checked_rem(count)?;
        self.bodies_mut()
            .flat_map(|body| &mut body.trees)
            .find_map(|tree| tree.nth(&mut n))
    }
}

impl Chunk {
    /// Appends the chunk to the file; its entry in the column index.
    fn write(&self, out: &mut Vec<u8>) -> Vec<u8> {
        let mut index = Vec::new();
        put_varint(&mut index, self.sources.len() as u64);
        let sources = self.sources.iter();
        sources.for_each(|leaf| put_varint(&mut index, *leaf));
        let is_empty = self.shared.is_empty() && self.blocks.is_empty();
        put_varint(&mut index, if is_empty { 0 } else { out.len() as u64 });
        put_varint(&mut index, self.values);
        index.push(self.block_rows);
        put_varint(&mut index, self.shared.len() as u64);
        put_varint(&mut index, self.blocks.len() as u64);
        let shared = self.shared.iter();
        shared.for_each(|part| part.write(out, &mut index));
        for block in &self.blocks {
            block.body.write(out, &mut index);
            put_varint(&mut index, block.string_bytes);
            index.extend_from_slice(&block.zone);
        }
        index
    }
}

fn chunk(file: &[u8], index: &mut Front<'_>, strings: bool) -> Chunk {
    let sources = (0..index.varint()).map(|_| index.varint()).collect();
    let mut rest = Front(&file[index.varint() as usize..]);
    let (values, block_rows) = (index.varint(), index.u8());
    let (shared, blocks) = (index.varint(), index.varint());
    let mut next = |index: &mut Front<'_>| {
        let len = index.varint() as usize;
        index.u32();
        rest.bytes(len)
    };
    let shared = (0..shared).map(|_| Body::shared(next(index))).collect();
    let block = |_| {
        let body = Body::block(next(index), strings);
        Block {
            body,
            string_bytes: index.varint(),
            zone: index.zone(),
        }
    };
    Chunk {
        sources,
        values,
        block_rows,
        shared,
        blocks: (0..blocks).map(block).collect(),
    }
}
