//! The types of CSV columns, inferred from the first rows: the narrowest that holds all values seen
//! and prints them alike.

use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, TimeUnit};

use super::dates::{DateOrder, OddDate};
use crate::formats::exact::{is_exact, keeps_fraction};

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Boolean,
    Int,
    NegativeInt,
    /// Beyond 64 bits.
    WideInt,
    Float,
    Date,
    /// With the digits of its fraction, and whether it names a zone.
    Time {
        digits: usize,
        zone: bool,
    },
    Text,
}

impl Kind {
    pub(super) fn of(value: &str) -> Self {
        let Some(first) = value.bytes().next() else {
            return Self::Empty;
        };
        match first {
            b'0'..=b'9' | b'-' | b'.' => number(value)
                .or_else(|| iso(value))
                .or_else(|| odd(value))
                .unwrap_or(Self::Text),
            _ if boolean(value).is_some() => Self::Boolean,
            _ if matches!(value, "NaN" | "nan" | "inf") => Self::Float,
            _ => Self::Text,
        }
    }
}

/// `true` or `false`, in upper or lower case.
pub(super) fn boolean(value: &str) -> Option<bool> {
    if value.eq_ignore_ascii_case("true") {
        Some(true)
    } else if value.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

fn number(value: &str) -> Option<Kind> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits == "inf" {
        return Some(Kind::Float);
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number with leading zeros is a name: a post code, an account.
        let name = (digits.len() > 1 && digits.starts_with('0')) || value == "-0";
        return Some(match value.parse::<i64>() {
            _ if name => Kind::Text,
            Err(_) => Kind::WideInt,
            Ok(_) if value.len() > digits.len() => Kind::NegativeInt,
            Ok(_) => Kind::Int,
        });
    }
    let plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    (plain && !digits.starts_with(['e', 'E', '-', '+']) && value.parse::<f64>().is_ok())
        .then_some(Kind::Float)
}

/// A date or time of the form `2024-01-05T13:45:00.5+01:00`.
fn iso(value: &str) -> Option<Kind> {
    if value.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    if value.len() == 10 {
        return Date32Type::parse(value).map(|_| Kind::Date);
    }
    let utc: Tz = "+00:00".parse().ok()?;
    let separated =
        value.as_bytes().get(13) == Some(&b':') && value.as_bytes().get(16) == Some(&b':');
    (separated && string_to_datetime(&utc, value).is_ok()).then(|| Kind::Time {
        digits: fraction_digits(value),
        zone: names_zone(value),
    })
}

fn odd(value: &str) -> Option<Kind> {
    let date = OddDate::parse(value)?;
    // Whichever order: the day and month are looked at later.
    let order = [DateOrder::Dmy, DateOrder::Mdy]
        .into_iter()
        .find(|order| date.fits(*order))?;
    iso(&date.iso(order)?)
}

/// The digits of the fraction of a second, zeros at its end left out.
pub(super) fn fraction_digits(time: &str) -> usize {
    let Some(fraction) = time.get(19..).and_then(|rest| rest.strip_prefix('.')) else {
        return 0;
    };
    let end = fraction
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(fraction.len());
    fraction
        .get(..end)
        .map_or(0, |digits| digits.trim_end_matches('0').len())
}

/// Whether a time names its zone: `Z` or `+02:00` after the 19 characters of
/// `2026-11-21T00:00:00`.
pub(super) fn names_zone(time: &str) -> bool {
    time.get(19..).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_alphabetic() || c == '+' || c == '-')
    })
}

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
        if (self.date || self.time) && !self.text && value.as_bytes().get(4) != Some(&b'-') {
            self.add_odd(value);
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
            7..=9 => DataType::Timestamp(TimeUnit::Nanosecond, zone),
            _ => DataType::Utf8,
        }
    }
}

/// The digits of a fraction as they are written: `.500` says milliseconds.
fn written_digits(time: &str) -> usize {
    let Some((_, fraction)) = time
        .rsplit_once(['.'])
        .filter(|(before, _)| before.contains(':'))
    else {
        return 0;
    };
    fraction
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(fraction.len())
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
        let timestamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
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
            (&["2024-01-05"], DataType::Date32),
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
            (&[""], DataType::Null),
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
