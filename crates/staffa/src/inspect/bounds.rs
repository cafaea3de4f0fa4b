//! Bounds of a leaf, shown as its column's type shows values.

use arrow_buffer::Buffer;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, TimeUnit};

use crate::arrow::assemble;
use crate::format::{Bounds, ZoneMap};
use crate::read::File;
use crate::values::{DecodedLeaf, DecodedValues};

/// The least and the greatest value of a zone.
pub(super) fn shown(file: &File, leaf: usize, zone: &ZoneMap) -> (Option<String>, Option<String>) {
    let integer = |value: i128| {
        let text = integer(file, leaf, value).or_else(|| since_epoch(file, leaf, value));
        text.unwrap_or_else(|| value.to_string())
    };
    let (min, max) = match &zone.bounds {
        Bounds::None => return (None, None),
        Bounds::Float { min, max, .. } if min > max => return (None, None),
        Bounds::Bits(no, yes) => ((!no).to_string(), yes.to_string()),
        Bounds::Int(min, max) => (integer(*min), integer(*max)),
        Bounds::Float { min, max, .. } => (float(*min), float(*max)),
        Bounds::Bytes(min, max) => (text(min), text(max)),
    };
    (Some(min), Some(max))
}

/// An integer of a flat column, which may be a date, a timestamp or a decimal.
fn integer(file: &File, leaf: usize, value: i128) -> Option<String> {
    let leaf = file.leaf(leaf).ok().filter(|leaf| leaf.flat)?;
    let field = file.schema().fields().get(leaf.column)?;
    let (ty, width) = (leaf.ty?, leaf.ty?.width_bytes()?);
    let bytes = Buffer::from(value.to_le_bytes().get(..width)?);
    let node = file.layout().fields.get(leaf.column)?;
    let one_value = &mut |_| {
        let values = DecodedValues::Words(ty, bytes.clone());
        Ok(DecodedLeaf {
            validity: None,
            values,
        })
    };
    let array = assemble(field, node, 1, one_value).ok()?;
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
    formatter.value(0).try_to_string().ok()
}

/// A date or time beyond the calendar, which has no text of its own.
fn since_epoch(file: &File, leaf: usize, value: i128) -> Option<String> {
    let leaf = file.leaf(leaf).ok().filter(|leaf| leaf.flat)?;
    let unit = match file.schema().fields().get(leaf.column)?.data_type() {
        DataType::Date32 => "days",
        DataType::Date64 => "ms",
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
        },
        _ => return None,
    };
    Some(format!("{value} {unit} since 1970"))
}

/// A float; of many digits with an exponent.
fn float(value: f64) -> String {
    const DIGITS: usize = 24;
    let text = value.to_string();
    if text.len() > DIGITS {
        format!("{value:e}")
    } else {
        text
    }
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // A bound may be cut off in the middle of a character.
        Err(e) if e.error_len().is_none() => {
            let whole = bytes.utf8_chunks().next();
            whole.map_or_else(String::new, |chunk| chunk.valid().to_owned())
        }
        Err(_) => format!("{bytes:02x?}"),
    }
}
