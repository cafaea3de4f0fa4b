//! Literals of numbers, dates and times, each with its value.

use super::*;

/// Year, month and day of a day since 1970, by walking: slow and plain.
fn civil(mut day: i64) -> (i64, i64, i64) {
    let leap = |y: i64| y % 4 == 0 && y % 100 != 0 || y % 400 == 0;
    let mut year = 1970;
    while day < 0 {
        year -= 1;
        day += if leap(year) { 366 } else { 365 };
    }
    while day >= if leap(year) { 366 } else { 365 } {
        day -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    let lengths = [
        31,
        if leap(year) { 29 } else { 28 },
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month as i64 + 1, day + 1)
}

fn date(day: i64) -> String {
    let (y, m, d) = civil(day);
    format!("{y:04}-{m:02}-{d:02}")
}

fn time(seconds: i64) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A literal for a timestamp column of this many digits after the second, and its value in UTC.
pub(super) fn timestamp(digits: u32, zone_minutes: i64) -> MakeLiteral {
    Box::new(move |rng| {
        let seconds = rng.int(-200_000, 1_700_000_000) as i64;
        let tenths = if rng.below(2) == 0 {
            0
        } else {
            rng.below(10) as i64
        };
        // Offset in the text, or the column's own.
        let (offset, suffix) = match rng.below(4) {
            0 => (0, "Z".to_owned()),
            1 => (-330, "-05:30".to_owned()),
            2 => (120, " +02:00".to_owned()),
            _ => (zone_minutes, String::new()),
        };
        let local = seconds + offset * 60;
        let text = format!(
            "{}T{}.{tenths}{suffix}",
            date(local.div_euclid(86_400)),
            time(local.rem_euclid(86_400))
        );
        (
            Literal::Text(text),
            scaled(i128::from(seconds * 10 + tenths), 1, digits),
        )
    })
}

/// `v * 10^-scale` in units of `10^-digits`.
fn scaled(v: i128, scale: u32, digits: u32) -> Cell {
    Cell::Number(v * 10i128.pow(digits), scale)
}

pub(super) fn number_literal(min: i128, max: i128) -> MakeLiteral {
    Box::new(move |rng| match rng.below(4) {
        0 => {
            let tenths = rng.below(400) as i128 - 200;
            (
                Literal::Float(tenths as f64 / 4.0),
                Cell::Number(tenths * 25, 2),
            )
        }
        1 => {
            let far = rng.pick(&[
                i128::MAX,
                i128::MIN,
                i64::MAX as i128 + 1,
                -1,
                256,
                300,
                -129,
            ]);
            (Literal::Int(far), Cell::Number(far, 0))
        }
        2 => {
            // Powers of two are exact doubles.
            let power = rng.pick(&[
                1i128 << 62,
                1 << 63,
                1 << 64,
                -(1 << 63),
                1 << 7,
                -(1 << 7),
                1 << 100,
            ]);
            (Literal::Float(power as f64), Cell::Number(power, 0))
        }
        _ => {
            let v = rng.int(min, max);
            (Literal::Int(v), Cell::Number(v, 0))
        }
    })
}

pub(super) fn decimal_literal() -> MakeLiteral {
    Box::new(|rng| {
        let (unscaled, scale) = (rng.below(4000) as i128 - 2000, rng.below(6) as u32);
        let sign = if unscaled < 0 { "-" } else { "" };
        let digits = format!("{:0>1$}", unscaled.abs(), scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
        let text = format!("{sign}{whole}.{fraction}");
        let cell = Cell::Number(unscaled, scale);
        match rng.below(4) {
            0 => (Literal::Float(text.parse().unwrap()), cell),
            1 => (Literal::Text(format!("{unscaled}e-{scale}")), cell),
            2 => (Literal::Int(unscaled), Cell::Number(unscaled, 0)),
            _ => (Literal::Text(text), cell),
        }
    })
}

/// A date in days since 1970, each `units` of the column's.
pub(super) fn day_literal(units: i128) -> MakeLiteral {
    Box::new(move |rng| {
        let day = rng.int(-20_000, 20_000);
        (
            Literal::Text(date(day as i64)),
            Cell::Number(day * units, 0),
        )
    })
}

/// A time of day with five digits of the second, and its value in milliseconds.
pub(super) fn time_literal() -> MakeLiteral {
    Box::new(|rng| {
        let (seconds, fraction) = (rng.int(0, 86_399), rng.below(100_000) as i128);
        (
            Literal::Text(format!("{}.{fraction:05}", time(seconds as i64))),
            scaled(seconds * 100_000 + fraction, 5, 3),
        )
    })
}
