//! The aggregates, by name.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// An aggregate of a column. Only `Rows` and `Nulls` count NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Number of rows, as `Int64`.
    Rows,
    /// Number of values that are not NULL, as `Int64`.
    Count,
    /// Number of NULLs, as `Int64`.
    Nulls,
    /// Smallest value, in the column's type; NULL where there is none. Floats are in IEEE 754's total
    /// order, as in Arrow's kernels and in filters: -0.0 before 0.0, NaN last (with the sign bit
    /// set: first).
    Min,
    /// Largest value, in the order of `Min`.
    Max,
    /// Sum; NULL where there are no values. Of integers `Int64` or `UInt64`, exact, an error where
    /// it does not fit; of booleans the number that are true; of durations their type; of decimals
    /// all digits that 128 or 256 bits hold; of floats `Float64`, added in the order of the rows.
    Sum,
    /// Number of different values, exactly, as `Int64`; floats by their bits. All of them are held
    /// in memory: more than some million are refused.
    Distinct,
    /// Whether no value is less than the one before it, in the order of `Min`, as `Boolean`.
    Sorted,
    /// `Sum` divided by `Count`, as `Float64`; NULL where there are no values. Of durations in the
    /// unit of their type.
    Mean,
}

impl Aggregate {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Rows, "rows"),
        (Self::Count, "count"),
        (Self::Nulls, "nulls"),
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Sum, "sum"),
        (Self::Mean, "mean"),
        (Self::Distinct, "distinct"),
        (Self::Sorted, "sorted"),
    ];

    /// The aggregates that this one is made of: itself, or the sum and the count of a mean.
    pub(super) fn parts(&self) -> &[Self] {
        match self {
            Self::Mean => &[Self::Sum, Self::Count],
            other => std::slice::from_ref(other),
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::ALL.iter().find(|(which, _)| which == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

impl FromStr for Aggregate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(which, _)| *which).ok_or_else(|| {
            let known = Self::ALL.map(|(_, name)| name).join(", ");
            Error::invalid(format!(
                "no aggregate is called {name:?}; there are {known}"
            ))
        })
    }
}
