//! Files that were damaged, or made to do harm: an error, or the same table; never a panic, never
//! much memory.
//!
//! What a checksum covers is found out whatever happens to it. What is sealed again may say
//! something else, but must hold together: arrays are whole, and memory stays within the limits.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

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

/// Runs `work` and returns its result, and the memory that it had at most.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// What a hostile file may take.
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
    let Ok(batches) = whole(bytes, limits()) else {
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
    false
}

#[test]
fn every_flip_is_found_out() {
    let _turn = turn();
    let original = mixed();
    let bytes = bytes_of(&original);
    assert!(bytes.len() < 20_000, "{}", bytes.len());
    assert!(!refused_or_same(bytes.clone(), &original, "as it is"));
    let mut accepted = Vec::new();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if !refused_or_same(flipped, &original, &format!("bit {} of byte {at}", at % 8)) {
            accepted.push(at);
        }
    }
    assert!(
        accepted.is_empty(),
        "no checksum covers {accepted:?} of {} bytes",
        bytes.len()
    );
}

#[test]
fn every_truncation_is_found_out() {
    let _turn = turn();
    let original = mixed();
    let bytes = bytes_of(&original);
    for len in 0..bytes.len() {
        assert!(
            File::from_bytes(bytes[..len].to_vec()).is_err(),
            "the first {len} of {} bytes",
            bytes.len()
        );
    }
    for garbage in [&[0][..], b"STFA", &[0; 16], &bytes[bytes.len() - 16..]] {
        assert!(
            File::from_bytes([&bytes, garbage].concat()).is_err(),
            "{garbage:?} at the end"
        );
    }
    // A file twice is the file once: places count from the front.
    refused_or_same([&bytes[..], &bytes].concat(), &original, "twice");
    let message = File::from_bytes(b"PAR1 and so on, with enough bytes".to_vec())
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "not a Staffa file: it begins with \"PAR1\", \"STFA\" expected"
    );
}

/// A file taken apart as `file/mod.rs` says, to be changed and sealed again.
#[derive(Clone)]
struct Parts {
    /// Header, blocks, column indexes.
    body: Vec<u8>,
    footer: Vec<u8>,
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let trailer = bytes.len() - 16;
        let footer = trailer - u32_at(bytes, trailer);
        Self {
            body: bytes[..footer].to_vec(),
            footer: bytes[footer..trailer].to_vec(),
        }
    }

    /// Where the footer says where the index of a leaf is.
    fn entry(&self, leaf: usize) -> usize {
        20 + 4 * u32_at(&self.footer, 8) + 12 * leaf
    }

    fn leaves(&self) -> usize {
        u32_at(&self.footer, 12)
    }

    fn index(&self, leaf: usize) -> Range<usize> {
        let (start, bytes) = (
            u32_at(&self.footer, self.entry(leaf)),
            u32_at(&self.footer, self.entry(leaf) + 8),
        );
        start..start + bytes
    }

    /// Another index for a leaf, of any length, sealed.
    fn set_index(&mut self, leaf: usize, body: &[u8]) {
        let (entry, start) = (self.entry(leaf), self.body.len());
        self.body.extend([body, &crc(body)].concat());
        self.footer[entry..entry + 8].copy_from_slice(&(start as u64).to_le_bytes());
        self.footer[entry + 8..entry + 12].copy_from_slice(&(body.len() as u32 + 4).to_le_bytes());
    }

    /// Seals a range of the body again: an index, a block, a shared part.
    fn seal(&mut self, part: Range<usize>) {
        let sum = crc(&self.body[part.start..part.end - 4]);
        self.body[part.end - 4..part.end].copy_from_slice(&sum);
    }

    fn file(&self) -> Vec<u8> {
        let sealed = [
            &self.footer[..],
            &(self.footer.len() as u32).to_le_bytes(),
            &[0; 4],
        ]
        .concat();
        [
            &self.body[..],
            &sealed[..sealed.len() - 4],
            &crc(&sealed),
            &[0; 4],
            b"STFA",
        ]
        .concat()
    }
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
        .take(&[last, 0, last / 2, last], None, true)
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

/// As many accepted as refused would do as well: that something happens is all that is asked for.
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

#[test]
fn footers_sealed_again_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    assert!(survives(parts.file(), "as it is"));
    let mut random = Random(21);
    for i in 0..3000 * times() {
        let mut hostile = parts.clone();
        mutate(&mut hostile.footer, false, &mut random);
        survives(hostile.file(), &format!("footer {i}"));
    }
}

#[test]
fn column_indexes_sealed_again_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    let mut random = Random(22);
    for i in 0..3000 * times() {
        let mut hostile = parts.clone();
        let leaf = random.below(parts.leaves());
        let place = parts.index(leaf);
        let mut body = parts.body[place.start..place.end - 4].to_vec();
        mutate(&mut body, false, &mut random);
        hostile.set_index(leaf, &body);
        survives(hostile.file(), &format!("index {i} of leaf {leaf}"));
    }
}

/// A chunk derived from itself, from a column derived from it, from a missing, nested, shorter or
/// other column: an answer or an error.
#[test]
fn indexes_that_lie_about_references_do_no_harm() {
    let _turn = turn();
    let (batch, options) = common::encodings();
    let parts = Parts::of(&staffa::to_bytes(batch.schema(), &[batch], options).unwrap());
    // One reference each, whose number follows.
    let derived: Vec<usize> = (0..parts.leaves())
        .filter(|leaf| parts.body[parts.index(*leaf)][0] == 1)
        .collect();
    assert!(derived.len() >= 2, "{derived:?}");
    for &leaf in &derived {
        for reference in 0..127 {
            let mut hostile = parts.clone();
            let index = hostile.index(leaf);
            let honest = hostile.body[index.start + 1] == reference;
            hostile.body[index.start + 1] = reference;
            hostile.seal(index);
            let ok = survives(
                hostile.file(),
                &format!("leaf {leaf} derived from {reference}"),
            );
            assert!(ok || !honest, "leaf {leaf} derived from {reference}");
            assert!(
                !ok || (usize::from(reference) != leaf && usize::from(reference) < parts.leaves()),
                "leaf {leaf} derived from {reference}"
            );
        }
        for count in [0, 2, 15, 16, 127] {
            let mut hostile = parts.clone();
            let index = hostile.index(leaf);
            hostile.body[index.start] = count;
            hostile.seal(index);
            assert!(
                !survives(hostile.file(), &format!("leaf {leaf} derived from {count}")),
                "{count} references"
            );
        }
    }
    // Two that are derived from each other.
    let mut hostile = parts.clone();
    for (leaf, reference) in [(derived[0], derived[1]), (derived[1], derived[0])] {
        let index = hostile.index(leaf);
        hostile.body[index.start + 1] = reference as u8;
        hostile.seal(index);
    }
    assert!(!survives(hostile.file(), "a circle"));
}

#[test]
fn column_indexes_of_other_columns_do_no_harm() {
    let _turn = turn();
    let parts = Parts::of(&bytes_of(&mixed()));
    for leaf in 0..parts.leaves() {
        for other in 0..leaf {
            let mut hostile = parts.clone();
            let (a, b) = (parts.entry(leaf), parts.entry(other));
            for byte in 0..12 {
                hostile.footer.swap(a + byte, b + byte);
            }
            survives(
                hostile.file(),
                &format!("indexes of leaves {leaf} and {other}"),
            );
        }
    }
}

/// Changes block after block of a file.
fn blocks_do_no_harm(bytes: Vec<u8>, count: usize, random: &mut Random) {
    let parts = Parts::of(&bytes);
    let mut places = Vec::new();
    for leaf in File::from_bytes(bytes).unwrap().inspect().unwrap().columns {
        for chunk in leaf.chunks {
            let shared = chunk
                .shared_parts
                .iter()
                .map(|part| (part.offset, part.bytes));
            places
                .extend(shared.chain(chunk.blocks.iter().map(|block| (block.offset, block.bytes))));
        }
    }
    let places: Vec<Range<usize>> = places
        .iter()
        .map(|(at, len)| *at as usize..(at + len) as usize)
        .collect();
    let mut accepted = 0;
    for i in 0..count * times() {
        let mut hostile = parts.clone();
        let place = places[i % places.len()].clone();
        let mut body = parts.body[place.start..place.end - 4].to_vec();
        mutate(&mut body, true, random);
        hostile.body[place.start..place.end - 4].copy_from_slice(&body);
        hostile.seal(place.clone());
        accepted += usize::from(survives(hostile.file(), &format!("block {i} at {place:?}")));
    }
    assert!(
        accepted > count / 100,
        "sealing fails, or little is changed: {accepted} accepted"
    );
}

#[test]
fn blocks_sealed_again_do_no_harm() {
    let _turn = turn();
    blocks_do_no_harm(bytes_of(&mixed()), 3000, &mut Random(23));
}

#[test]
fn encodings_sealed_again_do_no_harm() {
    let _turn = turn();
    let (batch, options) = encodings();
    let bytes = staffa::to_bytes(batch.schema(), &[batch], options).unwrap();
    blocks_do_no_harm(bytes, 2400, &mut Random(24));
}

/// Blocks of text whose tokens stand once, in a part that they share; in some of the files in the
/// place of others.
#[test]
fn shared_tokens_do_no_harm() {
    let _turn = turn();
    let mut random = Random(25);
    let words: Vec<String> = (0..60)
        .map(|_| format!("{:x}", random.next() >> 40))
        .collect();
    let mut sentence = |i: u64| {
        let words: Vec<&str> = (0..5)
            .map(|_| words[random.below(words.len())].as_str())
            .collect();
        format!("{} {i}", words.join(" "))
    };
    let batch = one(Arc::new(StringArray::from_iter_values(
        (0..1200).map(&mut sentence),
    )));
    let mut options = sized(1200, 400);
    options.encodings = vec![("a".into(), "onpair".into())];
    let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let file = File::from_bytes(bytes.clone()).unwrap();
    let column_of_text = &file.explain().unwrap()[0];
    assert_eq!(column_of_text.shared.len(), 1, "{column_of_text:?}");
    assert!(
        column_of_text
            .blocks
            .iter()
            .all(|b| b.values.as_ref().unwrap().detail == "shared tokens")
    );
    assert_eq!(
        column(&whole(bytes.clone(), Limits::default()).unwrap(), 0),
        rows(batch.column(0))
    );
    blocks_do_no_harm(bytes, 400, &mut random);
}

fn one(column: ArrayRef) -> RecordBatch {
    table(vec![column])
}

/// A file of `batch` whose footer has the bytes `from` replaced, once.
fn replaced(batch: &RecordBatch, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut parts = Parts::of(
        &staffa::to_bytes(
            batch.schema(),
            std::slice::from_ref(batch),
            WriteOptions::default(),
        )
        .unwrap(),
    );
    let at = parts
        .footer
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    parts.footer.splice(at..at + from.len(), to.iter().copied());
    parts.file()
}

/// An error, within the memory, which says what is allowed.
fn limited(file: Vec<u8>) {
    let mut limits = limits();
    limits.row_group_values = 1 << 20;
    let (result, peak) = measured(|| whole(file, limits));
    assert!(peak < MOST_BYTES, "{peak} bytes of memory");
    assert!(
        matches!(result, Err(Error::Limit { .. } | Error::Corrupt { .. })),
        "{result:?}"
    );
}

#[test]
fn rows_that_need_no_bytes_are_limited_too() {
    let _turn = turn();
    // Lists of 2^31 NULLs.
    let nulls: ArrayRef = Arc::new(NullArray::new(i32::MAX as usize));
    let offsets = OffsetBuffer::new(vec![0, i32::MAX].into());
    let batch = one(Arc::new(
        ListArray::try_new(field("item", DataType::Null), offsets, nulls, None).unwrap(),
    ));
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(
        whole(bytes.clone(), Limits::default()).unwrap()[0]
            .column(0)
            .as_list::<i32>()
            .values()
            .len(),
        0x7fff_ffff
    );
    limited(bytes);
    // A run of 2^31 rows in a list.
    let runs: RunArray<arrow_array::types::Int32Type> = RunArray::try_new(
        &Int32Array::from(vec![i32::MAX]),
        &StringArray::from(vec![None::<&str>]),
    )
    .unwrap();
    let offsets = OffsetBuffer::new(vec![0, i32::MAX].into());
    let items: ArrayRef = Arc::new(runs);
    let list = ListArray::try_new(
        field("item", items.data_type().clone()),
        offsets,
        items,
        None,
    )
    .unwrap();
    let batch = one(Arc::new(list));
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(
        whole(bytes.clone(), Limits::default()).unwrap()[0].num_rows(),
        1
    );
    limited(bytes);
    // NULLs of a type that is 2^30 bytes wide.
    let nulls = NullBuffer::new_null(2);
    let batch = one(Arc::new(
        FixedSizeBinaryArray::try_new(1, Buffer::from(&[0, 0]), Some(nulls)).unwrap(),
    ));
    limited(replaced(&batch, &[19, 1], &[19, 0x80, 0x80, 0x80, 0x80, 4]));
    // Lists of 2^31 - 1 items each.
    let batch = one(array(
        &DataType::FixedSizeList(field("item", DataType::Null), 1),
        false,
        3,
        &mut Random(1),
    ));
    limited(replaced(&batch, &[35, 1], &[35, 0xff, 0xff, 0xff, 0xff, 7]));
}

/// A varint.
fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

#[test]
fn one_constant_block_of_many_values_is_limited() {
    let _turn = turn();
    // encoding 1 (constant), no children: as many values of any type as one likes.
    let many = 1u64 << 30;
    let types = [
        (
            arrow_array::new_null_array(&DataType::Boolean, 1),
            0u8,
            vec![1u8],
        ),
        (arrow_array::new_null_array(&DataType::Int8, 1), 1, vec![1]),
        (
            arrow_array::new_null_array(&DataType::Decimal256(9, 0), 1),
            6,
            vec![1; 32],
        ),
        (arrow_array::new_null_array(&DataType::Utf8, 1), 7, vec![]),
        (
            arrow_array::new_null_array(&DataType::Utf8, 1),
            7,
            vec![b'x'; 30],
        ),
    ];
    for (column, ty, payload) in types {
        let batch = one(column);
        let mut parts = Parts::of(&bytes_of(&batch));
        let strings = if ty == 7 {
            varint(many * payload.len() as u64)
        } else {
            vec![]
        };
        let node = [
            vec![1, ty],
            varint(many),
            varint(payload.len() as u64),
            payload,
        ]
        .concat();
        let mut block = [varint(many), vec![2], strings.clone(), node].concat();
        block.extend(crc(&block));
        let offset = parts.body.len() as u64;
        let index = [
            varint(offset),
            varint(many),
            vec![0, 1],
            varint(block.len() as u64),
            if ty == 7 { strings } else { vec![0] },
            vec![0, 0],
        ];
        parts.body.extend(block);
        parts.set_index(0, &index.concat());
        parts.footer[..8].copy_from_slice(&many.to_le_bytes());
        parts.footer[16..24].copy_from_slice(&[(many as u32).to_le_bytes(); 2].concat());
        let (result, peak) = measured(|| whole(parts.file(), limits()));
        assert!(peak < MOST_BYTES, "type {ty}: {peak} bytes of memory");
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains("allowed") || message.contains("1048576"),
            "type {ty}: {message}"
        );
    }
}

#[test]
fn a_schema_that_is_not_of_the_leaves_is_refused() {
    let _turn = turn();
    // Int64 as a list, as text, and as float64: the zone maps are of integers.
    let batch = one(Arc::new(Int64Array::from_iter_values(0..100)));
    for other in [
        &[12][..],
        &[31, 1, b'i', 1, 5],
        &[13],
        &[2],
        &[30, 9, 0],
        &[1],
        &[36, 0],
    ] {
        let file = replaced(&batch, &[1, b'a', 1, 5], &[&[1, b'a', 1], other].concat());
        let message = whole(file, limits()).unwrap_err().to_string();
        assert!(!message.is_empty());
    }
    assert_eq!(
        batch.schema_ref().as_ref(),
        &Schema::new(vec![arrow_schema::Field::new("a", DataType::Int64, true)])
    );
}
