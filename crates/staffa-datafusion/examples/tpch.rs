//! The queries of a benchmark over Parquet, over Staffa and over Arrow in memory, by one partition: CPU
//! time of each as JSON, for `bench/experiments.py tpch_datafusion`.
//!
//! ```text
//! tpch FOLDER QUERIES.json [ROUNDS [KIND,...]]
//! ```
//!
//! FOLDER has the tables as Parquet; QUERIES.json has the text of each query by its name. Kinds: `parquet`,
//! `parquet_pushdown`, `staffa`, `memory`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const KINDS: &str = "parquet,parquet_pushdown,staffa,memory";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, folder, queries, rest @ ..] = &args[..] else {
        return Err("tpch FOLDER QUERIES.json [ROUNDS [KIND,...]] expected".into());
    };
    let rounds = rest.first().map_or(Ok(5), |rounds| rounds.parse())?;
    let kinds = rest.get(1).map_or(KINDS, String::as_str);
    let queries: BTreeMap<String, String> = serde_json::from_slice(&std::fs::read(queries)?)?;
    let folder = Path::new(folder);
    let tables = tables(folder)?;
    convert(folder, &tables).await?;
    let mut sessions = Vec::new();
    for kind in kinds.split(',') {
        sessions.push((kind, session(kind, folder, &tables).await?));
    }
    let mut measured = BTreeMap::new();
    for (number, sql) in queries {
        let query = measure(&sessions, &sql, rounds).await;
        let query = query.map_err(|e| format!("query {number}: {e}"))?;
        measured.insert(number, query);
    }
    let out = json!({ "queries": measured, "bytes": sizes(folder, &tables)?, "rounds": rounds });
    println!("{out}");
    Ok(())
}

/// The names of the Parquet files.
fn tables(folder: &Path) -> Result<Vec<String>> {
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            let name = path.file_stem().unwrap_or_default();
            tables.push(name.to_string_lossy().into_owned());
        }
    }
    tables.sort();
    Ok(tables)
}

/// Writes the tables as Staffa files beside the Parquet files, unless they are there.
async fn convert(folder: &Path, tables: &[String]) -> Result<()> {
    let ctx = session("parquet", folder, tables).await?;
    staffa_datafusion::register(&ctx)?;
    for table in tables {
        let path = folder.join(format!("{table}.staffa"));
        if !path.exists() {
            let sql = format!("COPY \"{table}\" TO '{}'", path.display());
            ctx.sql(&sql).await?.collect().await?;
        }
    }
    Ok(())
}

async fn session(kind: &str, folder: &Path, tables: &[String]) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_target_partitions(1);
    config.options_mut().execution.parquet.pushdown_filters = kind == "parquet_pushdown";
    let ctx = SessionContext::new_with_config(config);
    if kind == "staffa" {
        staffa_datafusion::register(&ctx)?;
    }
    for table in tables {
        let of = |extension| {
            folder
                .join(format!("{table}.{extension}"))
                .display()
                .to_string()
        };
        if kind == "staffa" {
            let path = of("staffa");
            let sql =
                format!("CREATE EXTERNAL TABLE \"{table}\" STORED AS STAFFA LOCATION '{path}'");
            ctx.sql(&sql).await?;
            continue;
        }
        ctx.register_parquet(table, of("parquet"), ParquetReadOptions::default())
            .await?;
        if kind == "memory" {
            let frame = ctx.table(table).await?;
            let schema = frame.schema().as_arrow().clone();
            let rows = frame.collect().await?;
            ctx.deregister_table(table)?;
            let rows = MemTable::try_new(Arc::new(schema), vec![rows])?;
            ctx.register_table(table, Arc::new(rows))?;
        }
    }
    Ok(ctx)
}

/// CPU seconds of each round, kinds in turn, and the rows, whether the same for all kinds.
async fn measure(
    sessions: &[(&str, SessionContext)],
    sql: &str,
    rounds: usize,
) -> Result<BTreeMap<String, Value>> {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut answers = Vec::new();
    for round in 0..rounds {
        for (kind, ctx) in sessions {
            let before = cpu();
            let rows = run(ctx, sql).await.map_err(|e| format!("{kind}: {e}"))?;
            times
                .entry(kind)
                .or_default()
                .push((cpu() - before).as_secs_f64());
            if round == 0 {
                answers.push(rows);
            }
        }
    }
    let same = answers
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a == b));
    let mut out: BTreeMap<String, Value> = times
        .into_iter()
        .map(|(kind, times)| (kind.to_owned(), json!(times)))
        .collect();
    out.insert("same".to_owned(), json!(same));
    out.insert("rows".to_owned(), json!(answers.last()));
    Ok(out)
}

/// Runs the statements of a query; the rows of the one that selects, as text.
async fn run(ctx: &SessionContext, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
    let mut rows = Vec::new();
    let options = FormatOptions::default();
    for batch in ctx
        .sql(sql.trim().trim_end_matches(';'))
        .await?
        .collect()
        .await?
    {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let value = |(i, column): (usize, &ArrayFormatter<'_>)| {
                let null = batch.column(i).is_null(row);
                (!null).then(|| column.value(row).to_string())
            };
            rows.push(columns.iter().enumerate().map(value).collect());
        }
    }
    Ok(rows)
}

/// CPU time of the process.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Bytes of all tables by kind.
fn sizes(folder: &Path, tables: &[String]) -> Result<BTreeMap<&'static str, u64>> {
    let mut sizes = BTreeMap::new();
    for extension in ["parquet", "staffa"] {
        for table in tables {
            let bytes = std::fs::metadata(folder.join(format!("{table}.{extension}")))?.len();
            *sizes.entry(extension).or_default() += bytes;
        }
    }
    Ok(sizes)
}
