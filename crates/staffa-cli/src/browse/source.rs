//! The file: what the views read, each part once, and its errors as text.

use std::cell::OnceCell;
use std::collections::HashMap;

use arrow_array::ArrayRef;
use staffa::{ColumnExplain, File, Inspection, LeafStatistics};

use crate::report::{About, leaf_type, marked_bounds};

/// A part of the file, or why it cannot be shown.
pub(super) type Shown<T> = Result<T, String>;

pub(super) struct Source {
    pub(super) file: File,
    pub(super) about: About,
    inspection: OnceCell<Shown<Inspection>>,
    statistics: OnceCell<Vec<LeafStatistics>>,
    leaves: OnceCell<Vec<Leaf>>,
}

/// A leaf column in figures; what a damaged index hides is None.
pub(super) struct Leaf {
    pub(super) path: String,
    /// The position of its top-level column.
    pub(super) field: usize,
    pub(super) data_type: String,
    pub(super) nulls: Option<u64>,
    pub(super) distinct: Option<u64>,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
    pub(super) bytes: Option<u64>,
    pub(super) decoded_bytes: Option<u64>,
    pub(super) encodings: String,
}

impl Source {
    pub(super) fn new(file: File, about: About) -> Self {
        Self {
            file,
            about,
            inspection: OnceCell::new(),
            statistics: OnceCell::new(),
            leaves: OnceCell::new(),
        }
    }

    /// Without the path, which stands above.
    fn error(error: staffa::Error) -> String {
        error.at(|place| place.path = None).to_string()
    }

    /// From the column indexes, when a view first needs them.
    pub(super) fn inspection(&self) -> Result<&Inspection, &String> {
        let inspect = || self.file.inspect().map_err(Self::error);
        self.inspection.get_or_init(inspect).as_ref()
    }

    /// From the footer alone; none where its writer left them out.
    fn statistics(&self) -> &[LeafStatistics] {
        let read = || self.file.statistics().unwrap_or_default();
        self.statistics.get_or_init(read)
    }

    pub(super) fn leaves(&self) -> &[Leaf] {
        self.leaves.get_or_init(|| self.find_leaves())
    }

    /// From the footer, and the column indexes where they can be read.
    fn find_leaves(&self) -> Vec<Leaf> {
        let statistics = self.statistics().iter();
        let mut statistics: HashMap<&str, &LeafStatistics> =
            statistics.map(|leaf| (leaf.path.as_str(), leaf)).collect();
        let inspected = self
            .inspection()
            .map(|inspection| inspection.columns.iter());
        let mut inspected: HashMap<&str, _> = inspected
            .into_iter()
            .flatten()
            .map(|leaf| (leaf.path.as_str(), leaf))
            .collect();
        let mut field = 0;
        let leaf = |requirement: staffa::LeafRequirement| {
            let path = requirement.path;
            let known = statistics.remove(path.as_str());
            let leaf = inspected.remove(path.as_str());
            field = self.field_of(leaf.map(|leaf| leaf.column.as_str()), &path, field);
            let [min, max] = match (leaf, known) {
                (Some(leaf), _) => marked_bounds(
                    &leaf.physical_type,
                    leaf.min.as_deref(),
                    leaf.max.as_deref(),
                ),
                // The physical type stands in the damaged index: a mark too many is true as well.
                (None, Some(known)) => {
                    let is_number = self.file.schema().field(field).data_type().is_primitive();
                    let physical_type = if is_number { "words" } else { "bytes" };
                    marked_bounds(physical_type, known.min.as_deref(), known.max.as_deref())
                }
                (None, None) => [None, None],
            };
            Leaf {
                field,
                data_type: match leaf {
                    Some(leaf) => leaf_type(&self.file, leaf),
                    None => self.file.schema().field(field).data_type().to_string(),
                },
                nulls: leaf
                    .map(|leaf| leaf.nulls)
                    .or(known.map(|known| known.nulls)),
                distinct: known.map(|known| known.distinct),
                min,
                max,
                bytes: leaf.map(|leaf| leaf.bytes),
                decoded_bytes: leaf.map(|leaf| leaf.decoded_bytes),
                encodings: requirement.encodings.join(", "),
                path,
            }
        };
        let has_fields = !self.file.schema().fields().is_empty();
        let requirements = self.file.requirements().into_iter();
        requirements.filter(|_| has_fields).map(leaf).collect()
    }

    /// The top-level column of a leaf; leaves are in the order of the columns.
    fn field_of(&self, column: Option<&str>, path: &str, last: usize) -> usize {
        let fields = self.file.schema().fields();
        let own = |name: &String| match column {
            Some(column) => name == column,
            None => path.starts_with(name.as_str()),
        };
        let found = fields.iter().skip(last).position(|field| own(field.name()));
        last + found.unwrap_or(0)
    }

    /// Rows of a column, by number.
    pub(super) fn read(&self, rows: &[u64], field: usize) -> Shown<ArrayRef> {
        let names = [self.file.schema().field(field).name().clone()];
        let range = rows.first().zip(rows.last()).map(|(a, b)| *a..b + 1);
        let range = range.filter(|range| range.end - range.start == rows.len() as u64);
        let take = match range {
            Some(range) => self.file.take(range),
            None => self.file.take(rows),
        };
        let batch = take.columns(names).read().map_err(Self::error)?;
        Ok(batch.column(0).clone())
    }

    /// Bytes of a value of a column, decoded.
    pub(super) fn bytes_per_row(&self, field: usize) -> u64 {
        let name = self.file.schema().field(field).name();
        let is_own = |path: &str| {
            let rest = path.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let own = self.statistics().iter().filter(|leaf| is_own(&leaf.path));
        let bytes: u64 = own.map(|leaf| leaf.decoded_bytes).sum();
        bytes / self.file.num_rows().max(1)
    }

    pub(super) fn explain(&self, path: &str, row_group: usize) -> Shown<ColumnExplain> {
        let explained = self.file.explain_chunk(path, row_group);
        explained.map_err(Self::error)
    }
}
