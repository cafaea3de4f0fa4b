//! Every Arrow type, and random arrays of each: those of the library's own tests.

use super::Random;

#[path = "../../src/testing/arrays/domains.rs"]
mod domains;
#[path = "../../src/testing/arrays/nested.rs"]
mod nested;
#[path = "../../src/testing/arrays/types.rs"]
mod types;
#[path = "../../src/testing/arrays/values.rs"]
mod values;

pub use nested::{dictionary_of, field, map_of, nested_types, runs_of};
pub use types::flat_types;
pub use values::array;
