//! Dictionary: distinct values once, and a code for every row.
//!
//! ```text
//! payload = 0: u8             | child: codes (u32) | child: values     the block's own dictionary
//! payload = 1: u8, part: u8   | child: codes (u32)                     a shared dictionary of the column chunk
//! ```
//!
//! Codes are in the order of first occurrence: where a list of values comes again, its codes follow
//! one another, for delta and frame of reference. Two other orders stand where they are smaller:
//! sorted strings, which resemble their neighbours, and values by frequency, so that rare ones are
//! exceptions among the codes. Distinct values are counted exactly, never judged from a sample.

mod order;

use order::{reordered, size, size_as_found};
use staffa_kernels::{VECTOR, gather};

use super::codes::CodedStrings;
use super::prelude::*;
use crate::decode::{
    Aggregator, Entries, LazyStrings, LazyWords, WordTest, aggregate_codes, filter_codes, no_code,
    short_words,
};
use crate::values::{OwnedValues, for_words};

/// See the [module](self).
pub struct Dictionary;

impl Encoding for Dictionary {
    fn info(&self) -> &Info {
        &Info {
            id: 6,
            name: "dictionary",
            about: "distinct values once, a code for every row; of a block, or shared by a row group",
            child_names: &["codes", "values"],
            first_child: Some(StreamOf::Codes),
            decode_picos: 350,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        stats
            .dictionary()
            .is_some_and(|d| d.firsts.len() > 1 && d.firsts.len() < values.len())
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Some(coded) = stats.dictionary() else {
            return Ok(None);
        };
        let bytes = match reordered(values, stats, chooser)? {
            Some((_, Some(bytes))) => *bytes,
            Some((sorted, None)) => size(values, stats.kind(), sorted, chooser)?,
            None => size_as_found(values, stats, coded, chooser)?,
        };
        Ok(Some(8 + bytes))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let Some(coded) = stats.dictionary() else {
            return Ok(None);
        };
        let coded = reordered(values, stats, chooser)?.map_or(coded, |(sorted, _)| sorted);
        let codes = chooser.child(Values::U32(&coded.codes), Kind::Unsigned)?;
        let dictionary = OwnedValues::take(values, &coded.firsts)?;
        let dictionary = chooser.child(dictionary.borrow(), stats.kind())?;
        node(self, values, vec![0], vec![codes, dictionary])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let mut cursor = node.cursor();
        let shared = read_flag(&mut cursor)?;
        let part = |cursor: &mut Cursor<'_>| cx.shared_dictionary(cursor.u8()?.into());
        let shared = shared.then(|| part(&mut cursor)).transpose()?;
        cursor.finish("payload")?;
        node.expect_children(if shared.is_some() { 1 } else { 2 })?;
        let codes = cx.open_words::<u32>(node.child(0, "codes", PhysicalType::U32, node.len)?)?;
        if node.ty == PhysicalType::Bytes {
            let values = match shared {
                Some(part) => Entries::Shared(part.strings()?),
                None => Entries::Own(LazyStrings::open(
                    node.any_child(1, "values")?,
                    cx,
                    "values",
                )?),
            };
            return strings(CodedStrings {
                codes,
                strings: values,
            });
        }
        for_words!(node.ty, T => {
            let values = match shared {
                Some(part) => Entries::Shared(part.words::<T>()?),
                None => Entries::Own(LazyWords::open(node.any_child(1, "values")?, cx, "values")?),
            };
            Ok(T::wrap(Box::new(CodedWords { codes, values })))
        }, _ => Err(Error::corrupt("a dictionary holds no bits")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.children.get(1) {
            Some(values) => format!("{} distinct", values.len),
            None => "shared".into(),
        }
    }
}

/// The node of codes in shared dictionary `part` of the chunk.
pub(crate) fn shared_node(
    values: Values<'_>,
    codes: &[u32],
    part: u8,
    chooser: &Chooser<'_>,
) -> Result<Node> {
    let codes = chooser.child(Values::U32(codes), Kind::Unsigned)?;
    let (ty, len, encoding) = (values.physical_type(), values.len(), Dictionary.info().id);
    Ok(Node {
        encoding,
        ty,
        len,
        payload: vec![1, part],
        children: vec![codes],
    })
}

struct CodedWords<'a, T> {
    codes: Box<dyn Decoder<u32> + 'a>,
    values: Entries<'a, LazyWords<'a, T>>,
}

impl<T: Decodable> CodedWords<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        cx.with(out.len(), |cx, codes| {
            rows.decode(self.codes.as_ref(), cx, codes)?;
            let found = match rows {
                Rows::Vector(_) => gather(self.values.all()?, codes, out),
                Rows::At(_) => self.values.take(codes, cx, out)?,
            };
            found
                .then_some(())
                .ok_or_else(|| no_code(codes, self.values.len()))
        })
    }
}

impl<T: Decodable> Decoder<T> for CodedWords<'_, T> {
    fn len(&self) -> usize {
        self.codes.len()
    }

    read_by_rows!(T);

    /// The selected codes alone are looked up; those of other rows are not checked.
    fn selected(
        &self,
        v: usize,
        bits: &[u64],
        cx: &mut Scratch,
        room: &mut [T],
        out: &mut [T],
    ) -> Result<()> {
        cx.with(room.len() + out.len(), |cx, buffer: &mut [u32]| {
            let (all, codes) = buffer.split_at_mut(room.len());
            self.codes.selected(v, bits, cx, all, codes)?;
            gather(self.values.all()?, codes, out)
                .then_some(())
                .ok_or_else(|| no_code(codes, self.values.len()))
        })
    }

    fn short(&self) -> Result<Option<Box<dyn Decoder<u64> + '_>>> {
        // No more of them than cost nothing beside a row.
        if T::TYPE != PhysicalType::U128 || self.values.len() > VECTOR {
            return Ok(None);
        }
        let short = short_words(T::values(self.values.all()?))?;
        Ok(short.map(|values| {
            let codes = Box::new(self.codes.as_ref());
            let values = Entries::Own(LazyWords::decoded(values));
            Box::new(CodedWords { codes, values }) as _
        }))
    }

    fn filter(&self, test: &WordTest<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        filter_codes(self.codes.as_ref(), &test.of_values(self.values.all()?), cx)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_codes(self.codes.as_ref(), self.values.all()?, rows, into, cx)
    }
}

crate::conformance!(Dictionary);
