//! Files and standard streams: inputs, and outputs that appear whole or not at all.

pub(crate) mod compression;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod staged;
pub(crate) mod temporary;

/// The name of the standard input or output on the command line.
pub(crate) const STANDARD: &str = "-";
