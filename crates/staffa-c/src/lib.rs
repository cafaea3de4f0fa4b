//! The C interface of Staffa, for engines in other languages: `include/staffa.h` is made from this
//! crate, and `docs/guides/c.md` shows it at work.
//!
//! ```text
//! host -> border/ (extern "C": arguments checked, panics caught) -> staffa
//!            |
//!            +-> options, literal, error (safe)
//! ```
//!
//! The rules that every function keeps:
//!
//! - A failure is a [`StaffaCode`](border::StaffaCode) and, where the caller wants it, a handle with
//!   the text. A panic becomes `STAFFA_CODE_INTERNAL`.
//! - Handles are opaque, and freed once by their own function; freeing NULL does nothing.
//! - Structs that may grow begin with their size, as the caller's compiler knows it.
//! - No thread but the caller's works unless the caller asks for more.
//!
//! All `unsafe` is in `border/`.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod border;
mod bounds;
mod error;
mod literal;
mod options;
