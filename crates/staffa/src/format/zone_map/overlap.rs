//! Whether bounds of strings are worth their place in a column index.

use super::{Bounds, ZoneMap};

/// The bounds of fewer blocks are small whatever they say: 36 bytes each.
const FEW: usize = 128;

/// Whether the bounds of strings overlap so much that a search for one value would have to look into
/// more than a quarter of the blocks: so do those of text in no order.
///
/// The smallest value of each block is searched for.
pub(crate) fn bounds_overlap<'z>(zones: impl Iterator<Item = &'z ZoneMap>) -> bool {
    let bounds = zones.filter_map(|zone| match &zone.bounds {
        Bounds::Bytes(min, max) => Some((min.as_slice(), max.as_slice())),
        _ => None,
    });
    let (mut least, mut most): (Vec<&[u8]>, Vec<&[u8]>) = bounds.unzip();
    let blocks = least.len();
    least.sort_unstable();
    most.sort_unstable();
    let found = least.iter().map(|value| {
        let begun = least.partition_point(|min| min <= value);
        begun - most.partition_point(|max| max < value).min(begun)
    });
    blocks >= FEW && found.sum::<usize>() > blocks * blocks / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(bounds: impl Iterator<Item = (u32, u32)>) -> bool {
        let zone = |(min, max): (u32, u32)| ZoneMap {
            nulls: 0,
            bounds: Bounds::Bytes(min.to_be_bytes().to_vec(), max.to_be_bytes().to_vec()),
        };
        let zones: Vec<ZoneMap> = bounds.map(zone).collect();
        bounds_overlap(zones.iter())
    }

    #[test]
    fn text_in_no_order_overlaps() {
        let hash = |i: u32| i.wrapping_mul(0x9e37_79b9);
        let pair = |i: u32| {
            let (a, b) = (hash(2 * i), hash(2 * i + 1));
            (a.min(b), a.max(b))
        };
        assert!(overlap((0..500).map(pair)));
        assert!(overlap((0..500).map(|i| (i % 7, u32::MAX))));
        assert!(!overlap((0..100).map(|i| (i % 7, u32::MAX))), "few blocks");
        assert!(
            !overlap((0..500).map(|i| (hash(i), hash(i)))),
            "one value each"
        );
        assert!(!overlap((0..500).map(|i| (i, i + 1))), "in order");
        let locally = |i: u32| {
            (
                i / 20 * 1000 + hash(i) % 500,
                i / 20 * 1000 + 500 + hash(i) % 500,
            )
        };
        assert!(
            !overlap((0..500).map(locally)),
            "in order but for neighbours"
        );
        assert!(!bounds_overlap([].iter()));
    }
}
