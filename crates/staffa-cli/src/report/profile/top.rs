//! The most frequent values.

use std::collections::HashMap;
use std::hash::Hash;

use arrow_array::ArrayRef;

use crate::print::cells;

/// Values listed.
const LISTED: usize = 10;
/// Characters of a value that is looked at.
const WIDTH: usize = 120;

/// The most frequent values and their numbers.
#[derive(Debug, Default, PartialEq)]
pub(in crate::report) struct Top {
    /// The most frequent first; equally frequent ones in order.
    pub(in crate::report) values: Vec<(String, u64)>,
    /// Values that are not among these, and how many different ones.
    pub(in crate::report) others: u64,
    pub(in crate::report) different_others: u64,
}

impl Top {
    pub(super) fn of<T: Hash + Ord + ToString>(values: impl Iterator<Item = T>) -> Self {
        let mut counts: HashMap<T, u64> = HashMap::new();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
        let order = |a: &(T, u64), b: &(T, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        // Of a million different values ten are sorted.
        if counts.len() > LISTED {
            counts.select_nth_unstable_by(LISTED - 1, order);
        }
        let others = counts.split_off(LISTED.min(counts.len()));
        counts.sort_by(order);
        let values = counts.into_iter();
        Self {
            values: values
                .map(|(value, count)| (value.to_string(), count))
                .collect(),
            others: others.iter().map(|(_, count)| count).sum(),
            different_others: others.len() as u64,
        }
    }

    /// By the texts of the values.
    pub(super) fn of_array(array: &ArrayRef) -> Self {
        // What cannot be printed is not listed.
        let texts = cells(array, WIDTH).unwrap_or_default();
        Self::of(texts.into_iter().flatten())
    }

    /// Values of all of which most differ say little.
    pub(super) fn is_telling(&self) -> bool {
        let listed: u64 = self.values.iter().map(|(_, count)| count).sum();
        self.others == 0 && listed > self.values.len() as u64 || listed * 20 >= self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_values_come_first() {
        let values = (0..100).map(|i| i % 12).chain([5, 5, 3]);
        let top = Top::of(values);
        // Equally frequent ones in order.
        assert_eq!(top.values[0], ("3".to_owned(), 10));
        assert_eq!(top.values[1], ("5".to_owned(), 10));
        assert_eq!((top.values.len(), top.different_others), (10, 2));
        let sum: u64 = top.values.iter().map(|(_, count)| count).sum();
        assert_eq!(sum + top.others, 103);
        assert!(top.is_telling());
        assert!(!Top::of(0..1000).is_telling());
    }
}
