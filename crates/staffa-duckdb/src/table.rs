//! The table function `read_staffa`.

use std::sync::{Mutex, PoisonError};

use duckdb_neo::bind_arguments::BindArgument;
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::extension::Extension;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID};
use duckdb_neo::signature::{FunctionParameter, SignatureBuilder};
use duckdb_neo::table_function::{
    BindFunctionHandle, ExecColumnInfo, InitColumnData, OrderPreservation, PartitionData,
    PushdownData, TableFilterPushdownCallbacks, TableFunctionBuilder, TableFunctionCallbacks,
    TablePartitioningCallbacks,
};
use duckdb_neo::{Error, Parameters, Result};
use staffa::Predicate;

use crate::border;
use crate::error::{catch_panics, internal};
use crate::files::FileSet;
use crate::pushdown;
use crate::scan::{ScanState, ThreadState};

/// The name of the function.
pub(crate) const NAME: &str = "read_staffa";

pub(crate) fn register(extension: &Extension) -> Result<()> {
    // A path or a list of paths: `bind` decides.
    let any = LogicalType::create_from_id(extension, LogicalTypeID::Any, Parameters::None)?;
    let signature = SignatureBuilder::new().param(FunctionParameter::with_type("files", any));
    TableFunctionBuilder::new(NAME, signature, ReadStaffa)
        .with_projection_pushdown(true)
        .with_filter_pushdown()
        .with_partitioning()
        .with_progress()
        .register(extension)
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
            let first = arguments.into_iter().next();
            let names = first.and_then(|argument| argument.value).ok_or_else(|| {
                Error::invalid_input("read_staffa: expected a constant path or list of paths")
            })?;
            let files = FileSet::open(context, &names)?;
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
