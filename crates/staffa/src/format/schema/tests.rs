#![allow(clippy::indexing_slicing)]

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::super::Cursor;
use super::{decode_schema, encode_schema};
use crate::error::Error;
use crate::limits::Limits;
use crate::testing::arrays::{Random, flat_types, nested_types};

fn round_trip(schema: &Schema) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_schema(schema, &mut bytes).unwrap();
    let mut cursor = Cursor::new(&bytes);
    assert_eq!(
        &decode_schema(&mut cursor, &Limits::default()).unwrap().0,
        schema
    );
    cursor.finish("schema").unwrap();
    bytes
}

/// Every type, nested twice, with metadata of an extension type and ordered dictionaries.
fn all_types() -> Schema {
    let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
    let twice: Vec<DataType> = nested_types(&DataType::Utf8)
        .iter()
        .flat_map(nested_types)
        .collect();
    let extension = || {
        [
            ("ARROW:extension:name", "arrow.uuid"),
            ("a", ""),
            ("ß", "z"),
        ]
    };
    let field = |(i, ty): (usize, DataType)| {
        let ordered = i % 2 == 0 && matches!(ty, DataType::Dictionary(..));
        let field =
            Field::new(format!("column {i} 列"), ty, i % 3 == 0).with_dict_is_ordered(ordered);
        if i % 5 > 0 {
            field
        } else {
            field.with_metadata(extension().map(|(k, v)| (k.into(), v.into())).into())
        }
    };
    let fields: Vec<Field> = flat_types()
        .into_iter()
        .chain(nested)
        .chain(twice)
        .enumerate()
        .map(field)
        .collect();
    Schema::new_with_metadata(
        fields,
        [("k", "v"), ("", "empty"), ("pandas", "{}")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
    )
}

#[test]
fn every_type_comes_back() {
    assert_eq!(round_trip(&Schema::empty()), [0, 0]);
    let schema = all_types();
    assert_eq!(round_trip(&schema), round_trip(&schema.clone()));
    let flat = Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Decimal32(9, -1), false),
    ]);
    assert_eq!(
        round_trip(&flat),
        [0, 2, 1, b'a', 1, 4, 1, b'b', 0, 27, 9, 255]
    );
}

#[test]
fn damaged_bytes_are_refused_or_say_something_else() {
    let mut random = Random(4);
    for fields in all_types().fields().chunks(2).step_by(3) {
        let mut bytes = Vec::new();
        encode_schema(&Schema::new(fields.to_vec()), &mut bytes).unwrap();
        for end in 0..bytes.len() {
            assert!(decode_schema(&mut Cursor::new(&bytes[..end]), &Limits::default()).is_err());
        }
        for bit in 0..8 * bytes.len() {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok((schema, _)) = decode_schema(&mut Cursor::new(&bad), &Limits::default()) {
                // A schema that is accepted can be written again, and laid out or refused.
                round_trip(&schema);
                let _ = crate::arrow::Layout::new(&schema);
            }
            bad[random.below(bytes.len())] = random.next() as u8;
            let _ = decode_schema(&mut Cursor::new(&bad), &Limits::default());
        }
    }
}

#[test]
fn unions_bad_parameters_and_depth_are_refused() {
    let refusal = |ty| {
        let ty = DataType::Struct(vec![Field::new("x", ty, true)].into());
        encode_schema(
            &Schema::new(vec![Field::new("s", ty, true)]),
            &mut Vec::new(),
        )
        .unwrap_err()
        .to_string()
    };
    let pair = |nullable| {
        DataType::Struct(
            vec![
                Field::new("k", DataType::Int8, nullable),
                Field::new("v", DataType::Int8, true),
            ]
            .into(),
        )
    };
    let union = DataType::Union(
        arrow_schema::UnionFields::empty(),
        arrow_schema::UnionMode::Dense,
    );
    assert!(refusal(union).starts_with("column \"s.x\": Union"));
    for ty in [
        DataType::Decimal32(10, 0),
        DataType::Decimal128(0, 0),
        DataType::Decimal256(5, 6),
        DataType::FixedSizeBinary(-1),
        DataType::Time32(TimeUnit::Nanosecond),
        DataType::Time64(TimeUnit::Second),
        DataType::Dictionary(Box::new(DataType::Utf8), Box::new(DataType::Utf8)),
        DataType::Map(Arc::new(Field::new("e", DataType::Int8, false)), false),
        DataType::Map(Arc::new(Field::new("e", pair(true), false)), false),
        DataType::Map(Arc::new(Field::new("e", pair(false), true)), false),
    ] {
        assert!(refusal(ty).starts_with("column \"s.x\": "));
    }
    let deep = (0..64).fold(DataType::Int8, |ty, _| {
        DataType::List(Arc::new(Field::new("item", ty, true)))
    });
    assert!(
        encode_schema(
            &Schema::new(vec![Field::new("deep", deep, true)]),
            &mut Vec::new()
        )
        .is_err()
    );
    let bytes = [&[0, 1][..], &[0, 0, 31].repeat(100_000), &[0, 0, 2]].concat();
    let error = decode_schema(&mut Cursor::new(&bytes), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }));
    let many = [0, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert!(decode_schema(&mut Cursor::new(&many), &Limits::default()).is_err());
}

/// Types of a later version: each costs its column, whose other leaves are counted.
#[test]
fn unknown_types_are_passed_over() {
    let unknown = [40, 4, 2, 9, 9, 9];
    let later = [200, 1, 0];
    let bytes = [
        &[0, 3][..],
        &[1, b'a', 1],
        &unknown,
        &[1, b'b', 0, 4],
        // A list of a struct of an int32 and two fields of unknown types.
        &[1, b'c', 1, 31, 1, b'i', 1, 36, 3],
        &[1, b'x', 1, 4, 1, b'y', 1],
        &unknown,
        &[1, b'z', 1],
        &later,
    ]
    .concat();
    let mut cursor = Cursor::new(&bytes);
    let (schema, unknown) = decode_schema(&mut cursor, &Limits::default()).unwrap();
    assert_eq!(cursor.remaining(), 0);
    let types: Vec<&DataType> = schema.fields().iter().map(|f| f.data_type()).collect();
    assert_eq!(types[..2], [&DataType::Null, &DataType::Int32]);
    assert_eq!(schema.field(0).metadata()["staffa.unknown_type"], "40");
    let found: Vec<_> = unknown
        .iter()
        .map(|u| (u.column, u.path.as_str(), u.tag, u.leaves))
        .collect();
    assert_eq!(found, [(0, "a", 40, 2), (2, "c[].y", 40, 2)]);
    for end in 1..bytes.len() {
        assert!(decode_schema(&mut Cursor::new(&bytes[..end]), &Limits::default()).is_err());
    }
    // No leaves said; more bytes than there are; leaves without end.
    for parameters in [
        &[40, 0][..],
        &[40, 9, 1],
        &[40, 9, 255, 255, 255, 255, 255, 255, 255, 255, 127],
        // A dictionary whose key is unknown.
        &[38, 40, 1, 1, 13],
    ] {
        let bytes = [&[0, 1, 1, b'a', 1][..], parameters].concat();
        let found = decode_schema(&mut Cursor::new(&bytes), &Limits::default());
        let laid_out = |(schema, unknown): (Schema, Vec<_>)| {
            crate::arrow::Layout::of_file(&schema, &unknown, 4)
        };
        assert!(found.and_then(laid_out).is_err(), "{parameters:?}");
    }
}
