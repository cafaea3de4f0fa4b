//! Fields of records to columns of the schema.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Float64Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_cast::parse::Parser;
use arrow_schema::{DataType, TimeUnit};

use super::dates::{DateOrder, OddDate, nanoseconds};
use super::dialect::CsvDialect;
use super::kind::{boolean, fraction_digits, names_zone};
use super::records::Fields;
use crate::error::{Failure, Result};
use crate::formats::exact::is_exact;

/// A field that its column cannot hold.
#[derive(Debug)]
pub(super) struct BadField {
    pub(super) row: usize,
    /// Whether its bytes are UTF-8.
    pub(super) is_text: bool,
}

/// A column of some records; a bad field is NULL in it.
pub(super) struct ColumnParser<'a> {
    pub(super) fields: &'a Fields,
    pub(super) column: usize,
    pub(super) dialect: &'a CsvDialect,
    pub(super) dates: Option<DateOrder>,
    pub(super) bad: Vec<BadField>,
    /// The first row with an empty text in quotes that is read as NULL.
    pub(super) quoted_null: Option<usize>,
}

impl ColumnParser<'_> {
    pub(super) fn parse(&mut self, data_type: &DataType) -> Result<ArrayRef> {
        Ok(match data_type {
            DataType::Null => {
                // Of no rows: a column without values is of type text by now.
                Arc::new(NullArray::new(self.fields.len()))
            }
            DataType::Utf8 => self.text(),
            DataType::Boolean => self.boolean(),
            DataType::Int64 => self.primitive::<Int64Type>(data_type, Int64Type::parse),
            DataType::Float64 => self.primitive::<Float64Type>(data_type, float),
            DataType::Date32 => {
                let dates = self.dates;
                self.primitive::<Date32Type>(data_type, |text| date(text, dates))
            }
            DataType::Timestamp(unit, zone) => {
                let zone = zone.is_some();
                match unit {
                    TimeUnit::Second => self.times::<TimestampSecondType>(data_type, zone)?,
                    TimeUnit::Millisecond => {
                        self.times::<TimestampMillisecondType>(data_type, zone)?
                    }
                    TimeUnit::Microsecond => {
                        self.times::<TimestampMicrosecondType>(data_type, zone)?
                    }
                    TimeUnit::Nanosecond => {
                        self.times::<TimestampNanosecondType>(data_type, zone)?
                    }
                }
            }
            other => return Err(Failure::internal(&format!("CSV is read as {other}"))),
        })
    }

    fn text(&mut self) -> ArrayRef {
        let mut out = StringBuilder::new();
        for row in 0..self.fields.len() {
            let (field, quoted) = self.fields.get(row, self.column);
            if !quoted && self.dialect.is_null(field) {
                out.append_null();
            } else if let Ok(text) = std::str::from_utf8(field) {
                out.append_value(text);
            } else {
                self.refuse(row, false);
                out.append_null();
            }
        }
        Arc::new(out.finish())
    }

    fn boolean(&mut self) -> ArrayRef {
        let mut out = BooleanBuilder::with_capacity(self.fields.len());
        for row in 0..self.fields.len() {
            out.append_option(self.value(row, boolean));
        }
        Arc::new(out.finish())
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        data_type: &DataType,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> ArrayRef {
        let rows = self.fields.len();
        let mut out = PrimitiveBuilder::<T>::with_capacity(rows).with_data_type(data_type.clone());
        for row in 0..rows {
            out.append_option(self.value(row, &parse));
        }
        Arc::new(out.finish())
    }

    fn times<T: ArrowTimestampType>(
        &mut self,
        data_type: &DataType,
        zone: bool,
    ) -> Result<ArrayRef> {
        let utc: Tz = "+00:00"
            .parse()
            .map_err(|error| Failure::arrow("CSV", &error))?;
        let dates = self.dates;
        let parse = |text: &str| {
            let iso = iso(text, dates)?;
            moment(iso.as_deref().unwrap_or(text), T::UNIT, utc, zone)
        };
        Ok(self.primitive::<T>(data_type, parse))
    }

    /// The value of a row, of a type that is no text: empty is NULL, in quotes as well, as DuckDB and
    /// pyarrow read it.
    fn value<T>(&mut self, row: usize, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (field, quoted) = self.fields.get(row, self.column);
        if self.dialect.is_null(field) {
            if quoted && field.is_empty() {
                self.quoted_null.get_or_insert(row);
            }
            return None;
        }
        let text = std::str::from_utf8(field);
        let value = text.ok().and_then(parse);
        if value.is_none() {
            self.refuse(row, text.is_ok());
        }
        value
    }

    fn refuse(&mut self, row: usize, is_text: bool) {
        self.bad.push(BadField { row, is_text });
    }
}

/// A time of the form `2024-01-31T13:45:00`, in units since 1970; `zone` says whether it must name its
/// zone. Not one digit less, not another moment.
pub(in crate::formats) fn moment(text: &str, unit: TimeUnit, utc: Tz, zone: bool) -> Option<i64> {
    if fraction_digits(text) > usize::from(digits_of(unit))
        || (text.len() > 10 && names_zone(text) != zone)
    {
        return None;
    }
    let per_unit = 10_i128.pow(9 - u32::from(digits_of(unit)));
    i64::try_from(nanoseconds(text, utc)?.div_euclid(per_unit)).ok()
}

fn digits_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// A number; an integer only if a double holds it.
fn float(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let wide = digits.len() > 15 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if wide && !is_exact(text) {
        return None;
    }
    Float64Type::parse(text)
}

/// A date, in days since 1970.
pub(in crate::formats) fn date(text: &str, dates: Option<DateOrder>) -> Option<i32> {
    let iso = iso(text, dates)?;
    let text = iso.as_deref().unwrap_or(text);
    // Arrow would drop the time of a time.
    let is_time = text.len() > 10 && !text.starts_with(['+', '-']);
    if is_time {
        None
    } else {
        Date32Type::parse(text)
    }
}

/// A date or time of another form as `2024-01-05`; the inner None if it is of this form already, the
/// outer one if the order of day and month is not known or does not fit.
#[expect(clippy::option_option, reason = "two questions with an answer each")]
fn iso(text: &str, dates: Option<DateOrder>) -> Option<Option<String>> {
    if text.as_bytes().get(4) == Some(&b'-') {
        return Some(None);
    }
    match OddDate::parse(text) {
        None => Some(None),
        Some(date) => {
            let order = dates.filter(|order| date.fits(*order))?;
            date.iso(order).map(Some)
        }
    }
}
