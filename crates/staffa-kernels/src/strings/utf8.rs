//! Which bytes are text: UTF-8, and every string of it by itself.
//!
//! Where all bytes are ASCII, as in most columns, one pass at the speed of memory tells that every
//! string is text.

use arrow_array::{GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};

use crate::simd::dispatch::dispatch;

dispatch! {
    /// Whether all bytes are ASCII.
    fn is_ascii(bytes: &[u8]) -> bool = ascii_body;
}

#[inline(always)]
fn ascii_body(bytes: &[u8]) -> bool {
    // Chunks of a few KB end early on a text of another language.
    bytes
        .chunks(4096)
        .all(|chunk| chunk.iter().fold(0, |any, byte| any | byte) < 0x80)
}

/// Whether bytes are UTF-8, and every string in them, which begin at `starts`, begins with a
/// character.
#[inline]
pub(super) fn is_text(bytes: &[u8], mut starts: impl Iterator<Item = usize>) -> bool {
    let begins = |start| {
        let byte = bytes.get(start);
        byte.is_none_or(|byte| !(0x80..0xc0).contains(byte))
    };
    is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok() && starts.all(begins)
}

/// The position of the first string that is not UTF-8 by itself, of strings that stand one after
/// another and are all of `bytes`; `None` where all are.
#[inline]
pub(super) fn first_other(bytes: &[u8], lengths: &[u32]) -> Option<usize> {
    let starts = lengths.iter().scan(0, |end, length| {
        Some(std::mem::replace(end, *end + *length as usize))
    });
    (!is_text(bytes, starts)).then(|| text_before(bytes, lengths))
}

/// The number of strings before the first that is not UTF-8 by itself.
#[cold]
fn text_before(strings: &[u8], lengths: &[u32]) -> usize {
    let mut rest = strings;
    let is_text = |length: &&u32| {
        let Some((string, behind)) = rest.split_at_checked(**length as usize) else {
            return false;
        };
        rest = behind;
        std::str::from_utf8(string).is_ok()
    };
    lengths.iter().take_while(is_text).count()
}

/// The array of strings that are UTF-8; `None` where they are not, where the offsets exceed the
/// data, or where there are not as many validity bits as strings.
pub fn text_array<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    data: &Buffer,
    nulls: Option<&NullBuffer>,
) -> Option<GenericStringArray<O>> {
    let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
    let starts = offsets.iter().map(|offset| offset.as_usize() - first);
    if nulls.is_some_and(|nulls| nulls.len() != offsets.len() - 1)
        || !is_text(data.get(first..last)?, starts)
    {
        return None;
    }
    // SAFETY: the offsets do not decrease, by their type, and are within the data. All strings
    // together are UTF-8, and each begins with a character where the one before ends. There are as
    // many validity bits as strings.
    Some(unsafe {
        GenericStringArray::new_unchecked(offsets.clone(), data.clone(), nulls.cloned())
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;

    use super::*;
    use crate::simd::dispatch::testing::on_every_level;

    #[test]
    fn arrays_pass_all_of_arrows_checks() {
        on_every_level(|| {
            for text in [
                "one two three ".repeat(900),
                "eins zw\u{f6}lf \u{6f22} ".repeat(900),
            ] {
                let strings: Vec<&str> = text.split_inclusive(' ').collect();
                let offsets = OffsetBuffer::from_lengths(strings.iter().map(|s| s.len()));
                let data = Buffer::from_vec(text.clone().into_bytes());
                let array = text_array::<i32>(&offsets, &data, None).unwrap();
                array.to_data().validate_full().unwrap();
                assert!(array.iter().map(Option::unwrap).eq(strings));
            }
        });
    }

    #[test]
    fn other_bytes_are_refused() {
        let array = |offsets: &[i32], data: &[u8], nulls: Option<&NullBuffer>| {
            let offsets = OffsetBuffer::new(offsets.to_vec().into());
            text_array(&offsets, &Buffer::from_vec(data.to_vec()), nulls)
        };
        assert!(
            array(&[0, 1, 2], "\u{e4}".as_bytes(), None).is_none(),
            "half a character"
        );
        assert!(array(&[0, 2], "\u{e4}".as_bytes(), None).is_some());
        assert!(array(&[0, 1], b"\xff", None).is_none());
        assert!(array(&[0, 2, 5], b"abcd", None).is_none(), "past the data");
        let three = NullBuffer::new_null(3);
        assert!(array(&[0, 2, 5], b"abcde", Some(&three)).is_none());
    }
}
