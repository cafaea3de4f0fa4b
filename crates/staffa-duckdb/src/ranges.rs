//! Times that DuckDB cannot hold are errors before it has them: some end it with an internal error, after
//! which the database is closed, and others it shows as other times.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, make_array};
use arrow_schema::{DataType, TimeUnit};
use duckdb_neo::{Error, Result};

/// Microseconds of the first TIMESTAMP of DuckDB.
const FIRST_TIMESTAMP: i64 = -9_223_372_022_400_000_000;
/// Microseconds of the last TIMESTAMP.
const LAST_TIMESTAMP: i64 = i64::MAX - 1;
/// Days of the last DATE; the first is as many days before 1970.
const LAST_DATE: i64 = 2_147_483_646;
const DAY_MILLIS: i64 = 86_400_000;

/// The numbers of an Arrow type that a type of DuckDB holds.
struct Range {
    /// The type of DuckDB.
    held_as: &'static str,
    least: i64,
    most: i64,
    /// The number that stands for infinity, and its negative for minus infinity.
    infinity: Option<i64>,
}

impl Range {
    /// The range of a type; `None` if DuckDB holds all its values.
    fn of(ty: &DataType) -> Option<Self> {
        let range = |held_as, least, most| Range {
            held_as,
            least,
            most,
            infinity: None,
        };
        Some(match ty {
            DataType::Date32 => Self {
                infinity: Some(i64::from(i32::MAX)),
                ..range("DATE", -LAST_DATE, LAST_DATE)
            },
            DataType::Date64 => range("DATE", -LAST_DATE * DAY_MILLIS, LAST_DATE * DAY_MILLIS),
            DataType::Time32(unit) | DataType::Time64(unit) => {
                range("TIME", 0, 86_400 * per_second(*unit))
            }
            // DuckDB has a type of its own for nanoseconds, and with a zone they become microseconds.
            DataType::Timestamp(TimeUnit::Nanosecond, _) => return None,
            DataType::Timestamp(unit, zone) => {
                let micros = 1_000_000 / per_second(*unit);
                let is_kept = zone.is_none() || *unit == TimeUnit::Microsecond;
                Self {
                    infinity: is_kept.then_some(i64::MAX),
                    ..range(
                        "TIMESTAMP",
                        FIRST_TIMESTAMP / micros,
                        LAST_TIMESTAMP / micros,
                    )
                }
            }
            DataType::Duration(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
                let micros = 1_000_000 / per_second(*unit);
                range("INTERVAL", i64::MIN / micros, i64::MAX / micros)
            }
            _ => return None,
        })
    }

    /// Whether all values from the least to the most are held.
    fn spans(&self, least: i64, most: i64) -> bool {
        self.least <= least && most <= self.most
    }

    fn holds(&self, value: i64) -> bool {
        let infinite = |infinity: i64| value == infinity || value == -infinity;
        self.spans(value, value) || self.infinity.is_some_and(infinite)
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Checks all times of a batch, those inside lists, structs and maps as well.
pub(crate) fn check(batch: &RecordBatch) -> Result<()> {
    let schema = batch.schema_ref();
    let mut columns = schema.fields().iter().zip(batch.columns());
    columns.try_for_each(|(field, array)| check_array(array, field.name()))
}

fn check_array(array: &ArrayRef, column: &str) -> Result<()> {
    let ty = array.data_type();
    if ty.is_nested() {
        let data = array.to_data();
        let mut children = data.child_data().iter();
        return children.try_for_each(|child| check_array(&make_array(child.clone()), column));
    }
    let Some(range) = Range::of(ty) else {
        return Ok(());
    };
    let data = array.to_data().into_builder();
    let found = if ty.primitive_width() == Some(4) {
        let data = data.data_type(DataType::Int32).build();
        let days = data.map(make_array).map_err(crate::error::of_text)?;
        first_beyond::<Int32Type>(days.as_primitive(), &range)
    } else {
        let data = data.data_type(DataType::Int64).build();
        let words = data.map(make_array).map_err(crate::error::of_text)?;
        first_beyond::<Int64Type>(words.as_primitive(), &range)
    };
    match found {
        None => Ok(()),
        Some(value) => Err(Error::invalid_input(format!(
            "column {column:?}: {} holds {} to {} as {ty}, found {value}",
            range.held_as, range.least, range.most
        ))),
    }
}

/// The first value beyond the range.
fn first_beyond<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, range: &Range) -> Option<i64>
where
    i64: From<T::Native>,
{
    // Bounds first, by a loop that vectorises; the numbers under NULLs are looked at only where one is beyond.
    let values = array.values();
    let (first, rest) = values.split_first()?;
    let bounds = rest.iter().fold((*first, *first), |(least, most), value| {
        let least = if *value < least { *value } else { least };
        (least, if *value > most { *value } else { most })
    });
    if range.spans(bounds.0.into(), bounds.1.into()) {
        return None;
    }
    let mut values = array.iter().flatten().map(i64::from);
    values.find(|value| !range.holds(*value))
}
