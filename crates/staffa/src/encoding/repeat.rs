//! Repeat: a list of values that came before, as how far back and how long (Lempel, Ziv 1977, of whole values).
//!
//! ```text
//! child: literals | child: literal lengths (u32 * s) | child: match lengths (u32 * s) | child: offsets (u32 * s)
//! ```
//!
//! Tables repeat whole lists: the candidates for every precinct, the stops of every trip. What zstd does to the bytes of
//! such codes is done here to the values, within the block, and the parts are encoded again. No vector can be had without
//! those before it, so the block is put together at `open`.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{self as kernels, PoolVec, VECTOR, copy_repeats};

use super::{Encoding, Offered, PointRead};
use crate::choose::{Cascade, Sequences, Stats, repeats};
use crate::decode::{AnyDecoder, Decoder, Integer, OpenContext, Physical, Scratch, for_ints, vector_len, words};
use crate::error::{Error, Result};
use crate::gather::no_row;
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Repeat;

impl Encoding for Repeat {
    fn id(&self) -> u8 {
        16
    }

    fn name(&self) -> &'static str {
        "repeat"
    }

    fn offered(&self) -> Offered {
        Offered::Slow
    }

    fn decode_picos(&self) -> u32 {
        300
    }

    fn about(&self) -> &'static str {
        "lists of values that came before: how far back, how long, and the values between them"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["literals", "literal_lengths", "match_lengths", "offsets"]
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn suits(&self, _: Values<'_>, stats: &Stats<'_>) -> bool {
        stats.sequences().is_some()
    }

    /// Repeats lie farther apart than a sample's values.
    fn needs_all(&self) -> bool {
        true
    }

    fn estimate(&self, values: Values<'_>, stats: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let Some(found) = stats.sequences() else { return Ok(None) };
        let mut bytes = 8;
        for part in [&found.literals, &found.lengths, &found.offsets] {
            bytes += cascade.estimate_child(Values::U32(part), Kind::Unsigned)?;
        }
        for_ints!(values.physical_type(), T => {
            let literals = found.literal_values(T::slice(values).unwrap_or_default());
            bytes += cascade.estimate_child(T::values(&literals), stats.kind())?;
        }, _ => return Ok(None));
        // Samples of lengths and offsets make little of the rare large ones.
        Ok(Some(bytes + bytes / 8))
    }

    fn point_read(&self) -> PointRead {
        PointRead::Block
    }

    fn encode(&self, values: Values<'_>, stats: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let all: Sequences;
        let found = match stats.sequences() {
            Some(found) => found,
            None if cascade.is_forced() => {
                all = repeats::all(values);
                &all
            }
            None => return Ok(None),
        };
        for_ints!(values.physical_type(), T => {
            let literals = found.literal_values(T::slice(values).unwrap_or_default());
            let mut children = vec![cascade.child(T::values(&literals), stats.kind())?];
            for part in [&found.literals, &found.lengths, &found.offsets] {
                children.push(cascade.child(Values::U32(part), Kind::Unsigned)?);
            }
            Ok(Some(Node { encoding: 16, ty: T::TYPE, len: values.len(), payload: Vec::new(), children }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(4)?;
        node.cursor().finish("payload")?;
        for_ints!(node.ty, T => {
            let values = Parts::<T>::open(node, cx)?.values(node.len)?;
            Ok(T::wrap(Box::new(Repeated::<T> { values })))
        }, other => Err(Error::corrupt(format!("words of 8 to 64 bits expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.children.as_slice() {
            [literals, _, lengths, _] => format!("{} matches, {} literals", lengths.len, literals.len),
            _ => String::new(),
        }
    }
}

/// The children, opened. Those of the sequences are decoded a vector at a time.
struct Parts<'a, T> {
    literals: PoolVec<T>,
    literal_lengths: Box<dyn Decoder<u32> + 'a>,
    match_lengths: Box<dyn Decoder<u32> + 'a>,
    offsets: Box<dyn Decoder<u32> + 'a>,
}

impl<'a, T: Integer> Parts<'a, T> {
    fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        let literals = node.any_child(0, "literals")?;
        if literals.ty != node.ty || literals.len > node.len {
            return Err(Error::corrupt(format!("at most {} literals expected, found {}", node.len, literals.len)));
        }
        let sequences = node.any_child(1, "literal lengths")?.len;
        let mut open = |child, what| cx.open_words::<u32>(node.child(child, what, PhysicalType::U32, sequences)?);
        let literal_lengths = open(1, "literal lengths")?;
        let match_lengths = open(2, "match lengths")?;
        let offsets = open(3, "offsets")?;
        cx.budget.take((node.len * T::BYTES) as u64, "values")?;
        Ok(Self { literals: cx.all_words::<T>(literals, "literals")?, literal_lengths, match_lengths, offsets })
    }

    fn values(&self, len: usize) -> Result<PoolVec<T>> {
        let mut values = words::<T>(len)?;
        let out = &mut *values;
        let mut done = kernels::Repeated::default();
        let mut cx = Scratch::default();
        let mut buffers = [cx.take_u32(), cx.take_u32(), cx.take_u32()];
        let sequences = self.offsets.len();
        for v in 0..sequences.div_ceil(VECTOR) {
            let n = vector_len(sequences, v);
            let [before, lengths, offsets] = buffers.each_mut().map(|b| b.get_mut(..n).unwrap_or_default());
            self.literal_lengths.vector(v, &mut cx, before)?;
            self.match_lengths.vector(v, &mut cx, lengths)?;
            self.offsets.vector(v, &mut cx, offsets)?;
            let repeats = kernels::Repeats { literals: before, lengths, offsets };
            copy_repeats(&self.literals, repeats, &mut done, out).map_err(|i| {
                let [before, length, offset] = [&*before, lengths, offsets].map(|part| part.get(i).copied());
                no_sequence(
                    [before, length, offset].map(|value| value.unwrap_or(0) as usize),
                    self.literals.len(),
                    done,
                    len,
                )
            })?;
        }
        let (rest, places) = (self.literals.get(done.literals..), out.get_mut(done.values..));
        match (rest, places) {
            (Some(rest), Some(places)) if rest.len() == places.len() => places.copy_from_slice(rest),
            (rest, _) => {
                let found = done.values + rest.map_or(0, <[T]>::len);
                return Err(Error::corrupt(format!("{len} values expected, found {found}")));
            }
        }
        Ok(values)
    }
}

/// What is wrong with a sequence.
#[cold]
fn no_sequence([before, length, offset]: [usize; 3], literals: usize, done: kernels::Repeated, len: usize) -> Error {
    let left = literals.saturating_sub(done.literals);
    let Some(behind) = left.checked_sub(before) else {
        return Error::corrupt(format!("{before} literals expected, {left} are left"));
    };
    let there = done.values + before;
    // What is left of the literals ends the block.
    let room = len.saturating_sub(there).saturating_sub(behind);
    if length == 0 || length > room {
        return Error::corrupt(format!("a match of 1 to {room} values expected, found {length}"));
    }
    Error::corrupt(format!("an offset of 1 to {there} expected, found {offset}"))
}

struct Repeated<T> {
    values: PoolVec<T>,
}

impl<T: Integer> Decoder<T> for Repeated<T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let from = self.values.get(v * VECTOR..v * VECTOR + out.len());
        out.copy_from_slice(from.ok_or_else(|| Error::corrupt(format!("vector {v} is not there")))?);
        Ok(())
    }

    fn gather(&self, rows: &[u32], _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let values = &*self.values;
        for (row, place) in rows.iter().zip(out) {
            *place = *values.get(*row as usize).ok_or_else(|| no_row(*row, values.len()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursor;
    use crate::decode::{Budget, decode_all};

    fn decoded(literals: &[u32], before: &[u32], lengths: &[u32], offsets: &[u32], len: usize) -> Result<Vec<u32>> {
        let cascade = Cascade::default();
        let child = |values: &[u32]| cascade.child(Values::U32(values), Kind::Unsigned);
        let children = vec![child(literals)?, child(before)?, child(lengths)?, child(offsets)?];
        let node = Node { encoding: 16, ty: PhysicalType::U32, len, payload: Vec::new(), children };
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        let node = NodeRef::parse(&mut Cursor::new(&bytes), len, 9)?;
        let mut cx = OpenContext { budget: Budget::new(1 << 20), shared: &[], sources: Vec::new() };
        decode_all(cx.open_words::<u32>(&node)?.as_ref()).map(|values| values.to_vec())
    }

    #[test]
    fn a_match_may_overlap_itself() {
        let values =
            |literals, offset, length, len| decoded(literals, &[literals.len() as u32], &[length], &[offset], len);
        assert_eq!(values(&[7, 8, 9], 3, 5, 8).unwrap(), [7, 8, 9, 7, 8, 9, 7, 8]);
        assert_eq!(values(&[7, 8, 9], 1, 20, 23).unwrap()[2..], [9; 21]);
        let expected: Vec<u32> = (0..3002).map(|i| i % 2 + 4).collect();
        assert_eq!(values(&[4, 5], 2, 3000, 3002).unwrap(), expected);
        assert_eq!(decoded(&[1, 2, 3], &[2], &[2], &[1], 5).unwrap(), [1, 2, 2, 2, 3]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (before, length, offset, len) in
            [(3, 5, 4, 8), (3, 5, 0, 8), (3, 6, 1, 8), (3, 4, 1, 8), (4, 5, 1, 8), (0, 5, 1, 8), (3, 0, 1, 3)]
        {
            assert!(decoded(&[7, 8, 9], &[before], &[length], &[offset], len).is_err(), "{before} {length} {offset}");
        }
        assert!(decoded(&[7, 8, 9], &[3, 0], &[5], &[1], 8).is_err());
    }
}

crate::conformance!(Repeat);
