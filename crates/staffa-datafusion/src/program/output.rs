//! Rows as a table, or as JSON, one a line.

use std::io::{self, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::execution::SendableRecordBatchStream;
use futures::{StreamExt, TryStreamExt};

use super::Result;

/// Prints the rows of a query, and returns their number.
pub async fn print(mut batches: SendableRecordBatchStream, json: bool) -> Result<usize> {
    let mut rows = 0;
    let schema = batches.schema();
    if json {
        let mut out = LineDelimitedWriter::new(io::stdout().lock());
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            rows += batch.num_rows();
            out.write(&batch)?;
        }
        out.finish()?;
        return Ok(rows);
    }
    let all: Vec<_> = batches.try_collect().await?;
    rows += all.iter().map(RecordBatch::num_rows).sum::<usize>();
    let table = pretty_format_batches_with_schema(schema, &all)?;
    writeln!(io::stdout().lock(), "{table}")?;
    Ok(rows)
}
