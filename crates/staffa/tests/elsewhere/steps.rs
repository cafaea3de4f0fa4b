//! Files and scans of a caller that fetches bytes by itself.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use staffa::{File, OpenStep, Opening, Result, Scan, Step, Steps};

use super::common::{Random, rows};
use super::counted::{Counted, slice};

/// Opened by a caller that fetches bytes; the ranges that it needed.
pub fn open(bytes: &Bytes) -> Result<(File, Vec<Range<u64>>)> {
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
pub struct Ran {
    /// Ranges, by the round in which they were asked for: all before are there.
    pub rounds: Vec<Vec<Range<u64>>>,
    pub batches: Vec<RecordBatch>,
}

impl Ran {
    pub fn requests(&self) -> Vec<&Range<u64>> {
        self.rounds.iter().flatten().collect()
    }

    pub fn bytes(&self) -> u64 {
        self.requests()
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }
}

/// Runs steps; ranges arrive in any order, some only when nothing else can be done.
pub fn run(mut steps: Steps, bytes: &Bytes, random: &mut Random) -> Result<Ran> {
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

pub fn text(batches: &[RecordBatch]) -> Vec<Vec<String>> {
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
pub fn assert_same(found: &[RecordBatch], expected: &[RecordBatch]) {
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
pub fn agree(bytes: &Bytes, scan: impl Fn(&File) -> Scan, random: &mut Random) -> Ran {
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
