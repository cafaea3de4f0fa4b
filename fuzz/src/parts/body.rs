//! Blocks and shared dictionaries: trees of nodes, and the numbers before them.

use crate::edit::Patch;

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
pub(super) struct Front<'a>(pub(super) &'a [u8]);

impl<'a> Front<'a> {
    pub(super) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(len);
        self.0 = rest;
        front
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.bytes(1)[0]
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes(4).try_into().unwrap())
    }

    pub(super) fn varint(&mut self) -> u64 {
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

    pub(super) fn zone(&mut self) -> Vec<u8> {
        let all = self.0;
        self.varint();
        let len = self.varint() as usize;
        self.bytes(len);
        all[..all.len() - self.0.len()].to_vec()
    }

    pub(super) fn tree(&mut self) -> Tree {
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

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
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
    pub(super) fn nth(&mut self, n: &mut usize) -> Option<&mut Self> {
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
    pub(super) fn block(bytes: &[u8], strings: bool) -> Self {
        let mut front = Front(bytes);
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

    pub(super) fn shared(bytes: &[u8]) -> Self {
        let mut front = Front(bytes);
        let (values, decoded) = (front.varint(), Some(front.varint()));
        Self {
            values,
            flags: None,
            decoded,
            trees: vec![front.tree()],
            patches: Vec::new(),
        }
    }

    /// Appends the part to the file, and its length and checksum to the index.
    pub(super) fn write(&self, out: &mut Vec<u8>, index: &mut Vec<u8>) {
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
        put_varint(index, bytes.len() as u64);
        index.extend(checksum(&bytes).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}
