//! What other formats do not keep of a table: types that are not found again when it is read.

use arrow_schema::{DataType, Schema};

use super::format::Format;
use crate::terminal::note;

/// Says which columns come back from Parquet in another layout, and in one line which ones come back
/// from text as another type. Narrower numbers, dictionaries and decimals are not among them: their
/// values come back.
pub(crate) fn note_losses(format: Format, schema: &Schema) {
    if format == Format::Parquet {
        super::parquet::note_losses(schema);
    }
    if !format.is_text() {
        return;
    }
    let columns = schema.fields().iter().filter_map(|field| {
        let what = as_text(field.data_type())?;
        Some(format!("{:?} ({what})", field.name()))
    });
    let columns: Vec<String> = columns.collect();
    if !columns.is_empty() {
        note(&format!(
            "{} has no such types, these columns are text in it: {}",
            format.name(),
            columns.join(", ")
        ));
    }
}

/// What becomes of a type without a form that is recognized in text.
fn as_text(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Some(format!("{data_type}, in hex")),
        DataType::Duration(_)
        | DataType::Interval(_)
        | DataType::Time32(_)
        | DataType::Time64(_) => Some(data_type.to_string()),
        DataType::Timestamp(_, Some(zone)) if !is_utc(zone) => {
            Some(format!("the zone {zone:?}, as offsets"))
        }
        DataType::Dictionary(_, values) => as_text(values),
        DataType::RunEndEncoded(_, values) => as_text(values.data_type()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => as_text(item.data_type()),
        DataType::Map(entries, _) => {
            Some(as_text(entries.data_type()).unwrap_or_else(|| "a map, as an object".to_owned()))
        }
        DataType::Struct(fields) => fields.iter().find_map(|field| as_text(field.data_type())),
        _ => None,
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z" | "Etc/UTC")
}
