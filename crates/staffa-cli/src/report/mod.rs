//! The page of `staffa report`: the contents and the encodings of a file, in one HTML page without
//! other files.
//!
//! `contents` collects everything from the file, `profile` the distributions of its columns; `page`
//! writes it, with the pictures of `treemap` and `zones`. All text of the file is escaped by `html`.

mod contents;
mod facts;
mod html;
mod page;
mod parquet;
mod profile;
mod treemap;
mod zones;

pub(crate) use self::contents::{Report, distinct_text, leaf_type, marked_bounds};
pub(crate) use self::facts::{About, facts};
pub(crate) use self::page::html_page;
pub(crate) use self::parquet::{ParquetSizes, measure_parquet};
