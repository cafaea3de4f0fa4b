//! `COPY ... TO 'x.staffa' (FORMAT staffa, PROFILE small)`.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

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
use crate::error::{guarded, of_staffa, of_text};

/// Rows that DuckDB hands over at a time.
const BATCH_ROWS: usize = 131_072;

pub(crate) fn register(extension: &Extension) -> Result<()> {
    CopyFunctionBuilder::new("staffa", CopyTo)
        .with_fallback_extension("staffa")
        .with_statistics()
        .register(extension)
}

struct CopyTo;

/// What is to be written.
struct Call {
    columns: Vec<(String, LogicalType)>,
    schema: SchemaRef,
    options: WriteOptions,
}

impl Call {
    fn named(&self) -> Vec<(&str, LogicalType)> {
        self.columns
            .iter()
            .map(|(name, ty)| (name.as_str(), ty.clone()))
            .collect()
    }
}

impl Call {
    /// DuckDB hands integers of 128 bits over as decimals of 38 digits, whatever their size.
    fn refuse_beyond(&self, batch: &RecordBatch) -> Result<()> {
        for ((name, ty), array) in self.columns.iter().zip(batch.columns()) {
            let id = ty.id()?;
            let Some(decimals) = array.as_primitive_opt::<Decimal128Type>() else {
                continue;
            };
            let wrapped =
                id == LogicalTypeID::UHugeInt && decimals.iter().flatten().any(|value| value < 0);
            let beyond = id == LogicalTypeID::HugeInt || id == LogicalTypeID::UHugeInt;
            if wrapped || beyond && decimals.validate_decimal_precision(38).is_err() {
                let what = "is of integers of which some have more than 38 digits: cast it to DOUBLE or VARCHAR";
                return Err(Error::invalid_input(format!("column {name:?} {what}")));
            }
        }
        Ok(())
    }
}

/// One file.
struct Output {
    writer: Mutex<Option<Writer>>,
    summary: Mutex<WriteSummary>,
}

impl CopyToFunctionCallbacks for CopyTo {
    type BindData = Call;
    type InitData = Output;
    type BatchData = ();

    fn bind(&self, context: &Context, asked: &CopyToBindInfo) -> Result<Call> {
        guarded(|| {
            let column = |i| asked.get_column(i).map(|(name, ty)| (name.to_owned(), ty));
            let columns = (0..asked.column_count()?)
                .map(column)
                .collect::<Result<Vec<_>>>()?;
            columns
                .iter()
                .try_for_each(|(name, ty)| refuse_lossy(name, ty))?;
            let mut options = WriteOptions::default();
            let (threads, _) = context.config()?.get_value("threads")?;
            options.threads = threads.dbg_string()?.parse().ok();
            for i in 0..asked.option_count()? {
                let (name, value) = asked.get_option(i)?;
                set(&mut options, name, &value)?;
            }
            let mut call = Call {
                columns,
                schema: SchemaRef::new(arrow_schema::Schema::empty()),
                options,
            };
            call.schema = border::schema(context, &call.named())?;
            Ok(call)
        })
    }

    fn init(&self, context: &Context, call: &Call, path: &str) -> Result<Output> {
        guarded(|| {
            // DuckDB refuses to look at what it may not write.
            FileSystem::new(context)?.exists(path)?;
            let path = path.strip_prefix("file://").unwrap_or(path);
            let writer = Writer::create(path, call.schema.clone(), call.options.clone())
                .map_err(|e| of_staffa(&e))?;
            Ok(Output {
                writer: Mutex::new(Some(writer)),
                summary: Mutex::default(),
            })
        })
    }

    fn batch(&self, _: &Context, _: &Call, _: &Output, _: &ColumnDataCollection<'_>) -> Result<()> {
        Ok(())
    }

    fn batch_size(&self, _: &Context, _: &Call) -> Result<Option<NonZeroUsize>> {
        Ok(NonZeroUsize::new(BATCH_ROWS))
    }

    fn flush(
        &self,
        context: &Context,
        call: &Call,
        output: &Output,
        rows: &ColumnDataCollection<'_>,
        (): &mut (),
    ) -> Result<()> {
        guarded(|| {
            let mut exporter =
                Exporter::new(context, &call.named(), rows.len()?, call.schema.clone())?;
            let mut scan = rows.to_scan(context)?;
            while let Some(chunk) = scan.next_chunk()? {
                exporter.push(&chunk)?;
            }
            let mut writer = output.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = writer
                .as_mut()
                .ok_or_else(|| Error::api_error("the file is closed"))?;
            for batch in exporter.finish()? {
                call.refuse_beyond(&batch)?;
                writer.write(&batch).map_err(|e| of_staffa(&e))?;
            }
            Ok(())
        })
    }

    fn finalize(&self, _: &Context, _: &Call, output: &Output) -> Result<()> {
        guarded(|| {
            let writer = output
                .writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let writer = writer.ok_or_else(|| Error::api_error("the file is closed"))?;
            let summary = writer.finish().map_err(|e| of_staffa(&e))?;
            *output
                .summary
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = summary;
            Ok(())
        })
    }
}

impl CopyToStatisticsCallbacks for CopyTo {
    fn statistics(&self, _: &Context, _: &Call, output: &Output) -> Result<CopyToStatistics> {
        let summary = *output
            .summary
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(CopyToStatistics {
            row_count: usize::try_from(summary.rows).ok(),
            file_size: usize::try_from(summary.file_bytes).ok(),
        })
    }
}

/// What DuckDB hands over as Arrow, but not all of it.
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
    let word = |what: &str| {
        nested
            && text
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == what)
    };
    let time = text == "TIME WITH TIME ZONE" || nested && text.contains("TIME WITH TIME ZONE");
    if time || text == "BIT" || word("BIT") || word("HUGEINT") || word("UHUGEINT") {
        return Err(Error::invalid_input(format!(
            "column {name:?}: Arrow has nothing that holds all of {text}: cast it to VARCHAR"
        )));
    }
    Ok(())
}

/// Sets an option of the statement.
fn set(options: &mut WriteOptions, name: &str, value: &Value) -> Result<()> {
    let text = value.dbg_string()?;
    // An option without a value, or with one in brackets, comes as a list.
    let text = text.trim_start_matches('[').trim_end_matches(']').trim();
    let number = || {
        text.parse()
            .map_err(|_| Error::invalid_input(format!("{name}: a number expected, found {text:?}")))
    };
    match name.to_ascii_lowercase().as_str() {
        "profile" => options.profile = text.to_ascii_lowercase().parse().map_err(of_text)?,
        "access" => options.access = text.to_ascii_lowercase().parse().map_err(of_text)?,
        "row_group_size" | "row_group_rows" => options.row_group_rows = number()?,
        _ => {
            let known = "profile, access, row_group_size";
            return Err(Error::invalid_input(format!(
                "COPY to staffa has no option {name:?}, but {known}"
            )));
        }
    }
    Ok(())
}
