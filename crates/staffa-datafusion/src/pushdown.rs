//! DataFusion's physical expressions as predicates.
//!
//! [`exact`] is for filters that the scan applies alone: the predicate is true for the same rows, and
//! false or NULL where the expression is. [`implied`] is for dynamic filters, which their operator
//! applies again: the predicate holds at least where the expression does.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use staffa::{Compare, Predicate};

use crate::literal::literal;
use crate::types::{comparable, innermost, is_text, widens};

type Expr = Arc<dyn PhysicalExpr>;

/// Longer lists are left to DataFusion.
const MAX_CANDIDATES: usize = 4096;

/// The predicate that is true, false and NULL where the expression is; `None` where there is none.
pub(crate) fn exact(expr: &Expr, schema: &Schema) -> Option<Predicate> {
    let predicate = Translation { schema }.exact(expr)?;
    predicate.bind(schema).is_ok().then_some(predicate)
}

/// What a predicate says of an expression.
pub(crate) struct Implied {
    /// Holds at least where the expression does; `None` where nothing is known.
    pub predicate: Option<Predicate>,
    /// Whether it says all that the expression does.
    pub is_exact: bool,
}

/// The predicate that follows from an expression.
pub(crate) fn implied(expr: &Expr, schema: &Schema) -> Implied {
    let translation = Translation { schema };
    let bound = |predicate: &Predicate| predicate.bind(schema).is_ok();
    let exact = translation.exact(expr).filter(bound);
    let is_exact = exact.is_some();
    let predicate = exact.or_else(|| translation.implied(expr).filter(bound));
    Implied {
        // `true` says nothing.
        predicate: predicate.filter(|predicate| *predicate != Predicate::And(Vec::new())),
        is_exact,
    }
}

struct Translation<'s> {
    schema: &'s Schema,
}

/// A column or a field of one, as a predicate names it.
struct Operand {
    path: String,
    /// In the file.
    stored: DataType,
    /// Behind casts that lose nothing.
    compared: DataType,
}

impl Translation<'_> {
    fn exact(&self, expr: &Expr) -> Option<Predicate> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.list(list);
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return self.is_null(test.arg());
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return self.is_null(test.arg()).map(not);
        }
        if let Some(test) = expr.downcast_ref::<NotExpr>() {
            return self.exact(test.arg()).map(not);
        }
        if let Some(test) = expr.downcast_ref::<LikeExpr>() {
            return self.like(test);
        }
        if let Some(value) = expr.downcast_ref::<Literal>() {
            return constant(value);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>()
            && let Some(test) = self.text_test(call)
        {
            return Some(test);
        }
        // A boolean column is a test by itself.
        let column = self.operand(expr)?;
        (innermost(&column.compared) == &DataType::Boolean).then_some(Predicate::Compare {
            column: column.path,
            op: Compare::Eq,
            literal: staffa::Literal::Bool(true),
        })
    }

    fn implied(&self, expr: &Expr) -> Option<Predicate> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            match binary.op() {
                Operator::And => {
                    return match (self.implied(left), self.implied(right)) {
                        (Some(left), Some(right)) => Some(Predicate::And(vec![left, right])),
                        (left, right) => left.or(right),
                    };
                }
                Operator::Or => {
                    let (left, right) = (self.implied(left)?, self.implied(right)?);
                    return Some(Predicate::Or(vec![left, right]));
                }
                _ => {}
            }
        }
        // The filter of a join whose build side has several partitions: one branch for each.
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            let branches = case.when_then_expr().iter().map(|(_, then)| then);
            let branches = branches.chain(case.else_expr());
            let branches = branches.map(|then| self.implied(then));
            return branches.collect::<Option<Vec<_>>>().map(Predicate::Or);
        }
        // `true` says nothing.
        let predicate = self.exact(expr)?;
        (predicate != Predicate::And(Vec::new())).then_some(predicate)
    }

    fn binary(&self, binary: &BinaryExpr) -> Option<Predicate> {
        let (left, right) = (binary.left(), binary.right());
        let op = match binary.op() {
            Operator::And => {
                return Some(Predicate::And(vec![self.exact(left)?, self.exact(right)?]));
            }
            Operator::Or => {
                return Some(Predicate::Or(vec![self.exact(left)?, self.exact(right)?]));
            }
            Operator::Eq => Compare::Eq,
            Operator::NotEq => Compare::NotEq,
            Operator::Lt => Compare::Lt,
            Operator::LtEq => Compare::LtEq,
            Operator::Gt => Compare::Gt,
            Operator::GtEq => Compare::GtEq,
            _ => return None,
        };
        let (column, op, value) = match right.downcast_ref::<Literal>() {
            Some(value) => (left, op, value),
            None => (right, op.mirrored(), left.downcast_ref::<Literal>()?),
        };
        let column = self.operand(column)?;
        let literal = column.literal(value.value())?;
        Some(match literal {
            staffa::Literal::Float(0.0) => zero(column.path, op),
            literal => Predicate::Compare {
                column: column.path,
                op,
                literal,
            },
        })
    }

    fn list(&self, list: &InListExpr) -> Option<Predicate> {
        if list.len() > MAX_CANDIDATES {
            return None;
        }
        let column = self.operand(list.expr())?;
        let literal =
            |candidate: &Expr| column.literal(candidate.downcast_ref::<Literal>()?.value());
        let literals = list.list().iter().map(literal).collect::<Option<_>>()?;
        let predicate = Predicate::In {
            column: column.path,
            literals,
        };
        Some(if list.negated() {
            not(predicate)
        } else {
            predicate
        })
    }

    fn is_null(&self, expr: &Expr) -> Option<Predicate> {
        let column = self.operand(expr)?.path;
        Some(Predicate::IsNull { column })
    }

    fn like(&self, test: &LikeExpr) -> Option<Predicate> {
        let (column, pattern) = self.text(test.expr(), test.pattern())?;
        let predicate = if test.case_insensitive() {
            Predicate::ILike { column, pattern }
        } else {
            Predicate::Like { column, pattern }
        };
        Some(if test.negated() {
            not(predicate)
        } else {
            predicate
        })
    }

    /// `starts_with(column, 'prefix')` and `contains(column, 'part')`.
    fn text_test(&self, call: &ScalarFunctionExpr) -> Option<Predicate> {
        let [column, text] = call.args() else {
            return None;
        };
        match call.fun().name() {
            "starts_with" => {
                let (column, prefix) = self.text(column, text)?;
                Some(Predicate::StartsWith { column, prefix })
            }
            "contains" => {
                let (column, part) = self.text(column, text)?;
                Some(Predicate::Contains { column, part })
            }
            _ => None,
        }
    }

    /// A column of text and a literal of text.
    fn text(&self, column: &Expr, text: &Expr) -> Option<(String, String)> {
        let column = self.operand(column)?;
        let text = text.downcast_ref::<Literal>()?.value();
        let text = text.try_as_str()??.to_owned();
        is_text(innermost(&column.stored)).then_some((column.path, text))
    }

    /// A column, or a field of a struct, behind casts that lose nothing.
    fn operand(&self, expr: &Expr) -> Option<Operand> {
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let inner = self.operand(cast.expr())?;
            let compared = cast.cast_type().clone();
            // A float that is wider has other neighbours between which a literal may lie.
            let safe = widens(&inner.compared, &compared) && !compared.is_floating();
            return safe.then_some(Operand { compared, ..inner });
        }
        let names = self.names(expr)?;
        let [column, fields @ ..] = &names[..] else {
            return None;
        };
        let mut stored = self.schema.field_with_name(column).ok()?.data_type();
        if fields.is_empty() {
            return Some(Operand::of(column.clone(), stored));
        }
        for name in fields {
            let DataType::Struct(fields) = stored else {
                return None;
            };
            let mut named = fields.iter().filter(|field| field.name() == name);
            stored = named.next().filter(|_| named.next().is_none())?.data_type();
        }
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let path = names.iter().map(quoted).collect::<Vec<_>>().join(".");
        // A column that has the whole path as its name would go first.
        let column = self.schema.field_with_name(&path).is_ok();
        (!column).then(|| Operand::of(path, stored))
    }

    /// The names of a column, then of the fields within it.
    fn names(&self, expr: &Expr) -> Option<Vec<String>> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let found = self.schema.fields().get(column.index());
            let same = |field: &&Arc<Field>| field.name() == column.name();
            let mut named = self.schema.fields().iter().filter(same);
            let unique = named.next().is_some() && named.next().is_none();
            let known = found.is_some_and(|field| field.name() == column.name()) && unique;
            return known.then(|| vec![column.name().to_owned()]);
        }
        let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
        let [of, fields @ ..] = call.args() else {
            return None;
        };
        if call.fun().name() != "get_field" || fields.is_empty() {
            return None;
        }
        let mut names = self.names(of)?;
        for field in fields {
            let name = field.downcast_ref::<Literal>()?.value();
            names.push(name.try_as_str()??.to_owned());
        }
        Some(names)
    }
}

impl Operand {
    fn of(path: String, stored: &DataType) -> Self {
        Self {
            path,
            stored: stored.clone(),
            compared: stored.clone(),
        }
    }

    /// The literal that compares with the column as the value does.
    fn literal(&self, value: &ScalarValue) -> Option<staffa::Literal> {
        let suits = comparable(&self.compared, &value.data_type());
        suits.then(|| literal(value))?
    }
}

/// `true` or `false`; NULL, which `NOT` does not turn, is no predicate.
fn constant(value: &Literal) -> Option<Predicate> {
    match value.value() {
        ScalarValue::Boolean(Some(true)) => Some(Predicate::And(Vec::new())),
        ScalarValue::Boolean(Some(false)) => Some(Predicate::Or(Vec::new())),
        _ => None,
    }
}

/// A comparison with zero: to DataFusion's operators -0.0 and 0.0 are equal, though not to its `IN`.
fn zero(column: String, op: Compare) -> Predicate {
    let literal = staffa::Literal::Float(match op {
        Compare::Lt | Compare::GtEq => -0.0,
        _ => 0.0,
    });
    let both = [-0.0, 0.0].map(staffa::Literal::Float).to_vec();
    match op {
        Compare::Eq => Predicate::In {
            column,
            literals: both,
        },
        Compare::NotEq => not(Predicate::In {
            column,
            literals: both,
        }),
        op => Predicate::Compare {
            column,
            op,
            literal,
        },
    }
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}
