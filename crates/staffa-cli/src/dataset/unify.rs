//! One schema for several files: of Staffa, Parquet and Arrow the union of their columns, as for every table of
//! files. With text among them the columns must be the same, as a header with a slip of the pen would be one more
//! column; only types that were inferred from text are widened.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use staffa_lake::table::unify;

use super::source::Source;
use crate::error::{Failure, Result};
use crate::terminal::text::quoted_name;

/// The schema of all files.
pub(super) fn unified(files: &[(Source, SchemaRef)]) -> Result<Schema> {
    let Some(((first, schema), others)) = files.split_first() else {
        return Ok(Schema::empty());
    };
    if files.iter().any(|(source, _)| source.format.is_text()) {
        let mut unified = UnifiedSchema::new(first, schema);
        others
            .iter()
            .try_for_each(|(source, schema)| unified.add(source, schema))?;
        return Ok(unified.finish());
    }
    let named = files
        .iter()
        .map(|(source, schema)| (source.name(), schema.clone()));
    let named: Vec<_> = named.collect();
    unify(&named).map_err(|conflict| Failure::usage(conflict.into_error(&named).to_string()))
}

/// The schema of the files so far, which `first` began.
#[derive(Debug)]
struct UnifiedSchema {
    first: Source,
    schema: Schema,
}

impl UnifiedSchema {
    fn new(first: &Source, schema: &Schema) -> Self {
        Self {
            first: first.clone(),
            schema: schema.clone(),
        }
    }

    /// Adds a file; the error names the column that differs.
    fn add(&mut self, source: &Source, schema: &Schema) -> Result<()> {
        let refuse = |what: String| Failure::usage(format!("{}: {what}", source.name()));
        let (ours, theirs) = (self.schema.fields(), schema.fields());
        let mut fields = Vec::with_capacity(ours.len());
        for (index, field) in ours.iter().enumerate() {
            let found = match theirs.get(index) {
                // Of columns of one name, each stands for that in its place.
                Some(same) if same.name() == field.name() => Some(same),
                _ => theirs.iter().find(|other| other.name() == field.name()),
            };
            if let Some(found) = found {
                fields.push(self.unify_field(field, found, source)?);
                continue;
            }
            let instead = theirs.get(index).filter(|other| {
                theirs.len() == ours.len() && !ours.iter().any(|ours| ours.name() == other.name())
            });
            return Err(refuse(match instead {
                Some(other) => format!(
                    "column {} is {:?}, but {:?} in {}",
                    index + 1,
                    other.name(),
                    field.name(),
                    self.first.name()
                ),
                None => format!(
                    "the column {:?} is missing, which {} has",
                    field.name(),
                    self.first.name()
                ),
            }));
        }
        let known = |field: &&FieldRef| ours.iter().any(|ours| ours.name() == field.name());
        let extra = theirs.iter().find(|field| !known(field));
        if let Some(extra) = extra.or(theirs.get(ours.len())) {
            return Err(refuse(format!(
                "the column {:?} is not in {}",
                extra.name(),
                self.first.name()
            )));
        }
        self.schema = Schema::new_with_metadata(fields, self.schema.metadata().clone());
        Ok(())
    }

    /// The unified schema. A text column without values is of type text.
    fn finish(self) -> Schema {
        if !self.first.format.is_text() {
            return self.schema;
        }
        let fields: Vec<_> = self
            .schema
            .fields()
            .iter()
            .map(|field| with_data_type(field, without_null(field.data_type())))
            .collect();
        Schema::new_with_metadata(fields, self.schema.metadata)
    }

    fn unify_field(&self, ours: &FieldRef, theirs: &Field, source: &Source) -> Result<FieldRef> {
        let refuse = |what: String| Failure::usage(format!("{}: {what}", source.name()));
        let first = self.first.name();
        let Some(data_type) = self.unify_type(ours.data_type(), theirs.data_type(), source) else {
            let hint = if self.first.format.is_text() || source.format.is_text() {
                format!(
                    "; --text {} reads it as text in all files",
                    quoted_name(ours.name())
                )
            } else {
                String::new()
            };
            return Err(refuse(format!(
                "column {:?} is {}, but {} in {first}{hint}",
                ours.name(),
                theirs.data_type(),
                ours.data_type(),
            )));
        };
        let nullable = ours.is_nullable() || theirs.is_nullable();
        let field = ours.as_ref().clone();
        Ok(Arc::new(
            field.with_data_type(data_type).with_nullable(nullable),
        ))
    }

    /// The type that holds both.
    fn unify_type(&self, ours: &DataType, theirs: &DataType, source: &Source) -> Option<DataType> {
        let (first, second) = (self.first.format, source.format);
        match (ours, theirs) {
            _ if ours == theirs => Some(ours.clone()),
            (DataType::Null, other) if first.is_text() => Some(other.clone()),
            (other, DataType::Null) if second.is_text() => Some(other.clone()),
            (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64)
                if first.is_text() && second.is_text() =>
            {
                Some(DataType::Float64)
            }
            // The text of a date is kept, whatever the type.
            (DataType::Utf8, other) | (other, DataType::Utf8)
                if first.is_text() && second.is_text() && other.is_temporal() =>
            {
                Some(DataType::Utf8)
            }
            _ => None,
        }
    }
}

/// The type with text in place of `Null`.
fn without_null(data_type: &DataType) -> DataType {
    let child = |field: &FieldRef| with_data_type(field, without_null(field.data_type()));
    match data_type {
        DataType::Null => DataType::Utf8,
        DataType::List(item) => DataType::List(child(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        other => other.clone(),
    }
}

fn with_data_type(field: &Field, data_type: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(data_type))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::error::Exit;
    use crate::files::input::Input;
    use crate::formats::Format;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        let fields = fields.iter();
        let fields = fields.map(|(name, of)| Field::new(*name, of.clone(), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    fn source(name: &str) -> Source {
        Source {
            format: Format::of(Path::new(name), None, "--from").unwrap(),
            input: Input::missing(name),
        }
    }

    fn of_two(names: [&str; 2], schemas: [&Schema; 2]) -> Result<Schema> {
        let files = names.iter().zip(schemas);
        let files = files.map(|(name, schema)| (source(name), Arc::new(schema.clone())));
        unified(&files.collect::<Vec<_>>())
    }

    #[test]
    fn schemas_that_differ_are_refused_by_file_and_column() {
        let ours = schema(&[("id", DataType::Int64), ("price", DataType::Float64)]);
        let more = schema(&[
            ("id", DataType::Int64),
            ("price", DataType::Float64),
            ("city", DataType::Utf8),
        ]);
        let cases = [
            (
                schema(&[("id", DataType::Int64), ("price", DataType::Utf8)]),
                "b.csv: column \"price\" is Utf8, but Float64",
            ),
            (
                schema(&[("id", DataType::Int64)]),
                "b.csv: the column \"price\" is missing, which a.csv has",
            ),
            (
                schema(&[("di", DataType::Int64)]),
                "b.csv: the column \"id\" is missing, which a.csv has",
            ),
            (
                schema(&[("id", DataType::Int64), ("prise", DataType::Float64)]),
                "b.csv: column 2 is \"prise\", but \"price\" in a.csv",
            ),
            (more, "b.csv: the column \"city\" is not in a.csv"),
        ];
        for (theirs, message) in cases {
            let failure = of_two(["a.csv", "b.csv"], [&ours, &theirs]).unwrap_err();
            assert!(failure.message.starts_with(message), "{}", failure.message);
            assert_eq!(failure.exit, Exit::Usage);
        }
    }

    #[test]
    fn columns_in_another_order_are_matched_by_name() {
        let ours = schema(&[("id", DataType::Int64), ("price", DataType::Null)]);
        let theirs = schema(&[("price", DataType::Float64), ("id", DataType::Int64)]);
        let both = of_two(["a.csv", "b.csv"], [&ours, &theirs]).unwrap();
        assert_eq!(
            both,
            schema(&[("id", DataType::Int64), ("price", DataType::Float64)])
        );
    }

    #[test]
    fn types_that_are_inferred_from_text_are_widened() {
        let whole = schema(&[("x", DataType::Int64), ("y", DataType::Null)]);
        let parts = schema(&[("x", DataType::Float64), ("y", DataType::Boolean)]);
        let both = of_two(["a.csv", "b.csv"], [&whole, &parts]).unwrap();
        assert_eq!(
            both,
            schema(&[("x", DataType::Float64), ("y", DataType::Boolean)])
        );
        assert!(of_two(["a.csv", "b.pq"], [&whole, &parts]).is_err());
        let empty = of_two(["a.csv", "b.csv"], [&whole, &whole]).unwrap();
        assert_eq!(empty.field(1).data_type(), &DataType::Utf8);
    }

    #[test]
    fn files_with_types_of_their_own_have_the_union_of_their_columns() {
        let whole = schema(&[("x", DataType::Int64), ("y", DataType::Null)]);
        let parts = schema(&[("z", DataType::Boolean), ("x", DataType::Float64)]);
        let both = of_two(["a.pq", "b.staffa"], [&whole, &parts]).unwrap();
        let [x, y, z] = ["x", "y", "z"].map(|name| both.field_with_name(name).unwrap());
        assert_eq!(x.data_type(), &DataType::Float64);
        assert_eq!(y.data_type(), &DataType::Null);
        assert_eq!(z.data_type(), &DataType::Boolean);
        let text = schema(&[("x", DataType::Utf8)]);
        let failure = of_two(["a.pq", "b.pq"], [&whole, &text]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        let expected = "column \"x\" is Int64 in a.pq and Utf8 in b.pq";
        assert!(failure.message.contains(expected), "{}", failure.message);
    }
}
