//! What the planner learns of a file from its footer: rows, NULLs, bounds, distinct values, order.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use staffa::{File, LeafStatistics, Result};

use crate::types::{innermost, widens};

/// Statistics of a file for a table's schema. Rows and NULLs are exact. Bounds need not be tight,
/// and are told where the order of a type is that of its numbers.
pub(crate) fn statistics(file: &File, table: &Schema) -> Result<Statistics> {
    let rows = usize::try_from(file.num_rows()).unwrap_or(usize::MAX);
    let leaves = file.statistics()?;
    let flat: HashMap<&str, &LeafStatistics> = leaves
        .iter()
        .map(|leaf| (leaf.path.as_str(), leaf))
        .collect();
    let mut all = Statistics::new_unknown(table);
    all.num_rows = Precision::Exact(rows);
    let stored = file.schema().fields().iter();
    let stored: HashMap<&str, &FieldRef> =
        stored.map(|field| (field.name().as_str(), field)).collect();
    for (field, column) in table.fields().iter().zip(&mut all.column_statistics) {
        let Some(stored) = stored.get(field.name().as_str()) else {
            continue;
        };
        let suits =
            !stored.data_type().is_nested() && widens(stored.data_type(), field.data_type());
        if let Some(leaf) = flat.get(field.name().as_str()).filter(|_| suits) {
            *column = of_column(leaf, field.data_type(), rows);
        }
    }
    let bytes = leaves.iter().map(|leaf| leaf.decoded_bytes).sum();
    all.total_byte_size = inexact(bytes);
    Ok(all)
}

/// The same for pruning alone, which takes bounds only as exact: these need not be tight, but hold.
pub(crate) fn bounds(file: &File, table: &Schema) -> Result<Statistics> {
    let mut all = statistics(file, table)?;
    let hold = |bound: &Precision<ScalarValue>| {
        bound
            .get_value()
            .cloned()
            .map_or(Precision::Absent, Precision::Exact)
    };
    for column in &mut all.column_statistics {
        (column.min_value, column.max_value) = (hold(&column.min_value), hold(&column.max_value));
    }
    Ok(all)
}

fn of_column(leaf: &LeafStatistics, ty: &DataType, rows: usize) -> ColumnStatistics {
    let bound = |text: &Option<String>| {
        let ty = Some(innermost(ty)).filter(|ty| is_number_like(ty))?;
        ScalarValue::try_from_string(text.clone()?, ty).ok()
    };
    let inexact_bound = |text| bound(text).map_or(Precision::Absent, Precision::Inexact);
    ColumnStatistics {
        null_count: Precision::Exact(usize::try_from(leaf.nulls).unwrap_or(rows)),
        min_value: inexact_bound(&leaf.min),
        max_value: inexact_bound(&leaf.max),
        distinct_count: inexact(leaf.distinct),
        byte_size: inexact(leaf.decoded_bytes),
        ..ColumnStatistics::new_unknown()
    }
}

/// Types whose bounds as text are read back as they were. NaN lies outside the bounds of floats,
/// and the bounds of strings may be cut off.
fn is_number_like(ty: &DataType) -> bool {
    ty.is_integer()
        || ty.is_decimal()
        || matches!(
            ty,
            DataType::Boolean | DataType::Date32 | DataType::Timestamp(..)
        )
}

fn inexact(number: u64) -> Precision<usize> {
    usize::try_from(number).map_or(Precision::Absent, Precision::Inexact)
}

/// The order that the file declares, as far as the table has its columns. Floats end it: to Staffa
/// -0.0 and 0.0 are equal in a sort order, to Arrow they are not.
pub(crate) fn ordering(file: &File, table: &Schema) -> Result<Option<LexOrdering>> {
    let mut keys = Vec::new();
    for key in file.sort_order()? {
        let (Some((at, field)), Ok(stored)) = (
            table.column_with_name(&key.column),
            file.schema().field_with_name(&key.column),
        ) else {
            break;
        };
        let ty = field.data_type();
        if ty.is_floating() || !widens(stored.data_type(), ty) {
            break;
        }
        let options = SortOptions {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        let column = Arc::new(Column::new(field.name(), at));
        keys.push(PhysicalSortExpr::new(column, options));
    }
    Ok(LexOrdering::new(keys))
}
