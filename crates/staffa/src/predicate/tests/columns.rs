//! A column of each type with random values, its cells for the oracle, and literals for it.

use super::*;

pub(super) type CellBounds = fn(&[Option<Cell>]) -> Bounds;

pub(super) type MakeLiteral = Box<dyn Fn(&mut Rng) -> (Literal, Cell)>;

pub(super) struct Column {
    pub(super) array: ArrayRef,
    pub(super) cells: Cells,
    pub(super) literal: MakeLiteral,
    /// Of some rows; `None` where the writer has none.
    pub(super) zone: Option<CellBounds>,
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

pub(super) const STRINGS: [&str; 10] = [
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
        ($($name:literal $array:ident($native:ty) scale $scale:literal in $min:expr, $max:expr => $literal:expr, $finish:expr;)*) => {$({
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
            let array = Arc::new(finish(array));
            add($name, array, cells, $literal, Some(int_bounds as CellBounds));
        })*};
    }
    numbers! {
        "i8" Int8Array(i8) scale 0 in i8::MIN, i8::MAX => number_literal(-130, 130), |a| a;
        "i64" Int64Array(i64) scale 0 in i64::MIN, i64::MAX => number_literal(i64::MIN as i128, i64::MAX as i128), |a| a;
        "u8" UInt8Array(u8) scale 0 in u8::MIN, u8::MAX => number_literal(-2, 260), |a| a;
        "u64" UInt64Array(u64) scale 0 in u64::MIN, u64::MAX => number_literal(-2, u64::MAX as i128), |a| a;
        "duration" DurationSecondArray(i64) scale 0 in i64::MIN, i64::MAX => number_literal(-2, 60), |a| a;
        "dec" Decimal128Array(i128) scale 2 in -99_999, 99_999 => decimal_literal(), |a| a.with_precision_and_scale(5, 2).unwrap();
        "big dec" Decimal256Array(i256) scale 3 in -99_999, 99_999 => decimal_literal(), |a| a.with_precision_and_scale(60, 3).unwrap();
        "date" Date32Array(i32) scale 0 in -20_000, 20_000 => day_literal(1), |a| a;
        "date64" Date64Array(i64) scale 0 in -1_728_000_000, 1_728_000_000 => day_literal(86_400_000), |a| a;
        "time" Time32MillisecondArray(i32) scale 0 in 0, 86_399_999 => time_literal(), |a| a;
        "at" TimestampSecondArray(i64) scale 0 in -200_000, 1_700_000_000 => timestamp(0, 0), |a| a;
        "at zone" TimestampMicrosecondArray(i64) scale 0 in -200_000_000_000i64, 1_700_000_000_000_000i64 => timestamp(6, 90), |a| a.with_timezone("+01:30");
    }
    floats_and_bools(rng, rows, &mut add);
    texts(rng, rows, &mut add);
    columns
}

/// Adds a column: name, array, cells, literals, bounds.
type Add<'a> = &'a mut dyn FnMut(&str, ArrayRef, Cells, MakeLiteral, Option<CellBounds>);

fn floats_and_bools(rng: &mut Rng, rows: usize, add: Add<'_>) {
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
}

fn texts(rng: &mut Rng, rows: usize, add: Add<'_>) {
    let texts = nullable(rng, rows, |rng| rng.pick(&STRINGS));
    let cells: Cells = texts
        .iter()
        .map(|v| v.map(|v| Cell::Bytes(v.as_bytes().to_vec())))
        .collect();
    let mut text = |name, array, zone| add(name, array, cells.clone(), text_literal(), zone);
    let plain = StringArray::from(texts.clone());
    let large = LargeStringArray::from(texts.clone());
    let views = StringViewArray::from(texts.clone());
    let bytes: Vec<_> = texts.iter().map(|v| v.map(str::as_bytes)).collect();
    let dictionary: arrow_array::DictionaryArray<Int8Type> = texts.iter().copied().collect();
    let inner: arrow_array::DictionaryArray<Int16Type> = texts.iter().copied().collect();
    let ends: Int32Array = (1..=rows as i32).collect();
    let runs = RunArray::try_new(&ends, &plain).unwrap();
    let runs_of_dict = RunArray::try_new(&ends, &inner).unwrap();
    text("utf8", Arc::new(plain), Some(byte_bounds));
    text("large", Arc::new(large), Some(byte_bounds));
    text("view", Arc::new(views), Some(byte_bounds));
    text(
        "binary",
        Arc::new(BinaryArray::from(bytes)),
        Some(byte_bounds),
    );
    text("dict", Arc::new(dictionary), None);
    text("runs", Arc::new(runs), None);
    text("runs of dict", Arc::new(runs_of_dict), None);

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
