//! Numbers that a parser of JSON would round: integers beyond 64 bits, and, in a column that also has
//! fractions, those whose digits no double holds. Such columns are text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, make_array};
use arrow_schema::{DataType, Field, Fields, Schema};

use crate::formats::exact::{is_exact, keeps_fraction};

/// Digits that any double holds.
const SAFE_DIGITS: usize = 15;

/// The line of JSON with its wide numbers in quotes, if it has any: integers beyond 64 bits, or, if
/// `doubles` is set, numbers whose digits no double holds.
pub(super) fn quoted(line: &str, doubles: bool) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| {
                    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
                };
                let rest = bytes.get(at..).unwrap_or(&[]);
                let end = at + rest.iter().take_while(|byte| is_part(byte)).count();
                let number = line.get(at..end).unwrap_or("");
                if is_wide(number, doubles) || (doubles && !keeps_fraction(number)) {
                    out.push_str(line.get(copied..at).unwrap_or(""));
                    out.extend(["\"", number, "\""]);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| out + line.get(copied..).unwrap_or(""))
}

/// Where a string ends that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn is_wide(number: &str, doubles: bool) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    if digits.len() <= SAFE_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    if doubles {
        !is_exact(number)
    } else {
        number.parse::<i64>().is_err()
    }
}

/// The schema with text where it has doubles and `wide`, of the rows with wide integers, has text.
pub(super) fn with_text(schema: &Schema, wide: &Schema) -> Schema {
    Schema::new(fields_with_text(schema.fields(), wide.fields()))
}

fn fields_with_text(fields: &Fields, wide: &Fields) -> Fields {
    let of = |field: &Arc<Field>| {
        let Some((_, wide)) = wide.find(field.name()) else {
            return field.clone();
        };
        let data_type = type_with_text(field.data_type(), wide.data_type());
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    fields.iter().map(of).collect()
}

fn type_with_text(data_type: &DataType, wide: &DataType) -> DataType {
    match (data_type, wide) {
        (DataType::Float64, DataType::Utf8) => DataType::Utf8,
        (DataType::List(item), DataType::List(wide)) => {
            let data_type = type_with_text(item.data_type(), wide.data_type());
            DataType::List(Arc::new(item.as_ref().clone().with_data_type(data_type)))
        }
        (DataType::Struct(fields), DataType::Struct(wide)) => {
            DataType::Struct(fields_with_text(fields, wide))
        }
        _ => data_type.clone(),
    }
}

/// An integer in a column of doubles, below an array that is text still, that no double holds.
pub(super) fn inexact(array: &dyn Array, data_type: &DataType) -> Option<String> {
    match (array.data_type(), data_type) {
        (DataType::Utf8, DataType::Float64) => {
            let mut texts = array.as_string::<i32>().iter().flatten();
            texts.find(|text| is_wide(text, true)).map(str::to_owned)
        }
        (DataType::List(_), DataType::List(item)) => {
            inexact(array.as_list::<i32>().values(), item.data_type())
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let data = array.to_data();
            let mut children = data.child_data().iter().zip(fields);
            children.find_map(|(child, field)| {
                inexact(make_array(child.clone()).as_ref(), field.data_type())
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_are_put_in_quotes() {
        let line = r#"{"a":9223372036854775808,"b":"9223372036854775808 \" 1","c":[-9223372036854775809]}"#;
        let expected = r#"{"a":"9223372036854775808","b":"9223372036854775808 \" 1","c":["-9223372036854775809"]}"#;
        assert_eq!(quoted(line, false).as_deref(), Some(expected));
        assert_eq!(quoted(r#"{"a":9007199254740993}"#, false), None);
        assert!(quoted(r#"{"a":9007199254740993}"#, true).is_some());
        assert_eq!(
            quoted(r#"{"a":9007199254740992,"b":1e300,"c":1.5}"#, true),
            None
        );
    }
}
