//! `COPY ... TO 'x.staffa' (FORMAT staffa, PROFILE small)`.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_schema::SchemaRef;
use duckdb_neo::column_data_collection::ColumnDataCollection;
use duckdb_neo::connection::Context;
use duckdb_neo::copy_function::{
    CopyFunctionBuilder, CopyToBindInfo, CopyToFunctionCallbacks, CopyToStatistics,
    CopyToStatisticsCallbacks,
};
use duckdb_neo::extension::Extension;
use duckdb_neo::file::FileSystem;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID};
use duckdb_neo::value::Value;
use duckdb_neo::{Error, Result};
use staffa::{WriteOptions, WriteSummary, Writer};

use crate::border::{self, Exporter};
use crate::error::{catch_panics, internal, of_staffa, of_text};

/// Rows of a batch from DuckDB.
const BATCH_ROWS: usize = 131_072;

pub(crate) fn register(extension: &Extension) -> Result<()> {
    CopyFunctionBuilder::new("staffa", CopyTo)
        .with_fallback_extension("staffa")
        .with_statistics()
        .register(extension)
}

struct CopyTo;

/// The statement: columns, schema and options.
struct Statement {
    columns: Vec<(String, LogicalType)>,
    schema: SchemaRef,
    options: WriteOptions,
}

impl Statement {
    fn named(&self) -> Vec<(&str, LogicalType)> {
        self.columns
            .iter()
            .map(|(name, ty)| (name.as_str(), ty.clone()))
            .collect()
    }

    /// Refuses 128-bit integers of more than 38 digits: DuckDB exports them as decimals of 38 digits.
    fn refuse_overflow(&self, batch: &RecordBatch) -> Result<()> {
        for ((name, ty), array) in self.columns.iter().zip(batch.columns()) {
            let id = ty.id()?;
            let Some(decimals) = array.as_primitive_opt::<Decimal128Type>() else {
                continue;
            };
            let wrapped =
                id == LogicalTypeID::UHugeInt && decimals.iter().flatten().any(|value| value < 0);
            let wide = id == LogicalTypeID::HugeInt || id == LogicalTypeID::UHugeInt;
            if wrapped || wide && decimals.validate_decimal_precision(38).is_err() {
                let what = "holds integers of more than 38 digits: cast it to DOUBLE or VARCHAR";
                return Err(Error::invalid_input(format!("column {name:?} {what}")));
            }
        }
        Ok(())
    }
}

/// The file.
struct Output {
    /// None after the file is finished.
    writer: Mutex<Option<Writer>>,
    summary: OnceLock<WriteSummary>,
}

impl CopyToFunctionCallbacks for CopyTo {
    type BindData = Statement;
    type InitData = Output;
    type BatchData = ();

    fn bind(&self, context: &Context, info: &CopyToBindInfo) -> Result<Statement> {
        catch_panics(|| {
            let column = |i| info.get_column(i).map(|(name, ty)| (name.to_owned(), ty));
            let columns = (0..info.column_count()?)
                .map(column)
                .collect::<Result<Vec<_>>>()?;
            columns
                .iter()
                .try_for_each(|(name, ty)| refuse_lossy(name, ty))?;
            let mut options = WriteOptions::default();
            let (threads, _) = context.config()?.get_value("threads")?;
            let threads = threads.dbg_string()?;
            let parsed = threads.parse();
            options.threads =
                Some(parsed.map_err(|_| internal(&format!("DuckDB has {threads} threads")))?);
            for i in 0..info.option_count()? {
                let (name, value) = info.get_option(i)?;
                set(&mut options, name, &value)?;
            }
            let mut statement = Statement {
                columns,
                schema: SchemaRef::new(arrow_schema::Schema::empty()),
                options,
            };
            statement.schema = border::schema(context, &statement.named())?;
            Ok(statement)
        })
    }

    fn init(&self, context: &Context, statement: &Statement, path: &str) -> Result<Output> {
        catch_panics(|| {
            // DuckDB refuses a path that it may not access.
            FileSystem::new(context)?.exists(path)?;
            let path = path.strip_prefix("file://").unwrap_or(path);
            let writer = Writer::create(path, statement.schema.clone(), statement.options.clone())
                .map_err(|e| of_staffa(&e))?;
            Ok(Output {
                writer: Mutex::new(Some(writer)),
                summary: OnceLock::new(),
            })
        })
    }

    fn batch(
        &self,
        _: &Context,
        _: &Statement,
        _: &Output,
        _: &ColumnDataCollection<'_>,
    ) -> Result<()> {
        Ok(())
    }

    fn batch_size(&self, _: &Context, _: &Statement) -> Result<Option<NonZeroUsize>> {
        Ok(NonZeroUsize::new(BATCH_ROWS))
    }

    fn flush(
        &self,
        context: &Context,
        statement: &Statement,
        output: &Output,
        rows: &ColumnDataCollection<'_>,
        (): &mut (),
    ) -> Result<()> {
        catch_panics(|| {
            let mut exporter = Exporter::new(
                context,
                &statement.named(),
                rows.len()?,
                statement.schema.clone(),
            )?;
            let mut scan = rows.to_scan(context)?;
            while let Some(chunk) = scan.next_chunk()? {
                exporter.push(&chunk)?;
            }
            let mut writer = output.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = writer
                .as_mut()
                .ok_or_else(|| internal("the file is finished already"))?;
            for batch in exporter.finish()? {
                statement.refuse_overflow(&batch)?;
                writer.write(&batch).map_err(|e| of_staffa(&e))?;
            }
            Ok(())
        })
    }

    fn finalize(&self, _: &Context, _: &Statement, output: &Output) -> Result<()> {
        catch_panics(|| {
            let writer = output
                .writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let writer = writer.ok_or_else(|| internal("the file is finished already"))?;
            let summary = writer.finish().map_err(|e| of_staffa(&e))?;
            output
                .summary
                .set(summary)
                .map_err(|_| internal("the file is finished already"))
        })
    }
}

impl CopyToStatisticsCallbacks for CopyTo {
    fn statistics(&self, _: &Context, _: &Statement, output: &Output) -> Result<CopyToStatistics> {
        let summary = output.summary.get();
        let summary = summary.ok_or_else(|| internal("the file is not finished"))?;
        Ok(CopyToStatistics {
            row_count: usize::try_from(summary.rows).ok(),
            file_size: usize::try_from(summary.file_bytes).ok(),
        })
    }
}

/// Refuses types that DuckDB exports to Arrow only in part.
fn refuse_lossy(name: &str, ty: &LogicalType) -> Result<()> {
    let text = ty.to_text()?;
    let nested = matches!(
        ty.id()?,
        LogicalTypeID::List
            | LogicalTypeID::Array
            | LogicalTypeID::Map
            | LogicalTypeID::Struct
            | LogicalTypeID::Tuple
    );
    let contains_type = |name: &str| {
        nested
            && text
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == name)
    };
    let time = text == "TIME WITH TIME ZONE" || nested && text.contains("TIME WITH TIME ZONE");
    if time
        || text == "BIT"
        || contains_type("BIT")
        || contains_type("HUGEINT")
        || contains_type("UHUGEINT")
    {
        return Err(Error::invalid_input(format!(
            "column {name:?}: Arrow has no type that holds all values of {text}: cast it to VARCHAR"
        )));
    }
    Ok(())
}

/// Sets an option of the statement.
fn set(options: &mut WriteOptions, name: &str, value: &Value) -> Result<()> {
    let text = value.dbg_string()?;
    // DuckDB passes an option without a value, or with one in brackets, as a list.
    let text = text.trim_start_matches('[').trim_end_matches(']').trim();
    let number = || {
        text.parse()
            .map_err(|_| Error::invalid_input(format!("{name}: expected a number, found {text:?}")))
    };
    match name.to_ascii_lowercase().as_str() {
        "profile" => options.profile = text.to_ascii_lowercase().parse().map_err(of_text)?,
        "access" => options.access = text.to_ascii_lowercase().parse().map_err(of_text)?,
        // DuckDB takes `row_group_size` for its own batches, and hands it to no function.
        "row_group_rows" => {
            options.row_group_rows = number()?;
            if options.row_group_rows == 0 {
                return Err(Error::invalid_input(format!(
                    "{name}: expected a number from 1, found 0"
                )));
            }
        }
        _ => {
            let known = "profile, access, row_group_rows";
            return Err(Error::invalid_input(format!(
                "COPY to staffa has no option {name:?}; the options are {known}"
            )));
        }
    }
    Ok(())
}
