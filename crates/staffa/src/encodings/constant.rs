//! Constant: one value for all rows (One Value in BtrBlocks, section 2.2).
//!
//! ```text
//! words:        payload = one little-endian word
//! byte strings: payload = the string
//! bits:         payload = one byte, 0 or 1
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, Word as _};

use super::common::{node, read_word, strings};
use crate::decode::{
    Aggregator, AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Integer,
    OpenContext, Range, Scratch, StringAggregator, StringTest,
};
use crate::encode::{Chooser, Encoding, Info, PointAccess, Stats, UnsupportedValue};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{
    Bitmap, Kind, PhysicalType, Values, for_values, for_words, run_ends, vector_len,
};

/// See the [module](self).
pub struct Constant;

impl Encoding for Constant {
    fn info(&self) -> &Info {
        &Info {
            id: 1,
            name: "constant",
            about: "one value for all rows",
            point_access: PointAccess::Value,
            decode_picos: 20,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, _: PhysicalType, _: Kind) -> bool {
        true
    }

    fn is_viable(&self, _: Values<'_>, stats: &Stats<'_>) -> bool {
        stats.runs() == 1
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        if stats.runs() != 1 {
            return Ok(None);
        }
        let mut payload = Vec::new();
        let first = || Error::internal("a run of no values");
        for_values!(values,
            words(words) => words.first().ok_or_else(first)?.write_le(&mut payload),
            bits(bits) => payload.push(u8::from(bits.get(0))),
            bytes(strings) => payload.extend_from_slice(strings.get(0)),
        );
        node(self, values, payload, vec![])
    }

    fn unsupported_value(&self, values: Values<'_>) -> Option<UnsupportedValue> {
        let end = *run_ends(values).first()? as usize;
        (end < values.len()).then_some(UnsupportedValue {
            at: end,
            holds: "a block of values that are all alike",
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        let mut cursor = node.cursor();
        let len = node.len;
        match node.ty {
            PhysicalType::Bits => {
                let value = cursor.u8()?;
                cursor.finish("constant")?;
                if value > 1 {
                    return Err(Error::corrupt(format!("0 or 1 expected, found {value}")));
                }
                let bits = Bitmap::filled(len, value == 1);
                Ok(AnyDecoder::Bits(Box::new(bits)))
            }
            PhysicalType::Bytes => {
                let size = u32::try_from(node.payload.len())
                    .map_err(|_| Error::corrupt("a string of 4 GiB"))?;
                let dictionary = BytesDict::new(&[0, size], node.payload);
                let dictionary = dictionary.ok_or_else(|| Error::corrupt("a string expected"))?;
                strings(ConstantBytes { dictionary, len })
            }
            ty => for_words!(ty, T => {
                let value = read_word::<T>(&mut cursor)?;
                cursor.finish("constant")?;
                Ok(T::wrap(Box::new(ConstantWord { value, len })))
            }, _ => Err(Error::corrupt("no such type"))),
        }
    }
}

struct ConstantWord<T> {
    value: T,
    len: usize,
}

impl<T: Decodable> Decoder<T> for ConstantWord<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, _: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        out.fill(self.value);
        Ok(())
    }

    fn take(&self, _: &[u32], _: &mut Scratch, out: &mut [T]) -> Result<()> {
        out.fill(self.value);
        Ok(())
    }

    fn filter(&self, range: &Range<T>, _: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        Ok(Bitmap::filled(
            self.len,
            range.of_values(&[self.value]).get(0),
        ))
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        _: &mut Scratch,
    ) -> Result<()> {
        match rows.map_or(self.len, Bitmap::count_ones) {
            0 => Ok(()),
            count => into.runs(&[self.value], &[count as u32]),
        }
    }
}

struct ConstantBytes {
    /// With one string.
    dictionary: BytesDict,
    len: usize,
}

impl ConstantBytes {
    fn value(&self) -> &[u8] {
        self.dictionary.contents()
    }
}

impl DictionaryStrings for ConstantBytes {
    fn strings(&self) -> Result<&BytesDict> {
        Ok(&self.dictionary)
    }

    fn codes(&self, _: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        out.fill(0);
        Ok(())
    }
}

impl BytesDecoder for ConstantBytes {
    fn len(&self) -> usize {
        self.len
    }

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        Ok(self.value().len() * vector_len(self.len, v))
    }

    fn vector(
        &self,
        _: usize,
        _: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        let value = self.value();
        lengths.fill(value.len() as u32);
        let bytes = value.len() * lengths.len();
        let out = out
            .get_mut(..bytes)
            .ok_or_else(|| Error::corrupt("strings longer than declared"))?;
        // Each copy doubles what is there: one for each string would be as many calls.
        let mut done = 0;
        while done < bytes {
            let (there, rest) = out.split_at_mut(done);
            let from = if there.is_empty() { value } else { there };
            rest.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            done += from.len().min(rest.len());
        }
        Ok(bytes)
    }

    fn take(&self, rows: &[u32], _: &mut Scratch, out: &mut Appended) -> Result<()> {
        rows.iter().try_for_each(|_| out.push(self.value()))
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        _: usize,
        into: &mut dyn StringAggregator,
        _: &mut Scratch,
    ) -> Result<()> {
        match rows.map_or(self.len, Bitmap::count_ones) {
            0 => Ok(()),
            count => into.string(self.value(), count as u32),
        }
    }

    fn filter(&self, test: &StringTest<'_>, _: usize, _: &mut Scratch) -> Result<Bitmap> {
        Ok(Bitmap::filled(self.len, (test.passes)(self.value())))
    }
}

crate::conformance!(Constant);
