//! What a file and its scans hold of the bytes that were fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use staffa::{Step, WriteOptions};

use super::common::Random;
use super::counted::slice;
use super::steps::open;
use super::written;

/// Bytes that are counted as long as somebody holds a part of them.
struct Held {
    bytes: Bytes,
    count: Arc<AtomicUsize>,
}

impl Held {
    fn counted(bytes: Bytes, count: &Arc<AtomicUsize>) -> Bytes {
        count.fetch_add(bytes.len(), Ordering::Relaxed);
        let count = count.clone();
        Bytes::from_owner(Self { bytes, count })
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[test]
fn what_is_kept_of_a_request_does_not_hold_all_of_it() {
    let mut random = Random(41);
    let rows = 140_000;
    // A dictionary that the two blocks of a row group share, beside noise in the same requests.
    let names = (0..rows).map(|_| format!("the name of station {}", random.below(500)));
    let names = StringArray::from_iter_values(names);
    let noise = Int64Array::from_iter_values((0..rows).map(|_| random.next() as i64));
    let columns: [(&str, ArrayRef); 2] = [("name", Arc::new(names)), ("noise", Arc::new(noise))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = vec![batch; 6];
    let table = arrow_select::concat::concat_batches(&table[0].schema(), &table).unwrap();
    let bytes = written(&table, WriteOptions::new().row_group_rows(rows));

    let (file, _) = open(&bytes).unwrap();
    let held = Arc::new(AtomicUsize::new(0));
    let mut steps = file.scan().prefetch_bytes(1).steps().unwrap();
    let (mut waiting, mut most) = (Vec::new(), 0);
    loop {
        match steps.next().unwrap() {
            Step::Needs(ranges) => waiting.extend(ranges),
            Step::Wait => {
                for range in waiting.drain(..) {
                    let part = Held::counted(slice(&bytes, &range), &held);
                    steps.give(&range, part).unwrap();
                }
            }
            Step::Batch(_) => most = most.max(held.load(Ordering::Relaxed)),
            Step::Done => break,
            step => panic!("{step:?}"),
        }
    }
    drop(steps);
    assert!(most < bytes.len() / 2, "{most} of {}", bytes.len());
    assert_eq!(held.load(Ordering::Relaxed), 0);
}
