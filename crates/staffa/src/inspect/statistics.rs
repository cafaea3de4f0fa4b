//! Statistics of the leaf columns, from the footer alone.

use super::bounds::shown;
use crate::error::{Error, Result};
use crate::format::Summary;
use crate::read::File;

/// What the footer says of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LeafStatistics {
    /// Its path; the name of a flat column.
    pub path: String,
    /// NULLs.
    pub nulls: u64,
    /// At most the smallest value; of floats NaN apart, of strings cut off at 16 bytes.
    pub min: Option<String>,
    /// At least the largest value; of floats NaN apart, of strings cut off at 16 bytes and rounded up.
    pub max: Option<String>,
    /// Estimate of the number of distinct values that are not NULL; exact below 256.
    pub distinct: u64,
    /// Bytes of all values, decoded: words, bits or strings.
    pub decoded_bytes: u64,
    /// Whether the values that are not NULL never decrease.
    pub ascending: bool,
    /// Whether they never increase.
    pub descending: bool,
    /// Paths of the leaf columns from which it is derived.
    pub sources: Vec<String>,
}

impl File {
    /// Statistics of every leaf column, from the end of the file alone; none where its writer left
    /// them out.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200)) as _)])?;
    /// let file = staffa::File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?)?;
    /// let n = &file.statistics()?[0];
    /// assert_eq!((n.min.as_deref(), n.max.as_deref(), n.distinct), (Some("0"), Some("199"), 200));
    /// assert!(n.ascending);
    /// # Ok(())
    /// # }
    /// ```
    pub fn statistics(&self) -> Result<Vec<LeafStatistics>> {
        let summaries = self.summaries()?.iter().enumerate();
        summaries
            .map(|(leaf, summary)| self.leaf_statistics(leaf, summary))
            .collect()
    }

    fn leaf_statistics(&self, leaf: usize, summary: &Summary) -> Result<LeafStatistics> {
        let spec = self.leaf(leaf)?;
        let suits = summary.zone.bounds.matches_type(spec.ty, spec.kind);
        let (min, max) = if suits {
            shown(self, leaf, &summary.zone)
        } else {
            (None, None)
        };
        let path = |source: &u32| {
            let source = self.layout().leaves().get(*source as usize);
            let source = source.ok_or_else(|| Error::corrupt("a source beyond the leaves"))?;
            Ok(source.path.to_string())
        };
        Ok(LeafStatistics {
            path: spec.path.to_string(),
            nulls: summary.zone.nulls,
            min,
            max,
            distinct: summary.distinct,
            decoded_bytes: summary.decoded_bytes,
            ascending: summary.ascending,
            descending: summary.descending,
            sources: summary.sources.iter().map(path).collect::<Result<_>>()?,
        })
    }
}
