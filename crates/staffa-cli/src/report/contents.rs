//! The contents of the page.

use std::cmp::Reverse;

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use staffa::{
    ColumnExplain, EncodingTree, File, Inspection, LeafInfo, LeafStatistics, RowGroupInfo,
};

use super::facts::About;
use super::parquet::ParquetSizes;
use super::profile::{Profile, profiles};
use super::zones::{self, Bin, Order};
use crate::error::{Failure, Result};
use crate::terminal::text::number;
use crate::trees::{TreeGroup, group_by_shape};

/// The name of the bytes that are no encoding's: headers, checksums, zone maps.
pub(super) const HEADERS: &str = "headers and index";

/// Zone map bars of a column, and of a column of a page with more than `MANY_COLUMNS`.
const BARS: (usize, usize) = (120, 48);
/// The details of more columns than this become elements only when they are opened, and zone maps have
/// fewer bars.
const MANY_COLUMNS: usize = 200;
/// Columns of the sample rows, and the rows that are shown at once.
const SAMPLE_COLUMNS: usize = 40;
pub(super) const SAMPLE_PAGE: u64 = 20;

/// The contents of the page.
pub(crate) struct Report {
    pub(super) about: About,
    /// Keys and values of the Arrow schema.
    pub(super) schema_metadata: Vec<(String, String)>,
    pub(crate) inspection: Inspection,
    /// The leaves, in the order of the file.
    pub(crate) columns: Vec<Column>,
    /// Columns of the schema.
    pub(crate) fields: usize,
    pub(super) sample: Sample,
    pub(super) parquet: ParquetSizes,
}

/// A leaf column.
pub(crate) struct Column {
    pub(crate) leaf: LeafInfo,
    /// The Arrow type.
    pub(super) data_type: String,
    /// The encoding trees of values, shared dictionaries and validity.
    pub(super) trees: Vec<Trees>,
    /// The bytes by encoding, children excluded; the largest first.
    pub(super) parts: Vec<Part>,
    pub(super) bins: Vec<Bin>,
    pub(super) order: Order,
    pub(super) profile: Profile,
    /// An estimate; exact below 256.
    pub(super) distinct: Option<u64>,
}

/// The encoding trees of one kind, grouped by shape, the most common first.
pub(super) struct Trees {
    pub(super) title: &'static str,
    /// What each tree encodes: a block or a dictionary.
    pub(super) noun: &'static str,
    pub(super) count: u64,
    pub(super) groups: Vec<TreeGroup>,
}

/// Bytes of an encoding in a column, children excluded. The root of the tree says which property of
/// the values is used, the encoding how the bits are laid out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) root: String,
    pub(super) encoding: String,
    pub(super) bytes: u64,
}

/// Some rows and their numbers.
pub(super) struct Sample {
    pub(super) rows: Vec<u64>,
    pub(super) batch: Option<RecordBatch>,
}

impl Report {
    /// Reads indexes, block headers, the values that the distributions are made of, and `rows` rows.
    pub(crate) fn of(file: &File, about: About, rows: u64, parquet: ParquetSizes) -> Result<Self> {
        let fail = |error| Failure::staffa(&about.path, error);
        let inspection = file.inspect().map_err(fail)?;
        let explained = file.explain().map_err(fail)?;
        let distinct = distinct(file.statistics().map_err(fail)?);
        let sample = sample(file, rows).map_err(fail)?;
        let bars = if inspection.columns.len() > MANY_COLUMNS {
            BARS.1
        } else {
            BARS.0
        };
        let profiles = profiles(file, &inspection)?;
        let leaves = inspection.columns.iter().zip(explained).zip(profiles);
        let column = |((leaf, explain), profile): ((&LeafInfo, ColumnExplain), Profile)| Column {
            data_type: leaf_type(file, leaf),
            parts: parts(leaf, &explain),
            trees: trees(&explain),
            bins: zones::bins(leaf, &inspection.row_groups, inspection.rows, bars),
            order: Order::of(leaf),
            distinct: distinct.get(&leaf.path).copied(),
            profile,
            leaf: leaf.clone(),
        };
        let columns = leaves.map(column).collect();
        let metadata = file.schema().metadata().iter();
        let mut schema_metadata: Vec<(String, String)> = metadata
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        schema_metadata.sort();
        Ok(Self {
            columns,
            fields: file.schema().fields().len(),
            schema_metadata,
            sample,
            parquet,
            inspection,
            about,
        })
    }

    pub(super) fn decoded_bytes(&self) -> u64 {
        self.columns
            .iter()
            .map(|column| column.leaf.decoded_bytes)
            .sum()
    }

    pub(super) fn blocks(&self) -> u64 {
        let chunks = self.columns.iter().flat_map(|column| &column.leaf.chunks);
        chunks.map(|chunk| chunk.blocks.len() as u64).sum()
    }

    pub(super) fn row_groups(&self) -> &[RowGroupInfo] {
        &self.inspection.row_groups
    }

    pub(super) fn has_many_columns(&self) -> bool {
        self.columns.len() > MANY_COLUMNS
    }
}

/// The Arrow type of a leaf.
pub(crate) fn leaf_type(file: &File, leaf: &LeafInfo) -> String {
    let top = file.schema().field_with_name(&leaf.column).ok();
    let data_type = top.and_then(|field| child_type(field, leaf.path.strip_prefix(&leaf.column)?));
    data_type.map_or_else(|| leaf.physical_type.clone(), type_name)
}

/// Shortest text of a bound that may be cut off, within a character or not.
const CUT_BYTES: usize = 12;

/// The smallest and the largest value of a leaf or block. Of strings the file has at most 16 bytes, the
/// smallest cut off, the largest cut off and rounded up: such are marked as bounds.
pub(crate) fn marked_bounds(
    physical_type: &str,
    min: Option<&str>,
    max: Option<&str>,
) -> [Option<String>; 2] {
    let is_cut = |text: &str| physical_type == "bytes" && text.len() >= CUT_BYTES && min != max;
    let marked = |value: Option<&str>, mark: &str| {
        let text = value?;
        Some(if is_cut(text) {
            format!("{mark} {text}")
        } else {
            text.to_owned()
        })
    };
    [marked(min, "≥"), marked(max, "≤")]
}

/// The type at a path below a field: `[]` are the items of a list or the entries of a map, `.x` is the
/// child x of a struct.
fn child_type<'a>(field: &'a Field, path: &str) -> Option<&'a DataType> {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct};
    if path.is_empty() {
        return Some(field.data_type());
    }
    match field.data_type() {
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | FixedSizeList(item, _)
        | Map(item, _) => child_type(item, path.strip_prefix("[]")?),
        Struct(fields) => {
            let path = path.strip_prefix('.')?;
            // Names may hold dots.
            fields
                .iter()
                .find_map(|field| child_type(field, path.strip_prefix(field.name().as_str())?))
        }
        _ => None,
    }
}

/// The type; of a nested one only the kind, as its children are columns of their own.
fn type_name(data_type: &DataType) -> String {
    let name = data_type.to_string();
    match name.split_once('(') {
        Some((kind, _)) if data_type.is_nested() => kind.to_owned(),
        _ => name,
    }
}

fn trees(explain: &ColumnExplain) -> Vec<Trees> {
    let shared: Vec<&EncodingTree> = explain.shared.iter().map(|part| &part.tree).collect();
    let values: Vec<&EncodingTree> = explain
        .blocks
        .iter()
        .filter_map(|block| block.values.as_ref())
        .collect();
    let validity: Vec<&EncodingTree> = explain
        .blocks
        .iter()
        .filter_map(|block| block.validity.as_ref())
        .collect();
    let all = [
        ("Values", "block", values),
        ("Shared dictionaries", "dictionary", shared),
        ("Validity", "block", validity),
    ];
    let present = all.into_iter().filter(|(_, _, trees)| !trees.is_empty());
    present
        .map(|(title, noun, trees)| Trees {
            title,
            noun,
            count: trees.len() as u64,
            groups: group_by_shape(&trees),
        })
        .collect()
}

/// The bytes of a column by encoding.
fn parts(leaf: &LeafInfo, explain: &ColumnExplain) -> Vec<Part> {
    fn add(root: &str, tree: &EncodingTree, parts: &mut Vec<Part>) -> u64 {
        let children: u64 = tree
            .children
            .iter()
            .map(|child| add(root, child, parts))
            .sum();
        let bytes = tree.bytes.saturating_sub(children);
        match parts
            .iter_mut()
            .find(|part| part.root == root && part.encoding == tree.encoding)
        {
            Some(part) => part.bytes += bytes,
            None => parts.push(Part {
                root: root.to_owned(),
                encoding: tree.encoding.clone(),
                bytes,
            }),
        }
        tree.bytes
    }
    let mut parts = Vec::new();
    let shared = explain.shared.iter().map(|part| &part.tree);
    let blocks = explain
        .blocks
        .iter()
        .flat_map(|block| block.values.iter().chain(&block.validity));
    let encoded: u64 = shared
        .chain(blocks)
        .map(|tree| add(&tree.encoding, tree, &mut parts))
        .sum();
    let headers = HEADERS.to_owned();
    let bytes = leaf.bytes.saturating_sub(encoded);
    parts.push(Part {
        root: headers.clone(),
        encoding: headers,
        bytes,
    });
    parts.retain(|part| part.bytes > 0);
    parts.sort_by_key(|part| Reverse(part.bytes));
    parts
}

/// Distinct values by the paths of the leaves, where the file has them.
fn distinct(statistics: Vec<LeafStatistics>) -> HashMap<String, u64> {
    let statistics = statistics.into_iter();
    statistics.map(|leaf| (leaf.path, leaf.distinct)).collect()
}

/// A number of distinct values: exact below 256, else an estimate.
pub(crate) fn distinct_text(distinct: Option<u64>) -> String {
    match distinct {
        Some(distinct) if distinct > 255 => format!("~{}", number(distinct)),
        Some(distinct) => number(distinct),
        None => "-".into(),
    }
}

/// A page of first rows, and others at even distances.
fn sample(file: &File, wanted: u64) -> staffa::Result<Sample> {
    let all = file.num_rows();
    let wanted = wanted.min(all);
    let first = SAMPLE_PAGE.min(wanted);
    let rest = wanted - first;
    let even = |index: u64| {
        // Between the first rows and the end; the last one is the last row of the table.
        let share = u128::from(all - first) * u128::from(index + 1) / u128::from(rest.max(1));
        first + share as u64 - 1
    };
    let rows: Vec<u64> = (0..first).chain((0..rest).map(even)).collect();
    let fields = file.schema().fields();
    let names: Vec<String> = fields
        .iter()
        .take(SAMPLE_COLUMNS)
        .map(|field| field.name().clone())
        .collect();
    let batch = if rows.is_empty() {
        None
    } else {
        Some(file.take(&rows).columns(names).read()?)
    };
    Ok(Sample { rows, batch })
}
