//! Loops over words, compiled for each instruction set.

pub(crate) mod bitpack;
pub(crate) mod bits;
pub(crate) mod decimal;
pub(crate) mod dispatch;
pub(crate) mod escape;
pub(crate) mod expand;
pub(crate) mod filter;
pub(crate) mod gather;
pub(crate) mod non_temporal;
pub(crate) mod positions;
pub(crate) mod prefix_sum;
pub(crate) mod range;
pub(crate) mod repeats;
pub(crate) mod runs;
pub(crate) mod stats;
pub(crate) mod sum;
