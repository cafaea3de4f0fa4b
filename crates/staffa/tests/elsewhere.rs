//! Files whose bytes come from elsewhere: a source that reads them, or a caller that fetches them.
//! The rows are those of the same file in memory, and each byte is asked for once.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use common::{Random, array, flat_types, nested_types, rows, sized, table};
use staffa::{
    Aggregate, Error, File, OpenStep, Opening, Result, Scan, Source, Step, Steps, WriteOptions,
};

/// A file in memory that counts what is asked for, and fails where it is told to.
#[derive(Debug)]
struct Counted {
    bytes: Bytes,
    asked: Mutex<Asked>,
    fails: Option<usize>,
}

#[derive(Debug, Default, Clone)]
struct Asked {
    begun: Vec<Range<u64>>,
    read: Vec<Range<u64>>,
}

impl Counted {
    fn new(bytes: &Bytes) -> Arc<Self> {
        Self::failing(bytes, None)
    }

    fn failing(bytes: &Bytes, fails: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.clone(),
            asked: Mutex::default(),
            fails,
        })
    }

    fn take(&self) -> Asked {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Source for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn name(&self) -> &str {
        "memory://bucket/table.staffa"
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut asked = self.asked.lock().unwrap();
        asked.read.push(range.clone());
        if Some(asked.read.len()) == self.fails {
            return Err(Error::io(
                self.name(),
                std::io::Error::other("503 Slow Down"),
            ));
        }
        Ok(slice(&self.bytes, &range))
    }

    fn begin(&self, ranges: &[Range<u64>]) {
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
        self.asked.lock().unwrap().begun.extend_from_slice(ranges);
    }
}

fn slice(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    bytes.slice(range.start as usize..range.end as usize)
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Bytes {
    let written = staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options);
    written.unwrap().into()
}

/// Opened by a caller that fetches bytes; the ranges that it needed.
fn open(bytes: &Bytes) -> Result<(File, Vec<Range<u64>>)> {
    let mut opening = Opening::new("memory://bucket/table.staffa", bytes.len() as u64);
    let mut needed = Vec::new();
    loop {
        match opening.next()? {
            OpenStep::Opened(file) => return Ok((file, needed)),
            OpenStep::Needs(range) => {
                opening.give(&range, slice(bytes, &range))?;
                needed.push(range);
            }
            step => panic!("{step:?}"),
        }
    }
}

/// What a scan in steps asked for, and what it gave.
#[derive(Default)]
struct Ran {
    /// Ranges, by the round in which they were asked for: all before are there.
    rounds: Vec<Vec<Range<u64>>>,
    batches: Vec<RecordBatch>,
}

impl Ran {
    fn requests(&self) -> Vec<&Range<u64>> {
        self.rounds.iter().flatten().collect()
    }

    fn bytes(&self) -> u64 {
        self.requests()
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }
}

/// Runs steps; ranges arrive in any order, some only when nothing else can be done.
fn run(mut steps: Steps, bytes: &Bytes, random: &mut Random) -> Result<Ran> {
    let mut ran = Ran::default();
    let mut waiting: Vec<Range<u64>> = Vec::new();
    let mut arrived = true;
    loop {
        match steps.next()? {
            Step::Needs(ranges) => {
                assert!(!ranges.is_empty());
                waiting.extend(ranges.iter().cloned());
                if arrived {
                    ran.rounds.push(Vec::new());
                }
                ran.rounds.last_mut().unwrap().extend(ranges);
                arrived = false;
            }
            Step::Wait => {
                assert!(!waiting.is_empty(), "it waits for nothing");
                for _ in 0..=random.below(waiting.len()) {
                    let range = waiting.swap_remove(random.below(waiting.len()));
                    steps.give(&range, slice(bytes, &range))?;
                    if waiting.is_empty() {
                        arrived = true;
                        break;
                    }
                }
            }
            Step::Batch(batch) => ran.batches.push(batch),
            Step::Done => break,
            step => panic!("{step:?}"),
        }
    }
    assert!(matches!(steps.next(), Ok(Step::Done)));
    let mut all = ran.requests();
    all.sort_by_key(|range| range.start);
    let once = all.windows(2).all(|pair| pair[0].end <= pair[1].start);
    assert!(once, "bytes asked for twice: {all:?}");
    assert!(all.iter().all(|range| range.end <= bytes.len() as u64));
    Ok(ran)
}

fn text(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let Some(first) = batches.first() else {
        return Vec::new();
    };
    (0..first.num_columns())
        .map(|i| {
            batches
                .iter()
                .flat_map(|batch| rows(batch.column(i)))
                .collect()
        })
        .collect()
}

/// That batches have the same rows, however they are cut.
fn assert_same(found: &[RecordBatch], expected: &[RecordBatch]) {
    let joined = |batches: &[RecordBatch]| {
        let schema = batches.first()?.schema();
        concat_batches(&schema, batches).ok()
    };
    if let (Some(found), Some(expected)) = (joined(found), joined(expected))
        && found == expected
    {
        return;
    }
    assert_eq!(text(found), text(expected));
}

/// That a scan gives the same rows in memory, in steps and from a source.
fn agree(bytes: &Bytes, scan: impl Fn(&File) -> Scan, random: &mut Random) -> Ran {
    let memory = File::from_bytes(bytes.clone()).unwrap();
    let expected: Vec<RecordBatch> = scan(&memory)
        .reader()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let source = Counted::new(bytes);
    let blocking = File::open_source(source.clone()).unwrap();
    let found: Vec<RecordBatch> = scan(&blocking)
        .reader()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_same(&found, &expected);
    let (remote, _) = open(bytes).unwrap();
    let ran = run(scan(&remote).steps().unwrap(), bytes, random).unwrap();
    assert_same(&ran.batches, &expected);
    // Nothing is read that was not planned: indexes that were read stay.
    let again = run(scan(&remote).steps().unwrap(), bytes, random).unwrap();
    assert_same(&again.batches, &expected);
    ran
}

/// Columns with related ones among them, strings, few values, many values.
fn mixed(len: usize, seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    let n: Vec<i64> = (0..len).map(|_| random.below(1 << 30) as i64).collect();
    let price: Vec<f64> = n.iter().map(|n| (n % 9973) as f64 / 100.0).collect();
    let name: Vec<String> = n.iter().map(|n| format!("name {}", n * 31 % 401)).collect();
    let more: Vec<i64> = n.iter().map(|n| n * 3 + 7).collect();
    let text: Vec<String> = n.iter().map(|n| format!("{n:x} and {}", n * 7)).collect();
    let row: Vec<i64> = (0..len as i64).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(row)),
        Arc::new(Int64Array::from(n)),
        Arc::new(Float64Array::from(price)),
        Arc::new(StringArray::from(name)),
        Arc::new(Int64Array::from(more)),
        Arc::new(StringArray::from(text)),
    ];
    table(columns)
}

#[test]
fn scans_in_steps_give_the_rows_of_the_file_in_memory() {
    let batch = mixed(30_000, 1);
    let mut random = Random(2);
    for options in [sized(1 << 20, 65_536), sized(8192, 1024), sized(5000, 256)] {
        let bytes = written(&batch, options);
        let filters = [
            "a < 100",
            "a >= 29000 and d = 'name 7'",
            "b < 5",
            "c > 99.5 or a in (3, 9999)",
            "f like '%77%'",
        ];
        agree(&bytes, |file| file.scan(), &mut random);
        agree(
            &bytes,
            |file| file.scan().columns(["e"]).limit(9000).offset(7777),
            &mut random,
        );
        agree(
            &bytes,
            |file| file.scan().columns(["f", "a"]).batch_rows(700),
            &mut random,
        );
        agree(
            &bytes,
            |file| file.scan().dictionaries(["d"]).string_views(true),
            &mut random,
        );
        agree(&bytes, |file| file.scan().run_ends(["a", "d"]), &mut random);
        agree(
            &bytes,
            |file| file.scan().columns([] as [&str; 0]),
            &mut random,
        );
        for filter in filters {
            let filter: staffa::Predicate = filter.parse().unwrap();
            let scan = |file: &File| file.scan().filter(filter.clone());
            agree(&bytes, scan, &mut random);
            agree(
                &bytes,
                |file| scan(file).columns(["e", "d"]).here(),
                &mut random,
            );
            agree(
                &bytes,
                |file| scan(file).columns(["c"]).limit(20).offset(3),
                &mut random,
            );
            agree(
                &bytes,
                |file| scan(file).threads(Some(2)).string_views(true),
                &mut random,
            );
        }
    }
}

#[test]
fn every_type_is_read_in_steps() {
    let mut random = Random(5);
    for types in [
        flat_types(),
        nested_types(&DataType::Utf8),
        nested_types(&DataType::Int32),
    ] {
        for some in types.chunks(9) {
            let columns = some.iter().map(|ty| array(ty, true, 3000, &mut random));
            let batch = table(columns.collect());
            let bytes = written(&batch, sized(1200, 256));
            agree(&bytes, |file| file.scan(), &mut random);
            let filter: staffa::Predicate = "a is not null".parse().unwrap();
            agree(
                &bytes,
                |file| file.scan().filter(filter.clone()),
                &mut random,
            );
        }
    }
}

#[test]
fn row_groups_that_zone_maps_exclude_are_not_asked_for() {
    let mut random = Random(29);
    let n = Int64Array::from_iter_values(0..200_000);
    let noise = Int64Array::from_iter_values((0..200_000).map(|_| random.next() as i64));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("noise", Arc::new(noise))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    // Each row group is so small that all of it is asked for at once.
    let bytes = written(&batch, WriteOptions::new().row_group_rows(50_000));
    let scan = |file: &File| {
        file.scan()
            .filter("n >= 120000 and n < 120010".parse().unwrap())
    };
    let ran = agree(&bytes, scan, &mut random);
    assert!(ran.bytes() < bytes.len() as u64 / 3, "{:?}", ran.rounds);
}

#[test]
fn several_splits_are_read_in_their_order() {
    let mut random = Random(31);
    let bytes = written(
        &mixed(300_000, 37),
        WriteOptions::new().row_group_rows(140_000),
    );
    let scan = |file: &File| {
        let scan = file.scan().columns(["a", "d"]).ahead_bytes(1);
        let mut splits = scan.splits(65_536).unwrap();
        splits.reverse();
        splits.remove(1);
        scan.several_splits(splits)
    };
    let ran = agree(&bytes, scan, &mut random);
    let rows = ran.batches.iter().map(RecordBatch::num_rows);
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [20_000, 65_536, 65_536, 8_928, 65_536, 65_536]
    );
}

#[test]
fn a_test_of_the_caller_sees_the_rows_that_the_filter_left() {
    let batch = mixed(20_000, 3);
    let mut random = Random(4);
    let odd = |batch: &RecordBatch| {
        let n = batch
            .column(0)
            .as_primitive::<arrow_array::types::Int64Type>();
        let some = |n: i64| (n % 5 > 0).then_some(n % 2 == 1);
        Ok(n.values()
            .iter()
            .map(|n| some(*n))
            .collect::<BooleanArray>())
    };
    for options in [sized(1 << 20, 65_536), sized(6000, 512)] {
        let bytes = written(&batch, options);
        let file = File::from_bytes(bytes.clone()).unwrap();
        for (columns, filter) in [
            (vec!["b", "d"], None),
            (vec!["a"], Some("a < 9000")),
            (vec!["a"], Some("b < 50000000")),
        ] {
            let filter: Option<staffa::Predicate> =
                filter.map(|filter: &str| filter.parse().unwrap());
            let scan = |file: &File| {
                let scan = file.scan().columns(columns.clone()).test(["b"], odd);
                filter
                    .iter()
                    .fold(scan, |scan, filter| scan.filter(filter.clone()))
            };
            for loose in [false, true] {
                agree(&bytes, |file| scan(file).loose(loose), &mut random);
            }
            agree(&bytes, |file| scan(file).limit(30).offset(100), &mut random);
            let all = filter
                .iter()
                .fold(file.scan(), |scan, filter| scan.filter(filter.clone()));
            let all: Vec<RecordBatch> = all.reader().unwrap().map(Result::unwrap).collect();
            let all = concat_batches(&batch.schema(), &all).unwrap();
            let only = RecordBatch::try_from_iter([("b", all.column(1).clone())]).unwrap();
            let kept =
                arrow_select::filter::filter_record_batch(&all, &odd(&only).unwrap()).unwrap();
            let found: Vec<RecordBatch> =
                scan(&file).reader().unwrap().map(Result::unwrap).collect();
            let names: Vec<usize> = columns
                .iter()
                .map(|c| batch.schema().index_of(c).unwrap())
                .collect();
            assert_eq!(text(&found), text(&[kept.project(&names).unwrap()]));
        }
        let short = |_: &RecordBatch| Ok(BooleanArray::from(vec![true]));
        let scan = file.scan().test(["b"], short);
        let error = scan.reader().unwrap().find_map(Result::err).unwrap();
        assert!(
            error.to_string().contains("rows expected, it returned 1"),
            "{error}"
        );
        assert!(file.scan().test(["none"], odd).reader().is_err());
    }
}

#[test]
fn requests_are_few() {
    let mut random = Random(9);
    let columns: Vec<ArrayRef> = (0..50)
        .map(|_| {
            let values = (0..100_000).map(|_| random.next() as i64);
            Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
        })
        .collect();
    let schema = columns
        .iter()
        .enumerate()
        .map(|(i, c)| (format!("c{i}"), c.clone()));
    let batch = RecordBatch::try_from_iter(schema).unwrap();
    let mut options = WriteOptions::default()
        .row_group_bytes(1 << 40)
        .profile(staffa::Profile::Fast);
    let one_group = written(&batch, options.clone());
    options.row_group_rows = 15_000;
    let several = written(&batch, options);
    let size = one_group.len() as u64;
    assert!(size > 36 << 20, "{size}");

    let (_, needed) = open(&one_group).unwrap();
    let tail = size - (64 << 10)..size;
    assert_eq!(needed, std::slice::from_ref(&tail));
    let one_column = agree(&one_group, |file| file.scan().columns(["c20"]), &mut random);
    assert!(one_column.requests().len() <= 2 && one_column.rounds.len() <= 2);
    assert!(one_column.bytes() < size / 40);
    for bytes in [&one_group, &several] {
        let whole = agree(bytes, |file| file.scan(), &mut random);
        let most = bytes.len().div_ceil(16 << 20) + 2;
        assert!(
            whole.requests().len() <= most,
            "{} of {most}",
            whole.requests().len()
        );
        assert!(whole.bytes() <= bytes.len() as u64);
    }
    let filter: staffa::Predicate = "c3 = 5".parse().unwrap();
    let few = agree(
        &one_group,
        |file| file.scan().filter(filter.clone()),
        &mut random,
    );
    assert!(few.bytes() < size / 20 && few.rounds.len() <= 3);

    let source = Counted::new(&one_group);
    let file = File::open_source(source.clone()).unwrap();
    assert_eq!(source.take().read.len(), 1);
    let row = file.take(&[83_456]).read().unwrap();
    assert_eq!(row, batch.slice(83_456, 1));
    let asked = source.take();
    assert!(asked.begun.len() <= 60, "{}", asked.begun.len());
    let begun = |range: &Range<u64>| {
        asked
            .begun
            .iter()
            .any(|b| b.start <= range.start && range.end <= b.end)
    };
    assert!(asked.read.iter().all(begun), "a read that was not begun");
    file.take(&[83_457]).read().unwrap();
    assert!(source.take().read.is_empty(), "blocks are kept");
}

#[test]
fn rows_and_aggregates_tell_the_source_what_they_read() {
    let mut random = Random(11);
    let mut tables = vec![mixed(20_000, 7)];
    for types in [
        flat_types(),
        nested_types(&DataType::Utf8),
        nested_types(&DataType::Int32),
    ] {
        for some in types.chunks(9) {
            tables.push(table(
                some.iter()
                    .map(|ty| array(ty, true, 2000, &mut random))
                    .collect(),
            ));
        }
    }
    for batch in tables {
        let bytes = written(&batch, sized(700, 128));
        let memory = File::from_bytes(bytes.clone()).unwrap();
        let source = Counted::new(&bytes);
        let file = File::open_source(source.clone()).unwrap();
        let tail = bytes.len() as u64 - (64 << 10).min(bytes.len() as u64);
        let told = |what: &str| {
            let asked = source.take();
            let begun = |range: &Range<u64>| {
                range.start >= tail
                    || asked
                        .begun
                        .iter()
                        .any(|b| b.start <= range.start && range.end <= b.end)
            };
            let missed = asked.read.iter().filter(|range| !begun(range));
            assert_eq!(
                missed.collect::<Vec<_>>(),
                [] as [&Range<u64>; 0],
                "{what} of {} read what it had not begun",
                batch.schema()
            );
        };
        source.take();
        let wanted: Vec<u64> = (0..20)
            .map(|_| random.below(batch.num_rows()) as u64)
            .collect();
        let found = file.take(&wanted).read();
        told("take");
        match memory.take(&wanted).read() {
            Ok(expected) => assert_eq!(text(&[found.unwrap()]), text(&[expected])),
            Err(expected) => assert_eq!(found.unwrap_err().to_string(), expected.to_string()),
        }
        for aggregate in [
            Aggregate::Count,
            Aggregate::Max,
            Aggregate::Sum,
            Aggregate::Distinct,
        ] {
            let expected = memory.aggregate(&[("b", aggregate)], None);
            let file = File::open_source(source.clone()).unwrap();
            source.take();
            let found = file.aggregate(&[("b", aggregate)], None);
            match expected {
                Ok(expected) => assert_eq!(text(&[found.unwrap()]), text(&[expected])),
                Err(expected) => assert_eq!(found.unwrap_err().to_string(), expected.to_string()),
            }
            told("aggregate");
            let filter: staffa::Predicate = "a is not null".parse().unwrap();
            if let Ok(expected) = memory.aggregate(&[("b", aggregate)], Some(&filter)) {
                let found = file.aggregate(&[("b", aggregate)], Some(&filter)).unwrap();
                assert_eq!(text(&[found]), text(&[expected]));
            }
        }
        assert_eq!(
            file.verify(&mut |_| ()).unwrap().rows,
            batch.num_rows() as u64
        );
    }
}

#[test]
fn byte_ranges_share_out_the_rows() {
    let batch = mixed(10_000, 13);
    for options in [sized(1 << 20, 65_536), sized(700, 256)] {
        let file = File::from_bytes(written(&batch, options)).unwrap();
        for parts in [1, 2, 7, 100] {
            let (size, mut found) = (file.nbytes(), Vec::new());
            for part in 0..parts {
                let range = size * part / parts..size * (part + 1) / parts;
                let scan = file.scan().columns(["a"]).byte_range(range);
                found.extend(scan.reader().unwrap().map(Result::unwrap));
            }
            assert_eq!(text(&found), text(&[batch.project(&[0]).unwrap()]));
        }
    }
}

#[test]
fn every_failing_read_is_an_error_with_the_name_of_the_file() {
    let batch = mixed(3000, 17);
    let bytes = written(&batch, sized(500, 128));
    let file = File::open_source(Counted::failing(&bytes, Some(1)));
    assert!(
        file.unwrap_err()
            .to_string()
            .contains("memory://bucket/table.staffa: 503")
    );
    // Larger than what is read when the file is opened.
    let batch = mixed(40_000, 17);
    let bytes = written(&batch, sized(9000, 1024));
    for fails in 2..6 {
        let source = Counted::failing(&bytes, Some(fails));
        let mut reader = File::open_source(source.clone())
            .unwrap()
            .scan()
            .reader()
            .unwrap();
        let error = reader.find_map(Result::err);
        if source.take().read.len() < fails {
            continue;
        }
        assert!(error.unwrap().to_string().contains("table.staffa: 503"));
        assert!(reader.next().is_none(), "no batch comes after an error");
    }
    // Fewer bytes than asked for, bytes that were not asked for, bytes given twice.
    let (file, _) = open(&bytes).unwrap();
    let mut steps = file.scan().steps().unwrap();
    let Step::Needs(ranges) = steps.next().unwrap() else {
        panic!("no range");
    };
    let range = ranges[0].clone();
    let error = steps.give(&range, bytes.slice(..5)).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    assert!(error.to_string().contains("table.staffa"), "{error}");
    let other = range.start + 1..range.end;
    assert!(matches!(
        steps.give(&other, slice(&bytes, &other)),
        Err(Error::InvalidArgument(_))
    ));
    steps.give(&range, slice(&bytes, &range)).unwrap();
    assert!(steps.give(&range, slice(&bytes, &range)).is_err());
    // A file that was opened by ranges has no bytes of its own.
    let error = file.scan().reader().unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("were not fetched"), "{error}");
}

#[test]
fn damage_elsewhere_is_an_error_as_in_memory() {
    let batch = mixed(3000, 19);
    let bytes = written(&batch, sized(1000, 256));
    let mut random = Random(23);
    for _ in 0..300 {
        let mut damaged = bytes.to_vec();
        // The header is not read where the trailer says the same.
        let place = 8 + random.below(damaged.len() - 8);
        damaged[place] ^= 1 << random.below(8);
        if random.below(4) == 0 {
            damaged.truncate(random.below(damaged.len()));
        }
        let damaged = Bytes::from(damaged);
        let memory = File::from_bytes(damaged.clone());
        let memory =
            memory.and_then(|file| file.scan().here().reader()?.collect::<Result<Vec<_>>>());
        let scan =
            |(file, _): (File, _)| run(file.scan().here().steps()?, &damaged, &mut Random(1));
        let steps = open(&damaged).and_then(scan).map(|ran| ran.batches);
        match (memory, steps) {
            (Ok(memory), Ok(steps)) => assert_eq!(text(&memory), text(&steps)),
            (Err(memory), Err(steps)) => {
                let said = steps.to_string();
                let said = said.replace("memory://bucket/table.staffa: ", "");
                assert_eq!(said, memory.to_string());
            }
            (memory, steps) => panic!("{:?} in memory, {:?} in steps", memory.err(), steps.err()),
        }
    }
}
