//! Columns told by others: once every flat column of a row group has its own encoding, those that
//! another tells for less are encoded in terms of it.
//!
//! ```text
//! chosen chunks -> streams of one block -> estimates for pairs -> the best pairs encoded -> all blocks of the column told
//! ```
//!
//! Pairs are judged by samples of the rows of one block (rows of some values of the telling column,
//! so that a group is seen whole), and a pair is taken only if its blocks really shrink. One step
//! deep: a column that tells is told by none.

mod column;
mod sum;

use std::ops::Range;

use column::{Column, View, from_of, judged, kind, stream, stream_of};
use rayon::prelude::*;

use super::chunk::{Chosen, Input};
use crate::decode::{ReferenceBlock, ReferenceStream, StreamOf};
use crate::encode::{Chooser, Encoding, Hint, Profile, Stats};
use crate::encodings::dictionary::Dictionary;
use crate::encodings::difference::Difference;
use crate::encodings::grouped::Grouped;
use crate::encodings::{POOL, opener};
use crate::error::Result;
use crate::format::{Node, block};
use crate::limits::Limits;
use crate::values::{Bitmap, Kind, OwnedValues, Physical, Values, for_ints};

/// A chunk of fewer bytes is not worth being told.
const LEAST_BYTES: usize = 64;
/// A told column must shrink to this share: reading it alone costs reading the other as well.
const WORTH: f64 = 0.7;
/// Rows by which most pairs are ruled out.
const GLANCED: usize = 384;
/// Columns that are looked at closely, by which a column may be grouped.
const LOOKED_AT: usize = 8;
/// Blocks of which first a few are told, to see whether it is worth it.
const SEVERAL: usize = 4;
/// Pairs that are looked at in any case, each for some ten microseconds: all of 128 columns, of
/// more the nearest.
const PAIRS: usize = 1 << 14;
/// For so many rows a column is worth one pair more.
const ROWS_A_PAIR: usize = 128;
/// Columns around each that are looked at, at least.
const NEAREST: usize = 16;
/// Pairs that are encoded for a column, at the most.
const TRIES: usize = 3;

/// A column in terms of others: what that would take, and what became of it.
#[derive(Debug)]
pub(crate) struct Tried {
    pub told: usize,
    pub by: Vec<usize>,
    /// Of the values, where they would be told.
    pub encoding: Option<&'static str>,
    pub validity: bool,
    /// Bytes alone and told: of one block, or of all blocks where all were encoded.
    pub bytes: (usize, usize),
    pub encoded: bool,
    pub taken: bool,
    pub reason: &'static str,
}

/// Share of its bytes that a column must save for a pair to be encoded at all.
pub(crate) const LEAST_GAIN: f64 = 1.0 - WORTH;

/// Encodes columns in terms of others where that is smaller; which columns tell each, and what was
/// tried. Columns of the same number of values may tell one another. Pairs that seem to save less
/// than the share `looked_at` are not even named.
pub(crate) fn relate(
    chosen: &mut [Chosen<'_>],
    looked_at: f64,
) -> Result<(Vec<Vec<usize>>, Vec<Tried>)> {
    let mut log = Vec::new();
    let mut told: Vec<Vec<usize>> = vec![Vec::new(); chosen.len()];
    let mut tells = vec![false; chosen.len()];
    for (leaf, by) in equal(chosen) {
        if !chosen
            .get(leaf)
            .is_some_and(|column| relates(column.options.profile))
        {
            continue;
        }
        if let (Some(column), Some(told), Some(tells)) =
            (chosen.get_mut(leaf), told.get_mut(leaf), tells.get_mut(by))
        {
            column.same = true;
            log.push(Tried::equal(leaf, by, size(column)));
            (*told, *tells) = (vec![by], true);
        }
    }
    let columns: Vec<Option<Column>> = chosen.par_iter().map(Column::of).collect::<Result<_>>()?;
    let total: usize = columns.iter().flatten().map(Column::bytes).sum();
    let mut pairs: Vec<Pair> = columns
        .par_iter()
        .enumerate()
        .filter(|(leaf, _)| {
            chosen.get(*leaf).is_some_and(|c| {
                c.options.requested.is_none() && !c.same && relates(c.options.profile)
            })
        })
        .filter_map(|(leaf, column)| {
            Some((leaf, column.as_ref()?, chosen.get(leaf)?.options.chooser()))
        })
        .filter(|(_, column, _)| column.bytes() >= 128.max(total / 2000))
        .flat_map_iter(|(leaf, column, chooser)| {
            best_pairs(leaf, column, &columns, chooser, looked_at)
        })
        .collect();
    pairs.sort_by(|a, b| {
        b.gain
            .total_cmp(&a.gain)
            .then_with(|| (a.told, &a.by).cmp(&(b.told, &b.by)))
    });
    let mut tries = vec![0; chosen.len()];
    for pair in pairs {
        let is = |set: &[bool], leaf: usize| set.get(leaf).copied().unwrap_or(true);
        let known = |leaf: usize| told.get(leaf).is_none_or(|by| !by.is_empty());
        let alone = columns
            .get(pair.told)
            .and_then(Option::as_ref)
            .map_or(0, Column::bytes);
        let why_not = if pair.gain <= alone as f64 * LEAST_GAIN {
            "saves less than three tenths"
        } else if known(pair.told) {
            "another column tells it"
        } else if pair.by.iter().any(|(by, _)| known(*by)) {
            "that column is told itself"
        } else if is(&tells, pair.told) {
            "it tells another column"
        } else if tries.get(pair.told).is_none_or(|tries| *tries >= TRIES) {
            "three others were tried"
        } else {
            ""
        };
        let mut tried = Tried::of(&pair, alone, why_not);
        if !why_not.is_empty() {
            log.push(tried);
            continue;
        }
        tries
            .iter_mut()
            .skip(pair.told)
            .take(1)
            .for_each(|tries| *tries += 1);
        let (trees, bytes) = tell(chosen, &pair)?;
        (tried.bytes, tried.encoded, tried.taken) = (bytes, true, trees.is_some());
        tried.reason = if tried.taken {
            ""
        } else {
            "saves less than three tenths once encoded"
        };
        log.push(tried);
        let Some((nodes, validity)) = trees else {
            continue;
        };
        if let (Some(column), Some(by)) = (chosen.get_mut(pair.told), told.get_mut(pair.told)) {
            (column.nodes, column.validity) = (nodes, validity);
            *by = pair.by.iter().map(|(by, _)| *by).collect();
        }
        for (by, _) in &pair.by {
            tells
                .iter_mut()
                .skip(*by)
                .take(1)
                .for_each(|tells| *tells = true);
        }
    }
    Ok((told, log))
}

impl Tried {
    fn of(pair: &Pair, alone: usize, reason: &'static str) -> Self {
        Self {
            told: pair.told,
            by: pair.by.iter().map(|(by, _)| *by).collect(),
            encoding: pair.encoding.map(|e| e.info().name),
            validity: pair.validity,
            bytes: (alone, (alone as f64 - pair.gain).max(0.0) as usize),
            encoded: false,
            taken: false,
            reason,
        }
    }

    fn equal(told: usize, by: usize, bytes: usize) -> Self {
        let (by, encoding, bytes) = (vec![by], Some("equal"), (bytes, 0));
        Self {
            told,
            by,
            encoding,
            validity: true,
            bytes,
            encoded: true,
            taken: true,
            reason: "",
        }
    }
}

/// Bytes of all trees and shared parts of a chunk.
fn size(column: &Chosen<'_>) -> usize {
    let trees = column
        .nodes
        .iter()
        .chain(&column.validity)
        .flatten()
        .map(Node::size)
        .sum::<usize>();
    trees + column.shared.iter().map(Vec::len).sum::<usize>()
}

/// Columns whose chunks came out the same, each with the first of them.
fn equal(chosen: &[Chosen<'_>]) -> Vec<(usize, usize)> {
    let sizes: Vec<usize> = chosen.iter().map(size).collect();
    let same = |a: &Chosen<'_>, b: &Chosen<'_>| {
        (a.ty, a.options.kind, a.len) == (b.ty, b.options.kind, b.len)
            && (&a.nodes, &a.validity, &a.shared) == (&b.nodes, &b.validity, &b.shared)
            && a.inputs
                .iter()
                .zip(&b.inputs)
                .all(|(a, b)| a.compacted == b.compacted)
    };
    let mut firsts: hashbrown::HashMap<usize, Vec<usize>> = hashbrown::HashMap::new();
    let mut out = Vec::new();
    for (leaf, (column, size)) in chosen
        .iter()
        .zip(sizes)
        .enumerate()
        .filter(|(_, (_, size))| *size >= LEAST_BYTES)
    {
        let of_size = firsts.entry(size).or_default();
        match of_size
            .iter()
            .find(|first| chosen.get(**first).is_some_and(|first| same(first, column)))
        {
            Some(first) => out.push((leaf, *first)),
            None => of_size.push(leaf),
        }
    }
    out
}

/// One column told by another, or by a sum of others.
struct Pair {
    told: usize,
    /// With how many times each is taken.
    by: Vec<(usize, i64)>,
    /// Of the values, where they are told.
    encoding: Option<&'static dyn Encoding>,
    /// Whether dictionaries of numbers are looked through.
    numbers: bool,
    /// Whether the validity is told.
    validity: bool,
    /// Bytes of a block that it is estimated to save.
    gain: f64,
}

/// The columns around one of so many rows, among so many, that are looked at.
fn nearest(told: usize, rows: usize, columns: usize) -> Range<usize> {
    let most = (PAIRS / columns.max(1))
        .max(rows / ROWS_A_PAIR)
        .max(NEAREST);
    if most >= columns {
        return 0..columns;
    }
    told.saturating_sub(most / 2)..told.saturating_add(most / 2 + 1)
}

/// The pairs that seem to make a column smaller by more than a share, the best few.
fn best_pairs(
    told: usize,
    column: &Column,
    columns: &[Option<Column>],
    chooser: Chooser<'_>,
    least: f64,
) -> Vec<Pair> {
    let (differences, groups) = (chooser.offers(&Difference), chooser.offers(&Grouped));
    let near = nearest(told, column.len, columns.len());
    let mut counts = vec![0; column.stream.as_ref().map_or(0, |view| view.distinct)];
    let others = || {
        let others = columns
            .iter()
            .enumerate()
            .take(near.end)
            .skip(near.start)
            .filter(|(by, _)| *by != told);
        others.filter_map(|(by, other)| {
            Some((by, other.as_ref().filter(|other| other.len == column.len)?))
        })
    };
    let mut glanced: Vec<(f64, usize)> = Vec::new();
    if let Some(view) = column.stream.as_ref().filter(|_| groups) {
        let streams = others().filter_map(|(by, other)| Some((by, other.stream.as_ref()?)));
        glanced.extend(
            streams.filter_map(|(by, other)| Some((glance(view, other, &mut counts)?, by))),
        );
    }
    glanced.sort_by(|a, b| a.0.total_cmp(&b.0));
    glanced.truncate(LOOKED_AT);
    let mut pairs = Vec::new();
    for (by, other) in others() {
        let (mut encoding, mut gain) = (None::<&'static dyn Encoding>, 0.0);
        if let (Some(view), Some(other)) = (&column.stream, &other.stream) {
            let now = view.bytes as f64;
            let mut consider = |bytes: Option<f64>, by: &'static dyn Encoding| {
                if let Some(saved) = bytes.map(|bytes| now - bytes).filter(|saved| *saved > gain) {
                    (encoding, gain) = (Some(by), saved);
                }
            };
            if differences {
                consider(difference_bytes(view, other), &Difference);
            }
            if glanced.iter().any(|(_, glanced)| *glanced == by) {
                consider(
                    grouped_bytes(usize::MAX, view, other, &mut counts, now),
                    &Grouped,
                );
            }
        }
        let of_validity = if differences {
            validity_gain(column, other)
        } else {
            None
        };
        gain += of_validity.unwrap_or(0.0);
        if gain > column.bytes() as f64 * least {
            let validity = of_validity.is_some();
            pairs.push(Pair {
                told,
                by: vec![(by, 1)],
                encoding,
                numbers: false,
                validity,
                gain,
            });
        }
    }
    if differences {
        pairs.extend(sum::find(told, column, columns, near.clone()));
    }
    pairs.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    pairs.truncate(2 * TRIES);
    pairs
}

/// Bytes saved where the rows in which two validities differ are stored.
fn validity_gain(column: &Column, other: &Column) -> Option<f64> {
    let ((valid, bytes), (others, _)) = (column.validity.as_ref()?, other.validity.as_ref()?);
    let differing: u32 = valid
        .words()
        .iter()
        .zip(others.words())
        .map(|(a, b)| (a ^ b).count_ones())
        .sum();
    let saved = *bytes as f64 - 8.0 - 2.5 * f64::from(differing);
    (saved > 0.0).then_some(saved)
}

/// Bytes that the differences would take, going by the width of most of them.
fn difference_bytes(view: &View, other: &View) -> Option<f64> {
    // Codes of two dictionaries have nothing in common unless the columns are equal.
    if view.ty != other.ty || view.codes != other.codes {
        return None;
    }
    let rows = view.words.len();
    let now = view.bytes as f64 * 8.0 / rows as f64;
    let width = |sampled: usize| {
        let step = (rows / sampled).max(1);
        let pairs = view.words.iter().zip(&other.words).step_by(step);
        let mut differences: Vec<i64> = pairs.map(|(a, b)| a.wrapping_sub(*b) as i64).collect();
        differences.sort_unstable();
        let at = |share: f64| {
            differences
                .get((differences.len() as f64 * share) as usize)
                .copied()
                .unwrap_or(0)
        };
        let range = at(0.96).wrapping_sub(at(0.04)) as u64;
        f64::from(64 - range.leading_zeros())
    };
    if width(32) > now + 1.0 {
        return None;
    }
    let bits = width(512);
    (!view.codes || bits == 0.0).then_some(rows as f64 * bits / 8.0)
}

/// [`grouped_bytes`] by few rows, which rules most pairs out: fewer make a pair look better than it
/// is.
fn glance(view: &View, other: &View, counts: &mut [usize]) -> Option<f64> {
    let most = view.bytes as f64 * 1.3;
    grouped_bytes(GLANCED / 4, view, other, counts, most)?;
    grouped_bytes(GLANCED, view, other, counts, most)
}

/// Bytes that numbers and entries would take, going by so many rows of some groups; `None` where it
/// is `most` or more. `counts` has a 0 for every distinct word.
fn grouped_bytes(
    rows: usize,
    view: &View,
    other: &View,
    counts: &mut [usize],
    most: f64,
) -> Option<f64> {
    let rows = other.rows.get(..rows).unwrap_or(&other.rows);
    let together = other.together.get(..rows.len())?;
    let id = |row: &u32| view.ids.get(*row as usize).copied().unwrap_or(0);
    let gathered: Vec<u32> = rows.iter().map(id).collect();
    let (mut same, mut equal) = (0usize, 0usize);
    for ([a, b], together) in gathered.array_windows().zip(together.iter().skip(1)) {
        same += usize::from(*together);
        equal += usize::from(*together && a == b);
    }
    if same * 8 < rows.len() || equal * 6 < same {
        return None;
    }
    let scale = view.words.len() as f64 / rows.len() as f64;
    let entry_bits = (view.distinct as f64).log2();
    // Entries cost at least so much, more than which they need not be counted.
    let least_bits = if view.codes && other.codes {
        1.0
    } else {
        entry_bits
    };
    let most_entries = (most * 8.0 / least_bits / scale) as usize;
    // How many rows have the most frequent entry of their group, the next, and so on.
    let (mut entries, mut ranks) = (0usize, vec![0usize]);
    let mut sizes: Vec<usize> = Vec::new();
    let mut rest = gathered.as_slice();
    while let Some(first) = rest.first() {
        let start = gathered.len() - rest.len() + 1;
        let more = together
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|together| **together)
            .count();
        let (group, after) = rest.split_at((1 + more).min(rest.len()));
        rest = after;
        if entries > most_entries {
            return None;
        }
        if group.iter().all(|id| id == first) {
            entries += 1;
            ranks
                .iter_mut()
                .take(1)
                .for_each(|rank| *rank += group.len());
            continue;
        }
        for id in group {
            counts
                .iter_mut()
                .skip(*id as usize)
                .take(1)
                .for_each(|count| *count += 1);
        }
        sizes.clear();
        for id in group {
            sizes.extend(
                counts
                    .get_mut(*id as usize)
                    .map(std::mem::take)
                    .filter(|count| *count > 0),
            );
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        entries += sizes.len();
        ranks.resize(ranks.len().max(sizes.len()), 0);
        ranks
            .iter_mut()
            .zip(&sizes)
            .for_each(|(rank, count)| *rank += count);
    }
    let sampled = rows.len() as f64;
    let shares = ranks
        .iter()
        .filter(|rows| **rows > 0)
        .map(|rows| *rows as f64 / sampled);
    let entropy: f64 = shares.map(|share| -share * share.log2()).sum();
    let entries = entries as f64 * scale;
    let one_to_one = view.codes && other.codes && entries < 1.05 * view.distinct as f64;
    let entry_bits = if one_to_one { 1.0 } else { entry_bits };
    let starts = if entries > other.distinct as f64 * 1.001 {
        other.distinct as f64 * 2.0
    } else {
        0.0
    };
    let bytes = (view.words.len() as f64 * entropy * 1.1 + entries * entry_bits + starts) / 8.0;
    (bytes < most).then_some(bytes)
}

/// The trees of the values and the validity of one block.
type BlockTrees = (Option<Node>, Option<Node>);

/// The trees of a column's values and validity, block by block.
type Trees = (Vec<Option<Node>>, Vec<Option<Node>>);

fn old(nodes: &[Option<Node>], i: usize) -> Option<&Node> {
    nodes.get(i).and_then(Option::as_ref)
}

/// The column's blocks in terms of the other's where that makes them smaller; no trees where it
/// does not in all. With the bytes alone and told of what was encoded: one block, or all.
fn tell(chosen: &[Chosen<'_>], pair: &Pair) -> Result<(Option<Trees>, (usize, usize))> {
    let Some(told) = chosen.get(pair.told) else {
        return Ok((None, (0, 0)));
    };
    let by: Vec<(&Chosen<'_>, i64)> = pair
        .by
        .iter()
        .filter_map(|(by, times)| Some((chosen.get(*by)?, *times)))
        .collect();
    let size = |node: &Option<Node>| node.as_ref().map_or(0, Node::size);
    let smaller = |new: Option<Node>, old: Option<&Node>| {
        new.filter(|new| old.is_some_and(|old| new.size() < old.size()))
            .or_else(|| old.cloned())
    };
    let block = |i: usize, example: Option<&Node>| {
        let Some(input) = told.inputs.get(i) else {
            return Ok((None, None));
        };
        let values = match (pair.encoding, old(&told.nodes, i)) {
            (Some(encoding), Some(node)) => {
                tell_block(i, input, node, &by, told, (encoding, pair.numbers), example)?
            }
            _ => None,
        };
        let other = by
            .first()
            .filter(|_| pair.validity)
            .and_then(|(by, _)| by.inputs.get(i)?.validity.as_ref());
        let validity = other
            .zip(input.validity.as_ref())
            .map(|(other, own)| tell_validity(own, other, told.options.without))
            .transpose()?;
        Ok((
            smaller(values, old(&told.nodes, i)),
            smaller(validity.flatten(), old(&told.validity, i)),
        ))
    };
    // One block first.
    let worth =
        |new: usize, old: usize| new + LEAST_BYTES <= old && (new as f64) < old as f64 * WORTH;
    let judged = judged(told);
    let now = |i: usize| {
        [&told.nodes, &told.validity]
            .map(|nodes| old(nodes, i).map_or(0, Node::size))
            .iter()
            .sum()
    };
    let first = block(judged, None)?;
    let bytes = (now(judged), size(&first.0) + size(&first.1));
    if !worth(bytes.1, bytes.0) {
        return Ok((None, bytes));
    }
    let all_sizes = |trees: &[BlockTrees]| -> usize {
        trees
            .iter()
            .map(|(values, validity)| size(values) + size(validity))
            .sum()
    };
    // Of many blocks then the outermost ones.
    let last = told.inputs.len() - 1;
    let mut known = vec![(judged, first)];
    if told.inputs.len() > SEVERAL {
        let example = known.first().and_then(|(_, (values, _))| values.clone());
        known.extend([
            (0, block(0, example.as_ref())?),
            (last, block(last, example.as_ref())?),
        ]);
        let (places, trees): (Vec<usize>, Vec<BlockTrees>) = known.iter().cloned().unzip();
        let bytes = (places.iter().map(|i| now(*i)).sum(), all_sizes(&trees));
        if !worth(bytes.1, bytes.0) {
            return Ok((None, bytes));
        }
    }
    let rest = |i| match known.iter().find(|(known, _)| *known == i) {
        Some((_, trees)) => Ok(trees.clone()),
        None => block(
            i,
            known.first().and_then(|(_, (values, _))| values.as_ref()),
        ),
    };
    let trees: Vec<BlockTrees> = (0..told.inputs.len())
        .into_par_iter()
        .map(rest)
        .collect::<Result<_>>()?;
    let new = all_sizes(&trees);
    let all = (0..told.inputs.len()).map(now).sum();
    Ok((
        worth(new, all).then(|| trees.into_iter().unzip()),
        (all, new),
    ))
}

/// A validity as what differs from another.
fn tell_validity(valid: &Bitmap, others: &Bitmap, without: u64) -> Result<Option<Node>> {
    let chooser = Chooser::new(&POOL).without(without).below(&Difference);
    let streams = [ReferenceStream {
        from: StreamOf::Validity,
        words: Values::Bits(others),
        times: 1,
    }];
    let chooser = chooser.told_by(&streams);
    let values = Values::Bits(valid);
    Difference.encode(values, &Stats::new(values, Kind::Unsigned), &chooser)
}

/// One block in terms of others; `None` where that cannot be.
fn tell_block(
    block: usize,
    input: &Input<'_>,
    root: &Node,
    by: &[(&Chosen<'_>, i64)],
    told: &Chosen<'_>,
    (encoding, numbers): (&dyn Encoding, bool),
    example: Option<&Node>,
) -> Result<Option<Node>> {
    let whole = |root: u8| numbers && root == Dictionary.info().id;
    let from = if whole(root.encoding) {
        Some(StreamOf::Values)
    } else {
        stream_of(root)
    };
    let (Some(from), Some(values)) = (from, input.values()) else {
        return Ok(None);
    };
    let target = stream(root, from, values)?;
    let target = target.borrow();
    let mut others = Vec::new();
    for (other, times) in by {
        let bytes = other.sealed(block);
        let parsed = block::parse(&bytes, input.len, other.ty, &Limits::default())?;
        let Some(other_root) = &parsed.values else {
            return Ok(None);
        };
        if whole(other_root.encoding) && other_root.children.len() < 2 {
            return Ok(None);
        }
        let from = if whole(other_root.encoding) {
            StreamOf::Values
        } else {
            from_of(other_root.encoding)
        };
        let rows = input.validity.as_ref().filter(|_| input.compacted).cloned();
        let source = ReferenceBlock {
            opener: opener(Limits::default()),
            block: parsed.clone(),
            rows,
        };
        let Ok(Some(ty)) = source.physical_type(from) else {
            return Ok(None);
        };
        let words: OwnedValues = for_ints!(ty, T => {
            let words = source.words::<T>(from, target.len())?;
            OwnedValues::all(T::values(&words))
        }, _ => return Ok(None));
        others.push((from, words, *times));
    }
    let streams: Vec<ReferenceStream<'_>> = others
        .iter()
        .map(|(from, words, times)| ReferenceStream {
            from: *from,
            words: words.borrow(),
            times: *times,
        })
        .collect();
    // The example is that of the stream told, not of the root above it.
    let example = example.and_then(|root| {
        if from == StreamOf::FirstChild {
            root.children.first()
        } else {
            Some(root)
        }
    });
    let hint = example
        .filter(|node| node.encoding == encoding.info().id)
        .map(Hint::new);
    let chooser = told
        .options
        .chooser()
        .below(encoding)
        .like(hint.as_ref())
        .told_by(&streams);
    let stats = Stats::new(target, kind(root, from, told.options.kind));
    let Some(node) = encoding.encode(target, &stats, &chooser)? else {
        return Ok(None);
    };
    Ok(Some(match from {
        StreamOf::FirstChild => {
            let mut root = root.clone();
            root.children
                .iter_mut()
                .take(1)
                .for_each(|child| *child = node.clone());
            root
        }
        _ => node,
    }))
}

/// Whether a profile has columns told by others.
pub(crate) fn relates(profile: Profile) -> bool {
    profile != Profile::Fast
}
