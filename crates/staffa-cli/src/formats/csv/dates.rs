//! Dates as they come: `2024-01-05`, `05.01.2024`, `1/5/2024 13:45`.

use std::fmt::Write;

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use clap::ValueEnum;

/// The order of day, month and year in dates whose year does not stand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrder {
    /// Day, month, year
    Dmy,
    /// Month, day, year
    Mdy,
}

/// A date that is not of the form `2024-01-05`, with or without a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OddDate<'a> {
    /// Day or month, month or day, year; or year, month, day.
    parts: [u32; 3],
    year_first: bool,
    dots: bool,
    /// What follows the date, without the space or `T`.
    time: &'a str,
}

impl<'a> OddDate<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let separator = text.bytes().find(|byte| !byte.is_ascii_digit())?;
        if !matches!(separator, b'.' | b'/' | b'-') {
            return None;
        }
        let (date, time) = match text.find([' ', 'T']) {
            Some(end) => (text.get(..end)?, text.get(end + 1..)?),
            None => (text, ""),
        };
        let mut parts = date.split(char::from(separator));
        let [first, second, third] = [parts.next()?, parts.next()?, parts.next()?];
        let year_first = first.len() == 4;
        let year = if year_first { first } else { third };
        let short = if year_first { third } else { first };
        let fits =
            year.len() == 4 && (1..=2).contains(&short.len()) && (1..=2).contains(&second.len());
        // `2024-01-05` is no odd date.
        if parts.next().is_some() || !fits || (year_first && separator == b'-') {
            return None;
        }
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        Some(Self {
            parts: [number(first)?, number(second)?, number(third)?],
            year_first,
            dots: separator == b'.',
            time,
        })
    }

    /// Whether the date exists if it is read in this order.
    pub(super) fn fits(&self, order: DateOrder) -> bool {
        let [first, second, third] = self.parts;
        let (day, month) = match order {
            _ if self.year_first => (third, second),
            DateOrder::Dmy => (first, second),
            // A dot says day, month, year.
            DateOrder::Mdy => (second, if self.dots { 0 } else { first }),
        };
        (1..=31).contains(&day) && (1..=12).contains(&month)
    }

    /// The date and time as `2024-01-05T13:45:00`.
    pub(super) fn iso(&self, order: DateOrder) -> Option<String> {
        let [first, second, third] = self.parts;
        let (year, month, day) = match order {
            _ if self.year_first => (first, second, third),
            DateOrder::Dmy => (third, second, first),
            DateOrder::Mdy => (third, first, second),
        };
        let mut out = format!("{year:04}-{month:02}-{day:02}");
        if self.time.is_empty() {
            return Some(out);
        }
        // Hours of one digit, and minutes without seconds, are usual here.
        let hours = self.time.find(':')?;
        let (hour, rest) = (self.time.get(..hours)?, self.time.get(hours + 1..)?);
        let minute = rest.get(..2)?;
        let rest = rest.get(2..)?;
        let seconds = if rest.starts_with(':') { "" } else { ":00" };
        write!(out, "T{hour:0>2}:{minute}{seconds}{rest}").ok()?;
        Some(out)
    }
}

/// The nanoseconds of a time since 1970. A leap second has none: 23:59:60 would become 23:59:59.
pub(super) fn nanoseconds(text: &str, utc: Tz) -> Option<i128> {
    const SECOND: u32 = 1_000_000_000;
    let time = string_to_datetime(&utc, text).ok()?;
    let fraction = time.timestamp_subsec_nanos();
    (fraction < SECOND)
        .then(|| i128::from(time.timestamp()) * i128::from(SECOND) + i128::from(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(text: &str, order: DateOrder) -> Option<String> {
        OddDate::parse(text)?.iso(order)
    }

    #[test]
    fn dates_of_many_forms_are_read() {
        use DateOrder::{Dmy, Mdy};
        for (text, order, expected) in [
            ("05.01.2024", Dmy, Some("2024-01-05")),
            ("5.1.2024 7:05", Dmy, Some("2024-01-05T07:05:00")),
            ("1/25/2024 13:45:10.5", Mdy, Some("2024-01-25T13:45:10.5")),
            ("05-01-2024", Dmy, Some("2024-01-05")),
            ("2024/01/05", Dmy, Some("2024-01-05")),
            ("2024-01-05", Dmy, None),
            ("1.2.3", Dmy, None),
            ("192.168.0.1", Dmy, None),
            ("10.5", Dmy, None),
            ("05.01.24", Dmy, None),
            ("", Dmy, None),
        ] {
            assert_eq!(iso(text, order).as_deref(), expected, "{text}");
        }
        let fits = |text, order| OddDate::parse(text).is_some_and(|date| date.fits(order));
        assert!(fits("25/01/2024", Dmy) && !fits("25/01/2024", Mdy));
        assert!(fits("05.01.2024", Dmy) && !fits("05.01.2024", Mdy));
    }
}
