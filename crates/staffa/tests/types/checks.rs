//! The ways of reading a file, each compared with the rows that were written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{DataType, FieldRef, Fields};
use staffa::File;

use crate::ROWS;
use crate::common::{Random, check, column, read, rows};

/// The field with views for strings and binaries, but for the values of dictionaries and runs.
fn with_views(field: &FieldRef) -> FieldRef {
    use DataType as D;
    let ty = match field.data_type() {
        D::Utf8 | D::LargeUtf8 => D::Utf8View,
        D::Binary | D::LargeBinary => D::BinaryView,
        D::List(item) => D::List(with_views(item)),
        D::LargeList(item) => D::LargeList(with_views(item)),
        D::ListView(item) => D::ListView(with_views(item)),
        D::LargeListView(item) => D::LargeListView(with_views(item)),
        D::FixedSizeList(item, size) => D::FixedSizeList(with_views(item), *size),
        D::Struct(fields) => D::Struct(fields.iter().map(with_views).collect()),
        D::Map(entries, sorted) => D::Map(with_views(entries), *sorted),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

pub(crate) fn scans(file: &File, ty: &DataType, expected: &[String], random: &mut Random) {
    assert_eq!(column(&read(file.scan()), 0), expected, "{ty}");
    for _ in 0..3 {
        let (offset, limit, batch_rows) = (
            random.below(ROWS + 20),
            random.below(ROWS + 20),
            1 + random.below(70),
        );
        let scan = file
            .scan()
            .offset(offset as u64)
            .limit(limit as u64)
            .batch_rows(batch_rows)
            .columns(["b", "a"]);
        let found = read(scan.threads([None, Some(1), Some(3)][random.below(3)]));
        assert!(
            found
                .iter()
                .all(|batch| (1..=batch_rows).contains(&batch.num_rows()))
        );
        let rest = expected.iter().skip(offset).take(limit);
        assert!(
            rest.eq(&column(&found, 1)),
            "{ty}: {limit} rows from {offset} on, {batch_rows} at once"
        );
    }
    let mut found = column(
        &read(file.scan().batch_rows(32).threads(Some(3)).ordered(false)),
        0,
    );
    let mut expected = expected.to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{ty} in any order");
}

pub(crate) fn filters(file: &File, ty: &DataType, expected: &[String], table: &RecordBatch) {
    let flags = table.column(2).as_boolean();
    let flagged = |row: usize| flags.is_valid(row) && flags.value(row);
    type Keep<'a> = Box<dyn Fn(usize) -> bool + 'a>;
    let cases: [(&str, Keep<'_>); 6] = [
        ("c = true", Box::new(flagged)),
        (
            "b >= 31 and b < 122",
            Box::new(|row| (31..122).contains(&row)),
        ),
        (
            "b in (0, 89, 90, 229) or b > 1000",
            Box::new(|row| [0, 89, 90, 229].contains(&row)),
        ),
        ("b < 0", Box::new(|_| false)),
        ("a is null", Box::new(|row| expected[row] == "NULL")),
        (
            "a is not null and c = true",
            Box::new(|row| expected[row] != "NULL" && flagged(row)),
        ),
    ];
    for (text, keep) in cases {
        let kept: Vec<&String> = (0..ROWS)
            .filter(|row| keep(*row))
            .map(|row| &expected[row])
            .collect();
        let found = read(file.scan().filter(text.parse().unwrap()).columns(["a"]));
        assert!(
            kept.iter().copied().eq(&column(&found, 0)),
            "{ty} where {text}"
        );
        let found = read(
            file.scan()
                .filter(text.parse().unwrap())
                .offset(3)
                .limit(20)
                .batch_rows(7),
        );
        assert!(
            kept.iter().copied().skip(3).take(20).eq(&column(&found, 0)),
            "{ty} where {text}, cut"
        );
    }
}

pub(crate) fn takes(file: &File, ty: &DataType, expected: &[String], random: &mut Random) {
    let mut cases: Vec<Vec<u64>> = vec![
        vec![],
        vec![229],
        vec![95, 95, 90, 179],
        (0..ROWS as u64).rev().collect(),
    ];
    cases.push((0..ROWS as u64).collect());
    cases.extend((0..3).map(|_| {
        (0..random.below(300))
            .map(|_| random.below(ROWS) as u64)
            .collect()
    }));
    for wanted in cases {
        let found = file.take(&wanted).columns(["a"]).read().unwrap();
        check(&found);
        assert_eq!(found.schema().field(0), file.schema().field(0));
        let rest = wanted.iter().map(|row| &expected[*row as usize]);
        assert!(rest.eq(&rows(found.column(0))), "{ty}: {wanted:?}");
    }
}

pub(crate) fn takes_ranges(file: &File, ty: &DataType, expected: &[String]) {
    for (start, end) in [
        (0, ROWS),
        (0, 0),
        (ROWS, ROWS),
        (5, 6),
        (32, 64),
        (30, 99),
        (90, 180),
        (100, ROWS),
    ] {
        let found = file
            .take(start as u64..end as u64)
            .columns(["a"])
            .read()
            .unwrap();
        check(&found);
        assert_eq!(
            rows(found.column(0)),
            expected[start..end],
            "{ty}: {start}..{end}"
        );
    }
}

pub(crate) fn takes_masks(file: &File, ty: &DataType, expected: &[String], random: &mut Random) {
    let some = |random: &mut Random, most: usize| {
        (0..ROWS).map(|_| Some(random.below(10) < most)).collect()
    };
    let mut masks: Vec<BooleanArray> = [0, 1, 5, 9, 10]
        .iter()
        .map(|most| some(random, *most))
        .collect();
    masks.push(
        (0..ROWS)
            .map(|row| [Some(true), Some(false), None][row % 3])
            .collect(),
    );
    masks.push(
        (0..ROWS + 7)
            .map(|row| Some(row % 64 > 2))
            .collect::<BooleanArray>()
            .slice(7, ROWS),
    );
    masks.push(
        (0..ROWS)
            .map(|row| Some((32..122).contains(&row)))
            .collect(),
    );
    for mask in &masks {
        let found = file.take(mask).columns(["a"]).read().unwrap();
        check(&found);
        let marked = mask
            .iter()
            .zip(expected)
            .filter(|(marked, _)| *marked == Some(true))
            .map(|(_, value)| value);
        assert!(marked.eq(&rows(found.column(0))), "{ty}");
    }
}

pub(crate) fn views(file: &File, ty: &DataType, expected: &[String]) {
    let wanted: Vec<FieldRef> = file.schema().fields().iter().map(with_views).collect();
    let found = read(file.scan().string_views(true));
    assert_eq!(found[0].schema().fields(), &Fields::from(wanted));
    assert_eq!(column(&found, 0), expected, "{ty}");
    let found = read(
        file.scan()
            .string_views(true)
            .filter("b >= 80".parse().unwrap()),
    );
    assert_eq!(column(&found, 0), expected[80..], "{ty}");
    let found = file
        .take(&[200, 7, 7, 100])
        .string_views(true)
        .read()
        .unwrap();
    check(&found);
    assert_eq!(
        rows(found.column(0)),
        [200, 7, 7, 100].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
}

pub(crate) fn dictionaries(file: &File, ty: &DataType, expected: &[String]) {
    use DataType as D;
    if !matches!(
        ty,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView
    ) {
        let refused = file.scan().dictionaries(["b"]).reader().unwrap_err();
        assert!(
            matches!(refused, staffa::Error::InvalidArgument(_)),
            "{refused}"
        );
        return;
    }
    let scan = || file.scan().dictionaries(["a"]).columns(["a"]);
    let found = read(scan());
    assert!(
        matches!(found[0].column(0).data_type(), D::Dictionary(keys, _) if **keys == D::Int32),
        "{ty}"
    );
    assert_eq!(column(&found, 0), expected, "{ty}");
    assert_eq!(
        column(&read(scan().offset(37).limit(70).batch_rows(50)), 0),
        expected[37..107],
        "{ty}"
    );
    assert_eq!(
        column(&read(scan().filter("b >= 80".parse().unwrap())), 0),
        expected[80..],
        "{ty}"
    );
    let some = read(scan().filter("b in (3, 100, 101, 200)".parse().unwrap()));
    assert_eq!(
        column(&some, 0),
        [3, 100, 101, 200].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
}

pub(crate) fn run_ends(file: &File, ty: &DataType, expected: &[String]) {
    use DataType as D;
    let scan = || file.scan().run_ends(["a"]).columns(["a"]);
    if ty.is_nested() && !matches!(ty, D::RunEndEncoded(..))
        || matches!(ty, D::Null | D::Dictionary(..))
    {
        let refused = scan().reader().unwrap_err();
        assert!(
            matches!(refused, staffa::Error::InvalidArgument(_)),
            "{ty}: {refused}"
        );
        return;
    }
    let found = read(scan());
    assert!(
        matches!(found[0].column(0).data_type(), D::RunEndEncoded(..)),
        "{ty}"
    );
    assert_eq!(column(&found, 0), expected, "{ty}");
    for rows in [7, 50, 230] {
        let found = read(scan().offset(37).limit(70).batch_rows(rows));
        assert_eq!(column(&found, 0), expected[37..107], "{ty}, {rows}");
    }
    assert_eq!(
        column(&read(scan().filter("b >= 80".parse().unwrap())), 0),
        expected[80..],
        "{ty}"
    );
    let some = read(scan().filter("b in (3, 100, 101, 200)".parse().unwrap()));
    assert_eq!(
        column(&some, 0),
        [3, 100, 101, 200].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
}
