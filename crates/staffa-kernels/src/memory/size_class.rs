//! Size classes of pooled buffers: 4, 5, 6 and 7 quarters of every power of two from 1 KiB on.
//!
//! A buffer is at most a quarter larger than what was asked for.

/// Smallest size with a class.
pub(crate) const SMALLEST: usize = 1 << 10;

/// The number of classes: four for every power of two from 1 KiB to 2^47.
pub(crate) const CLASSES: usize = 4 * 38;

/// The smallest class of at least `len` bytes.
pub(crate) fn class_of(len: usize) -> Option<usize> {
    // len <= quarters * unit, with quarters in 4..=8.
    let power = usize::BITS - 1 - len.max(SMALLEST).leading_zeros();
    let unit = 1 << (power - 2);
    let quarters = len.max(SMALLEST).div_ceil(unit);
    let class = 4 * (power - SMALLEST.trailing_zeros()) as usize + quarters - 4;
    (class < CLASSES).then_some(class)
}

/// The largest class of at most `len` bytes, or the smallest class where `len` has none.
pub(crate) fn class_within(len: usize) -> usize {
    class_of(len + 1).map_or(0, |above| above - 1)
}

/// The size of a class in bytes; from 64 KiB on a multiple of 16 KiB.
pub(crate) fn class_bytes(class: usize) -> usize {
    ((4 + class % 4) * (SMALLEST / 4)) << (class / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_sizes() {
        for class in 0..CLASSES - 1 {
            let bytes = class_bytes(class);
            assert_eq!(class_of(bytes), Some(class));
            assert_eq!(class_of(bytes + 1), Some(class + 1));
            assert_eq!(
                (class_within(bytes), class_within(bytes + 1)),
                (class, class)
            );
            assert!(class_bytes(class + 1) * 4 <= bytes * 5);
            let grain = if bytes < 64 << 10 { 64 } else { 16 << 10 };
            assert_eq!(bytes % grain, 0);
        }
        assert_eq!(class_bytes(0), SMALLEST);
        assert_eq!(class_of(usize::MAX), None);
    }
}
