//! How a file is to be written.

use crate::encode::{Access, Profile};

/// How a file is to be written; the defaults suit most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// What the chooser weighs.
    pub profile: Profile,
    /// Profiles of single columns: a column's name or the path of a leaf, and its profile.
    pub profiles: Vec<(String, Profile)>,
    /// How the file is expected to be read.
    pub access: Access,
    /// Encodings asked for by name: path of the leaf column, name of the encoding.
    pub encodings: Vec<(String, String)>,
    /// Columns of floats that need not be exact: the column's name, and the most by which a value
    /// may differ from what was written. Each float becomes the nearest multiple of a power of two,
    /// the largest whose half is within the bound; NaN, infinities and -0.0 stay. The column's
    /// field says so under `staffa.max_error`. All else is exact.
    pub max_errors: Vec<(String, f64)>,
    /// Names of encodings that are not chosen: what is costly to decode, say. By name a column can
    /// still have them.
    pub without: Vec<String>,
    /// Most rows of a row group.
    pub row_group_rows: usize,
    /// Most bytes of Arrow memory of a row group, about.
    pub row_group_bytes: usize,
    /// Values of a block.
    pub block_rows: usize,
    /// Threads to encode with; `None`: all that the process may use.
    pub threads: Option<usize>,
    /// Encode columns in terms of others where that is smaller; else each stands by itself. Not
    /// with `fast`.
    pub relate: bool,
    /// Decode each block again and compare it before it is written.
    pub verify: bool,
    /// Replace a file that is there; else it is an error.
    pub overwrite: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            profiles: Vec::new(),
            access: Access::default(),
            encodings: Vec::new(),
            max_errors: Vec::new(),
            without: Vec::new(),
            row_group_rows: 1 << 20,
            row_group_bytes: 128 << 20,
            block_rows: 1 << 16,
            threads: None,
            relate: true,
            verify: true,
            overwrite: true,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct WriteSummary {
    /// Rows of the table.
    pub rows: u64,
    /// Row groups of the file.
    pub row_groups: usize,
    /// Bytes the table took in Arrow memory.
    pub arrow_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}
