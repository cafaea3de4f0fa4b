//! Bytes to a schema; every field and type is checked before it is built.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

use super::super::Cursor;
use super::{
    INTERVALS, METADATA, NULLABLE, ORDERED, PLAIN, UNITS, UNKNOWN_TYPE, UnknownType, check_type,
};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Reads what [`encode_schema`](super::encode_schema) wrote. A type that this release does not know
/// is null in the schema, marked by [`UNKNOWN_TYPE`], and its column is among those returned.
pub(crate) fn decode_schema(
    cursor: &mut Cursor<'_>,
    limits: &Limits,
) -> Result<(Schema, Vec<UnknownType>)> {
    let metadata = metadata(cursor)?;
    let count = count(cursor, 3, "fields")?;
    let (mut fields, mut unknown) = (Vec::with_capacity(count), Vec::new());
    let mut types = Types {
        cursor,
        unknown: None,
    };
    for column in 0..count {
        let field = types.field(limits.depth)?;
        if let Some(mut found) = types.unknown.take() {
            found.column = column;
            found.path.insert_str(0, field.name());
            unknown.push(found);
        }
        fields.push(field);
    }
    Ok((Schema::new_with_metadata(fields, metadata), unknown))
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

/// Types and fields, one inside the other.
struct Types<'c, 'b> {
    cursor: &'c mut Cursor<'b>,
    /// The first unknown type since this was taken, its path counted from the field being read, and
    /// the leaves of all of them.
    unknown: Option<UnknownType>,
}

impl Types<'_, '_> {
    fn fields(&mut self, depth: u32) -> Result<Fields> {
        let count = count(self.cursor, 3, "fields")?;
        let mut fields = Vec::with_capacity(count);
        for _ in 0..count {
            fields.push(self.named(".", |types| types.field(depth))?);
        }
        Ok(fields.into())
    }

    /// Reads a part of a type; an unknown type in it is found at `join` and the name of its field.
    fn named(
        &mut self,
        join: &str,
        read: impl FnOnce(&mut Self) -> Result<FieldRef>,
    ) -> Result<FieldRef> {
        let known = self.unknown.is_none();
        let field = read(self)?;
        if let Some(found) = self.unknown.as_mut().filter(|_| known) {
            let name = if join == "." { field.name() } else { "" };
            found.path.insert_str(0, &format!("{join}{name}"));
        }
        Ok(field)
    }

    fn field(&mut self, depth: u32) -> Result<FieldRef> {
        let name = self.cursor.text("a field's name")?;
        let flags = self.cursor.u8()?;
        let metadata = (flags & METADATA != 0)
            .then(|| metadata(self.cursor))
            .transpose()?;
        // An empty metadata has no flag, so that a schema has one form.
        if flags & !(NULLABLE | ORDERED | METADATA) != 0
            || metadata.as_ref().is_some_and(HashMap::is_empty)
        {
            return Err(Error::corrupt(format!(
                "field {name:?}: flags {flags:#04x} are unknown or say what is not there"
            )));
        }
        let known = self.unknown.is_none();
        let ty = self.data_type(depth)?;
        let ordered = flags & ORDERED != 0;
        if ordered && !matches!(ty, DataType::Dictionary(..)) {
            return Err(Error::corrupt(format!(
                "field {name:?} is flagged as an ordered dictionary, but is {ty}"
            )));
        }
        let mut field = Field::new(name, ty, flags & NULLABLE != 0);
        let mut metadata = metadata.unwrap_or_default();
        if let Some(found) = self.unknown.as_ref().filter(|_| known) {
            metadata.insert(UNKNOWN_TYPE.to_owned(), found.tag.to_string());
        }
        if !metadata.is_empty() {
            field = field.with_metadata(metadata);
        }
        if ordered {
            field = field.with_dict_is_ordered(true);
        }
        Ok(Arc::new(field))
    }

    fn data_type(&mut self, depth: u32) -> Result<DataType> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(Error::limit(
                "types are nested deeper than the limits allow",
            ));
        };
        let at = self.cursor.position();
        let tag = self.cursor.u8()?;
        if let Some(Some(plain)) = PLAIN.get(usize::from(tag)) {
            return Ok(plain.clone());
        }
        let ty = match tag {
            ..31 => flat(self.cursor, tag)?,
            31 => DataType::List(self.item(below)?),
            32 => DataType::LargeList(self.item(below)?),
            33 => DataType::ListView(self.item(below)?),
            34 => DataType::LargeListView(self.item(below)?),
            35 => {
                let size = size(self.cursor)?;
                DataType::FixedSizeList(self.item(below)?, size)
            }
            36 => DataType::Struct(self.fields(below)?),
            37 => {
                let sorted = one_of(&[false, true], self.cursor, "a map's order of keys")?;
                DataType::Map(self.item(below)?, sorted)
            }
            38 => {
                let key = self.data_type(below)?;
                let known = self.unknown.is_none();
                let values = self.data_type(below)?;
                if let Some(found) = self.unknown.as_mut().filter(|_| known) {
                    found.path.insert_str(0, "{values}");
                }
                DataType::Dictionary(Box::new(key), Box::new(values))
            }
            39 => {
                let ends = self.field(below)?;
                DataType::RunEndEncoded(ends, self.named("{values}", |types| types.field(below))?)
            }
            _ => return self.unknown(tag, at),
        };
        check_type(&ty).map_err(Error::corrupt)?;
        Ok(ty)
    }

    /// The items of lists, the entries of maps.
    fn item(&mut self, depth: u32) -> Result<FieldRef> {
        self.named("[]", |types| types.field(depth))
    }

    /// A type of a later version: its parameters begin with their length and its leaves.
    fn unknown(&mut self, tag: u8, at: usize) -> Result<DataType> {
        let mut parameters = Cursor::new(self.cursor.prefixed()?);
        let leaves = parameters.varint()?;
        let found = self.unknown.get_or_insert_with(|| UnknownType {
            column: 0,
            path: String::new(),
            tag,
            leaves: 0,
        });
        found.leaves = found.leaves.checked_add(leaves).ok_or_else(|| {
            Error::corrupt(format!(
                "type {tag} at {at} of the schema: fewer leaves expected, found {leaves}"
            ))
        })?;
        Ok(DataType::Null)
    }
}

/// A type with parameters and without children.
fn flat(cursor: &mut Cursor<'_>, tag: u8) -> Result<DataType> {
    Ok(match tag {
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
        _ => return Err(Error::internal(format!("type {tag} is not a flat one"))),
    })
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
