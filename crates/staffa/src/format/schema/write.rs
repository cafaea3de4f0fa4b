//! A schema to bytes.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::super::{put_prefixed, put_varint};
use super::{INTERVALS, METADATA, NULLABLE, ORDERED, PLAIN, UNITS, check_type};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Appends a schema. A type that [`decode_schema`](super::decode_schema) would refuse is an error
/// with the column's path.
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
            put_number(&UNITS, unit, out)?;
        }
        DataType::Timestamp(unit, zone) => {
            put_number(&UNITS, unit, out)?;
            out.push(u8::from(zone.is_some()));
            if let Some(zone) = zone {
                put_prefixed(out, zone.as_bytes());
            }
        }
        DataType::Interval(unit) => put_number(&INTERVALS, unit, out)?,
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

/// Appends the number of one of `all`.
fn put_number<T: PartialEq>(all: &[T], one: &T, out: &mut Vec<u8>) -> Result<()> {
    let number = all.iter().position(|other| other == one);
    out.push(number.ok_or_else(|| Error::internal("a unit without a number"))? as u8);
    Ok(())
}

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
