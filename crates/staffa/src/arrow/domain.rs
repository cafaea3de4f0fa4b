//! The domains of types: which words are values of a decimal, a time of day, a date. FORMAT.md,
//! section 4.

use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType, TimeUnit};
use staffa_kernels::U256;

use crate::format::{Bounds, ZoneMap};
use crate::values::{Bitmap, Values};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The words that are values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Domain {
    /// All.
    Any,
    /// Times of day: units from midnight on, fewer than a day has.
    Time {
        /// Units of a day.
        day: i64,
    },
    /// Decimals of at most so many digits, of up to 128 bits.
    Digits(u8),
    /// Decimals of 256 bits, of at most so many digits.
    WideDigits(u8),
    /// Dates in milliseconds: multiples of a day.
    WholeDays,
}

impl Domain {
    /// The domain of a type without children.
    pub(crate) fn of(ty: &DataType) -> Self {
        match ty {
            DataType::Time32(unit) | DataType::Time64(unit) => {
                let units = match unit {
                    TimeUnit::Second => 1,
                    TimeUnit::Millisecond => 1_000,
                    TimeUnit::Microsecond => 1_000_000,
                    TimeUnit::Nanosecond => 1_000_000_000,
                };
                Self::Time {
                    day: DAY / 1_000 * units,
                }
            }
            DataType::Decimal32(digits, _)
            | DataType::Decimal64(digits, _)
            | DataType::Decimal128(digits, _) => Self::Digits(*digits),
            DataType::Decimal256(digits, _) => Self::WideDigits(*digits),
            DataType::Date64 => Self::WholeDays,
            _ => Self::Any,
        }
    }

    /// What is expected of a value.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Time { day } => format!("a time of day from 0 to {}", day - 1),
            Self::Digits(digits) | Self::WideDigits(digits) => {
                format!("a decimal of at most {digits} digits")
            }
            Self::WholeDays => format!("whole days, multiples of {DAY} milliseconds,"),
        }
    }

    /// Whether 64 bits hold every value: decimals of up to 18 digits.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Self::Digits(digits) if digits <= DECIMAL64_MAX_PRECISION)
    }

    /// The smallest and the largest value, of a domain without gaps within 128 bits.
    fn range(self) -> Option<(i128, i128)> {
        match self {
            Self::Time { day } => Some((0, i128::from(day) - 1)),
            Self::Digits(digits) => {
                let most = 10i128.checked_pow(digits.into())? - 1;
                Some((-most, most))
            }
            Self::Any | Self::WideDigits(_) | Self::WholeDays => None,
        }
    }

    /// Whether the bounds of a block can show that its values are in the domain.
    pub(crate) fn has_range(self) -> bool {
        self.range().is_some()
    }

    /// Whether the bounds of a block show that its values are in the domain, or nothing is known
    /// better than its values, which are then checked where a column is put together.
    pub(crate) fn is_settled(self, zone: &ZoneMap, values: usize) -> bool {
        match (self.range(), &zone.bounds) {
            (None, _) => true,
            (Some((least, most)), Bounds::Int(min, max)) => *min >= least && *max <= most,
            (Some(_), _) => zone.nulls == values as u64,
        }
    }

    /// Position of the first valid value that is not in the domain.
    pub(crate) fn first_outside(self, values: Values<'_>, valid: Option<&Bitmap>) -> Option<usize> {
        let is_valid = |row: &usize| valid.is_none_or(|valid| valid.get(*row));
        macro_rules! find {
            ($words:expr, $inside:expr) => {{
                let inside = $inside;
                let words = $words;
                // Most often there is none: one pass without branches.
                if words.iter().fold(true, |all, word| all & inside(*word)) {
                    return None;
                }
                let mut outside = (0..words.len())
                    .filter(|row| words.get(*row).is_some_and(|word| !inside(*word)));
                outside.find(is_valid)
            }};
        }
        if let (Self::WholeDays, Values::U64(words)) = (self, values) {
            return find!(words, |word: u64| word as i64 % DAY == 0);
        }
        if let (Self::WideDigits(digits), Values::U256(words)) = (self, values) {
            let most = wide_power(digits);
            return find!(words, |word: U256| is_below(word, most));
        }
        let (least, most) = self.range()?;
        match values {
            Values::U32(words) => {
                let (least, most) = (least as i32, most as i32);
                find!(words, |word: u32| (least..=most).contains(&(word as i32)))
            }
            Values::U64(words) => {
                let (least, most) = (least as i64, most as i64);
                find!(words, |word: u64| (least..=most).contains(&(word as i64)))
            }
            Values::U128(words) => {
                find!(words, |word: u128| (least..=most).contains(&(word as i128)))
            }
            _ => None,
        }
    }
}

/// 10 to the power of `digits`, at most 76.
fn wide_power(digits: u8) -> [u64; 4] {
    let mut power = [1, 0, 0, 0];
    for _ in 0..digits {
        let mut carry = 0u128;
        for limb in &mut power {
            carry += u128::from(*limb) * 10;
            *limb = carry as u64;
            carry >>= 64;
        }
    }
    power
}

/// Whether the absolute value of a two's complement number is below `most`.
fn is_below(word: U256, most: [u64; 4]) -> bool {
    let mut limbs = word.0;
    if limbs[3] >> 63 == 1 {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(carry.into());
        }
    }
    limbs.iter().rev().lt(most.iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(ty: &DataType, values: Values<'_>) -> Option<usize> {
        Domain::of(ty).first_outside(values, None)
    }

    #[test]
    fn the_edges_of_each_domain() {
        use DataType as D;
        let seconds = [0, 86_399, 86_400];
        assert_eq!(
            outside(&D::Time32(TimeUnit::Second), Values::U32(&seconds)),
            Some(2)
        );
        let nanos = [86_399_999_999_999, u64::MAX];
        assert_eq!(
            outside(&D::Time64(TimeUnit::Nanosecond), Values::U64(&nanos)),
            Some(1)
        );
        let small = [99_999, -99_999i32 as u32, 100_000];
        assert_eq!(outside(&D::Decimal32(5, 2), Values::U32(&small)), Some(2));
        let most = [999_999_999_999_999_999, -999_999_999_999_999_999i64 as u64];
        assert_eq!(outside(&D::Decimal64(18, 0), Values::U64(&most)), None);
        let wide = [
            10u128.pow(38) - 1,
            (1 - 10i128.pow(38)) as u128,
            10u128.pow(38),
        ];
        assert_eq!(outside(&D::Decimal128(38, 9), Values::U128(&wide)), Some(2));
        let days = [0, 86_400_000, -86_400_000i64 as u64, 1];
        assert_eq!(outside(&D::Date64, Values::U64(&days)), Some(3));
        assert_eq!(outside(&D::Int64, Values::U64(&[u64::MAX])), None);
    }

    #[test]
    fn decimals_of_256_bits() {
        let ty = DataType::Decimal256(76, 0);
        let most = wide_power(76);
        // 10 to the power of 76 is a multiple of 2 to the power of 64.
        let one_less = U256([u64::MAX, most[1] - 1, most[2], most[3]]);
        let negated = |word: U256| {
            let mut carry = true;
            U256(word.0.map(|limb| {
                let (limb, next) = (!limb).overflowing_add(carry.into());
                carry = next;
                limb
            }))
        };
        let values = [one_less, negated(one_less), U256([0; 4]), U256(most)];
        assert_eq!(outside(&ty, Values::U256(&values)), Some(3));
        assert_eq!(outside(&ty, Values::U256(&[negated(U256(most))])), Some(0));
        assert_eq!(
            outside(
                &DataType::Decimal256(1, 0),
                Values::U256(&[U256([9, 0, 0, 0])])
            ),
            None
        );
    }

    #[test]
    fn what_is_null_is_not_checked() {
        let domain = Domain::of(&DataType::Time32(TimeUnit::Second));
        let valid: Bitmap = [false, true, true].into_iter().collect();
        let values = [90_000, 5, 90_001];
        assert_eq!(
            domain.first_outside(Values::U32(&values), Some(&valid)),
            Some(2)
        );
    }

    #[test]
    fn bounds_settle_a_block() {
        let domain = Domain::Digits(2);
        let zone = |bounds, nulls| ZoneMap { nulls, bounds };
        assert!(domain.is_settled(&zone(Bounds::Int(-99, 99), 0), 10));
        assert!(!domain.is_settled(&zone(Bounds::Int(-99, 100), 0), 10));
        assert!(!domain.is_settled(&zone(Bounds::None, 0), 10));
        assert!(domain.is_settled(&zone(Bounds::None, 10), 10));
        assert!(Domain::Any.is_settled(&zone(Bounds::None, 0), 10));
    }
}
