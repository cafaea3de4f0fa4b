//! Windows: columns of a row group that follow one another and are encoded together, window after window, so
//! that a wide table takes hardly more memory than a narrow one. Columns are derived from others of their
//! window; a column may also equal one of an earlier window that is not derived.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::correlate::{self, Relations};
use super::plan::Plan;
use crate::error::Result;

/// Some columns of a table.
pub(super) struct Window {
    pub columns: Range<usize>,
    pub first_leaf: usize,
    /// Of these columns alone.
    pub schema: SchemaRef,
    /// What the row groups before derived.
    pub relations: Option<Relations>,
}

impl Window {
    pub(super) fn new(plan: &Plan, columns: Range<usize>) -> Result<Self> {
        let indices: Vec<usize> = columns.clone().collect();
        Ok(Self {
            first_leaf: plan.layout.leaves_of(columns.start).start,
            schema: Arc::new(plan.schema.project(&indices)?),
            columns,
            relations: None,
        })
    }
}

/// The columns of the windows of a row group of so many rows: as many leaves in each, about, but those of a
/// nested column together.
pub(super) fn cut(plan: &Plan, rows: usize) -> Vec<Range<usize>> {
    let (columns, leaves) = (plan.schema.fields().len(), plan.layout.leaves().len());
    let most = correlate::window(leaves, rows.min(plan.options.block_rows));
    let (mut cuts, mut first) = (Vec::new(), 0);
    for column in 0..columns {
        let begun = plan.layout.leaves_of(first).start;
        let with_next = plan.layout.leaves_of(column + 1).end;
        if column + 1 == columns || with_next - begun > most {
            cuts.push(first..column + 1);
            first = column + 1;
        }
    }
    cuts
}
