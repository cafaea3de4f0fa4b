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
