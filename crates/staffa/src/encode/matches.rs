//! Matches: values that repeat earlier ones, found in one pass with a table of hashes (Lempel, Ziv
//! 1977; greedy with one step of lazy matching, as in DEFLATE). The symbols are whole values.

use staffa_kernels::{Int, bounds};

use crate::decode::Integer;
use crate::values::{Physical, Values, for_ints, run_ends};

/// Fewer values hold no match worth a node. More than a sample, which cannot show any.
const LEAST: usize = 1024;

/// The probe for matches: segments, places of a segment, of which one is kept in the table, and
/// values that must agree.
const SEGMENTS: usize = 32;
const STRIDE: usize = 32;
const AGREE: usize = 16;

/// Values among these that must differ from the one before: long runs always agree.
const CHANGES: usize = 3;

/// Bits of a match, roughly: with an offset of its own, or with that of the match before.
const COST: u32 = 28;
const COST_SAME: u32 = 16;

/// Older places looked at for one match, and the length that ends the search.
const STEPS: usize = 8;
const ENOUGH: usize = 64;

/// Values as matches with earlier ones, and the literals before each. The values after the last
/// match are literals.
#[derive(Debug, Clone, Default)]
pub struct Sequences {
    /// Values before the match that have no match.
    pub literals: Vec<u32>,
    /// Values that the match repeats.
    pub lengths: Vec<u32>,
    /// Distance back to the repeated values.
    pub offsets: Vec<u32>,
}

impl Sequences {
    /// The values without a match.
    pub(crate) fn literal_values<T: Copy>(&self, values: &[T]) -> Vec<T> {
        let mut out = Vec::new();
        let mut rest = values;
        for (&literals, &length) in self.literals.iter().zip(&self.lengths) {
            let head = rest.split_off(..literals as usize);
            let (Some(head), Some(_)) = (head, rest.split_off(..length as usize)) else {
                break;
            };
            out.extend_from_slice(head);
        }
        out.extend_from_slice(rest);
        out
    }

    fn push(&mut self, literals: usize, found: Match) {
        self.literals.push(literals as u32);
        self.lengths.push(found.length as u32);
        self.offsets.push(found.offset as u32);
    }
}

/// The matches of some values, of bits those of the lengths of their runs; `None` where a probe
/// finds few, or they would save less than an eighth.
pub(crate) fn of(values: Values<'_>) -> Option<Sequences> {
    if values.len() < LEAST {
        return None;
    }
    if matches!(values, Values::Bits(_)) {
        let mut before = 0;
        let ends = run_ends(values).into_iter();
        let lengths: Vec<u32> = ends
            .map(|end| end - std::mem::replace(&mut before, end))
            .collect();
        return of(Values::U32(&lengths));
    }
    for_ints!(values.physical_type(), T => {
        let words = T::slice(values)?;
        if !probe(words) {
            return None;
        }
        let width = width(words);
        let found = find(words, width);
        let matched: usize = found.lengths.iter().map(|l| *l as usize).sum();
        let bits = (words.len() - matched) * width as usize + found.lengths.len() * COST_SAME as usize;
        (bits * 8 < words.len() * width as usize * 7).then_some(found)
    }, _ => None)
}

/// The matches of some values, however few.
pub(crate) fn all(values: Values<'_>) -> Sequences {
    for_ints!(values.physical_type(), T => {
        T::slice(values).map_or_else(Sequences::default, |words| find(words, width(words)))
    }, _ => Sequences::default())
}

/// Bits of a value in a frame of reference.
fn width<T: Int>(values: &[T]) -> u32 {
    let (least, most) = bounds(values, T::ZERO);
    (T::BITS - most.wrapping_sub(least).leading_zeros()).clamp(1, 32)
}

/// A hash of the `1 << levels` values from each place on.
fn grams<T: Int>(values: &[T], levels: u32) -> Vec<u32> {
    let word = |v: u64| (v as u32 ^ ((v >> 32) as u32).rotate_left(15)).wrapping_mul(0x9e37_79b1);
    let mut hashes: Vec<u32> = values.iter().map(|v| word(v.to_u64())).collect();
    for level in 0..levels {
        let later = hashes.get(1 << level..).unwrap_or_default();
        let pair = |(a, b): (&u32, &u32)| (a ^ b.rotate_left(11)).wrapping_mul(0x85eb_ca6b);
        hashes = hashes.iter().zip(later).map(pair).collect();
    }
    hashes
}

/// Whether a match begins in three of eight segments, those of a single value aside. Every
/// `STRIDE`th place is kept, and `STRIDE` places of a segment are looked up, so that one of them
/// matches a kept one.
fn probe<T: Int>(values: &[T]) -> bool {
    let hash = |gram: &[T]| {
        let hash = gram.iter().take(4).fold(0u64, |h, v| {
            (h ^ v.to_u64())
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(23)
        });
        (hash >> 52) as usize
    };
    // By hash, the place of the latest stride that begins so, plus one.
    let mut table = [0u32; 1 << 12];
    let mut strides = (0..).step_by(STRIDE).zip(values.chunks(STRIDE)).peekable();
    let (mut seen, mut hits) = (0, 0);
    let step = values.len() / (SEGMENTS + 1);
    for start in (1..=SEGMENTS).map(|segment| segment * step) {
        while let Some((place, stride)) = strides.next_if(|(place, _)| *place < start) {
            if let Some(kept) = table.get_mut(hash(stride)) {
                *kept = place as u32 + 1;
            }
        }
        let Some(segment) = values.get(start..start + STRIDE + AGREE) else {
            break;
        };
        if segment.array_windows().all(|[a, b]| a == b) {
            continue;
        }
        seen += 1;
        let repeats = |agree: &[T]| {
            let kept = table.get(hash(agree)).and_then(|kept| kept.checked_sub(1));
            let kept = kept.and_then(|kept| values.get(kept as usize..));
            kept.is_some_and(|kept| kept.starts_with(agree))
                && agree.array_windows().filter(|[a, b]| a != b).count() >= CHANGES
        };
        hits += usize::from(segment.windows(AGREE).any(repeats));
    }
    seen >= 4 && hits * 8 >= seen * 3
}

#[derive(Debug, Clone, Copy, Default)]
struct Match {
    length: usize,
    offset: usize,
    /// Bits saved.
    gain: i64,
}

/// Values from `a` on that equal those from `b` on, which is later.
fn common<T: Int>(values: &[T], a: usize, b: usize) -> usize {
    let (Some(old), Some(new)) = (values.get(a..), values.get(b..)) else {
        return 0;
    };
    let chunks = old.as_chunks::<8>().0.iter().zip(new.as_chunks::<8>().0);
    let whole = chunks.take_while(|(a, b)| a == b).count() * 8;
    let rest = old.iter().skip(whole).zip(new.iter().skip(whole));
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// Places by hash, the latest first.
struct Table {
    hashes: Vec<u32>,
    /// The latest place, plus one, of those whose hash begins with the same bits.
    heads: Vec<u32>,
    /// The place before it, plus one.
    before: Vec<u32>,
    shift: u32,
}

impl Table {
    fn new<T: Int>(values: &[T], levels: u32) -> Self {
        let hashes = grams(values, levels);
        let bits = hashes.len().max(1).ilog2().clamp(8, 15);
        Self {
            heads: vec![0; 1 << bits],
            before: vec![0; hashes.len()],
            hashes,
            shift: 32 - bits,
        }
    }

    fn insert(&mut self, place: usize) {
        if let Some(hash) = self.hashes.get(place)
            && let Some(head) = self.heads.get_mut((hash >> self.shift) as usize)
            && let Some(before) = self.before.get_mut(place)
        {
            *before = std::mem::replace(head, place as u32 + 1);
        }
    }

    /// The latest places whose hash begins as this one, the latest first.
    fn latest(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mut next = self.heads.get((hash >> self.shift) as usize);
        std::iter::from_fn(move || {
            let place = next?.checked_sub(1)? as usize;
            next = self.before.get(place);
            Some(place)
        })
    }

    /// The match that saves the most at a place not yet inserted.
    fn best<T: Int>(&self, values: &[T], place: usize, last: usize, width: u32) -> Match {
        let mut best = Match::default();
        let gain = |length: usize, cost: u32| (length * width as usize) as i64 - i64::from(cost);
        if last > 0 && last <= place {
            let length = common(values, place - last, place);
            best = Match {
                length,
                offset: last,
                gain: gain(length, COST_SAME).max(0),
            };
            if length >= ENOUGH {
                return best;
            }
        }
        let Some(&hash) = self.hashes.get(place) else {
            return best;
        };
        for old in self.latest(hash).take(STEPS) {
            if best.length >= ENOUGH {
                break;
            }
            if self.hashes.get(old) == Some(&hash) {
                let length = common(values, old, place);
                let gain = gain(length, COST);
                if gain > best.gain {
                    let offset = place - old;
                    best = Match {
                        length,
                        offset,
                        gain,
                    };
                }
            }
        }
        best
    }
}

fn find<T: Integer>(values: &[T], width: u32) -> Sequences {
    // Values of few bits need longer matches.
    let levels = if width >= 8 { 2 } else { 3 };
    let mut table = Table::new(values, levels);
    let mut found = Sequences::default();
    let (mut place, mut literals, mut last) = (0, 0, 0);
    let mut next = Match::default();
    let mut known = false;
    while place < values.len() {
        let this = if known {
            next
        } else {
            table.best(values, place, last, width)
        };
        known = false;
        table.insert(place);
        if this.gain == 0 {
            (place, literals) = (place + 1, literals + 1);
            continue;
        }
        if this.length < ENOUGH && place + 1 < values.len() {
            next = table.best(values, place + 1, last, width);
            if next.gain > this.gain + i64::from(width) {
                known = true;
                (place, literals) = (place + 1, literals + 1);
                continue;
            }
        }
        found.push(literals, this);
        (place + 1..place + this.length).for_each(|i| table.insert(i));
        (place, literals, last) = (place + this.length, 0, this.offset);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows the sequences.
    fn repeated<T: Copy>(found: &Sequences, literals: &[T], len: usize) -> Vec<T> {
        let (mut out, mut literals) = (Vec::new(), literals.iter());
        for ((&before, &length), &offset) in found
            .literals
            .iter()
            .zip(&found.lengths)
            .zip(&found.offsets)
        {
            out.extend(literals.by_ref().take(before as usize));
            (0..length).for_each(|_| out.push(out[out.len() - offset as usize]));
        }
        out.extend(literals);
        assert_eq!(out.len(), len);
        out
    }

    #[test]
    fn lists_that_come_again_are_found() {
        let mut state = 7u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 40
        };
        let list: Vec<u64> = (0..500).map(|_| random()).collect();
        let values: Vec<u64> = (0..40_000)
            .map(|i| if i % 83 == 5 { i as u64 } else { list[i % 500] })
            .collect();
        let found = of(Values::U64(&values)).unwrap();
        let literals = found.literal_values(&values);
        assert_eq!(repeated(&found, &literals, values.len()), values);
        assert!(
            literals.len() < 1100 && found.lengths.len() < 1000,
            "{} {}",
            literals.len(),
            found.lengths.len()
        );
        let noise: Vec<u64> = (0..40_000).map(|_| random()).collect();
        assert!(of(Values::U64(&noise)).is_none());
        assert_eq!(
            repeated(&all(Values::U64(&noise)), &noise, noise.len()),
            noise
        );
        // A sample cannot show repeats.
        assert!(of(Values::U64(&values[..640])).is_none());
    }
}
