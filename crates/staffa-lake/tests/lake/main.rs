//! Files and tables in object stores and folders: how they are read, what fails, what is written.
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::panic)]

mod common;
mod disk_cache;
mod publish;
mod stores;
mod tables;
mod writing;
