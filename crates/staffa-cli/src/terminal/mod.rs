//! What people see while and after a command runs.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod text;
