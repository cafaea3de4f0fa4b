//! One field printed: decimal, fixed, grouped or hexadecimal digits, eight at a time in one
//! register.

use super::template::WIDE;

/// Stores 8 bytes at `at`.
#[inline(always)]
pub(super) fn put8(out: &mut [u8], at: usize, word: u64) -> Option<()> {
    *out.get_mut(at..)?.first_chunk_mut()? = word.to_le_bytes();
    Some(())
}

/// Stores 16 bytes at `at`.
#[inline(always)]
pub(super) fn put16(out: &mut [u8], at: usize, bytes: &[u8; WIDE]) -> Option<()> {
    *out.get_mut(at..)?.first_chunk_mut()? = *bytes;
    Some(())
}

/// Powers of ten.
pub(super) const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut i = 1;
    while i < 20 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};
/// The first number of more than eight digits.
const EIGHT: u64 = 100_000_000;

/// The number of decimal digits of a number.
#[inline(always)]
pub(super) fn digits(value: u64) -> usize {
    // 1233 / 4096 is a little more than log10(2); 0 has a digit like 1.
    let about = (((64 - (value | 1).leading_zeros()) * 1233) >> 12) as usize;
    about + usize::from((value | 1) >= POWERS[about])
}

/// The eight digits of a number below 10^8, the first in the lowest byte.
#[inline(always)]
fn digits8(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = (fours - 100 * hundreds) << 16 | hundreds;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    ((twos - 10 * tens) << 8 | tens) | 0x3030_3030_3030_3030
}

/// The eight hexadecimal digits of a number, the first in the lowest byte; `letters` is the distance
/// of the letters behind `9`.
#[inline(always)]
pub(super) fn hex8(value: u32, letters: u8) -> u64 {
    let mut word = u64::from(value.swap_bytes());
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    word = (word >> 4 | word << 8) & 0x0f0f_0f0f_0f0f_0f0f;
    let above_nine = (word + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    word + 0x3030_3030_3030_3030 + above_nine * u64::from(letters)
}

/// `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + i as u8 / 10, b'0' + i as u8 % 10];
        i += 1;
    }
    pairs
};

/// Fills the places of `out` with the first of 16 bytes: two stores that overlap, and not a byte
/// beyond.
#[inline(always)]
fn exact(out: &mut [u8], low: u64, high: u64) -> Option<()> {
    let text = u128::from(low) | u128::from(high) << 64;
    let len = out.len();
    if len >= 8 {
        *out.first_chunk_mut()? = (text as u64).to_le_bytes();
        *out.last_chunk_mut()? = ((text >> (8 * (len - 8))) as u64).to_le_bytes();
    } else if len >= 4 {
        *out.first_chunk_mut()? = (text as u32).to_le_bytes();
        *out.last_chunk_mut()? = ((low >> (8 * (len - 4))) as u32).to_le_bytes();
    } else if len >= 2 {
        *out.first_chunk_mut()? = (text as u16).to_le_bytes();
        *out.last_chunk_mut()? = ((low >> (8 * (len - 2))) as u16).to_le_bytes();
    } else {
        *out.first_mut()? = text as u8;
    }
    Some(())
}

/// Fills the places of `out` with the last decimal digits of a number.
#[inline(always)]
pub(super) fn exact_decimal(out: &mut [u8], value: u64) -> Option<()> {
    let len = out.len();
    if len == 2 {
        *out.first_chunk_mut()? = PAIRS[(value % 100) as usize];
        return Some(());
    }
    if len <= 8 {
        let value = if value < EIGHT { value } else { value % EIGHT };
        return exact(out, digits8(value) >> (8 * (8 - len)), 0);
    }
    let high = value / EIGHT;
    let text = u128::from(digits8(high % EIGHT)) | u128::from(digits8(value % EIGHT)) << 64;
    if len <= 16 {
        let text = text >> (8 * (16 - len));
        return exact(out, text as u64, (text >> 64) as u64);
    }
    let (first, rest) = out.split_at_mut_checked(len - 16)?;
    exact(first, digits8(high / EIGHT % EIGHT) >> (8 * (24 - len)), 0)?;
    exact(rest, text as u64, (text >> 64) as u64)
}

/// Fills the places of `out` with the last hexadecimal digits of a number.
#[inline(always)]
pub(super) fn exact_hex(out: &mut [u8], value: u64, letters: u8) -> Option<()> {
    let value = value << (64 - 4 * out.len());
    let low = if out.len() > 8 {
        hex8(value as u32, letters)
    } else {
        0
    };
    exact(out, hex8((value >> 32) as u32, letters), low)
}

/// Prints the last `count` decimal digits, with leading zeros; returns the place behind them.
#[inline(always)]
pub(super) fn fixed(out: &mut [u8], at: usize, value: u64, count: usize) -> Option<usize> {
    if count <= 8 {
        if count == 2 {
            *out.get_mut(at..)?.first_chunk_mut()? = PAIRS[(value % 100) as usize];
            return Some(at + 2);
        }
        let value = if value < EIGHT { value } else { value % EIGHT };
        put8(out, at, digits8(value) >> (8 * (8 - count)))?;
        return Some(at + count);
    }
    let (mut at, high) = (at, value / EIGHT);
    if count > 16 {
        put8(out, at, digits8(high / EIGHT % EIGHT) >> (8 * (24 - count)))?;
        at += count - 16;
        put8(out, at, digits8(high % EIGHT))?;
        at += 8;
    } else {
        put8(out, at, digits8(high % EIGHT) >> (8 * (16 - count)))?;
        at += count - 8;
    }
    put8(out, at, digits8(value % EIGHT))?;
    Some(at + 8)
}

/// `0` to `999` in three bytes, and the number of digits.
static SMALL: [[u8; 4]; 1000] = {
    let mut small = [[0; 4]; 1000];
    let mut i = 0;
    while i < 1000 {
        let (a, b, c) = (
            b'0' + (i / 100) as u8,
            b'0' + (i / 10 % 10) as u8,
            b'0' + (i % 10) as u8,
        );
        small[i] = if i < 10 {
            [c, 0, 0, 1]
        } else if i < 100 {
            [b, c, 0, 2]
        } else {
            [a, b, c, 3]
        };
        i += 1;
    }
    small
};

/// Stores 4 bytes at `at`.
#[inline(always)]
fn put4(out: &mut [u8], at: usize, bytes: [u8; 4]) -> Option<()> {
    *out.get_mut(at..)?.first_chunk_mut()? = bytes;
    Some(())
}

/// Prints a number in as few digits as it needs; returns the place behind it.
#[inline(always)]
pub(super) fn decimal(out: &mut [u8], at: usize, value: u64) -> Option<usize> {
    if let Some(&small) = SMALL.get(value as usize) {
        put4(out, at, small)?;
        return Some(at + usize::from(small[3]));
    }
    let count = digits(value);
    if count <= 8 {
        put8(out, at, digits8(value) >> (8 * (8 - count)))?;
        return Some(at + count);
    }
    fixed(out, at, value, count)
}

/// Prints a number below 1,000 in as few digits as it needs, and up to four bytes behind it, by one store of
/// eight bytes; returns the place behind both. `None` for a larger number.
#[inline(always)]
pub(super) fn small_and(
    out: &mut [u8],
    at: usize,
    value: u64,
    (behind, len): (u32, u8),
) -> Option<usize> {
    let [a, b, c, digits] = *SMALL.get(value as usize)?;
    let digits_of = u64::from(u32::from_le_bytes([a, b, c, 0]));
    put8(out, at, digits_of | u64::from(behind) << (8 * digits))?;
    Some(at + usize::from(digits) + usize::from(len))
}

/// Prints a number with a comma before every three digits; returns the place behind it.
#[inline(always)]
pub(super) fn grouped(out: &mut [u8], at: usize, value: u64) -> Option<usize> {
    if value < 1000 {
        return decimal(out, at, value);
    }
    if value < 1_000_000 {
        let at = decimal(out, at, value / 1000)?;
        return group(out, at, value % 1000);
    }
    let commas = (digits(value) - 1) / 3;
    let mut at = decimal(out, at, value / POWERS[3 * commas])?;
    for place in (0..commas).rev() {
        at = group(out, at, value / POWERS[3 * place] % 1000)?;
    }
    Some(at)
}

/// Prints a comma and three digits; returns the place behind them.
#[inline(always)]
fn group(out: &mut [u8], at: usize, value: u64) -> Option<usize> {
    let [tens, ones] = PAIRS[(value % 100) as usize];
    put4(out, at, [b',', b'0' + (value / 100) as u8, tens, ones])?;
    Some(at + 4)
}
