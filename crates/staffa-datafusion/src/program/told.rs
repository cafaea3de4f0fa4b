//! Errors on one line: what happened, to what, and where in the SQL.

use std::error::Error;

use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Span};

/// The message of an error, on one line and without a URL's secrets.
pub fn told(error: &(dyn Error + 'static)) -> String {
    let Some(known) = error.downcast_ref::<DataFusionError>() else {
        return one_line(&error.to_string());
    };
    let message = message(known);
    match known.diagnostic().and_then(|found| found.span) {
        Some(Span { start, .. }) if start.line > 0 => {
            format!("line {}, column {}: {message}", start.line, start.column)
        }
        _ => message,
    }
}

fn message(error: &DataFusionError) -> String {
    match error {
        DataFusionError::Context(what, inner) => {
            let what = what.trim_end_matches([':', ' ']);
            format!("{what}: {}", message(inner))
        }
        DataFusionError::Diagnostic(_, inner) => message(inner),
        DataFusionError::Shared(inner) => message(inner),
        DataFusionError::Collection(all) => {
            let all: Vec<String> = all.iter().map(message).collect();
            all.join("; ")
        }
        DataFusionError::External(inner) => told(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => told(inner.as_ref()),
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
