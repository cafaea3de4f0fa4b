//! The table under measurement.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use staffa::arrow_bytes;

/// A table in memory.
pub(crate) struct TableInMemory {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) rows: u64,
    pub(crate) arrow_bytes: u64,
}

impl TableInMemory {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let arrow_bytes = batches.iter().map(arrow_bytes).sum();
        Self {
            schema,
            batches,
            rows,
            arrow_bytes,
        }
    }
}
