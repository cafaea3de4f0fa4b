//! Windows: columns of a row group that follow one another and are encoded together, window by window, so
//! that a wide table takes hardly more memory than a narrow one. Columns are derived from others of
//! their window, or equal to one of an earlier window.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::correlate::{self, Relations};
use super::plan::Plan;
use crate::arrow::Layout;
use crate::error::Result;

/// Some columns of a table.
pub(super) struct Window {
    pub columns: Range<usize>,
    pub first_leaf: usize,
    /// Of these columns alone, as is the layout.
    pub schema: SchemaRef,
    pub layout: Layout,
    /// What the row groups before derived.
    pub relations: Option<Relations>,
}

impl Window {
    /// The windows of a table whose row groups have about so many rows: as many leaves in each, about, but
    /// those of a nested column together.
    pub(super) fn all(plan: &Plan, rows: usize) -> Result<Vec<Self>> {
        let (columns, leaves) = (plan.schema.fields().len(), plan.layout.leaves().len());
        let most = correlate::window(leaves, rows.min(plan.options.block_rows));
        let (mut windows, mut first) = (Vec::new(), 0);
        for column in 0..columns {
            let next = plan.layout.leaves_of(column + 1);
            let begun = plan.layout.leaves_of(first).start;
            if column + 1 == columns || next.end - begun > most {
                windows.push(Self::of(plan, first..column + 1)?);
                first = column + 1;
            }
        }
        Ok(windows)
    }

    fn of(plan: &Plan, columns: Range<usize>) -> Result<Self> {
        let indices: Vec<usize> = columns.clone().collect();
        let schema = Arc::new(plan.schema.project(&indices)?);
        Ok(Self {
            first_leaf: plan.layout.leaves_of(columns.start).start,
            layout: Layout::new(&schema)?,
            schema,
            columns,
            relations: None,
        })
    }
}
