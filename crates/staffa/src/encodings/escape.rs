//! Escape: values of a narrow window as they are; the others are exceptions, with an escape in their
//! place that no value of the window has. Below a dictionary with codes by frequency this is PDICT
//! (Super-Scalar RAM-CPU Cache Compression, section 3.1).
//!
//! ```text
//! payload = escape: word | per vector: exceptions u16
//! child: values, the escape in place of every exception | child: exceptions, in row order
//! ```
//!
//! An exception costs its own bits and no position, so that far more of them pay than in frame of
//! reference: counts, gaps and differences have long tails. A value that equals the escape is an
//! exception.

use std::ops::Range;

use staffa_kernels::{count_equal, replace_escapes};

use super::frame_of_reference;
use super::prelude::*;
use crate::decode::{LazyWords, by_vector, many, no_row, take_vectors};

/// Values of the sample by which the window is found.
const SAMPLED: usize = 2048;

/// The estimate is raised by a 24th.
const HURDLE: usize = 24;

/// Fewer values have no long tail.
const LEAST_ROWS: usize = 256;

/// See the [module](self).
pub struct Escape;

impl Encoding for Escape {
    fn info(&self) -> &Info {
        &Info {
            id: 25,
            name: "escape",
            about: "integers of a narrow window, an escape in place of the others, and the others",
            child_names: &["values", "exceptions"],
            availability: Availability::Slow,
            decode_picos: 100,
            bits: crate::encode::Bits::Fewer,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        is_integer(ty, kind)
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        values.len() >= LEAST_ROWS
    }

    /// Higher than the sample says: other columns cannot be derived from values behind escapes, which
    /// must be worth some bytes.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        Ok(chooser
            .estimate_by_sample(self.info().id, values, stats)?
            .map(|bytes| bytes + bytes / HURDLE))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_ints!(values, words => encode(words, stats.kind(), chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        open_ints!(node, T => open::<T>(node, cx))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, 1, "exceptions")
    }
}

/// The values that are not exceptions: those at most `span` above `low` in the values' own order.
struct Window {
    low: u64,
    span: u64,
}

/// A number whose order is that of the values.
fn ordered<T: Integer>(value: T, kind: Kind) -> u64 {
    value.to_u64()
        ^ if kind == Kind::Signed {
            1 << (T::BITS - 1)
        } else {
            0
        }
}

/// The window with the fewest bytes by two histograms of widths, above the least value and about the
/// median; `None` where a frame of reference with exceptions takes about as little.
fn window<T: Integer>(values: &[T], kind: Kind, must_encode: bool) -> Option<Window> {
    // An odd step: tables have even periods.
    let step = (values.len() / SAMPLED) | 1;
    let some = || values.iter().step_by(step).map(|v| ordered(*v, kind));
    let (least, most) = some().fold((u64::MAX, 0), |(least, most), v| {
        (least.min(v), most.max(v))
    });
    let mut middle = [0; 15];
    middle
        .iter_mut()
        .zip(values.iter().step_by((values.len() / 15).max(1)))
        .for_each(|(m, v)| *m = ordered(*v, kind));
    middle.sort_unstable();
    let [.., middle, _, _, _, _, _, _, _] = middle;
    let bits = |v: u64| (64 - v.leading_zeros()) as usize;
    let full = bits(most.saturating_sub(least));
    let (mut above, mut about) = ([0u32; 65], [0u32; 65]);
    for v in some() {
        let off = v.wrapping_sub(middle) as i64;
        for (histogram, width) in [
            (&mut above, bits(v.wrapping_sub(least))),
            (&mut about, bits(((off << 1) ^ (off >> 63)) as u64)),
        ] {
            if let Some(count) = histogram.get_mut(width) {
                *count += 1;
            }
        }
    }
    let rows = above.iter().sum::<u32>() as usize;
    let mut best = (usize::MAX, 0, false);
    let mut frame = rows * full;
    for (histogram, centred) in [(&above, false), (&about, true)] {
        let mut rest = rows;
        for (width, count) in histogram.iter().enumerate().take(full) {
            rest -= *count as usize;
            if !centred && rest * 8 < rows {
                frame = frame.min(rows * width + rest * (16 + full.next_multiple_of(8)));
            }
            if width > 0 && rest * 2 <= rows {
                best = best.min((rows * width + rest * full, width, centred));
            }
        }
    }
    let (bytes, width, centred) = best;
    if width == 0 || !must_encode && bytes + bytes / 16 > frame {
        return None;
    }
    let low = if centred {
        middle.saturating_sub(1 << (width - 1)).max(least)
    } else {
        least
    };
    Some(Window {
        low,
        span: (1 << width) - 1,
    })
}

fn open<'a, T: Integer>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    let mut cursor = node.cursor();
    let escape = read_word::<T>(&mut cursor)?;
    let (mut starts, mut sum) = (vec![0], 0u32);
    for v in 0..node.len.div_ceil(VECTOR) {
        let (count, rows) = (cursor.u16()?, vector_len(node.len, v));
        corrupt_if!(
            usize::from(count) > rows,
            "at most {rows} exceptions expected in vector {v}, found {count}"
        );
        sum += u32::from(count);
        starts.push(sum);
    }
    cursor.finish("counts")?;
    let values = cx.open_words::<T>(node.child(0, "values", T::TYPE, node.len)?)?;
    let exceptions = node.child(1, "exceptions", T::TYPE, sum as usize)?;
    let exceptions = LazyWords::open(exceptions, cx, "exceptions")?;
    Ok(T::wrap(Box::new(Escaped {
        escape,
        starts,
        values,
        exceptions,
    })))
}

fn encode<T: Integer>(words: &[T], kind: Kind, chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let Some(Window { low, span }) = window(words, kind, chooser.must_encode()).or_else(|| {
        // Everything but the greatest value.
        chooser.must_encode().then_some(Window {
            low: 0,
            span: T::MAX.to_u64(),
        })
    }) else {
        return Ok(None);
    };
    let escape = low.saturating_add(span).min(T::MAX.to_u64());
    let least = T::from_u64(ordered(T::from_u64(low), kind));
    let Separated {
        values,
        exceptions,
        payload,
    } = separated(words, least, T::from_u64(escape - low));
    if chooser.is_trial() {
        let rows = chooser.vector_rows();
        let frames = |words: &[T]| {
            if words.is_empty() {
                0
            } else {
                frame_of_reference::size(words, kind, rows)
            }
        };
        // Only the size counts.
        let bytes = frames(&values) + frames(&exceptions) + words.len() * 2 / VECTOR;
        return node(&Escape, T::values(words), vec![0; bytes], vec![]);
    }
    if !chooser.must_encode() && exceptions.len() * 2 > words.len() {
        return Ok(None);
    }
    let children = vec![
        chooser.flat().child(T::values(&values), kind)?,
        chooser.child(T::values(&exceptions), kind)?,
    ];
    node(&Escape, T::values(words), payload, children)
}

/// Values with escapes in place of the exceptions, the exceptions, and their number in every vector
/// behind the escape.
struct Separated<T> {
    values: Vec<T>,
    exceptions: Vec<T>,
    payload: Vec<u8>,
}

/// Separates the words that are less than `span` above `least` from the others.
fn separated<T: Integer>(words: &[T], least: T, span: T) -> Separated<T> {
    let escape = least.wrapping_add(span);
    let mut values = Vec::with_capacity(words.len());
    let (mut exceptions, mut payload) = (Vec::new(), Vec::new());
    escape.write_le(&mut payload);
    let is_held = |word: &T| word.wrapping_sub(least) < span;
    for vector in words.chunks(VECTOR) {
        let held = |word: &T| if is_held(word) { *word } else { escape };
        values.extend(vector.iter().map(held));
        // Branch-free compaction: write always, advance only for exceptions.
        let mut found = exceptions.len();
        exceptions.resize(found + vector.len() + 1, T::ZERO);
        let before = found;
        for word in vector {
            if let Some(place) = exceptions.get_mut(found) {
                *place = *word;
            }
            found += usize::from(!is_held(word));
        }
        exceptions.truncate(found);
        payload.extend(((found - before) as u16).to_le_bytes());
    }
    Separated {
        values,
        exceptions,
        payload,
    }
}

struct Escaped<'a, T> {
    escape: T,
    /// Exceptions before every vector, and all of them.
    starts: Vec<u32>,
    values: Box<dyn Decoder<T> + 'a>,
    exceptions: LazyWords<'a, T>,
}

impl<T: Integer> Decoder<T> for Escaped<'_, T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.values.vector(v, cx, out)?;
        let Range { start, end } = span(&self.starts, v)?;
        // Those of later vectors as well: the kernel loads many at a time.
        let exceptions = if start < end {
            let all = self.exceptions.all()?.get(start..);
            all.ok_or_else(|| Error::internal("fewer exceptions than counted"))?
        } else {
            &[]
        };
        let (expected, found) = (end - start, replace_escapes(out, self.escape, exceptions));
        corrupt_if!(
            found != expected,
            "{expected} exceptions expected in vector {v}, found {found}"
        );
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return take_vectors(self, rows, cx, out);
        }
        self.values.take(rows, cx, out)?;
        let (mut numbers, mut at) = (Vec::new(), 0);
        for (v, rows) in by_vector(rows) {
            let found = out.get(at..at + rows.len());
            let found = found.ok_or_else(|| Error::internal("a place for each row expected"))?;
            if found.contains(&self.escape) {
                self.number(v, rows, cx, &mut numbers)?;
            }
            at += rows.len();
        }
        if numbers.is_empty() {
            return Ok(());
        }
        let mut values = vec![T::ZERO; numbers.len()];
        if !self.exceptions.take(&numbers, cx, &mut values)? {
            return Err(Error::internal("an exception past those counted"));
        }
        let places = out.iter_mut().filter(|value| **value == self.escape);
        places.zip(values).for_each(|(place, value)| *place = value);
        Ok(())
    }
}

impl<T: Integer> Escaped<'_, T> {
    /// Appends the numbers of the exceptions at some rows of a vector: they follow from all escapes
    /// before them.
    fn number(
        &self,
        v: usize,
        rows: &[u32],
        cx: &mut Scratch,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let Range { start, end } = span(&self.starts, v)?;
        cx.with(vector_len(self.len(), v), |cx, values| {
            self.values.vector(v, cx, values)?;
            let (mut number, mut next) = (start, 0);
            for row in rows {
                let i = *row as usize % VECTOR;
                let upto = values
                    .get(next..=i)
                    .ok_or_else(|| no_row(*row, self.len()))?;
                number += count_equal(upto, self.escape);
                if upto.last() == Some(&self.escape) {
                    corrupt_if!(
                        number > end,
                        "{} exceptions expected in vector {v}, found more",
                        end - start
                    );
                    numbers.push(number as u32 - 1);
                }
                next = i + 1;
            }
            Ok(())
        })
    }
}

crate::conformance!(Escape);
