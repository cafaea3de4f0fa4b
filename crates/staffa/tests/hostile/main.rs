//! Files that were damaged, or made to do harm: an error, or the same table; never a panic, never
//! much memory.
//!
//! A checksum finds every change of the bytes it covers. A part that is sealed again may hold other
//! values, but arrays are valid and memory stays within the limits.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod codecs;
#[path = "../common/mod.rs"]
mod common;
mod damaged;
mod declared;
mod forged;
mod later;
mod references;
mod rules;
mod sealed;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, ListArray,
    NullArray, RecordBatch, RunArray, StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, IntervalUnit, Schema, TimeUnit};
use common::parts::{Parts, crc, varint};
use common::{
    Random, array, check, column, dictionary_of, encodings, field, map_of, rows, runs_of, sized,
    table,
};
use staffa::{Error, File, Limits, Result, WriteOptions};

/// Counts what is allocated, and the most there was at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; nothing else is done but counting.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(
            NOW.fetch_add(layout.size(), Relaxed) + layout.size(),
            Relaxed,
        );
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(
            NOW.fetch_add(layout.size(), Relaxed) + layout.size(),
            Relaxed,
        );
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: memory is counted for all of them together.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    // So that memory that is kept for later does not count.
    staffa_kernels::set_retained_limit(0);
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Result of `work`, and its peak memory in bytes.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// Most memory that reading a hostile file may take.
const MOST_BYTES: usize = 64 << 20;

/// `STAFFA_HOSTILE_TIMES=100` tries a hundred times as many files, other ones.
fn times() -> usize {
    std::env::var("STAFFA_HOSTILE_TIMES")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1)
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.block_bytes = 1 << 20;
    limits
}

/// A leaf of every kind, in two row groups of two blocks, as small as can be.
fn mixed() -> RecordBatch {
    use DataType as D;
    let types = [
        D::Boolean,
        D::Int16,
        D::UInt8,
        D::Date32,
        D::Float16,
        D::Float32,
        D::Decimal128(30, 2),
        D::Decimal256(70, 2),
        D::Interval(IntervalUnit::MonthDayNano),
        D::Timestamp(TimeUnit::Second, None),
        D::Utf8View,
        D::LargeBinary,
        D::FixedSizeBinary(5),
        D::List(field("item", D::Utf8)),
        D::LargeListView(field("item", D::Boolean)),
        D::FixedSizeList(field("item", D::UInt8), 2),
        D::Struct(vec![field("x", D::Utf8), field("y", D::Null)].into()),
        map_of(D::Int8, D::Int8, false),
        dictionary_of(D::UInt8, D::Utf8),
        runs_of(D::Int32, D::Utf8),
    ];
    let mut random = Random(3);
    let mut columns: Vec<ArrayRef> = types
        .iter()
        .map(|ty| array(ty, true, 40, &mut random))
        .collect();
    columns.push(Arc::new(Int64Array::from_iter_values(
        (0..40).map(|i| 1_000_000 + i * 3),
    )));
    columns.push(Arc::new(Float64Array::from_iter_values(
        (0..40).map(|i| f64::from(i) / 4.0),
    )));
    columns.push(Arc::new(StringArray::from_iter_values(
        (0..40).map(|i| format!("https://example.org/{}", i % 25)),
    )));
    columns.push(Arc::new(Int32Array::from_iter_values(
        (0..40).map(|i| i / 20 * 100_000),
    )));
    table(columns)
}

fn bytes_of(batch: &RecordBatch) -> Vec<u8> {
    staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), sized(24, 16)).unwrap()
}

/// The whole table, by scan.
fn whole(bytes: Vec<u8>, limits: Limits) -> Result<Vec<RecordBatch>> {
    File::from_bytes_with(bytes, limits)?
        .scan()
        .reader()?
        .collect()
}

/// That a damaged file is refused, or is the same table to the last value.
fn refused_or_same(bytes: Vec<u8>, original: &RecordBatch, what: &str) -> bool {
    let Ok(batches) = whole(bytes.clone(), limits()) else {
        return true;
    };
    for i in 0..original.num_columns() {
        assert_eq!(
            column(&batches, i),
            rows(original.column(i)),
            "{what}, column {i}"
        );
    }
    assert_eq!(batches[0].schema(), original.schema(), "{what}");
    // What a scan does not read, a verification does.
    File::from_bytes(bytes)
        .and_then(|file| file.verify(&mut |_| {}))
        .is_err()
}

/// One to four changes: bits, bytes, a stretch from elsewhere; where the length may differ, bytes
/// gone or put in.
fn mutate(bytes: &mut Vec<u8>, same_length: bool, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let (at, len) = (random.below(bytes.len()), random.below(9));
        match random.below(if same_length { 4 } else { 6 }) {
            _ if bytes.is_empty() => return,
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes[at] = random.next() as u8,
            3 => {
                let from = random.below(bytes.len());
                let stretch: Vec<u8> = bytes[from..].iter().take(len).copied().collect();
                bytes[at..]
                    .iter_mut()
                    .zip(stretch)
                    .for_each(|(to, from)| *to = from);
            }
            4 => drop(bytes.drain(at..(at + len).min(bytes.len()))),
            // The largest numbers there are.
            _ => drop(bytes.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x07].into_iter().take(len))),
        }
    }
}

/// Everything that can be done with a file. What it says may be other than what was written, but it
/// holds together.
fn use_up(bytes: Vec<u8>) -> Result<()> {
    let file = File::from_bytes_with(bytes, limits())?;
    // One after another: an error in one must not spare the others.
    let scanned = file.scan().reader().and_then(|reader| {
        for batch in reader {
            let batch = batch?;
            check(&batch);
        }
        Ok(())
    });
    let last = file.num_rows().saturating_sub(1);
    let taken = file
        .take(&[last, 0, last / 2, last])
        .string_views(true)
        .read()
        .map(|batch| check(&batch));
    let first = file
        .schema()
        .fields()
        .first()
        .map_or("a", |field| field.name())
        .to_owned();
    let predicate = staffa::Predicate::IsNull { column: first };
    let filtered = file
        .scan()
        .filter(staffa::Predicate::Not(Box::new(predicate)))
        .limit(30)
        .batch_rows(7)
        .reader();
    let filtered = filtered.and_then(|reader| {
        reader
            .map(|batch| batch.map(|batch| check(&batch)))
            .collect::<Result<Vec<()>>>()
    });
    for field in file.schema().fields().iter().take(12) {
        for which in [
            "rows", "count", "nulls", "min", "max", "sum", "distinct", "sorted",
        ] {
            let wanted = [(field.name().as_str(), which.parse().unwrap())];
            let _ = file.aggregate(&wanted, None).map(|found| check(&found));
        }
    }
    let _ = file.inspect();
    let _ = file.explain();
    let verified = file.verify(&mut |_| {});
    scanned
        .and(taken)
        .and(filtered.map(drop))
        .and(verified.map(drop))
}

/// Reads the file in every way, within the memory limit; whether it was accepted.
fn survives(file: Vec<u8>, what: &str) -> bool {
    let (result, peak) = measured(|| use_up(file));
    assert!(
        peak < MOST_BYTES,
        "{what}: {peak} bytes of memory for {result:?}"
    );
    if let Err(Error::Io { .. }) = result {
        panic!("{what}: {result:?}");
    }
    result.is_ok()
}

fn one(column: ArrayRef) -> RecordBatch {
    table(vec![column])
}
