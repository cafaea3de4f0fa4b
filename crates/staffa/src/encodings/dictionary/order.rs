//! Orders of a dictionary's codes: of first occurrence, of sorted strings, by frequency.

use std::cmp::Reverse;

use super::super::escape::Escape;
use super::super::front_coding::{self, FrontCoding};
use super::super::prelude::*;
use crate::encode::{Coded, Encoding as _, Sorted, rough_bytes};
use crate::values::Strings;

/// Fewer bytes of distinct strings are not sorted.
const SORTED_BYTES: usize = 512;

/// Codes by frequency must save a seventh: in the order of first occurrence, columns of one domain
/// have the same codes, and one is derived from the other.
const BY_FREQUENCY: usize = 7;

/// A rough size that is as much smaller needs no other estimate.
const SURELY: f64 = 0.85;

/// Codes in another order, and whether they are much smaller so.
type Reordered = (Coded, bool);

/// The strings sorted, where they and their codes are likely to be smaller so: sorted neighbours share
/// prefixes, but codes no longer follow one another as strings do.
fn sorted(strings: Strings<'_>, coded: &Coded) -> Option<Reordered> {
    let mean = strings.contents().len() / strings.len().max(1);
    if coded.firsts.len() * mean.max(1) < SORTED_BYTES {
        return None;
    }
    // The first bytes as a number, which most comparisons need alone.
    let head = |string: &[u8]| {
        let mut bytes = [0; 8];
        bytes
            .iter_mut()
            .zip(string)
            .for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(bytes)
    };
    let sorted = coded.sorted_by(|row| {
        let string = strings.get(row as usize);
        (head(string), string)
    });
    let (mut all, mut rest) = (0, 0);
    let mut before: &[u8] = &[];
    for row in &sorted.firsts {
        let string = strings.get(*row as usize);
        all += string.len();
        rest += string.len() - front_coding::shared(before, string);
        before = string;
    }
    // Text takes some 0.38 of its bytes, suffixes a little more, a prefix half a byte.
    let as_found = all as f64 * 0.38 + rough_bytes(Values::U32(&coded.codes)) as f64;
    let size = rest as f64 * 0.40
        + coded.firsts.len() as f64 * 0.45
        + rough_bytes(Values::U32(&sorted.codes)) as f64;
    (size < as_found * 0.97).then_some((sorted, size < as_found * SURELY))
}

/// About how many bytes codes and values take.
pub(super) fn size(
    values: Values<'_>,
    kind: Kind,
    coded: &Coded,
    chooser: &Chooser<'_>,
) -> Result<usize> {
    let codes = chooser.estimate_child(Values::U32(&coded.codes), Kind::Unsigned)?;
    Ok(codes + chooser.estimate_taken(values, &coded.firsts, kind)?)
}

/// As [`size`], of codes in the order of first occurrence: estimated once.
pub(super) fn size_as_found(
    values: Values<'_>,
    stats: &Stats<'_>,
    coded: &Coded,
    chooser: &Chooser<'_>,
) -> Result<usize> {
    if let Some(bytes) = stats.dictionary_bytes.get() {
        return Ok(*bytes);
    }
    let bytes = size(values, stats.kind(), coded, chooser)?;
    Ok(*stats.dictionary_bytes.get_or_init(|| bytes))
}

/// Codes in another order, where they and their values are smaller so, and about how many bytes they
/// take. Not in a trial; where another block of the chunk is an example, as there.
pub(super) fn reordered<'s>(
    values: Values<'_>,
    stats: &'s Stats<'_>,
    chooser: &Chooser<'_>,
) -> Result<Option<&'s Sorted>> {
    let Some(coded) = stats.dictionary() else {
        return Ok(None);
    };
    if chooser.is_trial() {
        return Ok(None);
    }
    if stats.sorted.get().is_none() {
        let hint = chooser.hinted(0).zip(chooser.hinted(1));
        let other = match values {
            Values::Bytes(strings)
                if chooser.offers(&FrontCoding)
                    && hint.is_none_or(|(_, values)| values == FrontCoding.info().id) =>
            {
                sorted(strings, coded)
            }
            _ => None,
        };
        let must_encode = hint.is_some_and(|(codes, _)| codes == Escape.info().id);
        let other = match other {
            None if chooser.offers(&Escape) => by_frequency(coded, must_encode),
            other => other,
        };
        let found = match other {
            Some((other, sure)) if sure || hint.is_some() => Some((other, None)),
            Some((other, _)) => {
                let bytes = size(values, stats.kind(), &other, chooser)?;
                (bytes < size_as_found(values, stats, coded, chooser)?)
                    .then_some((other, Some(bytes)))
            }
            None => None,
        };
        let _ = stats.sorted.set(found);
    }
    Ok(stats.sorted.get().and_then(Option::as_ref))
}

/// Codes by frequency, where a few values are most of the rows: these have narrow codes, and the
/// others are exceptions (PDICT).
fn by_frequency(coded: &Coded, must_encode: bool) -> Option<Reordered> {
    let distinct = coded.firsts.len();
    if distinct < 16 || distinct > coded.codes.len() / 3 {
        return None;
    }
    let counts = coded.counts();
    let mut sure = must_encode;
    if !must_encode {
        let mut sorted = counts.clone();
        sorted.sort_unstable_by_key(|count| Reverse(*count));
        let rows = coded.codes.len();
        let full = (usize::BITS - (distinct - 1).leading_zeros()) as usize;
        let each = full.min(16 + 8 * full.div_ceil(8));
        // Rows of the most frequent values that codes of `width` bits hold.
        let held = |width: usize| sorted.iter().take((1 << width) - 1).sum::<u32>() as usize;
        let bits = |width| rows * width + (rows - held(width)) * each;
        let bits = (1..full).map(bits).fold(rows * full, usize::min);
        let as_found = rough_bytes(Values::U32(&coded.codes));
        if (bits + bits / BY_FREQUENCY) / 8 > as_found {
            return None;
        }
        sure = ((bits + bits / BY_FREQUENCY) / 8) as f64 <= as_found as f64 * SURELY;
    }
    let count = |row: u32| counts.get(*coded.codes.get(row as usize)? as usize);
    Some((coded.sorted_by(|row| Reverse(count(row))), sure))
}
