//! The page of `staffa report`: what a file holds and how, in one piece of HTML that needs nothing
//! else.
//!
//! Here everything is gathered from the file; `page` writes it down, with the pictures of `treemap`
//! and `zones`. All text of the file goes through `html`.

mod html;
mod page;
pub(crate) mod parquet;
mod treemap;
mod zones;

use std::cmp::Reverse;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use staffa::{ColumnExplain, EncodingTree, File, Inspection, LeafInfo, RowGroupInfo};

pub(crate) use page::page;
use parquet::Compared;
use zones::{Bin, Order};

use crate::commands::explain::{Group, grouped};

/// Columns in the list, by bytes; of a file with more the others are counted. A page is a few MB at
/// most.
const MOST_LISTED: usize = 5000;
/// Bars of a strip in the list, and in a page of more columns than `MANY_COLUMNS`.
const BARS: (usize, usize) = (160, 64);
/// From here on, what is below a column is built when it is opened, and strips have fewer bars.
const MANY_COLUMNS: usize = 200;
/// Columns of the sample.
const SAMPLE_COLUMNS: usize = 40;

/// Everything the page shows.
pub(crate) struct Report {
    /// Name of the file, without its folder.
    pub(crate) name: String,
    pub(crate) inspection: Inspection,
    /// The leaves, in the order of the file.
    pub(crate) columns: Vec<Column>,
    /// Columns of the schema.
    pub(crate) fields: usize,
    pub(crate) sample: Sample,
    pub(crate) compared: Compared,
}

/// A leaf column.
pub(crate) struct Column {
    pub(crate) leaf: LeafInfo,
    /// Its Arrow type.
    data_type: String,
    /// Trees of one shape added up, the most common first: of shared parts, values, validity.
    trees: Vec<Trees>,
    /// Own bytes of every encoding, and of what is none; the largest first.
    parts: Vec<Part>,
    bins: Vec<Bin>,
    order: Order,
}

struct Trees {
    /// What they are trees of.
    what: &'static str,
    /// And what each stands in.
    noun: &'static str,
    count: u64,
    groups: Vec<Group>,
}

/// Bytes of an encoding in a column, its children's not included, by the encoding at the root of
/// the tree: that one tells what is made use of, the other how the bits lie.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) root: String,
    pub(crate) encoding: String,
    pub(crate) bytes: u64,
}

/// Some rows and their numbers.
pub(crate) struct Sample {
    rows: Vec<u64>,
    batch: Option<RecordBatch>,
}

impl Report {
    /// Reads what the page shows: indexes, blocks' headers, and `rows` rows.
    pub(crate) fn gather(
        file: &File,
        name: String,
        rows: u64,
        compared: Compared,
    ) -> staffa::Result<Self> {
        let inspection = file.inspect()?;
        let explained = file.explain()?;
        let bars = if inspection.columns.len() > MANY_COLUMNS {
            BARS.1
        } else {
            BARS.0
        };
        let column = |(leaf, explain): (&LeafInfo, ColumnExplain)| {
            let top = file.schema().field_with_name(&leaf.column).ok();
            let data_type =
                top.and_then(|field| part_type(field, leaf.path.strip_prefix(&leaf.column)?));
            Column {
                data_type: data_type.map_or_else(|| leaf.physical_type.clone(), type_name),
                parts: parts(leaf, &explain),
                trees: trees(&explain),
                bins: zones::bins(leaf, &inspection.row_groups, inspection.rows, bars),
                order: Order::of(leaf),
                leaf: leaf.clone(),
            }
        };
        let columns = inspection
            .columns
            .iter()
            .zip(explained)
            .map(column)
            .collect();
        let sample = sample(file, rows)?;
        Ok(Self {
            name,
            columns,
            fields: file.schema().fields().len(),
            sample,
            compared,
            inspection,
        })
    }

    fn decoded_bytes(&self) -> u64 {
        self.columns
            .iter()
            .map(|column| column.leaf.decoded_bytes)
            .sum()
    }

    fn blocks(&self) -> u64 {
        let chunks = self.columns.iter().flat_map(|column| &column.leaf.chunks);
        chunks.map(|chunk| chunk.blocks.len() as u64).sum()
    }

    fn row_groups(&self) -> &[RowGroupInfo] {
        &self.inspection.row_groups
    }

    fn many(&self) -> bool {
        self.columns.len() > MANY_COLUMNS
    }
}

/// The type at a path below a field: `[]` are the items of a list, `.x` is the child x of a struct.
fn part_type<'a>(field: &'a Field, path: &str) -> Option<&'a DataType> {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView, Struct};
    if path.is_empty() {
        return Some(field.data_type());
    }
    match field.data_type() {
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | FixedSizeList(item, _) => part_type(item, path.strip_prefix("[]")?),
        Struct(fields) => {
            let path = path.strip_prefix('.')?;
            // Names may hold dots.
            fields
                .iter()
                .find_map(|field| part_type(field, path.strip_prefix(field.name().as_str())?))
        }
        _ => None,
    }
}

/// Of a nested type the kind only: its parts are columns of their own.
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
        ("Shared by the blocks of a row group", "part", shared),
        ("Validity (which are NULL)", "block", validity),
    ];
    let some = all.into_iter().filter(|(_, _, trees)| !trees.is_empty());
    some.map(|(what, noun, trees)| Trees {
        what,
        noun,
        count: trees.len() as u64,
        groups: grouped(&trees),
    })
    .collect()
}

/// Where the bytes of a column are, encoding by encoding.
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
    let headers = treemap::HEADERS.to_owned();
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

/// The first rows and others at even distances.
fn sample(file: &File, wanted: u64) -> staffa::Result<Sample> {
    const FIRST: u64 = 3;
    let all = file.num_rows();
    let wanted = wanted.min(all);
    let first = FIRST.min(wanted);
    let rest = wanted - first;
    let even = |at: u64| {
        // In between the first ones and the end, the last row being the last.
        let share = u128::from(all - first) * u128::from(at + 1) / u128::from(rest.max(1));
        first + share as u64 - 1
    };
    let rows: Vec<u64> = (0..first).chain((0..rest).map(even)).collect();
    let fields = file.schema().fields();
    let names: Vec<String> = fields
        .iter()
        .take(SAMPLE_COLUMNS)
        .map(|field| field.name().clone())
        .collect();
    let columns = (fields.len() > names.len()).then_some(names.as_slice());
    let batch = if rows.is_empty() {
        None
    } else {
        Some(file.take(&rows, columns, false)?)
    };
    Ok(Sample { rows, batch })
}
