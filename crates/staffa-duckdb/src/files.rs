//! The files of a scan, and their common schema.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use duckdb_neo::connection::Context;
use duckdb_neo::file::FileSystem;
use duckdb_neo::logical_type::LogicalTypeID;
use duckdb_neo::value::Value;
use duckdb_neo::{Error, Result};
use staffa::File;

use crate::error::of_staffa;
use crate::unfold;

/// Files of one schema.
pub(crate) struct FileSet {
    pub(crate) files: Vec<File>,
    /// The schema of the first file.
    pub(crate) schema: SchemaRef,
    /// The schema for DuckDB: strings as views, dictionaries and run-ends decoded.
    pub(crate) output_schema: SchemaRef,
    pub(crate) rows: u64,
}

impl FileSet {
    /// Opens the files of a path, a glob or a list of them. DuckDB's file system finds the files, so that
    /// its access rules apply.
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
        let (Some(first), Some(first_path)) = (files.first(), paths.first()) else {
            return Err(Error::invalid_input("the list of files is empty"));
        };
        let schema = first.schema().clone();
        for (file, path) in files.iter().zip(&paths) {
            check_same(&schema, file.schema(), first_path, path)?;
        }
        for field in schema.fields() {
            if let Some(what) = unsupported(field.data_type()) {
                return Err(Error::invalid_input(format!(
                    "{first_path}: column {:?}: DuckDB has no {what}",
                    field.name()
                )));
            }
        }
        let fields = schema.fields().iter().map(|field| unfold::field(field));
        let output_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = files.iter().map(File::num_rows).sum();
        Ok(Self {
            files,
            schema,
            output_schema,
            rows,
        })
    }
}

/// The paths and globs of an argument.
fn patterns(names: &Value) -> Result<Vec<String>> {
    let text = |value: &Value| match value.get::<String>()? {
        Some(path) if path.contains('\0') => Err(Error::invalid_input(format!(
            "a path cannot hold a NUL byte: {path:?}"
        ))),
        Some(path) => Ok(path),
        None => Err(Error::invalid_input("expected a path, found NULL")),
    };
    let ty = names.logical_type()?;
    match ty.id()? {
        LogicalTypeID::Varchar => Ok(vec![text(names)?]),
        LogicalTypeID::List | LogicalTypeID::Array => {
            let paths = names.children()?;
            let path = |value: &Value| match value.logical_type()?.id()? {
                LogicalTypeID::Varchar => text(value),
                _ => Err(Error::invalid_input(format!(
                    "expected a list of paths, found {} in it",
                    value.dbg_string()?
                ))),
            };
            paths.iter().map(path).collect()
        }
        _ => Err(Error::invalid_input(format!(
            "expected a path or a list of paths, found {}",
            ty.to_text()?
        ))),
    }
}

/// Checks that two files have the same columns, in any order; nullability may differ.
fn check_same(schema: &Schema, other: &Schema, first: &str, path: &str) -> Result<()> {
    for field in schema.fields() {
        match other.column_with_name(field.name()) {
            None => {
                return Err(Error::invalid_input(format!(
                    "{path}: the column {:?} is missing, which {first} has",
                    field.name()
                )));
            }
            Some((_, found)) if !found.data_type().equals_datatype(field.data_type()) => {
                return Err(Error::invalid_input(format!(
                    "{path}: column {:?} is {}, but {} in {first}",
                    field.name(),
                    found.data_type(),
                    field.data_type()
                )));
            }
            Some(_) => {}
        }
    }
    if let Some(extra) = other
        .fields()
        .iter()
        .find(|field| schema.column_with_name(field.name()).is_none())
    {
        return Err(Error::invalid_input(format!(
            "{path}: column {:?} is not in {first}",
            extra.name()
        )));
    }
    Ok(())
}

/// The part of a type that DuckDB does not support and does not refuse itself.
fn unsupported(ty: &DataType) -> Option<String> {
    match ty {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
            if *scale < 0 =>
        {
            Some(format!("decimals of a scale below zero, as {ty}"))
        }
        DataType::Decimal256(..) => Some(format!("decimals of more than 38 digits, as {ty}")),
        DataType::Dictionary(_, values) => unsupported(values),
        DataType::RunEndEncoded(_, field)
        | DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => unsupported(field.data_type()),
        DataType::Struct(fields) => fields
            .iter()
            .find_map(|field| unsupported(field.data_type())),
        _ => None,
    }
}
