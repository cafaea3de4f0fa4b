//! Dictionaries and runs are handed out as blocks store them.

use super::*;

/// 3,000 rows in runs, NULL in so many of 300 runs.
fn in_runs(nulls: usize, random: &mut Random) -> Vec<Option<i64>> {
    let mut value = 0;
    let mut runs = Vec::new();
    while runs.len() < 3000 {
        value += 1 + random.below(5) as i64;
        let null = nulls > 0 && random.below(300) < nulls;
        let value = (!null).then_some(value % 40);
        runs.extend(std::iter::repeat_n(value, 1 + random.below(700)));
    }
    runs.truncate(3000);
    runs
}

/// These runs as integers, texts, floats and booleans.
fn of_four_types(runs: &[Option<i64>]) -> RecordBatch {
    let runs = || runs.iter().copied();
    let texts = runs().map(|value| value.map(|value| format!("text {value}")));
    let zero = |value: i64| if value % 2 == 0 { 0.0 } else { -0.0 };
    let floats = runs().map(|value| value.map(zero));
    let bits = runs().map(|value| value.map(|value| value > 20));
    table(vec![
        Arc::new(Int64Array::from_iter(runs())),
        Arc::new(texts.collect::<StringArray>()),
        Arc::new(floats.collect::<Float64Array>()),
        Arc::new(bits.collect::<BooleanArray>()),
    ])
}

#[test]
fn run_ends_are_handed_out_as_they_are_stored() {
    let mut random = Random(8);
    for (row_group_rows, block_rows) in [(3000, 256), (3000, 4096), (900, 128)] {
        for nulls in [0, 1, 30, 299] {
            let runs = in_runs(nulls, &mut random);
            let batch = of_four_types(&runs);
            let options = sized(row_group_rows, block_rows);
            let file = write(std::slice::from_ref(&batch), options);
            check_runs(&file, &batch);
            let kept = runs
                .iter()
                .map(|value| value.is_some_and(|value| value < 9));
            let kept = BooleanArray::from_iter(kept.map(Some));
            let scan = file.scan().run_ends(["a", "b", "c", "d"]);
            let found = read(scan.filter("a < 9".parse().unwrap()));
            for (i, plain) in batch.columns().iter().enumerate() {
                let expected = arrow_select::filter::filter(plain, &kept).unwrap();
                assert_eq!(column(&found, i), rows(&expected));
            }
        }
    }
}

/// All rows and some of them, in not many more runs than there are.
fn check_runs(file: &File, batch: &RecordBatch) {
    let scan = || file.scan().run_ends(["a", "b", "c", "d"]);
    let found = read(scan().batch_rows(3000));
    for (i, plain) in batch.columns().iter().enumerate() {
        let expected = rows(plain);
        assert_eq!(column(&found, i), expected);
        let runs = expected.chunk_by(|a, b| a == b).count();
        let values = |batch: &RecordBatch| batch.column(i).as_run::<Int32Type>().values().len();
        let kept: usize = found.iter().map(values).sum();
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
}

#[test]
fn a_column_is_a_dictionary_or_runs() {
    let numbers = table(vec![Arc::new(Int64Array::from_iter_values(0..9))]);
    let file = write(&[numbers], sized(60, 8));
    let scan = file.scan().run_ends(["a"]).dictionaries(["a"]);
    let both = scan.reader().unwrap_err().to_string();
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

/// Rows of a table whose columns have blocks of other numbers of values.
const MANY: usize = 70_000;

/// The number of a row; NULL through a block of the texts, but not of the numbers.
fn number(i: usize) -> Option<usize> {
    (!(2048..3072).contains(&i)).then_some(i / 7)
}

fn text(i: usize) -> usize {
    i * i % 97
}

fn of_other_block_sizes(random: &mut Random) -> (RecordBatch, File) {
    let numbers = (0..MANY).map(|i| number(i).map(|number| number as i32));
    let texts = (0..MANY).map(|i| format!("{:060} {}", text(i), random.below(3)));
    let bits = (0..MANY).map(|i| (i % 5 != 0).then_some(i % 3 == 0));
    let batch = RecordBatch::try_from_iter_with_nullable([
        (
            "n",
            Arc::new(Int32Array::from_iter(numbers)) as ArrayRef,
            true,
        ),
        ("t", Arc::new(StringArray::from_iter_values(texts)), true),
        ("b", Arc::new(BooleanArray::from_iter(bits)), true),
    ])
    .unwrap();
    let mut options = WriteOptions::default();
    options.access = staffa::Access::Random;
    let file = write(std::slice::from_ref(&batch), options);
    let columns = file.inspect().unwrap().columns;
    let sizes: Vec<u32> = columns.iter().map(|c| c.chunks[0].block_rows).collect();
    assert_eq!(sizes, [16_384, 1024, 65_536]);
    (batch, file)
}

#[test]
fn blocks_of_other_sizes_are_filtered_together() {
    let (batch, file) = of_other_block_sizes(&mut Random(12));
    let whole: Vec<Vec<String>> = (0..3).map(|i| rows(batch.column(i))).collect();
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
        let held: Vec<usize> = (0..MANY).filter(|i| holds(*i)).collect();
        let expected =
            |c: usize| -> Vec<String> { held.iter().map(|i| whole[c][*i].clone()).collect() };
        check_filter(&file, filter, &[expected(0), expected(1), expected(2)]);
    }
}

/// A filter by all ways that go through blocks.
fn check_filter(file: &File, filter: &str, expected: &[Vec<String>; 3]) {
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
        for (c, expected) in expected.iter().enumerate() {
            assert_eq!(&column(&found, c), expected, "{filter}, column {c}");
        }
    }
    let splits = scan.splits(1).unwrap().into_iter();
    let found = splits.flat_map(|split| read(scan.clone().split(split)));
    let found: Vec<RecordBatch> = found.collect();
    assert_eq!(column(&found, 1), expected[1], "{filter}, in splits");
    let rows = [("n", "rows".parse().unwrap())];
    let counted = file.aggregate(&rows, Some(&filter.parse().unwrap()));
    let counted = arrow_cast::cast(counted.unwrap().column(0), &DataType::Int64).unwrap();
    let counted = counted.as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(counted.value(0) as usize, expected[0].len(), "{filter}");
}

#[test]
fn blocks_of_other_sizes_are_read_together() {
    let mut random = Random(12);
    let (batch, file) = of_other_block_sizes(&mut random);
    let whole: Vec<Vec<String>> = (0..3).map(|i| rows(batch.column(i))).collect();
    let found = read(file.scan().dictionaries(["t"]));
    (0..3).for_each(|c| assert_eq!(column(&found, c), whole[c]));
    let some: Vec<u64> = (0..500).map(|_| random.below(MANY) as u64).collect();
    let taken = file.take(&some).read().unwrap();
    for (c, whole) in whole.iter().enumerate() {
        let expected: Vec<String> = some.iter().map(|i| whole[*i as usize].clone()).collect();
        assert_eq!(rows(taken.column(c)), expected);
    }
}
