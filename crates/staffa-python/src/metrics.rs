//! What scans count, and how they use the cache.

use pyo3::prelude::*;
use staffa::{Scan, ScanCounts};

/// Counters of the scans that have them.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct ScanMetrics(staffa::ScanMetrics);

#[pymethods]
impl ScanMetrics {
    #[new]
    fn new() -> Self {
        Self(staffa::ScanMetrics::new())
    }

    /// Bytes and requests, seconds of reading and of decoding, blocks and those of the cache.
    fn counts(&self) -> (u64, u64, f64, f64, u64, u64) {
        let ScanCounts {
            bytes_read,
            requests,
            read_time,
            decode_time,
            blocks,
            cache_hits,
            ..
        } = self.0.counts();
        let (read, decode) = (read_time.as_secs_f64(), decode_time.as_secs_f64());
        (bytes_read, requests, read, decode, blocks, cache_hits)
    }
}

/// How a scan reads: whether by the cache, whether that keeps blocks decoded, and its counters.
pub(crate) type Reads<'py> = (bool, Option<bool>, Option<Bound<'py, ScanMetrics>>);

/// The same, apart from Python.
#[derive(Default)]
pub(crate) struct ScanReads {
    cached: bool,
    decoded: Option<bool>,
    metrics: Option<staffa::ScanMetrics>,
}

impl ScanReads {
    pub(crate) fn new(reads: Option<Reads<'_>>) -> Self {
        reads.map_or_else(Self::default, |(cached, decoded, metrics)| Self {
            cached,
            decoded,
            metrics: metrics.map(|metrics| metrics.get().0.clone()),
        })
    }

    pub(crate) fn apply(self, scan: Scan) -> Scan {
        let mut scan = scan.cached(self.cached);
        if let Some(decoded) = self.decoded {
            scan = scan.cache_decoded(decoded);
        }
        match self.metrics {
            Some(metrics) => scan.metrics(&metrics),
            None => scan,
        }
    }
}
