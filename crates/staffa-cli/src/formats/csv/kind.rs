//! What a value of CSV looks like.

use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::Parser;

use super::dates::{DateOrder, OddDate, nanoseconds};

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
pub(super) fn iso(value: &str) -> Option<Kind> {
    if value.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    if value.len() == 10 {
        return Date32Type::parse(value).map(|_| Kind::Date);
    }
    let utc: Tz = "+00:00".parse().ok()?;
    let separated =
        value.as_bytes().get(13) == Some(&b':') && value.as_bytes().get(16) == Some(&b':');
    (separated && nanoseconds(value, utc).is_some()).then(|| Kind::Time {
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

/// Whether 64 bits of nanoseconds since 1970 do not reach a date or time: 1677-09-21 to 2262-04-11.
pub(super) fn is_beyond_nanoseconds(value: &str) -> bool {
    let orders = [DateOrder::Dmy, DateOrder::Mdy].into_iter();
    let texts: Vec<String> = match OddDate::parse(value) {
        Some(date) => orders.filter_map(|order| date.iso(order)).collect(),
        None => vec![value.to_owned()],
    };
    let within = |text: &String| {
        let utc: Tz = "+00:00".parse().ok()?;
        i64::try_from(nanoseconds(text, utc)?).ok()
    };
    let surely = |text: &String| {
        let year = text.get(..4).and_then(|year| year.parse().ok());
        year.is_some_and(|year| (1678..=2261).contains(&year))
    };
    !texts
        .iter()
        .all(|text| surely(text) || within(text).is_some())
}

/// The digits of a fraction as they are written: `.500` says milliseconds.
pub(super) fn written_digits(time: &str) -> usize {
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
