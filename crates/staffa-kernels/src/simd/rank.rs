//! Rank and select (Jacobson, 1989) of many bits in one pass over the words.
//!
//!   rank    how many bits are set before one
//!   select  where the set bit of a rank is

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::_pdep_u64;

use super::dispatch::dispatch;

dispatch! {
    /// The number of set bits.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::count_set(&[0b1011, 1]), 4);
    /// ```
    pub fn count_set(words: &[u64]) -> usize = count_body;
}

dispatch! {
    /// The rank of each of these rows whose bit is set; rows ascend.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::ranks_of_set(&[0b1011], &[1, 2, 3]), [1, 2]);
    /// ```
    pub fn ranks_of_set(words: &[u64], rows: &[u32]) -> Vec<u32> = ranks_body;
}

dispatch! {
    /// Writes the position of the set bit of each rank to `out`; ranks ascend. `false` where a rank
    /// is not below the number of set bits, or there are not as many places as ranks.
    ///
    /// ```
    /// let mut out = [0; 2];
    /// assert!(staffa_kernels::select_ranks(&[0b1011, 1], &[1, 3], &mut out));
    /// assert_eq!(out, [1, 64]);
    /// ```
    pub fn select_ranks<>(words: &[u64], ranks: &[u32], out: &mut [u32]) -> bool
        = select_scalar, avx2: select_bmi, avx512: select_bmi;
}

#[inline(always)]
fn count_body(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// From one row for this many words on, the words before the last row are counted beforehand.
const WORDS_PER_ROW: usize = 16;

#[inline(always)]
fn ranks_body(words: &[u64], rows: &[u32]) -> Vec<u32> {
    let end = rows.last().map_or(0, |row| *row as usize / 64 + 1);
    let words = words.get(..end).unwrap_or(words);
    if rows.len() * WORDS_PER_ROW < words.len() {
        // Set bits before word `at`.
        let (mut before, mut at) = (0, 0);
        return compact(words, rows, |own| {
            let passed = words.get(at..own).unwrap_or_default();
            before += passed.iter().map(|word| word.count_ones()).sum::<u32>();
            at = own;
            before
        });
    }
    // A loop over the words between two rows mispredicts its end at most rows.
    let mut sum = 0;
    let sums = words.iter().map(|word| {
        let before = sum;
        sum += word.count_ones();
        before
    });
    let sums: Vec<u32> = sums.collect();
    compact(words, rows, |own| sums.get(own).copied().unwrap_or(0))
}

/// The ranks of the rows whose bit is set; `before` gives the set bits before a word.
#[inline(always)]
fn compact(words: &[u64], rows: &[u32], mut before: impl FnMut(usize) -> u32) -> Vec<u32> {
    let (mut ranks, mut count) = (vec![0; rows.len()], 0);
    for &row in rows {
        let own = row as usize / 64;
        let word = words.get(own).copied().unwrap_or(0);
        // Branch-free compaction: write always, advance only for set bits.
        ranks[count] = before(own) + (word & ((1 << (row % 64)) - 1)).count_ones();
        count += (word >> (row % 64) & 1) as usize;
    }
    ranks.truncate(count);
    ranks
}

#[inline(always)]
fn select_with(
    words: &[u64],
    ranks: &[u32],
    out: &mut [u32],
    in_word: impl Fn(u64, u32) -> u32,
) -> bool {
    // Set bits before word `at`.
    let (mut before, mut at) = (0, 0);
    for (&rank, place) in ranks.iter().zip(&mut *out) {
        let word = loop {
            let Some(&word) = words.get(at) else {
                return false;
            };
            if rank < before + word.count_ones() {
                break word;
            }
            before += word.count_ones();
            at += 1;
        };
        let Some(skipped) = rank.checked_sub(before) else {
            return false;
        };
        *place = at as u32 * 64 + in_word(word, skipped);
    }
    ranks.len() == out.len()
}

#[inline(always)]
fn select_scalar(words: &[u64], ranks: &[u32], out: &mut [u32]) -> bool {
    select_with(words, ranks, out, |mut word, skipped| {
        for _ in 0..skipped {
            word &= word.wrapping_sub(1);
        }
        word.trailing_zeros()
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline]
fn select_bmi(words: &[u64], ranks: &[u32], out: &mut [u32]) -> bool {
    select_with(words, ranks, out, |word, skipped| {
        _pdep_u64(1 << (skipped % 64), word).trailing_zeros()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agree_with_single_bits() {
        on_every_level(|| {
            let mut rng = Rng(0x5e1e);
            for round in 0..300 {
                let word = |rng: &mut Rng| match rng.below(4) {
                    0 => 0,
                    1 => u64::MAX,
                    2 => rng.next() & rng.next() & rng.next(),
                    _ => rng.next(),
                };
                // Now and then so many that few of their rows are asked for.
                let count = if round % 10 == 0 { 400 } else { round % 20 };
                let words: Vec<u64> = (0..count).map(|_| word(&mut rng)).collect();
                let len = words.len() as u32 * 64;
                let is_set = |row: u32| words[row as usize / 64] >> (row % 64) & 1 == 1;
                let ones: Vec<u32> = (0..len).filter(|row| is_set(*row)).collect();
                assert_eq!(count_set(&words), ones.len());

                let step = 1 + rng.below(if count < 20 { 100 } else { 5000 });
                let rows: Vec<u32> = (0..len).step_by(step).collect();
                let expected = (0..).zip(&ones).filter(|(_, row)| rows.contains(row));
                let expected: Vec<u32> = expected.map(|(rank, _)| rank).collect();
                assert_eq!(ranks_of_set(&words, &rows), expected);
                assert!(ranks_of_set(&words, &[len]).is_empty());

                let ranks: Vec<u32> = (0..ones.len() as u32).step_by(step).collect();
                let expected: Vec<u32> = ranks.iter().map(|rank| ones[*rank as usize]).collect();
                let mut out = vec![0; ranks.len()];
                assert!(select_ranks(&words, &ranks, &mut out));
                assert_eq!(out, expected);
                assert!(!select_ranks(&words, &[ones.len() as u32], &mut [0]));
                assert!(!select_ranks(&words, &[], &mut [0]));
            }
        });
    }
}
