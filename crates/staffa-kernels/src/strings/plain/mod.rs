//! Plain strings, built in parallel.

mod strings;

pub use strings::{Misfit, PlainStrings, StringSlot};
