//! Aggregates: counts, smallest, largest, sums; from zone maps where these are exact, else from the
//! encodings of a block.
//!
//! ```text
//! for each column, block by block:   exact zone map -> taken in
//!                                    bounds of strings -> kept; decoded at the end if they are better than the best value
//!                                    else -> opened; its encodings feed the aggregates that need values
//!                                    rows of a filter: skipped where by the zone map no row can change the result
//! ```
//!
//! Columns are read in parallel, each in the memory of one block; a column of Arrow's dictionaries
//! or runs in that of a row group.

mod distinct;
mod feed;
mod number;
mod order;
mod partial;
mod sum;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;
use feed::{feed, feeds};
use partial::PartialAggregate;
use rayon::prelude::*;

use super::batch::{RowRange, read_column};
use super::chunk_reader::ChunkReader;
use super::scan::ScanTask;
use super::{File, Reader};
use crate::arrow::{boolean_buffer, unknown_column};
use crate::error::{Error, Result};
use crate::predicate::{Predicate, innermost};
use crate::values::Bitmap;

/// An aggregate of a column. Only `Rows` and `Nulls` count NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Number of rows, as `Int64`.
    Rows,
    /// Number of values that are not NULL, as `Int64`.
    Count,
    /// Number of NULLs, as `Int64`.
    Nulls,
    /// Smallest value, in the column's type; NULL where there is none. Floats are in IEEE 754's total
    /// order, as in Arrow's kernels and in filters: -0.0 before 0.0, NaN last (with the sign bit
    /// set: first).
    Min,
    /// Largest value, in the order of `Min`.
    Max,
    /// Sum; NULL where there are no values. Of integers `Int64` or `UInt64`, exact, an error where
    /// it does not fit; of booleans the number that are true; of durations their type; of decimals
    /// all digits that 128 or 256 bits hold; of floats `Float64`, added in the order of the rows.
    Sum,
    /// Number of different values, exactly, as `Int64`; floats by their bits. All of them are held
    /// in memory: more than some million are refused.
    Distinct,
    /// Whether no value is less than the one before it, in the order of `Min`, as `Boolean`.
    Sorted,
}

impl Aggregate {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Rows, "rows"),
        (Self::Count, "count"),
        (Self::Nulls, "nulls"),
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Sum, "sum"),
        (Self::Distinct, "distinct"),
        (Self::Sorted, "sorted"),
    ];
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            Self::ALL
                .iter()
                .find(|(which, _)| which == self)
                .map_or("", |(_, name)| name),
        )
    }
}

impl FromStr for Aggregate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(which, _)| *which)
            .ok_or_else(|| {
                let known: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
                Error::invalid(format!(
                    "no aggregate is called {name:?}; there are {}",
                    known.join(", ")
                ))
            })
    }
}

impl File {
    /// Aggregates of columns over the rows for which the filter is true: one row, with a column such
    /// as `min(price)` for each aggregate.
    ///
    /// Without a filter, blocks whose zone map is exact are not decoded. Fails where a column is
    /// missing or nested, or has a type without such an aggregate.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Float64Array, Int64Array, RecordBatch, cast::AsArray, types::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let price = Arc::new(Float64Array::from(vec![Some(3.25), None, Some(4.5)])) as _;
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![7, 8, 9])) as _), ("price", price)])?;
    /// # let file = staffa::File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], Default::default())?)?;
    /// use staffa::Aggregate;
    ///
    /// let wanted = [("n", Aggregate::Max), ("price", Aggregate::Sum), ("price", Aggregate::Nulls)];
    /// let found = file.aggregate(&wanted, None)?;
    /// assert_eq!(found["max(n)"].as_primitive::<Int64Type>().value(0), 9);
    /// assert_eq!(found["sum(price)"].as_primitive::<Float64Type>().value(0), 7.75);
    /// let some = file.aggregate(&wanted, Some(&"n < 9".parse()?))?;
    /// assert_eq!(some["sum(price)"].as_primitive::<Float64Type>().value(0), 3.25);
    /// # Ok(())
    /// # }
    /// ```
    pub fn aggregate<S: AsRef<str>>(
        &self,
        wanted: &[(S, Aggregate)],
        filter: Option<&Predicate>,
    ) -> Result<RecordBatch> {
        let mut all = Aggregation::new(self.schema(), wanted)?;
        if let Some(filter) = filter {
            all.of_rows(self, filter)?;
        } else {
            each(&mut all.columns, |column| column.of_file(self))?;
        }
        all.finish()
    }
}

impl Reader {
    /// Aggregates of all batches that are left, as [`File::aggregate`].
    pub fn aggregate<S: AsRef<str>>(self, wanted: &[(S, Aggregate)]) -> Result<RecordBatch> {
        aggregate_batches(&self.schema(), self, wanted)
    }
}

/// Aggregates of batches, as [`File::aggregate`]: for batches that were filtered elsewhere.
pub fn aggregate_batches<S: AsRef<str>>(
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
    wanted: &[(S, Aggregate)],
) -> Result<RecordBatch> {
    let mut all = Aggregation::new(schema, wanted)?;
    for batch in batches {
        let batch = batch?;
        for column in &mut all.columns {
            let found = batch
                .columns()
                .get(column.position)
                .filter(|a| innermost(a.data_type()) == &column.ty);
            let found = found.ok_or_else(|| {
                Error::invalid(format!("the batch has no column {:?}", column.name))
            })?;
            column.push(found)?;
        }
    }
    all.finish()
}

/// The wanted aggregates, by column.
struct Aggregation {
    columns: Vec<Column>,
    /// Position of each wanted aggregate: column, and partial of it.
    order: Vec<(usize, usize)>,
}

struct Column {
    name: String,
    /// In the schema.
    position: usize,
    /// Of the values of runs and dictionaries.
    ty: DataType,
    partials: Vec<(Aggregate, PartialAggregate)>,
}

impl Aggregation {
    fn new<S: AsRef<str>>(schema: &SchemaRef, wanted: &[(S, Aggregate)]) -> Result<Self> {
        let mut all = Self {
            columns: Vec::new(),
            order: Vec::new(),
        };
        for (name, which) in wanted {
            let place = all.add(schema, name.as_ref(), *which)?;
            all.order.push(place);
        }
        Ok(all)
    }

    /// The place of an aggregate, which is added where it is new.
    fn add(&mut self, schema: &Schema, name: &str, which: Aggregate) -> Result<(usize, usize)> {
        let found = schema.column_with_name(name);
        let (position, field) = found.ok_or_else(|| unknown_column(name, schema))?;
        let ty = innermost(field.data_type());
        let refuse = |why: &str| {
            Error::invalid(format!(
                "column {name:?} of type {} has no {which}: {why}",
                field.data_type()
            ))
        };
        if ty.is_nested() || matches!(ty, DataType::Dictionary(..)) {
            return Err(refuse("it is nested"));
        }
        let mut known = self.columns.iter_mut().enumerate();
        let known = known.find(|(_, column)| column.position == position);
        if let Some((place, column)) = known {
            return Ok((place, column.add(which).map_err(|why| refuse(&why))?));
        }
        let mut column = Column {
            name: name.to_owned(),
            position,
            ty: ty.clone(),
            partials: Vec::new(),
        };
        let partial = column.add(which).map_err(|why| refuse(&why))?;
        self.columns.push(column);
        Ok((self.columns.len() - 1, partial))
    }

    /// Takes in the rows of a file that match: as many tasks at once as there are threads.
    fn of_rows(&mut self, file: &File, filter: &Predicate) -> Result<()> {
        let tested = file.column_positions(&filter.columns())?;
        let bound = filter.bind(file.schema())?;
        let positions = self.columns.iter().map(|column| &column.position);
        let flat = tested.iter().chain(positions).all(|c| file.is_flat(*c));
        let step = if flat { file.block_rows() } else { usize::MAX };
        let groups = file.footer().row_groups.iter().enumerate();
        let tasks = groups.flat_map(|(row_group, rows)| {
            let total = *rows as usize;
            (0..total).step_by(step).map(move |start| {
                let rows = start..start.saturating_add(step).min(total);
                RowRange { row_group, rows }
            })
        });
        let tasks: Vec<RowRange> = tasks.collect();
        for tasks in tasks.chunks(rayon::current_num_threads()) {
            let filtered = |range: &RowRange| {
                let mut task = ScanTask::new(file, range.clone());
                let matches = task.matches(&bound)?;
                Ok((task, matches))
            };
            let filtered: Vec<(ScanTask<'_>, Bitmap)> = if tasks.len() > 1 {
                tasks.par_iter().map(filtered).collect::<Result<_>>()?
            } else {
                tasks.iter().map(filtered).collect::<Result<_>>()?
            };
            let some = || filtered.iter().filter(|(_, matches)| !matches.is_zero());
            each(&mut self.columns, |column| {
                some().try_for_each(|(task, matches)| {
                    column.of_rows(file, task.range(), Some((task, matches)))
                })
            })?;
        }
        each(&mut self.columns, |column| column.of_bounds(file))
    }

    fn finish(self) -> Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (column, partial) in self.order {
            let column = self.columns.get(column);
            let found = column.and_then(|column| Some((column, column.partials.get(partial)?)));
            let (column, (which, partial)) =
                found.ok_or_else(|| Error::internal("an aggregate is missing"))?;
            let array = partial.finish(&column.ty, &column.name)?;
            let name = format!("{which}({})", column.name);
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::new(Schema::new(fields));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}

impl Column {
    /// The place of an aggregate, which is added where it is new; an error says why there is none.
    fn add(&mut self, which: Aggregate) -> Result<usize, String> {
        let mut known = self.partials.iter();
        if let Some(place) = known.position(|(known, _)| *known == which) {
            return Ok(place);
        }
        let partial = PartialAggregate::new(which, &self.ty)?;
        self.partials.push((which, partial));
        Ok(self.partials.len() - 1)
    }

    /// Takes in an array.
    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let array = plain(array)?;
        let mut partials = self.partials.iter_mut();
        partials.try_for_each(|(_, partial)| partial.push(&array))
    }

    /// Takes in all rows of a file.
    fn of_file(&mut self, file: &File) -> Result<()> {
        for (row_group, &rows) in file.footer().row_groups.iter().enumerate() {
            let rows = 0..rows as usize;
            self.of_rows(file, &RowRange { row_group, rows }, None)?;
        }
        self.of_bounds(file)
    }

    /// Takes in rows of whole blocks: all, or those that a filter has found.
    fn of_rows(
        &mut self,
        file: &File,
        range: &RowRange,
        filtered: Option<(&ScanTask<'_>, &Bitmap)>,
    ) -> Result<()> {
        let Some(leaf) = file.flat_leaf(self.position) else {
            let array = read_column(file, self.position, file.schema(), range, false)?;
            let matches = filtered.map(|(_, matches)| matches);
            return self.push(&rows_of(&plain(&array)?, matches)?);
        };
        let (reader, block_rows) = (
            ChunkReader::new(file, leaf, range.row_group)?,
            file.block_rows(),
        );
        for number in range.rows.start / block_rows..range.rows.end.div_ceil(block_rows) {
            let entry = reader.block_entry(number)?;
            let first = entry.first_value as usize;
            let offset = first.checked_sub(range.rows.start);
            let offset = offset.ok_or_else(|| Error::internal("rows of whole blocks expected"))?;
            let matches = filtered.map(|(_, matches)| matches.slice(offset, entry.values));
            let matches = matches.filter(|matches| matches.count_ones() < entry.values);
            if matches.as_ref().is_some_and(Bitmap::is_zero) {
                continue;
            }
            let task = filtered.map(|(task, _)| task);
            self.of_block(file, (leaf, &reader), number, task, matches.as_ref())?;
        }
        Ok(())
    }

    /// Takes in some rows of a block, or all.
    fn of_block(
        &mut self,
        file: &File,
        (leaf, reader): (usize, &ChunkReader<'_>),
        number: usize,
        task: Option<&ScanTask<'_>>,
        matches: Option<&Bitmap>,
    ) -> Result<()> {
        let entry = reader.block_entry(number)?;
        let first = entry.first_value as usize;
        let range = RowRange {
            row_group: reader.row_group,
            rows: first..first + entry.values,
        };
        let partials = self.partials.iter_mut().map(|(_, partial)| partial);
        let mut open: Vec<&mut PartialAggregate> = partials
            .filter_map(|partial| {
                let done = match matches {
                    None => partial.by_zone_map(entry, &range),
                    Some(_) => partial.settled(entry),
                };
                (!done).then_some(partial)
            })
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        if !feeds(&self.ty, reader.leaf) {
            let array = read_column(file, self.position, file.schema(), &range, false)?;
            let array = rows_of(&array, matches)?;
            return open.iter_mut().try_for_each(|partial| partial.push(&array));
        }
        let known = task.and_then(|task| task.opened(leaf, number));
        let opened = known.map_or_else(|| reader.open_block(number, false), Ok)?;
        let fed = opened.with(|block| feed(&mut open, block, reader.leaf.kind, matches));
        fed.map_err(|e| e.at(|p| reader.name_block(p, number)))
    }

    /// Takes in blocks of strings of which bounds were kept: the best bound first, until none is
    /// better than the best value.
    fn of_bounds(&mut self, file: &File) -> Result<()> {
        for (_, partial) in &mut self.partials {
            while let Some(range) = partial.next_open() {
                let array = read_column(file, self.position, file.schema(), &range, false)?;
                partial.push(&array)?;
            }
        }
        Ok(())
    }
}

/// Calls `of` with every column, in parallel where there are several and threads for them.
fn each(
    columns: &mut [Column],
    of: impl Fn(&mut Column) -> Result<()> + Send + Sync,
) -> Result<()> {
    if columns.len() < 2 || rayon::current_num_threads() < 2 {
        return columns.iter_mut().try_for_each(of);
    }
    columns.par_iter_mut().try_for_each(of)
}

/// Some rows of an array, or all.
fn rows_of(array: &ArrayRef, found: Option<&Bitmap>) -> Result<ArrayRef> {
    let Some(found) = found else {
        return Ok(array.clone());
    };
    Ok(filter(
        array,
        &BooleanArray::new(boolean_buffer(found.clone()), None),
    )?)
}

/// Runs and dictionaries cast to their values.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        // Arrow's kernels (59.3) overflow on an empty slice of runs.
        ty @ DataType::RunEndEncoded(..) if array.is_empty() => {
            arrow_array::new_empty_array(innermost(ty))
        }
        DataType::RunEndEncoded(_, values) => plain(&arrow_cast::cast(array, values.data_type())?)?,
        DataType::Dictionary(_, values) => arrow_cast::cast(array, values)?,
        _ => array.clone(),
    })
}
