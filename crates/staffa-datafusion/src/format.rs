//! `STORED AS STAFFA`: the format as DataFusion's tables and `COPY` know it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, GetExt, Result, Statistics, not_impl_err, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory, FileMeta};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};
use staffa::{File, WriteOptions};

use crate::sink::StaffaSink;
use crate::source::StaffaSource;
use crate::{EXTENSION, files, options, schema, statistics};

/// Files whose footers are read at a time.
const FOOTERS_AT_ONCE: usize = 16;

/// Makes [`StaffaFormat`]s: what a session needs to know `STORED AS STAFFA` and `.staffa`.
#[derive(Debug)]
pub struct StaffaFormatFactory {
    options: WriteOptions,
}

impl Default for StaffaFormatFactory {
    fn default() -> Self {
        Self::new()
    }
}

impl StaffaFormatFactory {
    /// Formats that write with the default options.
    pub fn new() -> Self {
        Self::with_options(WriteOptions::new())
    }

    /// Formats that write with these options, where SQL names none.
    pub fn with_options(options: WriteOptions) -> Self {
        Self { options }
    }
}

impl GetExt for StaffaFormatFactory {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }
}

impl FileFormatFactory for StaffaFormatFactory {
    fn create(
        &self,
        _: &dyn Session,
        options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let format = options::with_options(StaffaFormat::new(), self.options.clone(), options)?;
        Ok(Arc::new(format))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(StaffaFormat::new().with_options(self.options.clone()))
    }
}

/// Staffa files as a format of DataFusion's listing tables.
#[derive(Clone)]
pub struct StaffaFormat {
    string_views: bool,
    cached: bool,
    options: WriteOptions,
}

impl StaffaFormat {
    /// Strings are read as views; files are written with the default options.
    pub fn new() -> Self {
        Self {
            string_views: true,
            cached: false,
            options: WriteOptions::new(),
        }
    }

    /// Whether the schema of a table has views where its files have strings and binaries: the
    /// default, and faster. Otherwise it has the types that were written.
    #[must_use]
    pub fn with_string_views(mut self, on: bool) -> Self {
        self.string_views = on;
        self
    }

    /// Whether scans take blocks from the [cache](staffa::Cache) of the process and keep them there, for
    /// tables that are queried again and again: `OPTIONS (cached true)` in SQL. No by default.
    #[must_use]
    pub fn with_cached(mut self, on: bool) -> Self {
        self.cached = on;
        self
    }

    /// How files are written.
    #[must_use]
    pub fn with_options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    async fn open(
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<File> {
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let open = files::open(store, object, Some(&cache)).await?;
        Ok(open.file)
    }
}

impl Default for StaffaFormat {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StaffaFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaffaFormat")
            .field("string_views", &self.string_views)
            .field("cached", &self.cached)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl FileFormat for StaffaFormat {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        if *compression == FileCompressionType::UNCOMPRESSED {
            Ok(self.get_ext())
        } else {
            plan_err!("Staffa files are compressed within, and not as a whole")
        }
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let schema_of = |object: ObjectMeta| async move {
            let file = Self::open(state, store, &object).await?;
            let schema = schema::file_schema(&object.location, &file, self.string_views)?;
            Ok::<_, DataFusionError>((object.location, schema))
        };
        let schemas = stream::iter(objects.to_vec()).map(schema_of);
        let mut schemas: Vec<_> = schemas.buffered(FOOTERS_AT_ONCE).try_collect().await?;
        // The order of columns does not follow from that of a listing.
        schemas.sort_by(|(a, _), (b, _)| a.cmp(b));
        schema::unified(&schemas)
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let file = Self::open(state, store, object).await?;
        statistics::statistics(&file, &table).map_err(|e| files::error(&object.location, e))
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        let file = Self::open(state, store, object).await?;
        statistics::ordering(&file, &table).map_err(|e| files::error(&object.location, e))
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        let file = Self::open(state, store, object).await?;
        let place = |e| files::error(&object.location, e);
        let statistics = statistics::statistics(&file, &table).map_err(place)?;
        let ordering = statistics::ordering(&file, &table).map_err(place)?;
        Ok(FileMeta::new(statistics).with_ordering(ordering))
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(source) = config.file_source().downcast_ref::<StaffaSource>() else {
            return plan_err!("a source of Staffa files expected, found another one");
        };
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let source = source.clone().with_cache(cache);
        let config = FileScanConfigBuilder::from(config).with_source(Arc::new(source));
        Ok(DataSourceExec::from_data_source(config.build()))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if config.insert_op != InsertOp::Append {
            return not_impl_err!("Staffa tables are appended to: INSERT OVERWRITE and REPLACE");
        }
        let sink = StaffaSink::new(config, self.options.clone());
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
    }

    fn file_source(&self, table: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(StaffaSource::new(table).with_cached(self.cached))
    }
}
