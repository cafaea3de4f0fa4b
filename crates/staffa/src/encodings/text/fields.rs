//! The fields of a string by a template: digits are read eight at a time, within a word (Lemire, "Number parsing at
//! a gigabyte per second").

use staffa_kernels::Piece;

use super::shapes::{WORD_BYTES, grouped, span};

/// Most words of a field.
const MOST_WORDS: usize = 255;
/// Decimal digits that a field may have.
pub(super) const DIGITS: usize = 18;
/// Hexadecimal digits that a field may have.
pub(super) const HEX_DIGITS: usize = 16;

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Each byte 1.
const ONES: u64 = 0x0101_0101_0101_0101;
/// Powers of ten, by the digits of a word.
const POWERS: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// Appends the fields of a string by these pieces, where they print it back; new words are added to the lists. Where
/// they do not, fields and lists are as before.
pub(super) fn parse(pieces: &mut [Piece], text: &[u8], fields: &mut Vec<u64>) -> Option<()> {
    let known = fields.len();
    let parsed = parse_each(pieces, text, fields);
    if parsed.is_none() {
        fields.truncate(known);
    }
    parsed
}

/// The same; where the pieces do not print the string back, some fields may be left behind the known ones.
fn parse_each(pieces: &mut [Piece], mut text: &[u8], fields: &mut Vec<u64>) -> Option<()> {
    let mut new_words: Vec<(usize, Vec<u8>)> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        if let Piece::Literal(bytes) = piece {
            text = match bytes.as_slice() {
                // One byte needs no call of memcmp.
                [byte] => text.strip_prefix(&[*byte])?,
                bytes => text.strip_prefix(bytes)?,
            };
            continue;
        }
        let (number, len) = number_of(piece, text)?;
        let (word, rest) = text.split_at_checked(len)?;
        if matches!(piece, Piece::Word(words) if number as usize == words.len()) {
            new_words.push((i, word.to_vec()));
        }
        fields.push(number);
        text = rest;
    }
    if !text.is_empty() {
        return None;
    }
    for (i, word) in new_words {
        if let Some(Piece::Word(words)) = pieces.get_mut(i) {
            words.push(word);
        }
    }
    Some(())
}

/// The number of a field at the start of a text, and its bytes; a new word has the number behind those
/// of the list.
fn number_of(piece: &Piece, text: &[u8]) -> Option<(u64, usize)> {
    let padded = |len: usize| len > 1 && text.starts_with(b"0");
    match piece {
        Piece::Literal(_) => None,
        Piece::Decimal => {
            let (value, len) = decimal(text, DIGITS + 1)?;
            (len > 0 && !padded(len)).then_some((value, len))
        }
        Piece::Fixed(digits) => {
            let digits = usize::from(*digits);
            let (value, len) = decimal(text, digits)?;
            (len == digits).then_some((value, len))
        }
        Piece::Grouped => {
            let len = grouped(text).max(span(text, 0, u8::is_ascii_digit).min(4));
            let digits = text.get(..len)?.iter().copied().filter(|b| *b != b',');
            let digits: Vec<u8> = digits.collect();
            let plain = digits.len() == len;
            if len == 0 || plain && (len > 3 || padded(len)) {
                return None;
            }
            let (value, read) = decimal(&digits, DIGITS + 1)?;
            (read == digits.len()).then_some((value, len))
        }
        Piece::Hex { digits, upper } => {
            let digits = usize::from(*digits);
            Some((hexadecimal(text, digits, *upper)?, digits))
        }
        Piece::Word(words) => {
            let len = span(text, 0, u8::is_ascii_alphabetic);
            let word = text.get(..len)?;
            let known = words.iter().position(|w| w == word);
            let may_be_new = words.len() < MOST_WORDS && (1..=WORD_BYTES).contains(&len);
            let at = known.or(may_be_new.then_some(words.len()))?;
            Some((at as u64, len))
        }
    }
}

/// The first eight bytes, the first of them lowest; 0 behind the end.
fn eight(text: &[u8]) -> u64 {
    if let Some(bytes) = text.first_chunk() {
        return u64::from_le_bytes(*bytes);
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        // They overlap in the same bytes.
        let [first, last] = [first, last].map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
        return first | last << ((text.len() - 4) * 8);
    }
    let bytes = text.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Bytes before the first whose highest bit is set; 8 where there is none.
fn before(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// The first `len` bytes, at most eight, as the last ones, behind bytes of 0.
fn last_of(word: u64, len: usize) -> u64 {
    word.checked_shl(64 - 8 * len as u32).unwrap_or(0)
}

/// The highest bit of each byte that is above `most`. All of them are at most 127.
fn above(word: u64, most: u64) -> u64 {
    (word + (127 - most) * ONES) & HIGH
}

/// The number of the decimal digits at the start of a text, `most` at most, and how many there are; `None` where that
/// is more than a field may have.
fn decimal(text: &[u8], most: usize) -> Option<(u64, usize)> {
    let (mut value, mut len) = (0u64, 0);
    loop {
        let word = eight(text.get(len..)?) ^ (u64::from(b'0') * ONES);
        let others = above(word & !HIGH, 9) | word & HIGH;
        let digits = before(others).min(most - len);
        len += digits;
        if len > DIGITS {
            return None;
        }
        value = value * POWERS.get(digits)? + eight_digits(last_of(word, digits));
        if digits < 8 || len == most {
            return Some((value, len));
        }
    }
}

/// The number of eight digits, each a byte, the highest first: pairs, which each product adds in its upper half.
fn eight_digits(digits: u64) -> u64 {
    const BYTES: u64 = 0xff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & BYTES).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & BYTES).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

/// The number of the first `digits` bytes, hexadecimal digits of one case; `None` where a byte is none.
fn hexadecimal(text: &[u8], digits: usize, upper: bool) -> Option<u64> {
    // The byte before the first letter: letters become 1 to 6.
    let letters = u64::from(if upper { b'A' - 1 } else { b'a' - 1 }) * ONES;
    let (mut value, mut at) = (0, 0);
    while at < digits {
        let len = (digits - at).min(8);
        let word = eight(text.get(at..)?);
        let digit = word ^ (u64::from(b'0') * ONES);
        let not_digits = above(digit & !HIGH, 9) | digit & HIGH;
        let letter = word ^ letters;
        let in_letters = above(letter & !HIGH, 0) & !above(letter & !HIGH, 6) & !letter;
        if before(not_digits & !in_letters) < len {
            return None;
        }
        let nibbles = (word & (0x0f * ONES)) + (in_letters >> 7) * 9;
        value = value << (len * 4) | eight_nibbles(last_of(nibbles, len));
        at += len;
    }
    Some(value)
}

/// The number of eight hexadecimal digits, each a byte, the highest first.
fn eight_nibbles(nibbles: u64) -> u64 {
    let bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes << 8 | bytes >> 16) & 0x0000_ffff_0000_ffff;
    (halves << 16 | halves >> 32) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shapes::hex_digit;
    use super::*;

    proptest! {
        #[test]
        fn decimal_digits_are_those_at_the_start(text in "[0-9]{0,20}(.{0,3}[0-9]{0,9})?", most in 0..=DIGITS + 1) {
            let len = span(text.as_bytes(), 0, u8::is_ascii_digit).min(most);
            let expected = match len {
                0 => Some((0, 0)),
                1..=DIGITS => text[..len].parse().ok().map(|value| (value, len)),
                _ => None,
            };
            prop_assert_eq!(decimal(text.as_bytes(), most), expected);
        }

        #[test]
        fn hexadecimal_digits_are_of_one_case(text in "[0-9a-fA-F]{0,16}|[0-9a-f]{0,16}|[0-9A-F]{0,16}", digits in 0..=HEX_DIGITS, upper: bool) {
            let digit = |value: u64, byte: &u8| Some(value << 4 | hex_digit(*byte, upper)?);
            let bytes = text.as_bytes().get(..digits);
            let expected = bytes.and_then(|bytes| bytes.iter().try_fold(0, digit));
            prop_assert_eq!(hexadecimal(text.as_bytes(), digits, upper), expected);
        }
    }

    #[test]
    fn strings_of_other_templates_leave_no_fields() {
        let words = Piece::Word(vec![b"a".to_vec()]);
        let dash = Piece::Literal(b"-".to_vec());
        let mut pieces = [words, dash, Piece::Decimal];
        let mut fields = vec![7];
        for other in ["b-", "b-1-2", "b-01", "b-1234567890123456789", "1-2", ""] {
            let parsed = parse(&mut pieces, other.as_bytes(), &mut fields);
            assert_eq!((parsed, fields.as_slice()), (None, &[7][..]), "{other}");
        }
        assert_eq!(pieces[0], Piece::Word(vec![b"a".to_vec()]));
        let longest = "b-123456789012345678";
        assert!(parse(&mut pieces, longest.as_bytes(), &mut fields).is_some());
        assert_eq!(fields, [7, 1, 123_456_789_012_345_678]);
    }

    #[test]
    fn each_byte_is_a_digit_or_none() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut text = *b"12345678";
                text[at] = byte;
                let is_digit = byte.is_ascii_digit();
                let len = decimal(&text, DIGITS).unwrap().1;
                assert_eq!(len, if is_digit { 8 } else { at }, "{byte} at {at}");
                for upper in [false, true] {
                    let is_hex = hex_digit(byte, upper).is_some();
                    let found = hexadecimal(&text, 8, upper);
                    assert_eq!(found.is_some(), is_hex, "{byte} at {at}");
                }
            }
        }
    }
}
