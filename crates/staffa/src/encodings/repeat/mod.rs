//! Repeat: a list of values that came before, as an offset back and a length (LZ77: Lempel, Ziv 1977,
//! of whole values).
//!
//! ```text
//! child: literals | child: literal lengths (u32 * s) | child: match lengths (u32 * s) | child: offsets (u32 * s)
//! ```
//!
//! Tables repeat whole lists: the candidates for every precinct, the stops of every trip. This does
//! to values what zstd does to the bytes of their codes, within the block, and the four lists are
//! encoded in turn. A vector cannot be decoded without those before it, so the whole block is decoded
//! for the first vector. Point reads of a few rows follow these back through the matches to their
//! literals, which takes the lists alone; a second one decodes the block.

mod follow;

use staffa_kernels::{PoolVec, Repeated, Repeats, copy_repeats};

use super::prelude::*;
use crate::decode::{Lazy, decode_all, no_row, words};
use crate::encode::{Sequences, matches};
use crate::values::OwnedValues;

/// See the [module](self).
pub struct Repeat;

impl Encoding for Repeat {
    fn info(&self) -> &Info {
        &Info {
            id: 16,
            name: "repeat",
            about: "lists of values that came before: how far back, how long, and the values between them",
            child_names: &["literals", "literal_lengths", "match_lengths", "offsets"],
            availability: Availability::Slow,
            // More than a few rows, and a second point read, decode the block.
            point_access: PointAccess::Block,
            decode_picos: 300,
            // Repeats lie farther apart than the values of a sample.
            estimates_from_all_values: true,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        fits_u64(ty)
    }

    fn is_viable(&self, _: Values<'_>, stats: &Stats<'_>) -> bool {
        stats.sequences().is_some()
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Some(found) = stats.sequences() else {
            return Ok(None);
        };
        let mut bytes = 8;
        for part in [&found.literals, &found.lengths, &found.offsets] {
            bytes += chooser.estimate_child(Values::U32(part), Kind::Unsigned)?;
        }
        let literals = literals(found, values)?;
        bytes += chooser.estimate_child(literals.borrow(), stats.kind())?;
        // Samples of lengths and offsets miss the rare large ones.
        Ok(Some(bytes + bytes / 8))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let all: Sequences;
        let found = match stats.sequences() {
            Some(found) => found,
            None if chooser.must_encode() => {
                all = matches::all(values);
                &all
            }
            None => return Ok(None),
        };
        let literals = literals(found, values)?;
        let mut children = vec![chooser.child(literals.borrow(), stats.kind())?];
        for part in [&found.literals, &found.lengths, &found.offsets] {
            children.push(chooser.child(Values::U32(part), Kind::Unsigned)?);
        }
        node(self, values, Vec::new(), children)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(4)?;
        node.cursor().finish("payload")?;
        open_ints!(node, T => Ok(T::wrap(Box::new(Parts::<T>::open(node, cx)?))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.children.as_slice() {
            [literals, _, lengths, _] => {
                format!("{} matches, {} literals", lengths.len, literals.len)
            }
            _ => String::new(),
        }
    }
}

/// The values that are no part of a match.
fn literals(found: &Sequences, values: Values<'_>) -> Result<OwnedValues> {
    Ok(match values {
        Values::U8(words) => OwnedValues::U8(found.literal_values(words)),
        Values::U16(words) => OwnedValues::U16(found.literal_values(words)),
        Values::U32(words) => OwnedValues::U32(found.literal_values(words)),
        Values::U64(words) => OwnedValues::U64(found.literal_values(words)),
        other => {
            let found = other.physical_type();
            return Err(Error::internal(format!(
                "sequences of integers expected, found {found:?}"
            )));
        }
    })
}

/// The four lists, and the values decoded from them.
struct Parts<'a, T> {
    len: usize,
    literals: Box<dyn Decoder<T> + 'a>,
    literal_lengths: Box<dyn Decoder<u32> + 'a>,
    match_lengths: Box<dyn Decoder<u32> + 'a>,
    offsets: Box<dyn Decoder<u32> + 'a>,
    all: Lazy<PoolVec<T>>,
}

impl<'a, T: Integer> Parts<'a, T> {
    fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        let literals = node.any_child(0, "literals")?;
        corrupt_if!(
            literals.ty != node.ty,
            "literals of {:?} expected, found {:?}",
            node.ty,
            literals.ty
        );
        let sequences = node.any_child(1, "literal lengths")?.len;
        let mut open = |child, what| {
            cx.open_words::<u32>(node.child(child, what, PhysicalType::U32, sequences)?)
        };
        let literal_lengths = open(1, "literal lengths")?;
        let match_lengths = open(2, "match lengths")?;
        let offsets = open(3, "offsets")?;
        cx.budget.take((node.len * T::BYTES) as u64, "values")?;
        cx.budget
            .take((literals.len * T::BYTES) as u64, "literals")?;
        let literals = cx.open_words::<T>(literals)?;
        Ok(Self {
            len: node.len,
            literals,
            literal_lengths,
            match_lengths,
            offsets,
            all: Lazy::default(),
        })
    }

    /// Calls `each` with the sequences of every vector of the lists.
    fn sequences(
        &self,
        cx: &mut Scratch,
        mut each: impl FnMut(Repeats<'_>) -> Result<()>,
    ) -> Result<()> {
        let sequences = self.offsets.len();
        cx.with(3 * VECTOR, |cx, buffer: &mut [u32]| {
            for v in 0..sequences.div_ceil(VECTOR) {
                let rows = vector_len(sequences, v);
                let (literals, rest) = buffer.split_at_mut(rows);
                let (lengths, rest) = rest.split_at_mut(rows);
                let offsets = places(rest, rows)?;
                self.literal_lengths.vector(v, cx, literals)?;
                self.match_lengths.vector(v, cx, lengths)?;
                self.offsets.vector(v, cx, offsets)?;
                each(Repeats {
                    literals,
                    lengths,
                    offsets,
                })?;
            }
            Ok(())
        })
    }

    /// All values.
    fn all(&self, cx: &mut Scratch) -> Result<&[T]> {
        self.all.all(|| self.decode(cx)).map(|all| &**all)
    }

    fn decode(&self, cx: &mut Scratch) -> Result<PoolVec<T>> {
        let literals = decode_all(self.literals.as_ref())?;
        let mut values = words::<T>(self.len)?;
        let out = &mut *values;
        let mut done = Repeated::default();
        self.sequences(cx, |repeats| {
            copy_repeats(&literals, repeats, &mut done, out)
                .map_err(|i| no_sequence(sequence(repeats, i), literals.len(), done, self.len))
        })?;
        let (rest, places) = (literals.get(done.literals..), out.get_mut(done.values..));
        match (rest, places) {
            (Some(rest), Some(places)) if rest.len() == places.len() => {
                places.copy_from_slice(rest);
            }
            _ => return Err(other_len(done, literals.len(), self.len)),
        }
        Ok(values)
    }
}

/// Sequence `i`: literals before the match, its length, its offset back. For messages.
fn sequence(repeats: Repeats<'_>, i: usize) -> [usize; 3] {
    [repeats.literals, repeats.lengths, repeats.offsets]
        .map(|part| part.get(i).map_or(0, |value| *value as usize))
}

/// What is decoded behind a sequence; `None` where it copies what is not there.
fn after(
    [before, length, offset]: [usize; 3],
    literals: usize,
    done: Repeated,
    len: usize,
) -> Option<Repeated> {
    let behind = (literals - done.literals).checked_sub(before)?;
    let there = done.values + before;
    let room = len.checked_sub(there)?.checked_sub(behind)?;
    let fits = length.wrapping_sub(1) < room && offset.wrapping_sub(1) < there;
    fits.then_some(Repeated {
        literals: done.literals + before,
        values: there + length,
    })
}

/// The error for a sequence that does not fit.
#[cold]
fn no_sequence(
    [before, length, offset]: [usize; 3],
    literals: usize,
    done: Repeated,
    len: usize,
) -> Error {
    let left = literals.saturating_sub(done.literals);
    let Some(behind) = left.checked_sub(before) else {
        return Error::corrupt(format!("{before} literals expected, {left} are left"));
    };
    let there = done.values + before;
    // What is left of the literals ends the block.
    let room = len.saturating_sub(there).saturating_sub(behind);
    if length == 0 || length > room {
        return Error::corrupt(format!(
            "a match of 1 to {room} values expected, found {length}"
        ));
    }
    Error::corrupt(format!(
        "an offset of 1 to {there} expected, found {offset}"
    ))
}

#[cold]
fn other_len(done: Repeated, literals: usize, len: usize) -> Error {
    Error::corrupt(format!(
        "{len} values expected, found {}",
        done.values + literals.saturating_sub(done.literals)
    ))
}

impl<T: Integer> Decoder<T> for Parts<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let from = self.all(cx)?.get(v * VECTOR..v * VECTOR + out.len());
        let from = from.ok_or_else(|| Error::internal(format!("vector {v} expected")))?;
        out.copy_from_slice(from);
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if self.few(rows, cx, out)? {
            return Ok(());
        }
        let values = self.all(cx)?;
        for (row, place) in rows.iter().zip(out) {
            let value = values.get(*row as usize);
            *place = *value.ok_or_else(|| no_row(*row, values.len()))?;
        }
        Ok(())
    }
}

crate::conformance!(Repeat);

#[cfg(test)]
mod tests;
