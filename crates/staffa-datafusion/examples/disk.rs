//! The queries of a benchmark over Staffa files on a disk of a given bandwidth: seconds of waiting, of
//! decoding and of the rest as JSON, for `bench/experiments.py`.
//!
//! ```text
//! disk SPEC.json
//! ```
//!
//! | key | |
//! |---|---|
//! | `folders` | folders of `.staffa` files by a name: the same tables, written differently |
//! | `queries` | SQL by a name |
//! | `bandwidth` | bytes a second; the disk as it is where 0 |
//! | `whole_row_groups` | names of folders whose row groups are read with all columns, as pages of PAX |
//! | `cache_bytes` | budget of the block cache; no cache where 0 |
//! | `rounds` | how often each query runs, folders in turn |
//! | `at_once` | whether all queries run at the same time |
//!
//! The disk is a token bucket before the real one, whose page cache is emptied of the files before each
//! query. One thread runs the queries, another one reads.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as StoreResult,
};
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use url::Url;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("disk SPEC.json expected")?;
    let spec: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let number = |key: &str| spec.get(key).and_then(Value::as_u64).unwrap_or(0);
    let disk = Arc::new(Bucket::new(number("bandwidth")));
    let cache_bytes = number("cache_bytes");
    let queries = texts(&spec, "queries")?;
    let mut folders = Vec::new();
    for (name, folder) in texts(&spec, "folders")? {
        let whole = spec.get("whole_row_groups").and_then(Value::as_array);
        let whole = whole.is_some_and(|names| names.iter().any(|at| *at == *name));
        folders.push((
            name,
            Folder::open(&folder, &disk, whole, cache_bytes > 0).await?,
        ));
    }
    let at_once = spec
        .get("at_once")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let mut measured: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut answers: HashMap<&str, String> = HashMap::new();
    for _ in 0..number("rounds").max(1) {
        for (name, folder) in &folders {
            let cache = staffa::Cache::process();
            // What another folder has left is no help.
            cache.set_budget(0);
            cache.set_budget(cache_bytes);
            let ran = folder.run(&queries, &disk, at_once).await?;
            for (query, (answer, figures)) in queries.keys().zip(ran) {
                let first = answers.entry(query).or_insert_with(|| answer.clone());
                if *first != answer {
                    return Err(format!("{query}: another answer over {name}").into());
                }
                let mut figures = figures;
                figures["query"] = json!(query);
                measured.entry(name).or_default().push(figures);
            }
        }
    }
    let bytes: BTreeMap<&String, u64> = folders.iter().map(|(name, of)| (name, of.bytes)).collect();
    println!("{}", json!({ "runs": measured, "bytes": bytes }));
    Ok(())
}

/// An object of the specification whose values are texts.
fn texts(spec: &Value, key: &str) -> Result<BTreeMap<String, String>> {
    let found = spec.get(key).cloned().unwrap_or_default();
    serde_json::from_value(found).map_err(|e| format!("{key}: {e}").into())
}

/// A session whose tables are the files of a folder.
struct Folder {
    ctx: SessionContext,
    files: Vec<std::path::PathBuf>,
    bytes: u64,
}

impl Folder {
    async fn open(folder: &str, disk: &Arc<Bucket>, whole: bool, cached: bool) -> Result<Self> {
        let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        staffa_datafusion::register(&ctx)?;
        let folder = std::fs::canonicalize(folder)?;
        let (mut files, mut bytes, mut row_groups) = (Vec::new(), 0, HashMap::new());
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "staffa")
            {
                bytes += path.metadata()?.len();
                if whole {
                    row_groups.insert(Path::from_absolute_path(&path)?, ranges(&path)?);
                }
                files.push(path);
            }
        }
        let store = Disk {
            inner: LocalFileSystem::new(),
            bucket: disk.clone(),
            row_groups,
        };
        ctx.register_object_store(&Url::parse("disk://local")?, Arc::new(store));
        for path in &files {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let options = if cached { " OPTIONS (cached true)" } else { "" };
            let at = path.display();
            let sql = format!(
                "CREATE EXTERNAL TABLE \"{name}\" STORED AS STAFFA LOCATION 'disk://local{at}'{options}"
            );
            ctx.sql(&sql).await?;
        }
        Ok(Self { ctx, files, bytes })
    }

    /// Answer and figures of each query.
    async fn run(
        &self,
        queries: &BTreeMap<String, String>,
        disk: &Bucket,
        at_once: bool,
    ) -> Result<Vec<(String, Value)>> {
        if at_once {
            self.forget()?;
            disk.begin();
            let all = queries.values().map(|sql| self.measure(sql));
            return try_join_all(all).await;
        }
        let mut ran = Vec::new();
        for sql in queries.values() {
            self.forget()?;
            disk.begin();
            ran.push(self.measure(sql).await?);
        }
        Ok(ran)
    }

    /// Drops the files from the page cache.
    fn forget(&self) -> Result<()> {
        for path in &self.files {
            fadvise(std::fs::File::open(path)?, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    async fn measure(&self, sql: &str) -> Result<(String, Value)> {
        let (began, cpu_began) = (Instant::now(), cpu());
        let mut rows = Vec::new();
        let mut found = Figures::default();
        for sql in sql.split(';').filter(|sql| !sql.trim().is_empty()) {
            let plan = self.ctx.sql(sql).await?.create_physical_plan().await?;
            rows.extend(collect(plan.clone(), self.ctx.task_ctx()).await?);
            found.add(plan.as_ref());
        }
        let figures = json!({
            "seconds": began.elapsed().as_secs_f64(),
            "cpu": (cpu() - cpu_began).as_secs_f64(),
            "wait": found.wait.as_secs_f64(),
            "decode": found.decode.as_secs_f64(),
            "bytes": found.bytes,
        });
        Ok((pretty_format_batches(&rows)?.to_string(), figures))
    }
}

/// Where the row groups of a file are.
fn ranges(path: &FilePath) -> Result<Vec<Range<u64>>> {
    let groups = staffa::File::open(path)?.inspect()?.row_groups;
    let ranges = groups
        .iter()
        .map(|group| group.offset..group.offset + group.bytes);
    Ok(ranges.collect())
}

/// What the scans of a plan counted.
#[derive(Default)]
struct Figures {
    wait: Duration,
    decode: Duration,
    bytes: usize,
}

impl Figures {
    fn add(&mut self, plan: &dyn ExecutionPlan) {
        if let Some(metrics) = plan.metrics() {
            let time = |name| match metrics.sum_by_name(name) {
                Some(MetricValue::Time { time, .. }) => Duration::from_nanos(time.value() as u64),
                _ => Duration::ZERO,
            };
            self.wait += time("wait_time");
            self.decode += time("decode_time");
            let bytes = metrics.sum_by_name("bytes_read");
            self.bytes += bytes.map_or(0, |value| value.as_usize());
        }
        plan.children()
            .into_iter()
            .for_each(|child| self.add(child.as_ref()));
    }
}

/// CPU time of the process.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// A disk that reads one range after the other, so many bytes a second.
#[derive(Debug)]
struct Bucket {
    bandwidth: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the last range is there.
    free: Instant,
    /// Row groups that were read whole since the query began.
    read: HashMap<(Path, usize), Instant>,
}

impl Bucket {
    fn new(bandwidth: u64) -> Self {
        let state = State {
            free: Instant::now(),
            read: HashMap::new(),
        };
        Self {
            bandwidth,
            state: Mutex::new(state),
        }
    }

    /// A query that has read nothing yet.
    fn begin(&self) {
        self.state().read.clear();
    }

    /// When a range of a file is there, which has these row groups where they are read whole.
    fn arrives(&self, location: &Path, range: &Range<u64>, groups: &[Range<u64>]) -> Instant {
        let mut state = self.state();
        let mut arrives = Instant::now();
        let mut within = 0;
        for (number, group) in groups.iter().enumerate() {
            let common = range
                .end
                .min(group.end)
                .saturating_sub(range.start.max(group.start));
            if common == 0 {
                continue;
            }
            within += common;
            let key = (location.clone(), number);
            let read = state.read.get(&key).copied();
            let there = read.unwrap_or_else(|| {
                let there = self.reads(&mut state, group.end - group.start);
                state.read.insert(key, there);
                there
            });
            arrives = arrives.max(there);
        }
        arrives.max(self.reads(&mut state, (range.end - range.start).saturating_sub(within)))
    }

    fn reads(&self, state: &mut State, bytes: u64) -> Instant {
        let seconds = bytes as f64 / self.bandwidth.max(1) as f64;
        let takes = if self.bandwidth == 0 { 0.0 } else { seconds };
        state.free = state.free.max(Instant::now()) + Duration::from_secs_f64(takes);
        state.free
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files behind the bucket.
#[derive(Debug)]
struct Disk {
    inner: LocalFileSystem,
    bucket: Arc<Bucket>,
    /// Of the files that are read by whole row groups.
    row_groups: HashMap<Path, Vec<Range<u64>>>,
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Disk {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        let head = options.head;
        let found = self.inner.get_opts(location, options).await?;
        if head {
            return Ok(found);
        }
        let (meta, range) = (found.meta.clone(), found.range.clone());
        let attributes = found.attributes.clone();
        let groups = self.row_groups.get(location).map_or(&[][..], Vec::as_slice);
        let arrives = self.bucket.arrives(location, &range, groups);
        let bytes: Bytes = found.bytes().await?;
        tokio::time::sleep_until(arrives.into()).await;
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::once(async { Ok(bytes) }).boxed()),
            meta,
            range,
            attributes,
        })
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
