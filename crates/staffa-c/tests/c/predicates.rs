//! Predicates: built as parsed, literals of every type.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType;
use staffa_c::border::*;

use crate::arrays::{Random, array, dictionary_of, flat_types};
use crate::calls::*;

fn text(predicate: *const StaffaPredicate) -> String {
    unsafe {
        let len = staffa_predicate_text(predicate, ptr::null_mut(), 0);
        let mut buffer = vec![1_u8; len + 1];
        let found = staffa_predicate_text(predicate, buffer.as_mut_ptr().cast(), len + 1);
        assert_eq!((found, buffer.pop()), (len, Some(0)));
        String::from_utf8(buffer).unwrap()
    }
}

#[test]
fn built_predicates_are_the_parsed_ones() {
    let (a, x) = (c("a"), c("x%"));
    let column = a.as_ptr();
    let built = unsafe {
        let three: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("it's")]));
        let (mut schema, mut values) = exported(&three);
        let all = [
            made(|p, e| staffa_predicate_compare_int(column, 0, -3, p, e)),
            made(|p, e| staffa_predicate_compare_double(column, 1, 0.5, p, e)),
            made(|p, e| staffa_predicate_compare_bool(column, 2, true, p, e)),
            made(|p, e| staffa_predicate_compare_text(column, 3, x.as_ptr(), p, e)),
            made(|p, e| staffa_predicate_compare_int(column, 4, i64::MAX, p, e)),
            made(|p, e| staffa_predicate_compare_int(column, 5, 1, p, e)),
            made(|p, e| staffa_predicate_is_null(column, p, e)),
            made(|p, e| staffa_predicate_starts_with(column, x.as_ptr(), p, e)),
            made(|p, e| staffa_predicate_contains(column, x.as_ptr(), p, e)),
            made(|p, e| staffa_predicate_like(column, x.as_ptr(), p, e)),
            made(|p, e| staffa_predicate_ilike(column, x.as_ptr(), p, e)),
            made(|p, e| staffa_predicate_in(column, &raw mut schema, &raw mut values, p, e)),
        ];
        assert!(values.is_released() && schema.release.is_none());
        all
    };
    let expected = [
        "a = -3",
        "a <> 0.5",
        "a < true",
        "a <= 'x%'",
        "a > 9223372036854775807",
        "a >= 1",
        "a is null",
        "a starts with 'x%'",
        "a contains 'x%'",
        "a like 'x%'",
        "a ilike 'x%'",
        "a in ('x', null, 'it''s')",
    ];
    for (predicate, expected) in built.iter().zip(expected) {
        assert_eq!(text(*predicate), expected);
    }
    unsafe {
        let parts = built.map(|p| p.cast_const());
        let or = made(|p, e| staffa_predicate_or(parts.as_ptr(), 2, p, e));
        let not = made(|p, e| staffa_predicate_not(or, p, e));
        let both = [not.cast_const(), parts[6]];
        let and = made(|p, e| staffa_predicate_and(both.as_ptr(), 2, p, e));
        // What they are made of is copied.
        built
            .iter()
            .chain([&or, &not])
            .for_each(|p| staffa_predicate_free(*p));
        assert_eq!(text(and), "not (a = -3 or a <> 0.5) and a is null");
        let mut short = [1 as c_char; 4];
        assert_eq!(
            staffa_predicate_text(and, short.as_mut_ptr(), 4),
            text(and).len()
        );
        assert_eq!(short.map(|byte| byte as u8), *b"not\0");
        staffa_predicate_free(and);
        let none = made(|p, e| staffa_predicate_and(ptr::null(), 0, p, e));
        assert_eq!(text(none), "true");
        staffa_predicate_free(none);
    }
}

/// `a = value` finds the row of each value, whatever its type.
#[test]
fn values_of_every_type_are_literals() {
    let mut random = Random(11);
    let mut found = 0;
    for ty in flat_types() {
        if ty == DataType::Null {
            continue;
        }
        let values = array(&ty, true, 40, &mut random);
        let row: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("a", values.clone(), true),
            ("row", row, false),
        ]);
        let file = open(&bytes_of(&batch.unwrap()));
        for row in (0..40).filter(|row| values.is_valid(*row)) {
            let (mut schema, mut value) = exported(&values.slice(row, 1));
            let mut equal = ptr::null_mut();
            let name = c("a");
            let (code, text) = call(|e| unsafe {
                let (schema, value) = (&raw mut schema, &raw mut value);
                staffa_predicate_compare(name.as_ptr(), 0, schema, value, &raw mut equal, e)
            });
            if code != StaffaCode::Ok {
                assert_eq!(code, StaffaCode::Unsupported, "{ty}: {text}");
                continue;
            }
            let scan = scan_of(file);
            unsafe {
                let filtered = call(|e| staffa_scan_filter(scan, equal, e));
                assert_eq!(filtered.0, StaffaCode::Ok);
                let mut schema = arrow_array::ffi::FFI_ArrowSchema::empty();
                let (code, _) = call(|e| staffa_scan_schema(scan, &raw mut schema, e));
                // Columns of some types, intervals for example, are not compared.
                if code == StaffaCode::Ok {
                    let rows = rows_of(scan);
                    let rows = rows.column(1).as_primitive::<Int64Type>().values();
                    assert!(
                        rows.contains(&(row as i64)),
                        "{ty}, row {row}: {}",
                        crate::predicates::text(equal)
                    );
                    found += 1;
                }
                staffa_scan_free(scan);
                staffa_predicate_free(equal);
            }
        }
        unsafe { staffa_file_free(file) };
    }
    assert!(found > 500, "only {found} values were compared");
}

#[test]
fn literals_in_dictionaries_and_null_are_values() {
    let mut random = Random(12);
    let in_text = |values: ArrayRef| {
        let (mut schema, mut array) = exported(&values);
        let name = c("a");
        let predicate = made(|p, e| unsafe {
            staffa_predicate_in(name.as_ptr(), &raw mut schema, &raw mut array, p, e)
        });
        let text = text(predicate);
        unsafe { staffa_predicate_free(predicate) };
        text
    };
    let ty = dictionary_of(DataType::Int8, DataType::Utf8);
    let dictionary = array(&ty, false, 3, &mut random);
    let plain = arrow_select::take::take(
        dictionary.as_any_dictionary().values(),
        dictionary.as_any_dictionary().keys(),
        None,
    );
    assert_eq!(in_text(dictionary), in_text(plain.unwrap()));
    assert_eq!(in_text(new_null_array(&DataType::Int32, 1)), "a in (null)");
    assert_eq!(in_text(new_null_array(&DataType::Null, 1)), "a in (null)");
}

#[test]
fn predicates_have_a_largest_size() {
    unsafe {
        let mut one = predicate("a = 1");
        let mut levels = 0;
        loop {
            let both = [one.cast_const(); 2];
            let mut and = ptr::null_mut();
            let (code, _) = call(|e| staffa_predicate_and(both.as_ptr(), 2, &raw mut and, e));
            if code != StaffaCode::Ok {
                assert_eq!(code, StaffaCode::Limit);
                assert!(and.is_null());
                break;
            }
            levels += 1;
            staffa_predicate_free(one);
            one = and;
        }
        assert!((10..=20).contains(&levels));
        staffa_predicate_free(one);

        let mut one = predicate("a = 1");
        for _ in 0..99 {
            let not = made(|p, e| staffa_predicate_not(one, p, e));
            staffa_predicate_free(one);
            one = not;
        }
        let mut not = ptr::null_mut();
        fails(StaffaCode::Limit, "deep", |e| {
            staffa_predicate_not(one, &raw mut not, e)
        });
        staffa_predicate_free(one);
    }
}

#[test]
fn a_wrong_predicate_says_where() {
    let mut predicate = ptr::null_mut();
    let (text, a) = (c("price <"), c("a"));
    unsafe {
        fails(StaffaCode::InvalidArgument, "character 8", |e| {
            staffa_predicate_parse(text.as_ptr(), &raw mut predicate, e)
        });
        fails(StaffaCode::InvalidArgument, "found 6", |e| {
            staffa_predicate_compare_int(a.as_ptr(), 6, 1, &raw mut predicate, e)
        });
        let (mut schema, mut two) = exported(&Int64Array::from(vec![1, 2]));
        fails(StaffaCode::InvalidArgument, "found 2", |e| {
            let (schema, two) = (&raw mut schema, &raw mut two);
            staffa_predicate_compare(a.as_ptr(), 0, schema, two, &raw mut predicate, e)
        });
        assert!(two.is_released() && predicate.is_null());
        let file = open(&bytes_of(&table(10)));
        let scan = scan_of(file);
        let unknown = crate::calls::predicate("b = 1");
        ok(|e| staffa_scan_filter(scan, unknown, e));
        let mut stream = arrow_array::ffi_stream::FFI_ArrowArrayStream::empty();
        fails(StaffaCode::InvalidArgument, "\"b\"", |e| {
            staffa_scan_stream(scan, &raw mut stream, e)
        });
        staffa_predicate_free(unknown);
        staffa_scan_free(scan);
        staffa_file_free(file);
    }
}
