//! An Arrow schema as bytes: what the footer keeps, so that every type comes back as it went in.
//!
//! ```text
//! schema   = metadata | fields
//! fields   = count: varint | field * count
//! field    = name: text | flags: u8 | metadata, where flag 4 is set | type
//!            flags: 1 nullable | 2 the dictionary is ordered (dictionaries only) | 4 has metadata; the others are 0
//! metadata = count: varint | (key: text | value: text) * count         keys strictly ascending, compared as bytes
//! text     = length in bytes: varint | UTF-8
//! varint   = LEB128, unsigned, in its shortest form
//! type     = tag: u8 | parameters
//! ```
//!
//! | tag | type | parameters |
//! |---|---|---|
//! | 0, 1 | null, boolean | |
//! | 2, 3, 4, 5 | int8, int16, int32, int64 | |
//! | 6, 7, 8, 9 | uint8, uint16, uint32, uint64 | |
//! | 10, 11, 12 | float16, float32, float64 | |
//! | 13, 14, 15 | utf8, large utf8, utf8 view | |
//! | 16, 17, 18 | binary, large binary, binary view | |
//! | 19 | fixed-size binary | bytes: varint, at most 2^31 - 1 |
//! | 20, 21 | date32 (days), date64 (milliseconds) | |
//! | 22 | time32 | unit: u8, 0 or 1 |
//! | 23 | time64 | unit: u8, 2 or 3 |
//! | 24 | timestamp | unit: u8; zone: u8, 0 for none, or 1 and then text |
//! | 25 | duration | unit: u8 |
//! | 26 | interval | u8: 0 year-month, 1 day-time, 2 month-day-nano |
//! | 27, 28, 29, 30 | decimal of 32, 64, 128, 256 bits | precision: u8, 1 to 9, 18, 38, 76; scale: i8, at most the precision |
//! | 31, 32, 33, 34 | list, large list, list view, large list view | item: field |
//! | 35 | fixed-size list | items: varint, at most 2^31 - 1; item: field |
//! | 36 | struct | fields |
//! | 37 | map | keys sorted: u8, 0 or 1; entries: field, not nullable, a struct of two fields, the first not nullable |
//! | 38 | dictionary | key: type, one of tags 2 to 9; values: type |
//! | 39 | run-end encoded | ends: field, not nullable, one of tags 3 to 5; values: field |
//!
//! A unit is 0 seconds, 1 milliseconds, 2 microseconds, 3 nanoseconds. Types nest at most
//! [`Limits::depth`] deep; a top-level field is at depth 1. Extension types are field metadata and
//! so come back by themselves. Unions have no tag. Not kept: the identifiers that IPC once gave to
//! dictionaries.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    validate_decimal_precision_and_scale,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};

use super::{Cursor, put_prefixed, put_varint};
use crate::error::{Error, Result};
use crate::limits::Limits;

const NULLABLE: u8 = 1;
const ORDERED: u8 = 2;
const METADATA: u8 = 4;

/// Appends a schema. Refuses, by the path of the column, what [`decode_schema`] would not take
/// back.
pub(crate) fn encode_schema(schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
    put_metadata(schema.metadata(), out);
    put_fields(schema.fields(), "", 1, out)
}

fn put_fields(fields: &Fields, parent: &str, depth: u32, out: &mut Vec<u8>) -> Result<()> {
    put_varint(out, fields.len() as u64);
    fields
        .iter()
        .try_for_each(|field| put_field(field, parent, depth, out))
}

fn put_field(field: &Field, parent: &str, depth: u32, out: &mut Vec<u8>) -> Result<()> {
    let path = if parent.is_empty() {
        field.name().clone()
    } else {
        format!("{parent}.{}", field.name())
    };
    let ordered = field.dict_is_ordered().unwrap_or(false);
    let has_metadata = !field.metadata().is_empty();
    put_prefixed(out, field.name().as_bytes());
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    out.push(
        flag(field.is_nullable(), NULLABLE) | flag(ordered, ORDERED) | flag(has_metadata, METADATA),
    );
    if has_metadata {
        put_metadata(field.metadata(), out);
    }
    put_type(field.data_type(), &path, depth, out).map_err(|e| e.at(|p| p.column = Some(path)))
}

fn put_metadata(metadata: &HashMap<String, String>, out: &mut Vec<u8>) {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort_unstable();
    put_varint(out, pairs.len() as u64);
    for (key, value) in pairs {
        put_prefixed(out, key.as_bytes());
        put_prefixed(out, value.as_bytes());
    }
}

fn put_type(ty: &DataType, path: &str, depth: u32, out: &mut Vec<u8>) -> Result<()> {
    let most = Limits::default().depth;
    if depth > most {
        return Err(Error::limit(format!(
            "types nested at most {most} deep are accepted, found more"
        )));
    }
    check_type(ty).map_err(|what| Error::invalid(format!("column {path:?}: {what}")))?;
    out.push(tag(ty)?);
    let below = depth + 1;
    match ty {
        DataType::FixedSizeBinary(size) => put_varint(out, *size as u64),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
            out.push(unit_byte(*unit));
        }
        DataType::Timestamp(unit, zone) => {
            out.extend([unit_byte(*unit), u8::from(zone.is_some())]);
            if let Some(zone) = zone {
                put_prefixed(out, zone.as_bytes());
            }
        }
        DataType::Interval(unit) => out.push(match unit {
            IntervalUnit::YearMonth => 0,
            IntervalUnit::DayTime => 1,
            IntervalUnit::MonthDayNano => 2,
        }),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => out.extend([*precision, *scale as u8]),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => {
            put_field(item, path, below, out)?;
        }
        DataType::FixedSizeList(item, size) => {
            put_varint(out, *size as u64);
            put_field(item, path, below, out)?;
        }
        DataType::Struct(fields) => put_fields(fields, path, below, out)?,
        DataType::Map(entries, sorted) => {
            out.push(u8::from(*sorted));
            put_field(entries, path, below, out)?;
        }
        DataType::Dictionary(key, values) => {
            put_type(key, path, below, out)?;
            put_type(values, path, below, out)?;
        }
        DataType::RunEndEncoded(ends, values) => {
            put_field(ends, path, below, out)?;
            put_field(values, path, below, out)?;
        }
        _ => {}
    }
    Ok(())
}

/// The types without parameters: the tag is the place.
const PLAIN: [Option<DataType>; 22] = [
    Some(DataType::Null),
    Some(DataType::Boolean),
    Some(DataType::Int8),
    Some(DataType::Int16),
    Some(DataType::Int32),
    Some(DataType::Int64),
    Some(DataType::UInt8),
    Some(DataType::UInt16),
    Some(DataType::UInt32),
    Some(DataType::UInt64),
    Some(DataType::Float16),
    Some(DataType::Float32),
    Some(DataType::Float64),
    Some(DataType::Utf8),
    Some(DataType::LargeUtf8),
    Some(DataType::Utf8View),
    Some(DataType::Binary),
    Some(DataType::LargeBinary),
    Some(DataType::BinaryView),
    None,
    Some(DataType::Date32),
    Some(DataType::Date64),
];

fn tag(ty: &DataType) -> Result<u8> {
    if let Some(tag) = PLAIN.iter().position(|plain| plain.as_ref() == Some(ty)) {
        return Ok(tag as u8);
    }
    Ok(match ty {
        DataType::FixedSizeBinary(_) => 19,
        DataType::Time32(_) => 22,
        DataType::Time64(_) => 23,
        DataType::Timestamp(..) => 24,
        DataType::Duration(_) => 25,
        DataType::Interval(_) => 26,
        DataType::Decimal32(..) => 27,
        DataType::Decimal64(..) => 28,
        DataType::Decimal128(..) => 29,
        DataType::Decimal256(..) => 30,
        DataType::List(_) => 31,
        DataType::LargeList(_) => 32,
        DataType::ListView(_) => 33,
        DataType::LargeListView(_) => 34,
        DataType::FixedSizeList(..) => 35,
        DataType::Struct(_) => 36,
        DataType::Map(..) => 37,
        DataType::Dictionary(..) => 38,
        DataType::RunEndEncoded(..) => 39,
        _ => {
            return Err(Error::unsupported(format!(
                "{ty} is not accepted; every Arrow type but unions is"
            )));
        }
    })
}

fn unit_byte(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

/// What Arrow's type allows to be said, but its arrays do not allow to be: asked of every type on
/// its way in and out.
pub(crate) fn check_type(ty: &DataType) -> Result<(), String> {
    let decimal =
        |result: Result<(), arrow_schema::ArrowError>| result.map_err(|e| format!("{ty}: {e}"));
    let must = |holds: bool, what: &str| {
        if holds {
            Ok(())
        } else {
            Err(format!("{ty}: {what}"))
        }
    };
    match ty {
        DataType::Decimal32(p, s) => decimal(
            validate_decimal_precision_and_scale::<Decimal32Type>(*p, *s),
        ),
        DataType::Decimal64(p, s) => decimal(
            validate_decimal_precision_and_scale::<Decimal64Type>(*p, *s),
        ),
        DataType::Decimal128(p, s) => decimal(
            validate_decimal_precision_and_scale::<Decimal128Type>(*p, *s),
        ),
        DataType::Decimal256(p, s) => decimal(
            validate_decimal_precision_and_scale::<Decimal256Type>(*p, *s),
        ),
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) => {
            must(*size >= 0, "the size is negative")
        }
        DataType::Time32(unit) => must(
            matches!(unit, TimeUnit::Second | TimeUnit::Millisecond),
            "the unit must be seconds or milliseconds",
        ),
        DataType::Time64(unit) => must(
            matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond),
            "the unit must be microseconds or nanoseconds",
        ),
        DataType::Map(entries, _) => {
            let keys = match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => fields.first(),
                _ => None,
            };
            must(
                keys.is_some_and(|keys| !keys.is_nullable()) && !entries.is_nullable(),
                "the entries must be a struct of two fields, neither they nor the first, the keys, nullable",
            )
        }
        DataType::Dictionary(key, _) => {
            must(key.is_dictionary_key_type(), "the key must be an integer")
        }
        DataType::RunEndEncoded(ends, _) => must(
            ends.data_type().is_run_ends_type() && !ends.is_nullable(),
            "the run ends must be int16, int32 or int64 and not nullable",
        ),
        _ => Ok(()),
    }
}

/// Reads what [`encode_schema`] wrote; of what is refused, nothing is built.
pub(crate) fn decode_schema(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Schema> {
    let metadata = metadata(cursor)?;
    let fields = fields(cursor, limits.depth)?;
    Ok(Schema::new_with_metadata(fields, metadata))
}

/// A count of things that take at least `least` bytes each; more than the rest can hold are refused
/// at once.
fn count(cursor: &mut Cursor<'_>, least: usize, what: &str) -> Result<usize> {
    let count = cursor.varint()?;
    let room = cursor.remaining() / least;
    match usize::try_from(count) {
        Ok(count) if count <= room => Ok(count),
        _ => Err(Error::corrupt(format!(
            "{count} {what} announced, but the rest holds at most {room}"
        ))),
    }
}

fn metadata(cursor: &mut Cursor<'_>) -> Result<HashMap<String, String>> {
    let pairs = count(cursor, 2, "metadata entries")?;
    let mut out = HashMap::new();
    let mut last: Option<&str> = None;
    for _ in 0..pairs {
        let key = cursor.text("a metadata key")?;
        if let Some(last) = last.filter(|last| *last >= key) {
            return Err(Error::corrupt(format!(
                "metadata keys must ascend, found {key:?} after {last:?}"
            )));
        }
        last = Some(key);
        out.insert(key.to_owned(), cursor.text("a metadata value")?.to_owned());
    }
    Ok(out)
}

fn fields(cursor: &mut Cursor<'_>, depth: u32) -> Result<Fields> {
    let count = count(cursor, 3, "fields")?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        fields.push(field(cursor, depth)?);
    }
    Ok(fields.into())
}

fn field(cursor: &mut Cursor<'_>, depth: u32) -> Result<FieldRef> {
    let name = cursor.text("a field's name")?;
    let flags = cursor.u8()?;
    let metadata = (flags & METADATA != 0)
        .then(|| metadata(cursor))
        .transpose()?;
    // Nothing, said at length: one form for one schema.
    if flags & !(NULLABLE | ORDERED | METADATA) != 0
        || metadata.as_ref().is_some_and(HashMap::is_empty)
    {
        return Err(Error::corrupt(format!(
            "field {name:?}: flags {flags:#04x} are unknown or say what is not there"
        )));
    }
    let ty = data_type(cursor, depth)?;
    let ordered = flags & ORDERED != 0;
    if ordered && !matches!(ty, DataType::Dictionary(..)) {
        return Err(Error::corrupt(format!(
            "field {name:?} is flagged as an ordered dictionary, but is {ty}"
        )));
    }
    let mut field = Field::new(name, ty, flags & NULLABLE != 0);
    if let Some(metadata) = metadata {
        field = field.with_metadata(metadata);
    }
    if ordered {
        field = field.with_dict_is_ordered(true);
    }
    Ok(Arc::new(field))
}

fn data_type(cursor: &mut Cursor<'_>, depth: u32) -> Result<DataType> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(Error::limit(
            "types are nested deeper than the limits allow",
        ));
    };
    let at = cursor.position();
    let tag = cursor.u8()?;
    if let Some(Some(plain)) = PLAIN.get(usize::from(tag)) {
        return Ok(plain.clone());
    }
    let ty = match tag {
        19 => DataType::FixedSizeBinary(size(cursor)?),
        22 => DataType::Time32(unit(cursor)?),
        23 => DataType::Time64(unit(cursor)?),
        24 => {
            let unit = unit(cursor)?;
            let zone = if flag(cursor, "a time zone's presence")? {
                Some(cursor.text("a time zone")?.into())
            } else {
                None
            };
            DataType::Timestamp(unit, zone)
        }
        25 => DataType::Duration(unit(cursor)?),
        26 => DataType::Interval(match cursor.u8()? {
            0 => IntervalUnit::YearMonth,
            1 => IntervalUnit::DayTime,
            2 => IntervalUnit::MonthDayNano,
            other => {
                return Err(Error::corrupt(format!(
                    "an interval's unit must be 0 to 2, found {other}"
                )));
            }
        }),
        27 => DataType::Decimal32(cursor.u8()?, cursor.u8()? as i8),
        28 => DataType::Decimal64(cursor.u8()?, cursor.u8()? as i8),
        29 => DataType::Decimal128(cursor.u8()?, cursor.u8()? as i8),
        30 => DataType::Decimal256(cursor.u8()?, cursor.u8()? as i8),
        31 => DataType::List(field(cursor, below)?),
        32 => DataType::LargeList(field(cursor, below)?),
        33 => DataType::ListView(field(cursor, below)?),
        34 => DataType::LargeListView(field(cursor, below)?),
        35 => {
            let size = size(cursor)?;
            DataType::FixedSizeList(field(cursor, below)?, size)
        }
        36 => DataType::Struct(fields(cursor, below)?),
        37 => {
            let sorted = flag(cursor, "a map's order of keys")?;
            DataType::Map(field(cursor, below)?, sorted)
        }
        38 => DataType::Dictionary(
            Box::new(data_type(cursor, below)?),
            Box::new(data_type(cursor, below)?),
        ),
        39 => DataType::RunEndEncoded(field(cursor, below)?, field(cursor, below)?),
        other => {
            return Err(Error::unsupported(format!(
                "type {other} at {at} of the schema is unknown"
            )));
        }
    };
    check_type(&ty).map_err(Error::corrupt)?;
    Ok(ty)
}

fn size(cursor: &mut Cursor<'_>) -> Result<i32> {
    cursor
        .varint_up_to(i32::MAX as u64, "a fixed size of")
        .map(|size| size as i32)
}

fn flag(cursor: &mut Cursor<'_>, what: &str) -> Result<bool> {
    match cursor.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!(
            "{what} must be 0 or 1, found {other}"
        ))),
    }
}

fn unit(cursor: &mut Cursor<'_>) -> Result<TimeUnit> {
    Ok(match cursor.u8()? {
        0 => TimeUnit::Second,
        1 => TimeUnit::Millisecond,
        2 => TimeUnit::Microsecond,
        3 => TimeUnit::Nanosecond,
        other => {
            return Err(Error::corrupt(format!(
                "a unit of time must be 0 to 3, found {other}"
            )));
        }
    })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::testing::arrays::{Random, flat_types, nested_types};

    fn round_trip(schema: &Schema) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_schema(schema, &mut bytes).unwrap();
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(
            &decode_schema(&mut cursor, &Limits::default()).unwrap(),
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
                assert!(
                    decode_schema(&mut Cursor::new(&bytes[..end]), &Limits::default()).is_err()
                );
            }
            for bit in 0..8 * bytes.len() {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                if let Ok(schema) = decode_schema(&mut Cursor::new(&bad), &Limits::default()) {
                    // Whatever it is, it is whole: it can be written again, and laid out or
                    // refused.
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
}
