//! The options of a writer.

use std::collections::BTreeMap;

use crate::encode::{Access, Profile};
use crate::encodings::edition::Edition;
use crate::format::SortKey;
use crate::limits::Cancel;

/// How a file is to be written; the defaults suit most. Every field has a method of its name, for
/// chains.
///
/// ```
/// use staffa::{Profile, WriteOptions};
///
/// let options = WriteOptions::new()
///     .profile(Profile::Fast)
///     .column_profile("comment", Profile::Small)
///     .row_group_rows(250_000)
///     .metadata("source", "survey");
/// assert_eq!(options.row_group_rows, 250_000);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "options of a user, each on or off by itself"
)]
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
    /// The order in which the rows come: the file says so, and a batch that breaks it is refused by
    /// its row. The keys are columns that are neither nested nor dictionaries nor runs. Floats are
    /// ordered as numbers, -0.0 and 0.0 equal, NaN above all; strings by their bytes.
    pub sort_order: Vec<SortKey>,
    /// Store statistics of every chunk: NULLs, bounds, the exact sum of integers and decimals, and
    /// decoded bytes. Readers have them by [`File::chunk_statistics`](crate::File::chunk_statistics).
    pub chunk_statistics: bool,
    /// Rows of a row group, at most.
    pub row_group_rows: usize,
    /// Bytes of Arrow memory of a row group, at most, about.
    pub row_group_bytes: usize,
    /// Most values of a block: a power of two up to 65,536. Blocks of wide values have fewer, so that each decodes
    /// to about 4 MiB at most. Strings that share tokens have blocks of 1 MiB, from 100 bytes a string on of
    /// 512 KiB, from 1,000 on of 256; strings of 1,000 bytes and more that look like noise 128 KiB; vectors, which are lists of 256
    /// bytes to 32 KiB of floats, 64 KiB; but not with [`Profile::Small`], nor, unless it is onpair, where an
    /// encoding is requested. With [`Access::Random`] all blocks decode to 64 KiB, or 32 of floats in lists.
    pub block_rows: usize,
    /// Threads that encode; `None`: all that the process may use; 1: the one that calls the writer.
    pub threads: Option<usize>,
    /// Write derived columns: a column is encoded from reference columns where that is smaller.
    /// Reading it then costs reading those as well. Never with `fast`.
    pub derived_columns: bool,
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
            sort_order: Vec::new(),
            chunk_statistics: false,
            row_group_rows: 1 << 20,
            row_group_bytes: 128 << 20,
            block_rows: 1 << 16,
            threads: None,
            derived_columns: true,
            verify: true,
            overwrite: true,
            cancel: Cancel::new(),
        }
    }
}

impl WriteOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The balance of size and speed: see [`profile`](Self#structfield.profile).
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Gives one column, by its name or by the path of a leaf, a profile of its own.
    #[must_use]
    pub fn column_profile(mut self, column: impl Into<String>, profile: Profile) -> Self {
        self.column_profiles.push((column.into(), profile));
        self
    }

    /// How the file is expected to be read.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Requests an encoding, by its name, for one leaf column, by its path.
    #[must_use]
    pub fn encoding(mut self, column: impl Into<String>, encoding: impl Into<String>) -> Self {
        self.encodings.push((column.into(), encoding.into()));
        self
    }

    /// Rounds the floats of one column, each by at most `bound`: see
    /// [`max_error`](Self#structfield.max_error).
    #[must_use]
    pub fn max_error(mut self, column: impl Into<String>, bound: f64) -> Self {
        self.max_error.push((column.into(), bound));
        self
    }

    /// Never chooses these encodings, by name.
    #[must_use]
    pub fn without<S: Into<String>>(mut self, encodings: impl IntoIterator<Item = S>) -> Self {
        self.without.extend(encodings.into_iter().map(Into::into));
        self
    }

    /// Chooses encodings of this edition only.
    #[must_use]
    pub fn edition(mut self, edition: impl Into<Option<Edition>>) -> Self {
        self.edition = edition.into();
        self
    }

    /// Stores a key and its value with the table.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Declares the order of the rows, first key first, which the writer checks.
    ///
    /// ```
    /// # fn main() -> staffa::Result<()> {
    /// let options = staffa::WriteOptions::new().sort_order(["day".parse()?, "city desc".parse()?]);
    /// assert_eq!(options.sort_order[1].column, "city");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn sort_order(mut self, keys: impl IntoIterator<Item = SortKey>) -> Self {
        self.sort_order = keys.into_iter().collect();
        self
    }

    /// Whether statistics of every chunk are stored.
    #[must_use]
    pub fn chunk_statistics(mut self, on: bool) -> Self {
        self.chunk_statistics = on;
        self
    }

    /// Rows of a row group, at most; 1,048,576 by default.
    #[must_use]
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.row_group_rows = rows;
        self
    }

    /// Bytes of Arrow memory of a row group, at most, about; 128 MiB by default.
    #[must_use]
    pub fn row_group_bytes(mut self, bytes: usize) -> Self {
        self.row_group_bytes = bytes;
        self
    }

    /// Most values of a block: a power of two up to 65,536, which is the default.
    #[must_use]
    pub fn block_rows(mut self, rows: usize) -> Self {
        self.block_rows = rows;
        self
    }

    /// Number of threads that encode; by default all that the process may use. With 1 the thread that
    /// calls the writer encodes, and no other.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Whether columns may be derived from reference columns; yes by default.
    #[must_use]
    pub fn derived_columns(mut self, on: bool) -> Self {
        self.derived_columns = on;
        self
    }

    /// The former name of [`derived_columns`](Self::derived_columns).
    #[deprecated(note = "use `derived_columns`")]
    #[must_use]
    pub fn relate(self, on: bool) -> Self {
        self.derived_columns(on)
    }

    /// Whether each block is decoded and compared before it is written; yes by default.
    #[must_use]
    pub fn verify(mut self, on: bool) -> Self {
        self.verify = on;
        self
    }

    /// Whether [`Writer::create`](super::Writer::create) replaces an existing file; yes by default.
    #[must_use]
    pub fn overwrite(mut self, on: bool) -> Self {
        self.overwrite = on;
        self
    }

    /// The flag that stops the writer.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}
