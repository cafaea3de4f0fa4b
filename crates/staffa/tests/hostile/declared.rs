//! Few bytes that declare many rows, or a schema that the leaves do not have.

use super::*;
use common::parts::{SCHEMA, TABLE, node};

/// A file of `batch` whose schema has the bytes `from` replaced, once.
fn replaced(batch: &RecordBatch, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut parts = Parts::of(
        &staffa::to_bytes(
            batch.schema(),
            std::slice::from_ref(batch),
            WriteOptions::default(),
        )
        .unwrap(),
    );
    let schema = parts.section(SCHEMA);
    let at = schema
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    schema.splice(at..at + from.len(), to.iter().copied());
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

/// A list of `i32::MAX` items.
fn list_of(items: ArrayRef) -> RecordBatch {
    let item = field("item", items.data_type().clone());
    let offsets = OffsetBuffer::new(vec![0, i32::MAX].into());
    one(Arc::new(
        ListArray::try_new(item, offsets, items, None).unwrap(),
    ))
}

#[test]
fn lists_whose_items_need_no_bytes_are_limited() {
    let _turn = turn();
    let nulls = list_of(Arc::new(NullArray::new(i32::MAX as usize)));
    let bytes = bytes_of(&nulls);
    let read = whole(bytes.clone(), Limits::default()).unwrap();
    let items = read[0].column(0).as_list::<i32>().values().len();
    assert_eq!(items, 0x7fff_ffff);
    limited(bytes);

    let (ends, values) = (
        Int32Array::from(vec![i32::MAX]),
        StringArray::from(vec![None::<&str>]),
    );
    let runs: RunArray<arrow_array::types::Int32Type> = RunArray::try_new(&ends, &values).unwrap();
    let bytes = bytes_of(&list_of(Arc::new(runs)));
    let read = whole(bytes.clone(), Limits::default()).unwrap();
    assert_eq!(read[0].num_rows(), 1);
    limited(bytes);

    // 2^31 - 1 items in each of three lists.
    let ty = DataType::FixedSizeList(field("item", DataType::Null), 1);
    let batch = one(array(&ty, false, 3, &mut Random(1)));
    limited(replaced(&batch, &[35, 1], &[35, 0xff, 0xff, 0xff, 0xff, 7]));
}

#[test]
fn nulls_of_wide_types_are_limited() {
    let _turn = turn();
    let nulls = |rows: usize| {
        let bytes = Buffer::from(vec![0u8; rows]);
        let nulls = Some(NullBuffer::new_null(rows));
        one(Arc::new(
            FixedSizeBinaryArray::try_new(1, bytes, nulls).unwrap(),
        ))
    };
    // 2^30 bytes each.
    limited(replaced(
        &nulls(2),
        &[19, 1],
        &[19, 0x80, 0x80, 0x80, 0x80, 4],
    ));
    // One of 2^31 - 1 bytes, as the result of an aggregate.
    let file = replaced(&nulls(1), &[19, 1], &[19, 0xff, 0xff, 0xff, 0xff, 7]);
    let (result, peak) = measured(|| {
        let file = File::from_bytes(file).unwrap();
        file.aggregate(&[("a", "min".parse().unwrap())], None)
    });
    assert!(matches!(result, Err(Error::Limit { .. })), "{result:?}");
    assert!(peak < MOST_BYTES, "{peak} bytes of memory");
}

#[test]
fn a_constant_block_of_many_values_is_limited() {
    let _turn = turn();
    // encoding 1 (constant), no children: as many values of any type as one likes. A block of more
    // than 65,536 is refused whatever it holds, one of fewer where its values are wide.
    for log2 in [30, 17, 16] {
        constant_blocks_are_limited(log2);
    }
}

/// A file of one block: `2^log2` times the value of `payload`.
fn constant_file(column: ArrayRef, ty: u8, payload: &[u8], log2: u8) -> Vec<u8> {
    let many = 1u64 << log2;
    let mut parts = Parts::of(&bytes_of(&one(column)));
    let is_text = ty == 7;
    let strings = if is_text {
        varint(many * payload.len() as u64)
    } else {
        vec![]
    };
    let node = node(1, ty, many, payload, &[]);
    let block = [varint(many), vec![2], strings.clone(), node].concat();
    let chunk = [
        vec![0],
        varint(parts.body.len() as u64),
        varint(many),
        vec![log2, 0, 1],
        varint(block.len() as u64),
        crc(&block).to_le_bytes().to_vec(),
        if is_text { strings } else { vec![0] },
        vec![0, 0],
    ];
    let chunk = chunk.concat();
    parts.body.extend(block);
    parts.indexes[0] = [varint(chunk.len() as u64), chunk].concat();
    *parts.section(TABLE) = [vec![1], varint(many)].concat();
    parts.file()
}

fn constant_blocks_are_limited(log2: u8) {
    let null = |ty: &DataType| arrow_array::new_null_array(ty, 1);
    for (column, ty, payload) in [
        (null(&DataType::Boolean), 0u8, &[1u8][..]),
        (null(&DataType::Int8), 1, &[1]),
        (null(&DataType::Decimal256(9, 0)), 6, &[1; 32]),
        (null(&DataType::Utf8), 7, &[]),
        (null(&DataType::Utf8), 7, &[b'x'; 32]),
    ] {
        let file = constant_file(column, ty, payload, log2);
        let (result, peak) = measured(|| whole(file, limits()));
        assert!(peak < MOST_BYTES, "type {ty}: {peak} bytes of memory");
        if payload.len() < 32 && log2 == 16 {
            assert_eq!(result.unwrap()[0].num_rows(), 1 << log2);
            continue;
        }
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains("allowed") || message.contains("at most"),
            "type {ty}: {message}"
        );
    }
}

#[test]
fn a_schema_that_is_not_of_the_leaves_is_refused() {
    let _turn = turn();
    // Int64 as a list, as text, and so on.
    let batch = one(Arc::new(Int64Array::from_iter_values(0..100)));
    for other in [
        &[11][..],
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
