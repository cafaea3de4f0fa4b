//! Why the columns of a file are encoded as they are: the decisions made again, with all that was
//! considered.

use rayon::prelude::*;

use super::{EncodingTree, column_name, with_present};
use crate::arrow::shred;
use crate::encode::{Access, Chooser, Profile, Stats};
use crate::encodings::POOL;
use crate::error::Result;
use crate::read::{ChunkReader, File, OutputLayout, RowRange, read_batch};
use crate::write::chunk::{Chosen, ChunkOptions, Sharing};
use crate::write::correlate::Tried;
use crate::write::{chunk, correlate, rounding};

/// What the chooser weighs for one block of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ColumnWhy {
    /// Its path.
    pub path: String,
    /// The top-level column it belongs to.
    pub column: String,
    /// The block that was looked at: of which row group, and which of its blocks.
    pub row_group: usize,
    /// See `row_group`.
    pub block: usize,
    /// Bytes the block takes in the file.
    pub bytes: u64,
    /// Bytes its values take as they are.
    pub plain_bytes: u64,
    /// The tree that it has; none where all is NULL.
    pub chosen: Option<EncodingTree>,
    /// Every encoding: first those that could be, the smallest first, then the others.
    pub considered: Vec<Considered>,
    /// The dictionary that the blocks of the first row group could share; none where nothing is
    /// stored.
    pub shared: Option<SharedWhy>,
    /// The columns in terms of which it could be, within the first row group: the largest savings
    /// first.
    pub relations: Vec<RelationWhy>,
}

/// What the chooser thinks of an encoding.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Considered {
    /// Its name.
    pub encoding: &'static str,
    /// Bytes that it is estimated to take, with its children; none where it was not weighed.
    pub estimate: Option<u64>,
    /// Why it was not weighed.
    pub reason: Option<&'static str>,
}

/// What a dictionary shared by the blocks of a chunk would be.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SharedWhy {
    /// Distinct values of the chunk, where they were counted.
    pub distinct: Option<u64>,
    /// Bytes of the blocks, each with a tree of its own.
    pub alone: Option<u64>,
    /// Bytes of the dictionary and the blocks, each by its codes or its own tree.
    pub shared: Option<u64>,
    /// Whether that was encoded, or is an estimate.
    pub encoded: bool,
    /// Whether there is one.
    pub taken: bool,
    /// Why there is none; empty where there is one.
    pub reason: &'static str,
}

/// A column, or a sum of several, in terms of which a column could be.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RelationWhy {
    /// Paths of the columns that would tell it.
    pub by: Vec<String>,
    /// How: `equal`, `difference`, `grouped`; none where the validity alone would be told.
    pub encoding: Option<&'static str>,
    /// Whether the validity would be told.
    pub validity: bool,
    /// Bytes of what was compared, by itself: one block, or all where all were encoded.
    pub alone: u64,
    /// Bytes of the same in terms of the others.
    pub told: u64,
    /// Whether that was encoded, or is an estimate.
    pub encoded: bool,
    /// Whether it is so.
    pub taken: bool,
    /// Why not; empty where it is so.
    pub reason: &'static str,
}

impl File {
    /// Why the columns are encoded as they are: what this release thinks of each encoding for the
    /// first block of every leaf column, of a dictionary shared by the blocks of the first row
    /// group, and of its columns in terms of one another. That is the writer's work done again with
    /// profile `balanced`, and takes as long.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let days = Int64Array::from_iter_values((0..1000).map(|i| i * i % 7919));
    /// let later = Int64Array::from_iter_values((0..1000).map(|i| i * i % 7919 + i % 3));
    /// let batch = RecordBatch::try_from_iter([("sent", Arc::new(days) as _), ("arrived", Arc::new(later) as _)])?;
    /// let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let why = staffa::File::from_bytes(bytes)?.why()?;
    /// let relation = why.iter().flat_map(|column| &column.relations).find(|relation| relation.taken).unwrap();
    /// assert_eq!(relation.encoding, Some("difference"));
    /// assert!(relation.told < relation.alone);
    /// # Ok(())
    /// # }
    /// ```
    pub fn why(&self) -> Result<Vec<ColumnWhy>> {
        let (sharing, tried) = self.again()?;
        let leaves = (0..self.footer().leaves.len()).into_par_iter();
        let leaves = leaves.filter_map(|leaf| {
            self.why_leaf(leaf, sharing.get(leaf).copied(), &tried)
                .transpose()
        });
        leaves.collect()
    }

    /// The decisions about a whole row group: what its leaves share, and what tells them.
    fn again(&self) -> Result<(Vec<Sharing>, Vec<Tried>)> {
        let Some(rows) = self.footer().row_groups.first() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let columns: Vec<usize> = (0..self.schema().fields().len()).collect();
        let (row_group, rows) = (0, 0..*rows as usize);
        let range = RowRange { row_group, rows };
        let batch = read_batch(self, &columns, self.schema(), &range)?;
        let leaves = shred(&batch, self.layout())?;
        let chosen = leaves
            .par_iter()
            .zip(self.layout().leaves())
            .map(|(array, leaf)| {
                let options = ChunkOptions {
                    without: 0,
                    profile: Profile::Balanced,
                    access: Access::Scan,
                    rounded: self.is_rounded(leaf.column),
                    requested: None,
                    block_rows: self.footer().block_rows as usize,
                    verify: false,
                    kind: leaf.kind,
                };
                chunk::choose(array, options)
            });
        let mut chosen: Vec<Chosen<'_>> = chosen.collect::<Result<_>>()?;
        let sharing = chosen.iter().map(|column| column.sharing).collect();
        Ok((sharing, correlate::relate(&mut chosen, 0.0)?.1))
    }

    fn is_rounded(&self, column: usize) -> bool {
        self.schema()
            .fields()
            .get(column)
            .is_some_and(|field| rounding::is_marked(field))
    }

    fn why_leaf(
        &self,
        leaf: usize,
        sharing: Option<Sharing>,
        tried: &[Tried],
    ) -> Result<Option<ColumnWhy>> {
        let spec = self.leaf(leaf)?;
        let contents = self.contents(leaf)?;
        let Some(row_group) = contents.iter().position(|chunk| !chunk.blocks.is_empty()) else {
            return Ok(None);
        };
        let explained = self.explain_leaf(leaf)?;
        let Some(block) = explained
            .blocks
            .into_iter()
            .find(|b| b.row_group == row_group && b.block == 0)
        else {
            return Ok(None);
        };
        let reader = ChunkReader::new(self, leaf, row_group)?;
        let decoded = reader.decode(0..1, OutputLayout::default())?;
        let (plain_bytes, considered) = with_present(&decoded, |values, _| {
            if spec.ty.is_none() || values.is_empty() {
                return Ok((0, Vec::new()));
            }
            let stats = Stats::new(values, spec.kind);
            let chooser = Chooser::root(&POOL, Profile::Balanced, None)
                .of_rounded(self.is_rounded(spec.column));
            let all = chooser.consider(values, &stats)?;
            let mut all: Vec<Considered> = all
                .into_iter()
                .map(|(encoding, verdict)| Considered {
                    encoding: encoding.info().name,
                    estimate: verdict.ok().map(|bytes| bytes as u64),
                    reason: verdict.err(),
                })
                .collect();
            all.sort_by_key(|c| (c.estimate.is_none(), c.estimate, c.reason));
            Ok((values.plain_bytes() as u64, all))
        })?;
        let mut relations: Vec<RelationWhy> = tried
            .iter()
            .filter(|tried| tried.told == leaf)
            .map(|tried| self.relation(tried))
            .collect();
        relations.sort_by_key(|relation| {
            (
                !relation.taken,
                relation.told as i64 - relation.alone as i64,
            )
        });
        Ok(Some(ColumnWhy {
            path: spec.path.clone(),
            column: column_name(self.schema(), spec.column),
            row_group,
            block: 0,
            bytes: block.bytes,
            plain_bytes,
            chosen: block.values,
            considered,
            shared: sharing.map(SharedWhy::of).filter(|_| plain_bytes > 0),
            relations,
        }))
    }

    fn relation(&self, tried: &Tried) -> RelationWhy {
        let path = |leaf: &usize| {
            self.leaf(*leaf)
                .map(|leaf| leaf.path.clone())
                .unwrap_or_default()
        };
        RelationWhy {
            by: tried.by.iter().map(path).collect(),
            encoding: tried.encoding,
            validity: tried.validity,
            alone: tried.bytes.0 as u64,
            told: tried.bytes.1 as u64,
            encoded: tried.encoded,
            taken: tried.taken,
            reason: tried.reason,
        }
    }
}

impl SharedWhy {
    fn of(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Skipped(reason) => Self {
                distinct: None,
                alone: None,
                shared: None,
                encoded: false,
                taken: false,
                reason,
            },
            Sharing::Tried {
                distinct,
                own,
                shared,
                encoded,
            } => {
                let taken = encoded && shared < own;
                let reason = if taken { "" } else { "is not smaller" };
                let [distinct, alone, shared] =
                    [distinct, own, shared].map(|count| Some(count as u64));
                Self {
                    distinct,
                    alone,
                    shared,
                    encoded,
                    taken,
                    reason,
                }
            }
        }
    }
}
