//! Predicates: text to a predicate, bound to a schema, evaluated on batches and on zone maps.
//!
//! ```text
//! "price < 10 and name is not null" --parse--> Predicate --bind to a schema--> Bound --evaluate--> rows of a batch
//!                                                                                   --may_match-> blocks, by zone maps
//! ```
//!
//! The logic is SQL's: a comparison with NULL is NULL, neither true nor false, and only rows for
//! which the whole is true are kept. Numbers are compared by value, whatever the type of the
//! column: `x < 10.5` on integers means `x <= 10`, and `x < 300` holds for every byte.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod bind;
mod build;
mod evaluate;
mod like;
mod parse;
mod path;
mod position;
mod prune;
#[cfg(test)]
mod tests;

use std::fmt;

use arrow_schema::Schema;

use crate::error::Result;

pub use bind::Bound;
pub(crate) use bind::{Node, Test, array_of_one, innermost};
pub use build::{Column, col};
pub(crate) use evaluate::true_rows;
pub(crate) use path::top_level;
pub(crate) use position::{Half, Value};
pub(crate) use prune::{may_be_true, must_be_true};

/// A filter over columns; a row is kept where it is true.
///
/// Made from [columns](col), from parts, or from text ([`FromStr`](std::str::FromStr)): comparisons (`=`, `==`, `<>`,
/// `!=`, `<`, `<=`, `>`, `>=`; the literal may stand on the left), `in (..)`, `between .. and ..`,
/// `starts with ..`, `contains ..`, `like ..`, `ilike ..`, `is null`, `and`, `or`, `not` and brackets.
/// Text stands in single quotes, a quote in it doubled; a column whose name is no plain word stands in
/// double quotes. A field of a struct is named behind a point: `address.city = 'Oban'`; a column that
/// has the whole name, point and all, goes first.
///
/// Its `Display` parses back to the same, up to `And` and `Or` of one part.
///
/// ```
/// # fn main() -> staffa::Result<()> {
/// use staffa::{Compare, Literal, Predicate};
///
/// let predicate: Predicate = "price < 10 and (name = 'x' or \"odd name\" is not null)".parse()?;
/// assert_eq!(predicate.columns(), ["price", "name", "odd name"]);
/// let text: Predicate = "name starts with 'Sta' and not name like '%a_a'".parse()?;
/// assert_eq!(text.to_string(), "name starts with 'Sta' and name not like '%a_a'");
/// let price = Predicate::Compare { column: "price".into(), op: Compare::GtEq, literal: Literal::Float(0.5) };
/// assert_eq!(Predicate::And(vec![predicate, price]).to_string(),
///     "(price < 10 and (name = 'x' or \"odd name\" is not null)) and price >= 0.5");
/// assert_eq!("price <".parse::<Predicate>().unwrap_err().to_string(),
///     "predicate, character 8: a literal (5, 'text', true, null) expected, found the end, after \"price <\"");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// `column op literal`.
    Compare {
        /// Name of a top-level column.
        column: String,
        /// How they are compared.
        op: Compare,
        /// With what.
        literal: Literal,
    },
    /// `column in (literals)`: equal to one of them; false, not NULL, where there are none.
    In {
        /// Name of a top-level column.
        column: String,
        /// With what.
        literals: Vec<Literal>,
    },
    /// `column starts with 'prefix'`, of text and binary (its UTF-8).
    StartsWith {
        /// Name of a top-level column.
        column: String,
        /// Its first bytes.
        prefix: String,
    },
    /// `column contains 'part'`, of text and binary (its UTF-8).
    Contains {
        /// Name of a top-level column.
        column: String,
        /// Bytes somewhere in it.
        part: String,
    },
    /// `column like 'pattern'`: SQL's, where `%` stands for any text and `_` for one character; a
    /// backslash before them takes that meaning away. Of text; of binary only what has the form
    /// `text`, `text%` or `%text%`.
    Like {
        /// Name of a top-level column.
        column: String,
        /// What all of it is like.
        pattern: String,
    },
    /// `column ilike 'pattern'`: as `Like`, upper and lower case alike; of text.
    ILike {
        /// Name of a top-level column.
        column: String,
        /// What all of it is like.
        pattern: String,
    },
    /// `column is null`; of any type, nested ones too.
    IsNull {
        /// Name of a top-level column.
        column: String,
    },
    /// All of them; of none: true.
    And(Vec<Predicate>),
    /// One of them; of none: false.
    Or(Vec<Predicate>),
    /// True where it is false.
    Not(Box<Predicate>),
}

/// How two values are compared. Floats stand in IEEE 754's total order, as in Arrow's kernels: -0.0
/// is less than 0.0, NaN greater than everything (with the sign bit set: less than everything) and
/// equal to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compare {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

impl Compare {
    /// The comparison that is true where this one is false, for values that are not NULL.
    fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
        }
    }

    /// The comparison with its sides exchanged: `1 < x` is `x > 1`.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Eq | Self::NotEq => self,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }
}

/// What a column is compared with; made from Rust's booleans, numbers and strings by [`From`], and
/// from an [`Option`], whose `None` is NULL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Literal {
    /// Compared with it, nothing is true.
    Null,
    /// For boolean columns.
    Bool(bool),
    /// For columns of numbers, and of durations in the column's unit. A float column compares with
    /// the nearest float.
    Int(i128),
    /// As `Int`. An integer column compares with the exact value of this double; a decimal column
    /// with the shortest decimal that reads as it, so that 0.1 means a tenth.
    Float(f64),
    /// For columns of text and binary (its UTF-8), of dates (`2020-01-31`), times (`12:30:00.5`),
    /// timestamps (`2020-01-31T12:30:00Z`; without an offset: in the column's time zone) and
    /// decimals (`0.1`; exact at any length).
    Text(String),
}

impl Predicate {
    /// The columns it reads, each once, in order; a field of a struct as `column.field`.
    pub fn columns(&self) -> Vec<&str> {
        fn collect<'a>(predicate: &'a Predicate, columns: &mut Vec<&'a str>) {
            match predicate {
                Predicate::Compare { column, .. }
                | Predicate::In { column, .. }
                | Predicate::StartsWith { column, .. }
                | Predicate::Contains { column, .. }
                | Predicate::Like { column, .. }
                | Predicate::ILike { column, .. }
                | Predicate::IsNull { column } => {
                    if !columns.contains(&column.as_str()) {
                        columns.push(column);
                    }
                }
                Predicate::And(parts) | Predicate::Or(parts) => {
                    parts.iter().for_each(|part| collect(part, columns));
                }
                Predicate::Not(part) => collect(part, columns),
            }
        }
        let mut columns = Vec::new();
        collect(self, &mut columns);
        columns
    }
}

impl Predicate {
    /// The positions in a schema of the columns that it reads: of a field of a struct, that of the
    /// struct.
    ///
    /// ```
    /// # fn main() -> staffa::Result<()> {
    /// use arrow_schema::{DataType, Field, Schema};
    ///
    /// let point = Field::new_struct("point", vec![Field::new("x", DataType::Int64, true)], true);
    /// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), point]);
    /// let predicate: staffa::Predicate = "point.x > 3".parse()?;
    /// assert_eq!(predicate.column_positions(&schema)?, [1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn column_positions(&self, schema: &Schema) -> Result<Vec<usize>> {
        let mut positions = Vec::new();
        for column in self.columns() {
            let position = top_level(schema, column)?;
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        Ok(positions)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Not(part) => match &**part {
                Self::IsNull { .. } | Self::In { .. } | Self::Like { .. } | Self::ILike { .. } => {
                    part.test(f, "not ")
                }
                part => write!(f, "not ({part})"),
            },
            Self::And(parts) if parts.is_empty() => f.write_str("true"),
            Self::Or(parts) if parts.is_empty() => f.write_str("false"),
            Self::And(parts) => joined(parts, " and ", f),
            Self::Or(parts) => joined(parts, " or ", f),
            test => test.test(f, ""),
        }
    }
}

impl Predicate {
    /// Shows a test of a column, with `not` or without.
    fn test(&self, f: &mut fmt::Formatter<'_>, not: &str) -> fmt::Result {
        let (name, text) = (parse::name, parse::text);
        match self {
            Self::Compare {
                column,
                op,
                literal,
            } => write!(f, "{} {op} {literal}", name(column)),
            Self::In { column, literals } => {
                let literals: Vec<String> = literals.iter().map(Literal::to_string).collect();
                write!(f, "{} {not}in ({})", name(column), literals.join(", "))
            }
            Self::StartsWith { column, prefix } => {
                write!(f, "{} starts with {}", name(column), text(prefix))
            }
            Self::Contains { column, part } => {
                write!(f, "{} contains {}", name(column), text(part))
            }
            Self::Like { column, pattern } => {
                write!(f, "{} {not}like {}", name(column), text(pattern))
            }
            Self::ILike { column, pattern } => {
                write!(f, "{} {not}ilike {}", name(column), text(pattern))
            }
            Self::IsNull { column } => write!(f, "{} is {not}null", name(column)),
            Self::And(_) | Self::Or(_) | Self::Not(_) => write!(f, "{self}"),
        }
    }
}

/// Shows parts with a word between them.
fn joined(parts: &[Predicate], joint: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        f.write_str(if i > 0 { joint } else { "" })?;
        match part {
            // Brackets even where precedence would do: the nesting is part of the value.
            Predicate::And(inner) | Predicate::Or(inner) if !inner.is_empty() => {
                write!(f, "({part})")?;
            }
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
        })
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) if value.is_nan() => f.write_str(if value.is_sign_negative() {
                "-nan"
            } else {
                "nan"
            }),
            // `Debug`, which always has a point or an exponent: it reads back as a float.
            Self::Float(value) => fmt::Debug::fmt(value, f),
            Self::Text(text) => f.write_str(&parse::text(text)),
        }
    }
}
