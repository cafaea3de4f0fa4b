//! `bench`: a table as Staffa and as Parquet, side by side.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use staffa::{Profile, arrow_bytes};

use super::write_options::profile_parser;
use crate::bench::{Figures, Measured, TableInMemory, Variant, clock_name, measure};
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::print::{print_json, standard_output};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, faster, grid, percent, smaller};

/// Of a larger table only the first rows are measured.
const MAX_BYTES: u64 = 2_000_000_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The table is held in memory and written to memory, on one core; times are CPU time if the system
measures it. The variants take turns, so that a busy machine slows all of them alike. Staffa files
are read back and compared.

Examples:
  staffa bench trips.staffa
  staffa bench trips.csv --profile small --runs 9 --json")]
pub(crate) struct Args {
    /// Any file that `convert` reads
    file: PathBuf,
    /// Number of rounds; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Maximum number of rows [default: as many as fit 2 GB of memory]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Profile of the Staffa file: fast, balanced, small (repeatable) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = profile_parser())]
    profile: Vec<Profile>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    interrupt::catch();
    let (table, whole) = load(args)?;
    if table.rows == 0 {
        return Err(Failure::usage(format!(
            "{}: there are no rows to measure",
            args.file.display()
        )));
    }
    let progress = Progress::new(None, args.json);
    let mut measured = measure(&table, &variants(args)?, args.runs, &mut |step| {
        progress.show_step(step);
    })?;
    drop(progress);
    // Without a Staffa file there is nothing to compare.
    if matches!(measured.first(), Some(first) if first.result.is_err()) {
        return measured.swap_remove(0).result.map(drop);
    }
    if args.json {
        print_json(&describe(args, &table, whole, &measured))?;
    } else {
        print(args, &table, whole, &measured)?;
    }
    let differs = |one: &Measured| {
        let figures = one.result.as_ref().ok();
        figures.and_then(|figures| figures.verified) == Some(false)
    };
    if measured.iter().any(differs) {
        return Err(Failure::data(
            "the Staffa file reads back different values; please report this with the file",
        ));
    }
    Ok(())
}

/// The Staffa variants first.
fn variants(args: &Args) -> Result<Vec<Variant>> {
    let profiles = if args.profile.is_empty() {
        &[Profile::Balanced][..]
    } else {
        &args.profile
    };
    let staffa = profiles.iter().map(|profile| Variant::Staffa(*profile));
    Ok(staffa.chain(Variant::parquet()?).collect())
}

/// The rows that fit into memory, and whether these are all.
fn load(args: &Args) -> Result<(TableInMemory, bool)> {
    let mut options = ScanOptions::new(&args.select)?;
    options.limit = args.limit;
    let dataset = Dataset::open(std::slice::from_ref(&args.file), &args.read)?;
    let progress = Progress::new(dataset.bytes, args.json);
    let (schema, source) = dataset.scan(&options, &progress.meter())?;
    let (mut batches, mut rows, mut size, mut whole) = (Vec::new(), 0, 0, true);
    for batch in source {
        let batch = batch?;
        size += arrow_bytes(&batch);
        if size > MAX_BYTES && !batches.is_empty() {
            whole = false;
            break;
        }
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows, false);
        batches.push(batch);
    }
    Ok((TableInMemory::new(schema, batches), whole))
}

fn print(args: &Args, table: &TableInMemory, whole: bool, measured: &[Measured]) -> Result<()> {
    let mut out = standard_output();
    let clock = if clock_name() == "cpu" {
        "CPU time"
    } else {
        "wall time"
    };
    writeln!(
        out,
        "{}: {}{}, {}, {} as Arrow; one core, {clock}, median of {}\n",
        args.file.display(),
        if whole { "" } else { "the first " },
        counted(table.rows, "row"),
        counted(table.schema.fields().len() as u64, "column"),
        bytes(table.arrow_bytes),
        counted(u64::from(args.runs), "round")
    )?;
    let header = ["", "size", "of Arrow", "write", "scan", "verified"];
    let figures = measured.iter().filter_map(|one| {
        let figures = one.result.as_ref().ok()?;
        Some(figures_row(one.variant, table, figures))
    });
    let header = std::iter::once(header.map(String::from).to_vec());
    let rows: Vec<_> = header.chain(figures).collect();
    grid(&mut out, &[Left, Right, Right, Right, Right, Left], &rows)?;
    writeln!(out)?;
    print_comparisons(&mut out, measured)?;
    for one in measured {
        if let Err(failure) = &one.result {
            let variant = one.variant.name();
            writeln!(out, "{variant} cannot hold this table: {}", failure.message)?;
        }
    }
    Ok(out.flush()?)
}

fn figures_row(variant: Variant, table: &TableInMemory, figures: &Figures) -> Vec<String> {
    let (write, scan) = speeds(table, figures);
    vec![
        variant.name(),
        bytes(figures.bytes),
        percent(figures.bytes, table.arrow_bytes),
        format!("{write:.0} MB/s"),
        format!("{scan:.2} GB/s"),
        match figures.verified {
            None => String::new(),
            Some(true) => "yes".into(),
            Some(false) => "NO".into(),
        },
    ]
}

/// Compares each Staffa variant with the first Parquet variant.
fn print_comparisons(out: &mut dyn Write, measured: &[Measured]) -> Result<()> {
    let parquet = measured
        .iter()
        .find(|one| matches!(one.variant, Variant::Parquet(_)));
    let Some((parquet, theirs)) = parquet.and_then(|one| Some((one, one.result.as_ref().ok()?)))
    else {
        return Ok(());
    };
    let staffa = measured
        .iter()
        .filter(|one| matches!(one.variant, Variant::Staffa(_)));
    for one in staffa {
        let Ok(ours) = &one.result else { continue };
        writeln!(
            out,
            "{} compared with {}: {}, write {}, scan {}",
            one.variant.name(),
            parquet.variant.name(),
            smaller(theirs.bytes, ours.bytes),
            faster(theirs.write_seconds, ours.write_seconds),
            faster(theirs.scan_seconds, ours.scan_seconds)
        )?;
    }
    Ok(())
}

/// Write speed in MB and scan speed in GB of Arrow per second.
fn speeds(table: &TableInMemory, figures: &Figures) -> (f64, f64) {
    let size = table.arrow_bytes as f64;
    (
        size / figures.write_seconds / 1e6,
        size / figures.scan_seconds / 1e9,
    )
}

fn describe(args: &Args, table: &TableInMemory, whole: bool, measured: &[Measured]) -> Value {
    let mut variants = Map::new();
    let (mut staffa, mut parquet) = (None, None);
    for one in measured {
        let value = match &one.result {
            Ok(figures) => {
                let (write, scan) = speeds(table, figures);
                match one.variant {
                    Variant::Staffa(_) if staffa.is_none() => {
                        staffa = Some((*figures, write, scan));
                    }
                    Variant::Parquet(_) if parquet.is_none() => {
                        parquet = Some((*figures, write, scan));
                    }
                    _ => {}
                }
                json!({
                    "bytes": figures.bytes,
                    "write_mb_per_s": write,
                    "scan_gb_per_s": scan,
                    "verified": figures.verified,
                })
            }
            Err(failure) => json!({"error": failure.message}),
        };
        variants.insert(one.variant.name(), value);
    }
    // The main figures stand at the top level; zstd-3 is the first Parquet variant.
    json!({
        "path": args.file.display().to_string(),
        "rows": table.rows,
        "whole_table": whole,
        "columns": table.schema.fields().len(),
        "arrow_bytes": table.arrow_bytes,
        "staffa_bytes": staffa.map(|(figures, ..)| figures.bytes),
        "parquet_zstd3_bytes": parquet.map(|(figures, ..)| figures.bytes),
        "staffa_write_mb_per_s": staffa.map(|(_, write, _)| write),
        "staffa_scan_gb_per_s": staffa.map(|(.., scan)| scan),
        "parquet_zstd3_write_mb_per_s": parquet.map(|(_, write, _)| write),
        "parquet_zstd3_scan_gb_per_s": parquet.map(|(.., scan)| scan),
        "verified": staffa.and_then(|(figures, ..)| figures.verified),
        "runs": args.runs,
        "clock": clock_name(),
        "threads": 1,
        "variants": variants,
    })
}
