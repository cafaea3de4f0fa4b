//! Aggregates: counts, smallest, largest, sums, out of zone maps where these are exact, else a block at a time.
//!
//! ```text
//! for each column, block by block:   zone map knows -> taken from there
//!                                    only distinct strings -> those of the dictionary that rows have
//!                                    a bound of strings -> kept, decoded at the end if it could still win
//!                                    else -> decoded, fed to what still asks
//! ```
//!
//! Columns go in parallel, each in the memory of one block; a column of dictionaries or run ends in that of a row group.

mod part;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::predicate::{Predicate, innermost};
use crate::read::File;
use crate::scan::Reader;
use crate::write::unknown_column;
use part::{Block, Part};

/// What is to be known of a column. NULLs count for nothing but `Rows` and `Nulls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many rows, as `Int64`.
    Rows,
    /// How many values that are not NULL, as `Int64`.
    Count,
    /// How many NULLs, as `Int64`.
    Nulls,
    /// The smallest value, in the column's type; NULL where there is none. Floats stand in IEEE 754's total order, as in
    /// Arrow's kernels and in filters: -0.0 before 0.0, NaN last (with the sign bit set: first).
    Min,
    /// The largest, likewise.
    Max,
    /// The sum; NULL where there are no values. Of integers as `Int64` or `UInt64`, exact, an error where it does not fit;
    /// of booleans how many are true; of durations in their type; of decimals with all digits that 128 or 256 bits hold.
    /// Of floats as `Float64`, added up one after another in the order of the rows.
    Sum,
    /// How many different values, exactly, as `Int64`; floats by their bits. Takes memory for all of them: more than some
    /// million are refused.
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
        f.write_str(Self::ALL.iter().find(|(which, _)| which == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Aggregate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(which, _)| *which).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            Error::invalid(format!("no aggregate is called {name:?}; there are {}", known.join(", ")))
        })
    }
}

impl File {
    /// Aggregates of columns, over the rows for which the filter is true: one row, with a column such as `min(price)` for
    /// each that is wanted.
    ///
    /// Without a filter the column indexes answer what they know exactly; only what they do not know is decoded. Fails
    /// where a column is not there, is nested, or is of a type that has no such aggregate.
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
            let names = all.columns.iter().map(|column| column.name.clone());
            return self.scan().columns(names).filter(filter.clone()).reader()?.aggregate(wanted);
        }
        all.columns.par_iter_mut().try_for_each(|column| column.of_file(self))?;
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
            let found = batch.columns().get(column.position).filter(|a| innermost(a.data_type()) == &column.ty);
            let found = found.ok_or_else(|| Error::invalid(format!("the batch has no column {:?}", column.name)))?;
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
            let (position, field) = schema.column_with_name(name).ok_or_else(|| unknown_column(name, schema))?;
            let ty = innermost(field.data_type());
            let refuse = |why: &str| {
                Error::invalid(format!("column {name:?} of type {} has no {which}: {why}", field.data_type()))
            };
            if ty.is_nested() || matches!(ty, DataType::Dictionary(..)) {
                return Err(refuse("it is nested"));
            }
            let at = columns.iter().position(|column| column.position == position).unwrap_or(columns.len());
            if at == columns.len() {
                columns.push(Column { name: name.to_owned(), position, ty: ty.clone(), parts: Vec::new() });
            }
            let Some(column) = columns.get_mut(at) else { continue };
            let part = column.parts.iter().position(|(known, _)| known == which).unwrap_or(column.parts.len());
            if part == column.parts.len() {
                column.parts.push((*which, Part::new(*which, ty).map_err(|why| refuse(&why))?));
            }
            order.push((at, part));
        }
        Ok(Self { columns, order })
    }

    fn finish(self) -> Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (at, part) in self.order {
            let found = self.columns.get(at).and_then(|column| Some((column, column.parts.get(part)?)));
            let Some((column, (which, part))) = found else { continue };
            let array = part.finish(&column.ty, &column.name)?;
            fields.push(Field::new(format!("{which}({})", column.name), array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?)
    }
}

impl Column {
    fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let array = plain(array)?;
        self.parts.iter_mut().try_for_each(|(_, part)| part.push(&array))
    }

    /// All rows of a file.
    fn of_file(&mut self, file: &File) -> Result<()> {
        let schema = file.schema();
        let mut leaves = file.layout().leaves_of(self.position);
        let flat = match (leaves.next(), leaves.next()) {
            (Some(leaf), None) if file.leaf(leaf)?.flat => Some(leaf),
            _ => None,
        };
        for (group, &rows) in file.footer().row_groups.iter().enumerate() {
            let Some(leaf) = flat else {
                self.push(&file.column(self.position, schema, group, 0..rows as usize)?)?;
                continue;
            };
            for entry in &file.chunk(leaf, group)?.blocks {
                let first = entry.first_value as usize;
                let block = Block { group, rows: first..first + entry.values };
                let asking = |(_, part): &mut (Aggregate, Part)| !part.by_zone_map(entry, &block);
                let asking: Vec<bool> = self.parts.iter_mut().map(asking).collect();
                if asking.contains(&true) {
                    let mut parts: Vec<_> = self.parts.iter_mut().zip(asking).filter(|(_, asking)| *asking).collect();
                    let distinct = parts.iter().all(|((which, _), _)| *which == Aggregate::Distinct);
                    let strings = self.ty.is_string() || self.ty.is_binary();
                    let coded = if distinct && strings {
                        let place = file.place(leaf, group);
                        file.coded_rows(leaf, &self.ty, group, &block.rows).map_err(|e| e.at(place))?
                    } else {
                        None
                    };
                    let array = match coded {
                        Some(coded) => used(&coded)?,
                        None => file.column(self.position, schema, group, block.rows)?,
                    };
                    parts.iter_mut().try_for_each(|((_, part), _)| part.push(&array))?;
                }
            }
        }
        // Strings whose bounds are cut off, the most promising block first, until no other can win.
        for (_, part) in &mut self.parts {
            while let Some(block) = part.next_open() {
                let array = file.column(self.position, schema, block.group, block.rows)?;
                part.push(&array)?;
            }
        }
        Ok(())
    }
}

/// The values of a dictionary that rows have.
fn used(coded: &ArrayRef) -> Result<ArrayRef> {
    let coded = coded.as_dictionary::<Int32Type>();
    Ok(filter(coded.values(), &BooleanArray::new(coded.occupancy(), None))?)
}

/// Runs and dictionaries as their values.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        // Arrow's kernels (59.3) overflow on an empty slice of runs.
        ty @ DataType::RunEndEncoded(..) if array.is_empty() => arrow_array::new_empty_array(innermost(ty)),
        DataType::RunEndEncoded(_, values) => plain(&arrow_cast::cast(array, values.data_type())?)?,
        DataType::Dictionary(_, values) => arrow_cast::cast(array, values)?,
        _ => array.clone(),
    })
}
