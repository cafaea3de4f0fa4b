//! The program: a session with the tables that are named, a query, its rows.

mod cost;
mod counted;
mod message;
mod output;
mod stats;
mod stores;
mod tables;

use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use datafusion::execution::config::SessionConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{displayable, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParser, Statement};
use staffa_lake::DiskCache;

use self::cost::{Model, cpu_time};
use self::counted::Requests;
pub use self::message::message;
use self::stores::Stores;

/// Errors of DataFusion, and the program's own messages.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const EXAMPLES: &str = "\
Examples:
  staffa-sql --table prices=prices/ \"SELECT city, avg(price) FROM prices GROUP BY city\"
  staffa-sql --json \"SELECT * FROM 's3://bucket/prices.staffa' WHERE day = '2026-01-01'\"
  staffa-sql --cost bandwidth=1.25e9,instance=0.192,cores=4 \"SELECT count(*) FROM 's3://bucket/prices/'\"";

/// Runs SQL over Staffa files.
///
/// Files and folders, of the local disk or by URL, are tables by a name given as `--table`, or by
/// their path in quotes: `SELECT count(*) FROM 'prices.staffa'`. Credentials of object stores come
/// from the environment.
#[derive(Debug, Parser)]
#[command(name = "staffa-sql", version, after_help = EXAMPLES)]
pub struct Args {
    /// The query, or several with `;` between them; `-` reads them from standard input.
    sql: String,
    /// A table: a name, and the path or URL of a file or of a folder (ending in `/`), or a pattern
    /// such as 'prices/*.staffa'. Folders such as `day=2026-01-01` become columns.
    #[arg(short, long = "table", value_name = "NAME=PATH")]
    tables: Vec<String>,
    /// Shows the plan, and runs nothing.
    #[arg(long)]
    explain: bool,
    /// Prints rows as JSON, one a line.
    #[arg(long)]
    json: bool,
    /// Prints to standard error what was read and skipped, and the time that it took.
    #[arg(long)]
    stats: bool,
    /// Prints to standard error what each query would cost with its tables in an object store, by
    /// a model of the machine: `bandwidth` (bytes a second; 12.5e9), `instance` (dollars an hour;
    /// 3.89), `cores` (36), `get` and `list` (dollars for 1,000 requests; 0.0004, 0.005). Requests
    /// and bytes are those of tables that are in one.
    #[arg(long, value_name = "NAME=NUMBER,...")]
    cost: Option<Model>,
    /// A folder of the local disk that keeps what is read from object stores, for the next query, and
    /// its most bytes, such as `500MB` or `20GiB` (10 GiB); also by `STAFFA_DISK_CACHE` in the environment.
    #[arg(long, value_name = "FOLDER[=SIZE]")]
    disk_cache: Option<String>,
    /// Partitions that work at a time; by default as many as there are processors.
    #[arg(short, long, value_name = "N")]
    partitions: Option<usize>,
}

/// Runs the queries on a runtime of its own.
pub fn run(args: &Args) -> Result<()> {
    if let Some(text) = &args.disk_cache {
        let cache = DiskCache::of_text(text).map_err(|e| format!("--disk-cache: {e}"))?;
        DiskCache::set_process(Some(cache));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(run_all(args));
    DiskCache::flush_process();
    done
}

async fn run_all(args: &Args) -> Result<()> {
    let requests = Arc::new(Requests::default());
    let ctx = session(args, &requests)?;
    for table in &args.tables {
        tables::add(&ctx, table).await?;
    }
    let sql = if args.sql == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        args.sql.clone()
    };
    for statement in DFParser::parse_sql(&sql)? {
        run_one(&ctx, statement, args, &requests).await?;
    }
    Ok(())
}

fn session(args: &Args, requests: &Arc<Requests>) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_information_schema(true);
    config
        .options_mut()
        .execution
        .listing_table_factory_infer_partitions = true;
    if let Some(partitions) = args.partitions {
        if partitions == 0 {
            return Err("--partitions: at least 1 expected, found 0".into());
        }
        config = config.with_target_partitions(partitions);
    }
    // Where in the SQL an error is.
    config.options_mut().sql_parser.collect_spans = true;
    let stores = Arc::new(Stores::new(requests.clone()));
    let runtime = RuntimeEnvBuilder::new().with_object_store_registry(stores);
    let ctx = SessionContext::new_with_config_rt(config, runtime.build_arc()?);
    let ctx = ctx.enable_url_table();
    staffa_datafusion::register(&ctx)?;
    Ok(ctx)
}

async fn run_one(
    ctx: &SessionContext,
    statement: Statement,
    args: &Args,
    requests: &Requests,
) -> Result<()> {
    let (started, cpu) = (Instant::now(), cpu_time());
    let plan = ctx.state().statement_to_plan(statement).await?;
    let frame = ctx.execute_logical_plan(plan).await?;
    let plan = frame.create_physical_plan().await?;
    if args.explain {
        print!("{}", displayable(plan.as_ref()).indent(false));
        return Ok(());
    }
    let batches = execute_stream(plan.clone(), ctx.task_ctx())?;
    let rows = output::print(batches, args.json).await?;
    if args.stats {
        stats::print(plan.as_ref(), rows, started.elapsed())?;
    }
    if let Some(model) = &args.cost {
        model.print(requests.take(), cpu_time().saturating_sub(cpu))?;
    }
    Ok(())
}
