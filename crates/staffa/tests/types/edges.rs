//! Edges of types: bits of floats, metadata, no rows, no width, keys and run ends of few bits.

use super::*;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

#[test]
fn floats_keep_their_bits() {
    let odd = [
        0,
        1 << 63,
        0x7ff0 << 48,
        0xfff0 << 48,
        0x7ff8_dead_beef_0001,
        0xfff0_0000_0000_0001,
        1,
        0x3ff3_3333_3333_3333,
    ];
    let doubles: Vec<f64> = odd
        .iter()
        .cycle()
        .take(500)
        .map(|bits| f64::from_bits(*bits))
        .collect();
    let floats = [
        0u32,
        1 << 31,
        0x7f80_0000,
        0xff80_0001,
        0x7fc1_2345,
        1,
        0x3f99_999a,
    ];
    let floats: Vec<f32> = floats
        .iter()
        .cycle()
        .take(500)
        .map(|bits| f32::from_bits(*bits))
        .collect();
    let halves = (0..500u16).map(|i| Half::from_bits(i.wrapping_mul(523)));
    let batch = table(vec![
        Arc::new(Float64Array::from(doubles)),
        Arc::new(Float32Array::from(floats)),
        Arc::new(Float16Array::from_iter_values(halves)),
    ]);
    let file = write(std::slice::from_ref(&batch), sized(300, 128));
    for i in 0..3 {
        assert_eq!(column(&read(file.scan()), i), rows(batch.column(i)));
    }
    let found = file.take(&[1]).read().unwrap();
    assert!(
        found
            .column(0)
            .as_primitive::<Float64Type>()
            .value(0)
            .is_sign_negative()
    );
}

#[test]
fn names_metadata_and_what_may_not_be_null_come_back() {
    let metadata = |key: &str| {
        HashMap::from([
            (key.to_owned(), "ü".to_owned()),
            ("b".to_owned(), String::new()),
        ])
    };
    let uuid = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
    let item = Field::new("élément", DataType::Int32, false).with_metadata(metadata("item"));
    let lists = DataType::FixedSizeList(Arc::new(item), 2);
    let run_ends = Field::new("e", DataType::Int16, false).with_metadata(metadata("ends"));
    let values = Field::new("v", DataType::Utf8, false).with_metadata(metadata("values"));
    let runs = DataType::RunEndEncoded(Arc::new(run_ends), Arc::new(values));
    let strict = DataType::Struct(vec![Field::new("", DataType::Utf8, false)].into());
    let ordered = Field::new(
        "ordered",
        dictionary_of(DataType::Int8, DataType::Utf8),
        false,
    )
    .with_dict_is_ordered(true);
    let fields = vec![
        Field::new("id", DataType::FixedSizeBinary(16), false).with_metadata(uuid),
        Field::new("l i\"st", lists, false),
        Field::new("runs", runs, false),
        Field::new("", strict, false),
        ordered,
    ];
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata("schema")));
    let mut random = Random(5);
    let columns = schema
        .fields()
        .iter()
        .map(|f| array(f.data_type(), f.is_nullable(), 100, &mut random))
        .collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let file = write(std::slice::from_ref(&batch), sized(40, 16));
    assert_eq!(file.schema(), &schema);
    let found = read(file.scan());
    let taken = file.take(&(0..100).collect::<Vec<u64>>()).read().unwrap();
    check(&taken);
    assert_eq!(taken.schema(), schema);
    for i in 0..schema.fields().len() {
        assert_eq!(column(&found, i), rows(batch.column(i)));
        assert_eq!(rows(taken.column(i)), rows(batch.column(i)));
    }
}

#[test]
fn tables_without_rows() {
    let fields: Vec<Field> = flat_types()
        .iter()
        .flat_map(|ty| [ty.clone()].into_iter().chain(nested_types(ty)))
        .enumerate()
        .map(|(i, ty)| Field::new(format!("c{i}"), ty, true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    for batches in [vec![], vec![RecordBatch::new_empty(schema.clone())]] {
        let file = File::from_bytes(
            staffa::to_bytes(schema.clone(), &batches, WriteOptions::default()).unwrap(),
        )
        .unwrap();
        assert_eq!(
            (file.schema(), file.num_rows(), file.num_row_groups()),
            (&schema, 0, 0)
        );
        assert_eq!(read(file.scan()).len(), 0);
        assert_eq!(
            file.take(&[]).read().unwrap(),
            RecordBatch::new_empty(schema.clone())
        );
        let mask = BooleanArray::from(vec![true]);
        for (take, expected) in [
            (
                file.take(&[0]),
                "index 0 at position 0 is out of range, the table has 0 rows",
            ),
            (
                file.take(0..1),
                "rows 0 to 1 are out of range, the table has 0 rows",
            ),
            (
                file.take(&mask),
                "a mask of as many rows as the table has, 0, expected, found 1",
            ),
        ] {
            assert_eq!(take.read().unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn tables_without_columns() {
    let options = RecordBatchOptions::new().with_row_count(Some(70));
    let none =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    let file = write(&[none.clone(), none], sized(60, 8));
    assert_eq!(file.num_rows(), 140);
    let count =
        |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(count(read(file.scan())), 140);
    assert_eq!(
        count(read(file.scan().offset(5).limit(77).batch_rows(9))),
        77
    );
    assert_eq!(file.take(&[139, 0]).read().unwrap().num_rows(), 2);
    // Of a table with columns, none wanted.
    let file = write(
        &[table(vec![Arc::new(Int64Array::from_iter_values(0..100))])],
        sized(60, 8),
    );
    assert_eq!(
        count(read(
            file.scan()
                .columns([""; 0])
                .filter("a >= 50".parse().unwrap())
        )),
        50
    );
    assert_eq!(
        file.take(&[1, 2, 1])
            .columns([""; 0])
            .read()
            .unwrap()
            .num_rows(),
        3
    );
}

#[test]
fn types_without_width_keep_their_rows_without_nulls() {
    let empty = FixedSizeBinaryArray::try_new_with_len(0, Buffer::default(), None, 50).unwrap();
    let lists = DataType::FixedSizeList(field("item", DataType::Int32), 0);
    let lists = array(&lists, false, 50, &mut Random(1));
    let structs = StructArray::new_empty_fields(50, None);
    let file = write(
        &[table(vec![
            Arc::new(empty),
            lists,
            Arc::new(structs),
            Arc::new(Int32Array::from_iter_values(0..50)),
        ])],
        sized(20, 8),
    );
    for batch in read(file.scan()).iter().chain(&read(
        file.scan()
            .filter("d >= 19 and d < 45".parse().unwrap())
            .batch_rows(5),
    )) {
        assert!(batch.columns().iter().all(|c| c.null_count() == 0));
    }
    let kept = read(file.scan().filter("d >= 19 and d < 45".parse().unwrap()));
    assert_eq!(kept.iter().map(RecordBatch::num_rows).sum::<usize>(), 26);
    assert_eq!(file.take(&[49, 0, 0, 30]).read().unwrap().num_rows(), 4);
}

#[test]
fn short_run_ends_reach_as_far_as_they_can() {
    let runs = |rows: i16| {
        let ends =
            Int16Array::from_iter_values((1..=rows / 100).map(|run| run * 100).chain([rows]));
        let values = Int32Array::from_iter_values((0..ends.len() as i32).map(|i| i * 7));
        table(vec![Arc::new(
            RunArray::<Int16Type>::try_new(&ends, &values).unwrap(),
        )])
    };
    let batches = [runs(30_050), runs(30_050)];
    let file = write(&batches, WriteOptions::default());
    assert_eq!(file.num_rows(), 60_100);
    assert_eq!(column(&read(file.scan()), 0), column(&batches, 0));
    let expected = column(&batches, 0);
    let wanted: Vec<u64> = (0..32_767).map(|i| (i * 7919) % 60_100).collect();
    let found = file.take(&wanted).read().unwrap();
    assert!(
        wanted
            .iter()
            .map(|row| &expected[*row as usize])
            .eq(&rows(found.column(0)))
    );
    let wanted: Vec<u64> = (0..32_768).map(|i| (i * 7919) % 60_100).collect();
    let message = file.take(&wanted).read().unwrap_err().to_string();
    assert!(
        message.contains("column \"a\": ") && message.contains("fewer rows"),
        "{message}"
    );
    let message = file.take(&vec![3; 32_768]).read().unwrap_err().to_string();
    assert!(
        message.contains("column \"a\": ") && message.contains("run ends of at most 32767"),
        "{message}"
    );
}

#[test]
fn small_keys_number_what_they_can() {
    // 100 lists of its own in each row group: more than the keys number, but never in the rows
    // asked for.
    let batch = |group: i32| {
        let items = Int32Array::from_iter_values(group * 1000..group * 1000 + 200);
        let offsets = OffsetBuffer::from_lengths([2; 100]);
        let lists = ListArray::try_new(
            field("item", DataType::Int32),
            offsets,
            Arc::new(items),
            None,
        )
        .unwrap();
        let strings = StringArray::from_iter_values((0..100).map(|i| format!("{group} {i}")));
        let dictionary = |values: ArrayRef| -> ArrayRef {
            Arc::new(DictionaryArray::try_new(Int8Array::from_iter_values(0..100), values).unwrap())
        };
        let (nested, text) = (dictionary(Arc::new(lists)), dictionary(Arc::new(strings)));
        let fixed = |items: &ArrayRef| -> ArrayRef {
            let ty = DataType::FixedSizeList(field("item", items.data_type().clone()), 4);
            let data = arrow_data::ArrayData::builder(ty)
                .len(25)
                .add_child_data(items.to_data());
            arrow_array::make_array(data.build().unwrap())
        };
        table(vec![
            fixed(&nested),
            fixed(&text),
            nested.slice(0, 25),
            text.slice(0, 25),
        ])
    };
    let batches: Vec<RecordBatch> = (0..4).map(batch).collect();
    let file = write(&batches, WriteOptions::default());
    assert_eq!((file.num_rows(), file.num_row_groups()), (100, 4));
    let found = read(file.scan().filter("c is not null".parse().unwrap()));
    let wanted = [99, 0, 25, 50, 75, 0, 31];
    let taken = file.take(&wanted).read().unwrap();
    check(&taken);
    for i in 0..4 {
        let all = column(&batches, i);
        assert_eq!(column(&found, i), all);
        assert_eq!(
            rows(taken.column(i)),
            wanted.map(|row| all[row as usize].clone())
        );
    }
    let message = file
        .take(&(0..100).collect::<Vec<_>>())
        .read()
        .unwrap_err()
        .to_string();
    assert!(message.contains("fewer rows at once"), "{message}");
}
