use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::Field;

use super::*;
use crate::arrow::with_string_views;
use crate::testing::arrays::{flat_types, nested_types};

fn paths(fields: Vec<Field>) -> Vec<String> {
    let layout = Layout::new(&Schema::new(fields)).unwrap();
    layout
        .leaves()
        .iter()
        .map(|leaf| leaf.path.to_string())
        .collect()
}

#[test]
fn leaves_have_unique_paths_in_depth_first_order() {
    let text = || Field::new("b", DataType::Utf8, true);
    let structs =
        DataType::Struct(vec![text(), text(), Field::new("n", DataType::Null, true)].into());
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let fields = vec![
        Field::new("a", structs.clone(), true),
        Field::new("a.b", DataType::Boolean, true),
        Field::new(
            "l",
            DataType::LargeList(Arc::new(Field::new("item", structs, true))),
            true,
        ),
        Field::new("d", dictionary, true),
    ];
    let layout = Layout::new(&Schema::new(fields.clone())).unwrap();
    assert_eq!(
        (
            layout.leaves_of(1),
            layout.leaves_of(2),
            layout.leaves_of(4)
        ),
        (3..4, 4..8, 0..0)
    );
    assert_eq!(layout.leaves().iter().filter(|leaf| leaf.flat).count(), 1);
    assert_eq!(
        paths(fields),
        [
            "a",
            "a.b#2",
            "a.b#3",
            "a.b",
            "l",
            "l[]",
            "l[].b",
            "l[].b#2",
            "d",
            "d{values}"
        ]
    );
}

#[test]
fn long_names_are_not_repeated() {
    let long = "long ".repeat(1_000);
    let many = |n| {
        DataType::Struct(
            (0..n)
                .map(|_| Field::new(&long, DataType::Int8, true))
                .collect(),
        )
    };
    let found = paths(vec![Field::new(&long, many(1_000), true)]);
    assert_eq!(found.len(), 1_001);
    assert_eq!(found[0], long);
    assert!(found[1..].iter().all(|path| path.len() < 270));
    assert_eq!(HashSet::<&String>::from_iter(&found).len(), 1_001);
}

#[test]
fn unions_and_twins_are_refused_by_name() {
    let twins = Schema::new(vec![
        Field::new("x", DataType::Int8, true),
        Field::new("x", DataType::Utf8, true),
    ]);
    assert_eq!(
        Layout::new(&twins).unwrap_err().to_string(),
        "two columns are called \"x\""
    );
    let union = DataType::Union(
        arrow_schema::UnionFields::empty(),
        arrow_schema::UnionMode::Sparse,
    );
    let union = DataType::List(Arc::new(Field::new("item", union, true)));
    let error = Layout::new(&Schema::new(vec![Field::new("u", union, true)])).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }));
    assert!(
        error.to_string().starts_with("column \"u[]\": Union"),
        "{error}"
    );
}

#[test]
fn views_have_the_same_leaves() {
    for ty in flat_types().iter().flat_map(nested_types) {
        let schema = Schema::new(vec![Field::new("a", ty, true)]);
        let (plain, views) = (
            Layout::new(&schema).unwrap(),
            Layout::new(&with_string_views(&schema)).unwrap(),
        );
        assert_eq!(plain.fields, views.fields);
        let keys = |layout: &Layout| {
            layout
                .leaves()
                .iter()
                .map(|l| (l.path.to_string(), l.ty, l.kind))
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(&plain), keys(&views));
    }
}
