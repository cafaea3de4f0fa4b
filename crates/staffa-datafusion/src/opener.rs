//! Opens one file, or a range of its bytes, as a stream of batches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::conjunction_opt;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;
use datafusion::physical_optimizer::pruning::FilePruner;
use datafusion::physical_plan::metrics::Count;
use futures::StreamExt;
use futures::stream;
use staffa::File;
use tokio::sync::Semaphore;

use crate::batches::{Batches, Wanted};
use crate::metrics::Counters;
use crate::parts::count_skipped_bytes;
use crate::plan::{FilePlan, Pushed};
use crate::schema::{file_schema, has_views};
use crate::{files, statistics};

/// Opens the files of one partition of a scan.
pub(crate) struct StaffaOpener {
    pub store: Arc<dyn ObjectStore>,
    pub cache: Option<Arc<FileMetadataCache>>,
    pub table: TableSchema,
    pub adapter: Arc<dyn PhysicalExprAdapterFactory>,
    pub pushed: Pushed,
    pub batch_rows: usize,
    /// Most rows of a file.
    pub limit: Option<usize>,
    /// Parts from the last one to the first.
    pub reversed: bool,
    /// Blocks from the cache of the process, and into it.
    pub cached: bool,
    /// Partitions that read at the same time.
    pub partitions: usize,
    /// Requests that they may make at the same time.
    pub permits: Arc<Semaphore>,
    pub counters: Counters,
}

impl StaffaOpener {
    /// The values of the partition columns, which stand in the path of the file.
    fn partition_values(&self, file: &PartitionedFile) -> HashMap<String, ScalarValue> {
        let names = self.table.table_partition_cols().iter();
        let names = names.map(|field| field.name().clone());
        names.zip(file.partition_values.iter().cloned()).collect()
    }
}

impl FileOpener for StaffaOpener {
    fn open(&self, part: PartitionedFile) -> Result<FileOpenFuture> {
        let pushed = self.pushed.with_values(&self.partition_values(&part))?;
        let (store, cache) = (self.store.clone(), self.cache.clone());
        let (table, adapter) = (self.table.file_schema().clone(), self.adapter.clone());
        let wanted = Wanted {
            bytes: byte_range(&part),
            batch_rows: self.batch_rows,
            limit: self.limit,
            reversed: self.reversed,
            cached: self.cached,
            partitions: self.partitions,
            permits: self.permits.clone(),
        };
        let counters = self.counters.clone();
        Ok(Box::pin(async move {
            let object = &part.object_meta;
            let open = files::open(&store, object, cache.as_ref()).await?;
            let file = &open.file;
            if let Some(object) = &open.object {
                object.count(&counters);
            }
            if excluded(&pushed, &part, file, &table)? {
                count_skipped(file, &wanted, &counters);
                return Ok(stream::empty().boxed());
            }
            let views = has_views(&table);
            let physical = file_schema(&object.location, file, views)?;
            let adapter = adapter.create(table, physical.clone())?;
            let Some(plan) = FilePlan::new(pushed, adapter.as_ref(), &physical, views)? else {
                count_skipped(file, &wanted, &counters);
                return Ok(stream::empty().boxed());
            };
            let location = object.location.clone();
            let batches = Batches::new(open, location, plan, &wanted, counters)?;
            Ok(batches.into_stream().boxed())
        }))
    }
}

/// Whether no row can pass the filters by the summaries of the file: its blocks are not looked at.
fn excluded(
    pushed: &Pushed,
    part: &PartitionedFile,
    file: &File,
    table: &SchemaRef,
) -> Result<bool> {
    let filters = pushed.filters.iter().chain(&pushed.dynamic).cloned();
    let Some(filter) = conjunction_opt(filters) else {
        return Ok(false);
    };
    let bounds = statistics::bounds(file, table);
    let bounds = bounds.map_err(|e| files::error(&part.object_meta.location, e))?;
    let mut part = part.clone();
    part.statistics = Some(Arc::new(bounds));
    let pruner = FilePruner::try_new(filter, table, &part, Count::new());
    pruner.map_or(Ok(false), |mut pruner| pruner.should_prune())
}

/// Counts a file, or a range of one, that is not read.
fn count_skipped(file: &File, wanted: &Wanted, counters: &Counters) {
    let (bytes, rows) = (file.nbytes().max(1), file.num_rows());
    let range = wanted
        .bytes
        .end
        .min(bytes)
        .saturating_sub(wanted.bytes.start);
    let rows = (u128::from(rows) * u128::from(range) / u128::from(bytes)) as usize;
    counters.files_skipped.add(1);
    counters.rows_skipped.add(rows);
    count_skipped_bytes(file, rows, counters);
}

/// The bytes of the file whose rows are wanted.
fn byte_range(part: &PartitionedFile) -> Range<u64> {
    let bytes = part.object_meta.size;
    let at = |offset: i64| u64::try_from(offset).unwrap_or(0);
    part.range
        .as_ref()
        .map_or(0..bytes, |range| at(range.start)..at(range.end))
}
