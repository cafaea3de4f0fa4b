//! Looking inside a file: its parts, its trees of encodings and why they are so, and whether all of
//! it is sound.

mod verify;
mod why;

use std::fmt;
use std::sync::Arc;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::Schema;
use rayon::prelude::*;
use staffa_kernels::cast_slice;
pub use verify::VerifyReport;
pub use why::{ColumnWhy, Considered, RelationWhy, SharedWhy};

use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::format::block::{self, Parsed};
use crate::format::{
    Bounds, ChunkEntry, HEADER_BYTES, NodeRef, ZoneMap, shared_dictionary, zone_of,
};
use crate::read::File;
use crate::values::{
    Bitmap, DecodedLeaf, DecodedValues, OwnedValues, Physical, PhysicalType, Strings, Values,
    for_words,
};

/// The parts of a file.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Inspection {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Version of the format.
    pub format_version: u16,
    /// What wrote it.
    pub writer: String,
    /// Rows of the table.
    pub rows: u64,
    /// Values of a block, but for the last of a chunk.
    pub block_rows: u32,
    /// Bytes of footer and trailer.
    pub footer_bytes: u64,
    /// Bytes of all column indexes.
    pub index_bytes: u64,
    /// The row groups.
    pub row_groups: Vec<RowGroupInfo>,
    /// The leaf columns.
    pub columns: Vec<LeafInfo>,
}

/// A row group.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RowGroupInfo {
    /// Its first row in the table.
    pub first_row: u64,
    /// Its rows.
    pub rows: u64,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A leaf column; a nested column has several.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LeafInfo {
    /// Its path; of a flat column the name.
    pub path: String,
    /// The top-level column it belongs to.
    pub column: String,
    /// How its values lie in memory.
    pub physical_type: String,
    /// Bytes of its chunks and its index.
    pub bytes: u64,
    /// Bytes its values and validity take in Arrow memory.
    pub decoded_bytes: u64,
    /// Values, NULLs included.
    pub values: u64,
    /// NULLs.
    pub nulls: u64,
    /// At most the smallest value.
    pub min: Option<String>,
    /// At least the largest value.
    pub max: Option<String>,
    /// One per row group.
    pub chunks: Vec<ChunkInfo>,
}

/// A column chunk.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ChunkInfo {
    /// Its row group.
    pub row_group: usize,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its values.
    pub values: u64,
    /// Its NULLs.
    pub nulls: u64,
    /// The columns in terms of which it is.
    pub told_by: Vec<String>,
    /// What its blocks share.
    pub shared_parts: Vec<PartInfo>,
    /// Its blocks.
    pub blocks: Vec<BlockInfo>,
}

/// A shared part.
#[derive(Debug, Clone, serde::Serialize)]
pub struct PartInfo {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A block.
#[derive(Debug, Clone, serde::Serialize)]
pub struct BlockInfo {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its first value in the chunk.
    pub first_value: u64,
    /// Its values.
    pub values: u64,
    /// Its NULLs.
    pub nulls: u64,
    /// At most the smallest value.
    pub min: Option<String>,
    /// At least the largest value.
    pub max: Option<String>,
    /// Where both stand between the bounds of the column, 0 being its smallest and 1 its largest: a
    /// picture of the zone maps needs no more.
    pub span: Option<[f64; 2]>,
}

/// The trees of encodings of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ColumnExplain {
    /// Its path; of a flat column the name.
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
    /// The tree of the validity, where some are NULL.
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
    /// What it is to its parent: `codes`; empty at the root.
    pub role: String,
    /// How many values it decodes to.
    pub values: u64,
    /// Its bytes, children included.
    pub bytes: u64,
    /// Its parts.
    pub children: Vec<EncodingTree>,
}

impl EncodingTree {
    fn of(node: &NodeRef<'_>, role: &str) -> Self {
        let known = POOL.by_id(node.encoding);
        let child_names = known.map_or(&[][..], |e| e.info().child_names);
        // Bits have no value per run: the child that is there is the last of the roles.
        let skipped = if node.ty == PhysicalType::Bits {
            child_names.len().saturating_sub(node.children.len())
        } else {
            0
        };
        let children = node.children.iter().enumerate();
        Self {
            encoding: known.map_or_else(
                || format!("unknown {}", node.encoding),
                |e| e.info().name.to_owned(),
            ),
            detail: known.map(|e| e.detail(node)).unwrap_or_default(),
            role: role.to_owned(),
            values: node.len as u64,
            bytes: node.bytes as u64,
            children: children
                .map(|(i, c)| {
                    Self::of(c, child_names.get(i + skipped).copied().unwrap_or_default())
                })
                .collect(),
        }
    }
}

impl EncodingTree {
    /// Of a column that is equal to another.
    fn of_equal(path: &str, values: u64) -> Self {
        let (encoding, detail) = ("equal".to_owned(), format!("to {path:?}"));
        Self {
            encoding,
            detail,
            role: String::new(),
            values,
            bytes: 0,
            children: Vec::new(),
        }
    }

    /// Names the other columns where an encoding is in terms of some.
    fn told_by(&mut self, paths: &[String]) {
        if POOL
            .by_name(&self.encoding)
            .is_ok_and(|e| e.info().needs_reference)
        {
            for (i, path) in paths.iter().enumerate().rev() {
                self.detail = self.detail.replace(&format!("#{i}"), &format!("{path:?}"));
            }
        }
        self.children
            .iter_mut()
            .for_each(|child| child.told_by(paths));
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
    /// The parts of the file, from footer and column indexes alone.
    pub fn inspect(&self) -> Result<Inspection> {
        let footer = self.footer();
        let columns = (0..footer.leaves.len())
            .map(|leaf| self.leaf_info(leaf))
            .collect::<Result<Vec<_>>>()?;
        let mut first_row = 0;
        let row_groups = footer.row_groups.iter().enumerate().map(|(i, &rows)| {
            let chunks = || {
                columns
                    .iter()
                    .filter_map(move |c: &LeafInfo| c.chunks.get(i))
            };
            let info = RowGroupInfo {
                first_row,
                rows: u64::from(rows),
                offset: chunks().map(|c| c.offset).min().unwrap_or(HEADER_BYTES),
                bytes: chunks().map(|c| c.bytes).sum(),
            };
            first_row += u64::from(rows);
            info
        });
        let row_groups = row_groups.collect();
        Ok(Inspection {
            file_bytes: self.byte_len(),
            format_version: footer.version,
            writer: footer.writer.clone(),
            rows: footer.rows,
            block_rows: footer.block_rows,
            footer_bytes: self.byte_len() - footer.offset,
            index_bytes: footer
                .leaves
                .iter()
                .map(|(_, bytes)| u64::from(*bytes))
                .sum(),
            row_groups,
            columns,
        })
    }

    fn leaf_info(&self, leaf: usize) -> Result<LeafInfo> {
        let (index, spec) = (self.index(leaf)?, self.leaf(leaf)?);
        let contents = self.contents(leaf)?;
        let shown = Shown { file: self, leaf };
        let zone = zone_of(contents.iter().flat_map(|c| &c.blocks));
        let chunks =
            index
                .chunks
                .iter()
                .zip(&contents)
                .enumerate()
                .map(|(row_group, (chunk, content))| ChunkInfo {
                    row_group,
                    offset: content.offset,
                    bytes: chunk.bytes,
                    values: chunk.values,
                    nulls: content.blocks.iter().map(|b| b.zone.nulls).sum(),
                    told_by: self.references(chunk),
                    shared_parts: chunk
                        .shared
                        .iter()
                        .map(|p| PartInfo {
                            offset: p.offset,
                            bytes: p.bytes,
                        })
                        .collect(),
                    blocks: chunk
                        .blocks
                        .iter()
                        .map(|b| {
                            let (min, max) = shown.bounds(&b.zone);
                            BlockInfo {
                                offset: b.offset,
                                bytes: b.bytes,
                                first_value: b.first_value,
                                values: b.values as u64,
                                nulls: b.zone.nulls,
                                min,
                                max,
                                span: b.zone.bounds.span_in(&zone.bounds),
                            }
                        })
                        .collect(),
                });
        let (min, max) = shown.bounds(&zone);
        let index_bytes = self
            .footer()
            .leaves
            .get(leaf)
            .map_or(0, |(_, bytes)| u64::from(*bytes));
        Ok(LeafInfo {
            path: spec.path.clone(),
            column: column_name(self.schema(), spec.column),
            physical_type: spec.ty.map_or_else(
                || "validity".to_owned(),
                |ty| format!("{ty:?}").to_lowercase(),
            ),
            bytes: index_bytes + index.chunks.iter().map(|c| c.bytes).sum::<u64>(),
            decoded_bytes: contents
                .iter()
                .map(|c| decoded_bytes(spec.ty, spec.large, c))
                .sum(),
            values: contents.iter().map(|c| c.values).sum(),
            nulls: zone.nulls,
            min,
            max,
            chunks: chunks.collect(),
        })
    }

    /// Paths of the leaves in terms of which a chunk is.
    fn references(&self, chunk: &ChunkEntry) -> Vec<String> {
        let path = |by: &u32| {
            self.leaf(*by as usize)
                .map_or_else(|_| format!("leaf {by}"), |leaf| leaf.path.clone())
        };
        chunk.sources.iter().map(path).collect()
    }

    /// All chunks of a leaf, of equal columns those that both are.
    fn contents(&self, leaf: usize) -> Result<Vec<Arc<ChunkEntry>>> {
        (0..self.num_row_groups())
            .map(|row_group| self.chunk(leaf, row_group))
            .collect()
    }

    /// The trees of encodings of every leaf column, read from the blocks' headers; nothing is
    /// decoded.
    pub fn explain(&self) -> Result<Vec<ColumnExplain>> {
        (0..self.footer().leaves.len())
            .into_par_iter()
            .map(|leaf| self.explain_leaf(leaf))
            .collect()
    }

    fn explain_leaf(&self, leaf: usize) -> Result<ColumnExplain> {
        let (index, spec) = (self.index(leaf)?, self.leaf(leaf)?);
        let (mut shared, mut blocks) = (Vec::new(), Vec::new());
        for (row_group, chunk) in index.chunks.iter().enumerate() {
            for part in &chunk.shared {
                let place = self.place(leaf, row_group);
                let bytes = self.store().read(part.offset, part.bytes)?;
                let (node, _) =
                    shared_dictionary::parse(&bytes, chunk.values as usize, self.limits())
                        .map_err(|e| e.at(place))?;
                shared.push(SharedExplain {
                    row_group,
                    bytes: part.bytes,
                    tree: EncodingTree::of(&node, "values"),
                });
            }
            let references = self.references(chunk);
            if let Some(by) = references.first().filter(|_| chunk.same) {
                for (block, entry) in self.chunk(leaf, row_group)?.blocks.iter().enumerate() {
                    let rows = entry.values as u64;
                    let tree = EncodingTree::of_equal(by, rows);
                    blocks.push(BlockExplain {
                        row_group,
                        block,
                        rows,
                        bytes: 0,
                        validity: None,
                        values: Some(tree),
                    });
                }
            }
            for (i, entry) in chunk.blocks.iter().enumerate() {
                let place = self.place(leaf, row_group);
                let bytes = self.store().read(entry.offset, entry.bytes)?;
                let parsed =
                    block::parse(&bytes, entry.values, spec.ty, self.limits()).map_err(|e| {
                        e.at(|p| (p.block, p.offset) = (Some(i), Some(entry.offset)))
                            .at(place)
                    })?;
                let mut block = explained(&parsed, row_group, i, entry.bytes);
                block
                    .values
                    .iter_mut()
                    .chain(&mut block.validity)
                    .for_each(|tree| tree.told_by(&references));
                blocks.push(block);
            }
        }
        Ok(ColumnExplain {
            path: spec.path.clone(),
            column: column_name(self.schema(), spec.column),
            bytes: index.chunks.iter().map(|c| c.bytes).sum(),
            decoded_bytes: self
                .contents(leaf)?
                .iter()
                .map(|c| decoded_bytes(spec.ty, spec.large, c))
                .sum(),
            shared,
            blocks,
        })
    }
}

/// The values of a decoded leaf that are not NULL, and how many are NULL.
fn with_present<R>(
    decoded: &DecodedLeaf,
    f: impl FnOnce(Values<'_>, u64) -> Result<R>,
) -> Result<R> {
    let len = decoded.values.len();
    let all = Bitmap::filled(len, true);
    let valid = decoded.validity.as_ref().unwrap_or(&all);
    let rows: Vec<u32> = valid.positions();
    let nulls = (len - rows.len()) as u64;
    let offsets: Vec<u32>;
    let values = match &decoded.values {
        // Not asked for here.
        DecodedValues::Views(_) | DecodedValues::Empty(_) => return f(Values::U8(&[]), nulls),
        DecodedValues::Bits(bits) => Values::Bits(bits),
        DecodedValues::Words(ty, data) => for_words!(ty, T => {
            T::values(cast_slice(data.as_slice()).ok_or_else(|| Error::corrupt("misaligned words"))?)
        }, _ => Values::U8(&[])),
        DecodedValues::Strings(strings) => {
            offsets = strings.offsets().map(|offset| offset as u32).collect();
            Values::Bytes(Strings::new(&offsets, strings.data())?)
        }
        DecodedValues::Bytes {
            large,
            offsets: buffer,
            data,
        } => {
            offsets = if *large {
                cast_slice::<u64>(buffer)
                    .unwrap_or_default()
                    .iter()
                    .map(|o| *o as u32)
                    .collect()
            } else {
                cast_slice::<u32>(buffer).unwrap_or_default().to_vec()
            };
            Values::Bytes(Strings::new(&offsets, data)?)
        }
    };
    f(OwnedValues::take(values, &rows)?.borrow(), nulls)
}

fn column_name(schema: &Schema, column: usize) -> String {
    schema
        .fields()
        .get(column)
        .map(|f| f.name().clone())
        .unwrap_or_default()
}

fn explained(parsed: &Parsed<'_>, row_group: usize, block: usize, bytes: u64) -> BlockExplain {
    BlockExplain {
        row_group,
        block,
        rows: parsed.len as u64,
        bytes,
        validity: parsed
            .validity
            .as_ref()
            .map(|node| EncodingTree::of(node, "")),
        values: parsed
            .values
            .as_ref()
            .map(|node| EncodingTree::of(node, "")),
    }
}

/// Bytes in Arrow memory: values, offsets, and a bitmap where there are NULLs.
fn decoded_bytes(ty: Option<PhysicalType>, large: bool, chunk: &ChunkEntry) -> u64 {
    let nulls: u64 = chunk.blocks.iter().map(|b| b.zone.nulls).sum();
    let validity = if nulls > 0 {
        chunk.values.div_ceil(8)
    } else {
        0
    };
    validity
        + match ty {
            None => 0,
            Some(PhysicalType::Bits) => chunk.values.div_ceil(8),
            Some(PhysicalType::Bytes) => {
                chunk.blocks.iter().map(|b| b.string_bytes).sum::<u64>()
                    + (chunk.values + 1) * if large { 8 } else { 4 }
            }
            Some(word) => chunk.values * word.width_bytes().unwrap_or(0) as u64,
        }
}

/// Shows the bounds of a leaf as its column's type shows values.
struct Shown<'a> {
    file: &'a File,
    leaf: usize,
}

impl Shown<'_> {
    fn bounds(&self, zone: &ZoneMap) -> (Option<String>, Option<String>) {
        match &zone.bounds {
            Bounds::None => (None, None),
            Bounds::Bits(no, yes) => (Some((!no).to_string()), Some(yes.to_string())),
            Bounds::Int(min, max) => (Some(self.int(*min)), Some(self.int(*max))),
            Bounds::Float { min, max, .. } if min > max => (None, None),
            Bounds::Float { min, max, .. } => (Some(min.to_string()), Some(max.to_string())),
            Bounds::Bytes(min, max) => (Some(text(min)), Some(text(max))),
        }
    }

    fn int(&self, value: i128) -> String {
        self.typed(value).unwrap_or_else(|| value.to_string())
    }

    /// A flat column's integers may be dates, timestamps or decimals.
    fn typed(&self, value: i128) -> Option<String> {
        let leaf = self.file.leaf(self.leaf).ok().filter(|leaf| leaf.flat)?;
        let field = self.file.schema().fields().get(leaf.column)?;
        let width = leaf.ty?.width_bytes()?;
        let bytes = arrow_buffer::Buffer::from(value.to_le_bytes().get(..width)?);
        let node = self.file.layout().fields.get(leaf.column)?;
        let array = crate::arrow::assemble(field, node, 1, &mut |_| {
            let values = crate::values::DecodedValues::Words(
                leaf.ty.unwrap_or(PhysicalType::U8),
                bytes.clone(),
            );
            Ok(crate::values::DecodedLeaf {
                validity: None,
                values,
            })
        });
        let array = array.ok()?;
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
        formatter.value(0).try_to_string().ok()
    }
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // A bound may be cut off in the middle of a character.
        Err(e) if e.error_len().is_none() => {
            String::from_utf8_lossy(bytes.get(..e.valid_up_to()).unwrap_or_default()).into_owned()
        }
        Err(_) => format!("{bytes:02x?}"),
    }
}
