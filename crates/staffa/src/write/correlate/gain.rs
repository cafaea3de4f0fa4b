//! The gain of a derivation, estimated on samples of one block.

use std::ops::Range;

use super::column::{Column, GLANCES, SPREAD, View, most_of};
use super::{Derivation, TRIES, sum};
use crate::encode::{Chooser, Encoding};
use crate::encodings::difference::Difference;
use crate::encodings::grouped::Grouped;

/// Reference columns that are looked at closely, by which a column may be grouped.
const LOOKED_AT: usize = 8;
/// Pairs that are looked at in any case, each for some ten microseconds: all of 128 columns, of
/// more the nearest.
const PAIRS: usize = 1 << 14;
/// Bytes of a grouped block beyond its estimate: headers of its nodes, lists too short to pack well.
const HEADERS: f64 = 64.0;
/// Rows for which one more pair is looked at.
const ROWS_PER_PAIR: usize = 128;
/// Columns around each that are looked at, at least.
const NEAREST: usize = 16;

/// The derivations that seem to save more than the share `least_gain` of a column: the best few.
pub(super) fn best_derivations(
    leaf: usize,
    column: &Column,
    columns: &[Option<Column>],
    chooser: Chooser<'_>,
    least_gain: f64,
) -> Vec<Derivation> {
    let (differences, groups) = (chooser.offers(&Difference), chooser.offers(&Grouped));
    let near = nearest(leaf, column.len, columns.len());
    let others = columns.iter().enumerate().take(near.end).skip(near.start);
    let others = others.filter_map(|(other, view)| {
        let suits = |view: &&Column| (view.len, view.block_rows) == (column.len, column.block_rows);
        let view = view.as_ref().filter(suits)?;
        (other != leaf).then_some((other, view))
    });
    let groups_of = |view: &View| view.groups.as_ref().map_or(0, |groups| groups.distinct);
    let mut counts = vec![0; column.stream.as_ref().map_or(0, groups_of)];
    let groupers = match column.stream.as_ref().filter(|_| groups) {
        Some(view) => groupers(view, others.clone(), &mut counts),
        None => Vec::new(),
    };
    let above = column.stream.as_ref().map_or(1.0, View::above);
    let mut derivations = Vec::new();
    for (reference, other) in others.clone() {
        let (mut encoding, mut gain) = (None::<&'static dyn Encoding>, 0.0);
        if let (Some(view), Some(other)) = (&column.stream, &other.stream) {
            let now = view.bytes as f64;
            let mut consider = |bytes: Option<f64>, by: &'static dyn Encoding| {
                if let Some(saved) = bytes.map(|bytes| now - bytes).filter(|saved| *saved > gain) {
                    (encoding, gain) = (Some(by), saved);
                }
            };
            if differences {
                let bytes = difference_bytes(view, other, least_gain);
                consider(bytes.map(|bytes| bytes * above), &Difference);
            }
            if groupers.contains(&reference) {
                let bytes = grouped_bytes(ALL, view, other, &mut counts, now);
                consider(bytes, &Grouped);
            }
        }
        let of_validity = differences.then(|| validity_gain(column, other)).flatten();
        gain += of_validity.unwrap_or(0.0);
        if gain > column.bytes() as f64 * least_gain {
            derivations.push(Derivation {
                leaf,
                alone: column.bytes(),
                references: vec![(reference, 1)],
                encoding,
                numbers: false,
                validity: of_validity.is_some(),
                gain,
            });
        }
    }
    if differences {
        derivations.extend(sum::find(leaf, column, others));
    }
    derivations.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    derivations.truncate(2 * TRIES);
    derivations
}

impl View {
    /// Bits that the stream takes alone, per row of its block.
    pub(super) fn bits_per_row(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.len as f64
    }

    /// The stream's bytes as a multiple of its estimate; estimates of differences are corrected by it.
    fn above(&self) -> f64 {
        let now = self.bits_per_row();
        let mut words: Vec<i64> = self.words.iter().map(|word| *word as i64).collect();
        let is_skewed = most_of(&mut words).is_some_and(|(low, high)| low == high);
        // Rare words in runs take less.
        let least = if is_skewed { 0.25 } else { 1.0 };
        (now / bits_of_most(&mut words, now)).clamp(least, 4.0)
    }
}

/// The columns by which a column may be grouped, at a glance: the best few.
fn groupers<'c>(
    view: &View,
    others: impl Iterator<Item = (usize, &'c Column)>,
    counts: &mut [usize],
) -> Vec<usize> {
    let glance = |(leaf, other): (usize, &Column)| {
        let bytes = glance(view, other.stream.as_ref()?, counts)?;
        Some((bytes, leaf))
    };
    let mut glanced: Vec<(f64, usize)> = others.filter_map(glance).collect();
    glanced.sort_by(|a, b| a.0.total_cmp(&b.0));
    glanced.truncate(LOOKED_AT);
    glanced.into_iter().map(|(_, leaf)| leaf).collect()
}

/// The columns around one that are looked at.
fn nearest(leaf: usize, rows: usize, columns: usize) -> Range<usize> {
    let most = (PAIRS / columns.max(1))
        .max(rows / ROWS_PER_PAIR)
        .max(NEAREST);
    if most >= columns {
        return 0..columns;
    }
    leaf.saturating_sub(most / 2)..leaf.saturating_add(most / 2 + 1)
}

/// Bytes saved where only the rows in which two validities differ are stored.
fn validity_gain(column: &Column, other: &Column) -> Option<f64> {
    let ((valid, bytes), (others, _)) = (column.validity.as_ref()?, other.validity.as_ref()?);
    let saved = |differing: u32| *bytes as f64 - 8.0 - 2.5 * f64::from(differing);
    let mut differing = 0;
    for (valid, others) in valid.words().chunks(32).zip(others.words().chunks(32)) {
        let words = valid.iter().zip(others);
        differing += words.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        if saved(differing) <= 0.0 {
            return None;
        }
    }
    Some(saved(differing))
}

/// Bits of a number by the range in which most numbers are; where these are equal, by the exceptions, which
/// take `now` bits. The numbers are put into another order.
pub(super) fn bits_of_most(numbers: &mut [i64], now: f64) -> f64 {
    match most_of(numbers) {
        Some((low, high)) if low == high => {
            let others = numbers.iter().filter(|number| **number != low).count();
            bits_of_exceptions(others as f64 / numbers.len() as f64, now)
        }
        Some((low, high)) => f64::from(64 - (high.wrapping_sub(low) as u64).leading_zeros()),
        None => 0.0,
    }
}

/// Bits of a number where all but this share are equal, and the others take `now` bits.
pub(super) fn bits_of_exceptions(share: f64, now: f64) -> f64 {
    let entropy = |share: f64| {
        if share > 0.0 {
            -share * share.log2()
        } else {
            0.0
        }
    };
    entropy(share) + entropy(1.0 - share) + share * (now + 2.0)
}

/// Bytes that the differences would take, by the width of most of them; `None` where they hardly save the
/// share `least_gain`.
fn difference_bytes(view: &View, other: &View, least_gain: f64) -> Option<f64> {
    // Codes of two dictionaries have nothing in common unless the columns are equal.
    if view.ty != other.ty || view.codes != other.codes {
        return None;
    }
    let now = view.bits_per_row();
    let differences = |step: usize| {
        let pairs = view.words.iter().step_by(step);
        let pairs = pairs.zip(other.words.iter().step_by(step));
        pairs.map(|(a, b)| a.wrapping_sub(*b) as i64)
    };
    if width_at_a_glance(differences(SPREAD / 32)) > now * (1.0 - least_gain) + 1.0 {
        return None;
    }
    let mut differences: Vec<i64> = differences(1).collect();
    let is_equal = |(low, high)| low == high;
    if view.codes && !most_of(&mut differences).is_some_and(is_equal) {
        return None;
    }
    Some(view.len as f64 * bits_of_most(&mut differences, now) / 8.0)
}

/// Bits of the range of a few numbers without the least and the greatest.
fn width_at_a_glance(numbers: impl Iterator<Item = i64>) -> f64 {
    let (mut least, mut second) = (i64::MAX, i64::MAX);
    let (mut most, mut last_but_one) = (i64::MIN, i64::MIN);
    for number in numbers {
        second = second.min(least.max(number));
        least = least.min(number);
        last_but_one = last_but_one.max(most.min(number));
        most = most.max(number);
    }
    let range = last_but_one.wrapping_sub(second) as u64;
    f64::from(64 - range.leading_zeros())
}

/// [`grouped_bytes`] by few rows, which rules most pairs out: few rows flatter a pair.
fn glance(view: &View, other: &View, counts: &mut [usize]) -> Option<f64> {
    let most = view.bytes as f64;
    grouped_bytes(0, view, other, counts, most * 1.1)?;
    grouped_bytes(1, view, other, counts, most)
}

/// The glance at all sampled rows.
const ALL: usize = GLANCES.len() - 1;

/// Bytes that ranks and entries would take, by the sampled rows of a glance; `None` where
/// that is `most` or more. `counts` has a 0 for every distinct word.
fn grouped_bytes(
    glance: usize,
    view: &View,
    other: &View,
    counts: &mut [usize],
    most: f64,
) -> Option<f64> {
    let (groups, others) = (view.groups.as_ref()?, other.groups.as_ref()?);
    let rows = others.rows.get(..*GLANCES.get(glance)?);
    let rows = rows.unwrap_or(&others.rows);
    let together = others.together.get(..rows.len())?;
    let same = *others.same.get(glance)?;
    if same * 8 < rows.len() {
        return None;
    }
    let id = |row: &u16| groups.ids.get(usize::from(*row)).copied();
    let ids: Vec<u16> = rows.iter().map(id).collect::<Option<_>>()?;
    let pairs = ids.array_windows().zip(together.iter().skip(1));
    let equal = pairs.filter(|([a, b], together)| **together && a == b);
    if (equal.count() as f64) < least_equal(same as f64, groups.collision) {
        return None;
    }
    let scale = view.len as f64 / rows.len() as f64;
    let codes = view.codes && other.codes;
    // An entry that is not a code hardly takes less than a row alone, though entries of one group may be in order.
    let code_bits = (groups.distinct as f64).log2();
    let entry_bits = if codes {
        code_bits
    } else {
        code_bits.max(view.bits_per_row())
    };
    // Lower bound per entry: stop counting once the entries alone exceed `most`.
    let least_bits = if codes { 1.0 } else { entry_bits };
    let most_entries = (most * 8.0 / least_bits / scale) as usize;
    let (entries, ranks) = count_groups(&ids, together, counts, most_entries)?;
    let sampled = rows.len() as f64;
    let shares = ranks
        .iter()
        .filter(|rows| **rows > 0)
        .map(|rows| *rows as f64 / sampled);
    let entropy: f64 = shares.map(|share| -share * share.log2()).sum();
    let entries = entries as f64 * scale;
    let one_to_one = codes && entries < 1.05 * groups.distinct as f64;
    let entry_bits = if one_to_one { 1.0 } else { entry_bits };
    let starts = if entries > others.distinct as f64 * 1.001 {
        others.distinct as f64 * 2.0
    } else {
        0.0
    };
    // Ranks of rare words, as of flags, come as near to their entropy as the words do alone.
    let rows = view.len as f64;
    let above = if groups.entropy < 1.0 {
        (view.bits_per_row() / groups.entropy).clamp(1.1, 4.0)
    } else {
        1.1
    };
    let bytes = (rows * entropy * above + entries * entry_bits + starts) / 8.0 + HEADERS;
    (bytes < most).then_some(bytes)
}

/// Of `same` pairs of rows with the same word of the reference column, those that have the same word of
/// a column that it groups, at least: more than of any two rows, but for what chance makes of few.
fn least_equal(same: f64, collision: f64) -> f64 {
    let chance = (collision * (1.0 - collision) * same).sqrt();
    let more = same * (collision + 0.15 * (1.0 - collision));
    (more - chance).max(same / 6.0)
}

/// Distinct words of all groups, and the rows that have the most frequent word of their group, the
/// next, and so on; `None` beyond `most_entries`.
fn count_groups(
    ids: &[u16],
    together: &[bool],
    counts: &mut [usize],
    most_entries: usize,
) -> Option<(usize, Vec<usize>)> {
    let (mut entries, mut ranks) = (0, vec![0usize]);
    let mut sizes: Vec<usize> = Vec::new();
    let mut start = 0;
    while let Some(first) = ids.get(start) {
        let more = together
            .get(start + 1..)?
            .iter()
            .take_while(|together| **together)
            .count();
        let group = ids.get(start..=start + more)?;
        start += group.len();
        if entries > most_entries {
            return None;
        }
        if group.iter().all(|id| id == first) {
            entries += 1;
            *ranks.first_mut()? += group.len();
            continue;
        }
        for id in group {
            *counts.get_mut(*id as usize)? += 1;
        }
        sizes.clear();
        for id in group {
            let count = std::mem::take(counts.get_mut(*id as usize)?);
            sizes.extend((count > 0).then_some(count));
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        entries += sizes.len();
        ranks.resize(ranks.len().max(sizes.len()), 0);
        for (rank, count) in ranks.iter_mut().zip(&sizes) {
            *rank += count;
        }
    }
    Some((entries, ranks))
}
