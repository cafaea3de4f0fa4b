//! Delta: differences from the value before, with one base per vector of 1,024 (PFOR-DELTA:
//! Super-Scalar RAM-CPU Cache Compression, section 3.1), so that a point read costs one vector.
//!
//! ```text
//! payload = base bytes: u8 | first base: word | per vector: its base above that of the vector before, zigzag, in
//!           `base bytes` bytes
//! child: deltas, signed
//! ```
//!
//! A vector's base is the value before it, so that the deltas of a sequence are one value
//! throughout.

use super::prelude::*;
use crate::values::{Physical as _, for_ints};
use staffa_kernels::{prefix_sum, unpack_prefix_sum};

/// See the [module](self).
pub struct Delta;

impl Encoding for Delta {
    fn info(&self) -> &Info {
        &Info {
            id: 4,
            name: "delta",
            about: "differences from the value before, one base per 1,024 values",
            child_names: &["deltas"],
            decode_picos: 200,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        is_integer(ty, kind)
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        values.len() > 2
            && for_ints!(values.physical_type(), T => T::slice(values).is_some_and(narrows), _ => false)
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_ints!(values, words => encode(words, chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        open_ints!(node, T => open::<T>(node, cx))
    }
}

/// Whether deltas have fewer bits than values less the least of their neighbours, by a few parts.
fn narrows<T: Integer>(words: &[T]) -> bool {
    const PARTS: usize = 16;
    const PART: usize = 64;
    let stride = (words.len() / PARTS).max(PART);
    let bits = |word: T| u64::from(T::BITS - word.leading_zeros());
    let (mut own, mut deltas) = (0, 0);
    for start in (0..words.len()).step_by(stride) {
        let part = words
            .get(start..words.len().min(start + PART))
            .unwrap_or_default();
        let least = part.iter().copied().min().unwrap_or(T::ZERO);
        let spans = part
            .iter()
            .skip(1)
            .map(|word| bits(word.wrapping_sub(least)));
        own += spans.sum::<u64>();
        let steps = part
            .array_windows()
            .map(|[a, b]| bits(b.wrapping_sub(*a).zigzag()));
        deltas += steps.sum::<u64>();
    }
    deltas <= own
}

fn encode<T: Integer>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let (mut deltas, mut bases) = (Vec::with_capacity(words.len()), Vec::new());
    let mut end = None;
    for vector in words.chunks(chooser.vector_rows()) {
        let [first, ..] = vector else { continue };
        // The value before it, or as far below as its neighbour is above: then the deltas of a
        // sequence are one value.
        let step = vector
            .get(1)
            .map_or(T::ZERO, |second| second.wrapping_sub(*first));
        let own = || first.wrapping_sub(step);
        let mut before = end.filter(|_| !chooser.is_sample()).unwrap_or_else(own);
        bases.push(before);
        for &v in vector {
            deltas.push(v.wrapping_sub(before));
            before = v;
        }
        end = Some(before);
    }
    let steps = bases
        .array_windows()
        .map(|[a, b]| b.wrapping_sub(*a).zigzag());
    let widths = steps
        .clone()
        .map(|step| (T::BITS - step.leading_zeros()).div_ceil(8));
    let base_bytes = widths.max().unwrap_or(0) as usize;
    let payload = if chooser.is_trial() {
        // Only the size counts: a run of the sample has its share of a vector's base.
        vec![0; words.len() * base_bytes / VECTOR]
    } else {
        let mut payload = vec![base_bytes as u8];
        bases
            .first()
            .copied()
            .unwrap_or(T::ZERO)
            .write_le(&mut payload);
        steps.for_each(|step| payload.extend(step.to_u64().to_le_bytes().iter().take(base_bytes)));
        payload
    };
    let child = chooser.child(T::values(&deltas), Kind::Signed)?;
    node(&Delta, T::values(words), payload, vec![child])
}

fn open<'a, T: Integer>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    let mut cursor = node.cursor();
    let (base_bytes, most) = (usize::from(cursor.u8()?), T::BYTES);
    corrupt_if!(
        base_bytes > most,
        "bases of at most {most} bytes expected, found {base_bytes}"
    );
    let mut base = read_word::<T>(&mut cursor)?;
    let mut bases = vec![base];
    for _ in 1..node.len.div_ceil(VECTOR) {
        let step = T::from_u64(little_endian(cursor.bytes(base_bytes)?));
        base = base.wrapping_add(step.unzigzag());
        bases.push(base);
    }
    cursor.finish("bases")?;
    let deltas = cx.open_words::<T>(node.child(0, "deltas", node.ty, node.len)?)?;
    Ok(T::wrap(Box::new(Deltas { bases, deltas })))
}

struct Deltas<'a, T> {
    bases: Vec<T>,
    deltas: Box<dyn Decoder<T> + 'a>,
}

impl<T: Integer> Decoder<T> for Deltas<'_, T> {
    fn len(&self) -> usize {
        self.deltas.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let base = *of_vector(&self.bases, v)?;
        // Packed deltas are unpacked and summed in one pass.
        if !self
            .deltas
            .packed(v)
            .is_some_and(|deltas| unpack_prefix_sum(deltas, base, out))
        {
            self.deltas.vector(v, cx, out)?;
            prefix_sum(base, out);
        }
        Ok(())
    }
}

crate::conformance!(Delta);
