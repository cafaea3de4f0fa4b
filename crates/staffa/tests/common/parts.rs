//! A file taken apart by FORMAT.md, section 2, to be changed and put together again with checksums
//! that hold. It uses no code of the library.

use std::ops::Range;

/// Ids of sections.
pub const TABLE: u64 = 0;
pub const SCHEMA: u64 = 1;
pub const INDEXES: u64 = 2;
pub const FEATURES: u64 = 3;
pub const SUMMARIES: u64 = 4;

#[derive(Clone)]
pub struct Section {
    pub id: u64,
    pub flags: u8,
    pub bytes: Vec<u8>,
}

#[derive(Clone)]
pub struct Parts {
    /// Header, chunks and column indexes as they were, and what a test puts behind them.
    pub body: Vec<u8>,
    /// The column index of every leaf.
    pub indexes: Vec<Vec<u8>>,
    /// Where the indexes were.
    places: Vec<Range<usize>>,
    pub sections: Vec<Section>,
    /// Whether the section of the indexes is as a test made it.
    pub own_places: bool,
}

pub fn crc(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// A varint.
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Numbers from the front of bytes; `None` past their end.
struct Front<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Front<'_> {
    fn u8(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Parts {
    pub fn of(bytes: &[u8]) -> Self {
        let trailer = bytes.len() - 16;
        let footer_bytes = u32::from_le_bytes(bytes[trailer..trailer + 4].try_into().unwrap());
        let footer = &bytes[trailer - footer_bytes as usize..trailer];
        let mut front = Front {
            bytes: footer,
            at: 0,
        };
        let (mut heads, mut total) = (Vec::new(), 0);
        while front.at < footer.len() {
            let (id, flags) = (front.varint().unwrap(), front.u8().unwrap());
            let len = front.varint().unwrap() as usize;
            front.u32().unwrap();
            total += len;
            heads.push((id, flags, len));
        }
        let mut at = trailer - footer.len() - total;
        let body = bytes[..at].to_vec();
        let sections: Vec<Section> = heads
            .into_iter()
            .map(|(id, flags, len)| {
                at += len;
                let bytes = bytes[at - len..at].to_vec();
                Section { id, flags, bytes }
            })
            .collect();
        let mut parts = Self {
            body,
            indexes: Vec::new(),
            places: Vec::new(),
            sections,
            own_places: false,
        };
        let places = parts.section(INDEXES).clone();
        let mut front = Front {
            bytes: &places,
            at: 0,
        };
        let mut end = 8;
        while front.at < places.len() {
            let start = end + front.varint().unwrap() as usize;
            end = start + front.varint().unwrap() as usize;
            front.u32().unwrap();
            parts.places.push(start..end);
            parts.indexes.push(parts.body[start..end].to_vec());
        }
        parts
    }

    pub fn leaves(&self) -> usize {
        self.indexes.len()
    }

    pub fn section(&mut self, id: u64) -> &mut Vec<u8> {
        let found = self.sections.iter_mut().find(|section| section.id == id);
        &mut found.unwrap().bytes
    }

    /// The checksums of blocks and shared parts in the column indexes, made those of the body.
    pub fn seal(&mut self) {
        let Self { body, indexes, .. } = self;
        for index in indexes {
            for (place, start, end) in places_of(index).unwrap_or_default() {
                if let Some(part) = body.get(start..end) {
                    index[place..place + 4].copy_from_slice(&crc(part).to_le_bytes());
                }
            }
        }
    }

    /// The file; indexes that have other lengths now are put behind the body.
    pub fn file(&self) -> Vec<u8> {
        let mut out = self.body.clone();
        let mut places = Vec::new();
        let mut own = self.places.iter().zip(&self.indexes);
        let fits = self.places.len() == self.indexes.len()
            && own.all(|(place, index)| place.len() == index.len());
        let mut before = 8;
        for (leaf, index) in self.indexes.iter().enumerate() {
            let start = if fits {
                self.places[leaf].start
            } else {
                out.len()
            };
            out.resize(out.len().max(start + index.len()), 0);
            out[start..start + index.len()].copy_from_slice(index);
            places.extend(varint((start - before) as u64));
            places.extend(varint(index.len() as u64));
            places.extend(crc(index).to_le_bytes());
            before = start + index.len();
        }
        let mut footer = Vec::new();
        for section in &self.sections {
            let bytes = if section.id == INDEXES && !self.own_places {
                &places
            } else {
                &section.bytes
            };
            out.extend(bytes);
            footer.extend(varint(section.id));
            footer.push(section.flags);
            footer.extend(varint(bytes.len() as u64));
            footer.extend(crc(bytes).to_le_bytes());
        }
        with_footer(out, &footer)
    }
}

/// A file of this footer, whose checksum holds.
pub fn with_footer(mut out: Vec<u8>, footer: &[u8]) -> Vec<u8> {
    let bytes = (footer.len() as u32).to_le_bytes();
    let versions = [1, 0, 0, 0];
    let sum = crc(&[footer, &bytes[..], &versions[..]].concat()).to_le_bytes();
    out.extend([footer, &bytes[..], &sum[..], &versions[..], b"STFA"].concat());
    out
}

/// Of each block and shared part: where in the index its checksum stands, and where it lies.
pub fn places_of(index: &[u8]) -> Option<Vec<(usize, usize, usize)>> {
    let mut places = Vec::new();
    let mut front = Front {
        bytes: index,
        at: 0,
    };
    while front.at < index.len() {
        let len = front.varint()? as usize;
        let end = front.at.checked_add(len)?;
        for _ in 0..front.varint()? {
            front.varint()?;
        }
        let mut at = front.varint()? as usize;
        front.varint()?;
        front.u8()?;
        let (shared, blocks) = (front.varint()?, front.varint()?);
        for part in 0..shared.checked_add(blocks)? {
            let bytes = front.varint()? as usize;
            places.push((front.at, at, at.checked_add(bytes)?));
            front.u32()?;
            at += bytes;
            if part >= shared {
                front.varint()?;
                front.varint()?;
                let zone = front.varint()? as usize;
                front.at = front.at.checked_add(zone)?;
            }
        }
        front.at = end;
    }
    Some(places)
}

/// A node.
pub fn node(encoding: u8, ty: u8, values: u64, payload: &[u8], children: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![encoding, ty | (children.len() as u8) << 4];
    out.extend(varint(values));
    out.extend(varint(payload.len() as u64));
    out.extend_from_slice(payload);
    children.iter().for_each(|child| out.extend(child));
    out
}

/// A block of values without NULLs; `decoded`: bytes of its strings.
pub fn block(values: u64, decoded: Option<u64>, node: &[u8]) -> Vec<u8> {
    let mut out = varint(values);
    out.push(2);
    out.extend(decoded.into_iter().flat_map(varint));
    out.extend_from_slice(node);
    out
}

impl Parts {
    /// Takes all chunks away.
    pub fn clear(&mut self) {
        self.body.truncate(8);
        self.places.clear();
    }

    /// Gives a leaf one chunk of one block, at the end of the body, and this zone map.
    pub fn set_block(
        &mut self,
        leaf: usize,
        sources: &[u8],
        (values, block): (u64, &[u8]),
        decoded: u64,
        zone: &[u8],
    ) {
        self.set_chunk(leaf, sources, (values, block), decoded, zone, &[]);
    }

    /// The same, with shared parts in front of the block.
    pub fn set_chunk(
        &mut self,
        leaf: usize,
        sources: &[u8],
        (values, block): (u64, &[u8]),
        decoded: u64,
        zone: &[u8],
        shared: &[Vec<u8>],
    ) {
        let mut chunk = vec![sources.len() as u8];
        chunk.extend_from_slice(sources);
        chunk.extend(varint(self.body.len() as u64));
        chunk.extend(varint(values));
        chunk.extend([16, shared.len() as u8, 1]);
        for part in shared {
            chunk.extend(varint(part.len() as u64));
            chunk.extend(crc(part).to_le_bytes());
            self.body.extend_from_slice(part);
        }
        chunk.extend(varint(block.len() as u64));
        chunk.extend(crc(block).to_le_bytes());
        chunk.extend(varint(decoded));
        chunk.extend_from_slice(zone);
        self.body.extend_from_slice(block);
        self.indexes[leaf] = [varint(chunk.len() as u64), chunk].concat();
    }

    /// One row group of so many rows; a feature set that allows everything; no summaries.
    pub fn set_rows(&mut self, rows: u64) {
        *self.section(TABLE) = [vec![1], varint(rows)].concat();
        let leaves = varint(self.leaves() as u64);
        // Encodings 0 to 29 and 35.
        let all = [1, 1, 1, 5, 255, 255, 255, 63, 8, 0];
        *self.section(FEATURES) = [&all[..], &leaves].concat();
        self.sections.retain(|section| section.id != SUMMARIES);
    }
}
