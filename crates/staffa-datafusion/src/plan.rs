//! What a scan does with one file: columns, predicate, what is left to evaluate on batches.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::projection::{ProjectionExprs, Projector};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, replace_columns_with_literals};
use staffa::Predicate;

use crate::pushdown;

/// What the plan pushed into a scan, in terms of the table.
#[derive(Clone)]
pub(crate) struct Pushed {
    pub projection: ProjectionExprs,
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    pub dynamic: Vec<Arc<dyn PhysicalExpr>>,
}

impl Pushed {
    /// With the values of the partition columns of a file in their place.
    pub fn with_values(&self, values: &HashMap<String, ScalarValue>) -> Result<Self> {
        if values.is_empty() {
            return Ok(self.clone());
        }
        let replace = |expr: Arc<dyn PhysicalExpr>| replace_columns_with_literals(expr, values);
        let filters = self.filters.iter().cloned().map(replace);
        let dynamic = self.dynamic.iter().cloned().map(replace);
        Ok(Self {
            filters: filters.collect::<Result<_>>()?,
            dynamic: dynamic.collect::<Result<_>>()?,
            projection: self.projection.clone().try_map_exprs(replace)?,
        })
    }
}

/// The same in terms of one file.
pub(crate) struct FilePlan {
    /// Columns to read.
    pub columns: Vec<String>,
    /// Strings as views.
    pub views: bool,
    /// All columns of the file, as they are read.
    pub schema: SchemaRef,
    /// Applied by the library.
    pub predicate: Vec<Predicate>,
    /// Applied to batches: filters that this file's types keep from being a predicate.
    pub residual: Option<Arc<dyn PhysicalExpr>>,
    /// Applied by the library as far as they go.
    pub dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// The schema of the columns that are read.
    pub read_schema: SchemaRef,
    pub projector: Projector,
}

impl FilePlan {
    /// `None` where a filter is true for no row.
    pub fn new(
        pushed: Pushed,
        adapter: &dyn PhysicalExprAdapter,
        schema: &SchemaRef,
        views: bool,
    ) -> Result<Option<Self>> {
        let simplifier = PhysicalExprSimplifier::new(schema);
        let adapt = |expr| simplifier.simplify(adapter.rewrite(expr)?);
        let projection = pushed.projection.try_map_exprs(adapt)?;
        let (mut predicate, mut residual) = (Vec::new(), Vec::new());
        for filter in pushed.filters {
            let filter = adapt(filter)?;
            for part in split_conjunction(&filter) {
                match part.downcast_ref::<Literal>().map(Literal::value) {
                    Some(ScalarValue::Boolean(Some(true))) => {}
                    // False, or NULL.
                    Some(_) => return Ok(None),
                    None => match pushdown::exact(part, schema) {
                        Some(exact) => predicate.push(exact),
                        None => residual.push(part.clone()),
                    },
                }
            }
        }
        let dynamic = pushed
            .dynamic
            .into_iter()
            .map(|filter| adapter.rewrite(filter));
        let dynamic = dynamic.collect::<Result<_>>()?;
        let mut wanted = projection.column_indices();
        let tested = residual.iter().flat_map(collect_columns);
        wanted.extend(tested.map(|column| column.index()));
        wanted.sort_unstable();
        wanted.dedup();
        let read_schema = Arc::new(schema.project(&wanted)?);
        let reassign = |expr| reassign_expr_columns(expr, &read_schema);
        let projection = projection.try_map_exprs(reassign)?;
        let residual = conjunction_opt(residual).map(reassign).transpose()?;
        let names = read_schema
            .fields()
            .iter()
            .map(|field| field.name().clone());
        Ok(Some(Self {
            columns: names.collect(),
            views,
            schema: schema.clone(),
            predicate,
            residual,
            dynamic,
            projector: projection.make_projector(&read_schema)?,
            read_schema,
        }))
    }
}
