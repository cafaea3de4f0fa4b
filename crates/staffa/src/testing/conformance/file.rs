//! Values through a file.

use arrow_array::{Array as _, ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit};

use super::shapes::{numbers, picked, string};
use crate::encode::Encoding;
use crate::error::Result;
use crate::predicate::{Compare, Literal, Predicate};
use crate::testing::arrays::{Random, one};
use crate::values::{Kind, OwnedValues, PhysicalType};
use crate::write::WriteOptions;

/// Through a file of two row groups, several blocks and some NULLs: take is decode then gather,
/// filter is decode then compare.
pub(super) fn through_file(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let Some(data_type) = arrow_type(ty, kind) else {
        return;
    };
    let mut random = Random(u64::from(encoding.info().id) << 8 | ty as u64);
    for shape in 0..10 {
        let numbers = numbers(2600, shape, random.next(), 11);
        let nulls: Option<NullBuffer> =
            (shape % 2 == 0).then(|| (0..2600).map(|_| random.below(9) > 0).collect());
        let values = arrow_array(&data_type, picked(ty, &numbers), nulls);
        let batch = one("a", true, values);
        let options = WriteOptions {
            encodings: vec![("a".into(), encoding.info().name.into())],
            row_group_rows: 1500,
            block_rows: 1024,
            ..WriteOptions::default()
        };
        let Ok(bytes) = crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options)
        else {
            continue;
        };
        let file = crate::File::from_bytes(bytes).unwrap();
        let rows: Vec<u64> = (0..200).map(|_| random.below(2600) as u64).collect();
        let taken = arrow_select::take::take_record_batch(
            &batch,
            &UInt64Array::from_iter_values(rows.iter().copied()),
        );
        assert_eq!(
            file.take(&rows).read().unwrap(),
            taken.unwrap(),
            "{} {data_type}",
            encoding.info().name
        );
        let mut compared = |op| {
            let row = random.below(2600);
            let literal = literal(batch.column(0), &numbers, row)?;
            let column = "a".into();
            Some(Predicate::Compare {
                column,
                op,
                literal,
            })
        };
        let predicates = [
            Compare::Eq,
            Compare::NotEq,
            Compare::Lt,
            Compare::LtEq,
            Compare::Gt,
            Compare::GtEq,
        ];
        let predicates = predicates.map(&mut compared);
        // Rows that passed one of two tests, and rows that passed both.
        let pair = [compared(Compare::LtEq), compared(Compare::NotEq)];
        let pair: Vec<_> = pair.into_iter().flatten().collect();
        let both = [Predicate::And(pair.clone()), Predicate::Or(pair)].map(Some);
        let rows = (0..20).map(|_| random.below(2600));
        let literals = rows.map(|row| literal(batch.column(0), &numbers, row));
        let list = literals.collect::<Option<_>>().map(|literals| {
            let column = "a".into();
            Predicate::In { column, literals }
        });
        let others = list.clone().map(|list| Predicate::Not(Box::new(list)));
        let each = predicates.into_iter().chain(both).chain([list, others]);
        for predicate in each.flatten() {
            filtered(&file, &batch, &predicate, encoding.info().name);
        }
    }
}

/// A filter keeps the rows that the predicate keeps of the batch.
fn filtered(file: &crate::File, batch: &RecordBatch, predicate: &Predicate, name: &str) {
    let kept = predicate.bind(&batch.schema()).unwrap();
    let kept = kept.evaluate(batch).unwrap();
    let expected = arrow_select::filter::filter_record_batch(batch, &kept).unwrap();
    let reader = file.scan().filter(predicate.clone()).reader().unwrap();
    let found: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let found = arrow_select::concat::concat_batches(&batch.schema(), &found).unwrap();
    let ty = batch.schema().field(0).data_type().clone();
    assert_eq!(found, expected, "{name} {ty}: {predicate}");
}

/// A type whose columns have leaves of this type and kind; `None` where no column has.
fn arrow_type(ty: PhysicalType, kind: Kind) -> Option<DataType> {
    use PhysicalType as P;
    Some(match (ty, kind) {
        (P::Bits, Kind::Unsigned) => DataType::Boolean,
        (P::U8, Kind::Unsigned) => DataType::UInt8,
        (P::U16, Kind::Unsigned) => DataType::UInt16,
        (P::U32, Kind::Unsigned) => DataType::UInt32,
        (P::U64, Kind::Unsigned) => DataType::UInt64,
        (P::U8, Kind::Signed) => DataType::Int8,
        (P::U16, Kind::Signed) => DataType::Int16,
        (P::U32, Kind::Signed) => DataType::Int32,
        (P::U64, Kind::Signed) => DataType::Int64,
        (P::U128, Kind::Signed) => DataType::Decimal128(38, 0),
        (P::U256, Kind::Signed) => DataType::Decimal256(76, 0),
        (P::U16, Kind::Float) => DataType::Float16,
        (P::U32, Kind::Float) => DataType::Float32,
        (P::U64, Kind::Float) => DataType::Float64,
        (P::U64, Kind::Opaque) => DataType::Interval(IntervalUnit::DayTime),
        (P::U128, Kind::Opaque) => DataType::Interval(IntervalUnit::MonthDayNano),
        (P::Bytes, Kind::Unsigned) => DataType::Binary,
        _ => return None,
    })
}

fn arrow_array(data_type: &DataType, values: OwnedValues, nulls: Option<NullBuffer>) -> ArrayRef {
    let data = ArrayData::builder(data_type.clone())
        .len(values.borrow().len())
        .nulls(nulls);
    let data = match values {
        OwnedValues::Bits(bits) => data.add_buffer((0..bits.len()).map(|i| bits.get(i)).collect()),
        OwnedValues::Bytes(strings) => data
            .add_buffer(strings.offsets.iter().map(|o| *o as i32).collect())
            .add_buffer(Buffer::from_vec(strings.data)),
        OwnedValues::U8(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U16(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U32(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U64(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U128(words) => {
            data.add_buffer(words.iter().flat_map(|w| w.to_le_bytes()).collect())
        }
        OwnedValues::U256(words) => data.add_buffer(words.iter().flat_map(|w| w.0).collect()),
    };
    make_array(data.align_buffers(true).build().unwrap())
}

/// What a row is compared with to be found again; `None` where its type is not compared.
fn literal(array: &ArrayRef, numbers: &[u64], row: usize) -> Option<Literal> {
    let number = numbers[row];
    Some(match array.data_type() {
        DataType::Boolean => Literal::Bool(number & 1 == 1),
        DataType::Interval(_) => return None,
        DataType::Binary => Literal::Text(String::from_utf8(string(number)).ok()?),
        _ if array.is_null(row) => Literal::Null,
        _ => {
            let shown = arrow_cast::display::array_value_to_string(array, row).unwrap();
            shown.parse().map_or_else(
                |_| shown.parse().ok().map(Literal::Float),
                |int| Some(Literal::Int(int)),
            )?
        }
    })
}
