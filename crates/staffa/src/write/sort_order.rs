//! The declared order of rows, checked as they are written, and again where a file is verified.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{DataType, Schema, SortOptions};

use crate::arrow::{Layout, unknown_column};
use crate::error::{Error, Result};
use crate::format::SortKey;
use crate::values::Kind;

/// Checks that batches come in a declared order.
#[derive(Debug, Default)]
pub(crate) struct SortCheck {
    keys: Vec<SortKey>,
    /// The key columns of the last row so far.
    last: Option<Vec<ArrayRef>>,
    /// Rows so far.
    rows: u64,
}

impl SortCheck {
    /// The check of these keys; refuses columns that are not there, come twice, or have no order.
    pub(crate) fn new(keys: &[SortKey], schema: &Schema, layout: &Layout) -> Result<Self> {
        for (i, key) in keys.iter().enumerate() {
            let name = &key.column;
            let refused = |what: &str| {
                let what = format!("sort order: column {name:?} {what}");
                Err(Error::invalid(what))
            };
            let Some((column, _)) = schema.column_with_name(name) else {
                return Err(unknown_column(name, schema));
            };
            if keys.iter().take(i).any(|other| other.column == *name) {
                return refused("is named twice");
            }
            let mut leaves = layout.leaves_of(column);
            let leaf = leaves.next().and_then(|leaf| layout.leaves().get(leaf));
            if !leaf.is_some_and(|leaf| leaf.flat && leaf.kind != Kind::Opaque) {
                return refused("must have numbers, booleans, times, strings or binaries");
            }
        }
        Ok(Self {
            keys: keys.to_vec(),
            ..Self::default()
        })
    }

    /// Checks the next rows; an error names the first that is out of order.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.keys.is_empty() || batch.num_rows() == 0 {
            return Ok(());
        }
        let column = |key: &SortKey| {
            let column = batch.column_by_name(&key.column);
            let column = column.ok_or_else(|| unknown_column(&key.column, batch.schema_ref()))?;
            Ok(normalized(column))
        };
        let columns: Vec<ArrayRef> = self.keys.iter().map(column).collect::<Result<_>>()?;
        if let Some(last) = &self.last {
            let compare = self.comparators(last, &columns)?;
            self.check(&compare, (last, 0), (&columns, 0), self.rows)?;
        }
        let compare = self.comparators(&columns, &columns)?;
        for row in 1..batch.num_rows() {
            let place = self.rows + row as u64;
            self.check(&compare, (&columns, row - 1), (&columns, row), place)?;
        }
        let last = columns.iter().map(|c| c.slice(batch.num_rows() - 1, 1));
        self.last = Some(last.collect());
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn comparators(&self, left: &[ArrayRef], right: &[ArrayRef]) -> Result<Vec<DynComparator>> {
        let of = |((key, left), right): ((&SortKey, &ArrayRef), &ArrayRef)| {
            let options = SortOptions {
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            Ok(make_comparator(left, right, options)?)
        };
        self.keys.iter().zip(left).zip(right).map(of).collect()
    }

    /// Checks a row of `right`, the table's row `row`, against the one of `left` before it.
    fn check(
        &self,
        compare: &[DynComparator],
        (left, before): (&[ArrayRef], usize),
        (right, after): (&[ArrayRef], usize),
        row: u64,
    ) -> Result<()> {
        let order = |compare: &DynComparator| compare(before, after);
        let mut orders = compare.iter().map(order).enumerate();
        let Some((at, Ordering::Greater)) = orders.find(|(_, order)| order.is_ne()) else {
            return Ok(());
        };
        let shown = |columns: &[ArrayRef], row: usize| {
            let options = FormatOptions::default().with_null("NULL");
            let column = columns.get(at)?;
            let formatter = ArrayFormatter::try_new(column.as_ref(), &options).ok()?;
            formatter.value(row).try_to_string().ok()
        };
        let key = self.keys.get(at).map(ToString::to_string);
        Err(Error::InvalidValue(format!(
            "row {row} is out of the declared order: {:?} expected, found {} after {}",
            key.unwrap_or_default(),
            shown(right, after).unwrap_or_default(),
            shown(left, before).unwrap_or_default(),
        )))
    }
}

/// Floats of which -0.0 and 0.0, and all NaNs, are one value, as the order of the file has them; other
/// arrays as they are.
fn normalized(array: &ArrayRef) -> ArrayRef {
    macro_rules! floats {
        ($ty:ty) => {
            std::sync::Arc::new(array.as_primitive::<$ty>().unary::<_, $ty>(|value| {
                // -0.0 + 0.0 is 0.0.
                let zero = <$ty as arrow_array::ArrowPrimitiveType>::Native::default();
                if value.is_nan() {
                    <$ty as arrow_array::ArrowPrimitiveType>::Native::NAN
                } else {
                    value + zero
                }
            }))
        };
    }
    match array.data_type() {
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        _ => array.clone(),
    }
}
