//! The trees of encodings of a file, read from the headers of its blocks; nothing is decoded.

use std::fmt;
use std::ops::Range;

use super::{column_name, decoded_bytes};
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::format::{BlockEntry, ChunkEntry, NodeRef, PartEntry, block, shared_dictionary};
use crate::limits::map_parallel;
use crate::read::File;
use crate::values::PhysicalType;

/// The trees of encodings of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ColumnExplain {
    /// Its path; the name of a flat column.
    pub path: String,
    /// The top-level column it belongs to.
    pub column: String,
    /// Bytes of its shared parts and blocks.
    pub bytes: u64,
    /// Bytes its values and validity take in Arrow memory.
    pub decoded_bytes: u64,
    /// Its shared parts.
    pub shared: Vec<SharedExplain>,
    /// Its blocks.
    pub blocks: Vec<BlockExplain>,
}

/// The tree of a shared part.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SharedExplain {
    /// Its row group.
    pub row_group: usize,
    /// Its bytes.
    pub bytes: u64,
    /// Its tree.
    pub tree: EncodingTree,
}

/// The trees of a block.
#[derive(Debug, Clone, serde::Serialize)]
pub struct BlockExplain {
    /// Its row group.
    pub row_group: usize,
    /// Its number in the chunk.
    pub block: usize,
    /// Its values.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The tree of the validity, where some values are NULL.
    pub validity: Option<EncodingTree>,
    /// The tree of the values, where there are any.
    pub values: Option<EncodingTree>,
}

/// An encoding and its children. Displayed as `dictionary(codes: bitpack, values: fsst)`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EncodingTree {
    /// The encoding's name.
    pub encoding: String,
    /// Its parameters: `7 bits`.
    pub detail: String,
    /// Its name among its parent's children: `codes`; empty at the root.
    pub role: String,
    /// Values that it decodes to.
    pub values: u64,
    /// Its bytes, children included.
    pub bytes: u64,
    /// Its parts.
    pub children: Vec<EncodingTree>,
}

impl BlockExplain {
    /// Of a column that is equal to another.
    fn of_equal(row_group: usize, block: usize, path: &str, entry: &BlockEntry) -> Self {
        let rows = entry.values as u64;
        Self {
            row_group,
            block,
            rows,
            bytes: 0,
            validity: None,
            values: Some(EncodingTree {
                encoding: "equal".to_owned(),
                detail: format!("to {path:?}"),
                role: String::new(),
                values: rows,
                bytes: 0,
                children: Vec::new(),
            }),
        }
    }
}

impl EncodingTree {
    fn of(node: &NodeRef<'_>, role: &str) -> Self {
        let (encoding, detail, names) = match POOL.by_id(node.encoding) {
            Some(encoding) => {
                let info = encoding.info();
                (
                    info.name.to_owned(),
                    encoding.detail(node),
                    info.child_names,
                )
            }
            None => (format!("unknown {}", node.encoding), String::new(), &[][..]),
        };
        // Bits have no value per run: the child that is there has the last of the names.
        let skipped = if node.ty == PhysicalType::Bits {
            names.len().saturating_sub(node.children.len())
        } else {
            0
        };
        let names = names.iter().copied().skip(skipped);
        // A file may have more children than this release has names for.
        let names = names.chain(std::iter::repeat(""));
        let children = node.children.iter().zip(names);
        Self {
            encoding,
            detail,
            role: role.to_owned(),
            values: node.len as u64,
            bytes: node.bytes as u64,
            children: children
                .map(|(child, name)| Self::of(child, name))
                .collect(),
        }
    }

    /// Puts the names of the reference columns in place of their numbers.
    fn name_references(&mut self, paths: &[String]) {
        let encoding = POOL.by_name(&self.encoding);
        if encoding.is_ok_and(|encoding| encoding.info().needs_reference) {
            for (i, path) in paths.iter().enumerate().rev() {
                self.detail = self.detail.replace(&format!("#{i}"), &format!("{path:?}"));
            }
        }
        for child in &mut self.children {
            child.name_references(paths);
        }
    }
}

impl fmt::Display for EncodingTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.encoding)?;
        if self.children.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        for (i, child) in self.children.iter().enumerate() {
            write!(
                f,
                "{}{}: {child}",
                if i > 0 { ", " } else { "" },
                child.role
            )?;
        }
        f.write_str(")")
    }
}

impl File {
    /// The trees of encodings of every leaf column, read from the blocks' headers; nothing is
    /// decoded. Nothing is known of the blocks of a column of unknown type.
    pub fn explain(&self) -> Result<Vec<ColumnExplain>> {
        let leaves = 0..self.footer().leaves.len();
        map_parallel(leaves, |leaf| self.explain_leaf(leaf))
    }

    /// The trees of encodings of one chunk of a leaf column, by its path and row group: as
    /// [`explain`](Self::explain), but reading the blocks of this chunk alone.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let file = staffa::File::from_bytes(bytes)?;
    /// let chunk = file.explain_chunk("n", 0)?;
    /// assert_eq!(chunk.blocks.len(), 1);
    /// assert!(file.explain_chunk("m", 0).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn explain_chunk(&self, path: &str, row_group: usize) -> Result<ColumnExplain> {
        let mut leaves = 0..self.footer().leaves.len();
        let is_wanted = |leaf: &usize| self.leaf(*leaf).is_ok_and(|spec| *spec.path == *path);
        let Some(leaf) = leaves.find(is_wanted) else {
            return Err(Error::invalid(format!("there is no column {path:?}")));
        };
        let groups = self.num_row_groups();
        if row_group >= groups {
            return Err(Error::invalid(format!(
                "row group {row_group} is out of range, the table has {groups}"
            )));
        }
        self.explain_chunks(leaf, row_group..row_group + 1)
    }

    pub(super) fn explain_leaf(&self, leaf: usize) -> Result<ColumnExplain> {
        self.explain_chunks(leaf, 0..self.num_row_groups())
    }

    fn explain_chunks(&self, leaf: usize, row_groups: Range<usize>) -> Result<ColumnExplain> {
        let (index, spec) = (self.index(leaf)?, self.leaf(leaf)?);
        let (mut shared, mut blocks) = (Vec::new(), Vec::new());
        let chunks = || {
            let chunks = index.chunks.iter().enumerate();
            chunks.filter(|(row_group, _)| row_groups.contains(row_group))
        };
        for (row_group, chunk) in chunks().filter(|_| spec.unknown.is_none()) {
            for part in &chunk.shared {
                shared.push(self.explain_shared(leaf, row_group, chunk, part)?);
            }
            let references = self.references(chunk);
            if let Some(path) = references.first().filter(|_| chunk.same) {
                let equal = self.chunk(leaf, row_group)?;
                let equal = equal.blocks.iter().enumerate();
                blocks.extend(
                    equal.map(|(i, entry)| BlockExplain::of_equal(row_group, i, path, entry)),
                );
            }
            for (block, entry) in chunk.blocks.iter().enumerate() {
                blocks.push(self.explain_block(leaf, (row_group, block), entry, &references)?);
            }
        }
        let contents = row_groups.clone().map(|group| self.chunk(leaf, group));
        let contents = contents.collect::<Result<Vec<_>>>()?;
        Ok(ColumnExplain {
            path: spec.path.to_string(),
            column: column_name(self.schema(), spec.column)?,
            bytes: chunks().map(|(_, chunk)| chunk.bytes).sum(),
            decoded_bytes: decoded_bytes(spec, &contents),
            shared,
            blocks,
        })
    }

    fn explain_shared(
        &self,
        leaf: usize,
        row_group: usize,
        chunk: &ChunkEntry,
        part: &PartEntry,
    ) -> Result<SharedExplain> {
        let bytes = self.part(
            part.offset,
            part.bytes,
            part.checksum,
            "a shared dictionary",
        )?;
        let parsed = shared_dictionary::parse(&bytes, chunk.values as usize, self.limits());
        let (node, _) = parsed.map_err(|e| e.at(self.place(leaf, row_group)))?;
        Ok(SharedExplain {
            row_group,
            bytes: part.bytes,
            tree: EncodingTree::of(&node, "values"),
        })
    }

    fn explain_block(
        &self,
        leaf: usize,
        (row_group, block): (usize, usize),
        entry: &BlockEntry,
        references: &[String],
    ) -> Result<BlockExplain> {
        let place = |error: Error| {
            error
                .at(|p| (p.block, p.offset) = (Some(block), Some(entry.offset)))
                .at(self.place(leaf, row_group))
        };
        let bytes = self.part(entry.offset, entry.bytes, entry.checksum, "a block");
        let bytes = bytes.map_err(place)?;
        let ty = self.leaf(leaf)?.ty;
        let parsed = block::parse(&bytes, entry.values, ty, self.limits()).map_err(place)?;
        let tree = |node: &NodeRef<'_>| {
            let mut tree = EncodingTree::of(node, "");
            tree.name_references(references);
            tree
        };
        Ok(BlockExplain {
            row_group,
            block,
            rows: parsed.len as u64,
            bytes: entry.bytes,
            validity: parsed.validity.as_ref().map(tree),
            values: parsed.values.as_ref().map(tree),
        })
    }
}
