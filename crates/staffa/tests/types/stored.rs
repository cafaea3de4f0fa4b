//! Dictionaries and runs are handed out as blocks store them.

use super::*;

#[test]
fn run_ends_are_handed_out_as_they_are_stored() {
    let mut random = Random(8);
    for (row_group_rows, block_rows) in [(3000, 256), (3000, 4096), (900, 128)] {
        for nulls in [0, 1, 30, 299] {
            let mut value = 0;
            let mut runs = Vec::new();
            while runs.len() < 3000 {
                value += 1 + random.below(5) as i64;
                let null = nulls > 0 && random.below(300) < nulls;
                runs.extend(std::iter::repeat_n(
                    (!null).then_some(value % 40),
                    1 + random.below(700),
                ));
            }
            runs.truncate(3000);
            let texts = runs
                .iter()
                .map(|value| value.map(|value| format!("text {value}")));
            let floats = runs
                .iter()
                .map(|value| value.map(|value| if value % 2 == 0 { 0.0 } else { -0.0 }));
            let columns: [ArrayRef; 4] = [
                Arc::new(Int64Array::from_iter(runs.iter().copied())),
                Arc::new(texts.collect::<StringArray>()),
                Arc::new(floats.collect::<Float64Array>()),
                Arc::new(
                    runs.iter()
                        .map(|value| value.map(|value| value > 20))
                        .collect::<BooleanArray>(),
                ),
            ];
            let batch = table(columns.to_vec());
            let file = write(
                std::slice::from_ref(&batch),
                sized(row_group_rows, block_rows),
            );
            let scan = || file.scan().run_ends(["a", "b", "c", "d"]);
            let found = read(scan().batch_rows(3000));
            for (i, plain) in batch.columns().iter().enumerate() {
                let expected = rows(plain);
                assert_eq!(column(&found, i), expected);
                let runs = expected.chunk_by(|a, b| a == b).count();
                let kept: usize = found
                    .iter()
                    .map(|b| b.column(i).as_run::<Int32Type>().values().len())
                    .sum();
                assert!(
                    kept < runs + found.len(),
                    "{kept} for {runs} runs in {} row groups",
                    found.len()
                );
            }
            for (skip, some) in [(0, 1), (255, 3), (256, 256), (1, 2999), (2999, 1)] {
                let found = read(scan().offset(skip).limit(some).batch_rows(100));
                for (i, plain) in batch.columns().iter().enumerate() {
                    let cut = plain.slice(skip as usize, some as usize);
                    assert_eq!(column(&found, i), rows(&cut), "{skip}, {some}");
                }
            }
            let kept: BooleanArray = runs
                .iter()
                .map(|value| Some(value.is_some_and(|value| value < 9)))
                .collect();
            let found = read(scan().filter("a < 9".parse().unwrap()));
            for (i, plain) in batch.columns().iter().enumerate() {
                assert_eq!(
                    column(&found, i),
                    rows(&arrow_select::filter::filter(plain, &kept).unwrap())
                );
            }
        }
    }
    let file = write(
        &[table(vec![Arc::new(Int64Array::from_iter_values(0..9))])],
        sized(60, 8),
    );
    let both = file
        .scan()
        .run_ends(["a"])
        .dictionaries(["a"])
        .reader()
        .unwrap_err()
        .to_string();
    assert!(both.contains("as a dictionary or as runs"), "{both}");
}

#[test]
fn dictionaries_are_handed_out_as_they_are_stored() {
    let name = |i: usize| (i % 7 != 3).then(|| format!("name {}", i * i % 11));
    let names: ArrayRef = Arc::new((0..ROWS).map(name).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("a", names)]).unwrap();
    for (row_group_rows, block_rows) in [(ROWS, 64), (ROWS, 4096), (90, 32)] {
        let file = write(
            std::slice::from_ref(&batch),
            sized(row_group_rows, block_rows),
        );
        let found = read(file.scan().dictionaries(["a"]));
        assert!(
            found
                .iter()
                .all(|batch| batch.column(0).as_any_dictionary().values().len() <= 6)
        );
        assert_eq!(column(&found, 0), rows(batch.column(0)));
    }
}

/// Columns whose blocks have other numbers of values, by all ways that go through blocks.
#[test]
fn blocks_of_other_sizes_are_read_together() {
    const ROWS: usize = 70_000;
    let mut random = Random(12);
    let numbers = Int32Array::from_iter((0..ROWS).map(|i| {
        // NULLs through a block of the texts, but not of the numbers.
        (!(2048..3072).contains(&i)).then_some((i / 7) as i32)
    }));
    let texts = (0..ROWS).map(|i| format!("{:060} {}", i * i % 97, random.below(3)));
    let bits = BooleanArray::from_iter((0..ROWS).map(|i| (i % 5 != 0).then_some(i % 3 == 0)));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(numbers) as ArrayRef, true),
        ("t", Arc::new(StringArray::from_iter_values(texts)), true),
        ("b", Arc::new(bits), true),
    ])
    .unwrap();
    let mut options = WriteOptions::default();
    options.access = staffa::Access::Random;
    let file = write(std::slice::from_ref(&batch), options);
    let sizes: Vec<u32> = file
        .inspect()
        .unwrap()
        .columns
        .iter()
        .map(|c| c.chunks[0].block_rows)
        .collect();
    assert_eq!(sizes, [16_384, 1024, 65_536]);
    let whole: Vec<Vec<String>> = (0..3).map(|i| rows(batch.column(i))).collect();
    let number = |i: usize| (!(2048..3072).contains(&i)).then_some(i / 7);
    let text = |i: usize| i * i % 97;
    let tests: [(&str, &dyn Fn(usize) -> bool); 6] = [
        ("n < 100", &|i| number(i).is_some_and(|n| n < 100)),
        ("n is null", &|i| number(i).is_none()),
        ("n is not null and b = true", &|i| {
            number(i).is_some() && i % 5 != 0 && i % 3 == 0
        }),
        (
            "t starts with '000000000000000000000000000000000000000000000000000000000000 '",
            &|i| text(i) == 0,
        ),
        ("n >= 9990 or n = 3", &|i| {
            number(i).is_some_and(|n| n >= 9990 || n == 3)
        }),
        ("b = false and n > 5000", &|i| {
            i % 5 != 0 && i % 3 != 0 && number(i).is_some_and(|n| n > 5000)
        }),
    ];
    for (filter, holds) in tests {
        let expected: Vec<usize> = (0..ROWS).filter(|i| holds(*i)).collect();
        let expected = |c: usize| {
            expected
                .iter()
                .map(|i| whole[c][*i].clone())
                .collect::<Vec<_>>()
        };
        let scan = file.scan().filter(filter.parse().unwrap());
        let scans = [
            scan.clone(),
            scan.clone().dictionaries(["t"]),
            scan.clone().run_ends(["t", "n"]),
            scan.clone().string_views(true),
            scan.clone().batch_rows(1000),
        ];
        for scan in scans {
            let found = read(scan);
            for c in 0..3 {
                assert_eq!(column(&found, c), expected(c), "{filter}, column {c}");
            }
        }
        let mut found = Vec::new();
        for split in scan.splits(1).unwrap() {
            found.extend(read(scan.clone().split(split)));
        }
        assert_eq!(column(&found, 1), expected(1), "{filter}, in splits");
        let counted = file.aggregate(
            &[("n", "rows".parse().unwrap())],
            Some(&filter.parse().unwrap()),
        );
        let counted = counted.unwrap();
        let counted = arrow_cast::cast(counted.column(0), &DataType::Int64).unwrap();
        let counted = counted
            .as_primitive::<arrow_array::types::Int64Type>()
            .value(0);
        assert_eq!(counted as usize, expected(0).len(), "{filter}");
    }
    let found = read(file.scan().dictionaries(["t"]));
    (0..3).for_each(|c| assert_eq!(column(&found, c), whole[c]));
    let some: Vec<u64> = (0..500).map(|_| random.below(ROWS) as u64).collect();
    let taken = file.take(&some).read().unwrap();
    for (c, whole) in whole.iter().enumerate() {
        let expected: Vec<String> = some.iter().map(|i| whole[*i as usize].clone()).collect();
        assert_eq!(rows(taken.column(c)), expected);
    }
}
