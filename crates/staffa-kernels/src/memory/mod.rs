//! Output memory that is used again, and values beside their owners.
//!
//! ```text
//! pool        PoolBuf, PoolVec: buffers that go to the pool when they are dropped
//! retained    the pool: what is kept for the next use, and within which limits
//! free_list   free buffers by size class
//! size_class  sizes of buffers
//! mapping     memory of the system: huge pages, and offers of free ones
//! small       an allocator for programs (feature `small-pieces`)
//! zeros       zeros that columns without other values share
//! yoke        a value beside the owner that it borrows from
//! ```

mod free_list;
mod mapping;
mod pool;
mod retained;
mod size_class;
#[cfg(feature = "small-pieces")]
mod small;
mod yoke;
mod zeros;

pub use pool::{PoolBuf, PoolVec};
pub use retained::{retained_bytes, set_retained_limit};
#[cfg(feature = "small-pieces")]
pub use small::SmallPieces;
pub use yoke::{Yoke, Yokeable};
pub use zeros::zeros;
