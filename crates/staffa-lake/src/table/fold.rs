//! A filter of a table, for one file: keys and missing columns are constants there.
//!
//! A row is kept where a filter is true, not where it is NULL. So `NOT` is pushed down to the
//! comparisons first; then a comparison of a constant is true or is as good as false.

use arrow_array::RecordBatch;
use staffa::{Predicate, Result};

/// What a filter of a table says of the rows of one file.
#[derive(Debug, Clone, PartialEq)]
pub enum Folded {
    /// No row matches.
    Never,
    /// All rows match.
    Always,
    /// The rows that match also match `by`, a filter of the columns that are stored; these and no
    /// others if `exact`.
    Rest {
        /// The filter that is left.
        by: Predicate,
        /// Whether it is all of the filter.
        exact: bool,
    },
    /// Any row may match.
    Unknown,
}

/// A filter folded with the constants of a file, a batch of one row. `is_stored` says of a column, or of
/// a field of a struct as `column.field`, whether the file has it as the filter means it; of other
/// columns nothing is known. Constants go first. Fails where a constant cannot be compared with its
/// literal.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int32Array, RecordBatch};
/// use staffa_lake::table::{Folded, fold};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = RecordBatch::try_from_iter([("year", Arc::new(Int32Array::from(vec![2024])) as _)])?;
/// let known = |filter: &str| fold(&filter.parse()?, &keys, &|_| true);
/// assert_eq!(known("year = 2023 and x = 1")?, Folded::Never);
/// assert_eq!(known("year > 2023 and x = 1")?, Folded::Rest { by: "x = 1".parse()?, exact: true });
/// # Ok(())
/// # }
/// ```
pub fn fold(
    filter: &Predicate,
    constants: &RecordBatch,
    is_stored: &dyn Fn(&str) -> bool,
) -> Result<Folded> {
    let file = FileColumns {
        constants,
        is_stored,
    };
    file.fold(filter, false)
}

struct FileColumns<'f> {
    constants: &'f RecordBatch,
    is_stored: &'f dyn Fn(&str) -> bool,
}

impl FileColumns<'_> {
    fn fold(&self, filter: &Predicate, negated: bool) -> Result<Folded> {
        match filter {
            Predicate::Not(part) => self.fold(part, !negated),
            Predicate::And(parts) | Predicate::Or(parts) => {
                let parts = parts.iter().map(|part| self.fold(part, negated));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                Ok(joined(
                    parts,
                    matches!(filter, Predicate::And(_)) == negated,
                ))
            }
            test => self.fold_test(test, negated),
        }
    }

    /// A test of one column.
    fn fold_test(&self, test: &Predicate, negated: bool) -> Result<Folded> {
        let wanted = || {
            if negated {
                Predicate::Not(Box::new(test.clone()))
            } else {
                test.clone()
            }
        };
        let schema = self.constants.schema();
        let columns = test.columns();
        let is_constant = columns
            .iter()
            .all(|column| schema.column_with_name(column).is_some());
        let is_stored = !is_constant && columns.into_iter().all(self.is_stored);
        if is_constant || !is_stored && test.column_positions(&schema).is_ok() {
            let kept = wanted().bind(&schema)?.evaluate(self.constants)?;
            return Ok(if kept.iter().next() == Some(Some(true)) {
                Folded::Always
            } else {
                Folded::Never
            });
        }
        Ok(if is_stored {
            Folded::Rest {
                by: wanted(),
                exact: true,
            }
        } else {
            Folded::Unknown
        })
    }
}

/// The parts of an `OR` if `any`, else of an `AND`.
fn joined(parts: Vec<Folded>, any: bool) -> Folded {
    let (decides, without_parts) = if any {
        (Folded::Always, Folded::Never)
    } else {
        (Folded::Never, Folded::Always)
    };
    let (mut kept, mut all_exact, mut unknown) = (Vec::new(), true, false);
    for part in parts {
        match part {
            Folded::Rest { by, exact } => {
                kept.push(by);
                all_exact &= exact;
            }
            Folded::Unknown => unknown = true,
            known if known == decides => return decides,
            _ => {}
        }
    }
    // Of an `AND`, the other parts say which rows may match.
    if unknown && (any || kept.is_empty()) {
        return Folded::Unknown;
    }
    let by = match kept.pop() {
        None => return without_parts,
        Some(one) if kept.is_empty() => one,
        Some(last) => {
            kept.push(last);
            if any {
                Predicate::Or(kept)
            } else {
                Predicate::And(kept)
            }
        }
    };
    let exact = all_exact && !unknown;
    Folded::Rest { by, exact }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date32Array, Int32Array, StringArray};

    use super::*;

    /// The filter of a file with `year` 2024, `city` Oban, `gone` NULL, a stored `x`, and a `w` of
    /// another type.
    fn folded(filter: &str) -> Folded {
        let constants = RecordBatch::try_from_iter([
            ("year", Arc::new(Int32Array::from(vec![2024])) as _),
            ("city", Arc::new(StringArray::from(vec!["Oban"])) as _),
            ("day", Arc::new(Date32Array::from(vec![0])) as _),
            ("gone", Arc::new(Int32Array::from(vec![None])) as _),
        ]);
        fold(&filter.parse().unwrap(), &constants.unwrap(), &|name| {
            name == "x"
        })
        .unwrap()
    }

    #[test]
    fn constants_decide() {
        for filter in [
            "year = 2024",
            "year <> 2023",
            "not year < 2024",
            "city like 'O%'",
            "day = '1970-01-01'",
            "gone is null",
            "year = 1 or city starts with 'Ob'",
            "year in (2023, 2024) and not (gone is not null)",
            "x = 1 or year = 2024",
            "w = 1 or year = 2024",
        ] {
            assert_eq!(folded(filter), Folded::Always, "{filter}");
        }
        for filter in [
            "year > 2024",
            "gone = 1",
            "not gone = 1",
            "not (gone = 1 or year = 1)",
            "x = 1 and year = 1",
            "w = 1 and year = 1",
            "year in ()",
            "city ilike 'x%' or gone in (1)",
        ] {
            let filter = filter.replace("year in ()", "year in (1)");
            assert_eq!(folded(&filter), Folded::Never, "{filter}");
        }
    }

    #[test]
    fn what_is_left_is_a_filter_of_the_file() {
        let rest = |filter: &str, by: &str, exact| {
            let by = by.parse().unwrap();
            assert_eq!(folded(filter), Folded::Rest { by, exact }, "{filter}");
        };
        rest("year = 2024 and x = 1", "x = 1", true);
        rest("year = 1 or x = 1", "x = 1", true);
        rest("not (year = 1 or x = 1)", "not x = 1", true);
        rest("x = 1 and w = 1", "x = 1", false);
        rest(
            "(x = 1 or x = 2) and (gone is null or x = 3)",
            "x = 1 or x = 2",
            true,
        );
        for filter in ["w = 1", "w = 1 or x = 1", "not (x = 1 and w = 1)"] {
            assert_eq!(folded(filter), Folded::Unknown, "{filter}");
        }
    }

    #[test]
    fn a_constant_of_another_kind_is_an_error() {
        let keys = RecordBatch::try_from_iter([("year", Arc::new(Int32Array::from(vec![1])) as _)]);
        let error = fold(&"year = 'x'".parse().unwrap(), &keys.unwrap(), &|_| true);
        assert!(error.unwrap_err().to_string().contains("year"));
    }
}
