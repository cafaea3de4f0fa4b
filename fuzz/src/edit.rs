//! What is changed in a file. Numbers that name a part are counted around, so that each names one.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use crate::parts::{Chunk, Parts};
use crate::seed::Seed;

/// A change of bytes.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Patch {
    Set { at: u16, to: u8 },
    Flip { at: u16, bit: u8 },
    Add { at: u16, by: i8 },
    Word { at: u16, width: Width, to: Number },
    Insert { at: u16, bytes: [u8; 4], len: u8 },
    Fill { at: u16, len: u8, with: u8 },
    Remove { at: u16, len: u8 },
    Repeat { at: u16, len: u8, times: u8 },
    Cut { at: u16 },
}

/// Bytes of a word.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Width {
    Two,
    Four,
    Eight,
    Varint,
}

/// A number where trouble may be.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Number {
    Small(u8),
    /// Around a power of two.
    Near {
        bit: u8,
        by: i8,
    },
    /// More or less than it was.
    By(i8),
    Any(u64),
}

impl Number {
    fn of(self, old: u64) -> u64 {
        match self {
            Self::Small(value) => value.into(),
            Self::Near { bit, by } => (1u64 << (bit % 64)).wrapping_add_signed(by.into()),
            Self::By(by) => old.wrapping_add_signed(by.into()),
            Self::Any(value) => value,
        }
    }
}

impl Patch {
    /// Changes the bytes.
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: u16, len: usize| usize::from(at).checked_rem(len);
        let stretch = |at: u16, len: u8, all: usize| {
            let start = place(at, all)?;
            Some(start..(start + usize::from(len)).min(all))
        };
        let len = bytes.len();
        match *self {
            Self::Set { at, to } => place(at, len).into_iter().for_each(|at| bytes[at] = to),
            Self::Flip { at, bit } => place(at, len)
                .into_iter()
                .for_each(|at| bytes[at] ^= 1 << (bit % 8)),
            Self::Add { at, by } => {
                place(at, len)
                    .into_iter()
                    .for_each(|at| bytes[at] = bytes[at].wrapping_add_signed(by));
            }
            Self::Word { at, width, to } => {
                place(at, len)
                    .into_iter()
                    .for_each(|at| set_number(bytes, at, width, to));
            }
            Self::Insert {
                at,
                bytes: new,
                len: count,
            } => {
                let at = usize::from(at) % (len + 1);
                bytes.splice(at..at, new.into_iter().take(usize::from(count) % 5));
            }
            Self::Fill {
                at,
                len: count,
                with,
            } => {
                stretch(at, count, len)
                    .into_iter()
                    .for_each(|range| bytes[range].fill(with));
            }
            Self::Remove { at, len: count } => {
                stretch(at, count, len)
                    .into_iter()
                    .for_each(|range| _ = bytes.drain(range));
            }
            Self::Repeat {
                at,
                len: count,
                times,
            } => {
                let Some(range) = stretch(at, count, len) else {
                    return;
                };
                let again = bytes[range.clone()].repeat(usize::from(times % 32));
                bytes.splice(range.end..range.end, again);
            }
            Self::Cut { at } => bytes.truncate(usize::from(at) % (len + 1)),
        }
    }
}

/// Changes the number that begins at a place.
fn set_number(bytes: &mut Vec<u8>, at: usize, width: Width, to: Number) {
    let size = match width {
        Width::Two => 2,
        Width::Four => 4,
        Width::Eight => 8,
        Width::Varint => return set_varint(bytes, at, to),
    };
    let old = bytes[at..].iter().take(size).rev();
    let old = old.fold(0, |all, byte| all << 8 | u64::from(*byte));
    let places = bytes[at..].iter_mut().take(size);
    places
        .zip(to.of(old).to_le_bytes())
        .for_each(|(to, from)| *to = from);
}

fn set_varint(bytes: &mut Vec<u8>, at: usize, to: Number) {
    let size = bytes[at..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let end = (at + size).min(bytes.len());
    let part = |all, byte: &u8| all << 7 | u64::from(byte & 0x7f);
    let mut rest = to.of(bytes[at..end].iter().rev().fold(0, part));
    let mut new = Vec::new();
    while rest >= 0x80 {
        new.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    new.push(rest as u8);
    bytes.splice(at..end, new);
}

/// A change of a part of a file.
#[derive(Debug, Clone, Arbitrary)]
pub enum Edit {
    /// Of a node's payload; its length is made right.
    Payload { node: u16, patch: Patch },
    /// Of a node's encoding.
    Encoding { node: u16, to: u8 },
    /// Of a node's type.
    Type { node: u16, to: u8 },
    /// Of a node's number of values.
    Len { node: u16, to: Number },
    /// Puts a node of another file in its place.
    Graft { node: u16, from: Seed, other: u16 },
    /// Puts a copy of another node of this file in its place.
    Swap { node: u16, other: u16 },
    /// Puts another node of this file below it, after its children.
    Adopt { node: u16, other: u16 },
    /// Takes its last child from it.
    Orphan { node: u16 },
    /// Puts it below a copy of itself, as the child of this number.
    Nest { node: u16, child: u8 },
    /// Of the bytes of a block or a shared part.
    Body { body: u16, patch: Patch },
    /// Of the flags of a block.
    Flags { body: u16, to: u8 },
    /// Of the values that a block or a shared part states.
    Values { body: u16, to: Number },
    /// Of the bytes of strings that a block or a shared part states.
    Decoded { body: u16, to: Number },
    /// Of the bytes of strings that the column index states.
    StringBytes { block: u16, to: Number },
    /// Of a zone map.
    Zone { block: u16, patch: Patch },
    /// Of the values of a chunk.
    ChunkValues { chunk: u16, to: Number },
    /// One more source of a chunk.
    Source { chunk: u16, to: u8 },
    /// Puts a copy of a block at the end of a chunk.
    AddBlock { chunk: u16, block: u16 },
    /// Takes the last block from a chunk.
    DropBlock { chunk: u16 },
    /// Takes the last shared part from a chunk, or repeats it.
    Shared { chunk: u16, repeat: bool },
    /// Gives all that has as many values as the first row group another number of them.
    Stretch { to: Number },
    /// Of the number of values of a chunk's blocks, a power of two.
    BlockRows { chunk: u16, to: u8 },
    /// Of the rows of a row group.
    GroupRows { group: u8, to: Number },
    /// Repeats the last row group.
    AddGroup,
    /// Repeats a leaf column, at the end.
    AddLeaf { leaf: u8 },
    /// Takes a leaf column away.
    DropLeaf { leaf: u8 },
    /// Of a column index.
    Index { leaf: u8, patch: Patch },
    /// Of a section.
    Section { section: u8, patch: Patch },
    /// Of a section's id and flags.
    SectionEntry { section: u8, id: u8, flags: u8 },
    /// Repeats a section.
    AddSection { section: u8 },
    /// Takes a section away.
    DropSection { section: u8 },
    /// Of the footer.
    Footer { patch: Patch },
    /// Of the header, the trailer's end included.
    Ends { patch: Patch },
    /// Of the whole file, whose checksums are left as they are.
    File { patch: Patch },
}

/// Element `n` of some, counted around.
fn pick<T>(all: impl Iterator<Item = T>, n: impl Into<usize>) -> Option<T> {
    let mut all: Vec<T> = all.collect();
    let n = n.into().checked_rem(all.len())?;
    Some(all.swap_remove(n))
}

impl Edit {
    /// Changes the file; nothing where there is no such part.
    pub fn apply(&self, parts: &mut Parts) {
        let _ = self.try_apply(parts);
    }

    fn try_apply(&self, parts: &mut Parts) -> Option<()> {
        match *self {
            Self::Payload { node, patch } => patch.apply(&mut parts.node_mut(node)?.payload),
            Self::Encoding { node, to } => parts.node_mut(node)?.encoding = to % 32,
            Self::Type { node, to } => parts.node_mut(node)?.ty = to % 9,
            Self::Len { node, to } => {
                let node = parts.node_mut(node)?;
                node.len = to.of(node.len);
            }
            Self::Graft { node, from, other } => {
                let other = from.parts().clone().node_mut(other)?.clone();
                *parts.node_mut(node)? = other;
            }
            Self::Swap { node, other } => {
                let other = parts.node_mut(other)?.clone();
                *parts.node_mut(node)? = other;
            }
            Self::Adopt { node, other } => {
                let other = parts.node_mut(other)?.clone();
                parts.node_mut(node)?.children.push(other);
            }
            Self::Orphan { node } => _ = parts.node_mut(node)?.children.pop(),
            Self::Nest { node, child } => {
                let node = parts.node_mut(node)?;
                // Enough to go past every limit of depth, not to fill the memory.
                if node.count() < 500 {
                    let copy = node.clone();
                    *pick(node.children.iter_mut(), child)? = copy;
                }
            }
            Self::Body { body, patch } => pick(parts.bodies_mut(), body)?.patches.push(patch),
            Self::Flags { body, to } => *pick(parts.bodies_mut(), body)?.flags.as_mut()? = to % 16,
            Self::Values { body, to } => {
                let body = pick(parts.bodies_mut(), body)?;
                body.values = to.of(body.values);
            }
            Self::Decoded { body, to } => {
                let decoded = pick(parts.bodies_mut(), body)?.decoded.as_mut()?;
                *decoded = to.of(*decoded);
            }
            Self::StringBytes { block, to } => {
                let block = pick(parts.blocks_mut(), block)?;
                block.string_bytes = to.of(block.string_bytes);
            }
            Self::Zone { block, patch } => patch.apply(&mut pick(parts.blocks_mut(), block)?.zone),
            Self::ChunkValues { chunk, to } => {
                let chunk = pick(parts.chunks_mut(), chunk)?;
                chunk.values = to.of(chunk.values);
            }
            Self::Source { chunk, to } => pick(parts.chunks_mut(), chunk)?
                .sources
                .push(u64::from(to % 8)),
            Self::AddBlock { chunk, block } => {
                let Chunk { blocks, .. } = pick(parts.chunks_mut(), chunk)?;
                let copy = pick(blocks.iter(), block)?.clone();
                blocks.push(copy);
            }
            Self::DropBlock { chunk } => _ = pick(parts.chunks_mut(), chunk)?.blocks.pop(),
            Self::Shared { chunk, repeat } => {
                let Chunk { shared, .. } = pick(parts.chunks_mut(), chunk)?;
                let last = shared.pop()?;
                if repeat {
                    shared.extend([last.clone(), last]);
                }
            }
            Self::Stretch { to } => stretch(parts, to)?,
            Self::BlockRows { chunk, to } => pick(parts.chunks_mut(), chunk)?.block_rows = to % 66,
            Self::GroupRows { group, to } => {
                let rows = pick(parts.row_groups.iter_mut(), group)?;
                *rows = to.of(*rows);
            }
            Self::AddGroup => {
                let last = *parts.row_groups.last()?;
                parts.row_groups.push(last);
                parts
                    .leaves
                    .iter_mut()
                    .for_each(|leaf| leaf.chunks.extend(leaf.chunks.last().cloned()));
            }
            Self::AddLeaf { leaf } => {
                let leaf = pick(parts.leaves.iter(), leaf)?.clone();
                parts.leaves.push(leaf);
            }
            Self::DropLeaf { leaf } => {
                let leaf = usize::from(leaf).checked_rem(parts.leaves.len())?;
                parts.leaves.remove(leaf);
            }
            Self::Index { leaf, patch } => pick(parts.leaves.iter_mut(), leaf)?.patches.push(patch),
            Self::Section { section, patch } => parts.section_mut(section)?.patches.push(patch),
            Self::SectionEntry { section, id, flags } => {
                let section = parts.section_mut(section)?;
                (section.id, section.flags) = (id.into(), flags % 4);
            }
            Self::AddSection { section } => {
                let copy = parts.section_mut(section)?.clone();
                parts.sections.push(copy);
            }
            Self::DropSection { section } => {
                let section = usize::from(section).checked_rem(parts.sections.len())?;
                parts.sections.remove(section);
            }
            Self::Footer { patch } => parts.footer_patches.push(patch),
            Self::Ends { patch } => {
                let at_end =
                    matches!(patch, Patch::Set { at, .. } | Patch::Flip { at, .. } if at & 8 > 0);
                let mut bytes = if at_end {
                    parts.trailer.clone()
                } else {
                    parts.header.clone()
                };
                patch.apply(&mut bytes);
                // Their length is fixed.
                bytes.resize(8, 0);
                *(if at_end {
                    &mut parts.trailer
                } else {
                    &mut parts.header
                }) = bytes;
            }
            Self::File { patch } => parts.file_patches.push(patch),
        }
        Some(())
    }
}

/// The first row group with another number of rows, wherever one block holds all of them.
fn stretch(parts: &mut Parts, to: Number) -> Option<()> {
    let rows = parts.row_groups.first_mut()?;
    let (from, to) = (*rows, to.of(*rows));
    *rows = to;
    for chunk in parts
        .leaves
        .iter_mut()
        .filter_map(|leaf| leaf.chunks.first_mut())
    {
        let ([block], true) = (&mut chunk.blocks[..], chunk.values == from) else {
            continue;
        };
        chunk.values = to;
        chunk.block_rows = 16;
        block.body.values = to;
        block
            .body
            .trees
            .iter_mut()
            .for_each(|tree| tree.stretch(from, to));
    }
    Some(())
}
