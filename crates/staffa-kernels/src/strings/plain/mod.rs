//! Plain strings, built in parallel: offsets, and contents one after another.

mod error;
mod slot;
mod strings;

pub use error::StringsError;
pub use slot::StringSlot;
pub use strings::PlainStrings;
