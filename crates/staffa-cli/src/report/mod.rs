//! The page of `staffa report`: the contents and the encodings of a file, in one HTML page without
//! other files.
//!
//! `contents` collects everything from the file; `page` writes it, with the pictures of `treemap` and
//! `zones`. All text of the file is escaped by `html`.

mod contents;
mod html;
mod page;
mod parquet;
mod treemap;
mod zones;

pub(crate) use self::contents::{Report, leaf_type};
pub(crate) use self::page::html_page;
pub(crate) use self::parquet::{ParquetSizes, measure_parquet};
