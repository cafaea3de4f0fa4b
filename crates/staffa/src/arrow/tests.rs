//! Every type, through every way: `assemble(shred(x)) == x`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, Int64Array,
    ListArray, ListViewArray, NullArray, RecordBatch, RecordBatchOptions, RunArray, StringArray,
    StructArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};

use super::{Layout, assemble, concat, shred, with_string_views};
use crate::testing::arrays::{
    Random, array, assert_same, damaged, decoded, flat_types, nested_types, one, through,
};
use crate::values::LeafValues;

/// Whole, sliced at odd places, empty.
fn round_trips(batch: &RecordBatch) {
    let rows = batch.num_rows();
    for (start, end) in [
        (0, rows),
        (3, rows),
        (5, rows.saturating_sub(2)),
        (1, 2),
        (0, 0),
        (rows, rows),
    ] {
        if start > end || end > rows {
            continue;
        }
        let batch = batch.slice(start, end - start);
        let back = through(&batch, batch.schema_ref()).unwrap();
        assert_same(&batch, &back);
        let views = with_string_views(batch.schema_ref());
        assert_eq!(
            through(&batch, &views).unwrap().num_rows(),
            batch.num_rows()
        );
    }
}

#[test]
fn flat_types_come_back() {
    let mut random = Random(1);
    for ty in flat_types() {
        for rows in [0, 1, 7, 64, 200] {
            for nullable in [true, false] {
                if ty != DataType::Null || nullable {
                    round_trips(&one("a", nullable, array(&ty, nullable, rows, &mut random)));
                }
            }
        }
    }
}

#[test]
fn nested_types_come_back() {
    let mut random = Random(2);
    for inner in flat_types() {
        for ty in nested_types(&inner) {
            round_trips(&one("a", true, array(&ty, true, 40, &mut random)));
        }
    }
}

#[test]
fn deeply_nested_types_come_back() {
    let mut random = Random(3);
    for inner in [
        DataType::Utf8,
        DataType::Null,
        DataType::Boolean,
        DataType::FixedSizeBinary(0),
        DataType::Int64,
    ] {
        for middle in nested_types(&inner) {
            for ty in nested_types(&middle) {
                round_trips(&one("a", true, array(&ty, true, 23, &mut random)));
            }
        }
    }
}

#[test]
fn a_table_without_columns_keeps_its_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    round_trips(&batch);
}

fn refusal(batch: &RecordBatch) -> String {
    shred(batch, &Layout::new(batch.schema_ref()).unwrap())
        .unwrap_err()
        .to_string()
}

/// The array as if `from` were `to`: Arrow's array data looks at NULLs less closely than its
/// constructors.
fn retyped(array: &dyn Array, ty: DataType) -> ArrayRef {
    make_array(
        array
            .to_data()
            .into_builder()
            .data_type(ty)
            .build()
            .unwrap(),
    )
}

fn dictionary(keys: Vec<Option<i8>>, values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(
        DictionaryArray::try_new(Int8Array::from(keys), Arc::new(StringArray::from(values)))
            .unwrap(),
    )
}

#[test]
fn nulls_where_none_may_be_are_refused_by_name_and_row() {
    let hidden = dictionary(vec![Some(0), Some(1), Some(1)], vec![Some("a"), None]);
    assert_eq!(
        refusal(&one("d", false, hidden.clone())),
        "column \"d\" is not nullable, but row 1 of it is NULL"
    );
    assert!(refusal(&one("n", false, Arc::new(NullArray::new(2)))).contains("row 0"));
    let ends = Int32Array::from(vec![2, 5]);
    let runs = RunArray::try_new(&ends, &StringArray::from(vec![Some("a"), None])).unwrap();
    assert!(
        refusal(&one("r", false, Arc::new(runs.clone())))
            .contains("\"r\" is not nullable, but row 2")
    );
    let values = Arc::new(Field::new("values", DataType::Utf8, false));
    let ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
    let strict = retyped(&runs, DataType::RunEndEncoded(ends, values));
    assert!(refusal(&one("r", true, strict)).contains("\"r\" is not nullable, but row 2"));
    // In a list, items of lists that are NULL are not looked at.
    let strict = Arc::new(Field::new("item", hidden.data_type().clone(), false));
    let loose = Arc::new(Field::new("item", hidden.data_type().clone(), true));
    let lists = |nulls: Vec<bool>| {
        let offsets = OffsetBuffer::from_lengths([1, 1, 1]);
        let lists =
            ListArray::try_new(loose.clone(), offsets, hidden.clone(), Some(nulls.into())).unwrap();
        one("l", true, retyped(&lists, DataType::List(strict.clone())))
    };
    assert!(
        refusal(&lists(vec![false, true, true])).contains("\"l[]\" is not nullable, but row 0")
    );
    round_trips(&lists(vec![true, false, false]));
}

#[test]
fn nulls_hidden_further_up_are_accepted() {
    // As Parquet readers make them: struct<b: struct<c: dictionary not null> not null>, NULL at row
    // 1.
    let c = dictionary(vec![Some(0), Some(1), Some(0)], vec![Some("a"), None]);
    let c_field = |nullable| Fields::from(vec![Field::new("c", c.data_type().clone(), nullable)]);
    let b = StructArray::try_new(c_field(true), vec![c.clone()], None).unwrap();
    let b = retyped(&b, DataType::Struct(c_field(false)));
    let b_field = Fields::from(vec![Field::new("b", b.data_type().clone(), false)]);
    let nulls = |valid| Some(NullBuffer::from(valid));
    let a = StructArray::try_new(
        b_field.clone(),
        vec![b.clone()],
        nulls(vec![true, false, true]),
    )
    .unwrap();
    let batch = one("a", true, Arc::new(a));
    round_trips(&batch);
    assert_same(
        &batch,
        &concat(&batch.schema(), &[batch.slice(0, 1), batch.slice(1, 2)])
            .unwrap()
            .unwrap(),
    );
    let a = StructArray::try_new(b_field, vec![b], nulls(vec![true, true, false])).unwrap();
    assert_eq!(
        refusal(&one("a", true, Arc::new(a))),
        "column \"a.b.c\" is not nullable, but row 1 of it is NULL"
    );
}

#[test]
fn fixed_lists_hide_the_nulls_of_their_items() {
    let item = Arc::new(Field::new("item", DataType::Int32, false));
    let items: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let nulls = NullBuffer::from(vec![true, false]);
    let lists = FixedSizeListArray::try_new(item, 2, items, Some(nulls)).unwrap();
    round_trips(&one("f", true, Arc::new(lists)));
}

#[test]
fn views_overlap_and_repeat_only_as_far_as_memory_goes() {
    let items: ArrayRef = Arc::new(StringArray::from_iter_values((0..5).map(|i| i.to_string())));
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let views = |starts: Vec<i32>, sizes: Vec<i32>| {
        let views = ListViewArray::try_new(
            item.clone(),
            starts.into(),
            sizes.into(),
            items.clone(),
            None,
        )
        .unwrap();
        one("v", true, Arc::new(views))
    };
    round_trips(&views(vec![3, 0, 0, 5, 1], vec![2, 5, 5, 0, 1]));
    let batch = views(vec![3, 0], vec![2, 3]);
    let leaves = shred(&batch, &Layout::new(batch.schema_ref()).unwrap()).unwrap();
    assert_eq!(leaves[0].values.words::<u32>(), [2, 3]);
    assert_eq!(leaves[1].values.len(), 5);
    // A few megabytes that claim to be 2^32 NULLs.
    let item = Arc::new(Field::new("item", DataType::Null, true));
    let many = vec![1 << 20; 1 << 12];
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 20));
    let views =
        ListViewArray::try_new(item, vec![0; 1 << 12].into(), many.into(), nulls, None).unwrap();
    assert!(refusal(&one("v", true, Arc::new(views))).contains("more than 2147483647 items"));
}

#[test]
fn words_and_contents_are_handed_on_without_a_copy() {
    let strings = StringArray::from_iter_values((0..100).map(|i| i.to_string()));
    let numbers = Int64Array::from_iter_values(0..100);
    let schema = Schema::new(vec![
        Field::new("s", DataType::Utf8, true),
        Field::new("n", DataType::Int64, true),
    ]);
    let columns: Vec<ArrayRef> = vec![Arc::new(strings.clone()), Arc::new(numbers.clone())];
    let batch = RecordBatch::try_new(Arc::new(schema), columns)
        .unwrap()
        .slice(10, 50);
    let leaves = shred(&batch, &Layout::new(batch.schema_ref()).unwrap()).unwrap();
    let LeafValues::Bytes { offsets, data } = &leaves[0].values else {
        panic!("not strings")
    };
    assert_eq!(
        (offsets.len(), data.as_ptr()),
        (51, strings.values()[10..].as_ptr())
    );
    let LeafValues::Words(_, data) = &leaves[1].values else {
        panic!("not words")
    };
    assert_eq!(data.as_ptr(), numbers.values()[10..].as_ptr().cast());
    let back = through(&batch, &with_string_views(batch.schema_ref())).unwrap();
    assert_eq!(back.column(0).as_string_view().value(3), "13");
    assert_eq!(back.column(0).data_type(), &DataType::Utf8View);
}

#[test]
fn hostile_leaves_are_refused_or_make_whole_arrays() {
    let mut random = Random(7);
    let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
    for ty in flat_types().into_iter().chain(nested) {
        let nullable = random.below(2) == 0 || ty == DataType::Null;
        let batch = one("a", true, array(&ty, nullable, 30, &mut random));
        let field = batch.schema_ref().field(0).clone().with_nullable(nullable);
        let layout = Layout::new(batch.schema_ref()).unwrap();
        let leaves = shred(&batch, &layout).unwrap();
        for _ in 0..30 {
            let victim = random.below(leaves.len());
            let rows = if random.below(8) == 0 {
                random.below(100)
            } else {
                30
            };
            let mut take = |leaf: usize| {
                let fresh = decoded(leaves[leaf].clone(), layout.leaves()[leaf].large);
                Ok(if leaf == victim {
                    damaged(fresh, &mut random)
                } else {
                    fresh
                })
            };
            if let Ok(array) = assemble(&field, &layout.fields[0], rows, &mut take) {
                array.to_data().validate_full().unwrap();
                assert_eq!((array.len(), array.data_type()), (rows, field.data_type()));
                assert!(field.is_nullable() || array.logical_null_count() == 0);
                // NULLs and runs may say that there are billions, in lists too; all else is there
                // to be read.
                if !ty.to_string().contains("Null") && !ty.to_string().contains("RunEnd") {
                    crate::testing::arrays::rows(&array);
                }
            }
        }
    }
}
