//! Tables of several files: folders, prefixes and wildcards, keys in the names of folders, one schema.
//!
//! ```text
//! find           paths, folders, wildcards, URLs -> files in order, with size and version
//! index          `_staffa_metadata`              -> what opening these needs, without a request each
//! hive           year=2026/city=Oban/            -> key columns: integers or text
//! widen, unify   schemas of the files            -> one schema
//! fold           filter, keys, missing columns   -> filter of one file, or: no row matches
//! fit            rows of one file                -> rows of the table
//! open           all of these                    -> a table: schema, scans
//! write, append  rows                            -> new files, which appear together
//! publish        files of several processes     -> the table's, together
//! sort, compact  a table                         -> fewer files, sorted within a limit of memory
//! ```

mod append;
mod compact;
mod find;
mod fit;
mod fold;
mod folder;
mod hive;
mod index;
mod open;
mod publish;
mod sort;
mod staged;
mod unify;
mod widen;
mod write;

pub use append::Append;
pub use compact::{CompactOptions, compact, compact_table};
pub use find::{Found, TableFile, find};
pub use fit::Fit;
pub use fold::{Folded, fold};
pub use folder::Folder;
pub use hive::{KeyColumns, Keys, NULL_KEY, decode, encode, is_integer, keys};
pub use index::{INDEX_NAME, IndexSummary, write_index};
pub use open::{Table, TableScan, is_staffa};
pub use publish::{discard, publish};
pub use unify::{Conflict, unify};
pub use widen::{common, decoded, widened};
pub use write::{TableOptions, TableSummary, TableWriter};
