//! The schema of a file as DataFusion reads it, and one schema for many files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use datafusion::object_store::path::Path;
use staffa::File;

use crate::files;
use crate::types::widens;

/// The schema of a file with strings as views, or as they were written.
pub(crate) fn file_schema(location: &Path, file: &File, views: bool) -> Result<SchemaRef> {
    let unknown: HashSet<&str> = file.unknown_columns().into_iter().collect();
    let names = file.schema().fields().iter().map(|field| field.name());
    let known = names.filter(|name| !unknown.contains(name.as_str()));
    let scan = file.scan().string_views(views).columns(known);
    let reader = scan.reader().map_err(|e| files::error(location, e))?;
    Ok(reader.schema())
}

/// Whether some column, or a value in one, is a view.
pub(crate) fn has_views(schema: &Schema) -> bool {
    fn is_view(ty: &DataType) -> bool {
        match ty {
            DataType::Utf8View | DataType::BinaryView => true,
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => is_view(field.data_type()),
            DataType::Struct(fields) => fields.iter().any(|field| is_view(field.data_type())),
            DataType::Dictionary(_, values) => is_view(values),
            _ => false,
        }
    }
    schema.fields().iter().any(|f| is_view(f.data_type()))
}

/// One schema for files: columns by name in the order in which they first occur, each with the type
/// to which those of all files widen without loss. A column that some file lacks may be NULL.
pub(crate) fn unified(schemas: &[(Path, SchemaRef)]) -> Result<SchemaRef> {
    let Some(((first, schema), rest)) = schemas.split_first() else {
        return Ok(Arc::new(Schema::empty()));
    };
    if rest.iter().all(|(_, other)| other == schema) {
        return Ok(schema.clone());
    }
    let mut columns: Vec<(&Path, Field)> = Vec::new();
    for field in schema.fields() {
        columns.push((first, field.as_ref().clone()));
    }
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let mut places: HashMap<&str, usize> = names.zip(0..).collect();
    for (location, schema) in rest {
        let own: HashSet<&String> = schema.fields().iter().map(|field| field.name()).collect();
        for (_, column) in &mut columns {
            let missing = !own.contains(column.name());
            column.set_nullable(column.is_nullable() || missing);
        }
        for field in schema.fields() {
            let place = places.get(field.name().as_str());
            if let Some((from, column)) = place.and_then(|place| columns.get_mut(*place)) {
                *column = merged(from, column, location, field)?;
            } else {
                places.insert(field.name(), columns.len());
                columns.push((location, field.as_ref().clone().with_nullable(true)));
            }
        }
    }
    let fields: Vec<Field> = columns.into_iter().map(|(_, field)| field).collect();
    Ok(Arc::new(Schema::new(fields)))
}

fn merged(from: &Path, column: &Field, location: &Path, field: &Field) -> Result<Field> {
    let (known, found) = (column.data_type(), field.data_type());
    let ty = if widens(found, known) {
        known
    } else if widens(known, found) {
        found
    } else {
        return plan_err!(
            "column \"{}\" has type {known} in {from} and {found} in {location}, \
             of which neither holds the other's values",
            column.name()
        );
    };
    let mut merged = Field::new(
        column.name(),
        ty.clone(),
        column.is_nullable() || field.is_nullable(),
    );
    if column.metadata() == field.metadata() {
        merged.set_metadata(column.metadata().clone());
    }
    Ok(merged)
}
