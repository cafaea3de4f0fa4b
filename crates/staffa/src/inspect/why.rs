//! Why the columns of a file are encoded as they are: the writer's decisions are repeated, and all
//! that was considered is listed.

use super::{EncodingTree, column_name, with_present};
use crate::arrow::shred;
use crate::encode::{Chooser, Profile, Rules, Stats};
use crate::encodings::POOL;
use crate::error::Result;
use crate::limits::Cancel;
use crate::limits::map_parallel;
use crate::read::{ChunkReader, File, OutputLayout, RowRange, read_batch};
use crate::values::{Kind, Values};
use crate::write::block_rows::BlockRows;
use crate::write::choose::choose;
use crate::write::chunk::ChunkOptions;
use crate::write::correlate::{Tried, correlate};
use crate::write::{Sharing, rounding};

/// The decisions about one block of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ColumnWhy {
    /// Its path.
    pub path: String,
    /// The top-level column it belongs to.
    pub column: String,
    /// The row group of the block.
    pub row_group: usize,
    /// The number of the block in its chunk.
    pub block: usize,
    /// Bytes the block takes in the file.
    pub bytes: u64,
    /// Bytes of its values, stored plain.
    pub plain_bytes: u64,
    /// Its tree; none where all values are NULL.
    pub chosen: Option<EncodingTree>,
    /// Every encoding: first those with an estimate, the smallest first, then the others.
    pub considered: Vec<Considered>,
    /// The dictionary that the blocks of the first row group could share; none where no values are
    /// stored.
    pub shared: Option<SharedWhy>,
    /// The columns from which it could be derived, within the first row group: the largest savings
    /// first.
    pub relations: Vec<RelationWhy>,
}

/// The chooser's verdict on an encoding.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Considered {
    /// Its name.
    pub encoding: &'static str,
    /// Its estimated cost in bytes, children included; none where it was not estimated.
    pub estimate: Option<u64>,
    /// Why it was not estimated.
    pub reason: Option<&'static str>,
}

/// The dictionary that the blocks of a chunk could share.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SharedWhy {
    /// Distinct values of the chunk, where they were counted.
    pub distinct: Option<u64>,
    /// Bytes of the blocks, each with a tree of its own; extrapolated from some where a dictionary is clearly smaller.
    pub alone: Option<u64>,
    /// Bytes of the dictionary and the blocks, each with its codes or its own tree.
    pub shared: Option<u64>,
    /// Whether `shared` was encoded; else it is an estimate.
    pub encoded: bool,
    /// Whether the blocks share it.
    pub taken: bool,
    /// Why not; empty where they do.
    pub reason: &'static str,
}

/// A column, or a sum of several, from which a column could be derived.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RelationWhy {
    /// Paths of the reference columns.
    pub by: Vec<String>,
    /// How: `equal`, `difference`, `grouped`; none where only the validity would be derived.
    pub encoding: Option<&'static str>,
    /// Whether the validity would be derived.
    pub validity: bool,
    /// Bytes of what was compared, alone: one block, or all where all were encoded.
    pub alone: u64,
    /// Bytes of the same, derived.
    pub derived: u64,
    /// Whether `derived` was encoded; else it is an estimate.
    pub encoded: bool,
    /// Whether the column is derived so.
    pub taken: bool,
    /// Why not; empty where it is.
    pub reason: &'static str,
}

impl File {
    /// Why the columns are encoded as they are: what this release thinks of each encoding for the
    /// first block of every leaf column, of a dictionary shared by the blocks of the first row
    /// group, and of columns derived from one another. This repeats the writer's work with profile
    /// `balanced`, and takes as long.
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
    /// assert!(relation.derived < relation.alone);
    /// # Ok(())
    /// # }
    /// ```
    pub fn why(&self) -> Result<Vec<ColumnWhy>> {
        let (sharing, tried) = self.choose_again()?;
        let leaves = map_parallel(0..self.footer().leaves.len(), |leaf| {
            let sharing = sharing.get(leaf).copied();
            self.why_leaf(leaf, sharing, &tried)
        })?;
        Ok(leaves.into_iter().flatten().collect())
    }

    /// The decisions about a whole row group: shared dictionaries and derived columns.
    fn choose_again(&self) -> Result<(Vec<Sharing>, Vec<Tried>)> {
        let Some(rows) = self.footer().row_groups.first() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let columns: Vec<usize> = (0..self.schema().fields().len()).collect();
        let (row_group, rows) = (0, 0..*rows as usize);
        let range = RowRange { row_group, rows };
        let batch = read_batch(self, &columns, self.schema(), &range)?;
        let leaves = shred(&batch, self.layout())?;
        let leaves = leaves.iter().zip(self.layout().leaves());
        let never = Cancel::new();
        let mut chosen = map_parallel(leaves.enumerate(), |(i, (array, leaf))| {
            let blocks = BlockRows::of_all(self.chunk(i, 0)?.block_rows as usize);
            let options = ChunkOptions {
                rules: self.balanced(leaf.column),
                requested_encoding: None,
                blocks,
                verify: false,
                kind: leaf.kind,
                cancel: &never,
            };
            choose(array, options, None)
        })?;
        let sharing = chosen.iter().map(|column| column.sharing).collect();
        Ok((sharing, correlate(&mut chosen, 0, 0.0, &mut None)?))
    }

    /// The rules of profile `balanced` for a column.
    fn balanced(&self, column: usize) -> Rules {
        let field = self.schema().fields().get(column);
        Rules {
            rounded: field.is_some_and(|field| rounding::is_marked(field)),
            ..Rules::of(&POOL, Profile::Balanced)
        }
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
        let mut blocks = self.explain_leaf(leaf)?.blocks.into_iter();
        let Some(block) = blocks.find(|b| b.row_group == row_group && b.block == 0) else {
            return Ok(None);
        };
        let reader = ChunkReader::new(self, leaf, row_group)?;
        let decoded = reader.decode(0..1, OutputLayout::default())?;
        let (plain_bytes, considered) = with_present(&decoded, |values, _| {
            if spec.ty.is_none() || values.is_empty() {
                return Ok((0, Vec::new()));
            }
            let considered = considered(self.balanced(spec.column), values, spec.kind)?;
            Ok((values.plain_bytes() as u64, considered))
        })?;
        let own = tried.iter().filter(|tried| tried.leaf == leaf);
        let mut relations: Vec<RelationWhy> = own
            .map(|tried| self.relation(tried))
            .collect::<Result<_>>()?;
        relations.sort_by_key(|r| (!r.taken, r.derived as i64 - r.alone as i64));
        Ok(Some(ColumnWhy {
            path: spec.path.to_string(),
            column: column_name(self.schema(), spec.column)?,
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

    fn relation(&self, tried: &Tried) -> Result<RelationWhy> {
        let path = |leaf: &usize| Ok(self.leaf(*leaf)?.path.to_string());
        let (alone, derived) = tried.bytes;
        Ok(RelationWhy {
            by: tried.references.iter().map(path).collect::<Result<_>>()?,
            encoding: tried.encoding,
            validity: tried.validity,
            alone: alone as u64,
            derived: derived as u64,
            encoded: tried.encoded,
            taken: tried.taken,
            reason: tried.reason,
        })
    }
}

/// The verdicts of the chooser on these values, the smallest estimates first.
fn considered(rules: Rules, values: Values<'_>, kind: Kind) -> Result<Vec<Considered>> {
    let chooser = Chooser::with_rules(rules, None);
    let all = chooser.consider(values, &Stats::new(values, kind))?;
    let all = all.into_iter().map(|(encoding, verdict)| Considered {
        encoding: encoding.info().name,
        estimate: verdict.ok().map(|bytes| bytes as u64),
        reason: verdict.err(),
    });
    let mut all: Vec<Considered> = all.collect();
    all.sort_by_key(|c| (c.estimate.is_none(), c.estimate, c.reason));
    Ok(all)
}

impl SharedWhy {
    fn of(sharing: Sharing) -> Self {
        let (counts, encoded, reason) = match sharing {
            Sharing::Skipped(reason) => ([None; 3], false, reason),
            Sharing::Tried {
                distinct,
                own,
                shared,
                encoded,
                taken,
            } => {
                let reason = match (taken, shared < own) {
                    (true, _) => "",
                    (false, true) => "saves too little",
                    (false, false) => "is not smaller",
                };
                let counts = [distinct, own, shared].map(|count| Some(count as u64));
                (counts, encoded, reason)
            }
        };
        let [distinct, alone, shared] = counts;
        Self {
            distinct,
            alone,
            shared,
            encoded,
            taken: reason.is_empty(),
            reason,
        }
    }
}
