//! Valid files to begin from: tables of every type in every encoding.

use std::fmt;
use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, Int32Array, NullArray, RecordBatch, StringArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use staffa::{File, Profile, Result, WriteOptions};

use crate::parts::Parts;

/// Which file; counted around.
#[derive(Clone, Copy, Arbitrary)]
pub struct Seed(pub u16);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().0.fmt(f)
    }
}

impl Seed {
    fn get(self) -> &'static (Recipe, Parts) {
        &SEEDS[usize::from(self.0) % SEEDS.len()]
    }

    /// The file, taken apart.
    pub fn parts(self) -> &'static Parts {
        &self.get().1
    }
}

/// All files. Made before the first input is run, so that the writer does not count as covered by
/// one.
pub static SEEDS: LazyLock<Vec<(Recipe, Parts)>> = LazyLock::new(|| {
    let recipes = Recipe::all();
    recipes
        .filter_map(|recipe| Some((recipe, recipe.parts(&recipe.file()?))))
        .collect()
});

/// What a file is made of.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// Of its first column.
    ty: &'static DataType,
    /// Asked for wherever a leaf can have it; `None`: the chooser's.
    encoding: Option<&'static str>,
    /// Of the numbers that the values are made of: see [`Numbers`].
    shape: u8,
    /// How many are NULL, as well.
    nulls: u8,
    rows: usize,
    block_rows: usize,
    row_group_rows: usize,
    /// Whether there is a second one.
    two_columns: bool,
    profile: Profile,
}

/// Rows, values of a block, rows of a row group.
const SIZES: [(usize, usize, usize); 8] = [
    (30, 64, 64),
    (300, 128, 200),
    (30, 64, 64),
    (1100, 2048, 2048),
    (60, 32, 64),
    (1, 1, 1),
    (2300, 1024, 4096),
    (0, 64, 64),
];

/// Shapes of numbers.
const SHAPES: u8 = 9;

/// The first types, one for every way in which values lie, come in every encoding; the others in
/// some.
const PRIMARY: usize = 22;

/// Every type: those without children, then those with, of two types each.
pub static TYPES: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    let nested = [DataType::Utf8, DataType::Int16]
        .into_iter()
        .flat_map(|ty| nested(&ty));
    flat().into_iter().chain(nested).collect()
});

fn flat() -> Vec<DataType> {
    use DataType as D;
    let mut out = vec![
        D::Int32,
        D::Utf8,
        D::Float64,
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::BinaryView,
        D::FixedSizeBinary(0),
        D::FixedSizeBinary(5),
        D::FixedSizeBinary(16),
        D::Decimal128(38, 10),
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
        D::Decimal256(76, 0),
        D::Null,
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
            D::Timestamp(unit, Some("+01:30".into())),
        ]);
    }
    out
}

fn field(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

/// Ways of nesting a type.
fn nested(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let item = || field("item", ty.clone());
    let ends = |ty| Arc::new(Field::new("run_ends", ty, false));
    let fields = vec![
        Arc::new(Field::new("keys", D::Utf8, false)),
        field("values", ty.clone()),
    ];
    let entries = Arc::new(Field::new("entries", D::Struct(fields.into()), false));
    let structs = D::Struct(
        vec![
            field("a", ty.clone()),
            field("b", D::Int32),
            field("n", D::Null),
        ]
        .into(),
    );
    let dictionary = |key, ty: &DataType| D::Dictionary(Box::new(key), Box::new(ty.clone()));
    let runs = D::RunEndEncoded(ends(D::Int32), item());
    vec![
        D::List(item()),
        D::LargeList(item()),
        D::ListView(item()),
        D::LargeListView(item()),
        D::FixedSizeList(item(), 3),
        D::FixedSizeList(item(), 0),
        D::FixedSizeList(field("f", D::FixedSizeList(item(), 2)), 2),
        D::FixedSizeList(field("s", structs.clone()), 2),
        D::FixedSizeList(field("n", D::Null), 4),
        D::List(field("n", D::Null)),
        D::Map(entries.clone(), true),
        dictionary(D::UInt8, ty),
        dictionary(D::Int64, &D::List(item())),
        dictionary(D::Int16, &dictionary(D::Int8, ty)),
        dictionary(D::Int32, &D::Null),
        D::RunEndEncoded(ends(D::Int16), item()),
        D::RunEndEncoded(ends(D::Int64), field("values", structs.clone())),
        D::RunEndEncoded(ends(D::Int32), field("values", D::Null)),
        D::List(field("s", structs.clone())),
        D::List(field("l", D::List(item()))),
        D::ListView(field("d", dictionary(D::Int32, ty))),
        D::LargeListView(field("r", runs.clone())),
        D::List(field("m", D::Map(entries, false))),
        D::Struct(vec![field("d", dictionary(D::Int32, ty)), field("r", runs)].into()),
        D::Struct(Fields::empty()),
        structs,
    ]
}

/// Numbers with a structure that encodings live on.
struct Numbers {
    shape: u8,
    nulls: u8,
    state: u64,
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

/// A value's bytes of fixed width; floats have few decimals.
fn word(ty: &DataType, number: i64, width: usize) -> Vec<u8> {
    let wide = match ty {
        // Values out of the domains of these types are refused by the writer.
        DataType::Time32(_) | DataType::Time64(_) => i128::from(number).rem_euclid(86_400),
        DataType::Date64 => i128::from(number >> 28) * 86_400_000,
        DataType::Decimal32(..) => i128::from(number) % 1_000_000_000,
        DataType::Decimal64(..) => i128::from(number) % 1_000_000_000_000_000_000,
        _ => i128::from(number),
    };
    match ty {
        DataType::Float64 => (number as f64 / 100.0).to_le_bytes().to_vec(),
        DataType::Float32 => (number as f32 / 100.0).to_le_bytes().to_vec(),
        _ => [wide.to_le_bytes(), (wide >> 127).to_le_bytes()].concat()[..width].to_vec(),
    }
}

fn array(ty: &DataType, nullable: bool, rows: usize, numbers: &mut Numbers) -> ArrayRef {
    let nulls = numbers.validity(rows).filter(|_| nullable);
    let builder = ArrayData::builder(ty.clone()).len(rows);
    let child = |field: &Field, rows: usize, numbers: &mut Numbers| {
        array(field.data_type(), field.is_nullable(), rows, numbers).to_data()
    };
    let data = match ty {
        DataType::Null => return Arc::new(NullArray::new(rows)),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => {
            let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let strings = numbers.make(rows).into_iter().enumerate();
            let strings: StringArray = strings
                .map(|(row, number)| valid(row).then(|| text(number)))
                .collect();
            return arrow_cast::cast(&strings, ty).expect("text becomes any kind of string");
        }
        DataType::Boolean => {
            let bits = numbers
                .make(rows)
                .into_iter()
                .map(|number| number % 2 == 1)
                .collect::<NullBuffer>();
            builder.add_buffer(bits.buffer().clone()).nulls(nulls)
        }
        DataType::List(item)
        | DataType::Map(item, _)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => {
            let lengths: Vec<i64> = numbers
                .make(rows)
                .iter()
                .map(|number| number.rem_euclid(4))
                .collect();
            let mut offsets = vec![0];
            lengths
                .iter()
                .for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
            let items = child(item, offsets[rows] as usize, numbers);
            let buffer = |numbers: &[i64]| match ty {
                DataType::LargeList(_) | DataType::LargeListView(_) => {
                    Buffer::from_slice_ref(numbers)
                }
                _ => numbers.iter().map(|number| *number as i32).collect(),
            };
            let mut builder = builder.add_child_data(items).nulls(nulls);
            if let DataType::ListView(_) | DataType::LargeListView(_) = ty {
                offsets.pop();
                builder = builder
                    .add_buffer(buffer(&offsets))
                    .add_buffer(buffer(&lengths));
            } else {
                builder = builder.add_buffer(buffer(&offsets));
            }
            builder
        }
        DataType::FixedSizeList(item, size) => builder
            .add_child_data(child(item, rows * *size as usize, numbers))
            .nulls(nulls),
        DataType::Struct(fields) => builder
            .child_data(
                fields
                    .iter()
                    .map(|field| child(field, rows, numbers))
                    .collect(),
            )
            .nulls(nulls),
        DataType::Dictionary(key, value) => {
            let values = array(value, true, 11, numbers);
            let keys: Int32Array = numbers
                .make(rows)
                .iter()
                .map(|number| number.rem_euclid(11) as i32)
                .collect();
            let keys = arrow_cast::cast(&keys, key).expect("small integers become any kind of key");
            keys.to_data()
                .into_builder()
                .nulls(nulls)
                .data_type(ty.clone())
                .add_child_data(values.to_data())
        }
        DataType::RunEndEncoded(ends, values) => {
            let numbers_of_rows = numbers.make(rows);
            let changes = (1..rows)
                .filter(|&row| numbers_of_rows[row] != numbers_of_rows[row - 1] || row % 9 == 0);
            let at: Int32Array = changes
                .chain((rows > 0).then_some(rows))
                .map(|row| row as i32)
                .collect();
            let runs = child(values, at.len(), numbers);
            let at = arrow_cast::cast(&at, ends.data_type()).expect("rows fit any kind of run end");
            builder.child_data(vec![at.to_data(), runs])
        }
        ty => {
            let width = match ty {
                DataType::FixedSizeBinary(size) => *size as usize,
                ty => ty.primitive_width().expect("all other types have words"),
            };
            let words = numbers
                .make(rows)
                .into_iter()
                .flat_map(|number| word(ty, number, width));
            builder
                .add_buffer(words.collect::<Vec<u8>>().into())
                .nulls(nulls)
        }
    };
    make_array(data.align_buffers(true).build().expect("the parts fit"))
}

impl Recipe {
    fn all() -> impl Iterator<Item = Self> {
        let names = staffa::encodings()
            .into_iter()
            .filter(|e| e.by_name)
            .map(|e| Some(e.name))
            .chain([None]);
        let names: Vec<Option<&str>> = names.collect();
        let pairs = TYPES.iter().enumerate().flat_map(move |(i, ty)| {
            let names = names.clone().into_iter().enumerate();
            names
                .filter(move |(j, name)| i < PRIMARY || name.is_none() || (i + j) % 6 == 0)
                .map(move |(_, name)| (ty, name))
        });
        let twice = pairs.flat_map(|pair| [pair; 2]).zip(0usize..);
        twice.map(|((ty, encoding), turn)| {
            let (rows, block_rows, row_group_rows) = SIZES[turn / 2 % SIZES.len()];
            // A shape that the encoding is made for, or the writer would refuse it.
            let shape = if encoding == Some("constant") {
                1
            } else {
                (turn % usize::from(SHAPES)) as u8
            };
            let nulls = if turn % 2 == 0 {
                0
            } else {
                (turn / 2 % 4) as u8
            };
            let (two_columns, profile) = (
                turn % 5 == 0,
                [Profile::Balanced, Profile::Small, Profile::Fast][turn % 3],
            );
            Self {
                ty,
                encoding,
                shape,
                nulls,
                rows,
                block_rows,
                row_group_rows,
                two_columns,
                profile,
            }
        })
    }

    /// The file; `None` where no leaf can have the encoding.
    pub fn file(&self) -> Option<Vec<u8>> {
        let mut numbers = Numbers {
            shape: self.shape,
            nulls: self.nulls,
            state: 0x5eed,
        };
        let mut columns = vec![array(self.ty, true, self.rows, &mut numbers)];
        if self.two_columns {
            // Often one from which the other is derived.
            let again = self.encoding.is_none().then(|| columns[0].clone());
            columns.push(
                again.unwrap_or_else(|| array(&DataType::Int64, true, self.rows, &mut numbers)),
            );
        }
        let field = |(i, array): (usize, &ArrayRef)| {
            Field::new(["c", "d"][i], array.data_type().clone(), true)
        };
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch =
            RecordBatch::try_new(schema.clone(), columns).expect("the columns fit their schema");
        let mut options = WriteOptions::default();
        (options.block_rows, options.row_group_rows) = (self.block_rows, self.row_group_rows);
        options.profile = self.profile;
        let write = |batches: &[RecordBatch], encodings: &[(String, String)]| -> Result<Vec<u8>> {
            let mut options = options.clone();
            options.encodings = encodings.to_vec();
            staffa::to_bytes(schema.clone(), batches, options)
        };
        let Some(name) = self.encoding else {
            return Some(write(&[batch], &[]).expect("any table can be written"));
        };
        let empty = File::from_bytes(write(&[], &[]).expect("no rows can be written"));
        let leaves = empty
            .and_then(|file| file.inspect())
            .expect("what was written can be read")
            .columns;
        let wanted = leaves.into_iter().map(|leaf| (leaf.path, name.to_owned()));
        // Some leaves cannot have it at all, and some not with these values.
        let possible = wanted.filter(|one| write(&[], std::slice::from_ref(one)).is_ok());
        let holds = |one: &(String, String)| {
            write(std::slice::from_ref(&batch), std::slice::from_ref(one)).is_ok()
        };
        let possible: Vec<_> = possible.filter(holds).collect();
        (!possible.is_empty())
            .then(|| write(&[batch], &possible).expect("what each can have, all can have"))
    }

    /// Takes the file apart.
    fn parts(&self, file: &[u8]) -> Parts {
        let leaves = File::from_bytes(file.to_vec())
            .and_then(|file| file.inspect())
            .expect("it is valid")
            .columns;
        let strings: Vec<bool> = leaves
            .iter()
            .map(|leaf| leaf.physical_type == "bytes")
            .collect();
        Parts::of(file, &strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::exercise;

    #[test]
    fn seeds_are_valid_and_come_together_again() {
        let derived = SEEDS.iter().any(|(_, parts)| {
            parts
                .clone()
                .chunks_mut()
                .any(|chunk| !chunk.sources.is_empty())
        });
        assert!(derived, "no column is derived from another");
        for encoding in staffa::encodings().into_iter().filter(|e| e.by_name) {
            assert!(
                SEEDS
                    .iter()
                    .any(|(recipe, _)| recipe.encoding == Some(encoding.name)),
                "{encoding:?}"
            );
        }
        for (recipe, parts) in SEEDS.iter() {
            let file = recipe.file().expect("it was there before");
            assert!(parts.assemble() == file, "{recipe:?}");
            assert!(exercise(file).is_ok(), "{recipe:?}");
        }
    }
}
