//! The types of CSV columns, inferred from the first rows: the narrowest that holds all values seen
//! and prints them alike.

use arrow_schema::{DataType, TimeUnit};

use super::dates::{DateOrder, OddDate};
use super::kind::{Kind, is_beyond_nanoseconds, iso, written_digits};
use crate::formats::exact::{is_exact, keeps_fraction};

/// Why a column of times is text.
pub(in crate::formats) const BEYOND_NANOSECONDS: &str =
    "it has nanoseconds, and dates that nanoseconds since 1970 do not reach";

/// The values of a column that were seen.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub(in crate::formats) struct Observed {
    boolean: bool,
    int: bool,
    /// A number whose digits no double holds.
    wide: bool,
    /// An integer beyond 64 bits.
    beyond: bool,
    float: bool,
    date: bool,
    time: bool,
    with_zone: bool,
    without_zone: bool,
    text: bool,
    /// The longest digits of a fraction, those of zeros included.
    digits: usize,
    /// A date or time that 64 bits of nanoseconds since 1970 do not reach.
    beyond_nanoseconds: bool,
    /// A date whose year does not stand first; the orders that do not fit all of them.
    odd_date: bool,
    not_dmy: bool,
    not_mdy: bool,
}

impl Observed {
    pub(in crate::formats) fn add(&mut self, value: &str) {
        match Kind::of(value) {
            Kind::Empty => {}
            Kind::Boolean => self.boolean = true,
            Kind::Int | Kind::NegativeInt => {
                self.int = true;
                // Every integer of 15 digits is a double.
                self.wide |= value.len() > 15 && !is_exact(value);
            }
            Kind::WideInt => {
                self.int = true;
                self.beyond = true;
            }
            Kind::Float => {
                self.float = true;
                self.wide |= !keeps_fraction(value);
            }
            Kind::Date => self.date = true,
            Kind::Time { zone, .. } => {
                self.time = true;
                self.with_zone |= zone;
                self.without_zone |= !zone;
                self.digits = self.digits.max(written_digits(value));
            }
            Kind::Text => self.text = true,
        }
        if (self.date || self.time) && !self.text {
            self.beyond_nanoseconds |= is_beyond_nanoseconds(value);
            if value.as_bytes().get(4) != Some(&b'-') {
                self.add_odd(value);
            }
        }
    }

    /// Adds a text of which only dates and times of the form `2024-01-31` are recognized.
    pub(in crate::formats) fn add_iso(&mut self, value: &str) {
        match iso(value) {
            Some(_) => self.add(value),
            None => self.text = true,
        }
    }

    fn add_odd(&mut self, value: &str) {
        let Some(date) = OddDate::parse(value) else {
            return;
        };
        self.odd_date = true;
        self.not_dmy |= !date.fits(DateOrder::Dmy);
        self.not_mdy |= !date.fits(DateOrder::Mdy);
    }

    /// The type, and the order of dates whose year does not stand first.
    pub(in crate::formats) fn data_type(
        self,
        given: Option<DateOrder>,
    ) -> (DataType, Option<DateOrder>) {
        let order = match (given, self.not_dmy, self.not_mdy) {
            _ if !self.odd_date => None,
            (None | Some(DateOrder::Dmy), false, true) => Some(DateOrder::Dmy),
            (None | Some(DateOrder::Mdy), true, false) => Some(DateOrder::Mdy),
            (given, false, false) => given,
            _ => None,
        };
        let numbers = self.int || self.float;
        let times = self.date || self.time;
        let mixed = usize::from(self.boolean) + usize::from(numbers) + usize::from(times) > 1;
        let data_type = if self.text || mixed {
            DataType::Utf8
        } else if self.boolean {
            DataType::Boolean
        } else if numbers {
            match (self.float, self.wide) {
                _ if self.beyond => DataType::Utf8,
                (true, true) => DataType::Utf8,
                (true, false) => DataType::Float64,
                _ => DataType::Int64,
            }
        } else if times {
            self.temporal(order)
        } else {
            DataType::Null
        };
        (data_type, order)
    }

    /// Whether all values are numbers, and text only because of their digits.
    pub(super) fn is_wide_number(self) -> bool {
        let others = self.text || self.boolean || self.date || self.time;
        !others && (self.beyond || self.float && self.wide)
    }

    /// Whether all values are dates and times, and text only because no unit has both their digits and
    /// their range.
    pub(in crate::formats) fn is_wide_time(self) -> bool {
        let others = self.text || self.boolean || self.int || self.float;
        !others && (7..=9).contains(&self.digits) && self.beyond_nanoseconds
    }

    fn temporal(self, order: Option<DateOrder>) -> DataType {
        // The order of day and month is not known, or a date among times has no zone.
        let unknown = self.odd_date && order.is_none();
        if unknown || (self.with_zone && (self.without_zone || self.date)) {
            return DataType::Utf8;
        }
        let zone = self.with_zone.then(|| "UTC".into());
        match self.digits {
            _ if !self.time => DataType::Date32,
            0 => DataType::Timestamp(TimeUnit::Second, zone),
            1..=3 => DataType::Timestamp(TimeUnit::Millisecond, zone),
            4..=6 => DataType::Timestamp(TimeUnit::Microsecond, zone),
            7..=9 if !self.beyond_nanoseconds => DataType::Timestamp(TimeUnit::Nanosecond, zone),
            _ => DataType::Utf8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(values: &[&str]) -> DataType {
        let mut observed = Observed::default();
        values.iter().for_each(|value| observed.add(value));
        observed.data_type(None).0
    }

    #[test]
    fn types_hold_all_values() {
        for (values, expected) in [
            (&["1", "-2", ""] as &[&str], DataType::Int64),
            (&["1", "2.5", "1e-3"], DataType::Float64),
            (&["NaN", "-inf", ".5"], DataType::Float64),
            (&["9007199254740993", "1.5"], DataType::Utf8),
            (&["9007199254740992", "1.5"], DataType::Float64),
            (&["9223372036854775808"], DataType::Utf8),
            (&["007"], DataType::Utf8),
            (&["-", "+5"], DataType::Utf8),
            (&["1", "true"], DataType::Utf8),
            (&["True", "FALSE"], DataType::Boolean),
            (&[""], DataType::Null),
        ] {
            assert_eq!(inferred(values), expected, "{values:?}");
        }
    }

    #[test]
    fn types_hold_all_dates_and_times() {
        let timestamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        for (values, expected) in [
            (&["2024-01-05"] as &[&str], DataType::Date32),
            (&["2024-02-30"], DataType::Utf8),
            (&["05.01.2024"], DataType::Date32),
            (&["05/01/2024"], DataType::Utf8),
            (&["05/01/2024", "25/01/2024"], DataType::Date32),
            (&["25/01/2024", "01/25/2024"], DataType::Utf8),
            (&["1.1.2024 9:30"], timestamp(TimeUnit::Second, None)),
            (
                &["2024-01-05", "2024-01-05 10:00:00"],
                timestamp(TimeUnit::Second, None),
            ),
            (
                &["2024-01-05 10:00:00.500"],
                timestamp(TimeUnit::Millisecond, None),
            ),
            (
                &["2024-01-05T10:00:00.123456Z"],
                timestamp(TimeUnit::Microsecond, Some("UTC")),
            ),
            (
                &["2024-01-05T10:00:00Z", "2024-01-05T10:00:00"],
                DataType::Utf8,
            ),
            // A leap second, which no number of units since 1970 names.
            (&["2016-12-31T23:59:60Z"], DataType::Utf8),
            (&["31.12.2016 23:59:60"], DataType::Utf8),
            // No unit has both these digits and this range.
            (
                &["1500-01-01T00:00:00.5", "2024-01-05T10:00:00.123456789"],
                DataType::Utf8,
            ),
            (
                &["1500-01-01", "2024-01-05T10:00:00.1234567"],
                DataType::Utf8,
            ),
            (
                &["1500-01-01T00:00:00.5"],
                timestamp(TimeUnit::Millisecond, None),
            ),
            (
                &["2262-04-11T00:00:00.123456789"],
                timestamp(TimeUnit::Nanosecond, None),
            ),
        ] {
            assert_eq!(inferred(values), expected, "{values:?}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_can_be_given() {
        let mut observed = Observed::default();
        observed.add("05/01/2024");
        let given = observed.data_type(Some(DateOrder::Mdy));
        assert_eq!(given, (DataType::Date32, Some(DateOrder::Mdy)));
        observed.add("25/01/2024");
        assert_eq!(observed.data_type(Some(DateOrder::Mdy)).0, DataType::Utf8);
        assert_eq!(
            observed.data_type(None),
            (DataType::Date32, Some(DateOrder::Dmy))
        );
    }
}
