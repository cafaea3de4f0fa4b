//! The table function `read_staffa`.

use std::sync::{Mutex, PoisonError};

use duckdb_neo::bind_arguments::BindArgument;
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::extension::Extension;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID};
use duckdb_neo::signature::{FunctionParameter, FunctionParameterKind, SignatureBuilder};
use duckdb_neo::table_function::{
    BindFunctionHandle, ExecColumnInfo, InitColumnData, OrderPreservation, PartitionData,
    PushdownData, TableFilterPushdownCallbacks, TableFunctionBuilder, TableFunctionCallbacks,
    TablePartitioningCallbacks,
};
use duckdb_neo::value::Value;
use duckdb_neo::{Error, Parameters, Result};
use staffa::Predicate;

use crate::border;
use crate::error::{catch_panics, internal};
use crate::files::{FileOptions, FileSet};
use crate::pushdown;
use crate::scan::{ScanState, ThreadState};

/// The name of the function.
pub(crate) const NAME: &str = "read_staffa";

pub(crate) fn register(extension: &Extension) -> Result<()> {
    // A path or a list of paths: `bind` decides.
    let any = LogicalType::create_from_id(extension, LogicalTypeID::Any, Parameters::None)?;
    let named = |parameter: FunctionParameter| parameter.kind(FunctionParameterKind::Named);
    let flag = |name| named(FunctionParameter::with_default(name, None::<bool>));
    let filename =
        FunctionParameter::with_type("filename", any.clone()).default_value(None::<bool>);
    let signature = SignatureBuilder::new()
        .param(FunctionParameter::with_type("files", any))
        .param(flag("union_by_name"))
        .param(flag("hive_partitioning"))
        .param(named(filename));
    TableFunctionBuilder::new(NAME, signature, ReadStaffa)
        .with_projection_pushdown(true)
        .with_filter_pushdown()
        .with_partitioning()
        .with_progress()
        .register(extension)
}

/// The options of a call, in the order of the signature.
fn options(mut values: impl Iterator<Item = Option<Value>>) -> Result<FileOptions> {
    let flag = |value: Option<Option<Value>>| match value.flatten() {
        Some(value) => value.get::<bool>(),
        None => Ok(None),
    };
    let union_by_name = flag(values.next())?.unwrap_or(false);
    let hive_partitioning = flag(values.next())?;
    let filename = match values.next().flatten() {
        None => None,
        Some(value) => match value.logical_type()?.id()? {
            LogicalTypeID::Varchar => value.get()?,
            LogicalTypeID::Boolean => flag(Some(Some(value)))?
                .unwrap_or(false)
                .then(|| "filename".to_owned()),
            _ => {
                return Err(Error::invalid_input(format!(
                    "read_staffa: filename must be true, false or the name of a column, found {}",
                    value.dbg_string()?
                )));
            }
        },
    };
    Ok(FileOptions {
        union_by_name,
        hive_partitioning,
        filename,
    })
}

pub(crate) struct ReadStaffa;

/// A bound call.
pub(crate) struct BoundCall {
    files: FileSet,
    /// A predicate that holds for all rows of the result.
    filter: Mutex<Option<Predicate>>,
}

impl TableFunctionCallbacks for ReadStaffa {
    type BindData = BoundCall;
    type GlobalState = ScanState;
    type LocalState = ThreadState;

    fn bind(
        &self,
        context: &Context,
        arguments: Vec<BindArgument>,
        bind: BindFunctionHandle<'_>,
    ) -> Result<BoundCall> {
        catch_panics(|| {
            let mut arguments = arguments.into_iter().map(|argument| argument.value);
            let names = arguments.next().flatten().ok_or_else(|| {
                Error::invalid_input("read_staffa: expected a constant path or list of paths")
            })?;
            let files = FileSet::open(context, &names, &options(arguments)?)?;
            for (name, ty) in border::columns(context, &files.output_schema)? {
                bind.add_result_column(&name, &ty)?;
            }
            bind.set_cardinality(usize::try_from(files.rows).unwrap_or(usize::MAX), true)?;
            bind.set_order(OrderPreservation::Insertion)?;
            Ok(BoundCall {
                files,
                filter: Mutex::new(None),
            })
        })
    }

    fn init_global_state(
        &self,
        call: &BoundCall,
        _: &Context,
        columns: InitColumnData<'_>,
    ) -> Result<(Option<ScanState>, Option<usize>)> {
        catch_panics(|| {
            let columns = (0..columns.count()?)
                .map(|i| columns.get_column_index(i))
                .collect::<Result<Vec<_>>>()?;
            let filter = call.filter.lock().unwrap_or_else(PoisonError::into_inner);
            let scan = ScanState::new(&call.files, &columns, filter.as_ref())?;
            let threads = scan.max_threads();
            Ok((Some(scan), Some(threads)))
        })
    }

    fn init_local_state(
        &self,
        _: &BoundCall,
        scan: Option<&ScanState>,
        context: &Context,
        _: InitColumnData<'_>,
    ) -> Result<Option<ThreadState>> {
        catch_panics(|| {
            let scan = scan.ok_or_else(|| internal("a scan without its state"))?;
            Ok(Some(ThreadState::new(scan, context)?))
        })
    }

    fn exec(
        &self,
        _: &BoundCall,
        scan: Option<&ScanState>,
        thread: Option<&mut ThreadState>,
        _: &Context,
        mut output: DataChunkRef<'_>,
        _: ExecColumnInfo<'_>,
    ) -> Result<()> {
        catch_panics(|| {
            let (Some(scan), Some(thread)) = (scan, thread) else {
                return Err(internal("a scan without its state"));
            };
            thread.write_next(scan, &mut output)
        })
    }

    fn progress(
        &self,
        _: &BoundCall,
        scan: Option<&ScanState>,
        _: &Context,
    ) -> Result<Option<f64>> {
        Ok(scan.map(ScanState::progress))
    }
}

impl TableFilterPushdownCallbacks for ReadStaffa {
    fn pushdown_filter(
        &self,
        call: &BoundCall,
        _: &Context,
        offered: PushdownData<'_>,
    ) -> Result<()> {
        catch_panics(|| {
            let predicate = pushdown::predicate(&offered, &call.files.schema)?;
            // DuckDB may call again while it rewrites its plan: the last filter counts.
            *call.filter.lock().unwrap_or_else(PoisonError::into_inner) = predicate;
            Ok(())
        })
    }
}

impl TablePartitioningCallbacks for ReadStaffa {
    fn partition_data(
        &self,
        _: &BoundCall,
        _: Option<&ScanState>,
        thread: Option<&mut ThreadState>,
        _: &Context,
        _: PartitionData<'_>,
    ) -> Result<usize> {
        let thread = thread.ok_or_else(|| internal("a scan without its state"))?;
        Ok(thread.part())
    }
}
