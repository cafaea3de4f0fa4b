//! `encodings`: the names that `convert --encoding` takes.

use std::io::Write;

use crate::cli::Encodings;
use crate::error::Result;
use crate::terminal::text::{Align, grid};

pub(super) fn run(args: &Encodings) -> Result<()> {
    let encodings = staffa::encodings();
    if args.json {
        return super::print_json(&encodings);
    }
    let mut rows = vec![vec!["encoding".to_string(), "about".to_string()]];
    rows.extend(
        encodings
            .iter()
            .map(|encoding| vec![encoding.name.to_string(), encoding.about.to_string()]),
    );
    let mut out = super::out();
    grid(&mut out, &[Align::Left, Align::Left], &rows)?;
    Ok(out.flush()?)
}
