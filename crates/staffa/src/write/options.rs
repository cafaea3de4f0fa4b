//! The options of a writer, and its summary.

use std::collections::BTreeMap;

use crate::encode::{Access, Profile};
use crate::encodings::edition::Edition;
use crate::limits::Cancel;

/// How a file is to be written; the defaults suit most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The balance of size and speed.
    pub profile: Profile,
    /// Profiles of single columns: a column's name or the path of a leaf, and its profile.
    pub column_profiles: Vec<(String, Profile)>,
    /// How the file is expected to be read.
    pub access: Access,
    /// Encodings requested by name: path of the leaf column, name of the encoding.
    pub encodings: Vec<(String, String)>,
    /// Columns of floats that need not be exact: the column's name, and the bound on the error of
    /// its values. Each float becomes the nearest multiple of a power of two, the largest whose
    /// half is within the bound; NaN, infinities and -0.0 stay. The metadata of the column's field
    /// has the bound as `staffa.max_error`. All other columns are exact.
    pub max_error: Vec<(String, f64)>,
    /// Names of encodings that are not chosen: those that are costly to decode, say. A column can
    /// still request them by name.
    pub without: Vec<String>,
    /// Only encodings of this edition; `None`: all that this build has.
    pub edition: Option<Edition>,
    /// Keys and values to store with the table; [`Writer::set_metadata`](super::Writer::set_metadata)
    /// adds others until the file is finished.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// Rows of a row group, at most.
    pub row_group_rows: usize,
    /// Bytes of Arrow memory of a row group, at most, about.
    pub row_group_bytes: usize,
    /// Most values of a block: a power of two up to 65,536. Blocks of wide values have fewer, so that
    /// each decodes to 8 MiB at most, with [`Access::Random`] to 64 KiB, about.
    pub block_rows: usize,
    /// Threads that encode; `None`: all that the process may use.
    pub threads: Option<usize>,
    /// Write derived columns: a column is encoded from reference columns where that is smaller.
    /// Reading it then costs reading those as well. Never with `fast`.
    pub relate: bool,
    /// Decode each block and compare it before it is written.
    pub verify: bool,
    /// Replace an existing file; otherwise it is an error.
    pub overwrite: bool,
    /// Stops the writer: see [`Cancel`].
    pub cancel: Cancel,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            column_profiles: Vec::new(),
            access: Access::default(),
            encodings: Vec::new(),
            max_error: Vec::new(),
            without: Vec::new(),
            edition: None,
            metadata: BTreeMap::new(),
            row_group_rows: 1 << 20,
            row_group_bytes: 128 << 20,
            block_rows: 1 << 16,
            threads: None,
            relate: true,
            verify: true,
            overwrite: true,
            cancel: Cancel::new(),
        }
    }
}

/// The sizes of a file that was written.
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
