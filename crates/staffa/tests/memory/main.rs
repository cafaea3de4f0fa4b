//! Memory of a writer: bounded by a row group, whatever the number of rows and columns.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use staffa::{WriteOptions, Writer};

/// Counts what is allocated, and the most there was at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// One test at a time counts.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: the system's allocator does the work; nothing else is done but counting.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Columns of several types, all of them different: nothing is left out as equal.
fn batch(columns: usize, rows: usize, seed: u64) -> RecordBatch {
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut column = |i: usize| -> ArrayRef {
        let mut words = (0..rows).map(|_| random());
        match i % 5 {
            0 => Arc::new(Int64Array::from_iter_values(
                words.map(|w| w as i64 & 0xffff_ffff),
            )),
            1 => Arc::new(Float64Array::from_iter(
                words.map(|w| (w % 4 > 0).then(|| (w % 100_000) as f64 / 100.0)),
            )),
            2 => Arc::new(StringArray::from_iter_values(
                words.map(|w| format!("{:x}", w % 65_536)),
            )),
            3 => Arc::new(Int32Array::from_iter_values(words.map(|w| (w % 20) as i32))),
            _ => Arc::new(
                words
                    .by_ref()
                    .map(|w| Some(w % 10 == 0))
                    .collect::<BooleanArray>(),
            ),
        }
    };
    let columns: Vec<_> = (0..columns)
        .map(|i| (format!("c{i}"), column(i), true))
        .collect();
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The most that a writer takes beside the batch that its caller holds. Every batch goes as soon as it is
/// written.
fn peak(columns: usize, batch_rows: usize, batches: u64, options: WriteOptions) -> usize {
    let _alone = ALONE.lock();
    let schema = batch(columns, 1, 1).schema();
    let before = NOW.load(Relaxed);
    let mut writer = Writer::new(std::io::sink(), schema, options).unwrap();
    let mut most = 0;
    for seed in 0..batches {
        let held = NOW.load(Relaxed);
        let batch = batch(columns, batch_rows, seed + 7);
        let batch_bytes = NOW.load(Relaxed) - held;
        PEAK.store(NOW.load(Relaxed), Relaxed);
        writer.write(&batch).unwrap();
        most = most.max(PEAK.load(Relaxed) - batch_bytes - before);
    }
    PEAK.store(NOW.load(Relaxed), Relaxed);
    writer.finish().unwrap();
    most.max(PEAK.load(Relaxed) - before)
}

#[test]
fn more_row_groups_take_no_more_memory() {
    const GROUP: usize = 1 << 20;
    let options = || WriteOptions::new().row_group_bytes(GROUP);
    let [few, many] = [20, 60].map(|batches| peak(40, 400, batches, options()));
    // Column indexes stay, some 50 bytes per block.
    assert!(
        many < few + few / 8,
        "{many} bytes, {few} for a third of the rows"
    );
    // With the buffer of the sink.
    assert!(few < 6 * GROUP, "{few} bytes");
}

#[test]
fn a_wide_table_takes_little_more_than_some_of_its_columns() {
    // The windows of 2,000 columns have as many as the only one of 1,000.
    let [few, many] = [1000, 2000].map(|columns| peak(columns, 300, 1, WriteOptions::default()));
    assert!(
        many < few * 3 / 2,
        "{many} bytes, {few} for half of the columns"
    );
}

#[test]
fn small_batches_take_little_more_than_their_rows() {
    // They wait: none of them is encoded before the last.
    let most = |rows: usize| peak(40, rows, 4000 / rows as u64, WriteOptions::default());
    let [small, large] = [1, 1000].map(most);
    assert!(
        small < large * 3 / 2,
        "{small} bytes, {large} for batches of 1,000 rows"
    );
}

/// `cargo test --release -p staffa --test memory -- --ignored`: half a minute.
#[test]
#[ignore = "writes some gigabytes, for a release build"]
fn wide_tables_take_less_than_192_mib() {
    for (columns, batch_rows, batches) in [(400, 4096, 60), (400, 4096, 20), (10_000, 128, 60)] {
        let most = peak(columns, batch_rows, batches, WriteOptions::default());
        assert!(most < 192 << 20, "{columns} columns: {} MiB", most >> 20);
    }
}
