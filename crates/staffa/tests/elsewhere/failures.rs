//! Reads that fail, callers that give other bytes, damage.

use super::*;

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
