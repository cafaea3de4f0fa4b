//! The functions of `staffa.h`, called as a C program calls them.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../../../staffa/tests/common/arrays.rs"]
#[allow(dead_code, unused_imports)]
mod arrays;
mod callbacks;
mod calls;
mod examples;
mod hostile;
mod predicates;
mod read;
mod write;
