//! Whether a file may have a row that matches, from the summaries in its footer alone.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::File;
use crate::arrow::Node;
use crate::error::Result;
use crate::format::{Summary, ZoneMap};
use crate::predicate::{Bound, Predicate};

impl File {
    /// Whether some row may match a filter, by the summaries of the columns: never false where a row
    /// matches. Reads nothing behind the footer; a file without summaries may always match. Fails where
    /// the filter does not fit the schema.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200)) as _)])?;
    /// let file = staffa::File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?)?;
    /// assert!(file.may_match(&"n = 199".parse()?)?);
    /// assert!(!file.may_match(&"n >= 200".parse()?)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn may_match(&self, filter: &Predicate) -> Result<bool> {
        let bound = filter.bind(self.schema())?;
        Ok(self.summaries_may_match(&bound, self.summaries()?))
    }

    /// As [`may_match`](Self::may_match) where the summaries are at hand; else true.
    pub(super) fn known_may_match(&self, bound: &Bound) -> Result<bool> {
        if !self.store().is_planned() || !self.has_summaries() {
            return Ok(true);
        }
        Ok(self.summaries_may_match(bound, self.summaries()?))
    }

    fn summaries_may_match(&self, bound: &Bound, summaries: &[Summary]) -> bool {
        let zone = |column: &str| -> Option<ZoneMap> {
            let (position, _) = self.schema().column_with_name(column)?;
            let Some(Node::Leaf(leaf)) = self.layout().fields.get(position) else {
                return None;
            };
            let (spec, zone) = (self.leaf(*leaf).ok()?, &summaries.get(*leaf)?.zone);
            let suits = zone.bounds.matches_type(spec.ty, spec.kind);
            suits.then(|| zone.clone())
        };
        bound.may_match(self.num_rows(), &zone)
    }
}
