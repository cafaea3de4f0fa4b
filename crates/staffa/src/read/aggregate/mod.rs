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
mod kind;
mod mean;
mod number;
mod order;
mod partial;
mod plain;
mod sum;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use feed::{feed, feeds};
pub use kind::Aggregate;
use partial::PartialAggregate;
use plain::{plain, rows_of};

use super::batch::{RowRange, RowRanges, STEP_ROWS, read_column};
use super::cache::OpenBlock;
use super::chunk_reader::{ChunkReader, Keep};
use super::ranges::SCAN_GAP;
use super::rows::OpenBlocks;
use super::scan::ScanTask;
use super::support::positions_of;
use super::{File, Reader};
use crate::error::{Error, Result};
use crate::limits::{map_parallel, threads};
use crate::predicate::{Predicate, innermost};
use crate::values::Bitmap;

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
        let tested = filter.map(|filter| self.tested_columns(filter));
        let tested = tested.transpose()?.unwrap_or_default();
        self.begin_indexes(all.columns.keys().chain(&tested).copied())?;
        match filter {
            Some(filter) => all.of_rows(self, filter)?,
            None => all.each(|column| column.of_file(self))?,
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
        for column in all.columns.values_mut() {
            let found = batch.columns().get(column.position);
            let found = found.filter(|array| innermost(array.data_type()) == &column.ty);
            let missing = || Error::invalid(format!("the batch has no column {:?}", column.name));
            column.push(&plain(found.ok_or_else(missing)?)?)?;
        }
    }
    all.finish()
}

/// The wanted aggregates, by column.
struct Aggregation {
    /// By position in the schema.
    columns: BTreeMap<usize, Column>,
    /// Column and kind of each wanted aggregate.
    order: Vec<(usize, Aggregate)>,
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
        let (mut columns, mut order) = (BTreeMap::new(), Vec::new());
        let names: Vec<&str> = wanted.iter().map(|(name, _)| name.as_ref()).collect();
        let positions = positions_of(schema, &names)?;
        for ((name, position), (_, which)) in names.into_iter().zip(positions).zip(wanted) {
            let (field, which) = (schema.field(position), *which);
            let column = columns.entry(position).or_insert_with(|| Column {
                name: name.to_owned(),
                position,
                ty: innermost(field.data_type()).clone(),
                partials: Vec::new(),
            });
            for part in which.parts() {
                column.add(*part).map_err(|why| {
                    let ty = field.data_type();
                    Error::invalid(format!(
                        "column {name:?} of type {ty} has no {which}: {why}"
                    ))
                })?;
            }
            order.push((position, which));
        }
        Ok(Self { columns, order })
    }

    /// Calls `of` with every column, in parallel where there are several and threads for them.
    fn each(&mut self, of: impl Fn(&mut Column) -> Result<()> + Send + Sync) -> Result<()> {
        map_parallel(self.columns.values_mut(), of).map(drop)
    }

    /// Takes in the rows of a file that match: as many tasks at once as there are threads.
    fn of_rows(&mut self, file: &File, filter: &Predicate) -> Result<()> {
        let tested = file.tested_columns(filter)?;
        let bound = filter.bind(file.schema())?;
        let mut columns = tested.iter().chain(self.columns.keys());
        let flat = columns.all(|column| file.is_flat(*column));
        let step = if flat { STEP_ROWS } else { usize::MAX };
        let mut ranges = RowRanges::of_file(file, step);
        loop {
            let tasks: Vec<RowRange> = ranges.by_ref().take(threads()).collect();
            if tasks.is_empty() {
                return self.each(|column| column.of_bounds(file));
            }
            let tasks: Vec<ScanTask> = tasks.into_iter().map(|r| ScanTask::new(file, r)).collect();
            let mut ranges = Vec::new();
            for task in &tasks {
                task.add_ranges(&bound, &mut ranges)?;
            }
            file.begin(std::mem::take(&mut ranges), SCAN_GAP);
            let filtered = map_parallel(tasks, |mut task| {
                let matches = task.matches(&bound)?;
                Ok((task, matches))
            })?;
            let some = || filtered.iter().filter(|(_, matches)| !matches.is_zero());
            for ((task, matches), column) in
                some().flat_map(|task| self.columns.keys().map(move |column| (task, column)))
            {
                let (range, opened) = (&task.range, &task.opened);
                file.add_column_ranges(*column, range, Some(matches), opened, &mut ranges)?;
            }
            file.begin(ranges, SCAN_GAP);
            self.each(|column| {
                some().try_for_each(|(task, matches)| {
                    column.of_rows(file, &task.range, Some((task, matches)))
                })
            })?;
        }
    }

    fn finish(self) -> Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (position, which) in self.order {
            let missing = || Error::internal(format!("no {which} of column {position}"));
            let column = self.columns.get(&position).ok_or_else(missing)?;
            let array = match which {
                Aggregate::Mean => column.mean()?,
                which => column.finish(which)?,
            };
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
    /// Adds an aggregate, once; an error says why there is none.
    fn add(&mut self, which: Aggregate) -> Result<(), &'static str> {
        if self.ty.is_nested() || matches!(self.ty, DataType::Dictionary(..)) {
            return Err("it is nested");
        }
        if self.partials.iter().all(|(known, _)| *known != which) {
            self.partials
                .push((which, PartialAggregate::new(which, &self.ty)?));
        }
        Ok(())
    }

    /// The value of an aggregate that was added, one row.
    fn finish(&self, which: Aggregate) -> Result<ArrayRef> {
        self.partial(which)?.finish(which, &self.ty, &self.name)
    }

    fn partial(&self, which: Aggregate) -> Result<&PartialAggregate> {
        let partial = self.partials.iter().find(|(known, _)| *known == which);
        let missing = || Error::internal(format!("no {which} of column {:?}", self.name));
        Ok(&partial.ok_or_else(missing)?.1)
    }

    /// Takes in an array of the innermost type.
    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let mut partials = self.partials.iter_mut();
        partials.try_for_each(|(_, partial)| partial.push(array))
    }

    /// Takes in all rows of a file.
    fn of_file(&mut self, file: &File) -> Result<()> {
        let mut groups = RowRanges::of_file(file, usize::MAX);
        groups.try_for_each(|range| {
            self.begin(file, &range)?;
            self.of_rows(file, &range, None)
        })?;
        self.of_bounds(file)
    }

    /// Tells the source of a file that is elsewhere which blocks of a row group zone maps alone leave
    /// open.
    fn begin(&self, file: &File, range: &RowRange) -> Result<()> {
        if file.store().as_source().is_none() {
            return Ok(());
        }
        let mut ranges = Vec::new();
        let Some(leaf) = file.flat_leaf(self.position) else {
            let none = OpenBlocks::new();
            file.add_column_ranges(self.position, range, None, &none, &mut ranges)?;
            file.begin(ranges, SCAN_GAP);
            return Ok(());
        };
        let reader = ChunkReader::new(file, leaf, range.row_group)?;
        let fresh = |which: &Aggregate| PartialAggregate::new(*which, &self.ty);
        let partials = self.partials.iter().map(|(which, _)| fresh(which));
        let partials: Result<Vec<_>, _> = partials.collect();
        let mut partials = partials.map_err(Error::internal)?;
        let mut open = Vec::new();
        for block in reader.blocks_of(&range.rows) {
            let entry = reader.block_entry(block)?;
            for partial in &mut partials {
                if !partial.by_zone_map(entry, range)? {
                    open.push(block);
                    break;
                }
            }
        }
        reader.add_ranges(open.into_iter(), &mut ranges)?;
        file.begin(ranges, SCAN_GAP);
        Ok(())
    }

    /// Takes in rows of whole blocks: all, or those that a filter has found.
    fn of_rows(
        &mut self,
        file: &File,
        range: &RowRange,
        filtered: Option<(&ScanTask, &Bitmap)>,
    ) -> Result<()> {
        let Some(leaf) = file.flat_leaf(self.position) else {
            let array = read_column(file, self.position, file.schema(), range, false)?;
            let matches = filtered.map(|(_, matches)| matches);
            return self.push(&rows_of(&plain(&array)?, matches)?);
        };
        let reader = ChunkReader::new(file, leaf, range.row_group)?;
        for number in reader.blocks_of(&range.rows) {
            let entry = reader.block_entry(number)?;
            let first = entry.first_value as usize;
            let offset = first.checked_sub(range.rows.start);
            let offset = offset.ok_or_else(|| Error::internal("rows of whole blocks expected"))?;
            let matches = filtered.map(|(_, matches)| matches.slice(offset, entry.values));
            let matches = matches.filter(|matches| matches.count_ones() < entry.values);
            if matches.as_ref().is_some_and(Bitmap::is_zero) {
                continue;
            }
            let known = filtered.and_then(|(task, _)| task.opened.get(&(leaf, number)));
            self.of_block(&reader, number, known, matches.as_ref())?;
        }
        Ok(())
    }

    /// Takes in some rows of a block, or all.
    fn of_block(
        &mut self,
        reader: &ChunkReader<'_>,
        number: usize,
        known: Option<&Arc<OpenBlock>>,
        matches: Option<&Bitmap>,
    ) -> Result<()> {
        let (file, entry) = (reader.file, reader.block_entry(number)?);
        let first = entry.first_value as usize;
        let range = RowRange {
            row_group: reader.row_group,
            rows: first..first + entry.values,
        };
        let mut open = Vec::new();
        for (_, partial) in &mut self.partials {
            let done = match matches {
                None => partial.by_zone_map(entry, &range)?,
                Some(_) => partial.settled(entry)?,
            };
            if !done {
                open.push(partial);
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        if !feeds(&self.ty, reader.leaf) {
            let array = read_column(file, self.position, file.schema(), &range, false)?;
            let array = rows_of(&array, matches)?;
            return open.iter_mut().try_for_each(|partial| partial.push(&array));
        }
        let opened = match known {
            Some(opened) => opened.clone(),
            None => reader.open_block(number, Keep::Nothing)?,
        };
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
