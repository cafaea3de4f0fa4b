//! The options of the Staffa writer.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use staffa::{Access, Edition, Profile, SortKey};

use super::column_value;
use crate::error::{Failure, Result};
use crate::formats::Format;
use crate::terminal::interrupt;

/// How to write Staffa output.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Writing Staffa")]
pub(super) struct StaffaOptions {
    /// Goal of the encodings: fast (to write), balanced, small (on disk) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = profile_parser())]
    profile: Option<Profile>,
    /// Profile of one column (repeatable)
    #[arg(long, value_name = "COLUMN=NAME", value_parser = column_profile)]
    column_profile: Vec<(String, Profile)>,
    /// Expected access: scan, random (rows by number) [default: scan]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = access_parser())]
    access: Option<Access>,
    /// Encoding of one column (repeatable); `staffa encodings` lists the names
    #[arg(long, value_name = "COLUMN=NAME", value_parser = column_encoding)]
    encoding: Vec<(String, String)>,
    /// Round the floats of a column, each by at most BOUND (repeatable); all else is exact
    #[arg(long, value_name = "COLUMN=BOUND", value_parser = max_error)]
    max_error: Vec<(String, f64)>,
    /// Never choose this encoding (repeatable), for example to keep reads cheap; --encoding can
    /// still request it
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Only encodings of this edition, for readers that have no others: core-1
    #[arg(long, value_name = "NAME")]
    edition: Option<Edition>,
    /// Store a key and its value with the table (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,
    /// Columns by which the input is sorted, as in `day,name desc nulls first`; a row that breaks the
    /// order is an error
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    sorted_by: Vec<SortKey>,
    /// Store NULLs, bounds, sum and decoded bytes of every chunk
    #[arg(long)]
    chunk_statistics: bool,
    /// Maximum number of rows per row group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    row_group_rows: Option<u64>,
    /// Threads to read and encode with [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Do not derive columns from reference columns
    #[arg(long, alias = "no-relate")]
    no_derived_columns: bool,
    /// Do not decode and compare each block before it is written
    #[arg(long)]
    no_verify: bool,
}

impl StaffaOptions {
    pub(super) fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    pub(super) fn to_write_options(&self, overwrite: bool) -> staffa::WriteOptions {
        let mut options = staffa::WriteOptions::default();
        options.profile = self.profile.unwrap_or(options.profile);
        options.column_profiles.clone_from(&self.column_profile);
        options.access = self.access.unwrap_or(options.access);
        options.encodings.clone_from(&self.encoding);
        options.max_error.clone_from(&self.max_error);
        options.without.clone_from(&self.without);
        options.edition = self.edition;
        let bytes = |(key, value): &(String, String)| (key.clone(), value.clone().into_bytes());
        options.metadata = self.metadata.iter().map(bytes).collect();
        options.sort_order.clone_from(&self.sorted_by);
        options.chunk_statistics = self.chunk_statistics;
        options.threads = self.threads();
        options.derived_columns = !self.no_derived_columns;
        options.verify = !self.no_verify;
        options.overwrite = overwrite;
        options.cancel = interrupt::cancel();
        if let Some(rows) = self.row_group_rows {
            options.row_group_rows = usize::try_from(rows).unwrap_or(usize::MAX);
        }
        options
    }

    /// Refuses options that have no effect on output of another format.
    pub(super) fn refuse_for(&self, format: Format) -> Result<()> {
        let given = [
            ("--profile", self.profile.is_some()),
            ("--column-profile", !self.column_profile.is_empty()),
            ("--access", self.access.is_some()),
            ("--encoding", !self.encoding.is_empty()),
            ("--max-error", !self.max_error.is_empty()),
            ("--without", !self.without.is_empty()),
            ("--edition", self.edition.is_some()),
            ("--metadata", !self.metadata.is_empty()),
            ("--sorted-by", !self.sorted_by.is_empty()),
            ("--chunk-statistics", self.chunk_statistics),
            ("--row-group-rows", self.row_group_rows.is_some()),
            ("--no-derived-columns", self.no_derived_columns),
            ("--no-verify", self.no_verify),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} is for Staffa output, and this output is {}",
                format.name()
            ))),
            None => Ok(()),
        }
    }
}

pub(super) fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(["fast", "balanced", "small"]).try_map(|name| name.parse::<Profile>())
}

fn access_parser() -> impl TypedValueParser<Value = Access> {
    PossibleValuesParser::new(["scan", "random"]).try_map(|name| name.parse::<Access>())
}

fn column_encoding(text: &str) -> Result<(String, String), String> {
    let (column, name) = column_value(text, "COLUMN=NAME, as in `city=fsst`")?;
    Ok((column.into(), name.into()))
}

fn column_profile(text: &str) -> Result<(String, Profile), String> {
    let (column, name) = column_value(text, "COLUMN=NAME, as in `city=small`")?;
    let profile = name
        .parse()
        .map_err(|_| format!("expected fast, balanced or small, found {name:?}"))?;
    Ok((column.into(), profile))
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("expected KEY=VALUE, as in `source=survey`".into()),
    }
}

fn max_error(text: &str) -> Result<(String, f64), String> {
    let (column, bound) = column_value(text, "COLUMN=BOUND, as in `embedding=0.001`")?;
    let bound = bound
        .parse()
        .map_err(|_| format!("expected a number, found {bound:?}"))?;
    Ok((column.into(), bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_columns_parse() {
        assert_eq!(column_encoding("a=b=alp"), Ok(("a=b".into(), "alp".into())));
        assert_eq!(
            column_profile("a=b=small"),
            Ok(("a=b".into(), Profile::Small))
        );
        assert_eq!(max_error("a=1e-3"), Ok(("a".into(), 1e-3)));
        assert!(column_profile("a=tiny").is_err() && max_error("a=b").is_err());
        for wrong in ["alp", "=alp", "a="] {
            assert!(column_encoding(wrong).is_err());
        }
    }
}
