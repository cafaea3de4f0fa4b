//! DuckDB's conjuncts over a scan become a predicate of the library.
//!
//! No filter is taken away from DuckDB: it tests the rows that come again, which costs little after
//! blocks and rows without a match are gone. So its estimates see the filter, and a plan that it
//! copies afterwards, which loses what a table function has accepted, still filters. For the same
//! reason a conjunct may be translated in part: the predicate must hold for all rows that the query
//! needs, not only for them.

use arrow_schema::{DataType, Schema, TimeUnit};
use duckdb_neo::Result;
use duckdb_neo::expression::{Expression, ExpressionType};
use duckdb_neo::logical_type::LogicalTypeID;
use duckdb_neo::table_function::PushdownData;
use duckdb_neo::types::{
    DateValue, TimestampMsValue, TimestampNsValue, TimestampSecValue, TimestampTzNsValue,
    TimestampTzValue, TimestampValue,
};
use duckdb_neo::value::Value;
use staffa::{Compare, Literal, Predicate};

/// More candidates of an `IN` are compared one by one, DuckDB looks them up.
const CANDIDATES: usize = 64;

/// What all rows of the result fulfil, of what DuckDB offers; `None` where nothing is known.
pub(crate) fn predicate(offered: &PushdownData<'_>, schema: &Schema) -> Result<Option<Predicate>> {
    let columns = (0..offered.count()?)
        .map(|i| offered.get_column_index(i))
        .collect::<Result<Vec<_>>>()?;
    let reader = Translation { columns, schema };
    let mut known = Vec::new();
    for filter in 0..offered.filter_count()? {
        known.extend(reader.part(&offered.filter(filter)?, false)?);
    }
    Ok(match known.len() {
        0 => None,
        1 => known.pop(),
        _ => Some(Predicate::And(known)),
    })
}

struct Translation<'s> {
    /// What the references of an expression stand for.
    columns: Vec<usize>,
    schema: &'s Schema,
}

impl Translation<'_> {
    /// A part of a filter: the same where `exact`, else something that holds wherever it does.
    fn part(&self, expression: &Expression<'_>, exact: bool) -> Result<Option<Predicate>> {
        use ExpressionType as Kind;
        let kind = expression.expression_type()?;
        let children = expression.children()?;
        Ok(match (kind, &children[..]) {
            (Kind::ConjunctionAnd, parts) => {
                let all = parts
                    .iter()
                    .map(|part| self.part(part, exact))
                    .collect::<Result<Vec<_>>>()?;
                if exact && all.contains(&None) {
                    return Ok(None);
                }
                let known: Vec<_> = all.into_iter().flatten().collect();
                (!known.is_empty()).then_some(Predicate::And(known))
            }
            (Kind::ConjunctionOr, parts) => {
                let all = parts
                    .iter()
                    .map(|part| self.part(part, exact))
                    .collect::<Result<Option<Vec<_>>>>()?;
                all.map(Predicate::Or)
            }
            (Kind::OperatorNot, [part]) => self
                .part(part, true)?
                .map(|part| Predicate::Not(Box::new(part))),
            (Kind::OperatorIsNull, [column]) => self
                .any_column(column)?
                .map(|column| Predicate::IsNull { column }),
            (Kind::OperatorIsNotNull, [column]) => self
                .any_column(column)?
                .map(|column| Predicate::Not(Box::new(Predicate::IsNull { column }))),
            (Kind::CompareBetween, [value, low, high]) => {
                // Whether the bounds belong to it is not told: with them it holds wherever it does.
                if exact {
                    return Ok(None);
                }
                let low = self.compare(Compare::GtEq, value, low)?;
                let high = self.compare(Compare::LtEq, value, high)?;
                let known: Vec<_> = [low, high].into_iter().flatten().collect();
                (!known.is_empty()).then_some(Predicate::And(known))
            }
            (Kind::CompareIn, [value, candidates @ ..]) if candidates.len() <= CANDIDATES => {
                let parts = candidates
                    .iter()
                    .map(|candidate| self.compare(Compare::Eq, value, candidate));
                parts
                    .collect::<Result<Option<Vec<_>>>>()?
                    .map(Predicate::Or)
            }
            (Kind::CompareNotIn, [value, candidates @ ..]) if candidates.len() <= CANDIDATES => {
                let parts = candidates
                    .iter()
                    .map(|candidate| self.compare(Compare::NotEq, value, candidate));
                parts
                    .collect::<Result<Option<Vec<_>>>>()?
                    .map(Predicate::And)
            }
            (Kind::BoundColumnRef, []) => match self.column(expression)? {
                Some((column, DataType::Boolean)) => Some(Predicate::Compare {
                    column,
                    op: Compare::Eq,
                    literal: Literal::Bool(true),
                }),
                _ => None,
            },
            (Kind::BoundFunction, [value, text]) => {
                self.text_test(&expression.function_name()?, value, text)?
            }
            (kind, [left, right]) => match comparison(kind) {
                Some(op) if left.expression_type()? == Kind::BoundColumnRef => {
                    self.compare(op, left, right)?
                }
                Some(op) => self.compare(mirrored(op), right, left)?,
                None => None,
            },
            _ => None,
        })
    }

    /// A column of the top level, of whatever type.
    fn any_column(&self, expression: &Expression<'_>) -> Result<Option<String>> {
        Ok(self.column(expression)?.map(|(name, _)| name))
    }

    fn column(&self, expression: &Expression<'_>) -> Result<Option<(String, &DataType)>> {
        if expression.expression_type()? != ExpressionType::BoundColumnRef {
            return Ok(None);
        }
        let column = self.columns.get(expression.reference_index()?);
        let field = column.and_then(|column| self.schema.fields().get(*column));
        Ok(field.map(|field| (field.name().clone(), innermost(field.data_type()))))
    }

    /// A column compared with a constant.
    fn compare(
        &self,
        op: Compare,
        value: &Expression<'_>,
        other: &Expression<'_>,
    ) -> Result<Option<Predicate>> {
        let Some((column, ty)) = self.column(value)? else {
            return Ok(None);
        };
        if other.expression_type()? != ExpressionType::ValueConstant {
            return Ok(None);
        }
        let literal = literal(&other.get_constant_value()?, ty)?;
        Ok(literal.and_then(|literal| match literal {
            Literal::Float(value) => float(op, &column, value),
            literal => Some(Predicate::Compare {
                column,
                op,
                literal,
            }),
        }))
    }

    /// What DuckDB makes of `LIKE`, and its own tests of text.
    fn text_test(
        &self,
        name: &str,
        value: &Expression<'_>,
        text: &Expression<'_>,
    ) -> Result<Option<Predicate>> {
        let Some((column, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)) =
            self.column(value)?
        else {
            return Ok(None);
        };
        if text.expression_type()? != ExpressionType::ValueConstant {
            return Ok(None);
        }
        let Some(text) = text.get_constant_value()?.get::<String>()? else {
            return Ok(None);
        };
        Ok(match name {
            "prefix" | "starts_with" | "^@" => Some(Predicate::StartsWith {
                column,
                prefix: text,
            }),
            "contains" => Some(Predicate::Contains { column, part: text }),
            "suffix" | "ends_with" => {
                let text = text
                    .replace('\\', "\\\\")
                    .replace('%', "\\%")
                    .replace('_', "\\_");
                Some(Predicate::Like {
                    column,
                    pattern: format!("%{text}"),
                })
            }
            // A backslash is like any other character in DuckDB's patterns.
            "~~" if !text.contains('\\') => Some(Predicate::Like {
                column,
                pattern: text,
            }),
            "!~~" if !text.contains('\\') => Some(Predicate::Not(Box::new(Predicate::Like {
                column,
                pattern: text,
            }))),
            _ => None,
        })
    }
}

fn comparison(kind: ExpressionType) -> Option<Compare> {
    Some(match kind {
        ExpressionType::CompareEqual => Compare::Eq,
        ExpressionType::CompareNotEqual => Compare::NotEq,
        ExpressionType::CompareLessThan => Compare::Lt,
        ExpressionType::CompareLessThanOrEqualTo => Compare::LtEq,
        ExpressionType::CompareGreaterThan => Compare::Gt,
        ExpressionType::CompareGreaterThanOrEqualTo => Compare::GtEq,
        _ => return None,
    })
}

/// The same with its sides exchanged.
fn mirrored(op: Compare) -> Compare {
    match op {
        Compare::Eq | Compare::NotEq => op,
        Compare::Lt => Compare::Gt,
        Compare::LtEq => Compare::GtEq,
        Compare::Gt => Compare::Lt,
        Compare::GtEq => Compare::LtEq,
    }
}

/// A comparison of floats. To DuckDB -0.0 equals 0.0, and any NaN is greater than infinity and
/// equal to itself; the library orders -NaN, -infinity, ..., -0.0, 0.0, ..., infinity, NaN.
fn float(op: Compare, column: &str, value: f64) -> Option<Predicate> {
    if value.is_nan() {
        return None;
    }
    let compare = |op, value| Predicate::Compare {
        column: column.to_owned(),
        op,
        literal: Literal::Float(value),
    };
    let value = match op {
        Compare::Eq | Compare::NotEq if value == 0.0 => {
            let zero = Predicate::And(vec![
                compare(Compare::GtEq, -0.0),
                compare(Compare::LtEq, 0.0),
            ]);
            return Some(if op == Compare::Eq {
                zero
            } else {
                Predicate::Not(Box::new(zero))
            });
        }
        Compare::LtEq | Compare::Gt if value == 0.0 => 0.0,
        _ if value == 0.0 => -0.0,
        _ => value,
    };
    Some(match op {
        Compare::Eq | Compare::NotEq => compare(op, value),
        Compare::Lt | Compare::LtEq => Predicate::And(vec![
            compare(Compare::GtEq, f64::NEG_INFINITY),
            compare(op, value),
        ]),
        Compare::Gt | Compare::GtEq => Predicate::Or(vec![
            compare(op, value),
            compare(Compare::Lt, f64::NEG_INFINITY),
        ]),
    })
}

/// A constant for a column of this type; `None` where the two may not mean the same.
fn literal(value: &Value, ty: &DataType) -> Result<Option<Literal>> {
    use LogicalTypeID as Id;
    if value.is_null()? {
        return Ok(Some(Literal::Null));
    }
    let id = value.logical_type()?.id()?;
    Ok(match (ty, id) {
        (DataType::Boolean, Id::Boolean) => value.get::<bool>()?.map(Literal::Bool),
        (
            _,
            Id::TinyInt
            | Id::SmallInt
            | Id::Integer
            | Id::BigInt
            | Id::UTinyInt
            | Id::USmallInt
            | Id::UInteger
            | Id::UBigInt,
        ) if ty.is_integer() => value.dbg_string()?.parse().ok().map(Literal::Int),
        (DataType::Float32, Id::Float) => value
            .get::<f32>()?
            .map(|value| Literal::Float(value.into())),
        (DataType::Float64, Id::Double) => value.get::<f64>()?.map(Literal::Float),
        (
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..),
            Id::Decimal,
        ) => Some(Literal::Text(value.dbg_string()?)),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Id::Varchar) => {
            value.get::<String>()?.map(Literal::Text)
        }
        (DataType::Date32, Id::Date) => value
            .get::<DateValue>()?
            .and_then(|day| date(day.0.into()))
            .map(Literal::Text),
        (DataType::Timestamp(unit, _), id) => {
            let nanoseconds = match (unit, id) {
                (TimeUnit::Second, Id::TimestampSec) => value
                    .get::<TimestampSecValue>()?
                    .map(|t| (t.0, 1_000_000_000)),
                (TimeUnit::Millisecond, Id::TimestampMs) => {
                    value.get::<TimestampMsValue>()?.map(|t| (t.0, 1_000_000))
                }
                (TimeUnit::Microsecond, Id::Timestamp) => {
                    value.get::<TimestampValue>()?.map(|t| (t.0, 1_000))
                }
                (TimeUnit::Microsecond, Id::TimestampTz) => {
                    value.get::<TimestampTzValue>()?.map(|t| (t.0, 1_000))
                }
                (TimeUnit::Nanosecond, Id::TimestampNs) => {
                    value.get::<TimestampNsValue>()?.map(|t| (t.0, 1))
                }
                (TimeUnit::Nanosecond, Id::TimestampTzNs) => {
                    value.get::<TimestampTzNsValue>()?.map(|t| (t.0, 1))
                }
                _ => None,
            };
            nanoseconds
                .and_then(|(time, unit)| timestamp(i128::from(time) * unit))
                .map(Literal::Text)
        }
        _ => None,
    })
}

/// The type behind dictionaries and runs.
fn innermost(ty: &DataType) -> &DataType {
    match ty {
        DataType::RunEndEncoded(_, values) => innermost(values.data_type()),
        DataType::Dictionary(_, values) => innermost(values),
        ty => ty,
    }
}

/// A day since 1970 as text; the years that have four digits.
fn date(day: i64) -> Option<String> {
    // Days since 1 March of the year 0, in cycles of 400 years of 146,097 days.
    let days = day.checked_add(719_468)?;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = cycle * 400 + year + i64::from(month <= 2);
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Nanoseconds since 1970 as text.
fn timestamp(nanoseconds: i128) -> Option<String> {
    const DAY: i128 = 86_400_000_000_000;
    let date = date(i64::try_from(nanoseconds.div_euclid(DAY)).ok()?)?;
    let rest = nanoseconds.rem_euclid(DAY);
    let (seconds, fraction) = (rest / 1_000_000_000, rest % 1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some(format!(
        "{date}T{hours:02}:{minutes:02}:{seconds:02}.{fraction:09}Z"
    ))
}
