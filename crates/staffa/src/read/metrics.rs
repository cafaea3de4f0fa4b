//! What scans count: bytes and requests, time of reading and of decoding, blocks of the cache.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counters of the scans that have them ([`Scan::metrics`](crate::Scan::metrics)): of one, or of all
/// that one query makes. Clones are the same counters.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..100_000)) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let file = staffa::File::from_bytes(bytes)?;
/// let metrics = staffa::ScanMetrics::new();
/// for _ in 0..2 {
///     let scan = file.scan().cached(true).metrics(&metrics);
///     scan.reader()?.try_for_each(|batch| batch.map(drop))?;
/// }
/// let counts = metrics.counts();
/// assert_eq!((counts.blocks, counts.cache_hits), (4, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ScanMetrics(Arc<Counters>);

/// What [`ScanMetrics`] have counted so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScanCounts {
    /// Bytes of blocks and dictionaries read from the disk, from memory, or from elsewhere. Bytes that
    /// opening the file has read do not count.
    pub bytes_read: u64,
    /// Reads of the disk or of memory, and ranges given by a [`Source`](crate::Source) or a caller.
    pub requests: u64,
    /// Time of these reads. Of ranges that a caller fetches itself it is not known.
    pub read_time: Duration,
    /// Time of everything else: checks, filters, decoding. Of several threads it is their sum, but for
    /// columns that they decode together, which count once.
    pub decode_time: Duration,
    /// Blocks that were needed.
    pub blocks: u64,
    /// Of these the ones found in the cache.
    pub cache_hits: u64,
}

#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    requests: AtomicU64,
    /// Within work, and apart from it.
    read_nanos: AtomicU64,
    wait_nanos: AtomicU64,
    work_nanos: AtomicU64,
    blocks: AtomicU64,
    hits: AtomicU64,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl ScanMetrics {
    /// Counters that begin at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted so far.
    pub fn counts(&self) -> ScanCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &*self.0;
        let (read, work) = (get(&counters.read_nanos), get(&counters.work_nanos));
        ScanCounts {
            bytes_read: get(&counters.bytes),
            requests: get(&counters.requests),
            read_time: Duration::from_nanos(read + get(&counters.wait_nanos)),
            decode_time: Duration::from_nanos(work.saturating_sub(read)),
            blocks: get(&counters.blocks),
            cache_hits: get(&counters.hits),
        }
    }

    /// Counts bytes that came.
    pub(super) fn count_request(&self, bytes: usize) {
        add(&self.0.requests, 1);
        add(&self.0.bytes, bytes as u64);
    }

    /// Counts blocks that are needed, and how many of them the cache has.
    pub(super) fn count_blocks(&self, blocks: usize, hits: usize) {
        add(&self.0.blocks, blocks as u64);
        add(&self.0.hits, hits as u64);
    }

    /// Counts the time of a read within work.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let read = read();
        add(&self.0.read_nanos, nanos(start));
        read
    }

    /// Counts the time of a read apart from work.
    pub(super) fn wait<T>(&self, read: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let read = read();
        add(&self.0.wait_nanos, nanos(start));
        read
    }

    /// Counts the time of work.
    pub(super) fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        add(&self.0.work_nanos, nanos(start));
        done
    }
}

/// How a file is read by a scan.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanReads {
    /// Whether blocks are taken from the cache and kept there.
    pub cached: bool,
    /// Whether blocks are kept decoded; as the file's limits say if it is none.
    pub decoded: Option<bool>,
    pub metrics: Option<ScanMetrics>,
    /// What a scan in steps has found in the cache when it was planned.
    pub pins: Option<Arc<super::cache::Pins>>,
    /// Whether blocks are opened [thoroughly](crate::decode::Opener::thorough).
    pub thorough: bool,
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use bytes::Bytes;

    use super::*;
    use crate::encode::Profile;
    use crate::error::Result;
    use crate::format::Source;
    use crate::limits::Limits;
    use crate::read::{Cache, File, Scan};
    use crate::testing::arrays::{Random, array, flat_types, nested_types};
    use crate::write::WriteOptions;

    /// A file elsewhere that counts its reads.
    #[derive(Debug)]
    struct Counted(Bytes, AtomicUsize);

    impl Source for Counted {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }
        fn name(&self) -> &'static str {
            "elsewhere"
        }
        fn read(&self, range: Range<u64>) -> Result<Bytes> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Ok(self.0.slice(range.start as usize..range.end as usize))
        }
    }

    /// Columns of every type, derived ones and shared dictionaries among them, in several row groups.
    fn bytes() -> Bytes {
        let mut random = Random(7);
        let n: Vec<i64> = (0..3000).map(|_| random.below(1 << 30) as i64).collect();
        let column = |column: Int64Array| Arc::new(column) as ArrayRef;
        let mut columns = vec![
            column(n.clone().into()),
            column(n.iter().map(|n| n * 3 + 7).collect::<Vec<_>>().into()),
            column((0..3000).collect::<Vec<_>>().into()),
        ];
        let types = flat_types()
            .into_iter()
            .chain(nested_types(&arrow_schema::DataType::Utf8));
        columns.extend(types.map(|ty| array(&ty, true, 3000, &mut random)));
        let names = (0..columns.len()).map(|i| format!("c{i}"));
        let columns = names
            .zip(columns)
            .map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut options = WriteOptions::new().profile(Profile::Small);
        (options.row_group_rows, options.block_rows) = (1100, 256);
        crate::to_bytes(batch.schema(), &[batch], options)
            .unwrap()
            .into()
    }

    fn batches(scan: Scan) -> Vec<RecordBatch> {
        scan.reader().unwrap().map(|batch| batch.unwrap()).collect()
    }

    #[test]
    fn a_cached_scan_has_the_same_rows_and_reads_nothing_again() {
        let bytes = bytes();
        for (decoded, of_scan) in [
            (false, None),
            (true, None),
            (false, Some(true)),
            (true, Some(false)),
        ] {
            let limits = Limits {
                cache_decoded: decoded,
                ..Limits::default()
            };
            let source = Arc::new(Counted(bytes.clone(), AtomicUsize::new(0)));
            let files = [
                File::from_bytes_with(bytes.clone(), limits).unwrap(),
                File::open_source_with(source.clone(), limits).unwrap(),
            ];
            for (file, filter) in files
                .iter()
                .flat_map(|file| [(file, None), (file, Some("c2 >= 700 and c2 < 2500"))])
            {
                let cache = Cache::new(1 << 30);
                let file = file.with_cache(&cache);
                let flat = 3 + flat_types().len();
                let plain = match filter {
                    // Nested columns are asked for whole, and a block that no row needs is not kept.
                    Some(filter) => file
                        .scan()
                        .columns((0..flat).map(|column| format!("c{column}")))
                        .filter(filter.parse().unwrap()),
                    None => file.scan(),
                };
                let plain = match of_scan {
                    Some(decoded) => plain.cache_decoded(decoded),
                    None => plain,
                };
                let expected = batches(plain.clone());
                let read = |metrics: &ScanMetrics| {
                    let reads = source.1.load(Ordering::Relaxed);
                    assert_eq!(
                        batches(plain.clone().cached(true).metrics(metrics)),
                        expected
                    );
                    (source.1.load(Ordering::Relaxed) - reads, metrics.counts())
                };
                let (_, first) = read(&ScanMetrics::new());
                assert!(
                    first.blocks > 0 && first.bytes_read > 0 && first.cache_hits < first.blocks
                );
                let (reads, second) = read(&ScanMetrics::new());
                assert_eq!(
                    (reads, second.requests, second.bytes_read),
                    (0, 0, 0),
                    "{filter:?} {decoded}"
                );
                assert_eq!(second.blocks, second.cache_hits);
                assert!(second.decode_time > Duration::ZERO);
            }
        }
    }

    #[test]
    fn a_scan_says_how_its_blocks_are_kept() {
        let bytes = bytes();
        let held = |of_file, of_scan| {
            let limits = Limits {
                cache_decoded: of_file,
                ..Limits::default()
            };
            let cache = Cache::new(1 << 30);
            let file = File::from_bytes_with(bytes.clone(), limits).unwrap();
            // What is kept of a file goes with it.
            let file = file.with_cache(&cache);
            let scan = file.scan().cached(true);
            let scan = match of_scan {
                Some(decoded) => scan.cache_decoded(decoded),
                None => scan,
            };
            batches(scan);
            cache.info().bytes
        };
        let (encoded, decoded) = (held(false, None), held(true, None));
        assert!(decoded > encoded + encoded / 10, "{decoded}, {encoded}");
        assert_eq!(held(false, Some(true)), decoded);
        assert_eq!(held(true, Some(false)), encoded);
    }

    /// What is dropped between a plan and its reads is still there for them.
    #[test]
    fn a_cache_that_is_too_small_changes_no_row() {
        let bytes = bytes();
        let file = File::open_source(Arc::new(Counted(bytes, AtomicUsize::new(0)))).unwrap();
        let expected = batches(file.scan());
        for budget in [0, 5_000, 50_000, 200_000] {
            let file = file.with_cache(&Cache::new(budget));
            for _ in 0..3 {
                assert_eq!(batches(file.scan().cached(true)), expected, "{budget}");
                assert_eq!(batches(file.scan()), expected, "{budget}");
            }
        }
    }

    #[test]
    fn a_scan_without_a_cache_keeps_nothing_and_counts_its_bytes() {
        let bytes = bytes();
        let cache = Cache::new(1 << 30);
        let file = File::from_bytes(bytes.clone()).unwrap().with_cache(&cache);
        let metrics = ScanMetrics::new();
        let scan = file
            .scan()
            .filter("c2 = 5".parse().unwrap())
            .metrics(&metrics);
        assert_eq!(batches(scan.columns(["c2"]))[0].num_rows(), 1);
        let one = metrics.counts();
        assert!(one.bytes_read > 0 && one.bytes_read < bytes.len() as u64 / 4);
        assert_eq!((one.cache_hits, cache.info().misses), (0, 0));
    }
}
