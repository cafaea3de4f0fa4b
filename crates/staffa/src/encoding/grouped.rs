//! Grouped: another column's value selects a group of values, and a small number the one in it.
//!
//! ```text
//! payload = stream of the other column: u8 (0 its values, 1 the first child of their root) | base: varint
//! child: numbers (u32) | child: entries | child, where some group has not exactly one entry: starts (u32)
//! value = entries[starts[other - base] + number]
//! ```
//!
//! A map from one column to another has one entry in every group and numbers of 0. Entries of a group stand in the order
//! of their frequency, so that numbers are small. Without starts they are 0, 1, 2...
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Int as _, PoolVec, Word as _, gather};

use super::Encoding;
use super::constant::Constant;
use crate::choose::code::Coder;
use crate::choose::{Cascade, Stats};
use crate::cursor::put_varint;
use crate::decode::{AnyDecoder, Decoder, Integer, OpenContext, Physical, Scratch, for_ints};
use crate::error::{Error, Result};
use crate::node::{Node, NodeRef};
use crate::source::{Codes, Stream, StreamOf};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Grouped;

impl Encoding for Grouped {
    fn id(&self) -> u8 {
        21
    }

    fn name(&self) -> &'static str {
        "grouped"
    }

    fn decode_picos(&self) -> u32 {
        500
    }

    fn about(&self) -> &'static str {
        "a small number that tells which of the values that go with another column's value it is"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["numbers", "entries", "starts"]
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn needs_source(&self) -> bool {
        true
    }

    fn encode(&self, values: Values<'_>, stats: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let [source] = cascade.sources() else { return Ok(None) };
        if source.words.len() != values.len() {
            return Ok(None);
        }
        let Some((base, others)) = codes(*source) else { return Ok(None) };
        for_ints!(values.physical_type(), T => {
            let words = T::slice(values).unwrap_or_default();
            let groups = Groups::of(words, &others);
            let mut payload = vec![source.from as u8];
            put_varint(&mut payload, base);
            let mut children = vec![
                cascade.child(Values::U32(&groups.numbers), Kind::Unsigned)?,
                cascade.child(T::values(&groups.entries), stats.kind())?,
            ];
            if !groups.starts.iter().enumerate().all(|(i, start)| i == *start as usize) {
                children.push(cascade.child(Values::U32(&groups.starts), Kind::Unsigned)?);
            }
            Ok(Some(Node { encoding: self.id(), ty: T::TYPE, len: words.len(), payload, children }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let mut cursor = node.cursor();
        let from = StreamOf::from_byte(cursor.u8()?)?;
        let base = cursor.varint()?;
        cursor.finish("payload")?;
        for_ints!(node.ty, T => {
            let child = node.child(0, "numbers", PhysicalType::U32, node.len)?;
            let zero = child.encoding == Constant.id() && child.payload.iter().all(|byte| *byte == 0);
            let numbers = if zero { None } else { Some(cx.open_words::<u32>(child)?) };
            let entries = cx.all_words::<T>(node.any_child(1, "entries")?, "entries")?;
            let others = cx.source(0)?.codes(from, base, node.len)?;
            let (len, mut firsts, mut starts) = (node.len, None, None);
            if node.children.len() > 2 {
                node.expect_children(3)?;
                let all = cx.all_words::<u32>(node.any_child(2, "starts")?, "starts")?;
                cx.budget.take((all.len() * T::BYTES) as u64, "first entries")?;
                let first = |start: &u32| entries.get(*start as usize).copied();
                let found: Option<Vec<T>> = all.iter().map(first).collect();
                let most = entries.len();
                firsts = Some(found.ok_or_else(|| Error::corrupt(format!("starts below {most} expected")))?);
                starts = Some(all);
            } else {
                node.expect_children(2)?;
            }
            Ok(T::wrap(Box::new(Picks { len, others, starts, firsts, numbers, entries })))
        }, other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let len = |child: usize| node.children.get(child).map(|c| c.len);
        match (len(1), len(2)) {
            (Some(entries), Some(groups)) => format!("by #0, {entries} entries of {groups} groups"),
            (Some(entries), None) => format!("by #0, {entries} groups of one entry"),
            _ => String::new(),
        }
    }
}

/// The least word of a stream, and all words above it; `None` where they are too far apart to count groups by.
fn codes(source: Stream<'_>) -> Option<(u64, Vec<u32>)> {
    let wide: Vec<u64> = for_ints!(source.words.physical_type(), T => {
        T::slice(source.words)?.iter().map(|w| w.to_u64()).collect()
    }, _ => return None);
    let base = wide.iter().min().copied().unwrap_or(0);
    let codes = wide.iter().map(|w| u32::try_from(w - base).ok().filter(|code| (*code as usize) < wide.len()));
    Some((base, codes.collect::<Option<_>>()?))
}

/// What a group holds, and which of it every row has.
struct Groups<T> {
    numbers: Vec<u32>,
    entries: Vec<T>,
    /// Of every group, its first entry.
    starts: Vec<u32>,
}

impl<T: Integer> Groups<T> {
    fn of(words: &[T], others: &[u32]) -> Self {
        /// A pair of values: how often, and its number in its group in the end.
        struct Pair<T> {
            other: u32,
            word: T,
            rows: u32,
            number: u32,
        }
        let mut known: Coder<u128> = Coder::new(words.len());
        let mut pairs: Vec<Pair<T>> = Vec::new();
        let mut numbers: Vec<u32> = Vec::with_capacity(words.len());
        let groups = others.iter().max().map_or(0, |max| *max as usize + 1);
        // Of every group the pair that was met last: it is likely to come again, and found without a hash.
        let mut last = vec![u32::MAX; groups];
        for (&word, &other) in words.iter().zip(others) {
            let Some(last) = last.get_mut(other as usize) else { continue };
            if let Some(recent) = pairs.get_mut(*last as usize).filter(|pair| pair.word == word) {
                recent.rows += 1;
                numbers.push(*last);
                continue;
            }
            let pair = known.code_of(u128::from(other) << 64 | u128::from(word.to_u64()));
            match pairs.get_mut(pair as usize) {
                Some(pair) => pair.rows += 1,
                None => pairs.push(Pair { other, word, rows: 1, number: 0 }),
            }
            *last = pair;
            numbers.push(pair);
        }
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        let key = |pair: u32| pairs.get(pair as usize).map(|p| (p.other, std::cmp::Reverse(p.rows), pair));
        order.sort_unstable_by_key(|pair| key(*pair));
        let mut starts = Vec::with_capacity(groups);
        let mut entries = Vec::with_capacity(pairs.len());
        for &pair in &order {
            let Some(pair) = pairs.get_mut(pair as usize) else { continue };
            // Groups without entries begin where the next one does.
            while starts.len() <= pair.other as usize {
                starts.push(entries.len() as u32);
            }
            pair.number = entries.len() as u32 - starts.last().copied().unwrap_or(0);
            entries.push(pair.word);
        }
        let number = |pair: &u32| pairs.get(*pair as usize).map_or(0, |pair| pair.number);
        Self { numbers: numbers.iter().map(number).collect(), entries, starts }
    }
}

struct Picks<'a, T> {
    len: usize,
    /// Which group.
    others: Box<dyn Codes + 'a>,
    /// Of every group its first entry; where there are none, its own number.
    starts: Option<PoolVec<u32>>,
    /// The entries there.
    firsts: Option<Vec<T>>,
    /// Where they are not all 0.
    numbers: Option<Box<dyn Decoder<u32> + 'a>>,
    entries: PoolVec<T>,
}

impl<T: Integer> Picks<'_, T> {
    /// Entries of some places.
    fn pick(&self, places: &[u32], out: &mut [T]) -> Result<()> {
        if gather(&self.entries, places, out) {
            return Ok(());
        }
        let worst = places.iter().max().copied().unwrap_or(0);
        Err(Error::corrupt(format!("an entry below {} expected, found {worst}", self.entries.len())))
    }

    /// Places of the first entries of some groups.
    fn places(&self, groups: &[u32], out: &mut [u32]) -> Result<()> {
        match &self.starts {
            Some(starts) if gather(starts, groups, out) => Ok(()),
            Some(starts) => {
                let worst = groups.iter().max().copied().unwrap_or(0);
                Err(Error::corrupt(format!("a group below {} expected, found {worst}", starts.len())))
            }
            None => {
                out.copy_from_slice(groups);
                Ok(())
            }
        }
    }
}

impl<T: Integer> Picks<'_, T> {
    /// Entries by group and number in it; `place` is scratch.
    fn entries(&self, group: &[u32], number: &[u32], place: &mut [u32], out: &mut [T]) -> Result<()> {
        let others = number.iter().filter(|number| **number > 0).count();
        if others * 8 > out.len() {
            self.places(group, place)?;
            place.iter_mut().zip(number).for_each(|(place, number)| *place = place.wrapping_add(*number));
            self.pick(place, out)?;
        } else {
            // Most have the first entry of their group.
            if !gather(self.firsts.as_deref().unwrap_or(&self.entries), group, out) {
                let worst = group.iter().max().copied().unwrap_or(0);
                return Err(Error::corrupt(format!("no group {worst}")));
            }
            if others > 0 {
                for ((out, group), number) in out.iter_mut().zip(group).zip(number).filter(|(_, n)| **n > 0) {
                    let start =
                        self.starts.as_ref().map_or(Some(*group), |starts| starts.get(*group as usize).copied());
                    let entry = start.and_then(|start| self.entries.get(start.wrapping_add(*number) as usize));
                    let most = self.entries.len();
                    *out = *entry.ok_or_else(|| Error::corrupt(format!("an entry below {most} expected")))?;
                }
            }
        }
        Ok(())
    }
}

impl<T: Integer> Decoder<T> for Picks<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let (mut groups, mut places, mut numbers) = (cx.take_u32(), cx.take_u32(), cx.take_u32());
        let group = groups.get_mut(..out.len()).unwrap_or_default();
        let place = places.get_mut(..out.len()).unwrap_or_default();
        let number = numbers.get_mut(..out.len()).unwrap_or_default();
        self.others.vector(v, cx, group)?;
        if let Some(numbers) = &self.numbers {
            numbers.vector(v, cx, number)?;
        } else {
            number.fill(0);
        }
        self.entries(group, number, place, out)?;
        cx.give_u32(groups);
        cx.give_u32(places);
        cx.give_u32(numbers);
        Ok(())
    }

    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let (mut groups, mut places, mut numbers) = (vec![0; rows.len()], vec![0; rows.len()], vec![0; rows.len()]);
        self.others.gather(rows, cx, &mut groups)?;
        if let Some(all) = &self.numbers {
            all.gather(rows, cx, &mut numbers)?;
        }
        self.entries(&groups, &numbers, &mut places, out)
    }
}

crate::conformance!(Grouped);
