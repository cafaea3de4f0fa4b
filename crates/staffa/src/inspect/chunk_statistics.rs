//! Statistics of chunks, from the end of the file alone.

use arrow_buffer::i256;
use arrow_schema::DataType;

use super::bounds::shown;
use crate::error::{Error, Result};
use crate::format::ChunkSummary;
use crate::read::File;

/// What the file says of a chunk: a leaf column of a row group.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ChunkStatistics {
    /// The path of its leaf column; the name of a flat column.
    pub path: String,
    /// Its row group.
    pub row_group: usize,
    /// NULLs.
    pub nulls: u64,
    /// At most the smallest value; of floats NaN apart, of strings cut off at 16 bytes.
    pub min: Option<String>,
    /// At least the largest value; of floats NaN apart, of strings cut off at 16 bytes and rounded up.
    pub max: Option<String>,
    /// The exact sum of the values that are not NULL, of integers, decimals and durations (in their
    /// unit); `None` for other types, and where 256 bits do not hold it.
    pub sum: Option<String>,
    /// Bytes of all values, decoded: words, bits or strings.
    pub decoded_bytes: u64,
}

impl File {
    /// Statistics of every chunk, leaf by leaf, from the end of the file alone; nothing where its
    /// writer was not asked for them
    /// ([`WriteOptions::chunk_statistics`](crate::WriteOptions::chunk_statistics)).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200)) as _)])?;
    /// let mut options = staffa::WriteOptions::default();
    /// (options.chunk_statistics, options.row_group_rows) = (true, 100);
    /// let bytes = staffa::to_bytes(batch.schema(), &[batch], options)?;
    /// let chunks = staffa::File::from_bytes(bytes)?.chunk_statistics()?;
    /// assert_eq!(chunks.len(), 2);
    /// assert_eq!((chunks[1].min.as_deref(), chunks[1].sum.as_deref()), (Some("100"), Some("14950")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn chunk_statistics(&self) -> Result<Vec<ChunkStatistics>> {
        let chunks = self.chunk_summaries()?;
        let row_groups = self.num_row_groups().max(1);
        let of = |(i, chunk): (usize, &ChunkSummary)| {
            let (leaf, row_group) = (i / row_groups, i % row_groups);
            let spec = self.leaf(leaf)?;
            let suits = chunk.zone.bounds.matches_type(spec.ty, spec.kind);
            let (min, max) = if suits {
                shown(self, leaf, &chunk.zone)
            } else {
                (None, None)
            };
            Ok(ChunkStatistics {
                path: spec.path.to_string(),
                row_group,
                nulls: chunk.zone.nulls,
                min,
                max,
                sum: chunk.sum.map(|sum| self.shown_sum(leaf, sum)).transpose()?,
                decoded_bytes: chunk.decoded_bytes,
            })
        };
        chunks.iter().enumerate().map(of).collect()
    }

    /// The statistics of all chunks as they are stored, leaf by leaf.
    pub(super) fn chunk_summaries(&self) -> Result<Vec<ChunkSummary>> {
        let footer = self.footer();
        let found = footer.chunk_statistics(self.store(), self.limits());
        let place = |e: Error| e.at(|p| p.path = self.store().path().map(Into::into));
        Ok(found.map_err(place)?.unwrap_or_default())
    }

    /// A sum as its column's type shows numbers.
    fn shown_sum(&self, leaf: usize, sum: i256) -> Result<String> {
        let leaf = self.leaf(leaf)?;
        let field = self.schema().fields().get(leaf.column);
        let scale = match field.filter(|_| leaf.flat).map(|field| field.data_type()) {
            Some(
                DataType::Decimal32(_, scale)
                | DataType::Decimal64(_, scale)
                | DataType::Decimal128(_, scale)
                | DataType::Decimal256(_, scale),
            ) => *scale,
            _ => 0,
        };
        Ok(with_scale(&sum.to_string(), scale))
    }
}

/// Digits with a decimal point so many places from their end, or so many zeros behind.
fn with_scale(digits: &str, scale: i8) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    match usize::try_from(scale) {
        Ok(0) => format!("{sign}{digits}"),
        Err(_) if digits == "0" => digits.to_owned(),
        Err(_) => format!("{sign}{digits}{}", "0".repeat(scale.unsigned_abs().into())),
        Ok(scale) => {
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (whole, part) = padded.split_at(padded.len() - scale);
            format!("{sign}{whole}.{part}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_scale;

    #[test]
    fn decimals_have_their_point() {
        assert_eq!(with_scale("12345", 2), "123.45");
        assert_eq!(with_scale("-5", 2), "-0.05");
        assert_eq!(with_scale("12", 0), "12");
        assert_eq!(with_scale("-12", -3), "-12000");
        assert_eq!(with_scale("0", -3), "0");
    }
}
