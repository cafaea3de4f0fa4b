//! Columns of any type, made of numbers with a structure.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, NullArray, StringArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, Field};

#[path = "../../../crates/staffa/src/testing/arrays/domains.rs"]
mod domains;
use domains::tame;

/// Shapes of numbers.
pub(super) const SHAPES: u8 = 9;

/// Numbers with a structure that encodings live on.
pub(super) struct Numbers {
    pub(super) shape: u8,
    pub(super) nulls: u8,
    pub(super) state: u64,
}

impl Numbers {
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random() % end
    }

    fn make(&mut self, count: usize) -> Vec<i64> {
        let (shape, mut last) = (self.shape, 0i64);
        let mut number = |i: usize| match shape {
            0 => self.below(1000) as i64,
            1 => 7,
            2 => i as i64 / 17 % 5,
            3 => self.below(5) as i64 * 11,
            4 => {
                last += self.below(20) as i64;
                last
            }
            5 if self.below(20) > 0 => 42,
            6 => i as i64 % 7,
            7 if self.below(30) > 0 => self.below(100) as i64,
            _ => self.random() as i64,
        };
        (0..count).map(&mut number).collect()
    }

    fn validity(&mut self, count: usize) -> Option<NullBuffer> {
        let share = match self.nulls {
            0 => return None,
            1 => 5,
            2 => 60,
            _ => 1,
        };
        Some((0..count).map(|_| self.below(share) > 0).collect())
    }
}

fn text(number: i64) -> String {
    let street = [
        "Main Street",
        "Breadalbane Street",
        "Straße des 17. Juni",
        "Rue",
    ][number.unsigned_abs() as usize % 4];
    format!("{street} {number}")
}

/// A value's bytes of fixed width, in the domain of its type: the writer refuses others. Floats have few
/// decimals.
fn word(ty: &DataType, number: i64, width: usize) -> Vec<u8> {
    let wide = i128::from(number);
    let mut word = match ty {
        DataType::Float64 => (number as f64 / 100.0).to_le_bytes().to_vec(),
        DataType::Float32 => (number as f32 / 100.0).to_le_bytes().to_vec(),
        _ => [wide.to_le_bytes(), (wide >> 127).to_le_bytes()].concat()[..width].to_vec(),
    };
    tame(ty, &mut word);
    word
}

/// A column of a type, with children to any depth.
pub(super) fn array(ty: &DataType, nullable: bool, rows: usize, numbers: &mut Numbers) -> ArrayRef {
    let nulls = numbers.validity(rows).filter(|_| nullable);
    let builder = ArrayData::builder(ty.clone()).len(rows);
    let data = match ty {
        DataType::Null => return Arc::new(NullArray::new(rows)),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => return strings(ty, nulls.as_ref(), rows, numbers),
        DataType::List(item)
        | DataType::Map(item, _)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => lists(builder, ty, item, rows, numbers).nulls(nulls),
        DataType::FixedSizeList(item, size) => builder
            .add_child_data(child(item, rows * *size as usize, numbers))
            .nulls(nulls),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| child(field, rows, numbers));
            builder.child_data(fields.collect()).nulls(nulls)
        }
        DataType::Dictionary(key, value) => {
            let values = array(value, true, 11, numbers);
            let keys = numbers.make(rows).into_iter();
            let keys: Int32Array = keys.map(|number| number.rem_euclid(11) as i32).collect();
            let keys = arrow_cast::cast(&keys, key).expect("small integers become any kind of key");
            keys.to_data()
                .into_builder()
                .nulls(nulls)
                .data_type(ty.clone())
                .add_child_data(values.to_data())
        }
        DataType::RunEndEncoded(ends, values) => {
            let ends = run_ends(ends, rows, numbers);
            let runs = child(values, ends.len(), numbers);
            builder.child_data(vec![ends.to_data(), runs])
        }
        ty => builder.add_buffer(words(ty, rows, numbers)).nulls(nulls),
    };
    make_array(data.align_buffers(true).build().expect("the parts fit"))
}

fn child(field: &Field, rows: usize, numbers: &mut Numbers) -> ArrayData {
    array(field.data_type(), field.is_nullable(), rows, numbers).to_data()
}

fn strings(
    ty: &DataType,
    nulls: Option<&NullBuffer>,
    rows: usize,
    numbers: &mut Numbers,
) -> ArrayRef {
    let valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let strings = numbers.make(rows).into_iter().enumerate();
    let strings: StringArray = strings
        .map(|(row, number)| valid(row).then(|| text(number)))
        .collect();
    arrow_cast::cast(&strings, ty).expect("text becomes any kind of string")
}

/// Lists, maps and list views, whose items follow one another.
fn lists(
    builder: ArrayDataBuilder,
    ty: &DataType,
    item: &Field,
    rows: usize,
    numbers: &mut Numbers,
) -> ArrayDataBuilder {
    let lengths = numbers.make(rows).into_iter();
    let lengths: Vec<i64> = lengths.map(|number| number.rem_euclid(4)).collect();
    let mut offsets = vec![0];
    lengths
        .iter()
        .for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    let items = child(item, offsets[rows] as usize, numbers);
    let buffer = |numbers: &[i64]| match ty {
        DataType::LargeList(_) | DataType::LargeListView(_) => Buffer::from_slice_ref(numbers),
        _ => numbers.iter().map(|number| *number as i32).collect(),
    };
    let builder = builder.add_child_data(items);
    if let DataType::ListView(_) | DataType::LargeListView(_) = ty {
        offsets.pop();
        builder
            .add_buffer(buffer(&offsets))
            .add_buffer(buffer(&lengths))
    } else {
        builder.add_buffer(buffer(&offsets))
    }
}

/// A run ends where the number changes, or after nine rows.
fn run_ends(ends: &Field, rows: usize, numbers: &mut Numbers) -> ArrayRef {
    let numbers = numbers.make(rows);
    let changes = (1..rows).filter(|&row| numbers[row] != numbers[row - 1] || row % 9 == 0);
    let all = changes.chain((rows > 0).then_some(rows));
    let at: Int32Array = all.map(|row| row as i32).collect();
    arrow_cast::cast(&at, ends.data_type()).expect("rows fit any kind of run end")
}

/// Bits or words.
fn words(ty: &DataType, rows: usize, numbers: &mut Numbers) -> Buffer {
    let numbers = numbers.make(rows).into_iter();
    let width = match ty {
        DataType::Boolean => {
            let bits = numbers
                .map(|number| number % 2 == 1)
                .collect::<NullBuffer>();
            return bits.buffer().clone();
        }
        DataType::FixedSizeBinary(size) => *size as usize,
        ty => ty.primitive_width().expect("all other types have words"),
    };
    let words = numbers.flat_map(|number| word(ty, number, width));
    words.collect::<Vec<u8>>().into()
}
