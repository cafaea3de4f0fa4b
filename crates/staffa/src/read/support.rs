//! What this build can read of a file: columns of types and encodings that it has.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::path::Path;

use arrow_schema::Schema;
use hashbrown::HashMap;

use super::File;
use crate::arrow::unknown_column;
use crate::encodings::POOL;
use crate::encodings::edition::name_of;
use crate::error::{Error, Result};
use crate::format::UnknownType;
use crate::predicate::Predicate;

/// Positions in a schema of columns by name.
pub(crate) fn positions_of<S: AsRef<str>>(schema: &Schema, names: &[S]) -> Result<Vec<usize>> {
    const FEW: usize = 8;
    let fields = schema.fields();
    // A table pays for many names; it costs as much to build as a few searches.
    let many = names.len() > FEW;
    let all: HashMap<&str, usize> = fields
        .iter()
        .take(if many { fields.len() } else { 0 })
        .zip(0..)
        .map(|(f, i)| (f.name().as_str(), i))
        .collect();
    let position = |name: &S| {
        let name = name.as_ref();
        let search = || fields.iter().position(|field| field.name() == name);
        let found = if many {
            all.get(name).copied()
        } else {
            search()
        };
        found.ok_or_else(|| unknown_column(name, schema))
    };
    names.iter().map(position).collect()
}

impl File {
    /// Names of the columns whose type this release does not know, from a file of a later one. All
    /// other columns can be read.
    pub fn unknown_columns(&self) -> Vec<&str> {
        let fields = self.schema().fields();
        let name = |unknown: &UnknownType| Some(fields.get(unknown.column)?.name().as_str());
        self.footer().unknown.iter().filter_map(name).collect()
    }

    /// Positions of columns by name, of types that this release knows.
    pub(crate) fn column_positions<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<usize>> {
        let positions = positions_of(self.schema(), names)?;
        positions
            .iter()
            .try_for_each(|position| self.check_known(*position))?;
        Ok(positions)
    }

    /// Refuses a column of a type that this release does not know.
    pub(crate) fn check_known(&self, column: usize) -> Result<()> {
        let unknown = &self.footer().unknown;
        let Ok(found) = unknown.binary_search_by_key(&column, |unknown| unknown.column) else {
            return Ok(());
        };
        let (path, tag) = unknown
            .get(found)
            .map_or(("", 0), |unknown| (&unknown.path, unknown.tag));
        Err(Error::unsupported(format!(
            "{path:?} has type {tag}, which this release does not know: select other columns, or read it with a later release"
        ))
        .at(|p| {
            p.path = self.store().path().map(Path::to_owned);
            p.column = self.schema().fields().get(column).map(|field| field.name().clone());
        }))
    }

    /// Positions of the columns that a filter tests, of types that this release knows.
    pub(crate) fn tested_columns(&self, filter: &Predicate) -> Result<Vec<usize>> {
        let columns = filter.column_positions(self.schema())?;
        columns
            .iter()
            .try_for_each(|column| self.check_known(*column))?;
        Ok(columns)
    }

    /// Refuses a reference column of a type that this release does not know.
    pub(crate) fn check_reference(&self, leaf: usize) -> Result<()> {
        let reference = self.leaf(leaf)?;
        reference.unknown.map_or(Ok(()), |tag| {
            Err(Error::unsupported(format!(
                "the column is derived from {:?} of type {tag}, which this release does not know",
                reference.path
            )))
        })
    }

    /// Refuses columns with types or encodings that this build does not have, by name.
    pub(crate) fn check_columns<'c>(&self, columns: impl Iterator<Item = &'c usize>) -> Result<()> {
        for column in columns {
            self.check_known(*column)?;
            self.check_encodings(self.layout().leaves_of(*column))?;
        }
        Ok(())
    }

    fn check_encodings(&self, leaves: Range<usize>) -> Result<()> {
        for leaf in leaves {
            let mut used = self.footer().features.encodings(leaf).numbers();
            if let Some(id) = used.find(|id| POOL.by_id(*id).is_none()) {
                return Err(Error::unsupported(format!(
                    "the column needs {}, which this build does not have",
                    name_of(id)
                ))
                .at(|p| {
                    p.path = self.store().path().map(Path::to_owned);
                    p.column = self.leaf(leaf).ok().map(|leaf| leaf.path.to_string());
                }));
            }
        }
        Ok(())
    }
}
