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
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Int as _, VECTOR, Word as _, prefix_sum, unpack_prefix_sum};

use crate::decode::{AnyDecoder, Decodable, Decoder, Integer, OpenContext, Scratch};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, Physical, PhysicalType, Values, for_ints};

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
        matches!(kind, Kind::Signed | Kind::Unsigned)
            && ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        values.len() > 2
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        for_ints!(values.physical_type(), T => {
            let words = T::slice(values).unwrap_or_default();
            let (mut deltas, mut bases) = (Vec::with_capacity(words.len()), Vec::new());
            let mut last_base = T::ZERO;
            let mut end = None;
            for vector in words.chunks(chooser.vector_rows()) {
                let first = vector.first().copied().unwrap_or(T::ZERO);
                // As from the value before it, or like its neighbour: the deltas of a sequence are
                // one value.
                let like = vector.get(1).map_or(T::ZERO, |second| second.wrapping_sub(first));
                let mut before = end.filter(|_| !chooser.is_trial()).unwrap_or_else(|| first.wrapping_sub(like));
                bases.push(before.wrapping_sub(last_base));
                last_base = before;
                for &v in vector {
                    deltas.push(v.wrapping_sub(before));
                    before = v;
                }
                end = Some(before);
            }
            let steps = || bases.iter().skip(1).map(|step| step.zigzag());
            let base_bytes = steps().map(|s| (T::BITS - s.leading_zeros()).div_ceil(8) as usize).max().unwrap_or(0);
            let mut payload = vec![base_bytes as u8];
            if chooser.is_trial() {
                // Only the size matters: a run of the sample has its share of a vector's base.
                payload = vec![0; words.len() * base_bytes / VECTOR];
                let child = chooser.child(T::values(&deltas), Kind::Signed)?;
                return Ok(Some(Node { encoding: 4, ty: T::TYPE, len: words.len(), payload, children: vec![child] }));
            }
            bases.first().copied().unwrap_or(T::ZERO).write_le(&mut payload);
            steps().for_each(|step| payload.extend(step.to_u64().to_le_bytes().iter().take(base_bytes)));
            let child = chooser.child(T::values(&deltas), Kind::Signed)?;
            Ok(Some(Node { encoding: 4, ty: T::TYPE, len: words.len(), payload, children: vec![child] }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        for_ints!(node.ty, T => {
            let mut cursor = node.cursor();
            let base_bytes = usize::from(cursor.u8()?);
            if base_bytes > T::BYTES {
                return Err(Error::corrupt(format!("bases of at most {} bytes expected, found {base_bytes}", T::BYTES)));
            }
            let mut base = T::read_le(cursor.bytes(T::BYTES)?).unwrap_or_default();
            let mut bases = Vec::with_capacity(node.len.div_ceil(VECTOR));
            bases.push(base);
            for _ in 1..node.len.div_ceil(VECTOR) {
                let mut le = [0; 8];
                le.iter_mut().zip(cursor.bytes(base_bytes)?).for_each(|(to, from)| *to = *from);
                base = base.wrapping_add(T::from_u64(u64::from_le_bytes(le)).unzigzag());
                bases.push(base);
            }
            cursor.finish("bases")?;
            let deltas = cx.open_words::<T>(node.child(0, "deltas", node.ty, node.len)?)?;
            Ok(T::wrap(Box::new(Deltas { bases, deltas })))
        }, other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }
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
        let base = *self
            .bases
            .get(v)
            .ok_or_else(|| Error::corrupt(format!("no vector {v}")))?;
        // Packed deltas need not be stored between.
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
