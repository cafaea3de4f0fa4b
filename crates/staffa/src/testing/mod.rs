//! What tests and experiments share.

#[cfg(test)]
pub(crate) mod arrays;
#[cfg(feature = "experiments")]
pub mod bench;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod decode_times;
#[cfg(feature = "experiments")]
pub mod experiment;
