//! Options of `COPY ... OPTIONS (...)` and of tables.

use std::collections::HashMap;
use std::str::FromStr;

use datafusion::common::{DataFusionError, Result, plan_err};
use staffa::{Profile, SortKey, WriteOptions};

use crate::StaffaFormat;

const KNOWN: &str = "profile, row_group_rows, sort_order, chunk_statistics, cached";

/// A format with options by the names that SQL has for them, with `format.` before them or not.
pub(crate) fn with_options(
    format: StaffaFormat,
    mut all: WriteOptions,
    options: &HashMap<String, String>,
) -> Result<StaffaFormat> {
    let mut cached = false;
    for (key, value) in options {
        let name = key.strip_prefix("format.").unwrap_or(key);
        all = match name {
            "cached" => {
                cached = parsed(name, value)?;
                all
            }
            "profile" => all.profile(profile(value)?),
            "row_group_rows" => all.row_group_rows(parsed(name, value)?),
            "chunk_statistics" => all.chunk_statistics(parsed(name, value)?),
            "sort_order" => {
                let keys = value.split(',').map(SortKey::from_str);
                let keys = keys.collect::<staffa::Result<Vec<_>>>();
                all.sort_order(keys.map_err(|e| DataFusionError::External(Box::new(e)))?)
            }
            _ => {
                return plan_err!("Staffa files have no option '{key}'; they have {KNOWN}");
            }
        };
    }
    Ok(format.with_options(all).with_cached(cached))
}

fn profile(name: &str) -> Result<Profile> {
    match name.to_ascii_lowercase().as_str() {
        "fast" => Ok(Profile::Fast),
        "balanced" => Ok(Profile::Balanced),
        "small" => Ok(Profile::Small),
        _ => plan_err!("option 'profile': fast, balanced or small expected, found '{name}'"),
    }
}

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T> {
    let invalid = || plan_err!("option '{name}': '{value}' is not a value of it");
    value.parse().or_else(|_| invalid())
}
