//! Aggregates: counts, smallest, largest, sums, out of zone maps where these are exact, else by the
//! encodings of a block.
//!
//! ```text
//! for each column, block by block:   zone map knows -> taken from there
//!                                    a bound of strings -> kept, decoded at the end if it could still win
//!                                    else -> opened; its encodings hand out what they have to what still asks
//!                                    a filter's rows: a zone map tells whether they can change anything
//! ```
//!
//! Columns go in parallel, each in the memory of one block; a column of dictionaries or run ends in
//! that of a row group.

mod feed;
mod number;
mod partial;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;
use feed::{feed, feeds};
use partial::{Block, Part};
use rayon::prelude::*;

use super::filter::ScanTask;
use super::{File, Reader, is_flat};
use crate::arrow::{boolean_buffer, unknown_column};
use crate::error::{Error, Result};
use crate::predicate::{Predicate, innermost};
use crate::values::Bitmap;

/// What is to be known of a column. NULLs count for nothing but `Rows` and `Nulls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many rows, as `Int64`.
    Rows,
    /// How many values that are not NULL, as `Int64`.
    Count,
    /// How many NULLs, as `Int64`.
    Nulls,
    /// The smallest value, in the column's type; NULL where there is none. Floats stand in IEEE
    /// 754's total order, as in Arrow's kernels and in filters: -0.0 before 0.0, NaN last (with the
    /// sign bit set: first).
    Min,
    /// The largest, likewise.
    Max,
    /// The sum; NULL where there are no values. Of integers as `Int64` or `UInt64`, exact, an error
    /// where it does not fit; of booleans how many are true; of durations in their type; of
    /// decimals with all digits that 128 or 256 bits hold. Of floats as `Float64`, added up one
    /// after another in the order of the rows.
    Sum,
    /// How many different values, exactly, as `Int64`; floats by their bits. Takes memory for all
    /// of them: more than some million are refused.
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
    /// Aggregates of columns, over the rows for which the filter is true: one row, with a column
    /// such as `min(price)` for each that is wanted.
    ///
    /// Without a filter the column indexes answer what they know exactly; only what they do not
    /// know is decoded. Fails where a column is not there, is nested, or is of a type that has no
    /// such aggregate.
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
    /// Aggregates of all batches that are left, as of [`File::aggregate`].
    pub fn aggregate<S: AsRef<str>>(self, wanted: &[(S, Aggregate)]) -> Result<RecordBatch> {
        aggregate_batches(&self.schema(), self, wanted)
    }
}

/// Aggregates of batches, as of [`File::aggregate`]: for batches that something else has filtered.
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

/// What is wanted, by column.
struct Aggregation {
    columns: Vec<Column>,
    /// Column and part, in the order wanted.
    order: Vec<(usize, usize)>,
}

struct Column {
    name: String,
    /// In the schema.
    position: usize,
    /// Of the values of runs and dictionaries.
    ty: DataType,
    parts: Vec<(Aggregate, Part)>,
}

impl Aggregation {
    fn new<S: AsRef<str>>(schema: &SchemaRef, wanted: &[(S, Aggregate)]) -> Result<Self> {
        let (mut columns, mut order): (Vec<Column>, Vec<_>) = (Vec::new(), Vec::new());
        for (name, which) in wanted {
            let name = name.as_ref();
            let (position, field) = schema
                .column_with_name(name)
                .ok_or_else(|| unknown_column(name, schema))?;
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
            let at = columns
                .iter()
                .position(|column| column.position == position)
                .unwrap_or(columns.len());
            if at == columns.len() {
                columns.push(Column {
                    name: name.to_owned(),
                    position,
                    ty: ty.clone(),
                    parts: Vec::new(),
                });
            }
            let Some(column) = columns.get_mut(at) else {
                continue;
            };
            let part = column
                .parts
                .iter()
                .position(|(known, _)| known == which)
                .unwrap_or(column.parts.len());
            if part == column.parts.len() {
                column
                    .parts
                    .push((*which, Part::new(*which, ty).map_err(|why| refuse(&why))?));
            }
            order.push((at, part));
        }
        Ok(Self { columns, order })
    }

    /// The rows of a file that match: as many units at once as there are threads.
    fn of_rows(&mut self, file: &File, filter: &Predicate) -> Result<()> {
        let tested = file.column_positions(&filter.columns())?;
        let bound = filter.bind(file.schema())?;
        let nested = tested
            .iter()
            .chain(self.columns.iter().map(|column| &column.position))
            .any(|c| !is_flat(file, *c));
        let step = if nested {
            usize::MAX
        } else {
            file.footer().block_rows.max(1) as usize
        };
        let groups = file.footer().row_groups.iter().enumerate();
        let units = groups.flat_map(|(group, rows)| {
            let rows = *rows as usize;
            (0..rows)
                .step_by(step)
                .map(move |start| (group, start..start.saturating_add(step).min(rows)))
        });
        let units: Vec<(usize, Range<usize>)> = units.collect();
        for units in units.chunks(rayon::current_num_threads()) {
            let found = |(group, rows): &(usize, Range<usize>)| {
                let mut unit = ScanTask::new(file, *group, rows.clone());
                let found = unit.found(&bound)?;
                let block = Block {
                    group: *group,
                    rows: rows.clone(),
                };
                Ok((block, unit, found))
            };
            let found: Vec<(Block, ScanTask<'_>, Bitmap)> = if units.len() > 1 {
                units.par_iter().map(found).collect::<Result<_>>()?
            } else {
                units.iter().map(found).collect::<Result<_>>()?
            };
            let some = || found.iter().filter(|(_, _, found)| !found.is_zero());
            each(&mut self.columns, |column| {
                some().try_for_each(|(rows, unit, found)| {
                    column.of_rows(file, rows, Some((unit, found)))
                })
            })?;
        }
        each(&mut self.columns, |column| column.rest(file))
    }

    fn finish(self) -> Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (at, part) in self.order {
            let found = self
                .columns
                .get(at)
                .and_then(|column| Some((column, column.parts.get(part)?)));
            let Some((column, (which, part))) = found else {
                continue;
            };
            let array = part.finish(&column.ty, &column.name)?;
            fields.push(Field::new(
                format!("{which}({})", column.name),
                array.data_type().clone(),
                true,
            ));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        Ok(RecordBatch::try_new_with_options(
            Arc::new(Schema::new(fields)),
            arrays,
            &options,
        )?)
    }
}

impl Column {
    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let array = plain(array)?;
        self.parts
            .iter_mut()
            .try_for_each(|(_, part)| part.push(&array))
    }

    /// The leaf whose blocks hold the column's values, where there is one.
    fn leaf(&self, file: &File) -> Result<Option<usize>> {
        let mut leaves = file.layout().leaves_of(self.position);
        Ok(match (leaves.next(), leaves.next()) {
            (Some(leaf), None) if file.leaf(leaf)?.flat => Some(leaf),
            _ => None,
        })
    }

    /// All rows of a file.
    fn of_file(&mut self, file: &File) -> Result<()> {
        for (group, &rows) in file.footer().row_groups.iter().enumerate() {
            self.of_rows(
                file,
                &Block {
                    group,
                    rows: 0..rows as usize,
                },
                None,
            )?;
        }
        self.rest(file)
    }

    /// Some blocks' rows: those that a filter has found, or all.
    fn of_rows(
        &mut self,
        file: &File,
        rows: &Block,
        found: Option<(&ScanTask<'_>, &Bitmap)>,
    ) -> Result<()> {
        let Some(leaf) = self.leaf(file)? else {
            return self.of_array(file, rows, found);
        };
        let block_rows = file.footer().block_rows.max(1) as usize;
        let blocks = rows.rows.start / block_rows..rows.rows.end.div_ceil(block_rows);
        let chunk = file.chunk(leaf, rows.group)?;
        for (number, entry) in chunk
            .blocks
            .iter()
            .enumerate()
            .take(blocks.end)
            .skip(blocks.start)
        {
            let first = entry.first_value as usize;
            let block = Block {
                group: rows.group,
                rows: first..first + entry.values,
            };
            let own = found
                .map(|(_, found)| found.slice(first.saturating_sub(rows.rows.start), entry.values));
            let wanted = own.as_ref().map_or(entry.values, Bitmap::count_ones);
            if wanted == 0 {
                continue;
            }
            let all = wanted == entry.values;
            let parts = self.parts.iter_mut().map(|(_, part)| part);
            let mut asking: Vec<&mut Part> = parts
                .filter_map(|part| {
                    let told = if all {
                        part.by_zone_map(entry, &block)
                    } else {
                        part.settled(entry)
                    };
                    (!told).then_some(part)
                })
                .collect();
            if asking.is_empty() {
                continue;
            }
            let spec = file.leaf(leaf)?;
            if !feeds(&self.ty, spec) {
                let array =
                    file.column(self.position, file.schema(), rows.group, block.rows, false)?;
                let array = those(&array, own.as_ref().filter(|_| !all))?;
                asking.iter_mut().try_for_each(|part| part.push(&array))?;
                continue;
            }
            let opened = match found {
                Some((unit, _)) => unit.opened(leaf, number)?,
                None => file.opened(leaf, rows.group, number)?,
            };
            let fed = opened
                .with(|block| feed(&mut asking, block, spec.kind, own.as_ref().filter(|_| !all)));
            fed.map_err(|e| {
                e.at(|p| p.block = Some(number))
                    .at(file.place(leaf, rows.group))
            })?;
        }
        Ok(())
    }

    /// The same of a column that is not stored by itself.
    fn of_array(
        &mut self,
        file: &File,
        rows: &Block,
        found: Option<(&ScanTask<'_>, &Bitmap)>,
    ) -> Result<()> {
        let array = file.column(
            self.position,
            file.schema(),
            rows.group,
            rows.rows.clone(),
            false,
        )?;
        let array = those(&plain(&array)?, found.map(|(_, found)| found))?;
        self.parts
            .iter_mut()
            .try_for_each(|(_, part)| part.push(&array))
    }

    /// Strings whose bounds are cut off, the most promising block first, until no other can win.
    fn rest(&mut self, file: &File) -> Result<()> {
        for (_, part) in &mut self.parts {
            while let Some(block) = part.next_open() {
                let array =
                    file.column(self.position, file.schema(), block.group, block.rows, false)?;
                part.push(&array)?;
            }
        }
        Ok(())
    }
}

/// Something of every column, in parallel where there are several threads: to wake them takes a
/// while.
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
fn those(array: &ArrayRef, found: Option<&Bitmap>) -> Result<ArrayRef> {
    let Some(found) = found else {
        return Ok(array.clone());
    };
    Ok(filter(
        array,
        &BooleanArray::new(boolean_buffer(found.clone()), None),
    )?)
}

/// Runs and dictionaries as their values.
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
