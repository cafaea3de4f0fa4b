//! What the fuzz targets share.
//!
//! ```text
//! input -> seed (a table, written by the library) -> parts -> edits -> file, resealed -> everything a reader can do
//!          seed                                      parts    edit                       exercise
//! ```

pub mod edit;
pub mod exercise;
pub mod parts;
pub mod seed;

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};

use edit::Edit;
use seed::Seed;

/// What the fuzzer's bytes mean.
#[derive(Debug)]
pub enum Input {
    /// The bytes of a file, as they are: those that begin as one does.
    Raw(Vec<u8>),
    /// A valid file and what is to be changed in it.
    Edited { seed: Seed, edits: Vec<Edit> },
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        if u.peek_bytes(4) == Some(b"STFA") {
            return Ok(Self::Raw(u.bytes(u.len())?.to_vec()));
        }
        let seed = Seed::arbitrary(u)?;
        let mut edits = Vec::new();
        while !u.is_empty() && edits.len() < 16 {
            edits.push(Edit::arbitrary(u)?);
        }
        Ok(Self::Edited { seed, edits })
    }
}

impl Input {
    /// The bytes of the file.
    pub fn file(self) -> Vec<u8> {
        match self {
            Self::Raw(bytes) => bytes,
            Self::Edited { seed, edits } => {
                let mut parts = seed.parts().clone();
                edits.iter().for_each(|edit| edit.apply(&mut parts));
                parts.assemble()
            }
        }
    }
}
