//! Plans as bytes, for other processes: what `datafusion-proto` needs for scans of Staffa files.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, not_impl_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
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

use crate::source::{ScanFilters, StaffaSource};

/// What comes first in the bytes of a scan, so that codecs of other plans know it is none of theirs.
const MAGIC: &[u8] = b"staffa scan 1\0";

/// Sends scans of Staffa files to other processes: files, columns, filters, order.
///
/// A process that decodes a plan needs the object stores that it names. Plans that write files cannot
/// be sent.
///
/// ```no_run
/// use datafusion::prelude::*;
/// use datafusion_proto::bytes::{
///     physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
/// };
/// use staffa_datafusion::StaffaCodec;
///
/// # async fn example() -> datafusion::error::Result<()> {
/// let ctx = SessionContext::new().enable_url_table();
/// staffa_datafusion::register(&ctx)?;
/// let plan = ctx.sql("SELECT sum(n) FROM 't.staffa'").await?.create_physical_plan().await?;
/// let bytes = physical_plan_to_bytes_with_extension_codec(plan, &StaffaCodec)?;
/// let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &ctx.task_ctx(), &StaffaCodec)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct StaffaCodec;

#[derive(Clone, PartialEq, Message)]
struct ScanNode {
    #[prost(message, optional, tag = "1")]
    config: Option<FileScanExecConf>,
    #[prost(message, repeated, tag = "2")]
    filters: Vec<PhysicalExprNode>,
    #[prost(message, repeated, tag = "3")]
    dynamic: Vec<PhysicalExprNode>,
    #[prost(bool, tag = "4")]
    reversed: bool,
}

impl PhysicalExtensionCodec for StaffaCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        out: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let scan = node.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(DataSourceExec::downcast_to_file_source::<StaffaSource>);
        let Some((config, source)) = scan else {
            return not_impl_err!(
                "bytes of {}: only scans of Staffa files have them",
                node.name()
            );
        };
        let filters = source.scan_filters();
        let expr = |expr| converter.physical_expr_to_proto(expr, self);
        let node = ScanNode {
            config: Some(serialize_file_scan_config(config, self, converter)?),
            filters: filters.exact.iter().map(expr).collect::<Result<_>>()?,
            dynamic: filters.dynamic.iter().map(expr).collect::<Result<_>>()?,
            reversed: filters.reversed,
        };
        out.extend_from_slice(MAGIC);
        let encoded = node.encode(out);
        encoded.map_err(|e| DataFusionError::External(Box::new(e)))
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(bytes) = bytes.strip_prefix(MAGIC) else {
            return not_impl_err!("bytes of a plan that is no scan of Staffa files");
        };
        let node = ScanNode::decode(bytes);
        let node = node.map_err(|e| DataFusionError::External(Box::new(e)))?;
        let config = node.config.unwrap_or_default();
        let table = parse_table_schema_from_proto(&config)?;
        let decode = PhysicalPlanDecodeContext::new(context, self);
        let schema = table.table_schema().clone();
        let expr = |expr| converter.proto_to_physical_expr(expr, &schema, &decode);
        let filters = ScanFilters {
            exact: node.filters.iter().map(expr).collect::<Result<_>>()?,
            dynamic: node.dynamic.iter().map(expr).collect::<Result<_>>()?,
            reversed: node.reversed,
        };
        let cache = context.runtime_env();
        let cache = cache.cache_manager.get_file_metadata_cache();
        let source = StaffaSource::new(table).with_cache(cache);
        let source = Arc::new(source.with_scan_filters(filters));
        let config = parse_protobuf_file_scan_config(&config, &decode, converter, source)?;
        Ok(DataSourceExec::from_data_source(config))
    }
}
