//! Output memory that is used again, and values beside what they borrow from.

pub(crate) mod malloc;
pub(crate) mod mapping;
pub(crate) mod pool;
pub(crate) mod retained;
#[cfg(feature = "small-pieces")]
pub(crate) mod small;
pub(crate) mod yoke;
