//! Constant: one value for all rows (One Value in BtrBlocks, section 2.2).
//!
//! ```text
//! words:        payload = one little-endian word
//! byte strings: payload = the string
//! bits:         payload = one byte, 0 or 1
//! ```

use staffa_kernels::{BytesDict, Word as _};

use super::codes::CodedStrings;
use super::prelude::*;
use crate::decode::{Entries, LazyStrings, Runs};
use crate::encode::UnsupportedValue;
use crate::values::{for_values, for_words, run_ends};

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
            bytes(strings) => payload.extend_from_slice(strings.at(0)?),
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
                let bits = Bitmap::filled(len, read_flag(&mut cursor)?);
                cursor.finish("constant")?;
                Ok(AnyDecoder::Bits(Box::new(bits)))
            }
            PhysicalType::Bytes => {
                let size = u32::try_from(node.payload.len())
                    .map_err(|_| Error::corrupt("a string of 4 GiB"))?;
                let dictionary = BytesDict::new(&[0, size], node.payload);
                let dictionary = dictionary.ok_or_else(|| Error::corrupt("a string expected"))?;
                strings(CodedStrings {
                    codes: ConstantWord::new(0, len)?,
                    strings: Entries::Own(LazyStrings::decoded(dictionary)),
                })
            }
            ty => for_words!(ty, T => {
                let value = read_word::<T>(&mut cursor)?;
                cursor.finish("constant")?;
                Ok(T::wrap(ConstantWord::new(value, len)?))
            }, _ => Err(Error::corrupt("no such type"))),
        }
    }
}

/// One value, as a run of all rows.
struct ConstantWord<T> {
    value: [T; 1],
    end: [u32; 1],
}

impl<T: Decodable> ConstantWord<T> {
    fn new(value: T, len: usize) -> Result<Box<Self>> {
        let end = u32::try_from(len).map_err(|_| Error::limit("a block of 4 Gi values"))?;
        Ok(Box::new(Self {
            value: [value],
            end: [end],
        }))
    }
}

impl<T: Decodable> Decoder<T> for ConstantWord<T> {
    fn len(&self) -> usize {
        let [end] = self.end;
        end as usize
    }

    fn vector(&self, _: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let [value] = self.value;
        out.fill(value);
        Ok(())
    }

    fn take(&self, _: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.vector(0, cx, out)
    }

    fn constant(&self) -> Option<T> {
        let [value] = self.value;
        Some(value)
    }

    fn runs(&self) -> Result<Option<Runs<'_, T>>> {
        Ok(Some((&self.value, &self.end)))
    }
}

crate::conformance!(Constant);
