//! Every Arrow type, and random arrays of each.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, NullArray, StringArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};

use super::Random;

#[path = "../../src/testing/arrays/domains.rs"]
mod domains;
#[path = "../../src/testing/arrays/types.rs"]
#[allow(dead_code, reason = "the library's tests nest types in other ways")]
mod types;
use domains::tame;
pub use types::{field, flat_types};

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
    let lengths = (0..rows).map(|_| [0, 1, 2, 3, 7][random.below(5)]);
    let lengths: Vec<i64> = lengths.collect();
    let start = ArrayData::builder(ty.clone())
        .len(rows)
        .nulls(nulls.clone());
    let data = match ty {
        DataType::Null => return Arc::new(NullArray::new(rows)),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => return strings(ty, nulls.as_ref(), rows, random),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            let mut ends = vec![0];
            let mut end = 0;
            ends.extend(lengths.iter().map(|length| {
                end += length;
                end
            }));
            let items = child(item, end as usize, random);
            let large = matches!(ty, DataType::LargeList(_));
            start
                .add_buffer(offsets(large, &ends))
                .add_child_data(items)
        }
        DataType::ListView(item) | DataType::LargeListView(item) => {
            let large = matches!(ty, DataType::LargeListView(_));
            let items = child(item, 2 * rows + 7, random);
            let starts: Vec<i64> = (0..rows).map(|_| random.below(2 * rows) as i64).collect();
            start
                .add_buffer(offsets(large, &starts))
                .add_buffer(offsets(large, &lengths))
                .add_child_data(items)
        }
        DataType::FixedSizeList(item, size) => {
            start.add_child_data(child(item, rows * *size as usize, random))
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| child(field, rows, random));
            start.child_data(children.collect())
        }
        DataType::Dictionary(key, value) => {
            let values = array(value, nullable, 11, random).to_data();
            let keys: Int32Array = (0..rows).map(|_| random.below(11) as i32).collect();
            let keys = arrow_cast::cast(&keys, key).unwrap().to_data();
            start
                .add_buffer(keys.buffers()[0].clone())
                .add_child_data(values)
        }
        DataType::RunEndEncoded(index, value) => {
            let ends = run_ends(index, rows, random);
            let nullable = nullable && value.is_nullable();
            let values = array(value.data_type(), nullable, ends.len(), random);
            start
                .nulls(None)
                .add_child_data(ends.to_data())
                .add_child_data(values.to_data())
        }
        _ => start.add_buffer(words(ty, rows, random)),
    };
    make_array(data.align_buffers(true).build().unwrap())
}

fn child(field: &Field, rows: usize, random: &mut Random) -> ArrayData {
    array(field.data_type(), field.is_nullable(), rows, random).to_data()
}

/// Offsets or sizes, of 64 bits in large lists.
fn offsets(large: bool, values: &[i64]) -> Buffer {
    if large {
        return Buffer::from_slice_ref(values);
    }
    let narrow: Vec<i32> = values.iter().map(|value| *value as i32).collect();
    Buffer::from_vec(narrow)
}

fn strings(
    ty: &DataType,
    nulls: Option<&NullBuffer>,
    rows: usize,
    random: &mut Random,
) -> ArrayRef {
    let string = |random: &mut Random| {
        let text = "köln-Straße 12, 日本 \u{0}".chars().skip(random.below(4));
        text.take([0, 2, 9, 19][random.below(4)])
            .collect::<String>()
    };
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let strings = (0..rows).map(|row| is_valid(row).then(|| string(random)));
    let strings: ArrayRef = Arc::new(strings.collect::<StringArray>());
    arrow_cast::cast(&strings, ty).unwrap()
}

/// Runs of three rows on average.
fn run_ends(index: &Field, rows: usize, random: &mut Random) -> ArrayRef {
    let mut at: Vec<i32> = (1..=rows as i32).filter(|_| random.below(3) == 0).collect();
    if at.last().is_none_or(|last| *last < rows as i32) && rows > 0 {
        at.push(rows as i32);
    }
    arrow_cast::cast(&Int32Array::from(at), index.data_type()).unwrap()
}

/// Words of a type: small, large, and the same again.
fn words(ty: &DataType, rows: usize, random: &mut Random) -> Buffer {
    let width = match ty {
        DataType::FixedSizeBinary(size) => *size as usize,
        DataType::Boolean => 1,
        ty => ty.primitive_width().unwrap(),
    };
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
        let value = data.len() - width;
        tame(ty, &mut data[value..]);
    }
    Buffer::from_vec(data)
}
