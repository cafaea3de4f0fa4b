//! One schema for several files: the union of their columns, in the order of the first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema};
use staffa::Error;

use super::widen::{common, decoded};

/// A column whose types in two files have none in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The column.
    pub column: String,
    /// The positions of the two files.
    pub files: [usize; 2],
}

impl Conflict {
    /// The error that names the column, both files and both types.
    pub fn into_error(self, files: &[(String, Arc<Schema>)]) -> Error {
        let of = |file: usize| {
            let (name, schema) = files.get(file)?;
            let field = schema.field_with_name(&self.column).ok()?;
            Some(format!("{} in {name}", field.data_type()))
        };
        let [a, b] = self.files.map(|file| of(file).unwrap_or_default());
        let column = &self.column;
        Error::invalid(format!(
            "column {column:?} is {a} and {b}, which have no type in common"
        ))
    }
}

/// The columns of all files. A column that some files lack is nullable; numbers, dates, times, strings
/// and the like are widened to a type that holds both ([`common`]), dictionaries decoded where files
/// differ. Metadata is that of the first file.
///
/// ```
/// # use std::sync::Arc;
/// use arrow_schema::{DataType, Field, Schema};
/// use staffa_lake::table::unify;
///
/// let old = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, false)]));
/// let new = Schema::new(vec![Field::new("a", DataType::Int64, false), Field::new("b", DataType::Utf8, false)]);
/// let both = unify(&[("old.staffa".into(), old), ("new.staffa".into(), Arc::new(new))]).unwrap();
/// assert_eq!(both.field(0), &Field::new("a", DataType::Int64, false));
/// assert_eq!(both.field(1), &Field::new("b", DataType::Utf8, true));
/// ```
pub fn unify(files: &[(String, Arc<Schema>)]) -> Result<Schema, Conflict> {
    /// A column, and the file that has it in its type.
    struct Column {
        field: FieldRef,
        file: usize,
    }
    let mut columns: Vec<Column> = Vec::new();
    // By name, the first column of it.
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut seen: Vec<&Arc<Schema>> = Vec::new();
    for (file, (_, schema)) in files.iter().enumerate() {
        if seen
            .iter()
            .any(|known| Arc::ptr_eq(known, schema) || known == &schema)
        {
            continue;
        }
        let is_first = seen.is_empty();
        for field in schema.fields() {
            let place = places.get(field.name().as_str()).copied();
            let place = place.filter(|_| !is_first);
            if let Some(known) = place.and_then(|place| columns.get_mut(place)) {
                let merged = merged(&known.field, field).ok_or_else(|| Conflict {
                    column: field.name().clone(),
                    files: [known.file, file],
                })?;
                if merged.data_type() != known.field.data_type() {
                    known.file = file;
                }
                known.field = merged;
            } else {
                let nullable = field.is_nullable() || !is_first;
                places.entry(field.name()).or_insert(columns.len());
                let field = Arc::new(field.as_ref().clone().with_nullable(nullable));
                columns.push(Column { field, file });
            }
        }
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let own: HashSet<&str> = names.collect();
        for column in &mut columns {
            if !own.contains(column.field.name().as_str()) {
                column.field = Arc::new(column.field.as_ref().clone().with_nullable(true));
            }
        }
        seen.push(schema);
    }
    let metadata = seen.first().map(|first| first.metadata().clone());
    let fields: Vec<FieldRef> = columns.into_iter().map(|column| column.field).collect();
    Ok(Schema::new_with_metadata(
        fields,
        metadata.unwrap_or_default(),
    ))
}

/// A column of two files.
fn merged(old: &Field, new: &Field) -> Option<FieldRef> {
    let nullable = old.is_nullable() || new.is_nullable();
    let ty = if old.data_type() == new.data_type() {
        old.data_type().clone()
    } else {
        common(decoded(old.data_type()), decoded(new.data_type()))?
    };
    Some(Arc::new(
        old.clone().with_data_type(ty).with_nullable(nullable),
    ))
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    fn file(name: &str, fields: &[(&str, DataType)]) -> (String, Arc<Schema>) {
        let field = |(name, ty): &(&str, DataType)| Field::new(*name, ty.clone(), false);
        (
            name.into(),
            Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>())),
        )
    }

    #[test]
    fn a_conflict_names_both_files_and_the_column() {
        let files = [
            file("a.staffa", &[("n", DataType::Int8), ("c", DataType::Int64)]),
            file(
                "b.staffa",
                &[("c", DataType::Int64), ("n", DataType::Int64)],
            ),
            file("c.staffa", &[("n", DataType::Utf8)]),
        ];
        let both = unify(&files[..2]).unwrap();
        assert_eq!(both.field(0), &Field::new("n", DataType::Int64, false));
        let conflict = unify(&files).unwrap_err();
        assert_eq!(
            conflict.into_error(&files).to_string(),
            "column \"n\" is Int64 in b.staffa and Utf8 in c.staffa, which have no type in common"
        );
    }

    #[test]
    fn dictionaries_are_decoded_where_files_differ() {
        let coded = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let files = [
            file("a", &[("c", coded.clone())]),
            file("b", &[("c", coded.clone())]),
        ];
        assert_eq!(unify(&files).unwrap().field(0).data_type(), &coded);
        let files = [
            file("a", &[("c", coded)]),
            file("b", &[("c", DataType::Utf8)]),
        ];
        assert_eq!(unify(&files).unwrap().field(0).data_type(), &DataType::Utf8);
        let files = [file("a", &[("c", DataType::Null)]), file("b", &[])];
        assert!(unify(&files).unwrap().field(0).is_nullable());
    }
}
