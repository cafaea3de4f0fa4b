//! Values of types whose domain is narrower than their words, for the tests of the library, those beside
//! it and the fuzzer.

use arrow_schema::{DataType, TimeUnit};

/// Makes random bytes a value of a type that has a narrower domain than its words: a time of day, a
/// decimal of so many digits, a date of whole days.
pub fn tame(ty: &DataType, word: &mut [u8]) {
    let mut low = [0; 8];
    let len = word.len().min(8);
    low[..len].copy_from_slice(&word[..len]);
    let number = u64::from_le_bytes(low);
    let number = match ty {
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let units = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            number % (86_400 * units)
        }
        DataType::Date64 => (number as i64 >> 28).wrapping_mul(86_400_000) as u64,
        DataType::Decimal32(digits, _)
        | DataType::Decimal64(digits, _)
        | DataType::Decimal128(digits, _)
        | DataType::Decimal256(digits, _) => {
            // As many bytes as are below 10 to the power of the digits, and the sign.
            let bytes = usize::from(*digits) * 332 / 100 / 8;
            let sign = if word[word.len() - 1] & 1 == 1 {
                255
            } else {
                0
            };
            word[bytes..].fill(sign);
            return;
        }
        _ => return,
    };
    word[..len].copy_from_slice(&number.to_le_bytes()[..len]);
}
