//! Histograms of numbers, dates and times: bars of equal width. Where few values lie far out, these
//! have a bar at each end, and the others the bars between.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};

use crate::print::cells;
use crate::terminal::text::number;

/// Bars between the ends.
const BARS: usize = 24;
/// The share of the values that may lie out at each end, and how many times as wide as the rest the
/// whole then is.
const OUT: f64 = 0.01;
const TIMES: f64 = 3.0;
/// Characters of a date or time.
const WIDTH: usize = 40;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Histogram {
    /// The values of each bar.
    pub(in crate::report) bars: Vec<u64>,
    /// Where the first bar begins, and the width of each.
    start: f64,
    width: f64,
    /// Values before the first bar, and after the last.
    pub(in crate::report) before: u64,
    pub(in crate::report) after: u64,
    /// Values that are NaN or infinite.
    pub(in crate::report) not_finite: u64,
    data_type: DataType,
}

impl Histogram {
    /// None if there is no finite value.
    pub(super) fn of(mut numbers: Vec<f64>, data_type: &DataType) -> Option<Self> {
        let all = numbers.len();
        numbers.retain(|number| number.is_finite());
        let not_finite = (all - numbers.len()) as u64;
        let smallest = numbers.iter().copied().reduce(f64::min)?;
        let largest = numbers.iter().copied().reduce(f64::max)?;
        let (start, end) = inner_range(&mut numbers, smallest, largest);
        let whole = !data_type.is_floating() && !is_decimal(data_type);
        let (width, count) = bars(start, end, whole);
        let mut histogram = Self {
            bars: vec![0; count],
            start,
            width,
            before: 0,
            after: 0,
            not_finite,
            data_type: data_type.clone(),
        };
        for number in numbers {
            let bar = ((number - start) / width).floor();
            if number < start {
                histogram.before += 1;
            } else if number > end {
                histogram.after += 1;
            } else if let Some(bar) = histogram.bars.get_mut((bar as usize).min(count - 1)) {
                *bar += 1;
            }
        }
        Some(histogram)
    }

    /// Whether every bar is one value.
    pub(super) fn is_by_value(&self) -> bool {
        (self.width - 1.0).abs() < f64::EPSILON
            && self.before + self.after == 0
            && self.data_type.is_integer()
    }

    /// The values of a bar as text: `12`, `12 to 14`.
    pub(in crate::report) fn range(&self, bar: usize) -> String {
        let from = self.start + self.width * bar as f64;
        if self.is_by_value() {
            return self.text(from);
        }
        format!("{} to {}", self.text(from), self.text(from + self.width))
    }

    /// Where the bars begin and end, as text.
    pub(in crate::report) fn ends(&self) -> [String; 2] {
        let last = self.start + self.width * self.bars.len() as f64;
        let last = if self.is_by_value() { last - 1.0 } else { last };
        [self.text(self.start), self.text(last)]
    }

    fn text(&self, value: f64) -> String {
        if self.data_type.is_temporal() {
            return moment(value, &self.data_type).unwrap_or_default();
        }
        figure(value)
    }
}

/// The range of the bars: of all values, or without the few that lie far out.
fn inner_range(numbers: &mut [f64], smallest: f64, largest: f64) -> (f64, f64) {
    let last = numbers.len() - 1;
    let out = (numbers.len() as f64 * OUT) as usize;
    let mut at = |index: usize| *numbers.select_nth_unstable_by(index, f64::total_cmp).1;
    let (low, high) = (at(out), at(last - out));
    if high > low && (largest - smallest) > TIMES * (high - low) {
        (low, high)
    } else {
        (smallest, largest)
    }
}

/// The width of a bar, and the number of bars. Whole numbers have bars of a whole width, so that all
/// hold equally many.
fn bars(start: f64, end: f64, whole: bool) -> (f64, usize) {
    if !whole {
        let width = (end / BARS as f64) - (start / BARS as f64);
        return if width > 0.0 { (width, BARS) } else { (1.0, 1) };
    }
    let span = end - start + 1.0;
    let width = (span / BARS as f64).ceil().max(1.0);
    (width, ((span / width).ceil() as usize).clamp(1, BARS))
}

/// The values that are not NULL as numbers; None of a type that is none, or has no order by size.
pub(super) fn numbers(array: &ArrayRef) -> Result<Option<Vec<f64>>, ArrowError> {
    use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};
    let array = match array.data_type() {
        Date32 | Time32(_) => cast(array, &DataType::Int32)?,
        Date64 | Time64(_) | Timestamp(..) | Duration(_) => cast(array, &DataType::Int64)?,
        data_type if data_type.is_numeric() => array.clone(),
        _ => return Ok(None),
    };
    let floats = cast(&array, &DataType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    Ok(Some(floats.iter().flatten().collect()))
}

fn is_decimal(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(
        data_type,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..)
    )
}

/// A date or time.
fn moment(value: f64, data_type: &DataType) -> Option<String> {
    let value: ArrayRef = Arc::new(Int64Array::from(vec![value as i64]));
    let narrow = matches!(data_type, DataType::Date32 | DataType::Time32(_));
    let value = if narrow {
        cast(&value, &DataType::Int32).ok()?
    } else {
        value
    };
    let value = cast(&value, data_type).ok()?;
    cells(&value, WIDTH).ok()?.pop().flatten()
}

/// A number of at most five digits or so.
pub(in crate::report) fn figure(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    if value.fract() == 0.0 || size >= 1e5 {
        let sign = if value <= -0.5 { "-" } else { "" };
        return format!("{sign}{}", number(size.round() as u64));
    }
    let decimals = (4 - size.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::Date32Array;

    use super::*;

    #[test]
    fn whole_numbers_have_bars_of_a_whole_width() {
        let few = Histogram::of(
            (0..100).map(|i| f64::from(i % 5)).collect(),
            &DataType::Int64,
        );
        let few = few.unwrap();
        assert_eq!(few.bars, [20; 5]);
        assert_eq!(
            (few.range(3), few.ends()),
            ("3".into(), ["0".into(), "4".into()])
        );
        let many = Histogram::of((0..50).map(f64::from).collect(), &DataType::Int64).unwrap();
        assert_eq!(many.bars.len(), 17);
        assert_eq!(many.bars.iter().sum::<u64>(), 50);
        assert!(many.bars[..16].iter().all(|bar| *bar == 3));
    }

    #[test]
    fn values_far_out_have_bars_of_their_own() {
        let mut numbers: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        numbers.extend([1e9, -1e9, f64::NAN]);
        let histogram = Histogram::of(numbers, &DataType::Float64).unwrap();
        assert!(histogram.before > 0 && histogram.after > 0);
        assert_eq!(histogram.not_finite, 1);
        assert!(histogram.bars.iter().all(|bar| *bar > 20), "{histogram:?}");
        // Almost all in one place: nothing to look at more closely.
        let mut equal = vec![7.0; 1000];
        equal.push(1e6);
        let equal = Histogram::of(equal, &DataType::Float64).unwrap();
        assert_eq!((equal.bars[0], equal.bars[BARS - 1]), (1000, 1));
        // The width of the whole range is infinite.
        let widest = Histogram::of(vec![f64::MIN, 0.0, f64::MAX], &DataType::Float64).unwrap();
        assert_eq!(widest.bars.iter().sum::<u64>(), 3);
    }

    #[test]
    fn dates_are_dates() {
        let dates: ArrayRef = Arc::new(Date32Array::from_iter_values(0..24));
        let numbers = numbers(&dates).unwrap().unwrap();
        let histogram = Histogram::of(numbers, dates.data_type()).unwrap();
        assert_eq!(
            histogram.ends(),
            ["1970-01-01".to_owned(), "1970-01-25".to_owned()]
        );
    }

    #[test]
    fn figures_are_short() {
        let shown = [0.0, -3.0, 1234.5, 0.012_345_678, 1e20, -1_234_567.8].map(figure);
        assert_eq!(
            shown,
            ["0", "-3", "1234.5", "0.012346", "1.00e20", "-1,234,568"]
        );
    }
}
