//! Repeat: a list of values that came before, as how far back and how long (Lempel, Ziv 1977, of
//! whole values).
//!
//! ```text
//! child: literals | child: literal lengths (u32 * s) | child: match lengths (u32 * s) | child: offsets (u32 * s)
//! ```
//!
//! Tables repeat whole lists: the candidates for every precinct, the stops of every trip. What zstd
//! does to the bytes of such codes is done here to the values, within the block, and the parts are
//! encoded again. No vector can be had without those before it, so the block is put together, once,
//! when it is first asked for one. A few rows are followed back through the matches to their
//! literals, which takes the lists alone; the block is put together for the next ones.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{PoolVec, Repeated, Repeats, VECTOR, copy_repeats, gather};

use crate::decode::{
    AnyDecoder, Decodable, Decoder, Integer, Lazy, OpenContext, Scratch, decode_all, few_words,
    no_row, words,
};
use crate::encode::{
    Availability, Chooser, Encoding, Info, PointAccess, Sequences, Stats, matches,
};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, Physical, PhysicalType, Values, for_ints, vector_len};

/// The block is put together unless fewer than one of so many rows are wanted: into memory that is
/// not in a cache it takes
/// 0.3 ns a value, to follow a row back past a few matches 10 to 20.
const FEW: usize = 64;

/// Rows that are put together in the time of one match that is followed back.
const STEP: usize = 32;

/// See the [module](self).
pub struct Repeat;

impl Encoding for Repeat {
    fn info(&self) -> &Info {
        &Info {
            id: 16,
            name: "repeat",
            about: "lists of values that came before: how far back, how long, and the values between them",
            child_names: &["literals", "literal_lengths", "match_lengths", "offsets"],
            availability: Availability::Slow,
            // More than a few rows, and the second ones, take the block.
            point_access: PointAccess::Block,
            decode_picos: 300,
            // Repeats lie farther apart than a sample's values.
            estimates_from_all_values: true,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn is_viable(&self, _: Values<'_>, stats: &Stats<'_>) -> bool {
        stats.sequences().is_some()
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Some(found) = stats.sequences() else {
            return Ok(None);
        };
        let mut bytes = 8;
        for part in [&found.literals, &found.lengths, &found.offsets] {
            bytes += chooser.estimate_child(Values::U32(part), Kind::Unsigned)?;
        }
        for_ints!(values.physical_type(), T => {
            let literals = found.literal_values(T::slice(values).unwrap_or_default());
            bytes += chooser.estimate_child(T::values(&literals), stats.kind())?;
        }, _ => return Ok(None));
        // Samples of lengths and offsets make little of the rare large ones.
        Ok(Some(bytes + bytes / 8))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let all: Sequences;
        let found = match stats.sequences() {
            Some(found) => found,
            None if chooser.must_encode() => {
                all = matches::all(values);
                &all
            }
            None => return Ok(None),
        };
        for_ints!(values.physical_type(), T => {
            let literals = found.literal_values(T::slice(values).unwrap_or_default());
            let mut children = vec![chooser.child(T::values(&literals), stats.kind())?];
            for part in [&found.literals, &found.lengths, &found.offsets] {
                children.push(chooser.child(Values::U32(part), Kind::Unsigned)?);
            }
            Ok(Some(Node { encoding: 16, ty: T::TYPE, len: values.len(), payload: Vec::new(), children }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(4)?;
        node.cursor().finish("payload")?;
        for_ints!(node.ty, T => {
            Ok(T::wrap(Box::new(Parts::<T>::open(node, cx)?)))
        }, other => Err(Error::corrupt(format!("words of 8 to 64 bits expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.children.as_slice() {
            [literals, _, lengths, _] => {
                format!("{} matches, {} literals", lengths.len, literals.len)
            }
            _ => String::new(),
        }
    }
}

/// The children, opened, and what they are put together to.
struct Parts<'a, T> {
    len: usize,
    literals: Box<dyn Decoder<T> + 'a>,
    literal_lengths: Box<dyn Decoder<u32> + 'a>,
    match_lengths: Box<dyn Decoder<u32> + 'a>,
    offsets: Box<dyn Decoder<u32> + 'a>,
    all: Lazy<PoolVec<T>>,
}

impl<'a, T: Integer> Parts<'a, T> {
    fn open(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        let literals = node.any_child(0, "literals")?;
        if literals.ty != node.ty {
            return Err(Error::corrupt(format!(
                "literals of {:?} expected, found {:?}",
                node.ty, literals.ty
            )));
        }
        let sequences = node.any_child(1, "literal lengths")?.len;
        let mut open = |child, what| {
            cx.open_words::<u32>(node.child(child, what, PhysicalType::U32, sequences)?)
        };
        let literal_lengths = open(1, "literal lengths")?;
        let match_lengths = open(2, "match lengths")?;
        let offsets = open(3, "offsets")?;
        cx.budget.take((node.len * T::BYTES) as u64, "values")?;
        cx.budget
            .take((literals.len * T::BYTES) as u64, "literals")?;
        let literals = cx.open_words::<T>(literals)?;
        Ok(Self {
            len: node.len,
            literals,
            literal_lengths,
            match_lengths,
            offsets,
            all: Lazy::default(),
        })
    }

    /// Hands out the sequences, a vector at a time.
    fn sequences(
        &self,
        cx: &mut Scratch,
        mut each: impl FnMut(Repeats<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut buffers = [cx.take_u32(), cx.take_u32(), cx.take_u32()];
        let sequences = self.offsets.len();
        for v in 0..sequences.div_ceil(VECTOR) {
            let n = vector_len(sequences, v);
            let [literals, lengths, offsets] = buffers
                .each_mut()
                .map(|b| b.get_mut(..n).unwrap_or_default());
            self.literal_lengths.vector(v, cx, literals)?;
            self.match_lengths.vector(v, cx, lengths)?;
            self.offsets.vector(v, cx, offsets)?;
            each(Repeats {
                literals,
                lengths,
                offsets,
            })?;
        }
        buffers.into_iter().for_each(|buffer| cx.give_u32(buffer));
        Ok(())
    }

    /// All values.
    fn all(&self, cx: &mut Scratch) -> Result<&[T]> {
        self.all.all(|| self.put_together(cx)).map(|all| &**all)
    }

    fn put_together(&self, cx: &mut Scratch) -> Result<PoolVec<T>> {
        let literals = decode_all(self.literals.as_ref())?;
        let mut values = words::<T>(self.len)?;
        let out = &mut *values;
        let mut done = Repeated::default();
        self.sequences(cx, |repeats| {
            copy_repeats(&literals, repeats, &mut done, out)
                .map_err(|i| no_sequence(sequence(repeats, i), literals.len(), done, self.len))
        })?;
        let (rest, places) = (literals.get(done.literals..), out.get_mut(done.values..));
        match (rest, places) {
            (Some(rest), Some(places)) if rest.len() == places.len() => {
                places.copy_from_slice(rest);
            }
            _ => return Err(other_len(done, literals.len(), self.len)),
        }
        Ok(values)
    }

    /// Where each match ends, and what it copies; checked like those that are copied.
    fn matches(&self, cx: &mut Scratch) -> Result<Vec<Match>> {
        let mut matches = Vec::with_capacity(self.offsets.len());
        let (mut done, literals) = (Repeated::default(), self.literals.len());
        self.sequences(cx, |repeats| {
            let Repeats {
                literals: before,
                lengths,
                offsets,
            } = repeats;
            for (i, ((before, length), offset)) in
                before.iter().zip(lengths).zip(offsets).enumerate()
            {
                let next = after(
                    [*before, *length, *offset].map(|part| part as usize),
                    literals,
                    done,
                    self.len,
                );
                done = next
                    .ok_or_else(|| no_sequence(sequence(repeats, i), literals, done, self.len))?;
                let (end, copied) = (done.values as u32, (done.values - done.literals) as u32);
                matches.push(Match {
                    end,
                    copied,
                    offset: *offset,
                });
            }
            Ok(())
        })?;
        if done.values + literals - done.literals == self.len {
            Ok(matches)
        } else {
            Err(other_len(done, literals, self.len))
        }
    }

    /// The values of rows, where these are few and the first that are asked for.
    fn few(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<bool> {
        if rows.is_empty() {
            return Ok(true);
        }
        let matches = self.offsets.len();
        // Where rows are more than a few, matches must not be; these take no more memory than the
        // values, for which there is room.
        let few = rows.len() * FEW <= self.len
            && matches * FEW.min(rows.len()) <= self.len
            && matches * size_of::<Match>() <= self.len * T::BYTES;
        if !self.all.spared(few) {
            return Ok(false);
        }
        let matches = self.matches(cx)?;
        // The last rows first, as the chains of these are the longest; with a share for each, it is
        // soon known if they are too long.
        let most = self.len / STEP;
        let mut steps = most / 8;
        let mut places = Vec::with_capacity(rows.len());
        for row in rows.iter().rev() {
            if *row as usize >= self.len {
                return Err(no_row(*row, self.len));
            }
            steps += most / rows.len();
            let Some(place) = literal_of(&matches, *row, &mut steps) else {
                return Ok(false);
            };
            places.push(place);
        }
        places.reverse();
        if self.literals.len() > 4 * places.len() {
            return few_words(self.literals.as_ref(), &places, cx, out);
        }
        let literals = decode_all(self.literals.as_ref())?;
        Ok(gather(&literals, &places, out))
    }
}

/// A match among all.
struct Match {
    /// The row behind it.
    end: u32,
    /// Values of all matches up to this one.
    copied: u32,
    offset: u32,
}

/// The literal that a row is a copy of. A match copies rows before it: there is an end, but `steps`
/// may be used up before.
fn literal_of(matches: &[Match], mut row: u32, steps: &mut usize) -> Option<u32> {
    let mut matches = matches;
    loop {
        let i = matches.partition_point(|found| found.end <= row);
        let copied = i
            .checked_sub(1)
            .and_then(|before| matches.get(before))
            .map_or(0, |before| before.copied);
        let Some(found) = matches.get(i) else {
            return Some(row - copied);
        };
        let start = found.end - (found.copied - copied);
        let Some(into) = row.checked_sub(start) else {
            return Some(row - copied);
        };
        *steps = steps.checked_sub(1)?;
        // One that overlaps itself copies its first `offset` values again and again.
        row = start - found.offset
            + if into < found.offset {
                into
            } else {
                into % found.offset
            };
        matches = matches.get(..=i)?;
    }
}

/// Sequence `i` of some: literals before the match, its length, how far back it lies.
fn sequence(repeats: Repeats<'_>, i: usize) -> [usize; 3] {
    [repeats.literals, repeats.lengths, repeats.offsets]
        .map(|part| part.get(i).map_or(0, |value| *value as usize))
}

/// What has been put together behind a sequence; `None` where it asks for what is not there.
fn after(
    [before, length, offset]: [usize; 3],
    literals: usize,
    done: Repeated,
    len: usize,
) -> Option<Repeated> {
    let behind = (literals - done.literals).checked_sub(before)?;
    let there = done.values + before;
    let room = len.checked_sub(there)?.checked_sub(behind)?;
    let fits = length.wrapping_sub(1) < room && offset.wrapping_sub(1) < there;
    fits.then_some(Repeated {
        literals: done.literals + before,
        values: there + length,
    })
}

/// What is wrong with a sequence.
#[cold]
fn no_sequence(
    [before, length, offset]: [usize; 3],
    literals: usize,
    done: Repeated,
    len: usize,
) -> Error {
    let left = literals.saturating_sub(done.literals);
    let Some(behind) = left.checked_sub(before) else {
        return Error::corrupt(format!("{before} literals expected, {left} are left"));
    };
    let there = done.values + before;
    // What is left of the literals ends the block.
    let room = len.saturating_sub(there).saturating_sub(behind);
    if length == 0 || length > room {
        return Error::corrupt(format!(
            "a match of 1 to {room} values expected, found {length}"
        ));
    }
    Error::corrupt(format!(
        "an offset of 1 to {there} expected, found {offset}"
    ))
}

#[cold]
fn other_len(done: Repeated, literals: usize, len: usize) -> Error {
    Error::corrupt(format!(
        "{len} values expected, found {}",
        done.values + literals.saturating_sub(done.literals)
    ))
}

impl<T: Integer> Decoder<T> for Parts<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let from = self.all(cx)?.get(v * VECTOR..v * VECTOR + out.len());
        out.copy_from_slice(
            from.ok_or_else(|| Error::corrupt(format!("vector {v} is not there")))?,
        );
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if self.few(rows, cx, out)? {
            return Ok(());
        }
        let values = self.all(cx)?;
        for (row, place) in rows.iter().zip(out) {
            *place = *values
                .get(*row as usize)
                .ok_or_else(|| no_row(*row, values.len()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Budget;
    use crate::encodings::{POOL, opener};
    use crate::format::Cursor;
    use crate::limits::Limits;
    use crate::testing::arrays::Random;

    /// What `f` makes of the opened lists.
    fn opened<R>(
        literals: &[u32],
        lists: [&[u32]; 3],
        len: usize,
        f: impl FnOnce(&Parts<'_, u32>) -> Result<R>,
    ) -> Result<R> {
        let chooser = Chooser::new(&POOL);
        let child = |values: &[u32]| chooser.child(Values::U32(values), Kind::Unsigned);
        let [before, lengths, offsets] = lists;
        let children = vec![
            child(literals)?,
            child(before)?,
            child(lengths)?,
            child(offsets)?,
        ];
        let node = Node {
            encoding: 16,
            ty: PhysicalType::U32,
            len,
            payload: Vec::new(),
            children,
        };
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        let node = NodeRef::parse(&mut Cursor::new(&bytes), len, 9)?;
        let opener = opener(Limits::default());
        let mut cx = opener.context(Budget::new(1 << 20), &[], Vec::new());
        f(&Parts::open(&node, &mut cx)?)
    }

    fn decoded(
        literals: &[u32],
        before: &[u32],
        lengths: &[u32],
        offsets: &[u32],
        len: usize,
    ) -> Result<Vec<u32>> {
        opened(literals, [before, lengths, offsets], len, |parts| {
            decode_all(parts).map(|values| values.to_vec())
        })
    }

    /// Some rows, asked for once and again; whether they were followed back.
    fn gathered(
        literals: &[u32],
        lists: [&[u32]; 3],
        len: usize,
        rows: &[u32],
    ) -> Result<(Vec<u32>, bool)> {
        opened(literals, lists, len, |parts| {
            let (mut cx, mut first, mut second) =
                (Scratch::default(), vec![0; rows.len()], vec![0; rows.len()]);
            parts.take(&[], &mut cx, &mut [])?;
            parts.take(rows, &mut cx, &mut first)?;
            let followed = parts.all.get().is_none();
            parts.take(rows, &mut cx, &mut second)?;
            assert!(parts.all.get().is_some() || rows.is_empty());
            assert_eq!(first, second);
            Ok((first, followed))
        })
    }

    #[test]
    fn a_match_may_overlap_itself() {
        let values = |literals, offset, length, len| {
            decoded(
                literals,
                &[literals.len() as u32],
                &[length],
                &[offset],
                len,
            )
        };
        assert_eq!(
            values(&[7, 8, 9], 3, 5, 8).unwrap(),
            [7, 8, 9, 7, 8, 9, 7, 8]
        );
        assert_eq!(values(&[7, 8, 9], 1, 20, 23).unwrap()[2..], [9; 21]);
        let expected: Vec<u32> = (0..3002).map(|i| i % 2 + 4).collect();
        assert_eq!(values(&[4, 5], 2, 3000, 3002).unwrap(), expected);
        assert_eq!(
            decoded(&[1, 2, 3], &[2], &[2], &[1], 5).unwrap(),
            [1, 2, 2, 2, 3]
        );
    }

    #[test]
    fn few_rows_are_those_of_the_block() {
        let mut random = Random(16);
        let (mut followed, mut refused) = (0, 0);
        for round in 0..400 {
            let most = [4, 60, 900][round % 3];
            let (mut lists, mut used, mut len) = ([vec![], vec![], vec![]], 0, 0);
            for _ in 0..=random.below(40) {
                let before = random.below(most) + usize::from(len == 0);
                // Near ones overlap themselves.
                let farthest = (len + before).min(1 << random.below(12));
                let offset = 1 + random.below(farthest);
                let length = 1 + random.below(most * 4);
                lists
                    .iter_mut()
                    .zip([before, length, offset])
                    .for_each(|(list, part)| list.push(part as u32));
                (used, len) = (used + before, len + before + length);
            }
            let rest = random.below(900);
            let literals: Vec<u32> = (0..used + rest).map(|_| random.next() as u32).collect();
            let mut len = len + rest;
            if round % 4 == 0 {
                let wrong = random.below(lists[0].len());
                lists[random.below(3)][wrong] =
                    [0, u32::MAX, random.below(900) as u32][random.below(3)];
                len = (len + random.below(3)).saturating_sub(random.below(2));
            }
            let lists = lists.each_ref().map(Vec::as_slice);
            let expected = decoded(&literals, lists[0], lists[1], lists[2], len);
            let mut rows: Vec<u32> = (0..len / FEW).map(|_| random.below(len) as u32).collect();
            rows.sort_unstable();
            rows.dedup();
            let found = gathered(&literals, lists, len, &rows);
            let Ok(expected) = expected else {
                assert!(found.is_err() || rows.is_empty());
                refused += usize::from(found.is_err());
                continue;
            };
            let (values, few) = found.unwrap();
            assert!(
                values
                    .iter()
                    .eq(rows.iter().map(|row| &expected[*row as usize]))
            );
            followed += usize::from(few);
        }
        assert!(followed > 100 && refused > 30, "{followed} {refused}");
    }

    /// One match after another copies the one before it: each row is as far from its literal as
    /// there are matches.
    #[test]
    fn deep_chains_end() {
        for (matches, followed) in [(10, true), (3000, false)] {
            let mut before = vec![0; matches];
            before[0] = 20;
            let (lengths, rest) = (vec![20; matches], 500);
            let (literals, len): (Vec<u32>, _) = ((100..120 + rest).collect(), 20 * matches + 20);
            let lists = [&before, &lengths, &lengths].map(Vec::as_slice);
            let found = gathered(&literals, lists, len + rest as usize, &[len as u32 - 3]).unwrap();
            assert_eq!(found, (vec![117], followed));
        }
    }

    #[test]
    fn a_row_past_the_end_is_refused() {
        let literals: Vec<u32> = (0..10).collect();
        assert!(gathered(&literals, [&[10], &[990], &[7]], 1000, &[1000]).is_err());
        assert_eq!(
            gathered(&literals, [&[10], &[990], &[7]], 1000, &[999]).unwrap(),
            (vec![3 + 989 % 7], true)
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (before, length, offset, len) in [
            (3, 5, 4, 8),
            (3, 5, 0, 8),
            (3, 6, 1, 8),
            (3, 4, 1, 8),
            (4, 5, 1, 8),
            (0, 5, 1, 8),
            (3, 0, 1, 3),
        ] {
            assert!(
                decoded(&[7, 8, 9], &[before], &[length], &[offset], len).is_err(),
                "{before} {length} {offset}"
            );
        }
        assert!(decoded(&[7, 8, 9], &[3, 0], &[5], &[1], 8).is_err());
    }
}

crate::conformance!(Repeat);
