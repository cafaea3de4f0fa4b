//! Few bytes that declare many rows, or a schema that the leaves do not have.

use super::*;
use common::parts::{SCHEMA, TABLE};

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

#[test]
fn rows_that_need_no_bytes_are_limited_too() {
    let _turn = turn();
    // Lists of 2^31 NULLs.
    let nulls: ArrayRef = Arc::new(NullArray::new(i32::MAX as usize));
    let offsets = OffsetBuffer::new(vec![0, i32::MAX].into());
    let batch = one(Arc::new(
        ListArray::try_new(field("item", DataType::Null), offsets, nulls, None).unwrap(),
    ));
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(
        whole(bytes.clone(), Limits::default()).unwrap()[0]
            .column(0)
            .as_list::<i32>()
            .values()
            .len(),
        0x7fff_ffff
    );
    limited(bytes);
    // A run of 2^31 rows in a list.
    let runs: RunArray<arrow_array::types::Int32Type> = RunArray::try_new(
        &Int32Array::from(vec![i32::MAX]),
        &StringArray::from(vec![None::<&str>]),
    )
    .unwrap();
    let offsets = OffsetBuffer::new(vec![0, i32::MAX].into());
    let items: ArrayRef = Arc::new(runs);
    let list = ListArray::try_new(
        field("item", items.data_type().clone()),
        offsets,
        items,
        None,
    )
    .unwrap();
    let batch = one(Arc::new(list));
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(
        whole(bytes.clone(), Limits::default()).unwrap()[0].num_rows(),
        1
    );
    limited(bytes);
    // NULLs of a type that is 2^30 bytes wide.
    let nulls = NullBuffer::new_null(2);
    let batch = one(Arc::new(
        FixedSizeBinaryArray::try_new(1, Buffer::from(&[0, 0]), Some(nulls)).unwrap(),
    ));
    limited(replaced(&batch, &[19, 1], &[19, 0x80, 0x80, 0x80, 0x80, 4]));
    // One of 2^31 - 1 bytes, as the result of an aggregate.
    let one_null =
        FixedSizeBinaryArray::try_new(1, Buffer::from(&[0]), Some(NullBuffer::new_null(1)));
    let batch = one(Arc::new(one_null.unwrap()));
    let file = replaced(&batch, &[19, 1], &[19, 0xff, 0xff, 0xff, 0xff, 7]);
    let (result, peak) = measured(|| {
        let file = File::from_bytes(file).unwrap();
        file.aggregate(&[("a", "min".parse().unwrap())], None)
    });
    assert!(matches!(result, Err(Error::Limit { .. })), "{result:?}");
    assert!(peak < MOST_BYTES, "{peak} bytes of memory");
    // Lists of 2^31 - 1 items each.
    let batch = one(array(
        &DataType::FixedSizeList(field("item", DataType::Null), 1),
        false,
        3,
        &mut Random(1),
    ));
    limited(replaced(&batch, &[35, 1], &[35, 0xff, 0xff, 0xff, 0xff, 7]));
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

fn constant_blocks_are_limited(log2: u8) {
    let many = 1u64 << log2;
    let types = [
        (
            arrow_array::new_null_array(&DataType::Boolean, 1),
            0u8,
            vec![1u8],
        ),
        (arrow_array::new_null_array(&DataType::Int8, 1), 1, vec![1]),
        (
            arrow_array::new_null_array(&DataType::Decimal256(9, 0), 1),
            6,
            vec![1; 32],
        ),
        (arrow_array::new_null_array(&DataType::Utf8, 1), 7, vec![]),
        (
            arrow_array::new_null_array(&DataType::Utf8, 1),
            7,
            vec![b'x'; 32],
        ),
    ];
    for (column, ty, payload) in types {
        let width = payload.len();
        let batch = one(column);
        let mut parts = Parts::of(&bytes_of(&batch));
        let strings = if ty == 7 {
            varint(many * payload.len() as u64)
        } else {
            vec![]
        };
        let node = [
            vec![1, ty],
            varint(many),
            varint(payload.len() as u64),
            payload,
        ]
        .concat();
        let block = [varint(many), vec![2], strings.clone(), node].concat();
        let chunk = [
            vec![0],
            varint(parts.body.len() as u64),
            varint(many),
            vec![log2, 0, 1],
            varint(block.len() as u64),
            crc(&block).to_le_bytes().to_vec(),
            if ty == 7 { strings } else { vec![0] },
            vec![0, 0],
        ];
        let chunk = chunk.concat();
        parts.body.extend(block);
        parts.indexes[0] = [varint(chunk.len() as u64), chunk].concat();
        *parts.section(TABLE) = [vec![1], varint(many)].concat();
        let (result, peak) = measured(|| whole(parts.file(), limits()));
        assert!(peak < MOST_BYTES, "type {ty}: {peak} bytes of memory");
        if width < 32 && log2 == 16 {
            assert_eq!(result.unwrap()[0].num_rows() as u64, many);
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
