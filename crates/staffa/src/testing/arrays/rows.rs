//! Rows as text, for the tests of the library and those beside it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, RunArray};
use arrow_schema::DataType;

/// Rows as text, so that list views, dictionaries and runs compare by value; floats by their bits.
pub fn rows(array: &ArrayRef) -> Vec<String> {
    (0..array.len())
        .map(|row| show(array.as_ref(), row))
        .collect()
}

pub fn show(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return "NULL".to_owned();
    }
    let all = |items: ArrayRef| format!("[{}]", rows(&items).join(", "));
    match array.data_type() {
        DataType::List(_) => all(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => all(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => all(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => all(Arc::new(array.as_map().value(row))),
        DataType::Struct(_) => {
            let fields: Vec<String> = array
                .as_struct()
                .columns()
                .iter()
                .map(|column| show(column.as_ref(), row))
                .collect();
            format!("({})", fields.join(", "))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            show(
                dictionary.values().as_ref(),
                dictionary.normalized_keys()[row],
            )
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => show_run(array.as_run::<Int16Type>(), row),
            DataType::Int32 => show_run(array.as_run::<Int32Type>(), row),
            _ => show_run(array.as_run::<Int64Type>(), row),
        },
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
        DataType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        DataType::Binary => format!("{:x?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:x?}", array.as_binary::<i64>().value(row)),
        DataType::BinaryView => format!("{:x?}", array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => format!("{:x?}", array.as_fixed_size_binary().value(row)),
        ty => {
            let width = ty.primitive_width().unwrap();
            let data = array.to_data();
            let start = (data.offset() + row) * width;
            let word = data.buffers()[0].slice_with_length(start, width);
            format!("{:x?}", word.as_slice())
        }
    }
}

fn show_run<E: RunEndIndexType>(runs: &RunArray<E>, row: usize) -> String {
    show(runs.values().as_ref(), runs.get_physical_index(row))
}
