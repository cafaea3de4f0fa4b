//! Nested types of columns, for the tests of the library and those beside it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

pub fn field(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

pub fn dictionary_of(key: DataType, values: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(values))
}

pub fn runs_of(ends: DataType, values: DataType) -> DataType {
    DataType::RunEndEncoded(
        Arc::new(Field::new("run_ends", ends, false)),
        field("values", values),
    )
}

pub fn map_of(key: DataType, values: DataType, sorted: bool) -> DataType {
    let key = Arc::new(Field::new("keys", key, false));
    let pairs = struct_of(vec![key, field("values", values)]);
    DataType::Map(Arc::new(Field::new("entries", pairs, false)), sorted)
}

fn struct_of(fields: Vec<FieldRef>) -> DataType {
    DataType::Struct(fields.into())
}

/// Every way of nesting `ty`.
pub fn nested_types(ty: &DataType) -> Vec<DataType> {
    let mut all = lists(ty);
    all.extend(dictionaries_and_runs(ty));
    all.extend(structs(ty));
    all
}

fn lists(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let item = || field("item", ty.clone());
    let fixed = || field("f", D::FixedSizeList(item(), 2));
    let list_and_null = struct_of(vec![field("l", D::List(item())), field("n", D::Null)]);
    let view = struct_of(vec![field("v", D::LargeListView(item()))]);
    let map = map_of(D::Utf8View, ty.clone(), false);
    vec![
        D::List(item()),
        D::LargeList(item()),
        D::ListView(item()),
        D::LargeListView(item()),
        D::FixedSizeList(item(), 3),
        D::FixedSizeList(item(), 0),
        map_of(D::Utf8, ty.clone(), false),
        map_of(D::Int64, ty.clone(), true),
        D::List(field("s", list_and_null)),
        D::ListView(field("s", view)),
        D::ListView(field("s", three(ty))),
        D::ListView(field("d", dictionary_of(D::Int16, ty.clone()))),
        D::LargeListView(field("r", runs_of(D::Int32, ty.clone()))),
        D::ListView(fixed()),
        D::ListView(field("m", map)),
        D::FixedSizeList(field("d", dictionary_of(D::Int8, ty.clone())), 2),
        D::FixedSizeList(fixed(), 2),
    ]
}

fn dictionaries_and_runs(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let ends = Arc::new(Field::new("ends", D::Int16, false));
    vec![
        dictionary_of(D::Int16, ty.clone()),
        dictionary_of(D::UInt8, D::List(field("item", ty.clone()))),
        dictionary_of(D::Int8, dictionary_of(D::UInt64, ty.clone())),
        runs_of(D::Int32, ty.clone()),
        runs_of(D::Int64, three(ty)),
        D::RunEndEncoded(ends, field("named", ty.clone())),
    ]
}

fn structs(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let parts = struct_of(vec![
        field("d", dictionary_of(D::Int16, ty.clone())),
        field("r", runs_of(D::Int32, ty.clone())),
        field("e", struct_of(vec![])),
    ]);
    vec![three(ty), parts]
}

/// A struct that has two fields of one name.
fn three(ty: &DataType) -> DataType {
    struct_of(vec![
        field("a", ty.clone()),
        field("b", DataType::Int32),
        field("a", DataType::Utf8),
    ])
}
