//! Difference: the values less a linear combination of reference columns, row by row.
//!
//! ```text
//! payload = terms: u8 | per term: column: u8 (position of the reference column in the column index)
//!                     | stream: u8 (0 its values, 1 codes, 3 digits, 4 narrowed; of bits 0, or 2 its validity)
//!                     | coefficient: varint, zigzag
//! child: differences, signed; of bits: where the two differ
//! ```
//!
//! value = difference + sum of coefficient * value of the reference column, modulo 2 to the bits of a
//! word. Equal columns have differences of 0, and so has a sum less its parts. The stream may be
//! integers, digits of ALP or codes of a dictionary; validity is derived from validity.

use staffa_kernels::{Int as _, add_times};

use super::prelude::*;
use crate::decode::{AlignedWords, ReferenceStream};
use crate::format::put_varint;

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
        ty == PhysicalType::Bits || fits_u64(ty)
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
        for source in sources {
            payload.extend([source.column, source.from as u8]);
            put_varint(&mut payload, (source.coefficient as u64).zigzag());
        }
        if let Values::Bits(bits) = values {
            let mut left = bits.clone();
            for source in sources {
                let Values::Bits(other) = source.words else {
                    return Ok(None);
                };
                left = left.differing(other);
            }
            let child = chooser.child(Values::Bits(&left), Kind::Unsigned)?;
            return node(self, values, payload, vec![child]);
        }
        encode_ints!(values, words => {
            let child = differences(words, sources, chooser)?;
            node(self, values, payload, vec![child])
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        let terms = terms(node)?;
        let child = node.child(0, "differences", node.ty, node.len)?;
        if node.ty == PhysicalType::Bits {
            let mut bits = cx.open_bits(child)?.bits()?;
            for term in terms.iter().filter(|term| term.coefficient & 1 == 1) {
                let other = cx.with_reference(term.column, |reference, budget| {
                    reference.bits(term.from, node.len, budget)
                });
                bits = bits.differing(&other?);
            }
            return Ok(AnyDecoder::Bits(Box::new(bits)));
        }
        open_ints!(node, T => {
            let references = terms.iter().map(|term| {
                let words = cx.with_reference(term.column, |reference, budget| {
                    reference.open::<T>(term.from, node.len, budget)
                });
                Ok((words?, T::from_u64(term.coefficient as u64)))
            });
            let references = references.collect::<Result<Vec<_>>>()?;
            let differences = cx.open_words::<T>(child)?;
            Ok(T::wrap(Box::new(Differences { references, differences })))
        })
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let term = |term: &Term| match term.coefficient {
            1 => format!("#{}", term.column),
            coefficient => format!("{coefficient} times #{}", term.column),
        };
        terms(node).map_or_else(
            |_| String::new(),
            |terms| {
                format!(
                    "to {}",
                    terms.iter().map(term).collect::<Vec<_>>().join(" + ")
                )
            },
        )
    }
}

/// The node of the values less the sum of coefficient times value of the reference streams.
fn differences<T: Integer>(
    words: &[T],
    sources: &[ReferenceStream<'_>],
    chooser: &Chooser<'_>,
) -> Result<Node> {
    let mut left = words.to_vec();
    for source in sources {
        let coefficient = T::from_u64(source.coefficient as u64);
        let others = T::slice(source.words).filter(|others| others.len() == left.len());
        let others = others.ok_or_else(|| Error::internal("a reference stream of another type"))?;
        left.iter_mut()
            .zip(others)
            .for_each(|(a, b)| *a = a.wrapping_sub(b.wrapping_mul(coefficient)));
    }
    chooser.child(T::values(&left), Kind::Signed)
}

/// A reference stream and its coefficient.
struct Term {
    column: usize,
    from: StreamOf,
    coefficient: i64,
}

fn terms(node: &NodeRef<'_>) -> Result<Vec<Term>> {
    let allowed = if node.ty == PhysicalType::Bits {
        StreamOf::OF_BITS
    } else {
        StreamOf::OF_WORDS
    };
    let mut cursor = node.cursor();
    let (count, mut terms) = (cursor.u8()?, Vec::new());
    corrupt_if!(count == 0, "at least one term expected, found none");
    for _ in 0..count {
        let column = usize::from(cursor.u8()?);
        let from = StreamOf::from_byte(cursor.u8()?, allowed)?;
        let coefficient = cursor.varint()?.unzigzag() as i64;
        let repeats = |term: &Term| (term.column, term.from) == (column, from);
        corrupt_if!(
            terms.iter().any(repeats),
            "a stream of column {column} named twice"
        );
        terms.push(Term {
            column,
            from,
            coefficient,
        });
    }
    cursor.finish("payload")?;
    Ok(terms)
}

struct Differences<'a, T> {
    /// Each with its coefficient.
    references: Vec<(AlignedWords<'a, T>, T)>,
    differences: Box<dyn Decoder<T> + 'a>,
}

impl<T: Integer> Differences<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        rows.decode(self.differences.as_ref(), cx, out)?;
        cx.with(out.len(), |cx, buffer| {
            for (words, coefficient) in &self.references {
                add_times(out, words.read(rows, cx, buffer)?, *coefficient);
            }
            Ok(())
        })
    }
}

impl<T: Integer> Decoder<T> for Differences<'_, T> {
    fn len(&self) -> usize {
        self.differences.len()
    }

    read_by_rows!(T);
}

crate::conformance!(Difference);
