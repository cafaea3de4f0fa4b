//! Staffa for the Java virtual machine: the native library of the Spark data source.
//!
//! ```text
//! Native.java methods -> border.rs -> handles.rs: numbers to objects, closed once
//!   read   file.rs   open, schema in Spark's types (types.rs), statistics
//!          scan.rs   columns, filter (filter.rs) -> batches -> Spark's types (convert.rs) -> struct ArrowArray
//!   write  write.rs  struct ArrowArray -> batches -> a stream of the host
//! host.rs  bytes that the host's file systems read and write
//! ```
//!
//! Decoding happens on the thread that asks for a batch. A panic becomes an exception.

mod border;
mod convert;
mod error;
mod file;
mod filter;
mod handles;
mod host;
mod scan;
mod types;
mod write;
