//! Wide tables: their columns are encoded window by window.

use super::*;
use staffa::to_bytes;

/// More leaves than a window has.
const WIDE: usize = 1100;

/// Columns of all types and of lists, structs, dictionaries and runs, over and over: batches of these rows.
fn of_all_types(leaves: usize, batch_rows: &[usize], random: &mut Random) -> Vec<RecordBatch> {
    let mut types = flat_types();
    for item in [DataType::Int32, DataType::Utf8] {
        types.extend(nested_types(&item));
    }
    // A nested column has two leaves at least.
    let types: Vec<&DataType> = types.iter().cycle().take(leaves).collect();
    let fields = types.iter().enumerate();
    let fields = fields.map(|(i, ty)| Field::new(format!("c{i}"), (*ty).clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut batch = |rows: &usize| {
        let columns = types.iter().map(|ty| array(ty, true, *rows, random));
        RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
    };
    batch_rows.iter().map(&mut batch).collect()
}

/// That a file has the rows of these batches.
fn assert_holds(bytes: Vec<u8>, batches: &[RecordBatch]) {
    let found = read(File::from_bytes(bytes).unwrap().scan());
    for i in 0..batches[0].num_columns() {
        assert_eq!(column(&found, i), column(batches, i), "column {i}");
    }
}

#[test]
fn windows_hold_columns_of_all_types() {
    let batches = of_all_types(WIDE, &[9, 1, 22], &mut Random(7));
    let [one, two] = [1, 2].map(|threads| {
        let options = WriteOptions::new().threads(Some(threads));
        to_bytes(batches[0].schema(), &batches, options).unwrap()
    });
    assert!(one == two);
    assert_holds(one, &batches);
}

/// Columns of numbers without order, those from `equal` on equal to the first ones.
fn numbers_of(columns: usize, equal: usize) -> RecordBatch {
    let column = |c: usize| -> ArrayRef {
        let mut random = Random((c % equal) as u64);
        Arc::new(Int32Array::from_iter_values(
            (0..300).map(|_| random.next() as i32),
        ))
    };
    let columns = (0..columns).map(|c| (format!("c{c}"), column(c)));
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_column_may_equal_one_of_another_window() {
    let len = |batch: &RecordBatch| {
        let bytes = to_bytes(
            batch.schema(),
            std::slice::from_ref(batch),
            WriteOptions::new(),
        );
        let bytes = bytes.unwrap();
        let len = bytes.len();
        assert_holds(bytes, std::slice::from_ref(batch));
        len as f64
    };
    let share = len(&numbers_of(WIDE, WIDE / 2)) / len(&numbers_of(WIDE, WIDE));
    assert!(share < 0.6, "{share}");
}

#[test]
fn statistics_of_chunks_are_those_of_their_columns() {
    let batch = numbers_of(WIDE, WIDE);
    let options = WriteOptions::new().chunk_statistics(true);
    let file = write(std::slice::from_ref(&batch), options);
    let found = file.chunk_statistics().unwrap();
    assert_eq!(found.len(), WIDE);
    for (chunk, column) in found.iter().zip(batch.columns()) {
        let numbers = column.as_any().downcast_ref::<Int32Array>().unwrap();
        let sum: i64 = numbers
            .values()
            .iter()
            .map(|number| i64::from(*number))
            .sum();
        assert_eq!(chunk.sum, Some(sum.to_string()), "{}", chunk.path);
    }
}

#[test]
fn row_groups_have_windows_by_their_rows() {
    // Two windows where there are 4,000 rows, one where there are 300.
    const ROWS: usize = 4300;
    let column = |c: usize| -> ArrayRef {
        let base = |row: usize| (row * (c / 3 + 1) * 7919 % 1009) as i32;
        match c % 3 {
            0 => Arc::new(Int32Array::from_iter_values((0..ROWS).map(base))),
            1 => Arc::new(Int32Array::from_iter(
                (0..ROWS).map(|row| (row % 11 > 0).then(|| base(row) + (row % 3) as i32)),
            )),
            // Equal to one of another window.
            _ => Arc::new(Int32Array::from_iter_values(
                (0..ROWS).map(|row| (row * 31 % 97) as i32),
            )),
        }
    };
    let columns = (0..700).map(|c| (format!("c{c}"), column(c), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let batches = [batch.slice(0, 200), batch.slice(200, ROWS - 200)];
    let [one, two] = [1, 2].map(|threads| {
        let options = WriteOptions::new()
            .row_group_rows(4000)
            .threads(Some(threads));
        to_bytes(batch.schema(), &batches, options).unwrap()
    });
    assert!(one == two);
    assert_holds(one, &batches);
}

#[test]
fn rows_that_were_lost_are_not_forgotten() {
    let schema = Arc::new(Schema::new(vec![Field::new(
        "d",
        DataType::Decimal128(3, 0),
        true,
    )]));
    let batch = |values: Vec<i128>| {
        let values = Decimal128Array::from(values).with_data_type(DataType::Decimal128(3, 0));
        RecordBatch::try_new(schema.clone(), vec![Arc::new(values)]).unwrap()
    };
    let mut writer = Writer::new(
        Vec::new(),
        schema.clone(),
        WriteOptions::new().row_group_rows(2),
    );
    let writer = writer.as_mut().unwrap();
    assert!(writer.write(&batch(vec![1, 1000])).is_err());
    for _ in 0..3 {
        let error = writer.write(&batch(vec![1])).unwrap_err();
        assert!(error.to_string().contains("rows are lost"), "{error}");
    }
}

#[test]
fn an_error_in_a_later_window_names_its_column() {
    let batch = numbers_of(WIDE, WIDE);
    let options = WriteOptions::new().encoding("c1050", "constant");
    let error = to_bytes(batch.schema(), &[batch], options).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("c1050") && message.contains("row 1"),
        "{message}"
    );
}

#[test]
fn small_batches_are_joined_without_loss() {
    // Each with dictionaries of its own, and all with the same ones.
    let apart = of_all_types(150, &[1; 200], &mut Random(3));
    let whole = of_all_types(150, &[300], &mut Random(4)).remove(0);
    let slices = (0..300).map(|row| whole.slice(row, 1)).collect();
    for batches in [apart, slices] {
        let bytes = to_bytes(batches[0].schema(), &batches, WriteOptions::new());
        assert_holds(bytes.unwrap(), &batches);
    }
}
