//! Scans of Staffa files as bytes, for engines that send parts of a plan to other processes.
//!
//! A message has what DataFusion says of every scan of files (ranges of files, schema, projection,
//! statistics, order), then the filters that were pushed into it.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, not_impl_err, plan_datafusion_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{
    parse_protobuf_file_scan_config, parse_table_schema_from_proto,
};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::{FileScanExecConf, PhysicalExprNode};
use prost::Message;

use crate::source::StaffaSource;

/// Encodes and decodes scans of Staffa files, and no other part of a plan.
///
/// The process that decodes needs the same object stores in its session. Plans that write
/// (`COPY`, `INSERT`) are not encoded.
///
/// ```no_run
/// use datafusion::prelude::*;
/// use datafusion_proto::bytes::{
///     physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
/// };
/// use staffa_datafusion::StaffaCodec;
///
/// # async fn example(ctx: SessionContext, worker: SessionContext) -> datafusion::error::Result<()> {
/// let plan = ctx.sql("SELECT sum(price) FROM prices").await?.create_physical_plan().await?;
/// let bytes = physical_plan_to_bytes_with_extension_codec(plan, &StaffaCodec)?;
/// // In another process:
/// let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &worker.task_ctx(), &StaffaCodec)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct StaffaCodec;

/// What a scan is, as Protocol Buffers.
#[derive(Clone, PartialEq, Message)]
struct ScanMessage {
    #[prost(message, optional, tag = "1")]
    config: Option<FileScanExecConf>,
    /// Filters that the scan applies, and no one else.
    #[prost(message, repeated, tag = "2")]
    filters: Vec<PhysicalExprNode>,
    /// Filters that their operators apply again.
    #[prost(message, repeated, tag = "3")]
    dynamic: Vec<PhysicalExprNode>,
    #[prost(bool, tag = "4")]
    reversed: bool,
    #[prost(bool, tag = "5")]
    cached: bool,
}

impl PhysicalExtensionCodec for StaffaCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some((config, source)) = scan_of(node.as_ref()) else {
            return not_impl_err!("StaffaCodec: {} is no scan of Staffa files", node.name());
        };
        let encode = |filters: &[Arc<dyn PhysicalExpr>]| {
            let nodes = filters.iter();
            let nodes = nodes.map(|filter| converter.physical_expr_to_proto(filter, self));
            nodes.collect::<Result<Vec<_>>>()
        };
        let message = ScanMessage {
            config: Some(serialize_file_scan_config(config, self, converter)?),
            filters: encode(&source.filters)?,
            dynamic: encode(&source.dynamic)?,
            reversed: source.reversed,
            cached: source.cached,
        };
        message.encode(buffer).map_err(external)
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        task: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = ScanMessage::decode(bytes).map_err(external)?;
        let missing = || plan_datafusion_err!("StaffaCodec: a scan without a list of files");
        let config = message.config.as_ref().ok_or_else(missing)?;
        let table = parse_table_schema_from_proto(config)?;
        let context = PhysicalPlanDecodeContext::new(task, self);
        let decode = |nodes: &[PhysicalExprNode]| {
            let schema = table.table_schema();
            let nodes = nodes.iter();
            let filters =
                nodes.map(|node| converter.proto_to_physical_expr(node, schema, &context));
            filters.collect::<Result<Vec<_>>>()
        };
        let mut source = StaffaSource::new(table.clone());
        source.filters = decode(&message.filters)?;
        source.dynamic = decode(&message.dynamic)?;
        source.reversed = message.reversed;
        source.cached = message.cached;
        let cache = &task.runtime_env().cache_manager;
        let source: Arc<dyn FileSource> =
            Arc::new(source.with_cache(cache.get_file_metadata_cache()));
        let config = parse_protobuf_file_scan_config(config, &context, converter, source)?;
        Ok(DataSourceExec::from_data_source(config))
    }
}

/// The scan of Staffa files that a node is.
fn scan_of(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &StaffaSource)> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
    let source = config.file_source().downcast_ref::<StaffaSource>()?;
    Some((config, source))
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
