//! Kernels of strings, and Arrow arrays of them.

pub(crate) mod dict;
pub(crate) mod front;
pub(crate) mod fsst;
pub(crate) mod plain;
pub(crate) mod prefix;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod views;
