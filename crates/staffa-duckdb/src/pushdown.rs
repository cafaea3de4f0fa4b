//! DuckDB's filters of a scan, translated to a predicate of the library.
//!
//! DuckDB keeps all filters and applies them again, which costs little after blocks and rows without
//! a match are gone. So its estimates include the filter, and a copy of the plan, which loses what a
//! table function has accepted, still filters. For the same reason a conjunct may be translated in
//! part: the predicate must hold for all rows of the result, but may hold for others.

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

/// Longer `IN` lists are left to DuckDB.
const MAX_CANDIDATES: usize = 4096;

/// A predicate that holds for all rows of the result; None if no filter can be translated.
pub(crate) fn predicate(offered: &PushdownData<'_>, schema: &Schema) -> Result<Option<Predicate>> {
    let columns = (0..offered.count()?)
        .map(|i| offered.get_column_index(i))
        .collect::<Result<Vec<_>>>()?;
    let translation = Translation { columns, schema };
    let mut known = Vec::new();
    for filter in 0..offered.filter_count()? {
        known.extend(translation.part(&offered.filter(filter)?, false)?);
    }
    Ok(match known.len() {
        0 => None,
        1 => known.pop(),
        _ => Some(Predicate::And(known)),
    })
}

struct Translation<'s> {
    /// The column indices of the references in an expression.
    columns: Vec<usize>,
    schema: &'s Schema,
}

impl Translation<'_> {
    /// Translates a part of a filter: exactly if `exact`, else to a predicate that it implies.
    fn part(&self, expression: &Expression<'_>, exact: bool) -> Result<Option<Predicate>> {
        use ExpressionType as Kind;
        let kind = expression.expression_type()?;
        let children = expression.children()?;
        Ok(match (kind, &children[..]) {
            (Kind::ConjunctionAnd, parts) => self.and(parts, exact)?,
            (Kind::ConjunctionOr, parts) => {
                let all = parts.iter().map(|part| self.part(part, exact));
                let all = all.collect::<Result<Option<Vec<_>>>>()?;
                all.map(Predicate::Or)
            }
            (Kind::OperatorNot, [part]) => self.part(part, true)?.map(not),
            (Kind::OperatorIsNull, [column]) => self.is_null(column)?,
            (Kind::OperatorIsNotNull, [column]) => self.is_null(column)?.map(not),
            // DuckDB does not say whether the bounds are included: with them the predicate is implied.
            (Kind::CompareBetween, _) if exact => None,
            (Kind::CompareBetween, [value, low, high]) => {
                let low = self.compare(Compare::GtEq, value, low)?;
                let high = self.compare(Compare::LtEq, value, high)?;
                known_of([low, high])
            }
            (Kind::CompareIn, [value, candidates @ ..]) => self
                .compare_all(Compare::Eq, value, candidates)?
                .map(Predicate::Or),
            (Kind::CompareNotIn, [value, candidates @ ..]) => self
                .compare_all(Compare::NotEq, value, candidates)?
                .map(Predicate::And),
            (Kind::BoundColumnRef, []) => self.boolean(expression)?,
            (Kind::BoundFunction, [value, text]) => {
                self.text_test(&expression.function_name()?, value, text)?
            }
            (kind, [left, right]) => match comparison(kind) {
                Some(op) if left.expression_type()? == Kind::BoundColumnRef => {
                    self.compare(op, left, right)?
                }
                Some(op) => self.compare(op.mirrored(), right, left)?,
                None => None,
            },
            _ => None,
        })
    }

    fn and(&self, parts: &[Expression<'_>], exact: bool) -> Result<Option<Predicate>> {
        let all = parts.iter().map(|part| self.part(part, exact));
        let all = all.collect::<Result<Vec<_>>>()?;
        if exact && all.contains(&None) {
            return Ok(None);
        }
        Ok(known_of(all))
    }

    fn is_null(&self, expression: &Expression<'_>) -> Result<Option<Predicate>> {
        let column = self.column(expression)?;
        Ok(column.map(|(column, _)| Predicate::IsNull { column }))
    }

    /// A boolean column as a filter.
    fn boolean(&self, expression: &Expression<'_>) -> Result<Option<Predicate>> {
        Ok(match self.column(expression)? {
            Some((column, DataType::Boolean)) => Some(Predicate::Compare {
                column,
                op: Compare::Eq,
                literal: Literal::Bool(true),
            }),
            _ => None,
        })
    }

    /// A column compared with each candidate; None for long lists.
    fn compare_all(
        &self,
        op: Compare,
        value: &Expression<'_>,
        candidates: &[Expression<'_>],
    ) -> Result<Option<Vec<Predicate>>> {
        if candidates.len() > MAX_CANDIDATES {
            return Ok(None);
        }
        candidates
            .iter()
            .map(|candidate| self.compare(op, value, candidate))
            .collect()
    }

    /// The name and the decoded type of a top-level column.
    fn column(&self, expression: &Expression<'_>) -> Result<Option<(String, &DataType)>> {
        if expression.expression_type()? != ExpressionType::BoundColumnRef {
            return Ok(None);
        }
        let column = self.columns.get(expression.reference_index()?);
        let field = column.and_then(|column| self.schema.fields().get(*column));
        Ok(field.map(|field| (field.name().clone(), decoded_type(field.data_type()))))
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

    /// Translates the text functions that DuckDB uses, also for `LIKE`.
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
            // A backslash does not escape in DuckDB's patterns.
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

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

/// The conjunction of the known predicates.
fn known_of(all: impl IntoIterator<Item = Option<Predicate>>) -> Option<Predicate> {
    let known: Vec<_> = all.into_iter().flatten().collect();
    (!known.is_empty()).then_some(Predicate::And(known))
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

/// A comparison of floats. In DuckDB -0.0 equals 0.0, and every NaN is greater than infinity and
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
        _ => return None,
    })
}

/// A constant for a column of this type; None if its meaning may differ.
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
        (DataType::Timestamp(unit, _), id) => nanoseconds(value, *unit, id)?
            .and_then(timestamp)
            .map(Literal::Text),
        _ => None,
    })
}

/// Nanoseconds since 1970 of a timestamp constant; None if its unit or time zone differs from the
/// column's.
fn nanoseconds(value: &Value, unit: TimeUnit, id: LogicalTypeID) -> Result<Option<i128>> {
    use LogicalTypeID as Id;
    let (time, nanoseconds_per_unit) = match (unit, id) {
        (TimeUnit::Second, Id::TimestampSec) => (
            value.get::<TimestampSecValue>()?.map(|t| t.0),
            1_000_000_000,
        ),
        (TimeUnit::Millisecond, Id::TimestampMs) => {
            (value.get::<TimestampMsValue>()?.map(|t| t.0), 1_000_000)
        }
        (TimeUnit::Microsecond, Id::Timestamp) => {
            (value.get::<TimestampValue>()?.map(|t| t.0), 1_000)
        }
        (TimeUnit::Microsecond, Id::TimestampTz) => {
            (value.get::<TimestampTzValue>()?.map(|t| t.0), 1_000)
        }
        (TimeUnit::Nanosecond, Id::TimestampNs) => {
            (value.get::<TimestampNsValue>()?.map(|t| t.0), 1)
        }
        (TimeUnit::Nanosecond, Id::TimestampTzNs) => {
            (value.get::<TimestampTzNsValue>()?.map(|t| t.0), 1)
        }
        _ => (None, 1),
    };
    Ok(time.map(|time| i128::from(time) * nanoseconds_per_unit))
}

/// The type of the values of dictionaries and run-ends.
fn decoded_type(ty: &DataType) -> &DataType {
    match ty {
        DataType::RunEndEncoded(_, values) => decoded_type(values.data_type()),
        DataType::Dictionary(_, values) => decoded_type(values),
        ty => ty,
    }
}

/// A day since 1970 as text; None outside the years 1 to 9999.
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

/// Nanoseconds since 1970 as text; None outside the years 1 to 9999.
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
