//! Difference: the values less those of other columns in the same rows, each some times.
//!
//! ```text
//! payload = terms: u8 | per term: column: u8 (the how-manieth that the column index names)
//!                     | stream: u8 (0 its values, 1 the first child of their root, 2 its validity) | times: varint, zigzag
//! child: differences, signed; of bits: where the two differ
//! ```
//!
//! Equal columns have differences of 0, and so has a sum less its parts. Digits of ALP and codes of
//! dictionaries may be told so as well as integers, and validity by validity. All is modulo 2 to
//! the bits of a word.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Int as _, add_times, as_bytes_mut, cast_slice_mut};

use crate::decode::{
    AnyDecoder, BitsDecoder, Decodable, Decoder, Integer, OpenContext, ReferenceStream, Scratch,
    StreamOf, Words,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef, put_varint};
use crate::values::{Bitmap, Kind, Physical, PhysicalType, Values, for_ints};

/// See the [module](self).
pub struct Difference;

impl Encoding for Difference {
    fn info(&self) -> &Info {
        &Info {
            id: 20,
            name: "difference",
            about: "integers less those of other columns, validity where it differs from that of another",
            child_names: &["differences"],
            decode_picos: 200,
            needs_reference: true,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bits || ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let sources = chooser.references();
        let (ty, len) = (values.physical_type(), values.len());
        let fits = |s: &ReferenceStream<'_>| s.words.len() == len && s.words.physical_type() == ty;
        if sources.is_empty() || !sources.iter().all(fits) {
            return Ok(None);
        }
        let mut payload = vec![sources.len() as u8];
        for (column, source) in (0u8..).zip(sources) {
            payload.extend([column, source.from as u8]);
            put_varint(&mut payload, (source.times as u64).zigzag());
        }
        if let Values::Bits(bits) = values {
            let others = sources.iter().filter_map(|s| {
                if let Values::Bits(bits) = s.words {
                    Some(bits)
                } else {
                    None
                }
            });
            let differences = others.fold(bits.clone(), |left, other| left.differing(other));
            let child = chooser.child(Values::Bits(&differences), Kind::Unsigned)?;
            return Ok(Some(Node {
                encoding: self.info().id,
                ty,
                len,
                payload,
                children: vec![child],
            }));
        }
        for_ints!(ty, T => {
            let mut left = T::slice(values).unwrap_or_default().to_vec();
            for source in sources {
                let times = T::from_u64(source.times as u64);
                let others = T::slice(source.words).unwrap_or_default();
                left.iter_mut().zip(others).for_each(|(a, b)| *a = a.wrapping_sub(b.wrapping_mul(times)));
            }
            let child = chooser.child(T::values(&left), Kind::Signed)?;
            Ok(Some(Node { encoding: self.info().id, ty, len, payload, children: vec![child] }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        let terms = terms(node)?;
        let child = node.child(0, "differences", node.ty, node.len)?;
        if node.ty == PhysicalType::Bits {
            let mut bits = cx.open_bits(child)?.bits()?;
            for term in terms.iter().filter(|term| term.times & 1 == 1) {
                bits = bits.differing(&cx.source(term.column)?.bits(term.from, node.len)?);
            }
            return Ok(AnyDecoder::Bits(Box::new(Bits(bits))));
        }
        for_ints!(node.ty, T => {
            let others = terms.iter().map(|term| {
                let words = cx.source(term.column)?.open::<T>(term.from, node.len)?;
                cx.budget.count_beside(words.held());
                Ok((words, T::from_u64(term.times as u64)))
            });
            let others = others.collect::<Result<Vec<_>>>()?;
            Ok(T::wrap(Box::new(Differences { others, differences: cx.open_words::<T>(child)? })))
        }, other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let term = |term: &Term| match term.times {
            1 => format!("#{}", term.column),
            times => format!("{times} times #{}", term.column),
        };
        terms(node)
            .map(|terms| {
                format!(
                    "to {}",
                    terms.iter().map(term).collect::<Vec<_>>().join(" + ")
                )
            })
            .unwrap_or_default()
    }
}

struct Term {
    column: usize,
    from: StreamOf,
    times: i64,
}

fn terms(node: &NodeRef<'_>) -> Result<Vec<Term>> {
    let mut cursor = node.cursor();
    let count = cursor.u8()?;
    let term = |_| {
        let (column, from) = (
            usize::from(cursor.u8()?),
            StreamOf::from_byte(cursor.u8()?)?,
        );
        Ok(Term {
            column,
            from,
            times: cursor.varint()?.unzigzag() as i64,
        })
    };
    let terms = (0..count).map(term).collect::<Result<Vec<_>>>()?;
    cursor.finish("payload")?;
    Ok(terms)
}

struct Bits(Bitmap);

impl BitsDecoder for Bits {
    fn bits(&self) -> Result<Bitmap> {
        Ok(self.0.clone())
    }
}

struct Differences<'a, T> {
    /// With how many times they are taken.
    others: Vec<(Words<'a, T>, T)>,
    differences: Box<dyn Decoder<T> + 'a>,
}

impl<T: Integer> Decoder<T> for Differences<'_, T> {
    fn len(&self) -> usize {
        self.differences.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.differences.vector(v, cx, out)?;
        let mut buffer = cx.take_u64();
        for (words, times) in &self.others {
            let places = cast_slice_mut::<T>(as_bytes_mut(&mut buffer))
                .and_then(|places| places.get_mut(..out.len()));
            add_times(
                out,
                words.vector_in(v, cx, places.unwrap_or_default())?,
                *times,
            );
        }
        cx.give_u64(buffer);
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.differences.take(rows, cx, out)?;
        let mut others = vec![T::ZERO; rows.len()];
        for (words, times) in &self.others {
            words.take(rows, cx, &mut others)?;
            add_times(out, &others, *times);
        }
        Ok(())
    }
}

crate::conformance!(Difference);
