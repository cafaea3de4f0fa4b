//! Every Arrow type, random arrays of each, and their rows as text: as in the library's own tests.

#[path = "../../src/testing/arrays/domains.rs"]
mod domains;
#[path = "../../src/testing/arrays/nested.rs"]
mod nested;
#[path = "../../src/testing/arrays/random.rs"]
mod random;
#[path = "../../src/testing/arrays/rows.rs"]
mod rows;
#[path = "../../src/testing/arrays/types.rs"]
mod types;
#[path = "../../src/testing/arrays/values.rs"]
mod values;

pub use nested::{dictionary_of, field, map_of, nested_types, runs_of};
pub use random::Random;
pub use rows::{rows, show};
pub use types::flat_types;
pub use values::array;
