//! Grouped: another column's value selects a group of values, and a small number the one in it.
//!
//! ```text
//! payload = stream of the other column: u8 (0 its values, 1 the first child of their root) | base: varint
//! child: numbers (u32) | child: entries | child, where some group has not exactly one entry: starts (u32)
//! value = entries[starts[other - base] + number]
//! ```
//!
//! A map from one column to another has one entry in every group and numbers of 0. Entries of a
//! group stand in the order of their frequency, so that numbers are small. Without starts they are
//! 0, 1, 2...
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;

use staffa_kernels::{Int as _, Word as _, gather};

use super::constant::Constant;
use crate::decode::{
    AnyDecoder, Codes, Decodable, Decoder, Integer, LazyWords, OpenContext, ReferenceStream,
    Scratch, StreamOf, get_or_try_init,
};
use crate::encode::{Chooser, Coder, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef, put_varint};
use crate::values::{Kind, Physical, PhysicalType, Values, for_ints};

/// See the [module](self).
pub struct Grouped;

impl Encoding for Grouped {
    fn info(&self) -> &Info {
        &Info {
            id: 21,
            name: "grouped",
            about: "a small number that tells which of the values that go with another column's value it is",
            child_names: &["numbers", "entries", "starts"],
            decode_picos: 500,
            needs_reference: true,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let [source] = chooser.references() else {
            return Ok(None);
        };
        if source.words.len() != values.len() {
            return Ok(None);
        }
        let Some((base, others)) = codes(*source) else {
            return Ok(None);
        };
        for_ints!(values.physical_type(), T => {
            let words = T::slice(values).unwrap_or_default();
            let groups = Groups::of(words, &others);
            let mut payload = vec![source.from as u8];
            put_varint(&mut payload, base);
            let mut children = vec![
                chooser.child(Values::U32(&groups.numbers), Kind::Unsigned)?,
                chooser.child(T::values(&groups.entries), stats.kind())?,
            ];
            if !groups.starts.iter().enumerate().all(|(i, start)| i == *start as usize) {
                children.push(chooser.child(Values::U32(&groups.starts), Kind::Unsigned)?);
            }
            Ok(Some(Node { encoding: self.info().id, ty: T::TYPE, len: words.len(), payload, children }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let mut cursor = node.cursor();
        let from = StreamOf::from_byte(cursor.u8()?)?;
        let base = cursor.varint()?;
        cursor.finish("payload")?;
        for_ints!(node.ty, T => {
            let child = node.child(0, "numbers", PhysicalType::U32, node.len)?;
            let zero = child.encoding == Constant.info().id && child.payload.iter().all(|byte| *byte == 0);
            let numbers = if zero { None } else { Some(cx.open_words::<u32>(child)?) };
            let entries = LazyWords::<T>::open(node.any_child(1, "entries")?, cx, "entries")?;
            let others = cx.source(0)?.codes(from, base, node.len)?;
            cx.budget.count_beside(others.held());
            let starts = if node.children.len() > 2 {
                node.expect_children(3)?;
                let groups = node.any_child(2, "starts")?;
                cx.budget.take((groups.len * T::BYTES) as u64, "first entries")?;
                Some(LazyWords::open(groups, cx, "starts")?)
            } else {
                node.expect_children(2)?;
                None
            };
            Ok(T::wrap(Box::new(Picks { len: node.len, others, starts, firsts: OnceLock::new(), numbers, entries })))
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

/// The least word of a stream, and all words above it; `None` where they are too far apart to count
/// groups by.
fn codes(source: ReferenceStream<'_>) -> Option<(u64, Vec<u32>)> {
    let wide: Vec<u64> = for_ints!(source.words.physical_type(), T => {
        T::slice(source.words)?.iter().map(|w| w.to_u64()).collect()
    }, _ => return None);
    let base = wide.iter().min().copied().unwrap_or(0);
    let codes = wide.iter().map(|w| {
        u32::try_from(w - base)
            .ok()
            .filter(|code| (*code as usize) < wide.len())
    });
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
        // Of every group the pair that was met last: it is likely to come again, and found without
        // a hash.
        let mut last = vec![u32::MAX; groups];
        for (&word, &other) in words.iter().zip(others) {
            let Some(last) = last.get_mut(other as usize) else {
                continue;
            };
            if let Some(recent) = pairs
                .get_mut(*last as usize)
                .filter(|pair| pair.word == word)
            {
                recent.rows += 1;
                numbers.push(*last);
                continue;
            }
            let pair = known.code_of(u128::from(other) << 64 | u128::from(word.to_u64()));
            match pairs.get_mut(pair as usize) {
                Some(pair) => pair.rows += 1,
                None => pairs.push(Pair {
                    other,
                    word,
                    rows: 1,
                    number: 0,
                }),
            }
            *last = pair;
            numbers.push(pair);
        }
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        let key = |pair: u32| {
            pairs
                .get(pair as usize)
                .map(|p| (p.other, std::cmp::Reverse(p.rows), pair))
        };
        order.sort_unstable_by_key(|pair| key(*pair));
        let mut starts = Vec::with_capacity(groups);
        let mut entries = Vec::with_capacity(pairs.len());
        for &pair in &order {
            let Some(pair) = pairs.get_mut(pair as usize) else {
                continue;
            };
            // Groups without entries begin where the next one does.
            while starts.len() <= pair.other as usize {
                starts.push(entries.len() as u32);
            }
            pair.number = entries.len() as u32 - starts.last().copied().unwrap_or(0);
            entries.push(pair.word);
        }
        let number = |pair: &u32| pairs.get(*pair as usize).map_or(0, |pair| pair.number);
        Self {
            numbers: numbers.iter().map(number).collect(),
            entries,
            starts,
        }
    }
}

struct Picks<'a, T> {
    len: usize,
    /// Which group.
    others: Box<dyn Codes + 'a>,
    /// Of every group its first entry; where there are none, its own number.
    starts: Option<LazyWords<'a, u32>>,
    /// The entries there.
    firsts: OnceLock<Vec<T>>,
    /// Where they are not all 0.
    numbers: Option<Box<dyn Decoder<u32> + 'a>>,
    entries: LazyWords<'a, T>,
}

fn no_group(groups: &[u32], len: usize) -> Error {
    let worst = groups.iter().max().copied().unwrap_or(0);
    Error::corrupt(format!("a group below {len} expected, found {worst}"))
}

fn no_entry(places: &[u32], len: usize) -> Error {
    let worst = places.iter().max().copied().unwrap_or(0);
    Error::corrupt(format!("an entry below {len} expected, found {worst}"))
}

impl<T: Integer> Picks<'_, T> {
    /// The first entry of every group.
    fn firsts(&self) -> Result<&[T]> {
        let entries = self.entries.all()?;
        let Some(starts) = &self.starts else {
            return Ok(entries);
        };
        let find = || {
            let starts = starts.all()?;
            let mut firsts = vec![T::ZERO; starts.len()];
            if gather(entries, starts, &mut firsts) {
                Ok(firsts)
            } else {
                Err(no_entry(starts, entries.len()))
            }
        };
        get_or_try_init(&self.firsts, find).map(Vec::as_slice)
    }

    /// Entries by group and number in it, of many rows; `place` is scratch.
    fn entries(
        &self,
        group: &[u32],
        number: &[u32],
        place: &mut [u32],
        out: &mut [T],
    ) -> Result<()> {
        let others = number.iter().filter(|number| **number > 0).count();
        let entries = self.entries.all()?;
        let starts = self.starts.as_ref().map(LazyWords::all).transpose()?;
        if others * 8 > out.len() {
            match starts {
                Some(starts) if !gather(starts, group, place) => {
                    return Err(no_group(group, starts.len()));
                }
                Some(_) => {}
                None => place.copy_from_slice(group),
            }
            place
                .iter_mut()
                .zip(number)
                .for_each(|(place, number)| *place = place.wrapping_add(*number));
            return if gather(entries, place, out) {
                Ok(())
            } else {
                Err(no_entry(place, entries.len()))
            };
        }
        // Most have the first entry of their group.
        let firsts = self.firsts()?;
        if !gather(firsts, group, out) {
            return Err(no_group(group, firsts.len()));
        }
        if others > 0 {
            for ((out, group), number) in out
                .iter_mut()
                .zip(group)
                .zip(number)
                .filter(|(_, n)| **n > 0)
            {
                let start =
                    starts.map_or(Some(*group), |starts| starts.get(*group as usize).copied());
                let place = start.unwrap_or(*group).wrapping_add(*number);
                let entry = start.and_then(|_| entries.get(place as usize));
                *out = *entry.ok_or_else(|| no_entry(&[place], entries.len()))?;
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

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let (mut groups, mut places) = (vec![0; rows.len()], vec![0; rows.len()]);
        self.others.take(rows, cx, &mut groups)?;
        match &self.starts {
            Some(starts) if !starts.take(&groups, cx, &mut places)? => {
                return Err(no_group(&groups, starts.all()?.len()));
            }
            Some(_) => {}
            None => places.clone_from(&groups),
        }
        if let Some(all) = &self.numbers {
            let mut numbers = groups;
            all.take(rows, cx, &mut numbers)?;
            places
                .iter_mut()
                .zip(&numbers)
                .for_each(|(place, number)| *place = place.wrapping_add(*number));
        }
        if self.entries.take(&places, cx, out)? {
            Ok(())
        } else {
            Err(no_entry(&places, self.entries.all()?.len()))
        }
    }
}

crate::conformance!(Grouped);
