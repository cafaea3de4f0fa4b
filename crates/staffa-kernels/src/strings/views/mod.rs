//! String views, built in parallel: every string is checked when it is pushed, and views are only
//! copied from then on.
//!
//! ```text
//! view of 16 bytes = length: u32 | up to 12 bytes: the string | more: its first 4 bytes | buffer: u32 | offset: u32
//! ```
//!
//! The strings of a dictionary are checked once, not once for every row. Other strings become views
//! a vector at a time; strings that views hold themselves do not leave the L1 cache.

mod builder;
mod kept;
mod make;
mod slot;
mod strings;

pub use builder::StringViews;
pub use slot::ViewSlot;
pub use strings::ViewStrings;
