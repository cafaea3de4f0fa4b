//! A file taken apart, and put together again with its sizes, places and checksums made right.
//!
//! Follows the layout as it is documented (the file, its column indexes, blocks, nodes and zone
//! maps) and uses no code of the library for it: what is put together without an edit must be the
//! very bytes that the library wrote.

use crate::edit::Patch;

/// A file.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Magic and version, as they were.
    pub header: Vec<u8>,
    pub rows: u64,
    pub row_groups: Vec<u32>,
    /// Values of a block.
    pub block_rows: u32,
    pub leaves: Vec<Leaf>,
    /// Schema and name of the writer.
    pub schema: Vec<u8>,
    /// Version, flags and magic, as they were.
    pub trailer: Vec<u8>,
    /// To the footer before it is sealed.
    pub footer_patches: Vec<Patch>,
    /// To the whole, after everything is sealed.
    pub file_patches: Vec<Patch>,
}

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

/// What a block or a shared part holds.
#[derive(Debug, Clone)]
pub struct Body {
    pub values: u64,
    /// Blocks have them, shared parts have not.
    pub flags: Option<u8>,
    /// Bytes of the strings.
    pub decoded: Option<u64>,
    pub trees: Vec<Tree>,
    /// To the bytes before they are sealed.
    pub patches: Vec<Patch>,
}

/// A node and those below it.
#[derive(Debug, Clone)]
pub struct Tree {
    pub encoding: u8,
    pub ty: u8,
    pub len: u64,
    pub payload: Vec<u8>,
    pub children: Vec<Tree>,
}

/// Takes numbers and bytes off the front; the files are the library's own, so what is not there is
/// a bug here.
struct Front<'a>(&'a [u8]);

impl<'a> Front<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(len);
        self.0 = rest;
        front
    }

    fn u8(&mut self) -> u8 {
        self.bytes(1)[0]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes(8).try_into().unwrap())
    }

    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.u8();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }

    fn zone(&mut self) -> Vec<u8> {
        let all = self.0;
        self.varint();
        match self.u8() {
            0 => {}
            1 => _ = self.bytes(1),
            2 => (0..2).for_each(|_| {
                let len = self.u8().into();
                self.bytes(len);
            }),
            3 | 4 => _ = self.bytes(16),
            _ => (0..2).for_each(|_| {
                let len = self.varint() as usize;
                self.bytes(len);
            }),
        }
        all[..all.len() - self.0.len()].to_vec()
    }

    fn tree(&mut self) -> Tree {
        let (encoding, kind) = (self.u8(), self.u8());
        let (len, bytes) = (self.varint(), self.varint() as usize);
        let payload = self.bytes(bytes).to_vec();
        Tree {
            encoding,
            ty: kind & 15,
            len,
            payload,
            children: (0..kind >> 4).map(|_| self.tree()).collect(),
        }
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn seal(bytes: &mut Vec<u8>) {
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}

impl Tree {
    fn write(&self, out: &mut Vec<u8>) {
        let children = &self.children[..self.children.len().min(15)];
        out.push(self.encoding);
        out.push(self.ty & 15 | (children.len() as u8) << 4);
        put_varint(out, self.len);
        put_varint(out, self.payload.len() as u64);
        out.extend_from_slice(&self.payload);
        children.iter().for_each(|child| child.write(out));
    }

    /// Nodes, itself included.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// Node `n`, counted depth first; takes those passed off `n`.
    fn nth(&mut self, n: &mut usize) -> Option<&mut Self> {
        if *n == 0 {
            return Some(self);
        }
        *n -= 1;
        self.children.iter_mut().find_map(|child| child.nth(n))
    }

    /// Gives every node that decodes to `from` values `to` of them.
    pub fn stretch(&mut self, from: u64, to: u64) {
        if self.len == from {
            self.len = to;
        }
        self.children
            .iter_mut()
            .for_each(|child| child.stretch(from, to));
    }
}

impl Body {
    fn block(sealed: &[u8], strings: bool) -> Self {
        let mut front = Front(&sealed[..sealed.len() - 4]);
        let (values, flags) = (front.varint(), front.u8());
        let decoded = strings.then(|| front.varint());
        let trees = (0..(flags & 3).count_ones())
            .map(|_| front.tree())
            .collect();
        Self {
            values,
            flags: Some(flags),
            decoded,
            trees,
            patches: Vec::new(),
        }
    }

    fn shared(sealed: &[u8]) -> Self {
        let mut front = Front(&sealed[..sealed.len() - 4]);
        let (values, decoded) = (front.varint(), Some(front.varint()));
        Self {
            values,
            flags: None,
            decoded,
            trees: vec![front.tree()],
            patches: Vec::new(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) -> u64 {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, self.values);
        bytes.extend(self.flags);
        self.decoded
            .iter()
            .for_each(|decoded| put_varint(&mut bytes, *decoded));
        self.trees.iter().for_each(|tree| tree.write(&mut bytes));
        self.patches
            .iter()
            .for_each(|patch| patch.apply(&mut bytes));
        seal(&mut bytes);
        out.extend_from_slice(&bytes);
        bytes.len() as u64
    }
}

impl Parts {
    /// Parts of a file that the library wrote; `strings` are the leaves of byte strings.
    pub fn of(file: &[u8], strings: &[bool]) -> Self {
        let (front, trailer) = file.split_at(file.len() - 16);
        let footer_bytes = Front(trailer).u32() as usize;
        let mut footer = Front(&front[front.len() - footer_bytes..]);
        let rows = footer.u64();
        let (groups, leaves, block_rows) = (footer.u32(), footer.u32(), footer.u32());
        let row_groups: Vec<u32> = (0..groups).map(|_| footer.u32()).collect();
        let places: Vec<(u64, u32)> = (0..leaves).map(|_| (footer.u64(), footer.u32())).collect();
        let leaves = places
            .iter()
            .zip(strings)
            .map(|(&(offset, bytes), &strings)| {
                let mut index = Front(&file[offset as usize..][..bytes as usize - 4]);
                let chunks = row_groups
                    .iter()
                    .map(|_| chunk(file, &mut index, strings))
                    .collect();
                Leaf {
                    chunks,
                    patches: Vec::new(),
                }
            });
        Self {
            header: file[..8].to_vec(),
            rows,
            leaves: leaves.collect(),
            row_groups,
            block_rows,
            schema: footer.0.to_vec(),
            trailer: trailer[8..].to_vec(),
            footer_patches: Vec::new(),
            file_patches: Vec::new(),
        }
    }

    /// The bytes of the file.
    pub fn assemble(&self) -> Vec<u8> {
        let mut out = self.header.clone();
        let mut indexes = vec![Vec::new(); self.leaves.len()];
        for group in 0..self
            .leaves
            .iter()
            .map(|leaf| leaf.chunks.len())
            .max()
            .unwrap_or(0)
        {
            for (leaf, index) in self.leaves.iter().zip(&mut indexes) {
                let Some(chunk) = leaf.chunks.get(group) else {
                    continue;
                };
                put_varint(index, chunk.sources.len() as u64);
                chunk
                    .sources
                    .iter()
                    .for_each(|leaf| put_varint(index, *leaf));
                let counts = [
                    out.len(),
                    chunk.values as usize,
                    chunk.shared.len(),
                    chunk.blocks.len(),
                ];
                counts
                    .iter()
                    .for_each(|count| put_varint(index, *count as u64));
                chunk
                    .shared
                    .iter()
                    .for_each(|part| put_varint(index, part.write(&mut out)));
                for block in &chunk.blocks {
                    put_varint(index, block.body.write(&mut out));
                    put_varint(index, block.string_bytes);
                    index.extend_from_slice(&block.zone);
                }
            }
        }
        let mut footer = self.rows.to_le_bytes().to_vec();
        let counts = [
            self.row_groups.len() as u32,
            self.leaves.len() as u32,
            self.block_rows,
        ];
        counts
            .iter()
            .chain(&self.row_groups)
            .for_each(|number| footer.extend(number.to_le_bytes()));
        for (leaf, mut index) in self.leaves.iter().zip(indexes) {
            leaf.patches
                .iter()
                .for_each(|patch| patch.apply(&mut index));
            seal(&mut index);
            footer.extend((out.len() as u64).to_le_bytes());
            footer.extend((index.len() as u32).to_le_bytes());
            out.extend(index);
        }
        footer.extend_from_slice(&self.schema);
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

fn chunk(file: &[u8], index: &mut Front<'_>, strings: bool) -> Chunk {
    let sources = (0..index.varint()).map(|_| index.varint()).collect();
    let mut rest = Front(&file[index.varint() as usize..]);
    let (values, shared, blocks) = (index.varint(), index.varint(), index.varint());
    let mut next = |index: &mut Front<'_>| rest.bytes(index.varint() as usize);
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
        shared,
        blocks: (0..blocks).map(block).collect(),
    }
}
