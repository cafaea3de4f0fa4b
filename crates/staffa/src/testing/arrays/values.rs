//! Random arrays of every type, for the tests of the library and those beside it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, NullArray, StringArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, Field};

use super::Random;
use super::domains::tame;

/// `rows` values of any accepted type; where `nullable`, often some of them NULL, at every level,
/// with contents under them.
pub fn array(ty: &DataType, nullable: bool, rows: usize, random: &mut Random) -> ArrayRef {
    let share = [0, 1, 1, 1, 5][random.below(5)];
    let valid = (nullable && share > 0).then(|| (0..rows).map(|_| random.below(5) >= share));
    let nulls: Option<NullBuffer> = valid.map(Iterator::collect);
    let lengths = (0..rows).map(|_| [0, 1, 2, 3, 7][random.below(5)]);
    let lengths: Vec<i64> = lengths.collect();
    let start = ArrayData::builder(ty.clone())
        .len(rows)
        .nulls(nulls.clone());
    let large = matches!(ty, DataType::LargeList(_) | DataType::LargeListView(_));
    let data = match ty {
        DataType::Null => return Arc::new(NullArray::new(rows)),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => return strings(ty, nulls.as_ref(), rows, random),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            lists(start, large, item, &lengths, random)
        }
        DataType::ListView(item) | DataType::LargeListView(item) => {
            list_views(start, large, item, &lengths, random)
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

/// Lists whose items follow one another.
fn lists(
    start: ArrayDataBuilder,
    large: bool,
    item: &Field,
    lengths: &[i64],
    random: &mut Random,
) -> ArrayDataBuilder {
    let mut ends = vec![0];
    for length in lengths {
        ends.push(ends[ends.len() - 1] + length);
    }
    let items = child(item, ends[lengths.len()] as usize, random);
    start
        .add_buffer(offsets(large, &ends))
        .add_child_data(items)
}

/// Lists whose items lie anywhere.
fn list_views(
    start: ArrayDataBuilder,
    large: bool,
    item: &Field,
    lengths: &[i64],
    random: &mut Random,
) -> ArrayDataBuilder {
    let rows = lengths.len();
    let items = child(item, 2 * rows + 7, random);
    let starts: Vec<i64> = (0..rows).map(|_| random.below(2 * rows) as i64).collect();
    start
        .add_buffer(offsets(large, &starts))
        .add_buffer(offsets(large, lengths))
        .add_child_data(items)
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
