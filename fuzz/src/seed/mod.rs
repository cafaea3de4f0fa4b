//! Valid files to begin from: tables of every type in every encoding.

use std::fmt;
use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use staffa::{File, Profile, Result, WriteOptions};

mod arrays;
mod types;

use self::arrays::{Numbers, SHAPES, array};
use self::types::{PRIMARY, TYPES};
use crate::parts::Parts;

/// Which file; counted around.
#[derive(Clone, Copy, Arbitrary)]
pub struct Seed(pub u16);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().0.fmt(f)
    }
}

impl Seed {
    fn get(self) -> &'static (Recipe, Parts) {
        &SEEDS[usize::from(self.0) % SEEDS.len()]
    }

    /// The file, taken apart.
    pub fn parts(self) -> &'static Parts {
        &self.get().1
    }
}

/// All files. Made before the first input is run, so that the writer does not count as covered by
/// one.
pub static SEEDS: LazyLock<Vec<(Recipe, Parts)>> = LazyLock::new(|| {
    let recipes = Recipe::all();
    recipes
        .filter_map(|recipe| Some((recipe, recipe.parts(&recipe.file()?))))
        .collect()
});

/// What a file is made of.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// Of its first column.
    ty: &'static DataType,
    /// Asked for wherever a leaf can have it; `None`: the chooser's.
    encoding: Option<&'static str>,
    /// Of the numbers that the values are made of: see [`Numbers`].
    shape: u8,
    /// How many are NULL, as well.
    nulls: u8,
    rows: usize,
    block_rows: usize,
    row_group_rows: usize,
    /// Whether there is a second one.
    two_columns: bool,
    profile: Profile,
}

/// Rows, values of a block, rows of a row group.
const SIZES: [(usize, usize, usize); 8] = [
    (30, 64, 64),
    (300, 128, 200),
    (30, 64, 64),
    (1100, 2048, 2048),
    (60, 32, 64),
    (1, 1, 1),
    (2300, 1024, 4096),
    (0, 64, 64),
];

impl Recipe {
    fn all() -> impl Iterator<Item = Self> {
        let names = staffa::encodings()
            .into_iter()
            .filter(|e| e.by_name)
            .map(|e| Some(e.name))
            .chain([None]);
        let names: Vec<Option<&str>> = names.collect();
        let pairs = TYPES.iter().enumerate().flat_map(move |(i, ty)| {
            let names = names.clone().into_iter().enumerate();
            names
                .filter(move |(j, name)| i < PRIMARY || name.is_none() || (i + j) % 6 == 0)
                .map(move |(_, name)| (ty, name))
        });
        let twice = pairs.flat_map(|pair| [pair; 2]).zip(0usize..);
        twice.map(|((ty, encoding), turn)| {
            let (rows, block_rows, row_group_rows) = SIZES[turn / 2 % SIZES.len()];
            // A shape that the encoding is made for, or the writer would refuse it.
            let shape = if encoding == Some("constant") {
                1
            } else {
                (turn % usize::from(SHAPES)) as u8
            };
            let nulls = if turn % 2 == 0 {
                0
            } else {
                (turn / 2 % 4) as u8
            };
            let (two_columns, profile) = (
                turn % 5 == 0,
                [Profile::Balanced, Profile::Small, Profile::Fast][turn % 3],
            );
            Self {
                ty,
                encoding,
                shape,
                nulls,
                rows,
                block_rows,
                row_group_rows,
                two_columns,
                profile,
            }
        })
    }

    /// The file; `None` where no leaf can have the encoding.
    pub fn file(&self) -> Option<Vec<u8>> {
        let mut numbers = Numbers {
            shape: self.shape,
            nulls: self.nulls,
            state: 0x5eed,
        };
        let mut columns = vec![array(self.ty, true, self.rows, &mut numbers)];
        if self.two_columns {
            // Often one from which the other is derived.
            let again = self.encoding.is_none().then(|| columns[0].clone());
            columns.push(
                again.unwrap_or_else(|| array(&DataType::Int64, true, self.rows, &mut numbers)),
            );
        }
        let field = |(i, array): (usize, &ArrayRef)| {
            Field::new(["c", "d"][i], array.data_type().clone(), true)
        };
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch =
            RecordBatch::try_new(schema.clone(), columns).expect("the columns fit their schema");
        let mut options = WriteOptions::default();
        (options.block_rows, options.row_group_rows) = (self.block_rows, self.row_group_rows);
        options.profile = self.profile;
        let write = |batches: &[RecordBatch], encodings: &[(String, String)]| -> Result<Vec<u8>> {
            let mut options = options.clone();
            options.encodings = encodings.to_vec();
            staffa::to_bytes(schema.clone(), batches, options)
        };
        let Some(name) = self.encoding else {
            return Some(write(&[batch], &[]).expect("any table can be written"));
        };
        let empty = File::from_bytes(write(&[], &[]).expect("no rows can be written"));
        let leaves = empty
            .and_then(|file| file.inspect())
            .expect("what was written can be read")
            .columns;
        let wanted = leaves.into_iter().map(|leaf| (leaf.path, name.to_owned()));
        // Some leaves cannot have it at all, and some not with these values.
        let possible = wanted.filter(|one| write(&[], std::slice::from_ref(one)).is_ok());
        let holds = |one: &(String, String)| {
            write(std::slice::from_ref(&batch), std::slice::from_ref(one)).is_ok()
        };
        let possible: Vec<_> = possible.filter(holds).collect();
        (!possible.is_empty())
            .then(|| write(&[batch], &possible).expect("what each can have, all can have"))
    }

    /// Takes the file apart.
    fn parts(&self, file: &[u8]) -> Parts {
        let leaves = File::from_bytes(file.to_vec())
            .and_then(|file| file.inspect())
            .expect("it is valid")
            .columns;
        let strings: Vec<bool> = leaves
            .iter()
            .map(|leaf| leaf.physical_type == "bytes")
            .collect();
        Parts::of(file, &strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::exercise;

    #[test]
    fn seeds_are_valid_and_come_together_again() {
        let derived = SEEDS.iter().any(|(_, parts)| {
            parts
                .clone()
                .chunks_mut()
                .any(|chunk| !chunk.sources.is_empty())
        });
        assert!(derived, "no column is derived from another");
        for encoding in staffa::encodings().into_iter().filter(|e| e.by_name) {
            assert!(
                SEEDS
                    .iter()
                    .any(|(recipe, _)| recipe.encoding == Some(encoding.name)),
                "{encoding:?}"
            );
        }
        for (recipe, parts) in SEEDS.iter() {
            let file = recipe.file().expect("it was there before");
            assert!(parts.assemble() == file, "{recipe:?}");
            assert!(exercise(file).is_ok(), "{recipe:?}");
        }
    }
}
