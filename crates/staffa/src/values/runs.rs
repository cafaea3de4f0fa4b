//! Runs: rows on which a value differs from the one before.

use super::{Bitmap, Physical, Values, for_words, rows_where};

/// End of every run.
pub(crate) fn run_ends(values: Values<'_>) -> Vec<u32> {
    let len = values.len() as u32;
    let mut ends = match values {
        Values::Bits(bits) => changes(bits),
        Values::Bytes(strings) => (1..len)
            .filter(|&i| strings.get(i as usize) != strings.get(i as usize - 1))
            .collect(),
        words => for_words!(words.physical_type(), T => {
            let words = T::slice(words).unwrap_or_default();
            let mut ends = rows_where(words.array_windows().map(|[a, b]| a != b));
            ends.iter_mut().for_each(|row| *row += 1);
            ends
        }, _ => Vec::new()),
    };
    if len > 0 {
        ends.push(len);
    }
    ends
}

/// Rows whose bit is not that of the row before.
fn changes(bits: &Bitmap) -> Vec<u32> {
    let mut rows = Vec::new();
    let mut before = u64::from(bits.get(0));
    for (start, word) in (0u32..).step_by(64).zip(bits.words()) {
        let mut changed = word ^ (word << 1 | before);
        before = word >> 63;
        while changed != 0 {
            rows.push(start + changed.trailing_zeros());
            changed &= changed - 1;
        }
    }
    while rows.pop_if(|row| *row as usize >= bits.len()).is_some() {}
    rows
}
