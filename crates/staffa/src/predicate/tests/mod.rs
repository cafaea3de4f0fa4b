//! Random predicates over random tables against a reading of them row by row that shares no code
//! with the rest.

mod edges;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int8Type, Int16Type};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    Decimal256Array, DurationSecondArray, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, RunArray,
    StringArray, StringViewArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_buffer::i256;

use super::{Compare, Literal, Predicate};
use crate::format::{Bounds, ZoneMap};
use crate::values::{Kind, StringsBuf, Values};

pub(super) struct Rng(pub(super) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Often small, sometimes at the ends of the range.
    fn int(&mut self, min: i128, max: i128) -> i128 {
        match self.below(8) {
            0 => min,
            1 => max,
            2 => max - 1,
            _ => (self.below(40) as i128 - 20).clamp(min, max),
        }
    }
}

/// What a row holds, as the oracle sees it.
#[derive(Debug, Clone)]
enum Cell {
    Bool(bool),
    /// Times `10^-scale`.
    Number(i128, u32),
    Float(f64),
    Bytes(Vec<u8>),
}

/// Of numbers: by cross-multiplication, in 256 bits.
fn order(a: &Cell, b: &Cell) -> Ordering {
    let wide = |v: i128, scale: u32| {
        i256::from_i128(v)
            .checked_mul(i256::from_i128(10i128.pow(scale)))
            .unwrap()
    };
    match (a, b) {
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Number(a, s), Cell::Number(b, t)) => wide(*a, *t).cmp(&wide(*b, *s)),
        (Cell::Float(a), Cell::Float(b)) => a.total_cmp(b),
        (Cell::Bytes(a), Cell::Bytes(b)) => a.cmp(b),
        other => panic!("{other:?}"),
    }
}

fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order.is_eq(),
        Compare::NotEq => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::LtEq => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::GtEq => order.is_ge(),
    }
}

type Cells = Vec<Option<Cell>>;
type CellBounds = fn(&[Option<Cell>]) -> Bounds;
type MakeLiteral = Box<dyn Fn(&mut Rng) -> (Literal, Cell)>;

pub(super) struct Column {
    pub(super) array: ArrayRef,
    cells: Cells,
    literal: MakeLiteral,
    /// Of some rows; `None` where the writer has none.
    zone: Option<CellBounds>,
}

fn int_bounds(cells: &[Option<Cell>]) -> Bounds {
    let ints = || {
        cells.iter().flatten().map(|c| {
            if let Cell::Number(v, _) = c {
                *v
            } else {
                panic!("{c:?}")
            }
        })
    };
    ints()
        .min()
        .map_or(Bounds::None, |min| Bounds::Int(min, ints().max().unwrap()))
}

fn float_bounds(cells: &[Option<Cell>]) -> Bounds {
    let bits = cells.iter().flatten().map(|c| {
        if let Cell::Float(v) = c {
            v.to_bits()
        } else {
            panic!("{c:?}")
        }
    });
    ZoneMap::of(Values::U64(&bits.collect::<Vec<_>>()), Kind::Float, 0).bounds
}

fn byte_bounds(cells: &[Option<Cell>]) -> Bounds {
    let bytes = cells.iter().flatten().map(|c| {
        if let Cell::Bytes(v) = c {
            v.as_slice()
        } else {
            panic!("{c:?}")
        }
    });
    ZoneMap::of(
        Values::Bytes(bytes.collect::<StringsBuf>().as_strings()),
        Kind::Opaque,
        0,
    )
    .bounds
}

fn bit_bounds(cells: &[Option<Cell>]) -> Bounds {
    let has = |bit| {
        cells
            .iter()
            .flatten()
            .any(|c| matches!(c, Cell::Bool(b) if *b == bit))
    };
    Bounds::Bits(has(false), has(true))
}

const STRINGS: [&str; 10] = [
    "",
    "a",
    "ab",
    "b",
    "a\0",
    "it's",
    "ümläut",
    "a string longer than sixteen",
    "a string longer than that",
    "zz",
];

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
fn timestamp(digits: u32, zone_minutes: i64) -> MakeLiteral {
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

fn number_literal(min: i128, max: i128) -> MakeLiteral {
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

fn decimal_literal() -> MakeLiteral {
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

const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    f64::NAN,
    -f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    65504.0,
    1e30,
    -1e300,
];

fn float_literal(narrow: fn(f64) -> f64) -> MakeLiteral {
    Box::new(move |rng| {
        if rng.below(3) == 0 {
            let v = rng.below(10) as i128 - 5;
            return (Literal::Int(v), Cell::Float(v as f64));
        }
        let v = rng.pick(&FLOATS);
        let narrow = narrow(v);
        // Too large for the type: equal to nothing, between its largest number and infinity.
        (
            Literal::Float(v),
            Cell::Float(if narrow.is_infinite() && v.is_finite() {
                v
            } else {
                narrow
            }),
        )
    })
}

fn text_literal() -> MakeLiteral {
    Box::new(|rng| {
        let text = rng.pick(&STRINGS);
        (
            Literal::Text(text.to_owned()),
            Cell::Bytes(text.as_bytes().to_vec()),
        )
    })
}

fn nullable<T>(rng: &mut Rng, rows: usize, mut value: impl FnMut(&mut Rng) -> T) -> Vec<Option<T>> {
    (0..rows)
        .map(|_| (rng.below(5) > 0).then(|| value(rng)))
        .collect()
}

/// A column of each kind.
pub(super) fn table(rng: &mut Rng, rows: usize) -> Vec<(String, Column)> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    let mut add = |name: &str, array: ArrayRef, cells: Cells, literal, zone| {
        columns.push((
            name.to_owned(),
            Column {
                array,
                cells,
                literal,
                zone,
            },
        ));
    };
    macro_rules! numbers {
        ($name:literal, $array:ident, $native:ty, $scale:literal, $min:expr, $max:expr, $literal:expr, $finish:expr) => {{
            let values = nullable(rng, rows, |rng| rng.int($min as i128, $max as i128));
            let array: $array = values
                .iter()
                .map(|v| v.map(|v| <$native>::try_from(v).unwrap()))
                .collect();
            let cells = values
                .iter()
                .map(|v| v.map(|v| Cell::Number(v, $scale)))
                .collect();
            let finish: fn($array) -> $array = $finish;
            add(
                $name,
                Arc::new(finish(array)),
                cells,
                $literal,
                Some(int_bounds as CellBounds),
            );
        }};
    }
    numbers!(
        "i8",
        Int8Array,
        i8,
        0,
        i8::MIN,
        i8::MAX,
        number_literal(-130, 130),
        |a| a
    );
    numbers!(
        "i64",
        Int64Array,
        i64,
        0,
        i64::MIN,
        i64::MAX,
        number_literal(i64::MIN as i128, i64::MAX as i128),
        |a| a
    );
    numbers!(
        "u8",
        UInt8Array,
        u8,
        0,
        u8::MIN,
        u8::MAX,
        number_literal(-2, 260),
        |a| a
    );
    numbers!(
        "u64",
        UInt64Array,
        u64,
        0,
        u64::MIN,
        u64::MAX,
        number_literal(-2, u64::MAX as i128),
        |a| a
    );
    numbers!(
        "duration",
        DurationSecondArray,
        i64,
        0,
        i64::MIN,
        i64::MAX,
        number_literal(-2, 60),
        |a| a
    );
    numbers!(
        "dec",
        Decimal128Array,
        i128,
        2,
        -99_999,
        99_999,
        decimal_literal(),
        |a| a.with_precision_and_scale(5, 2).unwrap()
    );
    numbers!(
        "big dec",
        Decimal256Array,
        i256,
        3,
        -99_999,
        99_999,
        decimal_literal(),
        |a| a.with_precision_and_scale(60, 3).unwrap()
    );
    let day: MakeLiteral = Box::new(|rng| {
        let day = rng.int(-20_000, 20_000) as i64;
        (Literal::Text(date(day)), Cell::Number(i128::from(day), 0))
    });
    numbers!("date", Date32Array, i32, 0, -20_000, 20_000, day, |a| a);
    let day: MakeLiteral = Box::new(|rng| {
        let day = rng.int(-20_000, 20_000) as i64;
        (
            Literal::Text(date(day)),
            Cell::Number(i128::from(day) * 86_400_000, 0),
        )
    });
    numbers!(
        "date64",
        Date64Array,
        i64,
        0,
        -1_728_000_000,
        1_728_000_000,
        day,
        |a| a
    );
    let clock: MakeLiteral = Box::new(|rng| {
        let (seconds, fraction) = (rng.int(0, 86_399), rng.below(100_000) as i128);
        (
            Literal::Text(format!("{}.{fraction:05}", time(seconds as i64))),
            scaled(seconds * 100_000 + fraction, 5, 3),
        )
    });
    numbers!(
        "time",
        Time32MillisecondArray,
        i32,
        0,
        0,
        86_399_999,
        clock,
        |a| a
    );
    numbers!(
        "at",
        TimestampSecondArray,
        i64,
        0,
        -200_000,
        1_700_000_000,
        timestamp(0, 0),
        |a| a
    );
    numbers!(
        "at zone",
        TimestampMicrosecondArray,
        i64,
        0,
        -200_000_000_000i64,
        1_700_000_000_000_000i64,
        timestamp(6, 90),
        |a| a.with_timezone("+01:30")
    );

    let values = nullable(rng, rows, |rng| rng.pick(&FLOATS));
    let cells = |narrow: fn(f64) -> f64| {
        values
            .iter()
            .map(|v| v.map(|v| Cell::Float(narrow(v))))
            .collect::<Cells>()
    };
    let single = |v: f64| f64::from(v as f32);
    let half = |v: f64| <Float16Type as ArrowPrimitiveType>::Native::from_f64(v).to_f64();
    add(
        "f64",
        Arc::new(Float64Array::from(values.clone())),
        cells(|v| v),
        float_literal(|v| v),
        Some(float_bounds),
    );
    let array: Float32Array = values.iter().map(|v| v.map(|v| v as f32)).collect();
    add(
        "f32",
        Arc::new(array),
        cells(single),
        float_literal(single),
        Some(float_bounds),
    );
    let array: Float16Array = values
        .iter()
        .map(|v| v.map(<Float16Type as ArrowPrimitiveType>::Native::from_f64))
        .collect();
    add(
        "f16",
        Arc::new(array),
        cells(half),
        float_literal(half),
        Some(float_bounds),
    );

    let bools = nullable(rng, rows, |rng| rng.below(2) == 0);
    let bool_literal: MakeLiteral = Box::new(|rng| {
        let v = rng.below(2) == 0;
        (Literal::Bool(v), Cell::Bool(v))
    });
    let bool_cells = bools.iter().map(|v| v.map(Cell::Bool)).collect();
    add(
        "bool",
        Arc::new(BooleanArray::from(bools)),
        bool_cells,
        bool_literal,
        Some(bit_bounds),
    );

    let texts = nullable(rng, rows, |rng| rng.pick(&STRINGS));
    let cells: Cells = texts
        .iter()
        .map(|v| v.map(|v| Cell::Bytes(v.as_bytes().to_vec())))
        .collect();
    let mut text = |name, array, zone| add(name, array, cells.clone(), text_literal(), zone);
    text(
        "utf8",
        Arc::new(StringArray::from(texts.clone())),
        Some(byte_bounds),
    );
    text(
        "large",
        Arc::new(LargeStringArray::from(texts.clone())),
        Some(byte_bounds),
    );
    text(
        "view",
        Arc::new(StringViewArray::from(texts.clone())),
        Some(byte_bounds),
    );
    let bytes: Vec<_> = texts.iter().map(|v| v.map(str::as_bytes)).collect();
    text(
        "binary",
        Arc::new(BinaryArray::from(bytes)),
        Some(byte_bounds),
    );
    let plain = StringArray::from(texts.clone());
    let dictionary: arrow_array::DictionaryArray<Int8Type> = texts.iter().copied().collect();
    text("dict", Arc::new(dictionary), None);
    let ends: Int32Array = (1..=rows as i32).collect();
    text(
        "runs",
        Arc::new(RunArray::try_new(&ends, &plain).unwrap()),
        None,
    );
    let inner: arrow_array::DictionaryArray<Int16Type> = texts.iter().copied().collect();
    text(
        "runs of dict",
        Arc::new(RunArray::try_new(&ends, &inner).unwrap()),
        None,
    );

    let fixed = nullable(rng, rows, |rng| {
        rng.pick(&[b"ab", b"a\0", b"b ", b"\xff\xff"])
    });
    let array =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.iter().copied(), 2).unwrap();
    let cells = fixed
        .iter()
        .map(|v| v.map(|v| Cell::Bytes(v.to_vec())))
        .collect();
    add(
        "fixed",
        Arc::new(array),
        cells,
        text_literal(),
        Some(byte_bounds),
    );
    columns
}

/// SQL's LIKE by trying everything.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && is_like(&text[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => {
            text.first() == Some(c) && is_like(&text[1..], rest)
        }
    }
}

/// A test of text or binary and what each row makes of it.
fn text_test(rng: &mut Rng, columns: &[(String, Column)]) -> (Predicate, Vec<Option<bool>>) {
    let (name, column) = loop {
        let (name, column) = &columns[rng.below(columns.len())];
        if !column
            .cells
            .iter()
            .flatten()
            .any(|cell| !matches!(cell, Cell::Bytes(_)))
            && TEXTS.contains(&name.as_str())
        {
            break (name, column);
        }
    };
    let bytes = |cell: &Option<Cell>| match cell {
        Some(Cell::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let each = |test: &dyn Fn(&[u8]) -> bool| {
        column
            .cells
            .iter()
            .map(|cell| Some(test(&bytes(cell)?)))
            .collect()
    };
    let text = rng.pick(&STRINGS);
    let cut = |at| {
        (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap()
    };
    let (start, end) = (
        cut(rng.below(text.len() + 1)),
        cut(rng.below(text.len() + 1)),
    );
    let part = text.get(start..end).unwrap_or("a").to_owned();
    let column = name.clone();
    let binary = ["binary", "fixed"].contains(&name.as_str());
    match rng.below(3) {
        0 => {
            let prefix = text[..end].to_owned();
            let truth = each(&|bytes| bytes.starts_with(prefix.as_bytes()));
            (Predicate::StartsWith { column, prefix }, truth)
        }
        1 => {
            let contains = |bytes: &[u8]| {
                bytes
                    .windows(part.len().max(1))
                    .any(|w| w == part.as_bytes())
            };
            let truth = each(&|bytes| part.is_empty() || contains(bytes));
            (Predicate::Contains { column, part }, truth)
        }
        _ if binary => {
            let truth = each(&|bytes| bytes.starts_with(part.as_bytes()));
            (
                Predicate::Like {
                    column,
                    pattern: format!("{part}%"),
                },
                truth,
            )
        }
        _ => {
            let pieces = ["a", "b", "%", "%", "_", "\\%", "\\a", "ü", "ml", &part];
            let pattern: String = (0..rng.below(5)).map(|_| rng.pick(&pieces)).collect();
            let chars: Vec<char> = pattern.chars().collect();
            let like = |bytes: &[u8]| {
                let text: Vec<char> = std::str::from_utf8(bytes).unwrap().chars().collect();
                is_like(&text, &chars)
            };
            let truth = each(&like);
            (Predicate::Like { column, pattern }, truth)
        }
    }
}

const TEXTS: [&str; 8] = [
    "utf8",
    "large",
    "view",
    "binary",
    "dict",
    "runs",
    "runs of dict",
    "fixed",
];

/// A predicate and what each row makes of it.
fn generate(
    rng: &mut Rng,
    columns: &[(String, Column)],
    depth: usize,
) -> (Predicate, Vec<Option<bool>>) {
    if rng.below(4) == 0 {
        return text_test(rng, columns);
    }
    let kind = rng.below(if depth == 0 { 4 } else { 7 });
    let (name, column) = &columns[rng.below(columns.len())];
    let name = name.clone();
    let literal = |rng: &mut Rng| {
        if rng.below(12) == 0 {
            return (Literal::Null, None);
        }
        let (literal, cell) = (column.literal)(rng);
        (literal, Some(cell))
    };
    match kind {
        0 => {
            let truth = column
                .cells
                .iter()
                .map(|cell| Some(cell.is_none()))
                .collect();
            (Predicate::IsNull { column: name }, truth)
        }
        1 | 2 => {
            let op = rng.pick(&[
                Compare::Eq,
                Compare::NotEq,
                Compare::Lt,
                Compare::LtEq,
                Compare::Gt,
                Compare::GtEq,
            ]);
            let (literal, value) = literal(rng);
            let truth = column
                .cells
                .iter()
                .map(|cell| Some(holds(op, order(cell.as_ref()?, value.as_ref()?))))
                .collect();
            (
                Predicate::Compare {
                    column: name,
                    op,
                    literal,
                },
                truth,
            )
        }
        3 => {
            let (literals, values): (Vec<_>, Vec<_>) =
                (0..rng.below(4)).map(|_| literal(rng)).unzip();
            let equals = |cell: &Option<Cell>, v: &Option<Cell>| {
                Some(order(cell.as_ref()?, v.as_ref()?).is_eq())
            };
            let one = |cell| any(&values.iter().map(|v| equals(cell, v)).collect::<Vec<_>>());
            let truth = column.cells.iter().map(one).collect();
            (
                Predicate::In {
                    column: name,
                    literals,
                },
                truth,
            )
        }
        4 => {
            let (part, truth) = generate(rng, columns, depth - 1);
            (
                Predicate::Not(Box::new(part)),
                truth.iter().map(|t| t.map(|t| !t)).collect(),
            )
        }
        _ => {
            let count = rng.pick(&[0, 2, 2, 2, 3]);
            let (parts, truths): (Vec<_>, Vec<_>) = (0..count)
                .map(|_| generate(rng, columns, depth - 1))
                .unzip();
            let rows = 0..column.cells.len();
            let row = |i: usize| truths.iter().map(|t| t[i]).collect::<Vec<_>>();
            if kind == 5 {
                let not_all =
                    |i| any(&row(i).iter().map(|t| t.map(|t| !t)).collect::<Vec<_>>()).map(|t| !t);
                (Predicate::And(parts), rows.map(not_all).collect())
            } else {
                (Predicate::Or(parts), rows.map(|i| any(&row(i))).collect())
            }
        }
    }
}

/// SQL's OR.
fn any(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(true)) {
        Some(true)
    } else {
        (!parts.contains(&None)).then_some(false)
    }
}

pub(super) fn batch(columns: &[(String, Column)]) -> RecordBatch {
    RecordBatch::try_from_iter(
        columns
            .iter()
            .map(|(name, column)| (name, column.array.clone())),
    )
    .unwrap()
}

#[test]
fn rows_and_blocks_agree_with_the_oracle() {
    let mut rng = Rng(0x5eed);
    let (mut blocks, mut kept, mut matched, mut pruned_simple, mut empty_simple) = (0, 0, 0, 0, 0);
    let (mut pruned_prefixes, mut empty_prefixes) = (0, 0);
    for round in 0..60 {
        let rows = [0, 1, 7, 64, 150][round % 5];
        let columns = table(&mut rng, rows);
        let batch = batch(&columns);
        for _ in 0..200 {
            let depth = rng.below(4);
            let (predicate, truth) = generate(&mut rng, &columns, depth);
            let bound = predicate.bind(&batch.schema()).unwrap();
            let expected: Vec<bool> = truth.iter().map(|t| *t == Some(true)).collect();
            let found = bound.evaluate(&batch).unwrap();
            assert_eq!(found.null_count(), 0);
            if let Some(row) = (0..rows).find(|&i| found.value(i) != expected[i]) {
                let cells: HashMap<_, _> =
                    columns.iter().map(|(n, c)| (n, &c.cells[row])).collect();
                let cells: Vec<_> = predicate
                    .columns()
                    .iter()
                    .map(|n| (*n, cells[&(*n).to_owned()]))
                    .collect();
                panic!(
                    "{predicate}\n{bound:?}\nrow {row}: {cells:?}: {} expected",
                    expected[row]
                );
            }

            // Through text and back, it is the same (NaN is not equal to itself, but its text is).
            let again: Predicate = predicate.to_string().parse().unwrap();
            assert_eq!(
                format!("{again:?}"),
                format!("{predicate:?}"),
                "{predicate}"
            );

            // A slice of it: dictionaries, runs and views with offsets.
            let start = rng.below(rows + 1);
            let len = rng.below((rows - start).min(20) + 1);
            let part = bound.evaluate(&batch.slice(start, len)).unwrap();
            assert!(
                part.iter()
                    .map(Option::unwrap)
                    .eq(expected[start..start + len].iter().copied()),
                "{predicate}"
            );

            let zone = |name: &str| {
                let (_, column) = columns.iter().find(|(n, _)| n == name).unwrap();
                let cells = &column.cells[start..start + len];
                let nulls = cells.iter().filter(|c| c.is_none()).count() as u64;
                column.zone.map(|bounds| ZoneMap {
                    nulls,
                    bounds: bounds(cells),
                })
            };
            let may = bound.may_match(len as u64, &zone);
            let some = expected[start..start + len].contains(&true);
            assert!(may || !some, "{predicate} matches a row but was pruned");
            assert!(bound.may_match(len as u64, &|_| None) || len == 0 || !some);
            blocks += 1;
            kept += usize::from(may);
            matched += usize::from(some);
            if let Predicate::StartsWith { column, .. } = &predicate
                && !some
                && zone(column).is_some()
            {
                empty_prefixes += 1;
                pruned_prefixes += usize::from(!may);
            }
            if let Predicate::Compare { column, .. } = &predicate
                && !some
                && zone(column).is_some()
            {
                empty_simple += 1;
                pruned_simple += usize::from(!may);
            }
        }
    }
    assert!(
        kept < blocks && matched > blocks / 10,
        "{blocks} blocks, {matched} match, {kept} kept"
    );
    assert!(
        pruned_prefixes * 2 > empty_prefixes,
        "only {pruned_prefixes} of {empty_prefixes} without the prefix"
    );
    assert!(
        pruned_simple * 10 > empty_simple * 7,
        "only {pruned_simple} of {empty_simple} empty blocks were pruned"
    );
}
