//! `encodings`: the names for `convert --encoding`.

use std::io::Write;

use crate::error::Result;
use crate::print::{print_json, standard_output};
use crate::terminal::text::{Align, grid};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  staffa encodings\n  staffa convert t.csv t.staffa --encoding city=fsst"
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let encodings = staffa::encodings();
    if args.json {
        return print_json(&encodings);
    }
    let mut rows = vec![vec!["encoding".to_string(), "about".to_string()]];
    rows.extend(
        encodings
            .iter()
            .map(|encoding| vec![encoding.name.to_string(), encoding.about.to_string()]),
    );
    let mut out = standard_output();
    grid(&mut out, &[Align::Left, Align::Left], &rows)?;
    Ok(out.flush()?)
}
