//! What a reader must have to read a file, from the feature set in its footer.

use crate::encodings::edition::{Edition, name_of};
use crate::read::File;

/// The encodings of a leaf column.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LeafRequirement {
    /// Its path; the name of a flat column.
    pub path: String,
    /// The encodings that its values need, those of the columns from which it is derived among them.
    pub encodings: Vec<String>,
}

impl File {
    /// The encodings that each leaf column needs.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![7; 1000])) as _)])?;
    /// let file = staffa::File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?)?;
    /// assert_eq!(file.requirements()[0].encodings, ["constant"]);
    /// assert!(file.beyond(staffa::Edition::Core1).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn requirements(&self) -> Vec<LeafRequirement> {
        self.encodings_where(|_| true)
    }

    /// The leaf columns that a reader of this edition cannot read, with the encodings that it lacks.
    pub fn beyond(&self, edition: Edition) -> Vec<LeafRequirement> {
        let mut all = self.encodings_where(|id| !edition.contains(id));
        all.retain(|leaf| !leaf.encodings.is_empty());
        all
    }

    fn encodings_where(&self, wanted: impl Fn(u8) -> bool) -> Vec<LeafRequirement> {
        let leaves = self.layout().leaves().iter().enumerate();
        let requirement = |(i, leaf): (usize, &crate::arrow::Leaf)| {
            let encodings = self.footer().features.encodings(i).numbers();
            LeafRequirement {
                path: leaf.path.to_string(),
                encodings: encodings.filter(|id| wanted(*id)).map(name_of).collect(),
            }
        };
        leaves.map(requirement).collect()
    }
}
