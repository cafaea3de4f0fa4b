//! The part of a plan that reads Staffa files: what was pushed into it, and how it is opened.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{
    EquivalenceProperties, PhysicalExpr, PhysicalSortExpr, conjunction_opt,
};
use datafusion::physical_expr_adapter::DefaultPhysicalExprAdapterFactory;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{
    DisplayFormatType, SortOrderPushdownResult, apply_expression_roots,
};
use tokio::sync::Semaphore;

use crate::metrics::Counters;
use crate::objects::MOST_REQUESTS;
use crate::opener::StaffaOpener;
use crate::plan::Pushed;
use crate::pushdown;

/// Rows of a batch where the session does not say.
const BATCH_ROWS: usize = 8192;

/// Reads Staffa files, with the columns, filters and order that the plan pushed into it.
///
/// A filter is applied exactly where a [`Predicate`](staffa::Predicate) says the same; all other
/// filters stay in the plan. Dynamic filters of joins and of `ORDER BY ... LIMIT` are looked at anew
/// for every 65,536 rows. Files of object stores that are no local disk are read by ranges.
#[derive(Clone)]
pub struct StaffaSource {
    table: TableSchema,
    projection: ProjectionExprs,
    /// Filters that the scan applies, and no one else.
    pub(crate) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that their operators apply again.
    pub(crate) dynamic: Vec<Arc<dyn PhysicalExpr>>,
    batch_rows: usize,
    pub(crate) reversed: bool,
    pub(crate) cached: bool,
    cache: Option<Arc<FileMetadataCache>>,
    /// Requests that all partitions may make at the same time.
    permits: Arc<Semaphore>,
    metrics: ExecutionPlanMetricsSet,
}

impl StaffaSource {
    /// Reads all columns of a table.
    pub fn new(table: TableSchema) -> Self {
        let schema = table.table_schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        Self {
            projection: ProjectionExprs::from_indices(&all, schema),
            table,
            filters: Vec::new(),
            dynamic: Vec::new(),
            batch_rows: BATCH_ROWS,
            reversed: false,
            cached: false,
            cache: None,
            permits: Arc::new(Semaphore::new(MOST_REQUESTS)),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Whether scans take blocks from the cache of the process and keep them there.
    #[must_use]
    pub fn with_cached(mut self, on: bool) -> Self {
        self.cached = on;
        self
    }

    /// Keeps open files in DataFusion's cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<FileMetadataCache>) -> Self {
        self.cache = Some(cache);
        self
    }
}

impl fmt::Debug for StaffaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaffaSource")
            .field("projection", &self.projection)
            .field("filters", &self.filters)
            .finish_non_exhaustive()
    }
}

impl FileSource for StaffaSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let adapter = config.expr_adapter_factory.clone();
        Ok(Arc::new(StaffaOpener {
            store,
            cache: self.cache.clone(),
            table: self.table.clone(),
            adapter: adapter.unwrap_or_else(|| Arc::new(DefaultPhysicalExprAdapterFactory)),
            pushed: Pushed {
                projection: self.projection.clone(),
                filters: self.filters.clone(),
                dynamic: self.dynamic.clone(),
            },
            batch_rows: self.batch_rows,
            limit: config.limit,
            reversed: self.reversed,
            cached: self.cached,
            partitions: config.file_groups.len(),
            permits: self.permits.clone(),
            counters: Counters::new(&self.metrics, partition),
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        Arc::new(Self {
            batch_rows: rows,
            ..self.clone()
        })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        conjunction_opt(self.filters.iter().chain(&self.dynamic).cloned())
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        crate::EXTENSION
    }

    fn fmt_extra(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(filter) = self.filter() {
            write!(f, ", predicate={filter}")?;
        }
        f.write_str(if self.reversed { ", reversed" } else { "" })
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut source = self.clone();
        let mut answers = Vec::with_capacity(filters.len());
        for filter in filters {
            let dynamic = DynamicFilterTracking::classify(&filter).contains_dynamic_filter();
            let pushed = !dynamic && pushdown::exact(&filter, self.table.file_schema()).is_some();
            answers.push(if pushed {
                PushedDown::Yes
            } else {
                PushedDown::No
            });
            if dynamic {
                source.dynamic.push(filter);
            } else if pushed {
                source.filters.push(filter);
            }
        }
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        Ok(answer.with_updated_node(Arc::new(source)))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let projection = self.projection.try_merge(projection)?;
        Ok(Some(Arc::new(Self {
            projection,
            ..self.clone()
        })))
    }

    /// Files are read in their own order; backwards, part by part, where the reverse is wanted, so
    /// that the dynamic filter of a `LIMIT` soon excludes the rest.
    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        if order.is_empty() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        if properties.ordering_satisfy(order.iter().cloned())? {
            let inner = Arc::new(self.clone());
            return Ok(SortOrderPushdownResult::Exact { inner });
        }
        let reverse = order.iter().map(|key| PhysicalSortExpr {
            expr: key.expr.clone(),
            options: !key.options,
        });
        if properties.ordering_satisfy(reverse)? {
            let inner = Arc::new(Self {
                reversed: true,
                ..self.clone()
            });
            return Ok(SortOrderPushdownResult::Inexact { inner });
        }
        Ok(SortOrderPushdownResult::Unsupported)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected = self.projection.iter().map(|projected| &projected.expr);
        apply_expression_roots(projected.chain(&self.filters).chain(&self.dynamic), f)
    }
}
