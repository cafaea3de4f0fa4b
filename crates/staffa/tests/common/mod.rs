//! What the tests share: tables of every type, and their rows as text, which is how they are
//! compared.
#![allow(
    dead_code,
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, NullArray, RecordBatch, RecordBatchOptions, StringArray, UInt8Array, make_array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};
use staffa::{File, Scan, WriteOptions};

/// A small generator (`SplitMix64`), so that tests come out the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.next() % end as u64) as usize
        }
    }
}

/// Options with row groups and blocks of so many rows.
pub fn sized(row_group_rows: usize, block_rows: usize) -> WriteOptions {
    let mut options = WriteOptions::default();
    (options.row_group_rows, options.block_rows) = (row_group_rows, block_rows);
    options
}

/// Through a file in memory.
pub fn write(batches: &[RecordBatch], options: WriteOptions) -> File {
    File::from_bytes(staffa::to_bytes(batches[0].schema(), batches, options).unwrap()).unwrap()
}

/// A column for every encoding, of its name, for which it is requested (those for derived columns are
/// chosen); more than a vector of values each.
pub fn encodings() -> (RecordBatch, WriteOptions) {
    const ROWS: i64 = 1050;
    let all = || 0..ROWS;
    let some = |i: i64| i % 50 != 0;
    let mixed = |i: i64| ((i * 2_654_435_761) >> 13) * 40_503 % 65_521 % 251;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "plain",
            Arc::new(UInt8Array::from_iter_values(all().map(|i| mixed(i) as u8))),
        ),
        (
            "constant",
            Arc::new(Int64Array::from_value(42, ROWS as usize)),
        ),
        (
            "bitpack",
            Arc::new(Int64Array::from_iter(
                all().map(|i| some(i).then_some(i * i % 13)),
            )),
        ),
        (
            "frame_of_reference",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| if i == 700 { -9 } else { (900 + i % 7) as i32 }),
            )),
        ),
        (
            "delta",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| 1_700_000_000 + i * 60 + i * i % 3),
            )),
        ),
        (
            "run_end",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| (i / 100 * 7919 % 1000) as i32),
            )),
        ),
        (
            "dictionary",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| ["Oban", "Iona", "Tobermory"][(i * i % 3) as usize]),
            )),
        ),
        (
            "frequency",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| if i % 90 == 7 { i as i32 * 99_999 } else { 5 }),
            )),
        ),
        (
            "escape",
            Arc::new(Int32Array::from_iter(all().map(|i| {
                some(i).then_some((i % 5 + i * i % 41 / 40 * i * 977) as i32)
            }))),
        ),
        (
            "split",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| (1_700_000_000 + i * i % 977) * 1_000_000),
            )),
        ),
        (
            "vbyte",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| if i % 50 == 7 { i * i * i } else { i % 9 - 4 }),
            )),
        ),
        (
            "stream_vbyte",
            Arc::new(Int32Array::from_iter(
                all().map(|i| some(i).then_some((i % 60).pow(3) as i32 / 700)),
            )),
        ),
        (
            "pseudodecimal",
            Arc::new(Float64Array::from_iter_values(
                all().map(|i| (i * i % 37) as f64 / 100.0),
            )),
        ),
        (
            "alp",
            Arc::new(Float64Array::from_iter_values(
                all().map(|i| (i * i % 37) as f64 / 8.0),
            )),
        ),
        (
            "alp_rd",
            Arc::new(Float32Array::from_iter_values(
                all().map(|i| 1.0 / (1 + i % 19) as f32),
            )),
        ),
        (
            "fixed_point",
            Arc::new(Float32Array::from_iter(
                all().map(|i| some(i).then_some((i * i % 91) as f32 / 16.0)),
            )),
        ),
        (
            "fsst",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("https://{}", i / 100)),
            )),
        ),
        (
            "onpair",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("item-{}", i % 40))),
            )),
        ),
        (
            "narrow",
            Arc::new(Decimal128Array::from_iter_values(
                all().map(|i| i128::from(i % 9) - 4),
            )),
        ),
        (
            "bitmap",
            Arc::new(BooleanArray::from_iter(all().map(|i| Some(i * i % 3 == 1)))),
        ),
        (
            "roaring",
            Arc::new(BooleanArray::from_iter(all().map(|i| Some(i % 301 == 3)))),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("${}.{:02}", i * 7, i % 100))),
            )),
        ),
        (
            "alphabet",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("{:o}", mixed(i) * mixed(i + 1) * 99_991)),
            )),
        ),
        (
            "front_coding",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("/data/isles/{}/{}", i / 90, mixed(i))),
            )),
        ),
        (
            "zstd",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("row {} of the isle", i * i % 1000)),
            )),
        ),
        (
            "lz4",
            Arc::new(Int32Array::from_iter(
                all().map(|i| some(i).then_some((i * i % 10) as i32)),
            )),
        ),
        (
            "brotli",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("line {}", i % 77))),
            )),
        ),
        (
            "pco",
            Arc::new(Float64Array::from_iter(
                all().map(|i| some(i).then(|| (i * 37 % 9973) as f64 / 8.0)),
            )),
        ),
        (
            "difference",
            Arc::new(UInt8Array::from_iter_values(
                all().map(|i| (mixed(i) + i * 7 % 3) as u8),
            )),
        ),
        (
            "grouped",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| (mixed(i) + 7).pow(5) % 1_000_003),
            )),
        ),
        (
            "repeat",
            Arc::new(Int64Array::from_iter(
                all().map(|i| some(i).then_some((i % 70 * 7919 + i / 400) % 991)),
            )),
        ),
    ];
    let mut options = WriteOptions::default();
    let chosen = ["difference", "grouped"];
    let asked = columns.iter().filter(|(name, _)| !chosen.contains(name));
    options.encodings = asked
        .map(|(name, _)| ((*name).to_owned(), (*name).to_owned()))
        .collect();
    let mut known: Vec<&str> = staffa::encodings()
        .iter()
        .map(|encoding| encoding.name)
        .collect();
    let mut found: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    found.sort_unstable();
    assert_eq!(known, found, "a column for each encoding");
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    (
        RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
        options,
    )
}

/// A table of columns called "a", "b" and so on, all nullable.
pub fn table(columns: Vec<ArrayRef>) -> RecordBatch {
    let name = |i: usize| char::from(b'a' + i as u8).to_string();
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(i, c)| Field::new(name(i), c.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(columns.first().map(Array::len));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).unwrap()
}

/// All batches of a scan, each a whole and valid array of the right type.
pub fn read(scan: Scan) -> Vec<RecordBatch> {
    let reader = scan.reader().unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
        check(batch);
    }
    batches
}

/// That the arrays hold what their types promise.
pub fn check(batch: &RecordBatch) {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        assert_eq!(
            (field.data_type(), column.len()),
            (column.data_type(), batch.num_rows())
        );
        column.to_data().validate_full().unwrap();
    }
}

/// Column `i` of all batches, a string per row.
pub fn column(batches: &[RecordBatch], i: usize) -> Vec<String> {
    batches
        .iter()
        .flat_map(|batch| rows(batch.column(i)))
        .collect()
}

/// Rows as text, so that list views, dictionaries and runs compare by what they say; floats by
/// their bits.
pub fn rows(array: &ArrayRef) -> Vec<String> {
    (0..array.len())
        .map(|row| show(array.as_ref(), row))
        .collect()
}

pub fn show(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return "NULL".to_owned();
    }
    let all = |items: ArrayRef| format!("[{}]", rows(&items).join(", "));
    match array.data_type() {
        DataType::List(_) => all(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => all(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => all(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => all(Arc::new(array.as_map().value(row))),
        DataType::Struct(_) => {
            let fields: Vec<String> = array
                .as_struct()
                .columns()
                .iter()
                .map(|column| show(column.as_ref(), row))
                .collect();
            format!("({})", fields.join(", "))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            show(
                dictionary.values().as_ref(),
                dictionary.normalized_keys()[row],
            )
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => {
                let runs = array.as_run::<Int16Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
            DataType::Int32 => {
                let runs = array.as_run::<Int32Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
            _ => {
                let runs = array.as_run::<Int64Type>();
                show(runs.values().as_ref(), runs.get_physical_index(row))
            }
        },
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
        DataType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        DataType::Binary => format!("{:x?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:x?}", array.as_binary::<i64>().value(row)),
        DataType::BinaryView => format!("{:x?}", array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => format!("{:x?}", array.as_fixed_size_binary().value(row)),
        ty => {
            let width = ty.primitive_width().unwrap();
            let data = array.to_data();
            format!(
                "{:x?}",
                data.buffers()[0]
                    .slice_with_length((data.offset() + row) * width, width)
                    .as_slice()
            )
        }
    }
}

/// Every type without children.
pub fn flat_types() -> Vec<DataType> {
    use DataType as D;
    let mut out = vec![
        D::Null,
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::Float64,
        D::Utf8,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::BinaryView,
        D::FixedSizeBinary(0),
        D::FixedSizeBinary(1),
        D::FixedSizeBinary(16),
        D::FixedSizeBinary(21),
        D::Date32,
        D::Date64,
        D::Time32(TimeUnit::Second),
        D::Time32(TimeUnit::Millisecond),
        D::Time64(TimeUnit::Microsecond),
        D::Time64(TimeUnit::Nanosecond),
        D::Interval(IntervalUnit::YearMonth),
        D::Interval(IntervalUnit::DayTime),
        D::Interval(IntervalUnit::MonthDayNano),
        D::Decimal32(9, 2),
        D::Decimal64(18, -3),
        D::Decimal128(38, 38),
        D::Decimal256(76, 0),
    ];
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        out.extend([
            D::Duration(unit),
            D::Timestamp(unit, None),
            D::Timestamp(unit, Some("Europe/Berlin".into())),
        ]);
    }
    out
}

pub fn field(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

pub fn dictionary_of(key: DataType, values: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(values))
}

pub fn runs_of(ends: DataType, values: DataType) -> DataType {
    DataType::RunEndEncoded(
        Arc::new(Field::new("run_ends", ends, false)),
        field("values", values),
    )
}

pub fn map_of(key: DataType, values: DataType, sorted: bool) -> DataType {
    let fields = vec![
        Arc::new(Field::new("keys", key, false)),
        field("values", values),
    ];
    DataType::Map(
        Arc::new(Field::new(
            "entries",
            DataType::Struct(fields.into()),
            false,
        )),
        sorted,
    )
}

/// Every way of nesting `ty`.
pub fn nested_types(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let item = || field("item", ty.clone());
    let structs = D::Struct(
        vec![
            field("a", ty.clone()),
            field("b", D::Int32),
            field("a", D::Utf8),
        ]
        .into(),
    );
    let dictionary = dictionary_of(D::Int16, ty.clone());
    let runs = runs_of(D::Int32, ty.clone());
    vec![
        D::List(item()),
        D::LargeList(item()),
        D::ListView(item()),
        D::LargeListView(item()),
        D::FixedSizeList(item(), 3),
        D::FixedSizeList(item(), 0),
        map_of(D::Utf8, ty.clone(), false),
        map_of(D::Int64, ty.clone(), true),
        dictionary_of(D::UInt8, D::List(item())),
        D::RunEndEncoded(
            Arc::new(Field::new("ends", D::Int16, false)),
            field("named", ty.clone()),
        ),
        runs_of(D::Int64, structs.clone()),
        D::List(field(
            "s",
            D::Struct(vec![field("l", D::List(item())), field("n", D::Null)].into()),
        )),
        D::ListView(field("s", structs.clone())),
        D::ListView(field("d", dictionary.clone())),
        D::LargeListView(field("r", runs.clone())),
        D::FixedSizeList(field("d", dictionary_of(D::Int8, ty.clone())), 2),
        D::FixedSizeList(field("f", D::FixedSizeList(item(), 2)), 2),
        dictionary_of(D::Int8, dictionary_of(D::UInt64, ty.clone())),
        D::Struct(
            vec![
                field("d", dictionary.clone()),
                field("r", runs.clone()),
                field("e", D::Struct(Fields::empty())),
            ]
            .into(),
        ),
        structs,
        dictionary,
        runs,
    ]
}

/// `rows` values of any accepted type; where `nullable`, often some of them NULL, at every level,
/// with contents under them.
pub fn array(ty: &DataType, nullable: bool, rows: usize, random: &mut Random) -> ArrayRef {
    let share = [0, 1, 1, 1, 5][random.below(5)];
    let nulls = (nullable && share > 0).then(|| {
        (0..rows)
            .map(|_| random.below(5) >= share)
            .collect::<NullBuffer>()
    });
    let build = |builder: arrow_data::ArrayDataBuilder| {
        make_array(builder.align_buffers(true).build().unwrap())
    };
    let start = || {
        ArrayData::builder(ty.clone())
            .len(rows)
            .nulls(nulls.clone())
    };
    let lengths: Vec<usize> = (0..rows)
        .map(|_| [0, 1, 2, 3, 7][random.below(5)])
        .collect();
    let mut ends = vec![0i64];
    for length in &lengths {
        ends.push(ends.last().unwrap() + *length as i64);
    }
    let total = *ends.last().unwrap() as usize;
    let offsets = |large: bool, values: &[i64]| {
        let narrow = values
            .iter()
            .map(|value| *value as i32)
            .collect::<Vec<i32>>();
        if large {
            Buffer::from_slice_ref(values)
        } else {
            Buffer::from_vec(narrow)
        }
    };
    match ty {
        DataType::Null => Arc::new(NullArray::new(rows)),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => {
            let string = |random: &mut Random| {
                let text = "köln-Straße 12, 日本 \u{0}".chars().skip(random.below(4));
                text.take([0, 2, 9, 19][random.below(4)])
                    .collect::<String>()
            };
            let strings: Vec<Option<String>> = (0..rows)
                .map(|i| {
                    nulls
                        .as_ref()
                        .is_none_or(|n| n.is_valid(i))
                        .then(|| string(random))
                })
                .collect();
            let strings: ArrayRef = Arc::new(StringArray::from(strings));
            arrow_cast::cast(&strings, ty).unwrap()
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            let items = array(item.data_type(), item.is_nullable(), total, random);
            let offsets = offsets(matches!(ty, DataType::LargeList(_)), &ends);
            build(start().add_buffer(offsets).add_child_data(items.to_data()))
        }
        DataType::ListView(item) | DataType::LargeListView(item) => {
            let large = matches!(ty, DataType::LargeListView(_));
            let items = array(item.data_type(), item.is_nullable(), 2 * rows + 7, random);
            let starts: Vec<i64> = (0..rows).map(|_| random.below(2 * rows) as i64).collect();
            let sizes: Vec<i64> = lengths.iter().map(|length| *length as i64).collect();
            let views = start()
                .add_buffer(offsets(large, &starts))
                .add_buffer(offsets(large, &sizes));
            build(views.add_child_data(items.to_data()))
        }
        DataType::FixedSizeList(item, size) => {
            let items = array(
                item.data_type(),
                item.is_nullable(),
                rows * *size as usize,
                random,
            );
            build(start().add_child_data(items.to_data()))
        }
        DataType::Struct(fields) => {
            let children = fields
                .iter()
                .map(|f| array(f.data_type(), f.is_nullable(), rows, random).to_data());
            build(start().child_data(children.collect()))
        }
        DataType::Dictionary(key, value) => {
            let values = array(value, nullable, 11, random);
            let keys: Int32Array = (0..rows).map(|_| random.below(11) as i32).collect();
            let keys = arrow_cast::cast(&keys, key).unwrap();
            build(
                start()
                    .add_buffer(keys.to_data().buffers()[0].clone())
                    .add_child_data(values.to_data()),
            )
        }
        DataType::RunEndEncoded(index, value) => {
            let mut at: Vec<i32> = (1..=rows as i32).filter(|_| random.below(3) == 0).collect();
            if at.last().is_none_or(|last| *last < rows as i32) && rows > 0 {
                at.push(rows as i32);
            }
            let values = array(
                value.data_type(),
                nullable && value.is_nullable(),
                at.len(),
                random,
            );
            let ends = arrow_cast::cast(&Int32Array::from(at), index.data_type()).unwrap();
            let runs = ArrayData::builder(ty.clone()).len(rows);
            build(
                runs.add_child_data(ends.to_data())
                    .add_child_data(values.to_data()),
            )
        }
        _ => {
            let width = match ty {
                DataType::FixedSizeBinary(size) => *size as usize,
                DataType::Boolean => 1,
                ty => ty.primitive_width().unwrap(),
            };
            // Small, large, and the same again.
            let mut word = vec![0; width];
            let mut data = Vec::with_capacity(rows * width);
            for _ in 0..rows {
                match random.below(3) {
                    0 => word.iter_mut().for_each(|byte| *byte = random.next() as u8),
                    1 => word
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, byte)| *byte = u8::from(i == 0) * 7),
                    _ => {}
                }
                data.extend_from_slice(&word);
            }
            build(start().add_buffer(Buffer::from_vec(data)))
        }
    }
}
