//! Values of a block for aggregates, straight from its encodings.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use arrow_schema::DataType;

use super::number::{Number, kind_of};
use super::partial::PartialAggregate;
use crate::arrow::Leaf;
use crate::decode::{Aggregator, Block, Needs, Scratch, StringAggregator, for_decoder};
use crate::error::Result;
use crate::values::{Bitmap, Kind, PhysicalType};

/// Whether the blocks of a leaf hold values of this type, without a cast.
pub(super) fn feeds(ty: &DataType, leaf: &Leaf) -> bool {
    match leaf.ty {
        Some(PhysicalType::Bits) => *ty == DataType::Boolean,
        Some(PhysicalType::Bytes) => ty.is_string() || ty.is_binary() && leaf.width == 0,
        Some(word) => word.width_bytes() == ty.primitive_width() && kind_of(ty) == Some(leaf.kind),
        None => false,
    }
}

/// Aggregates of one column that need values.
struct Feed<'p, 'q> {
    partials: &'q mut [&'p mut PartialAggregate],
    kind: Kind,
}

impl<T: Number> Aggregator<T> for Feed<'_, '_> {
    fn needs(&self) -> Needs {
        let mut needs = self
            .partials
            .iter()
            .filter_map(|partial| partial.needs(self.kind, T::BYTES > 16));
        let first = needs.next().unwrap_or(Needs::AnyOrder);
        needs.fold(first, |all, needs| match (all, needs) {
            (Needs::InOrder, _) | (_, Needs::InOrder) => Needs::InOrder,
            (all, needs) if all == needs => all,
            _ => Needs::AnyOrder,
        })
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        self.partials
            .iter_mut()
            .try_for_each(|partial| partial.numbers(values, None, self.kind))
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        self.partials
            .iter_mut()
            .try_for_each(|partial| partial.numbers(values, Some(counts), self.kind))
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        self.partials
            .iter_mut()
            .for_each(|partial| partial.sum(sum));
        Ok(())
    }
}

impl StringAggregator for Feed<'_, '_> {
    fn in_order(&self) -> bool {
        self.partials
            .iter()
            .any(|partial| partial.needs(self.kind, false) == Some(Needs::InOrder))
    }

    fn string(&mut self, string: &[u8], _: u32) -> Result<()> {
        self.partials
            .iter_mut()
            .try_for_each(|partial| partial.string(string))
    }
}

/// Feeds aggregates with some rows of a block, or with all.
pub(super) fn feed(
    partials: &mut [&mut PartialAggregate],
    block: &Block<'_>,
    kind: Kind,
    rows: Option<&Bitmap>,
) -> Result<()> {
    let all = rows.map_or(block.len, Bitmap::count_ones);
    let wanted = block.values_of(rows);
    let present = match (&block.values, &wanted) {
        (None, _) => 0,
        (Some(_), Some(wanted)) => wanted.count_ones(),
        (Some(_), None) => block.validity.as_ref().map_or(all, Bitmap::count_ones),
    };
    partials
        .iter_mut()
        .for_each(|partial| partial.count(all as u64, all.saturating_sub(present) as u64));
    let needed = partials
        .iter()
        .any(|partial| partial.needs(kind, false).is_some());
    let (Some(values), true) = (&block.values, needed && present > 0) else {
        return Ok(());
    };
    let rows = wanted.as_deref().filter(|wanted| present < wanted.len());
    let (mut into, mut cx) = (Feed { partials, kind }, Scratch::default());
    for_decoder!(values,
        words(decoder) => decoder.aggregate(rows, &mut into, &mut cx),
        bits(decoder) => {
            let bits = decoder.bits()?;
            let bits = rows.map_or(Cow::Borrowed(&bits), |rows| Cow::Owned(bits.gathered(rows)));
            let mut partials = into.partials.iter_mut();
            partials.try_for_each(|partial| (0..bits.len()).try_for_each(|i| partial.bit(bits.get(i))))
        },
        bytes(decoder) => decoder.aggregate(rows, block.string_bytes, &mut into, &mut cx),
    )
}
