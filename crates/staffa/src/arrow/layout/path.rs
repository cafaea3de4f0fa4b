//! Paths of leaves.

use std::fmt;
use std::ops::Deref;

use arrow_schema::FieldRef;

/// The path of a leaf: text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum LeafPath {
    /// The name of the column, which the schema holds.
    Column(FieldRef),
    /// A path of its own.
    Own(Box<str>),
}

impl Deref for LeafPath {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Column(field) => field.name(),
            Self::Own(path) => path,
        }
    }
}

impl fmt::Display for LeafPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for LeafPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
