//! What files say of a table beside its rows, and a copy of the table keeps: metadata, the declared
//! order.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use staffa::{SortKey, WriteOptions};

use crate::formats::{Format, Properties};
use crate::terminal::note;

/// The properties of the files of a dataset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    metadata: BTreeMap<String, Vec<u8>>,
    /// The order of the first file; nothing holds for the rows of several.
    sort_order: Vec<SortKey>,
    files: usize,
    /// Keys with another value in a later file.
    differing: Vec<String>,
}

impl Carried {
    /// Adds the next file.
    pub(super) fn add(&mut self, file: Properties) {
        self.files += 1;
        if self.files == 1 {
            self.sort_order = file.sort_order;
        }
        for (key, value) in file.metadata {
            match self.metadata.get(&key) {
                Some(known) if *known != value => self.differing.push(key),
                Some(_) => {}
                None => drop(self.metadata.insert(key, value)),
            }
        }
        self.differing.dedup();
    }

    /// Says what a copy of the table does not keep.
    pub(crate) fn note_losses(&self, to: Format) {
        if let Some(key) = self.differing.first() {
            note(&format!(
                "the files differ in their metadata {key:?}: that of the first one is kept"
            ));
        }
        let keys: Vec<String> = self.sort_order.iter().map(ToString::to_string).collect();
        if !keys.is_empty() && (self.files > 1 || to != Format::Staffa) {
            let keys = keys.join(",");
            note(&if to == Format::Staffa {
                format!(
                    "the order {keys} of the first file is not declared for all rows; --sorted-by {keys} does so"
                )
            } else {
                format!("{} does not keep the declared order {keys}", to.name())
            });
        }
        if !self.metadata.is_empty() && to.is_text() {
            let keys: Vec<&str> = self.metadata.keys().map(String::as_str).collect();
            let keys = keys.join(", ");
            note(&format!("{} does not keep metadata: {keys}", to.name()));
        } else if to != Format::Staffa {
            let binary = |(_, value): &(&String, &Vec<u8>)| std::str::from_utf8(value).is_err();
            for (key, _) in self.metadata.iter().filter(binary) {
                note(&format!("the metadata {key:?} is not text and is left out"));
            }
        }
    }

    /// Adds the metadata, and the order of a single file as far as the columns of `schema` have it,
    /// to what was asked for.
    pub(crate) fn add_to(&self, options: &mut WriteOptions, schema: &Schema) {
        for (key, value) in &self.metadata {
            let entry = options.metadata.entry(key.clone());
            entry.or_insert_with(|| value.clone());
        }
        if !options.sort_order.is_empty() || self.files != 1 {
            return;
        }
        let holds = |key: &&SortKey| {
            let rounded = options
                .max_error
                .iter()
                .any(|(column, _)| *column == key.column);
            schema.column_with_name(&key.column).is_some() && !rounded
        };
        options.sort_order = self.sort_order.iter().take_while(holds).cloned().collect();
    }

    /// The order without a column that has one value in each file.
    pub(crate) fn without_constant(&mut self, column: &str) {
        self.sort_order.retain(|key| key.column != column);
    }

    /// The schema with the metadata that is text, for the formats whose schema has metadata.
    pub(crate) fn with_metadata(&self, schema: &SchemaRef) -> SchemaRef {
        let mut metadata = schema.metadata().clone();
        for (key, value) in &self.metadata {
            if let Ok(text) = std::str::from_utf8(value) {
                let entry = metadata.entry(key.clone());
                entry.or_insert_with(|| text.to_owned());
            }
        }
        Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata))
    }
}
