//! One query over a folder of Staffa files, by DataFusion in three processes.
//!
//! This process plans the query with `datafusion-distributed` and sends parts of the plan to two workers on
//! loopback. `StaffaCodec` writes the scans into what is sent, with their filters and columns, and reads them
//! there. A worker is this program as well; it ends once its standard input is closed.
//!
//! ```text
//! cargo run --release                                   # a table of its own
//! cargo run --release -- FOLDER "SELECT ... FROM t"     # the files of a folder, as table t
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::DataFusionError;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DistributedExt, SessionStateBuilderExt, Worker, WorkerQueryContext, WorkerResolver,
    display_plan_ascii,
};
use staffa_datafusion::StaffaCodec;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use url::Url;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const QUERY: &str = "SELECT city, count(*) AS days, avg(price) AS price FROM t \
    WHERE price BETWEEN 20 AND 180 GROUP BY city ORDER BY city";

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let made = tempfile::tempdir()?;
    let (folder, sql) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => return work().await,
        [folder, sql] => (Path::new(folder), sql),
        [] => {
            write_table(made.path())?;
            (made.path(), QUERY)
        }
        _ => return Err("usage: distributed [FOLDER SQL]".into()),
    };
    // Dropped at the end, and the workers with them.
    let (_first, a) = start_worker().await?;
    let (_second, b) = start_worker().await?;

    let ctx = SessionContext::new_with_state(distributed(Workers(vec![a, b]))?);
    open(&ctx, folder).await?;
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    println!("{}\n", display_plan_ascii(plan.as_ref(), false));
    let rows = pretty_format_batches(&collect(plan, ctx.task_ctx()).await?)?.to_string();
    println!("{rows}");

    let here = SessionContext::new();
    open(&here, folder).await?;
    let expected = pretty_format_batches(&here.sql(sql).await?.collect().await?)?.to_string();
    if rows != expected {
        return Err(
            format!("one process alone has other rows, or another order:\n{expected}").into(),
        );
    }
    println!("One process alone has the same rows.");
    Ok(())
}

/// The state of a session that plans for workers.
fn distributed(workers: Workers) -> Result<SessionState> {
    Ok(SessionStateBuilder::new()
        .with_default_features()
        .with_config(SessionConfig::new().with_target_partitions(2))
        .with_distributed_planner()
        .with_distributed_worker_resolver(workers)
        .with_distributed_user_codec(StaffaCodec)
        // By default a scan of less than 16 MB stays in one process: here each has its part.
        .with_distributed_file_scan_config_bytes_per_partition(1)?
        .build())
}

/// The files of a folder, as table `t`.
async fn open(ctx: &SessionContext, folder: &Path) -> Result<()> {
    staffa_datafusion::register(ctx)?;
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS STAFFA LOCATION '{}/'",
        folder.display()
    );
    ctx.sql(&sql).await?;
    Ok(())
}

/// Four files of 50,000 rows.
fn write_table(folder: &Path) -> Result<()> {
    for part in 0..4 {
        let rows = part * 50_000..(part + 1) * 50_000;
        let cities = ["Basel", "Bern", "Chur", "Genf", "Zug"];
        let city: StringArray = rows.clone().map(|row| cities.get(row % 5)).collect();
        let price = Int64Array::from_iter_values(rows.map(|row| (row * 7919 % 211) as i64));
        let columns = [
            ("city", Arc::new(city) as ArrayRef),
            ("price", Arc::new(price)),
        ];
        let batch = RecordBatch::try_from_iter(columns)?;
        let file = folder.join(format!("{part}.staffa"));
        let mut writer = staffa::Writer::create(file, batch.schema(), staffa::WriteOptions::new())?;
        writer.write(&batch)?;
        writer.finish()?;
    }
    Ok(())
}

/// Where the workers are.
struct Workers(Vec<Url>);

#[async_trait]
impl WorkerResolver for Workers {
    fn get_urls(&self) -> std::result::Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

/// Starts a worker, which says its port.
async fn start_worker() -> Result<(Child, Url)> {
    let mut worker = Command::new(std::env::current_exe()?)
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let said = worker
        .stdout
        .take()
        .ok_or("a worker without standard output")?;
    let port = BufReader::new(said).lines().next_line().await?;
    let port: u16 = port
        .ok_or("a worker ended before it said its port")?
        .parse()?;
    Ok((worker, Url::parse(&format!("http://127.0.0.1:{port}"))?))
}

/// Runs what is sent, until standard input is closed.
async fn work() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let worker = Worker::from_session_builder(|context: WorkerQueryContext| async move {
        Ok(context
            .builder
            .with_distributed_user_codec(StaffaCodec)
            .build())
    });
    let server = Server::builder().add_service(worker.into_worker_server());
    let served = server.serve_with_incoming(TcpListenerStream::new(listener));
    let mut input = tokio::io::stdin();
    tokio::select! {
        result = served => result?,
        _ = input.read_u8() => {}
    }
    Ok(())
}
