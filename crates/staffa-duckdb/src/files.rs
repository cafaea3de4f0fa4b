//! The files of a scan, and their common schema.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use duckdb_neo::connection::Context;
use duckdb_neo::file::FileSystem;
use duckdb_neo::logical_type::LogicalTypeID;
use duckdb_neo::value::Value;
use duckdb_neo::{Error, Result};
use staffa::File;
use staffa_lake::table::common;

use crate::error::of_staffa;
use crate::partitions::{self, Constants};
use crate::unfold;

/// How several files become one table.
#[derive(Debug, Default)]
pub(crate) struct FileOptions {
    /// Whether a file may lack columns of others, which are NULL then.
    pub(crate) union_by_name: bool,
    /// Whether the keys of folders are columns; `None`: if all files have the same keys.
    pub(crate) hive_partitioning: Option<bool>,
    /// The name of a column with the path of the file.
    pub(crate) filename: Option<String>,
}

/// A file, and the columns that are constant in it.
pub(crate) struct SourceFile {
    pub(crate) file: File,
    pub(crate) path: String,
    pub(crate) constants: Constants,
}

/// Files that are read as one table.
pub(crate) struct FileSet {
    pub(crate) files: Vec<SourceFile>,
    /// The columns of all files, as they are stored where all agree, then those that are constant in a file.
    pub(crate) schema: SchemaRef,
    /// The schema for DuckDB: strings as views, dictionaries and run-ends decoded, decimals of up to 18 digits in 64 bits.
    pub(crate) output_schema: SchemaRef,
    pub(crate) rows: u64,
}

impl FileSet {
    /// Opens the files of a path, a glob or a list of them. DuckDB's file system finds the files, so that
    /// its access rules apply.
    pub(crate) fn open(context: &Context, names: &Value, options: &FileOptions) -> Result<Self> {
        let paths = find(context, names)?;
        let constants = partitions::constants(&paths, options.hive_partitioning)?;
        let open = |(path, mut constants): (String, Constants)| {
            let file = File::open(path.strip_prefix("file://").unwrap_or(&path));
            if let Some(name) = &options.filename {
                constants.push_text(name, &path);
            }
            let file = file.map_err(|e| of_staffa(&e))?;
            Ok(SourceFile {
                file,
                path,
                constants,
            })
        };
        let files = paths.into_iter().zip(constants).map(open);
        let files = files.collect::<Result<Vec<_>>>()?;
        if let Some(name) = &options.filename {
            let taken = |source: &SourceFile| source.file.schema().column_with_name(name).is_some();
            if let Some(SourceFile { path, .. }) = files.iter().find(|source| taken(source)) {
                return Err(Error::invalid_input(format!(
                    "filename: {path} has a column {name:?} already: give another name"
                )));
            }
        }
        let schema = Arc::new(Union::of(&files, options.union_by_name)?);
        let fields = schema
            .fields()
            .iter()
            .map(|field| unfold::short(unfold::field(field)));
        let output_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = files.iter().map(|source| source.file.num_rows()).sum();
        Ok(Self {
            files,
            schema,
            output_schema,
            rows,
        })
    }
}

fn find(context: &Context, names: &Value) -> Result<Vec<String>> {
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
    Ok(paths)
}

/// The columns of the files so far.
struct Union<'f> {
    fields: Vec<(FieldRef, &'f str)>,
    by_name: bool,
}

impl<'f> Union<'f> {
    /// The columns of all files.
    fn of(files: &'f [SourceFile], by_name: bool) -> Result<Schema> {
        let Some((first, rest)) = files.split_first() else {
            return Err(Error::invalid_input("the list of files is empty"));
        };
        let own = |source: &'f SourceFile| {
            let fields = source.file.schema().fields().iter();
            let is_own = move |field: &&FieldRef| source.constants.get(field.name()).is_none();
            fields.filter(is_own).cloned()
        };
        let mut union = Self {
            fields: own(first).map(|field| (field, &*first.path)).collect(),
            by_name,
        };
        for source in rest {
            union.add(own(source).collect(), &source.path, &first.path)?;
        }
        for (field, path) in &union.fields {
            if let Some(what) = unsupported(field.data_type()) {
                return Err(Error::invalid_input(format!(
                    "{path}: column {:?}: DuckDB has no {what}",
                    field.name()
                )));
            }
        }
        let mut fields: Vec<FieldRef> = union.fields.into_iter().map(|(field, _)| field).collect();
        fields.extend(first.constants.fields().map(Arc::new));
        Ok(Schema::new(fields))
    }

    /// Adds the columns of a file, in any order; nullability may differ.
    fn add(&mut self, fields: Vec<FieldRef>, path: &'f str, first: &str) -> Result<()> {
        for (field, _) in &self.fields {
            if !self.by_name && fields.iter().all(|other| other.name() != field.name()) {
                return Err(Error::invalid_input(format!(
                    "{path}: the column {:?} is missing, which {first} has; union_by_name = true reads NULL",
                    field.name()
                )));
            }
        }
        for field in fields {
            let before = self.fields.iter_mut();
            match before
                .into_iter()
                .find(|(other, _)| other.name() == field.name())
            {
                Some((before, before_path)) => *before = merged(before, before_path, &field, path)?,
                None if self.by_name => self.fields.push((field, path)),
                None => {
                    return Err(Error::invalid_input(format!(
                        "{path}: column {:?} is not in {first}; union_by_name = true adds it",
                        field.name()
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A column of two files, in a type that holds the values of both.
fn merged(a: &FieldRef, a_path: &str, b: &Field, b_path: &str) -> Result<FieldRef> {
    if a.data_type().equals_datatype(b.data_type()) {
        return Ok(a.clone());
    }
    let (own, other) = (unfold::field(a), unfold::field(b));
    let common = common(own.data_type(), other.data_type());
    let common = common.ok_or_else(|| {
        Error::invalid_input(format!(
            "{b_path}: column {:?} is {}, but {} in {a_path}",
            a.name(),
            b.data_type(),
            a.data_type()
        ))
    })?;
    Ok(Arc::new(own.with_data_type(common)))
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
