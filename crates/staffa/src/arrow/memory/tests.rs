use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray, RunArray, StringArray,
    StringViewArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::Field;

use super::*;
use crate::testing::arrays::{Random, array, flat_types, nested_types};

#[test]
fn rows_of_slices_are_counted_once() {
    let mut random = Random(7);
    let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
    for ty in flat_types().into_iter().chain(nested) {
        let whole = array(&ty, true, 4000, &mut random);
        let bytes = memory_of_rows(&whole);
        if !is_by_rows(&ty) {
            let expected = whole.to_data().get_slice_memory_size().unwrap();
            assert_eq!(bytes, expected, "{ty}");
        }
        let slices = (0..4).map(|i| whole.slice(i * 1000, 1000));
        let parts = sum(slices.map(|slice| memory_of_rows(&slice)));
        // A slice has an offset more at each level, whole bytes of validity, and the run at its border;
        // values of a dictionary that several slices hold are counted by each.
        let slack = bytes / 20 + 4 * if is_by_rows(&ty) { 1024 } else { 64 };
        assert!(parts <= bytes + slack, "{ty}: {parts} of {bytes}");
        assert!(parts >= bytes - bytes / 20, "{ty}: {parts} of {bytes}");
    }
}

/// Whether Arrow counts such arrays in another way.
fn is_by_rows(ty: &DataType) -> bool {
    let is_run = |ty: &DataType| matches!(ty, DataType::RunEndEncoded(..));
    has_views(ty) || has_dictionary(ty) || contains(ty, &is_run)
}

#[test]
fn contents_are_counted_where_the_rows_have_them() {
    let items = Arc::new(Int64Array::from_iter_values(0..1000));
    let field = Arc::new(Field::new_list_field(DataType::Int64, true));
    let offsets = (0..=100).map(|row| row * 10).collect::<ScalarBuffer<i32>>();
    let lists = ListArray::new(
        field.clone(),
        OffsetBuffer::new(offsets),
        items.clone(),
        None,
    );
    assert_eq!(memory_of_rows(&lists), 101 * 4 + 8000);
    assert_eq!(memory_of_rows(&lists.slice(50, 3)), 4 * 4 + 3 * 80);
    assert_eq!(memory_of_rows(&lists.slice(50, 0)), 4);

    // Lists in any order: the second is NULL, and its range is not counted.
    let views = arrow_array::ListViewArray::new(
        field,
        vec![20, 0, 10].into(),
        vec![5, 900, 10].into(),
        items,
        Some(vec![true, false, true].into()),
    );
    assert_eq!(memory_of_rows(&views), 1 + 3 * 8 + 15 * 8);

    let long = "longer than a view holds";
    let views = StringViewArray::from_iter([Some("short"), Some(long), None, Some(long)]);
    assert_eq!(memory_of_rows(&views), 1 + 4 * 16 + 2 * long.len());
    assert_eq!(memory_of_rows(&views.slice(2, 1)), 1 + 16);
    // The view of a NULL may have any length.
    let is_valid = NullBuffer::from(vec![true, false, true, false]);
    let nulls = arrow_select::nullif::nullif(&views, &BooleanArray::new(!is_valid.inner(), None));
    assert_eq!(memory_of_rows(&nulls.unwrap()), 1 + 4 * 16);

    // Of many values for few rows, all buffers tell the mean.
    let long = std::iter::repeat_n("longer than a view holds", 5000);
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values(long));
    let keys = (0..4).map(|key| key * 1000).collect();
    let dictionary = DictionaryArray::<Int32Type>::new(keys, values.clone());
    let mean = values.get_buffer_memory_size() / values.len();
    let bytes = memory_of_rows(&dictionary);
    assert!(
        (16 + 4 * mean..16 + 4 * mean + 4).contains(&bytes),
        "{bytes}"
    );

    let values: ArrayRef = Arc::new(StringArray::from_iter_values(["aaaa"; 100]));
    let keys = (0..50).collect();
    let dictionary = DictionaryArray::<Int8Type>::new(keys, values);
    assert_eq!(memory_of_rows(&dictionary), 50 + 804 * 50 / 100);
    assert_eq!(
        memory_of_rows(&dictionary.slice(3, 5)),
        5 + (400 + 404) / 20
    );

    let runs = RunArray::try_new(
        &Int32Array::from(vec![10, 20, 30]),
        &Int64Array::from(vec![1, 2, 3]),
    );
    let runs = runs.unwrap();
    assert_eq!(memory_of_rows(&runs), 3 * 12);
    assert_eq!(memory_of_rows(&runs.slice(5, 10)), 2 * 12);
    assert_eq!(memory_of_rows(&runs.slice(5, 0)), 0);
}
