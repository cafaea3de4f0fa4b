//! BtrBlocks, figures 5 and 6: samples of other shapes, beside the best that trying everything
//! finds.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_select::concat::concat_batches;
use serde_json::{Value, json};
use staffa::testing::experiment;

use crate::Result;
use crate::tables::{Table, class, files};

/// Runs, and values of a run: 640 values in all.
const STRATEGIES: [(usize, usize); 10] = [
    (640, 1),
    (320, 2),
    (160, 4),
    (80, 8),
    (40, 16),
    (20, 32),
    (10, 64),
    (5, 128),
    (2, 320),
    (1, 640),
];
/// Runs of 64 values.
const SIZES: [(usize, usize); 6] = [(1, 64), (3, 64), (20, 64), (40, 64), (100, 64), (300, 64)];

/// Some `blocks` first blocks of columns, a third of each type.
pub fn run(folder: &str, blocks: usize) -> Result<Value> {
    let hash = |table: &str, column: &str| {
        let mut hasher = DefaultHasher::new();
        (table, column).hash(&mut hasher);
        hasher.finish()
    };
    // Of every table the same share of columns would be those of the widest: from each of them in
    // turn.
    let mut columns: Vec<(usize, u64, &str, String, String)> = Vec::new();
    for path in files(folder)? {
        let table = Table::read(&path, 1)?;
        let mut own: Vec<_> = table
            .schema
            .fields()
            .iter()
            .map(|f| (hash(&table.name, f.name()), f))
            .collect();
        own.sort_by_key(|(hash, _)| *hash);
        for ty in ["integer", "double", "string"] {
            let of_type = own
                .iter()
                .filter(|(_, f)| class(f.data_type()) == ty)
                .enumerate();
            columns.extend(
                of_type.map(|(turn, (h, f))| (turn, *h, ty, table.name.clone(), f.name().clone())),
            );
        }
    }
    columns.sort();
    let shapes: Vec<(usize, usize)> = STRATEGIES.into_iter().chain(SIZES).collect();
    let mut trials = Vec::new();
    let mut counts = [0usize; 3];
    let tables = files(folder)?;
    for (_, _, ty, name, column) in columns {
        let place = ["integer", "double", "string"]
            .iter()
            .position(|t| *t == ty)
            .unwrap_or(0);
        if counts[place] >= blocks / 3 {
            continue;
        }
        let Some(path) = tables
            .iter()
            .find(|path| path.file_stem().is_some_and(|stem| *stem == *name))
        else {
            continue;
        };
        let Some(table) = Table::read(path, 1 << 16)?.only(&column)? else {
            continue;
        };
        let batch = concat_batches(&table.schema, &table.batches)?;
        for trial in experiment::sampling(&batch, &shapes, |_, _| true)? {
            counts[place] += 1;
            eprintln!("{name} {} {:.1}", trial.path, trial.seconds);
            trials.push(json!({"table": name, "trial": trial}));
        }
    }
    Ok(json!({"strategies": STRATEGIES, "sizes": SIZES, "trials": trials}))
}
