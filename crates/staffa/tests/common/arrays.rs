//! Every Arrow type, and random arrays of each.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, NullArray, StringArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};

use super::Random;

#[path = "../../src/testing/arrays/types.rs"]
#[allow(dead_code, reason = "the library's tests nest types in other ways")]
mod types;
use types::tame;
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
                let value = data.len() - width;
                tame(ty, &mut data[value..]);
            }
            build(start().add_buffer(Buffer::from_vec(data)))
        }
    }
}
