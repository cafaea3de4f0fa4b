//! Errors on one line: what happened, to what, and where in the SQL.

use std::error::Error;

use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Span};

/// The message of an error, on one line and without a URL's secrets.
pub fn message(error: &(dyn Error + 'static)) -> String {
    let Some(known) = error.downcast_ref::<DataFusionError>() else {
        return one_line(&error.to_string());
    };
    let message = of_datafusion(known);
    match known.diagnostic().and_then(|found| found.span) {
        Some(Span { start, .. }) if start.line > 0 => {
            format!("line {}, column {}: {message}", start.line, start.column)
        }
        _ => message,
    }
}

fn of_datafusion(error: &DataFusionError) -> String {
    match error {
        DataFusionError::Context(what, inner) => {
            let what = what.trim_end_matches([':', ' ']);
            format!("{what}: {}", of_datafusion(inner))
        }
        DataFusionError::Diagnostic(_, inner) => of_datafusion(inner),
        DataFusionError::Shared(inner) => of_datafusion(inner),
        DataFusionError::Collection(all) => {
            let all: Vec<String> = all.iter().map(of_datafusion).collect();
            all.join("; ")
        }
        DataFusionError::External(inner) => message(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => message(inner.as_ref()),
            other => one_line(&other.to_string()),
        },
        DataFusionError::ObjectStore(inner) => staffa_lake::message_of(inner),
        DataFusionError::SQL(inner, _) => one_line(&inner.to_string()),
        DataFusionError::Plan(what)
        | DataFusionError::Execution(what)
        | DataFusionError::Configuration(what) => one_line(what),
        other => one_line(&other.strip_backtrace()),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
