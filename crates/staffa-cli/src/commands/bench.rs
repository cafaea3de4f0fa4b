//! `bench`: this table as Staffa and as Parquet, side by side.

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::bench::{Figures, Measured, TableInMemory, Variant, arrow_bytes, clock_name, measure};
use crate::cli::{Bench, ProfileName};
use crate::dataset::Inputs;
use crate::error::{Failure, Result};
use crate::formats::scan::Wanted;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, percent};

/// A table larger than this is measured by its first rows.
const MOST_BYTES: u64 = 2_000_000_000;

pub(super) fn run(args: &Bench) -> Result<()> {
    interrupt::catch();
    let (table, whole) = load(args)?;
    if table.rows == 0 {
        return Err(Failure::usage(format!(
            "{}: there are no rows to measure",
            args.file.display()
        )));
    }
    let profiles = if args.profile.is_empty() {
        &[ProfileName::Balanced][..]
    } else {
        &args.profile
    };
    let mut variants: Vec<Variant> = profiles
        .iter()
        .map(|name| Variant::Staffa(super::profile(*name)))
        .collect();
    variants.extend(Variant::parquet()?);
    let progress = Progress::new(None, args.json);
    let measured = measure(&table, &variants, args.runs, &mut |step| progress.say(step))?;
    drop(progress);
    // A table that Staffa does not hold has nothing to compare.
    if let Some(Measured {
        variant: Variant::Staffa(_),
        result: Err(failure),
    }) = measured.first()
    {
        return Err(Failure {
            exit: failure.exit,
            message: failure.message.clone(),
        });
    }
    if args.json {
        super::print_json(&describe(args, &table, whole, &measured))?;
    } else {
        print(args, &table, whole, &measured)?;
    }
    if measured.iter().any(|one| {
        matches!(
            one.result,
            Ok(Figures {
                verified: Some(false),
                ..
            })
        )
    }) {
        return Err(Failure::data(
            "what Staffa wrote came back different; please report this with the file",
        ));
    }
    Ok(())
}

/// As many rows as fit, and whether that is all of them.
fn load(args: &Bench) -> Result<(TableInMemory, bool)> {
    let mut wanted = Wanted::new(&args.selecting)?;
    wanted.limit = args.limit;
    let inputs = Inputs::open(std::slice::from_ref(&args.file), &args.reading)?;
    let progress = Progress::new(inputs.bytes, args.json);
    let (schema, source) = inputs.scan(&wanted, &progress.meter())?;
    let (mut batches, mut rows, mut size, mut whole) = (Vec::new(), 0, 0, true);
    for batch in source {
        let batch = batch?;
        size += arrow_bytes(&batch);
        if size > MOST_BYTES && !batches.is_empty() {
            whole = false;
            break;
        }
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows);
        batches.push(batch);
    }
    Ok((TableInMemory::new(schema, batches), whole))
}

fn print(args: &Bench, table: &TableInMemory, whole: bool, measured: &[Measured]) -> Result<()> {
    let mut out = super::out();
    let clock = if clock_name() == "cpu" {
        "CPU time"
    } else {
        "wall time"
    };
    writeln!(
        out,
        "{}: {}{}, {} columns, {} as Arrow; one core, {clock}, median of {}\n",
        args.file.display(),
        if whole { "" } else { "the first " },
        counted(table.rows, "row"),
        table.schema.fields().len(),
        bytes(table.arrow_bytes),
        counted(u64::from(args.runs), "round")
    )?;
    let mut rows = vec![
        ["", "size", "of Arrow", "write", "scan", "verified"]
            .map(String::from)
            .to_vec(),
    ];
    for one in measured {
        let Ok(figures) = &one.result else { continue };
        let (write, scan) = speeds(table, figures);
        rows.push(vec![
            one.variant.name(),
            bytes(figures.bytes),
            percent(figures.bytes, table.arrow_bytes),
            format!("{write:.0} MB/s"),
            format!("{scan:.2} GB/s"),
            figures
                .verified
                .map_or("", |equal| if equal { "yes" } else { "NO" })
                .into(),
        ]);
    }
    grid(&mut out, &[Left, Right, Right, Right, Right, Left], &rows)?;
    writeln!(out)?;
    let parquet = measured
        .iter()
        .find(|one| matches!(one.variant, Variant::Parquet(_)));
    if let Some(
        parquet @ Measured {
            result: Ok(theirs), ..
        },
    ) = parquet
    {
        for ours in measured
            .iter()
            .filter(|one| matches!(one.variant, Variant::Staffa(_)))
        {
            let Ok(figures) = &ours.result else { continue };
            writeln!(
                out,
                "{} takes {} of the bytes of {}, is written at {} of its speed and scanned at {}",
                ours.variant.name(),
                percent(figures.bytes, theirs.bytes),
                parquet.variant.name(),
                times(theirs.write_seconds / figures.write_seconds),
                times(theirs.scan_seconds / figures.scan_seconds)
            )?;
        }
    }
    for one in measured {
        if let Err(failure) = &one.result {
            writeln!(
                out,
                "{} cannot hold this table: {}",
                one.variant.name(),
                failure.message
            )?;
        }
    }
    Ok(out.flush()?)
}

/// `2.6x`.
fn times(factor: f64) -> String {
    if factor < 9.95 {
        format!("{factor:.1}x")
    } else {
        format!("{factor:.0}x")
    }
}

/// MB of Arrow per second written, GB of Arrow per second scanned.
fn speeds(table: &TableInMemory, figures: &Figures) -> (f64, f64) {
    let size = table.arrow_bytes as f64;
    (
        size / figures.write_seconds / 1e6,
        size / figures.scan_seconds / 1e9,
    )
}

fn describe(args: &Bench, table: &TableInMemory, whole: bool, measured: &[Measured]) -> Value {
    let mut variants = Map::new();
    let (mut staffa, mut parquet) = (None, None);
    for one in measured {
        let value = match &one.result {
            Ok(figures) => {
                let (write, scan) = speeds(table, figures);
                match one.variant {
                    Variant::Staffa(_) if staffa.is_none() => {
                        staffa = Some((*figures, write, scan))
                    }
                    Variant::Parquet(_) if parquet.is_none() => {
                        parquet = Some((*figures, write, scan))
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
    // The few figures that everybody wants stand on top; Parquet's are those of zstd-3, the first
    // of its variants.
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
