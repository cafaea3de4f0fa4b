//! Front coding: each string as the length of the prefix that it shares with the one before, and its
//! suffix.
//!
//! ```text
//! payload is empty | child: prefixes (u32) | child: suffixes (strings)
//! ```
//!
//! The first string of every vector has no prefix, so that a vector is decoded alone. For rows that
//! resemble the row before, and for sorted values.

use staffa_kernels::{join_prefixes, last_below, sum_u32};

use super::onpair::OnPair;
use super::prelude::*;
use crate::decode::{
    Appended, BytesDecoder, by_vector, many_of, no_row, read_unsorted_strings, take_strings,
};
use crate::encode::rough_bytes;
use crate::values::{Strings, StringsBuf};

/// See the [module](self).
pub struct FrontCoding;

impl Encoding for FrontCoding {
    fn info(&self) -> &Info {
        &Info {
            id: 19,
            name: "front_coding",
            about: "strings as what they share with the one before, and the rest",
            child_names: &["prefixes", "suffixes"],
            availability: Availability::Slow,
            decode_picos: 7200,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bytes
    }

    /// A fifth of the bytes must be shared, by a few pairs of neighbours.
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        const PAIRS: usize = 64;
        let Values::Bytes(strings) = values else {
            return false;
        };
        if stats.is_few_strings() {
            return false;
        }
        let step = (strings.len() / PAIRS).max(1);
        let (mut common, mut bytes) = (0, 0);
        for i in (0..strings.len().saturating_sub(1)).step_by(step) {
            let (a, b) = (strings.get(i), strings.get(i + 1));
            // Equal strings are for dictionaries and runs.
            if a != b {
                common += shared(a, b);
                bytes += b.len();
            }
        }
        strings.contents().len() >= 512 && common * 5 >= bytes.max(1)
    }

    /// By the suffixes in OnPair: a sample of them says little.
    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let strings = byte_strings(values)?;
        let (prefixes, suffixes) = split(strings, chooser.vector_rows());
        let suffixes = Values::Bytes(suffixes.as_strings());
        let suffixes = if chooser.offers(&OnPair) {
            OnPair.estimate(suffixes, &Stats::new(suffixes, Kind::Unsigned), chooser)?
        } else {
            Some(chooser.flat().estimate_child(suffixes, Kind::Unsigned)?)
        };
        let prefixes = chooser.estimate_child(Values::U32(&prefixes), Kind::Unsigned)?;
        Ok(suffixes.map(|suffixes| 8 + suffixes + prefixes))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let strings = byte_strings(values)?;
        let (prefixes, suffixes) = split(strings, chooser.vector_rows());
        if chooser.is_trial() {
            // OnPair stands for whatever encodes the suffixes.
            let rest = Values::Bytes(suffixes.as_strings());
            let rest = if chooser.offers(&OnPair) {
                OnPair.encode(rest, &Stats::new(rest, Kind::Unsigned), &chooser.flat())?
            } else {
                Some(chooser.flat().child(rest, Kind::Unsigned)?)
            };
            let payload = vec![0; rough_bytes(Values::U32(&prefixes))];
            return rest.map_or(Ok(None), |rest| node(self, values, payload, vec![rest]));
        }
        let children = vec![
            chooser.child(Values::U32(&prefixes), Kind::Unsigned)?,
            chooser
                .flat()
                .child(Values::Bytes(suffixes.as_strings()), Kind::Unsigned)?,
        ];
        node(self, values, vec![], children)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        node.cursor().finish("payload")?;
        expect_strings(node)?;
        let prefixes =
            cx.open_words::<u32>(node.child(0, "prefixes", PhysicalType::U32, node.len)?)?;
        let suffixes =
            cx.open_bytes(node.child(1, "suffixes", PhysicalType::Bytes, node.len)?)?;
        strings(Joined { prefixes, suffixes })
    }
}

/// Length of the longest common prefix.
pub(super) fn shared(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let mut same = 0;
    for (a, b) in words {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return same + differ.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    let rest = a.iter().zip(b).skip(same);
    same + rest.take_while(|(a, b)| a == b).count()
}

/// Prefixes and suffixes; every `vector_rows` strings one has no prefix.
fn split(strings: Strings<'_>, vector_rows: usize) -> (Vec<u32>, StringsBuf) {
    let (mut prefixes, mut suffixes) = (Vec::with_capacity(strings.len()), StringsBuf::new());
    let mut before: &[u8] = &[];
    for (i, string) in strings.iter().enumerate() {
        let prefix = if i.is_multiple_of(vector_rows) {
            0
        } else {
            shared(before, string)
        };
        let (_, suffix) = string.split_at(prefix);
        prefixes.push(prefix as u32);
        suffixes.push(suffix);
        before = string;
    }
    (prefixes, suffixes)
}

struct Joined<'a> {
    prefixes: Box<dyn Decoder<u32> + 'a>,
    suffixes: Box<dyn BytesDecoder + 'a>,
}

impl BytesDecoder for Joined<'_> {
    fn len(&self) -> usize {
        self.prefixes.len()
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let suffixes = self.suffixes.vector_bytes(v, cx)?;
        cx.with(vector_len(self.prefixes.len(), v), |cx, prefixes| {
            self.prefixes.vector(v, cx, prefixes)?;
            Ok(suffixes + sum_u32(prefixes) as usize)
        })
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        let bytes = self.suffixes.vector_bytes(v, cx)?;
        // Suffixes are never longer than the strings: more would not fit into `out`.
        corrupt_if!(bytes > out.len(), "strings longer than declared");
        cx.with(lengths.len(), |cx, prefixes| {
            self.prefixes.vector(v, cx, prefixes)?;
            cx.with_bytes(bytes + SLACK, |cx, suffixes| {
                let written = self.suffixes.vector(v, cx, lengths, suffixes)?;
                let joined = join_prefixes(prefixes, within(suffixes, 0..written)?, lengths, out);
                joined.ok_or_else(|| no_prefix(v))
            })
        })
    }

    /// Follows the prefixes of few rows back to the suffixes that they are taken from.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if many_of(rows, MANY) {
            take_strings(self, rows, cx, out)
        } else {
            self.take_each(rows, cx, out)
        }
    }
}

/// Rows of a vector from which on all of it is decoded: that takes 2 us, a row by itself 0.25.
const MANY: usize = 8;

/// Bytes of a string that are the first of a suffix: up to `end`, or all of it.
struct Part {
    suffix: u32,
    start: u32,
    end: Option<u32>,
}

/// Rows before one that are looked at one by one: most parts are of a row near by.
const NEAR: usize = 8;

/// Appends the parts of the last string, from its first bytes on; the rows from `first` on have
/// these prefixes. `false` where the prefix of the first row is a part of none.
fn push_parts(first: u32, mut prefixes: &[u32], parts: &mut Vec<Part>) -> bool {
    let (before, mut end) = (parts.len(), None);
    let mut last = prefixes.len().checked_sub(1);
    while let Some(i) = last {
        let Some((upto, [start, ..])) = prefixes.split_at_checked(i) else {
            return false;
        };
        let (suffix, start) = (first + i as u32, *start);
        parts.push(Part { suffix, start, end });
        (prefixes, end) = (upto, Some(start));
        if start == 0 {
            break;
        }
        let (far, near) = prefixes.split_at(prefixes.len().saturating_sub(NEAR));
        let found = near.iter().rposition(|prefix| *prefix < start);
        last = match found {
            Some(at) => Some(far.len() + at),
            None => last_below(far, start),
        };
    }
    if let Some(own) = parts.get_mut(before..) {
        own.reverse();
    }
    end == Some(0)
}

impl Joined<'_> {
    /// The parts of the strings at some rows, and the number of them up to every row.
    fn parts(&self, rows: &[u32], cx: &mut Scratch) -> Result<(Vec<Part>, Vec<usize>)> {
        let (mut parts, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (v, rows) in by_vector(rows) {
            cx.with(vector_len(self.len(), v), |cx, prefixes| {
                self.prefixes.vector(v, cx, prefixes)?;
                for row in rows {
                    let upto = prefixes.get(..=*row as usize % VECTOR);
                    let upto = upto.ok_or_else(|| no_row(*row, self.len()))?;
                    if !push_parts((v * VECTOR) as u32, upto, &mut parts) {
                        return Err(no_prefix(v));
                    }
                    ends.push(parts.len());
                }
                Ok(())
            })?;
        }
        Ok((parts, ends))
    }

    /// Appends strings, each joined from the suffixes that it consists of.
    fn take_each(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let (parts, ends) = self.parts(rows, cx)?;
        let (mut ends, mut next) = (ends.into_iter().peekable(), parts.iter().zip(1..));
        let (mut string, max_bytes) = (Vec::new(), out.allowed());
        let suffixes: Vec<u32> = parts.iter().map(|part| part.suffix).collect();
        let each = |suffix: &[u8]| {
            let missing = || Error::internal("more suffixes than parts");
            let (part, count) = next.next().ok_or_else(missing)?;
            let bytes = part
                .end
                .map_or(suffix.len(), |end| (end - part.start) as usize);
            let used = suffix.get(..bytes);
            string.extend_from_slice(used.ok_or_else(|| no_prefix(part.suffix as usize / VECTOR))?);
            if ends.next_if_eq(&count).is_some() {
                out.push(&string)?;
                string.clear();
            }
            Ok(())
        };
        read_unsorted_strings(self.suffixes.as_ref(), max_bytes, &suffixes, cx, each)
    }
}

fn no_prefix(v: usize) -> Error {
    Error::corrupt(format!(
        "prefixes no longer than the string before expected in vector {v}"
    ))
}

/// Room behind the suffixes for wide copies.
const SLACK: usize = 64;

crate::conformance!(FrontCoding);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::{holds, strings_of, tree};

    #[test]
    fn neighbours_share_prefixes() {
        let strings: Vec<Vec<u8>> = (0..3000u32)
            .map(|i| format!("https://staffa.example/{}/{}", i / 40, i * i % 97).into_bytes())
            .collect();
        let node = tree(&FrontCoding, &strings);
        assert_eq!(node.children.len(), 2);
        holds(&FrontCoding, &strings, false);
        holds(&FrontCoding, &strings[..90], true);
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 0),
            ("islands", "islander", 6),
            ("abcdefgh1", "abcdefgh1", 9),
        ] {
            assert_eq!(shared(a.as_bytes(), b.as_bytes()), expected);
        }
    }

    #[test]
    fn the_example_of_the_format_decodes() {
        let node =
            "13 27 02 00 02 03 02 02 02 0c 00 17 02 07 73 74 61 66 66 61 67 02 03 02 02 03 0e";
        assert_eq!(strings_of(node, 2), ["staffa", "stag"]);
    }
}
