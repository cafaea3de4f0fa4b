//! What aggregates are told of a block: by its encodings, without arrays.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use arrow_schema::DataType;

use super::number::{Number, kind_of};
use super::partial::Part;
use crate::arrow::Leaf;
use crate::decode::{Aggregator, AnyDecoder, Block, Decoder, Needs, Scratch, StringAggregator};
use crate::error::Result;
use crate::values::{Bitmap, Kind, PhysicalType};

/// Whether values of this type are what the blocks of a leaf hold.
pub(super) fn feeds(ty: &DataType, leaf: &Leaf) -> bool {
    match leaf.ty {
        Some(PhysicalType::Bits) => *ty == DataType::Boolean,
        Some(PhysicalType::Bytes) => ty.is_string() || ty.is_binary() && leaf.width == 0,
        Some(word) => word.width_bytes() == ty.primitive_width() && kind_of(ty) == Some(leaf.kind),
        None => false,
    }
}

/// Aggregates that ask for values of one column.
struct Feed<'p, 'q> {
    parts: &'q mut [&'p mut Part],
    kind: Kind,
}

impl<T: Number> Aggregator<T> for Feed<'_, '_> {
    fn needs(&self) -> Needs {
        let mut needs = self
            .parts
            .iter()
            .filter_map(|part| part.needs(self.kind, T::BYTES > 16));
        let first = needs.next().unwrap_or(Needs::AnyOrder);
        needs.fold(first, |all, needs| match (all, needs) {
            (Needs::InOrder, _) | (_, Needs::InOrder) => Needs::InOrder,
            (all, needs) if all == needs => all,
            _ => Needs::AnyOrder,
        })
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        self.parts
            .iter_mut()
            .try_for_each(|part| part.numbers(values, None, self.kind))
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        self.parts
            .iter_mut()
            .try_for_each(|part| part.numbers(values, Some(counts), self.kind))
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        self.parts.iter_mut().for_each(|part| part.sum(sum));
        Ok(())
    }
}

impl StringAggregator for Feed<'_, '_> {
    fn in_order(&self) -> bool {
        self.parts
            .iter()
            .any(|part| part.needs(self.kind, false) == Some(Needs::InOrder))
    }

    fn string(&mut self, string: &[u8], _: u32) -> Result<()> {
        self.parts
            .iter_mut()
            .try_for_each(|part| part.string(string))
    }
}

/// Tells aggregates of some rows of a block, or of all.
pub(super) fn feed(
    parts: &mut [&mut Part],
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
    parts
        .iter_mut()
        .for_each(|part| part.count(all as u64, all.saturating_sub(present) as u64));
    let asking = parts.iter().any(|part| part.needs(kind, false).is_some());
    let (Some(values), true) = (&block.values, asking && present > 0) else {
        return Ok(());
    };
    let rows = wanted.as_deref().filter(|wanted| present < wanted.len());
    let (mut into, mut cx) = (Feed { parts, kind }, Scratch::default());
    match values {
        AnyDecoder::Bits(decoder) => {
            let bits = decoder.bits()?;
            let bits = rows.map_or(Cow::Borrowed(&bits), |rows| Cow::Owned(bits.gathered(rows)));
            (0..bits.len())
                .for_each(|i| into.parts.iter_mut().for_each(|part| part.bit(bits.get(i))));
            Ok(())
        }
        AnyDecoder::Bytes(decoder) => {
            decoder.aggregate(rows, block.string_bytes, &mut into, &mut cx)
        }
        AnyDecoder::U8(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
        AnyDecoder::U16(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
        AnyDecoder::U32(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
        AnyDecoder::U64(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
        AnyDecoder::U128(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
        AnyDecoder::U256(decoder) => words(decoder.as_ref(), rows, &mut into, &mut cx),
    }
}

fn words<T: Number>(
    decoder: &dyn Decoder<T>,
    rows: Option<&Bitmap>,
    into: &mut Feed<'_, '_>,
    cx: &mut Scratch,
) -> Result<()> {
    decoder.aggregate(rows, into, cx)
}
