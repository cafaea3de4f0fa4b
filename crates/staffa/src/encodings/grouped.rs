//! Grouped: the reference column's value selects a group of entries, and a small number the entry in
//! it.
//!
//! ```text
//! payload = stream of the reference column: u8 (0 its values, 1 codes, 3 digits, 4 narrowed) | base: varint
//! child: numbers (u32) | child: entries | child, where some group has not exactly one entry: starts (u32)
//! value = entries[starts[reference - base] + number]
//! ```
//!
//! Where the column is a function of the reference column, every group has one entry and all numbers
//! are 0. Entries of a group stand in the order of their frequency, so that numbers are small. Starts
//! that are not stored are 0, 1, 2...

use std::cmp::Reverse;
use std::sync::OnceLock;

use staffa_kernels::{Int as _, count_above, gather};

use super::constant::Constant;
use super::prelude::*;
use crate::decode::{
    LazyWords, Range, ReferenceStream, WordTest, filter_codes, filter_vectors, get_or_try_init,
};
use crate::encode::Coder;
use crate::format::put_varint;
use crate::values::{Physical, for_ints};

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
        fits_u64(ty)
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
        let Some((base, keys)) = keys(*source) else {
            return Ok(None);
        };
        encode_ints!(values, words => {
            let groups = Groups::of(words, &keys)?;
            let mut payload = vec![source.from as u8];
            put_varint(&mut payload, base);
            node(self, values, payload, groups.children(stats.kind(), chooser)?)
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let mut cursor = node.cursor();
        let from = StreamOf::from_byte(cursor.u8()?, StreamOf::OF_WORDS)?;
        let base = cursor.varint()?;
        cursor.finish("payload")?;
        open_ints!(node, T => Ok(T::wrap(Box::new(Entries::<T>::open(node, from, base, cx)?))))
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

/// The least word of a stream, and all words above it, the keys of the groups; `None` where a key is
/// no less than the number of rows.
fn keys(source: ReferenceStream<'_>) -> Option<(u64, Vec<u32>)> {
    let words: Vec<u64> = for_ints!(source.words.physical_type(), T => {
        T::slice(source.words)?.iter().map(|w| w.to_u64()).collect()
    }, _ => return None);
    let base = words.iter().min().copied().unwrap_or(0);
    let key = |w: &u64| {
        u32::try_from(w - base)
            .ok()
            .filter(|key| (*key as usize) < words.len())
    };
    Some((base, words.iter().map(key).collect::<Option<_>>()?))
}

/// The entries of all groups, and the number of every row in its group.
struct Groups<T> {
    numbers: Vec<u32>,
    entries: Vec<T>,
    /// First entry of every group.
    starts: Vec<u32>,
}

/// A key and a word that go together in `rows` rows.
struct Pair<T> {
    key: u32,
    word: T,
    rows: u32,
}

impl<T: Integer> Groups<T> {
    fn of(words: &[T], keys: &[u32]) -> Result<Self> {
        let (pairs, rows) = pairs(words, keys)?;
        let missing = || Error::internal("a row whose pair was not counted");
        let mut order: Vec<(u32, &Pair<T>)> = (0..).zip(&pairs).collect();
        order.sort_unstable_by_key(|(i, pair)| (pair.key, Reverse(pair.rows), *i));
        let mut starts: Vec<u32> = Vec::new();
        let mut entries = Vec::with_capacity(pairs.len());
        let mut numbers = vec![0; pairs.len()];
        for (i, pair) in order {
            // Groups without entries begin where the next one does.
            starts.resize(
                starts.len().max(pair.key as usize + 1),
                entries.len() as u32,
            );
            let start = starts.last().ok_or_else(missing)?;
            *numbers.get_mut(i as usize).ok_or_else(missing)? = entries.len() as u32 - start;
            entries.push(pair.word);
        }
        let number = |pair: &u32| numbers.get(*pair as usize).copied().ok_or_else(missing);
        let numbers = rows.iter().map(number).collect::<Result<_>>()?;
        Ok(Self {
            numbers,
            entries,
            starts,
        })
    }

    fn children(&self, kind: Kind, chooser: &Chooser<'_>) -> Result<Vec<Node>> {
        let mut children = vec![
            chooser.child(Values::U32(&self.numbers), Kind::Unsigned)?,
            chooser.child(T::values(&self.entries), kind)?,
        ];
        if !(0..).zip(&self.starts).all(|(i, start)| i == *start) {
            children.push(chooser.child(Values::U32(&self.starts), Kind::Unsigned)?);
        }
        Ok(children)
    }
}

/// The distinct pairs of key and word, in the order of first occurrence, and the pair of every row.
fn pairs<T: Integer>(words: &[T], keys: &[u32]) -> Result<(Vec<Pair<T>>, Vec<u32>)> {
    let mut known: Coder<u128> = Coder::new(words.len());
    let mut pairs: Vec<Pair<T>> = Vec::new();
    let mut rows: Vec<u32> = Vec::with_capacity(words.len());
    let groups = keys.iter().max().map_or(0, |max| *max as usize + 1);
    // The last pair of every group: it is likely to come again, and found without a hash.
    let mut last = vec![u32::MAX; groups];
    for (&word, &key) in words.iter().zip(keys) {
        let last = last.get_mut(key as usize);
        let last = last.ok_or_else(|| Error::internal("a key above the greatest"))?;
        let recent = pairs
            .get_mut(*last as usize)
            .filter(|pair| pair.word == word);
        if let Some(recent) = recent {
            recent.rows += 1;
            rows.push(*last);
            continue;
        }
        let pair = known.code_of(u128::from(key) << 64 | u128::from(word.to_u64()));
        match pairs.get_mut(pair as usize) {
            Some(pair) => pair.rows += 1,
            None => pairs.push(Pair { key, word, rows: 1 }),
        }
        *last = pair;
        rows.push(pair);
    }
    Ok((pairs, rows))
}

/// Rows that are passed over at once where all of them have the first entry of their group.
const SKIPPED: usize = 32;

/// Entries by group and number.
struct Entries<'a, T> {
    len: usize,
    /// The group of every row.
    groups: Box<dyn Decoder<u32> + 'a>,
    /// First entry of every group; where these are not stored, its own number.
    starts: Option<LazyWords<'a, u32>>,
    /// The values of the first entries.
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

impl<'a, T: Integer> Entries<'a, T> {
    fn open(
        node: &NodeRef<'a>,
        from: StreamOf,
        base: u64,
        cx: &mut OpenContext<'a>,
    ) -> Result<Self> {
        let child = node.child(0, "numbers", PhysicalType::U32, node.len)?;
        let is_constant = child.encoding == Constant.info().id;
        let zero = is_constant && child.payload.iter().all(|byte| *byte == 0);
        let numbers = (!zero).then(|| cx.open_words::<u32>(child));
        let numbers = numbers.transpose()?;
        let groups = cx.with_reference(0, |reference, budget| {
            reference.codes(from, base, node.len, budget)
        })?;
        let entries = node.any_child(1, "entries")?;
        let entries = LazyWords::<T>::open(entries, cx, "entries")?;
        let starts = if node.children.len() > 2 {
            node.expect_children(3)?;
            let starts = node.any_child(2, "starts")?;
            cx.budget
                .take((starts.len * T::BYTES) as u64, "first entries")?;
            Some(LazyWords::open(starts, cx, "starts")?)
        } else {
            node.expect_children(2)?;
            None
        };
        Ok(Self {
            len: node.len,
            groups,
            starts,
            firsts: OnceLock::new(),
            numbers,
            entries,
        })
    }

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

    /// Entries by group and number, of a vector; `place` is scratch.
    fn find(&self, group: &[u32], number: &[u32], place: &mut [u32], out: &mut [T]) -> Result<()> {
        let others = count_above(number, 0, 1);
        let entries = self.entries.all()?;
        let starts = self.starts.as_ref().map(LazyWords::all).transpose()?;
        if !are_few(others, out.len()) {
            // Every start is checked, once.
            self.firsts()?;
            match starts {
                Some(starts) if !gather(starts, group, place) => {
                    return Err(no_group(group, starts.len()));
                }
                Some(_) => {}
                None => place.copy_from_slice(group),
            }
            add(place, number);
            if gather(entries, place, out) {
                return Ok(());
            }
            return Err(no_entry(place, entries.len()));
        }
        // Most rows have the first entry of their group.
        let firsts = self.firsts()?;
        if !gather(firsts, group, out) {
            return Err(no_group(group, firsts.len()));
        }
        if others == 0 {
            return Ok(());
        }
        let parts = out.chunks_mut(SKIPPED).zip(group.chunks(SKIPPED));
        for ((out, group), number) in parts.zip(number.chunks(SKIPPED)) {
            if number.iter().fold(0, |bits, number| bits | number) == 0 {
                continue;
            }
            let rows = out.iter_mut().zip(group).zip(number);
            for ((out, group), number) in rows.filter(|(_, number)| **number > 0) {
                let start = match starts {
                    Some(starts) => *starts
                        .get(*group as usize)
                        .ok_or_else(|| no_group(&[*group], starts.len()))?,
                    None => *group,
                };
                let place = start.wrapping_add(*number);
                let entry = entries.get(place as usize);
                *out = *entry.ok_or_else(|| no_entry(&[place], entries.len()))?;
            }
        }
        Ok(())
    }
}

/// Whether other entries than the first of their group are so few that each is looked up by itself: a
/// loop over them mispredicts at most.
fn are_few(others: usize, rows: usize) -> bool {
    others * 32 <= rows
}

fn add(places: &mut [u32], numbers: &[u32]) {
    places
        .iter_mut()
        .zip(numbers)
        .for_each(|(place, number)| *place = place.wrapping_add(*number));
}

impl<T: Integer> Decoder<T> for Entries<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let rows = out.len();
        cx.with(3 * rows, |cx, buffer: &mut [u32]| {
            let (group, rest) = buffer.split_at_mut(rows);
            let (number, place) = rest.split_at_mut(rows);
            self.groups.vector(v, cx, group)?;
            match &self.numbers {
                Some(numbers) => numbers.vector(v, cx, number)?,
                None => number.fill(0),
            }
            self.find(group, number, place, out)
        })
    }

    /// A group past the entries does not pass, as a code of a dictionary.
    fn filter(&self, test: &WordTest<T>, cx: &mut Scratch) -> Result<Bitmap> {
        let above_0 = WordTest::Range(Range::between(1, u32::MAX));
        let others = self.numbers.as_ref().map(|all| all.filter(&above_0, cx));
        let others = others.transpose()?;
        let count = others.as_ref().map_or(0, Bitmap::count_ones);
        if !are_few(count, self.len) {
            return filter_vectors(self, test, cx);
        }
        let others = others.map_or_else(Vec::new, |others| others.positions());
        let firsts = test.of_values(self.firsts()?);
        let mut found = filter_codes(self.groups.as_ref(), &firsts, cx)?;
        let mut entries = vec![T::ZERO; others.len()];
        self.take(&others, cx, &mut entries)?;
        let passing = test.of_values(&entries);
        for (i, row) in others.iter().enumerate() {
            found.set(*row as usize, passing.get(i));
        }
        Ok(found)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let (mut groups, mut places) = (vec![0; rows.len()], vec![0; rows.len()]);
        self.groups.take(rows, cx, &mut groups)?;
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
            add(&mut places, &numbers);
        }
        if self.entries.take(&places, cx, out)? {
            Ok(())
        } else {
            Err(no_entry(&places, self.entries.all()?.len()))
        }
    }
}

crate::conformance!(Grouped);
