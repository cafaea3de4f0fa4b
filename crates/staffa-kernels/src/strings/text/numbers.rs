//! The numbers of slots as numbers that have the digits of all their fields. Slots of fixed width share
//! the digits of a row with the slot before.

use super::block::{BLOCK, Block, DIGITS, SIXTEEN};
use super::template::{Radix, Step, Template, WIDE};
use crate::word::as_bytes_mut;

/// Digits that are kept for a first field of any length where slots join it: with more, no row is printed by tiles.
pub(super) const FIRST: u8 = 4;

/// What the digits of a number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Ten,
    /// The distance of the letters behind `9`.
    Sixteen(u8),
    /// The bytes of a word in place of digits.
    Words,
}

impl Base {
    fn power(self, digits: u8) -> u128 {
        match self {
            Self::Ten => 10u128.pow(digits.into()),
            Self::Sixteen(_) => 1 << (4 * u32::from(digits)),
            Self::Words => 1,
        }
    }

    /// The first number that has more than 16 digits with those of a power, which is not 1, behind it.
    fn below(self, power: u64) -> u64 {
        match self {
            Self::Ten => SIXTEEN / power.max(1),
            Self::Sixteen(_) => (u64::MAX / power.max(1)).saturating_add(1),
            Self::Words => 0,
        }
    }
}

/// A field behind the first of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Joined {
    radix: u64,
    /// What the field is multiplied by in a number that has the digits of all fields.
    scale: u64,
}

/// How the numbers of a slot become numbers that have the digits of all its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotNumbers {
    base: Base,
    /// Empty where a number of the slot has the digits of all its fields as it is.
    joined: Vec<Joined>,
    /// What the first field is multiplied by.
    scale: u64,
    /// The joined fields in two parts, where each has less than 2^32 as digits.
    halves: Option<Halves>,
    /// Of a slot that is a word: each word's bytes, at the end of a register of digits, and their count less one.
    words: Vec<([u64; 2], u8)>,
}

/// Joined fields in two parts: numbers of 32 bits, of which a register has more, make the digits of each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Halves {
    /// The last fields but the first of them, the last one first.
    low: Vec<Joined>,
    /// What the first of the last fields is multiplied by.
    low_scale: u32,
    /// The numbers that the last fields have, and their digits have.
    radix: u64,
    power: u64,
    /// The fields between the first one and those, and what the first one is multiplied by.
    high: Vec<Joined>,
    scale: u32,
}

impl Halves {
    /// As many last fields as fit; `None` where those before them do not, or there are none.
    fn of(joined: &[Joined], scale: u64) -> Option<Self> {
        let powers = joined
            .iter()
            .skip(1)
            .map(|field| field.scale)
            .chain([scale]);
        let (mut radix, mut taken) = (1u64, None);
        for (i, (field, power)) in joined.iter().zip(powers).enumerate() {
            radix = radix.checked_mul(field.radix)?;
            if radix >> 32 > 0 || power >> 32 > 0 {
                break;
            }
            taken = Some((i, radix, power));
        }
        let (last, radix, power) = taken?;
        let (low, high) = joined.split_at(last + 1);
        let (first, low) = low.split_last()?;
        let high = high.iter().map(|field| Joined {
            radix: field.radix,
            scale: field.scale / power,
        });
        let halves = Self {
            low: low.to_vec(),
            low_scale: u32::try_from(first.scale).ok()?,
            radix,
            power,
            high: high.collect(),
            scale: u32::try_from(scale / power).ok()?,
        };
        let fit = halves.high.iter().all(|field| field.radix >> 32 == 0);
        fit.then_some(halves)
    }

    /// Numbers as numbers that have the digits of all fields, and the first fields; `None` where one of these, with
    /// the fields between, has 2^32 or more.
    #[inline(always)]
    fn join(&self, values: &[u64; BLOCK], is_short: bool) -> Option<([u64; BLOCK], [u32; BLOCK])> {
        let (mut high, mut low) = ([0u32; BLOCK], [0u32; BLOCK]);
        if is_short {
            high = values.map(|value| value as u32);
            let radix = Joined {
                radix: self.radix,
                scale: 1,
            };
            divide_small(&mut high, &radix, &mut low);
        } else {
            let (radix, mut all) = (Radix::new(self.radix), 0);
            for ((value, high), low) in values.iter().zip(&mut high).zip(&mut low) {
                let (quotient, rest) = radix.divide(*value);
                (*high, *low) = (quotient as u32, rest as u32);
                all |= quotient;
            }
            if all >> 32 > 0 {
                return None;
            }
        }
        let (mut low_digits, mut high_digits) = ([0; BLOCK], [0; BLOCK]);
        for field in &self.low {
            divide_small(&mut low, field, &mut low_digits);
        }
        for field in &self.high {
            divide_small(&mut high, field, &mut high_digits);
        }
        let mut joined = [0; BLOCK];
        let parts = high
            .iter()
            .zip(&high_digits)
            .zip(low.iter().zip(&low_digits));
        for (joined, ((first, high), (rest, low))) in joined.iter_mut().zip(parts) {
            let high = u64::from(*first) * u64::from(self.scale) + u64::from(*high);
            let low = rest.wrapping_mul(self.low_scale).wrapping_add(*low);
            *joined = high.wrapping_mul(self.power).wrapping_add(low.into());
        }
        Some((joined, high))
    }
}

impl SlotNumbers {
    /// The numbers of a slot with these fields; `None` where the fields are not digits of one base, or there is a word
    /// among others, or without bytes.
    pub(super) fn of(fields: &[(&Step, Radix)]) -> Option<Self> {
        let ((first, _), behind) = fields.split_first()?;
        let base = match first {
            Step::Decimal | Step::Grouped | Step::Fixed(_) => Base::Ten,
            Step::Hex(_, letters) => Base::Sixteen(*letters),
            Step::Word(_) => Base::Words,
            Step::Literal(..) => return None,
        };
        let words = match first {
            Step::Word(words) => words.iter().map(register).collect::<Option<Vec<_>>>()?,
            _ => Vec::new(),
        };
        let (mut joined, mut scale, mut is_whole) = (Vec::new(), 1, true);
        for (step, radix) in behind.iter().rev() {
            let digits = match (step, base) {
                (Step::Fixed(digits), Base::Ten) => *digits,
                (Step::Hex(digits, letters), Base::Sixteen(first)) if *letters == first => *digits,
                _ => return None,
            };
            let (power, radix) = (base.power(digits), radix.radix());
            if radix == 0 || u128::from(radix) > power {
                return None;
            }
            is_whole &= u128::from(radix) == power;
            joined.push(Joined { radix, scale });
            scale = u64::try_from(u128::from(scale) * power).ok()?;
        }
        if is_whole {
            (joined, scale) = (Vec::new(), 1);
        }
        Some(Self {
            base,
            halves: Halves::of(&joined, scale),
            joined,
            scale,
            words,
        })
    }

    /// Whether these are positions of words.
    pub(super) fn are_words(&self) -> bool {
        self.base == Base::Words
    }

    /// Numbers of joined fields as numbers that have the digits of all fields.
    #[inline(always)]
    fn join(&self, values: &mut [u64; BLOCK]) -> bool {
        if self.joined.is_empty() {
            return true;
        }
        let bits = values.iter().fold(0, |all, value| all | value);
        if bits >> 32 == 0 && self.is_small() {
            return self.join_small(values);
        }
        let below = self.base.below(self.scale);
        let joined = self.halves.as_ref();
        if let Some((joined, first)) = joined.and_then(|h| h.join(values, bits >> 32 == 0)) {
            *values = joined;
            return first.iter().all(|first| u64::from(*first) < below);
        }
        let mut whole = [0u64; BLOCK];
        for field in &self.joined {
            let radix = Radix::new(field.radix);
            for (value, whole) in values.iter_mut().zip(&mut whole) {
                let (quotient, rest) = radix.divide(*value);
                *value = quotient;
                *whole += rest * field.scale;
            }
        }
        scale_and_add(values, self.scale, &whole, below)
    }

    /// The words at these positions.
    #[inline(always)]
    fn look_up(&self, positions: &[u64], block: &mut Block) -> Result<(), Stop> {
        let places = block.digits.iter_mut().zip(&mut block.more);
        for (position, (digits, more)) in positions.iter().zip(places) {
            let word = self.words.get(*position as usize).ok_or(Stop::Wrong)?;
            (*digits, *more) = *word;
        }
        Ok(())
    }

    /// Whether the fields behind the first have fewer than 2^32 values in all, as digits.
    fn is_small(&self) -> bool {
        self.scale >> 32 == 0 && self.joined.iter().all(|field| field.radix >> 32 == 0)
    }

    /// As [`join`](Self::join), of numbers below 2^32 with few digits behind the first field.
    #[inline(always)]
    fn join_small(&self, values: &mut [u64; BLOCK]) -> bool {
        let (mut first, mut whole) = (values.map(|value| value as u32), [0u32; BLOCK]);
        for field in &self.joined {
            divide_small(&mut first, field, &mut whole);
        }
        let (mut all, below) = (0, self.base.below(self.scale));
        for ((value, first), whole) in values.iter_mut().zip(first).zip(whole) {
            *value = u64::from(first) * self.scale + u64::from(whole);
            all |= first;
        }
        // No number is above the bits of all of them.
        u64::from(all) < below || first.iter().all(|first| u64::from(*first) < below)
    }
}

/// A word in the last places of a register, and its bytes, less one; `None` for one without bytes.
fn register((bytes, len): &([u8; WIDE], u8)) -> Option<([u64; 2], u8)> {
    let more = len.checked_sub(1)?;
    let mut places = [0; WIDE];
    let own = places.get_mut(WIDE.checked_sub(usize::from(*len))?..)?;
    own.copy_from_slice(bytes.get(..usize::from(*len))?);
    Some((words_of(&places), more))
}

/// The bytes of a register of digits as its words.
fn words_of(places: &[u8; WIDE]) -> [u64; 2] {
    let mut words = [0; 2];
    as_bytes_mut(&mut words).copy_from_slice(places);
    words
}

/// Takes a field of numbers below 2^32.
#[inline(always)]
fn divide_small(values: &mut [u32; BLOCK], field: &Joined, whole: &mut [u32; BLOCK]) {
    let (radix, scale) = (field.radix as u32, field.scale as u32);
    for (value, whole) in values.iter_mut().zip(whole) {
        let (quotient, rest) = divide_by(radix, *value);
        *value = quotient;
        *whole = whole.wrapping_add(rest.wrapping_mul(scale));
    }
}

/// Quotient and remainder; see [`Radix`].
#[inline(always)]
pub(super) fn divide_by(radix: u32, value: u32) -> (u32, u32) {
    let inverse = u32::MAX / radix.max(1);
    let quotient = ((u64::from(value) * u64::from(inverse)) >> 32) as u32;
    let rest = value.wrapping_sub(quotient.wrapping_mul(radix));
    let more = rest >= radix;
    let rest = if more { rest.wrapping_sub(radix) } else { rest };
    (quotient.wrapping_add(u32::from(more)), rest)
}

/// Multiplies numbers and adds others; `false` where a number is not below `below`.
#[inline(always)]
fn scale_and_add(values: &mut [u64; BLOCK], scale: u64, others: &[u64; BLOCK], below: u64) -> bool {
    let mut fit = true;
    for (value, other) in values.iter_mut().zip(others) {
        fit &= *value < below;
        *value = value.wrapping_mul(scale).wrapping_add(*other);
    }
    fit
}

/// How the numbers of some slots, one after another, become digits.
#[derive(Clone, Debug)]
pub(super) struct Conversion {
    /// The first slot.
    first: SlotNumbers,
    /// Those behind it, and the digits kept for each.
    behind: Vec<(SlotNumbers, u8)>,
    /// Most digits of the slots, 1 for a first field of any length.
    digits: u8,
    /// Whether the first field has any length, so that the digits of each row count.
    is_variable: bool,
}

impl Conversion {
    /// Slots with these digits; `None` where there are more than 16.
    pub(super) fn new(first: SlotNumbers, digits: u8, is_variable: bool) -> Option<Self> {
        (digits <= DIGITS as u8).then_some(Self {
            first,
            behind: vec![],
            digits,
            is_variable,
        })
    }

    /// Takes another slot, of fixed width; `false` where the digits would be too many, or of another base.
    pub(super) fn push(&mut self, slot: &SlotNumbers, width: u8) -> bool {
        let digits = self.digits.saturating_add(width);
        let room = DIGITS as u8 - if self.is_variable { FIRST - 1 } else { 0 };
        let joins = digits <= room && slot.base == self.first.base && !slot.are_words();
        if joins {
            self.behind.push((slot.clone(), width));
            self.digits = digits;
        }
        joins
    }

    /// Slots of which the digits are.
    pub(super) fn slots(&self) -> usize {
        1 + self.behind.len()
    }

    /// Of every slot, the digits of those behind it.
    pub(super) fn digits_behind(&self) -> impl Iterator<Item = u8> + '_ {
        let after = |slot| self.behind.iter().skip(slot).map(|(_, width)| *width);
        (0..self.slots()).map(move |slot| after(slot).sum())
    }

    /// Digits of each of at most 64 rows, whose numbers are the next `count` of each slot; these are
    /// taken.
    #[inline(always)]
    pub(super) fn digits(
        &self,
        left: &mut [&[u64]],
        count: usize,
        block: &mut Block,
    ) -> Result<(), Stop> {
        let (first, behind) = left.split_first_mut().ok_or(Stop::Wrong)?;
        if behind.len() < self.behind.len() {
            return Err(Stop::Wrong);
        }
        let mut values = [0; BLOCK];
        next_of(first, count, &mut values)?;
        if self.first.are_words() {
            let positions = values.get(..count).ok_or(Stop::Wrong)?;
            return self.first.look_up(positions, block);
        }
        let mut fit = self.first.join(&mut values);
        for ((slot, width), left) in self.behind.iter().zip(behind) {
            let power = slot.base.power(*width) as u64;
            let mut more = [0; BLOCK];
            next_of(left, count, &mut more)?;
            fit &= slot.join(&mut more);
            let largest = more.iter().fold(0, |largest, value| largest.max(*value));
            fit &= largest < power;
            fit &= scale_and_add(&mut values, power, &more, slot.base.below(power));
        }
        match self.first.base {
            Base::Ten => fit &= block.decimal(&values, self.is_variable),
            Base::Sixteen(letters) => block.hex(&values, letters),
            Base::Words => return Err(Stop::Wrong),
        }
        if fit { Ok(()) } else { Err(Stop::Unfit) }
    }
}

/// Takes the next numbers of a slot: they are the first of `values`.
#[inline(always)]
fn next_of(left: &mut &[u64], count: usize, values: &mut [u64; BLOCK]) -> Result<(), Stop> {
    let (numbers, rest) = left.split_at_checked(count).ok_or(Stop::Wrong)?;
    *left = rest;
    let places = values.get_mut(..count).ok_or(Stop::Wrong)?;
    places.copy_from_slice(numbers);
    Ok(())
}

/// Why no row can be printed by tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A number has too many digits: the row is to be printed otherwise.
    Unfit,
    /// A code, a slot or a string is out of range, or the output too small.
    Wrong,
}

impl Template {
    /// The fields of each slot, and the radix of each.
    pub(super) fn slot_fields(&self) -> impl Iterator<Item = Vec<(&Step, Radix)>> + '_ {
        let fields = self.steps.iter();
        let mut fields = fields
            .filter(|step| step.is_field())
            .zip(self.radices.iter().copied());
        let slots = self.slots.iter();
        slots.map(move |(first, end)| fields.by_ref().take(end - first).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::EIGHT;
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    /// The digits of all numbers, and how many each needs; `None` where one has more than 16.
    fn read(conversion: &Conversion, slots: &[&[u64]]) -> Option<Vec<(String, usize)>> {
        let (mut found, mut left) = (Vec::new(), slots.to_vec());
        while let count @ 1.. = left[0].len().min(BLOCK) {
            let mut block = Block::EMPTY;
            match conversion.digits(&mut left, count, &mut block) {
                Err(Stop::Unfit) => return None,
                found => found.unwrap(),
            }
            let digits = block.digits.iter().map(|digits| text(*digits));
            let counts = block.more.iter().map(|more| usize::from(*more) + 1);
            found.extend(digits.zip(counts).take(count));
        }
        Some(found)
    }

    fn text(digits: [u64; 2]) -> String {
        let bytes: Vec<u8> = digits.iter().flat_map(|half| half.to_le_bytes()).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_have_their_digits() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            let plain = (Step::Decimal, Radix::new(0));
            let plain = SlotNumbers::of(&[(&plain.0, plain.1)]).unwrap();
            let conversion = Conversion::new(plain, 1, true).unwrap();
            for most in [1u64, 9, 10, 99_999, 9_999_999, EIGHT, SIXTEEN] {
                let numbers: Vec<u64> = (0..200)
                    .map(|i| {
                        if i < 3 {
                            most - 1 - i % most.min(3)
                        } else {
                            rng.next() % most
                        }
                    })
                    .collect();
                let expected = numbers.iter();
                let expected = expected.map(|n| (format!("{n:016}"), n.to_string().len()));
                assert_eq!(read(&conversion, &[&numbers]), Some(expected.collect()));
            }
            assert_eq!(read(&conversion, &[&[SIXTEEN]]), None);
        });
    }

    #[test]
    fn joined_fields_have_digits_of_their_own() {
        let mut rng = Rng(0x5eed);
        let moment = &[13, 32, 24, 60, 60][..];
        for (radices, bits, is_held) in [
            (&[13, 32][..], 20, true),
            (&[100, 100], 53, true),
            (&[100, 100], 60, false),
            (&[99, 100], 44, true),
            (moment, 29, true),
            (moment, 35, true),
            (moment, 40, true),
            (moment, 64, false),
            (&[1, 1, 2, 1, 1], 20, true),
            (&[99, 99, 99, 99, 99, 99], 47, true),
        ] {
            let mut steps = vec![Step::Fixed(2); radices.len()];
            steps.insert(0, Step::Decimal);
            let own = [&[0], radices].concat();
            let fields: Vec<(&Step, Radix)> =
                steps.iter().zip(own.into_iter().map(Radix::new)).collect();
            let slot = SlotNumbers::of(&fields).unwrap();
            let conversion = Conversion::new(slot, 1 + 2 * radices.len() as u8, true).unwrap();
            let numbers: Vec<u64> = (0..200).map(|_| rng.next() >> (64 - bits)).collect();
            on_every_level(|| {
                let expected = numbers.iter().map(|number| {
                    let (mut left, mut whole, mut scale) = (*number, 0u128, 1);
                    for radix in radices.iter().rev() {
                        whole += u128::from(left % radix) * scale;
                        left /= radix;
                        scale *= 100;
                    }
                    whole += u128::from(left) * scale;
                    (format!("{whole:016}"), whole.to_string().len())
                });
                let expected: Vec<_> = expected.collect();
                let fits = expected.iter().all(|(digits, _)| digits.len() == DIGITS);
                assert_eq!(fits, is_held, "{radices:?}");
                assert_eq!(read(&conversion, &[&numbers]), fits.then_some(expected));
            });
        }
    }

    /// The largest first field, beside ten digits of others, has six digits.
    #[test]
    fn first_fields_of_more_digits_are_refused() {
        let radices = [0, 13, 32, 24, 60, 60];
        let steps: Vec<Step> = (0..6).map(|_| Step::Fixed(2)).collect();
        let fields: Vec<(&Step, Radix)> = steps.iter().zip(radices.map(Radix::new)).collect();
        let slot = SlotNumbers::of(&fields).unwrap();
        let conversion = Conversion::new(slot, 12, false).unwrap();
        let rest: u64 = radices[1..].iter().product();
        on_every_level(|| {
            for first in [99, 100, 999_999, 1_000_000] {
                let found = read(&conversion, &[&[first * rest, 5]]);
                assert_eq!(found.is_some(), first < 1_000_000, "{first}");
            }
        });
    }

    #[test]
    fn slots_of_fixed_width_share_the_digits_of_a_row() {
        let slot = |step: Step| SlotNumbers::of(&[(&step, Radix::new(0))]).unwrap();
        let mut conversion = Conversion::new(slot(Step::Decimal), 1, true).unwrap();
        assert!(conversion.push(&slot(Step::Fixed(2)), 2));
        assert!(conversion.push(&slot(Step::Fixed(6)), 6));
        assert!(!conversion.push(&slot(Step::Hex(2, 39)), 2));
        assert!(!conversion.push(&slot(Step::Fixed(8)), 8));
        assert_eq!(conversion.slots(), 3);
        let found = read(&conversion, &[&[0, 712], &[5, 99], &[0, 999_999]]);
        let expected = [("0000000005000000", 7), ("0000071299999999", 11)];
        let expected = expected.map(|(digits, count)| (digits.to_owned(), count));
        assert_eq!(found, Some(expected.to_vec()));
        // A number that is cut to its last digits, and one of too many digits in all.
        assert_eq!(read(&conversion, &[&[1], &[100], &[1]]), None);
        assert_eq!(read(&conversion, &[&[SIXTEEN / 1000], &[10], &[1]]), None);
    }

    #[test]
    fn hexadecimal_numbers_have_sixteen_digits() {
        let mut rng = Rng(0x5eed);
        for letters in [b'a' - b'0' - 10, b'A' - b'0' - 10] {
            let step = Step::Hex(16, letters);
            let slot = SlotNumbers::of(&[(&step, Radix::new(0))]).unwrap();
            let conversion = Conversion::new(slot, 16, false).unwrap();
            let numbers: Vec<u64> = (0..70).map(|i| rng.next() >> (i % 64)).collect();
            let expected = numbers.iter().map(|number| {
                let lower = format!("{number:016x}");
                let upper = letters == b'A' - b'0' - 10;
                (if upper { lower.to_uppercase() } else { lower }, DIGITS)
            });
            assert_eq!(read(&conversion, &[&numbers]), Some(expected.collect()));
        }
    }
}
