//! Dynamic filters: what the operators above have learned by now, as a predicate for the next part.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::{
    snapshot_generation, snapshot_physical_expr,
};
use staffa::Predicate;

use crate::pushdown;

/// Longest pause, in parts.
const LONGEST_PAUSE: usize = 32;

/// The dynamic filters of one file.
///
/// Where they kept most rows of a part, the next 1, 2, 4 ... 32 parts do without: an operator above
/// applies them anyway.
pub(crate) struct DynamicFilters {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    /// What they implied when they had this generation.
    known: Vec<Predicate>,
    generation: Option<u64>,
    /// Rows of the part, and of those the rows kept, where the filters take part.
    rows: Option<(usize, usize)>,
    pause: usize,
    paused: usize,
}

impl DynamicFilters {
    pub fn new(filters: Vec<Arc<dyn PhysicalExpr>>, schema: SchemaRef) -> Self {
        Self {
            filters,
            schema,
            known: Vec::new(),
            generation: None,
            rows: None,
            pause: 0,
            paused: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// What they say for the next part, of `rows` rows.
    pub fn begin_part(&mut self, rows: usize) -> Result<Vec<Predicate>> {
        let changed = self.refresh()?;
        if changed {
            (self.pause, self.paused) = (0, 0);
        }
        if self.paused > 0 {
            self.paused -= 1;
            return Ok(Vec::new());
        }
        self.rows = (!self.known.is_empty()).then_some((rows, 0));
        Ok(self.known.clone())
    }

    /// Counts rows of the part that were kept.
    pub fn kept(&mut self, rows: usize) {
        if let Some((_, kept)) = &mut self.rows {
            *kept += rows;
        }
    }

    pub fn end_part(&mut self) {
        if let Some((rows, kept)) = self.rows.take() {
            self.pause = if kept > rows / 4 * 3 {
                (self.pause * 2).clamp(1, LONGEST_PAUSE)
            } else {
                0
            };
            self.paused = self.pause;
        }
    }

    /// Translates the filters again where they have changed.
    fn refresh(&mut self) -> Result<bool> {
        let generations = self.filters.iter().map(snapshot_generation);
        let generation = generations.fold(0, u64::wrapping_add);
        if self.generation == Some(generation) {
            return Ok(false);
        }
        self.generation = Some(generation);
        self.known.clear();
        for filter in &self.filters {
            let now = snapshot_physical_expr(filter.clone())?;
            self.known.extend(pushdown::implied(&now, &self.schema));
        }
        Ok(true)
    }
}
