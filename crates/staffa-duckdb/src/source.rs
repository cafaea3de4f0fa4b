//! Which files a scan reads, and the one schema that they have in common.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use duckdb_neo::connection::Context;
use duckdb_neo::file::FileSystem;
use duckdb_neo::logical_type::LogicalTypeID;
use duckdb_neo::value::Value;
use duckdb_neo::{Error, Result};
use staffa::File;

use crate::error::of_staffa;

/// Files of one schema.
pub(crate) struct Source {
    pub(crate) files: Vec<File>,
    /// As their writers were given it.
    pub(crate) schema: SchemaRef,
    /// As it is handed to DuckDB: strings as views, dictionaries and run-ends unpacked.
    pub(crate) handed: SchemaRef,
    pub(crate) rows: u64,
}

impl Source {
    /// Opens what a path, a glob or a list of them names. DuckDB's own file system finds the files,
    /// so that what it is not allowed to look at is refused.
    pub(crate) fn open(context: &Context, names: &Value) -> Result<Self> {
        let mut paths = Vec::new();
        let system = FileSystem::new(context)?;
        for name in patterns(names)? {
            let mut found = system.glob(&name)?;
            if found.is_empty() {
                return Err(Error {
                    code: duckdb_neo::error::DuckDBError::IoFileNotFound,
                    message: format!("no files found that match {name:?}"),
                });
            }
            found.sort_unstable();
            paths.append(&mut found);
        }
        let open = |path: &String| {
            File::open(path.strip_prefix("file://").unwrap_or(path)).map_err(|e| of_staffa(&e))
        };
        let files = paths.iter().map(open).collect::<Result<Vec<_>>>()?;
        let Some(first) = files.first() else {
            return Err(Error::invalid_input("a list of no files"));
        };
        let schema = first.schema().clone();
        for (file, path) in files.iter().zip(&paths) {
            same(
                &schema,
                file.schema(),
                paths.first().map_or("", String::as_str),
                path,
            )?;
        }
        for field in schema.fields() {
            if let Some(why) = not_held(field.data_type()) {
                let path = paths.first().map_or("", String::as_str);
                return Err(Error::invalid_input(format!(
                    "{path}: column {:?}: DuckDB has no {why}",
                    field.name()
                )));
            }
        }
        let fields = schema.fields().iter().map(|field| handed(field));
        let handed = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = files.iter().map(File::num_rows).sum();
        Ok(Self {
            files,
            schema,
            handed,
            rows,
        })
    }
}

/// The paths and globs of an argument.
fn patterns(names: &Value) -> Result<Vec<String>> {
    let text = |value: &Value| match value.get::<String>()? {
        Some(path) if path.contains('\0') => Err(Error::invalid_input(format!(
            "a path with a NUL byte: {path:?}"
        ))),
        Some(path) => Ok(path),
        None => Err(Error::invalid_input("a path expected, found NULL")),
    };
    let ty = names.logical_type()?;
    match ty.id()? {
        LogicalTypeID::Varchar => Ok(vec![text(names)?]),
        LogicalTypeID::List | LogicalTypeID::Array => {
            let paths = names.children()?;
            let other = |value: &Value| {
                value.logical_type().and_then(|ty| ty.id()).ok() != Some(LogicalTypeID::Varchar)
            };
            if let Some(other) = paths.iter().find(|value| other(value)) {
                return Err(Error::invalid_input(format!(
                    "a list of paths expected, found {} in it",
                    other.dbg_string()?
                )));
            }
            paths.iter().map(text).collect()
        }
        _ => Err(Error::invalid_input(format!(
            "a path or a list of paths expected, found {}",
            ty.to_text()?
        ))),
    }
}

/// Files of a scan have the same columns in any order; whether NULLs are allowed may differ.
fn same(schema: &Schema, other: &Schema, first: &str, path: &str) -> Result<()> {
    for field in schema.fields() {
        match other.column_with_name(field.name()) {
            None => {
                return Err(Error::invalid_input(format!(
                    "{path}: no column {:?}, as in {first}",
                    field.name()
                )));
            }
            Some((_, found)) if !found.data_type().equals_datatype(field.data_type()) => {
                return Err(Error::invalid_input(format!(
                    "{path}: column {:?} is of type {}, in {first} of type {}",
                    field.name(),
                    found.data_type(),
                    field.data_type()
                )));
            }
            Some(_) => {}
        }
    }
    if let Some(more) = other
        .fields()
        .iter()
        .find(|field| schema.column_with_name(field.name()).is_none())
    {
        return Err(Error::invalid_input(format!(
            "{path}: column {:?} is not in {first}",
            more.name()
        )));
    }
    Ok(())
}

/// What of a type DuckDB cannot hold, and does not say itself.
fn not_held(ty: &DataType) -> Option<String> {
    match ty {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
            if *scale < 0 =>
        {
            Some(format!("decimals of a scale below zero, as {ty}"))
        }
        DataType::Decimal256(..) => Some(format!("decimals of more than 38 digits, as {ty}")),
        DataType::Dictionary(_, values) => not_held(values),
        DataType::RunEndEncoded(_, field)
        | DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => not_held(field.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| not_held(field.data_type())),
        _ => None,
    }
}

/// A column as DuckDB gets it.
fn handed(field: &Field) -> Field {
    let ty = match field.data_type() {
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        ty => plain(ty),
    };
    // What is asked of a column of one file may not hold for all.
    Field::new(field.name(), ty, true).with_metadata(field.metadata().clone())
}

fn plain(ty: &DataType) -> DataType {
    match ty {
        DataType::Dictionary(_, values) => plain(values),
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Float16 => DataType::Float32,
        ty => ty.clone(),
    }
}
