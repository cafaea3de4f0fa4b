//! Predicates built by methods: `col("price").gt(3).and(col("name").is_null().not())`.

use std::ops;

use super::{Compare, Literal, Predicate};

/// A column, to be tested; made by [`col`].
#[derive(Debug, Clone)]
pub struct Column(String);

/// A column by its name; a field of a struct as `column.field`. Names in quotes or brackets are not
/// parsed: the name is taken as it is.
///
/// ```
/// # fn main() -> staffa::Result<()> {
/// use staffa::{Predicate, col};
///
/// let predicate = col("price").gt_eq(0.5).and(col("city").is_in(["Oban", "Tiree"]));
/// assert_eq!(predicate, "price >= 0.5 and city in ('Oban', 'Tiree')".parse()?);
/// let others: Predicate = col("city").is_null().or(col("day").lt("2024-01-31")).not();
/// assert_eq!(others.to_string(), "not (city is null or day < '2024-01-31')");
/// # Ok(())
/// # }
/// ```
pub fn col(name: impl Into<String>) -> Column {
    Column(name.into())
}

impl Column {
    fn compare(self, op: Compare, literal: impl Into<Literal>) -> Predicate {
        Predicate::Compare {
            column: self.0,
            op,
            literal: literal.into(),
        }
    }

    /// `column = literal`.
    pub fn eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::Eq, literal)
    }

    /// `column <> literal`.
    pub fn not_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::NotEq, literal)
    }

    /// `column < literal`.
    pub fn lt(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::Lt, literal)
    }

    /// `column <= literal`.
    pub fn lt_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::LtEq, literal)
    }

    /// `column > literal`.
    pub fn gt(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::Gt, literal)
    }

    /// `column >= literal`.
    pub fn gt_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Compare::GtEq, literal)
    }

    /// `column between low and high`: both ends are included.
    pub fn between(self, low: impl Into<Literal>, high: impl Into<Literal>) -> Predicate {
        self.clone().gt_eq(low).and(self.lt_eq(high))
    }

    /// `column in (literals)`.
    pub fn is_in<L: Into<Literal>>(self, literals: impl IntoIterator<Item = L>) -> Predicate {
        Predicate::In {
            column: self.0,
            literals: literals.into_iter().map(Into::into).collect(),
        }
    }

    /// `column is null`.
    pub fn is_null(self) -> Predicate {
        Predicate::IsNull { column: self.0 }
    }

    /// `column is not null`.
    pub fn is_not_null(self) -> Predicate {
        self.is_null().not()
    }

    /// `column starts with prefix`.
    pub fn starts_with(self, prefix: impl Into<String>) -> Predicate {
        Predicate::StartsWith {
            column: self.0,
            prefix: prefix.into(),
        }
    }

    /// `column contains part`.
    pub fn contains(self, part: impl Into<String>) -> Predicate {
        Predicate::Contains {
            column: self.0,
            part: part.into(),
        }
    }

    /// `column like pattern`: SQL's, with `%` and `_`.
    pub fn like(self, pattern: impl Into<String>) -> Predicate {
        Predicate::Like {
            column: self.0,
            pattern: pattern.into(),
        }
    }

    /// `column ilike pattern`: as [`like`](Self::like), upper and lower case alike.
    pub fn ilike(self, pattern: impl Into<String>) -> Predicate {
        Predicate::ILike {
            column: self.0,
            pattern: pattern.into(),
        }
    }
}

impl Predicate {
    /// Both are true.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut parts) if !parts.is_empty() => {
                parts.push(other);
                Self::And(parts)
            }
            one => Self::And(vec![one, other]),
        }
    }

    /// One of them is true, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut parts) if !parts.is_empty() => {
                parts.push(other);
                Self::Or(parts)
            }
            one => Self::Or(vec![one, other]),
        }
    }

    /// True where this is false: where it is NULL, neither. `!predicate` is the same.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "it is implemented, and needs no import here"
    )]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl ops::Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        self.not()
    }
}

/// `From` of numbers that fit one of the literals exactly.
macro_rules! from_numbers {
    ($variant:ident($wide:ty): $($number:ty)*) => {$(
        impl From<$number> for Literal {
            fn from(value: $number) -> Self {
                Self::$variant(<$wide>::from(value))
            }
        }
    )*};
}
from_numbers!(Int(i128): i8 i16 i32 i64 i128 u8 u16 u32 u64);
from_numbers!(Float(f64): f32 f64);
from_numbers!(Bool(bool): bool);
from_numbers!(Text(String): &str String &String char);

impl From<usize> for Literal {
    fn from(value: usize) -> Self {
        Self::Int(value as i128)
    }
}

impl From<isize> for Literal {
    fn from(value: isize) -> Self {
        Self::Int(value as i128)
    }
}

impl<L: Into<Literal>> From<Option<L>> for Literal {
    fn from(value: Option<L>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_predicates_are_the_parsed_ones() {
        let a = || col("a");
        let built = [
            (a().eq(3), "a = 3"),
            (a().not_eq(-3_i8), "a <> -3"),
            (a().lt(u64::MAX), "a < 18446744073709551615"),
            (a().lt_eq(0.5), "a <= 0.5"),
            (a().gt(true), "a > true"),
            (a().gt_eq(String::from("it's")), "a >= 'it''s'"),
            (a().eq(None::<i32>), "a = null"),
            (a().between(1, 2), "a between 1 and 2"),
            (a().is_in([1_usize, 2]), "a in (1, 2)"),
            (a().is_in([Some("x"), None]), "a in ('x', null)"),
            (a().is_not_null(), "a is not null"),
            (a().starts_with("x"), "a starts with 'x'"),
            (a().contains("x"), "a contains 'x'"),
            (a().like("x%"), "a like 'x%'"),
            (a().ilike("x%").not(), "a not ilike 'x%'"),
            (!a().is_null(), "a is not null"),
            (col("st.a").gt(3), "st.a > 3"),
            (
                a().gt(3).and(col("b").is_null().not()).and(a().lt(9)),
                "a > 3 and b is not null and a < 9",
            ),
            (
                a().gt(3).or(a().is_null()).and(col("b c").eq(1)),
                "(a > 3 or a is null) and \"b c\" = 1",
            ),
        ];
        for (predicate, text) in built {
            assert_eq!(predicate, text.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn nothing_joined_with_a_test_is_still_nothing() {
        let (all, none) = (Predicate::And(vec![]), Predicate::Or(vec![]));
        assert_eq!(all.and(col("a").eq(1)).to_string(), "true and a = 1");
        assert_eq!(none.or(col("a").eq(1)).to_string(), "false or a = 1");
    }
}
