//! Bytes to a schema; every field and type is checked before it is built.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

use super::super::Cursor;
use super::{INTERVALS, METADATA, NULLABLE, ORDERED, PLAIN, UNITS, check_type};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Reads what [`encode_schema`](super::encode_schema) wrote.
pub(crate) fn decode_schema(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Schema> {
    let metadata = metadata(cursor)?;
    let fields = fields(cursor, limits.depth)?;
    Ok(Schema::new_with_metadata(fields, metadata))
}

/// Number of entries of at least `least` bytes each, at most as many as the rest can hold.
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
    // An empty metadata has no flag, so that a schema has one form.
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
        22 => DataType::Time32(one_of(&UNITS, cursor, "a unit of time")?),
        23 => DataType::Time64(one_of(&UNITS, cursor, "a unit of time")?),
        24 => {
            let unit = one_of(&UNITS, cursor, "a unit of time")?;
            let has_zone = one_of(&[false, true], cursor, "a time zone's presence")?;
            let zone = has_zone.then(|| cursor.text("a time zone")).transpose()?;
            DataType::Timestamp(unit, zone.map(Into::into))
        }
        25 => DataType::Duration(one_of(&UNITS, cursor, "a unit of time")?),
        26 => DataType::Interval(one_of(&INTERVALS, cursor, "an interval's unit")?),
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
            let sorted = one_of(&[false, true], cursor, "a map's order of keys")?;
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

/// One of `all`, by its number.
fn one_of<T: Copy>(all: &[T], cursor: &mut Cursor<'_>, what: &str) -> Result<T> {
    let found = cursor.u8()?;
    all.get(usize::from(found)).copied().ok_or_else(|| {
        let most = all.len() - 1;
        Error::corrupt(format!("{what} must be 0 to {most}, found {found}"))
    })
}
