//! Every Arrow type, unit and zone, through the formats and back.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use arrow_cast::cast;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use crate::program::Program;

const UNITS: [TimeUnit; 4] = [
    TimeUnit::Second,
    TimeUnit::Millisecond,
    TimeUnit::Microsecond,
    TimeUnit::Nanosecond,
];

/// Some values, a NULL between them.
pub(crate) fn column(data_type: &DataType) -> ArrayRef {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), None, Some(86_400)]));
    let small: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(100)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    let values = match data_type {
        DataType::Timestamp(..) | DataType::Duration(_) | DataType::Time64(_) => &numbers,
        DataType::Boolean
        | DataType::Date32
        | DataType::Time32(_)
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => &small,
        data_type if data_type.is_numeric() => &small,
        _ => &texts,
    };
    let made = match data_type {
        DataType::Timestamp(unit, Some(_)) => {
            // The moment, then the zone it is shown in.
            let utc = cast(values, &DataType::Timestamp(*unit, Some("UTC".into())));
            utc.and_then(|utc| cast(&utc, data_type))
        }
        DataType::Date64 => cast(&cast(&small, &DataType::Date32).unwrap(), data_type),
        DataType::FixedSizeBinary(_) => cast(
            &StringArray::from(vec![Some("abc"), None, Some("xyz")]),
            &DataType::Binary,
        )
        .and_then(|binary| cast(&binary, data_type)),
        DataType::Interval(_) | DataType::Null => Ok(new_null_array(data_type, 3)),
        _ => cast(values, data_type),
    };
    made.unwrap_or_else(|error| panic!("{data_type}: {error}"))
}

pub(crate) fn leaf_types() -> Vec<DataType> {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256,
        Dictionary, Duration, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16, Int32,
        Int64, LargeBinary, LargeUtf8, Null, Time32, Time64, UInt8, UInt16, UInt32, UInt64, Utf8,
        Utf8View,
    };
    let mut types = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(3),
        Date32,
        Date64,
        Decimal32(5, 1),
        Decimal64(12, 3),
        Decimal128(20, 4),
        Decimal256(50, 10),
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
        Dictionary(Box::new(Int8), Box::new(Utf8)),
    ];
    for unit in UNITS {
        types.push(Duration(unit));
        for zone in [None, Some("UTC"), Some("Europe/London"), Some("+05:30")] {
            types.push(DataType::Timestamp(unit, zone.map(Into::into)));
        }
    }
    types
}

/// The type by itself, in a list and in a struct.
fn with_nested(types: Vec<DataType>) -> RecordBatch {
    let mut fields: Vec<(String, ArrayRef)> = Vec::new();
    for data_type in types {
        let values = column(&data_type);
        let list = DataType::new_list(data_type.clone(), true);
        // Arrow casts a value to a list of one.
        fields.extend(cast(&values, &list).map(|list| (format!("list {data_type}"), list)));
        let child = Arc::new(Field::new("x", data_type.clone(), true));
        let row = arrow_array::StructArray::from(vec![(child, values.clone())]);
        fields.push((format!("struct {data_type}"), Arc::new(row)));
        fields.push((data_type.to_string(), values));
    }
    RecordBatch::try_from_iter_with_nullable(
        fields
            .iter()
            .map(|(name, column)| (name.as_str(), column.clone(), true)),
    )
    .unwrap()
}

pub(crate) fn write_arrow(program: &Program, name: &str, batch: &RecordBatch) {
    let file = File::create(program.path(name)).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

pub(crate) fn read_arrow(program: &Program, name: &str) -> RecordBatch {
    let file = File::open(program.path(name)).unwrap();
    FileReader::try_new(file, None)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
}

#[test]
fn every_type_survives_staffa_parquet_and_arrow() {
    let program = Program::new();
    let table = with_nested(leaf_types());
    write_arrow(&program, "t.arrow", &table);
    for way in [
        &["t.arrow", "a.staffa", "a.arrow"] as &[&str],
        &["t.arrow", "b.parquet", "b.arrow"],
        &[
            "t.arrow",
            "c.staffa",
            "c.parquet",
            "c2.staffa",
            "c.arrows",
            "c.arrow",
        ],
    ] {
        for step in way.windows(2) {
            program
                .run(&format!("convert -q {} {}", step[0], step[1]))
                .succeeds();
        }
        let back = read_arrow(&program, way[way.len() - 1]);
        let columns = table.schema().fields().len();
        for index in 0..columns {
            let (expected, found) = (table.column(index), back.column(index));
            let name = table.schema().field(index).name().clone();
            assert_eq!(expected.data_type(), found.data_type(), "{name} {way:?}");
            assert_eq!(expected.to_data(), found.to_data(), "{name} {way:?}");
        }
    }
}

#[test]
fn what_parquet_cannot_hold_is_said_in_one_line() {
    let program = Program::new();
    for data_type in [
        DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Decimal128(5, -2),
    ] {
        let column = new_null_array(&data_type, 3);
        let batch = RecordBatch::try_from_iter_with_nullable([("odd", column, true)]).unwrap();
        write_arrow(&program, "t.arrow", &batch);
        program
            .run("convert t.arrow t.parquet")
            .fails(4, &["t.parquet", "Parquet cannot hold column \"odd\""]);
    }
}

#[test]
fn dictionaries_of_nulls_are_printed() {
    let program = Program::new();
    let data_type = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Null));
    let column = new_null_array(&data_type, 2);
    let batch = RecordBatch::try_from_iter_with_nullable([("d", column, true)]).unwrap();
    write_arrow(&program, "t.arrow", &batch);
    program.run("convert -q t.arrow t.staffa").succeeds();
    assert_eq!(
        program.run("cat t.staffa --json").succeeds().text(),
        "{\"d\":null}\n{\"d\":null}\n"
    );
    assert_eq!(
        program.run("cat t.staffa --format csv").succeeds().text(),
        "d\n\n\n"
    );
    program.run("head t.staffa").succeeds();
    let parquet = program.run("convert -q t.staffa t.parquet").ends_well();
    assert!(
        parquet.err.contains("column \"d\": Parquet does not keep"),
        "{}",
        parquet.err
    );
    program.run("convert -q t.parquet again.staffa").succeeds();
}

#[test]
fn values_without_a_text_are_refused_and_decimals_keep_their_digits() {
    let program = Program::new();
    let wide = arrow_array::Decimal128Array::from(vec![Some(1_234_567), None]);
    let wide = wide.with_precision_and_scale(5, 2).unwrap();
    let table = |name: &str, column: ArrayRef| {
        let batch = RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap();
        write_arrow(&program, "t.arrow", &batch);
    };
    table("wide", Arc::new(wide));
    assert_eq!(
        program.run("cat t.arrow --format csv").succeeds().text(),
        "wide\n12345.67\n\n"
    );
    assert_eq!(
        program.run("cat t.arrow --json").succeeds().text(),
        "{\"wide\":12345.67}\n{\"wide\":null}\n"
    );
    assert!(
        program
            .run("cat t.arrow")
            .succeeds()
            .text()
            .contains("12345.67")
    );
    for column in [
        Arc::new(arrow_array::TimestampSecondArray::from(vec![i64::MAX])) as ArrayRef,
        Arc::new(arrow_array::Date32Array::from(vec![i32::MIN])),
        Arc::new(arrow_array::Time32SecondArray::from(vec![86_400])),
    ] {
        table("far", column);
        for format in ["csv", "json"] {
            program
                .run(&format!("cat t.arrow --format {format}"))
                .fails(4, &["column \"far\"", "out of range"]);
        }
        assert!(
            program
                .run("cat t.arrow")
                .succeeds()
                .text()
                .contains("(out of range)")
        );
    }
}

#[test]
fn a_stream_that_ends_too_early_is_bad_data() {
    let program = Program::with_table(1000);
    program.run("convert -q t.staffa t.arrows").succeeds();
    let whole = std::fs::read(program.path("t.arrows")).unwrap();
    for len in [whole.len() / 2, whole.len() - 20, 100] {
        program.write("cut.arrows", &whole[..len]);
        program
            .run("cat cut.arrows --format csv")
            .fails(1, &["cut.arrows"]);
    }
}
