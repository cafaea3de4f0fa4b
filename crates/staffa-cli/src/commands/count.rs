//! `count`: rows, from the footer where nothing is filtered.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::cli::Count;
use crate::dataset::{Inputs, expand};
use crate::error::Result;
use crate::formats::scan::Wanted;
use crate::terminal::progress::Progress;
use crate::terminal::text::{Align, grid};

pub(super) fn run(args: &Count) -> Result<()> {
    let wanted = Wanted::new(&args.selecting)?;
    let paths = expand(&args.files)?;
    let mut counts = Vec::with_capacity(paths.len());
    for path in &paths {
        counts.push((path.display().to_string(), count(path, args, &wanted)?));
    }
    let total: u64 = counts.iter().map(|(_, rows)| rows).sum();
    if args.json {
        let files: Vec<_> = counts
            .iter()
            .map(|(path, rows)| json!({"path": path, "rows": rows}))
            .collect();
        return super::print_json(&json!({"files": files, "rows": total}));
    }
    let mut out = super::out();
    if counts.len() == 1 {
        writeln!(out, "{total}")?;
    } else {
        counts.push(("in all".into(), total));
        let rows: Vec<_> = counts
            .into_iter()
            .map(|(path, rows)| vec![rows.to_string(), path])
            .collect();
        grid(&mut out, &[Align::Right, Align::Left], &rows)?;
    }
    Ok(out.flush()?)
}

fn count(path: &Path, args: &Count, wanted: &Wanted) -> Result<u64> {
    let inputs = Inputs::open(&[path.to_path_buf()], &args.reading)?;
    wanted.check(&inputs.schema)?;
    if let (None, Some(rows)) = (&wanted.filter, inputs.rows) {
        return Ok(rows);
    }
    let progress = Progress::new(inputs.bytes, false);
    let wanted = narrowest(wanted, &inputs.schema);
    let (_, batches) = inputs.scan(&wanted, &progress.meter())?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows);
    }
    Ok(rows)
}

/// One column is enough to count rows by; the narrowest one, where nobody asked for others.
fn narrowest(wanted: &Wanted, schema: &arrow_schema::Schema) -> Wanted {
    let mut wanted = wanted.clone();
    if wanted.columns.is_none() {
        let width = |field: &&std::sync::Arc<arrow_schema::Field>| {
            field.data_type().primitive_width().unwrap_or(usize::MAX)
        };
        let narrowest = schema.fields().iter().min_by_key(width);
        wanted.columns = narrowest.map(|field| vec![field.name().clone()]);
    }
    wanted
}
