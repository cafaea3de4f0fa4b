//! Values that are easily shown wrongly.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, Date32Array, Float64Array, StringArray, TimestampSecondArray};

use crate::html::well_formed;
use crate::{reported, stored, table};

/// What stands between the first of each mark and the next `</dd>`.
fn facts<'a>(page: &'a str, labels: [&str; 2]) -> [&'a str; 2] {
    labels.map(|label| {
        let text = page.split(&format!("<dt>{label}</dt><dd>")).nth(1).unwrap();
        text.split("</dd>").next().unwrap()
    })
}

fn bounds(column: ArrayRef) -> [String; 2] {
    let page = reported(stored(&table(vec![("x", column)])).path(), &[]);
    well_formed(&page);
    facts(&page, ["Minimum", "Maximum"]).map(str::to_owned)
}

#[test]
fn bounds_of_long_texts_are_marked() {
    let long = ["a".repeat(40), "z".repeat(40)];
    let texts: ArrayRef = Arc::new(StringArray::from(long.to_vec()));
    let page = reported(stored(&table(vec![("x", texts)])).path(), &[]);
    well_formed(&page);
    let [min, max] = facts(&page, ["Minimum", "Maximum"]);
    assert!(
        min.contains("≥ aaaaaaaaaaaa") && max.contains("≤ zzzzzzzzzzzz"),
        "{min} {max}"
    );
    // In the list and of the blocks as well.
    assert!(page.matches("≥ aaaaaaaaaaaa").count() >= 3, "{page}");
    assert!(page.contains("mark bounds of the smallest and the largest"));
    let short: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    assert_eq!(bounds(short), ["a", "b"]);
}

#[test]
fn extremes_of_floats_are_short() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::MIN, 0.5, f64::MAX]));
    assert_eq!(
        bounds(floats),
        ["-1.7976931348623157e308", "1.7976931348623157e308"]
    );
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![-1.5, 1234.25]));
    assert_eq!(bounds(floats), ["-1.5", "1234.25"]);
}

#[test]
fn dates_beyond_the_calendar_have_a_unit() {
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![0, i32::MAX]));
    assert_eq!(bounds(dates), ["1970-01-01", "2147483647 days since 1970"]);
    let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MIN, 0]));
    assert_eq!(
        bounds(times),
        ["-9223372036854775808 s since 1970", "1970-01-01T00:00:00"]
    );
}

#[test]
fn keys_and_values_of_maps_have_their_types() {
    // As pyarrow names them.
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in 0..100 {
        maps.keys().append_value("k");
        maps.values().append_value(format!("v{row}"));
        maps.append(true).unwrap();
    }
    let column: ArrayRef = Arc::new(maps.finish());
    let page = reported(stored(&table(vec![("m", column)])).path(), &[]);
    well_formed(&page);
    for path in ["m[].key", "m[].value"] {
        let shown = path.replace('.', ".<wbr>");
        assert!(
            page.contains(&format!("<b>{shown}</b> <small>Utf8</small>")),
            "{path}"
        );
    }
    assert!(page.contains("<small>Map</small>") && !page.contains("<small>bytes</small>"));
}
