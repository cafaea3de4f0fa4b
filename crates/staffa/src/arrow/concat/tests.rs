use arrow_array::types::UInt8Type;
use arrow_array::{DictionaryArray, Int8Array, Int16Array, StringArray, UInt8Array};
use arrow_schema::Schema;

use super::*;
use crate::testing::arrays::{Random, array, assert_same, flat_types, nested_types, one, rows};

fn concat_all(batches: &[RecordBatch]) -> Option<RecordBatch> {
    concat(&batches[0].schema(), batches).unwrap()
}

#[test]
fn slices_and_strangers_become_one() {
    let mut random = Random(5);
    let nested: Vec<DataType> = flat_types().iter().flat_map(nested_types).collect();
    let mut sure = 0;
    for ty in flat_types().into_iter().chain(nested) {
        let whole = one("a", true, array(&ty, true, 50, &mut random));
        let slices = [
            whole.slice(0, 3),
            whole.slice(3, 0),
            whole.slice(3, 30),
            whole.slice(33, 17),
        ];
        assert_same(&whole, &concat_all(&slices).unwrap());
        // Of another making, so that dictionaries differ.
        let other = one("a", true, array(&ty, true, 20, &mut random));
        let batches = [whole.slice(7, 30), other.slice(1, 19)];
        let arrays = batches.each_ref().map(|batch| batch.column(0).clone());
        let joined = concat_all(&batches);
        if surely_join(whole.schema_ref().field(0), &arrays) {
            assert!(joined.is_some(), "{ty}");
            sure += 1;
        }
        if let Some(joined) = joined {
            let expected: Vec<String> = batches
                .iter()
                .flat_map(|batch| rows(batch.column(0)))
                .collect();
            assert_eq!(rows(joined.column(0)), expected, "{ty}");
        }
    }
    assert!(sure > 300, "{sure}");
}

#[test]
fn dictionaries_surely_join_while_their_keys_suffice() {
    let surely = |ranges: [std::ops::Range<u32>; 2], ordered| {
        let arrays = ranges.map(dictionary);
        let field = Field::new("d", arrays[0].data_type().clone(), true);
        surely_join(&field.with_dict_is_ordered(ordered), &arrays)
    };
    assert!(surely([0..100, 100..128], false));
    assert!(!surely([0..100, 100..129], false));
    assert!(!surely([0..100, 100..128], true));
}

fn dictionary(values: std::ops::Range<u32>) -> ArrayRef {
    let keys: UInt8Array = (0..values.len()).map(|key| Some(key as u8)).collect();
    let values: StringArray = values.map(|value| Some(value.to_string())).collect();
    Arc::new(DictionaryArray::try_new(keys, Arc::new(values)).unwrap())
}

#[test]
fn dictionaries_are_unified_until_keys_run_out() {
    let joined = concat_all(&[
        one("d", true, dictionary(0..200)),
        one("d", true, dictionary(100..256)),
    ])
    .unwrap();
    let column = joined.column(0).as_dictionary::<UInt8Type>();
    assert_eq!((column.len(), column.values().len()), (356, 256));
    assert!(
        concat_all(&[
            one("d", true, dictionary(0..200)),
            one("d", true, dictionary(100..257))
        ])
        .is_none()
    );
    // What is not used need not be numbered.
    let used = [
        one("d", true, dictionary(0..200).slice(0, 9)),
        one("d", true, dictionary(200..400).slice(0, 9)),
    ];
    assert_eq!(
        concat_all(&used)
            .unwrap()
            .column(0)
            .as_dictionary::<UInt8Type>()
            .values()
            .len(),
        18
    );
    // The longest of those that begin alike is kept.
    let grown = [
        one("d", true, dictionary(0..5)),
        one("d", true, dictionary(0..9)),
        one("d", true, dictionary(0..1)),
    ];
    assert_eq!(
        concat_all(&grown)
            .unwrap()
            .column(0)
            .as_dictionary::<UInt8Type>()
            .values()
            .len(),
        9
    );
}

#[test]
fn ordered_dictionaries_are_not_mixed() {
    let ty = dictionary(0..1).data_type().clone();
    let schema = Arc::new(Schema::new(vec![
        Field::new("d", ty, true).with_dict_is_ordered(true),
    ]));
    let batch = |values| RecordBatch::try_new(schema.clone(), vec![dictionary(values)]).unwrap();
    assert!(
        concat(&schema, &[batch(0..3), batch(0..7)])
            .unwrap()
            .is_some()
    );
    assert!(
        concat(&schema, &[batch(0..3), batch(1..7)])
            .unwrap()
            .is_none()
    );
}

#[test]
fn nested_dictionaries_and_runs_that_outgrow_their_type_stay_apart() {
    let lists = |start: i8| {
        let values: ArrayRef = array(
            &DataType::List(Arc::new(Field::new_list_field(DataType::Int8, true))),
            true,
            100,
            &mut Random(start as u64),
        );
        let keys = Int8Array::from_iter_values(start..100);
        one(
            "d",
            true,
            Arc::new(DictionaryArray::try_new(keys, values).unwrap()),
        )
    };
    assert!(concat_all(&[lists(0), lists(1)]).is_none());
    assert!(concat_all(&[lists(0), lists(0)]).is_some());
    let runs = |rows: i16| {
        let values = StringArray::from(vec!["a", "b"]);
        one(
            "r",
            true,
            Arc::new(
                arrow_array::RunArray::<Int16Type>::try_new(
                    &Int16Array::from(vec![1, rows]),
                    &values,
                )
                .unwrap(),
            ),
        )
    };
    assert_eq!(
        concat_all(&[runs(30_000), runs(2_767)]).unwrap().num_rows(),
        32_767
    );
    assert!(concat_all(&[runs(30_000), runs(2_768)]).is_none());
}

#[test]
fn batches_of_another_schema_are_refused_by_name() {
    let batches = [
        one("d", true, dictionary(0..2)),
        one("d", true, Arc::new(Int8Array::from(vec![1]))),
    ];
    let message = concat(&batches[0].schema(), &batches)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("\"d\" is Dictionary(UInt8, Utf8), found a batch where it is Int8"),
        "{message}"
    );
    assert_eq!(
        concat(&batches[0].schema(), &[])
            .unwrap()
            .unwrap()
            .num_rows(),
        0
    );
}
