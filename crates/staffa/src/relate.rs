//! Columns told by others: once every flat column of a row group has its own encoding, those that another tells for less
//! are encoded in terms of it.
//!
//! ```text
//! chosen chunks -> streams of one block -> estimates for pairs -> the best pairs encoded -> all blocks of the column told
//! ```
//!
//! Pairs are judged by samples of the rows of one block (rows of some values of the telling column, so that a group is
//! seen whole), and a pair is taken only if its blocks really shrink. One step deep: a column that tells is told by none.

use rayon::prelude::*;

use crate::block;
use crate::choose::{Cascade, Coded, Hint, Stats, code};
use crate::chunk::{Chosen, Input};
use crate::decode::{Budget, Integer, OpenContext, Physical, for_ints};
use crate::encoding::{Encoding, alp::Alp, constant::Constant, dictionary::Dictionary, difference::Difference};
use crate::encoding::{grouped::Grouped, narrow::Narrow};
use crate::error::Result;
use crate::limits::Limits;
use crate::node::{Node, NodeRef};
use crate::options::Profile;
use crate::picked::Picked;
use crate::source::{Source, Stream, StreamOf};
use crate::values::{Kind, PhysicalType, Values};

/// Blocks of fewer rows are left alone.
const LEAST_ROWS: usize = 256;
/// A told column must shrink to this share: reading it alone costs reading the other as well.
const WORTH: f64 = 0.9;
/// Rows by which a pair is judged.
const SAMPLED: usize = 2048;
/// Rows by which most pairs are ruled out.
const GLANCED: usize = 384;
/// Pairs that are encoded for a column, at the most.
const TRIES: usize = 3;

/// Encodes columns in terms of others where that is smaller; which column tells each, if one does. `flat` says which
/// leaves may take part.
pub(crate) fn relate(chosen: &mut [Chosen<'_>], flat: &[bool]) -> Result<Vec<Option<usize>>> {
    let mut told = vec![None; chosen.len()];
    let flat = |leaf: usize| flat.get(leaf).copied().unwrap_or(false);
    let Some(blocks) = (0..chosen.len()).find(|leaf| flat(*leaf)).and_then(|leaf| chosen.get(leaf)) else {
        return Ok(told);
    };
    // The last block may be short.
    let sampled = blocks.inputs.len().saturating_sub(1) / 2;
    if blocks.inputs.get(sampled).is_none_or(|input| input.len < LEAST_ROWS) {
        return Ok(told);
    }
    let views = (0..chosen.len()).into_par_iter().map(|leaf| match chosen.get(leaf) {
        Some(chosen) if flat(leaf) => View::of(chosen, sampled),
        _ => Ok(None),
    });
    let views: Vec<Option<View>> = views.collect::<Result<_>>()?;
    let total: usize = views.iter().flatten().map(|view| view.bytes).sum();
    let mut pairs: Vec<Pair> = views
        .par_iter()
        .enumerate()
        .filter(|(leaf, _)| chosen.get(*leaf).is_some_and(|c| c.options.forced.is_none()))
        .filter_map(|(leaf, view)| Some((leaf, view.as_ref()?)))
        .filter(|(_, view)| view.bytes >= 128.max(total / 2000))
        .flat_map_iter(|(leaf, view)| best_pairs(leaf, view, &views))
        .collect();
    pairs.sort_by(|a, b| b.gain.total_cmp(&a.gain).then((a.told, a.by).cmp(&(b.told, b.by))));
    let mut tells = vec![false; chosen.len()];
    let mut tries = vec![0; chosen.len()];
    for pair in pairs {
        let is = |set: &[bool], leaf: usize| set.get(leaf).copied().unwrap_or(true);
        let known = |leaf: usize| told.get(leaf).is_none_or(Option::is_some);
        let spent = tries.get(pair.told).is_none_or(|tries| *tries >= TRIES);
        if known(pair.told) || known(pair.by) || is(&tells, pair.told) || spent {
            continue;
        }
        tries.iter_mut().skip(pair.told).take(1).for_each(|tries| *tries += 1);
        let Some(nodes) = tell(chosen, &pair, sampled)? else { continue };
        if let (Some(column), Some(by)) = (chosen.get_mut(pair.told), told.get_mut(pair.told)) {
            column.nodes = nodes;
            *by = Some(pair.by);
        }
        tells.iter_mut().skip(pair.by).take(1).for_each(|tells| *tells = true);
    }
    Ok(told)
}

/// One column told by another.
struct Pair {
    told: usize,
    by: usize,
    encoding: &'static dyn Encoding,
    /// Bytes of a block that it is estimated to save.
    gain: f64,
}

/// A stream of one block, by rows.
struct View {
    ty: PhysicalType,
    codes: bool,
    /// Sign-extended; 0 where there is no value.
    words: Vec<u64>,
    /// Of every word which of the distinct ones it is.
    ids: Vec<u32>,
    /// What it takes now.
    bytes: usize,
    distinct: usize,
    /// Rows to judge pairs by, those of equal words together.
    rows: Vec<u32>,
    /// Of every such row whether it has the word of the one before.
    together: Vec<bool>,
}

impl View {
    fn of(chosen: &Chosen<'_>, block: usize) -> Result<Option<Self>> {
        let (Some(input), Some(Some(node))) = (chosen.inputs.get(block), chosen.nodes.get(block)) else {
            return Ok(None);
        };
        let (Some(from), Some(values)) = (stream_of(node), input.values()) else { return Ok(None) };
        let stream = stream(node, from, values)?;
        let (ty, kind) = (stream.borrow().physical_type(), kind(node, from, chosen.options.kind));
        let mut words: Vec<u64> = for_ints!(ty, T => wide(T::slice(stream.borrow()).unwrap_or_default(), kind),
            _ => return Ok(None));
        if let Some(validity) = input.validity.as_ref().filter(|_| input.dense) {
            let present = words.len();
            words.resize(input.len, 0);
            block::expand(&mut words, present, validity);
        }
        let bytes = stream_node(node, from).map_or(0, Node::size);
        let codes = node.encoding == Dictionary.id();
        let Some(Coded { codes: ids, firsts }) = code::of(Values::U64(&words), usize::MAX) else { return Ok(None) };
        let (distinct, rows, together) = (firsts.len(), Vec::new(), Vec::new());
        let mut view = Self { ty, codes, words, ids, bytes, distinct, rows, together };
        view.sample();
        Ok((view.distinct > 1).then_some(view))
    }

    /// Picks the rows of some words: all rows of a word or none.
    fn sample(&mut self) {
        let parts = (self.words.len() / SAMPLED).max(1) as u64;
        let rows = 0..self.words.len() as u32;
        let word = |row: &u32| self.words.get(*row as usize).copied().unwrap_or(0);
        // A few groups cannot be sampled by their words.
        self.rows = if (self.distinct as u64) < parts * 16 {
            rows.step_by(parts as usize).collect()
        } else {
            rows.filter(|row| hash(word(row)) % parts == 0).take(SAMPLED * 2).collect()
        };
        let mut sorted = std::mem::take(&mut self.rows);
        // Groups in no particular order, so that the first of them stand for all.
        sorted.sort_by_cached_key(|row| (hash(word(row)), word(row)));
        let words: Vec<u64> = sorted.iter().map(word).collect();
        self.together = std::iter::once(false).chain(words.array_windows().map(|[a, b]| a == b)).collect();
        self.rows = sorted;
    }
}

fn hash(word: u64) -> u64 {
    (word ^ word >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// Words widened to 64 bits.
fn wide<T: Integer>(words: &[T], kind: Kind) -> Vec<u64> {
    let shift = 64 - T::BITS;
    let signed = |w: &T| (((w.to_u64() << shift) as i64) >> shift) as u64;
    if kind == Kind::Signed { words.iter().map(signed).collect() } else { words.iter().map(|w| w.to_u64()).collect() }
}

/// The stream by which a block tells or is told.
fn stream_of(root: &Node) -> Option<StreamOf> {
    let first = [Dictionary.id(), Alp.id(), Narrow.id()].contains(&root.encoding);
    let from = if first { StreamOf::FirstChild } else { StreamOf::Values };
    let node = stream_node(root, from)?;
    let words = node.ty.width_bytes().is_some_and(|bytes| bytes <= 8) && node.len == root.len;
    (words && root.encoding != Constant.id()).then_some(from)
}

fn stream_node(root: &Node, from: StreamOf) -> Option<&Node> {
    match from {
        StreamOf::Values => Some(root),
        StreamOf::FirstChild => root.children.first(),
    }
}

fn kind(root: &Node, from: StreamOf, kind: Kind) -> Kind {
    match from {
        StreamOf::Values => kind,
        StreamOf::FirstChild if root.encoding == Dictionary.id() => Kind::Unsigned,
        StreamOf::FirstChild => Kind::Signed,
    }
}

/// The words of a stream, one for every value of the block.
fn stream(root: &Node, from: StreamOf, values: Values<'_>) -> Result<Picked> {
    let node = match stream_node(root, from) {
        Some(node) if from == StreamOf::FirstChild => node,
        _ => return Ok(Picked::all(values)),
    };
    let mut bytes = Vec::with_capacity(node.size());
    node.write(&mut bytes);
    let node = NodeRef::parse(&mut crate::cursor::Cursor::new(&bytes), values.len(), Limits::default().depth)?;
    let mut cx = OpenContext { budget: Budget::new(u64::MAX), shared: &[], source: None };
    for_ints!(node.ty, T => {
        let words = cx.all_words::<T>(&node, "stream")?;
        Ok(Picked::all(T::values(&words)))
    }, _ => Ok(Picked::all(values)))
}

/// The pairs that seem to make a column smaller, the best few.
fn best_pairs(told: usize, view: &View, views: &[Option<View>]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut counts = vec![0; view.distinct];
    for (by, other) in views.iter().enumerate() {
        let Some(other) = other.as_ref().filter(|_| by != told) else { continue };
        let now = view.bytes as f64;
        let mut consider = |bytes: Option<f64>, encoding: &'static dyn Encoding| {
            if let Some(bytes) = bytes.filter(|bytes| *bytes < now * WORTH) {
                pairs.push(Pair { told, by, encoding, gain: now - bytes });
            }
        };
        consider(difference_bytes(view, other), &Difference);
        consider(grouped_bytes(view, other, &mut counts), &Grouped);
    }
    pairs.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    pairs.truncate(2 * TRIES);
    pairs
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
        let at = |share: f64| differences.get((differences.len() as f64 * share) as usize).copied().unwrap_or(0);
        let range = at(0.96).wrapping_sub(at(0.04)) as u64;
        f64::from(64 - range.leading_zeros())
    };
    if width(32) > now + 1.0 {
        return None;
    }
    let bits = width(512);
    (!view.codes || bits == 0.0).then_some(rows as f64 * bits / 8.0)
}

/// Bytes that numbers and entries would take, going by the rows of some groups; by fewer first, which rules most out.
fn grouped_bytes(view: &View, other: &View, counts: &mut [usize]) -> Option<f64> {
    let now = view.bytes as f64;
    let mut glance = |rows: usize, most: f64| {
        grouped_bytes_by(other.rows.len().min(rows), view, other, counts).filter(|bytes| *bytes < now * most)
    };
    // Fewer rows make a pair look better than it is.
    glance(GLANCED / 4, 1.3)?;
    glance(GLANCED, 1.3)?;
    grouped_bytes_by(other.rows.len(), view, other, counts)
}

/// By so many rows; `counts` has a 0 for every distinct word.
fn grouped_bytes_by(count: usize, view: &View, other: &View, counts: &mut [usize]) -> Option<f64> {
    let rows = other.rows.get(..count).unwrap_or(&other.rows);
    let id = |row: &u32| view.ids.get(*row as usize).copied().unwrap_or(0);
    let gathered: Vec<u32> = rows.iter().map(id).collect();
    let (mut same, mut equal) = (0usize, 0usize);
    for ([a, b], together) in gathered.array_windows().zip(other.together.iter().skip(1)) {
        same += usize::from(*together);
        equal += usize::from(*together && a == b);
    }
    if same * 8 < rows.len() || equal * 6 < same {
        return None;
    }
    // How many rows have the most frequent entry of their group, the next, and so on.
    let (mut entries, mut ranks) = (0usize, vec![0usize]);
    let mut sizes: Vec<usize> = Vec::new();
    let mut rest = gathered.as_slice();
    while !rest.is_empty() {
        let start = gathered.len() - rest.len() + 1;
        let more = other.together.get(start..).unwrap_or_default().iter().take_while(|together| **together).count();
        let (group, after) = rest.split_at((1 + more).min(rest.len()));
        rest = after;
        if group.iter().all(|id| Some(id) == group.first()) {
            entries += 1;
            ranks.iter_mut().take(1).for_each(|rank| *rank += group.len());
            continue;
        }
        for id in group {
            counts.iter_mut().skip(*id as usize).take(1).for_each(|count| *count += 1);
        }
        sizes.clear();
        for id in group {
            sizes.extend(counts.get_mut(*id as usize).map(std::mem::take).filter(|count| *count > 0));
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        entries += sizes.len();
        ranks.resize(ranks.len().max(sizes.len()), 0);
        ranks.iter_mut().zip(&sizes).for_each(|(rank, count)| *rank += count);
    }
    let sampled = rows.len() as f64;
    let scale = view.words.len() as f64 / sampled;
    let shares = ranks.iter().filter(|rows| **rows > 0).map(|rows| *rows as f64 / sampled);
    let entropy: f64 = shares.map(|share| -share * share.log2()).sum();
    let entries = entries as f64 * scale;
    let one_to_one = view.codes && other.codes && entries < 1.05 * view.distinct as f64;
    let entry_bits = if one_to_one { 1.0 } else { (view.distinct as f64).log2() };
    let starts = if entries > other.distinct as f64 * 1.001 { other.distinct as f64 * 2.0 } else { 0.0 };
    Some((view.words.len() as f64 * entropy * 1.1 + entries * entry_bits + starts) / 8.0)
}

/// The column's blocks in terms of the other's where that makes them smaller; `None` where it does not in all.
fn tell(chosen: &[Chosen<'_>], pair: &Pair, sampled: usize) -> Result<Option<Vec<Option<Node>>>> {
    let (Some(told), Some(by)) = (chosen.get(pair.told), chosen.get(pair.by)) else { return Ok(None) };
    let size = |node: &Option<Node>| node.as_ref().map_or(0, Node::size);
    let block = |i: usize, example: Option<&Node>| -> Result<Option<Node>> {
        let (Some(input), Some(Some(node))) = (told.inputs.get(i), told.nodes.get(i)) else { return Ok(None) };
        tell_block(input, node, &by.sealed(i)?, by.ty, told, pair.encoding, example)
    };
    // One block first.
    let worth = |new: usize, old: usize| new + 64 <= old && (new as f64) < old as f64 * WORTH;
    let old = told.nodes.get(sampled).map_or(0, size);
    let first = block(sampled, None)?;
    if !first.as_ref().is_some_and(|node| worth(node.size(), old)) {
        return Ok(None);
    }
    let nodes = (0..told.inputs.len()).into_par_iter().map(|i| {
        let old = told.nodes.get(i).cloned().flatten();
        let new = if i == sampled { first.clone() } else { block(i, first.as_ref())? };
        Ok(if new.as_ref().is_some_and(|new| new.size() < size(&old)) { new } else { old })
    });
    let nodes = nodes.collect::<Result<Vec<Option<Node>>>>()?;
    let all = |nodes: &[Option<Node>]| nodes.iter().map(size).sum::<usize>();
    Ok(worth(all(&nodes), all(&told.nodes)).then_some(nodes))
}

/// One block in terms of another; `None` where that cannot be.
fn tell_block(
    input: &Input<'_>,
    root: &Node,
    other: &[u8],
    other_ty: Option<PhysicalType>,
    told: &Chosen<'_>,
    encoding: &dyn Encoding,
    example: Option<&Node>,
) -> Result<Option<Node>> {
    let (Some(from), Some(values)) = (stream_of(root), input.values()) else { return Ok(None) };
    let parsed = block::parse(other, input.len, other_ty, &Limits::default())?;
    let Some(other_root) = &parsed.values else { return Ok(None) };
    let first = [Dictionary.id(), Alp.id(), Narrow.id()].contains(&other_root.encoding);
    let other_from = if first { StreamOf::FirstChild } else { StreamOf::Values };
    let rows = input.validity.as_ref().filter(|_| input.dense).cloned();
    let source = Source { block: parsed.clone(), rows };
    let Ok(Some(ty)) = source.physical_type(other_from) else { return Ok(None) };
    let target = stream(root, from, values)?;
    let target = target.borrow();
    let kind = kind(root, from, told.options.kind);
    let words: Picked = for_ints!(ty, T => {
        let words = source.words::<T>(other_from, target.len())?;
        Picked::all(T::values(&words))
    }, _ => return Ok(None));
    // The example is that of the stream told, not of the root above it.
    let example =
        example.and_then(|root| if from == StreamOf::FirstChild { root.children.first() } else { Some(root) });
    let hint = example.filter(|node| node.encoding == encoding.id()).map(Hint::new);
    let cascade = Cascade::root(told.options.profile, None).below(encoding).like(hint.as_ref());
    let cascade = cascade.told_by(Stream { from: other_from, words: words.borrow() });
    let Some(node) = encoding.encode(target, &Stats::new(target, kind), &cascade)? else { return Ok(None) };
    Ok(Some(match from {
        StreamOf::Values => node,
        StreamOf::FirstChild => {
            let mut root = root.clone();
            root.children.iter_mut().take(1).for_each(|child| *child = node.clone());
            root
        }
    }))
}

/// Whether a profile has columns told by others.
pub(crate) fn relates(profile: Profile) -> bool {
    profile != Profile::Fast
}
