//! The border: functions that C calls, and functions of the host that they call. All `unsafe` of the
//! crate is in this folder.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | pointers of the caller, checked for NULL and alignment before they are followed |
//! | `error` | codes, the handle with the text, the guard that catches panics |
//! | `arrow` | schemas, arrays and streams of Arrow's C interface, in and out |
//! | `source`, `sink` | bytes that the host reads and writes |
//! | `file`, `options`, `metadata`, `statistics`, `predicate`, `comparison`, `scan`, `split`, `metrics`, `writer` | the functions, by handle |
//!
//! What C promises, and each `SAFETY` comment here relies on: a pointer that is neither NULL nor
//! misaligned points to what its type says, for the length that stands beside it, and to memory that
//! nobody else writes during the call; a handle was made by this library and not freed.

// Every pointer argument has the one contract above, which the header states once.
#![allow(clippy::missing_safety_doc)]

mod arguments;
mod arrow;
mod comparison;
mod error;
mod file;
mod metadata;
mod metrics;
mod options;
mod predicate;
mod scan;
mod sink;
mod source;
mod split;
mod statistics;
mod writer;

pub use comparison::*;
pub use error::*;
pub use file::*;
pub use metadata::*;
pub use metrics::*;
pub use options::*;
pub use predicate::*;
pub use scan::*;
pub use sink::StaffaSink;
pub use source::{StaffaRange, StaffaSource};
pub use split::*;
pub use statistics::*;
pub use writer::*;

/// What the header says of threads: these are shared, the others move between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send>() {}
    shared::<StaffaFile>();
    shared::<StaffaPredicate>();
    shared::<StaffaOptions>();
    shared::<StaffaCancel>();
    shared::<StaffaMetrics>();
    moved::<StaffaScan>();
    moved::<StaffaWriter>();
    moved::<StaffaSplits>();
    moved::<StaffaStatistics>();
    moved::<StaffaMetadata>();
    moved::<StaffaError>();
};
