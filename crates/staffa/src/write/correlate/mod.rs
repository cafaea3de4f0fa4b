//! Derived columns: once every flat column of a row group has its own trees, those that shrink
//! enough are encoded from reference columns.
//!
//! ```text
//! chosen chunks -> streams of one block -> gains of pairs, by samples -> pairs that save the most together
//!               -> one block encoded -> all blocks of the column
//! ```
//!
//! A pair is judged by samples of the rows of one block (all rows of some values of the reference
//! column, so that groups are seen whole), and taken only if the blocks of the column really
//! shrink. Derivations are one step deep: a reference column is not derived itself.

mod assign;
mod column;
mod derive;
mod equal;
mod gain;
mod search;
mod sum;

use assign::{Leaf, assign_first};
use column::set_judged;
use derive::{WORTH, derive};
use equal::equal_columns;
pub(crate) use equal::{Earlier, Outline};
use search::derivations;
pub(super) use search::window;

use super::at_mut;
use super::chunk::{ChosenChunk, Trees};
use crate::encode::{Encoding, Profile};
use crate::error::{Error, Result};
use crate::limits::map_heaviest_first;

/// A chunk of fewer bytes does not equal another one, and a derivation saves no fewer.
const LEAST_BYTES: usize = 64;
/// What reads a derived column alone reads its reference columns as well: at most this many times
/// the bytes of the column alone, or [`SMALL_REFERENCES`].
const MOST_REFERENCES: usize = 4;
/// Bytes of reference columns that are always worth it.
const SMALL_REFERENCES: usize = 64 << 10;
/// Derivations that are encoded for a column, at most.
const TRIES: usize = 3;
/// Share of its bytes that a column must save for a derivation to be encoded at all.
pub(crate) const LEAST_GAIN: f64 = 1.0 - WORTH;

/// Derivations that are encoded at the same time.
const AT_A_TIME: usize = 16;

/// A column derived from reference columns: a candidate.
#[derive(Clone)]
struct Derivation {
    leaf: usize,
    /// Bytes of a block of the column alone.
    alone: usize,
    /// The reference columns, each with its coefficient.
    references: Vec<(usize, i64)>,
    /// The encoding of the values, where these are derived.
    encoding: Option<&'static dyn Encoding>,
    /// Whether the numbers behind the codes of a dictionary are derived, not the codes.
    numbers: bool,
    /// Whether the validity is derived.
    validity: bool,
    /// Bytes of a block that it is estimated to save.
    gain: f64,
}

/// The columns that a row group derived, for later row groups: as long as these derivations pay, and
/// the columns take about as many bytes, no others are looked for but in row groups 1, 2, 4, 8 and so on.
pub(crate) struct Relations {
    derivations: Vec<Derivation>,
    /// Bytes per row of all columns.
    row_bytes: f64,
    /// Row groups so far.
    row_groups: usize,
}

/// Growth of the bytes per row after which derivations are looked for again.
const GROWTH: f64 = 1.08;

/// What became of a derivation.
#[derive(Debug)]
pub(crate) struct Tried {
    pub leaf: usize,
    pub references: Vec<usize>,
    /// The encoding of the values, where these would be derived.
    pub encoding: Option<&'static str>,
    pub validity: bool,
    /// Bytes alone and derived: of one block, or of all blocks where all were encoded.
    pub bytes: (usize, usize),
    pub encoded: bool,
    pub taken: bool,
    pub reason: &'static str,
}

/// Derives columns, of which the first is leaf `first` of the table, from others where that is smaller, and
/// lists what was tried. Derivations that seem to save less than the share `least_gain` are not
/// listed. `relations` are those of the row group before, and then of this one.
pub(crate) fn correlate(
    chosen: &mut [ChosenChunk<'_>],
    first: usize,
    least_gain: f64,
    relations: &mut Option<Relations>,
) -> Result<Vec<Tried>> {
    let mut trials = Trials {
        first,
        is_reference: vec![false; chosen.len()],
        tries: vec![0; chosen.len()],
        taken: Vec::new(),
        log: Vec::new(),
    };
    if !chosen.iter().any(may_be_derived) {
        return Ok(trials.log);
    }
    set_judged(chosen);
    for (leaf, reference) in equal_columns(chosen) {
        trials.equal(chosen, leaf, reference)?;
    }
    let mut row_groups = 1;
    if let Some(mut before) = relations.take() {
        row_groups += before.row_groups;
        before.row_groups = row_groups;
        trials.derive_all(chosen, &before.derivations)?;
        let all_taken = trials.taken.len() == before.derivations.len();
        let is_as_before = all_taken && row_bytes(chosen) <= before.row_bytes * GROWTH;
        if is_as_before && !row_groups.is_power_of_two() {
            *relations = Some(before);
            return Ok(trials.log);
        }
    }
    let derivations = trials.in_order(chosen, derivations(chosen, least_gain)?);
    trials.derive_all(chosen, &derivations)?;
    *relations = Some(Relations {
        row_bytes: row_bytes(chosen),
        derivations: trials.taken,
        row_groups,
    });
    Ok(trials.log)
}

/// Bytes per row of all columns.
fn row_bytes(chosen: &[ChosenChunk<'_>]) -> f64 {
    let rows = chosen.iter().map(|chunk| chunk.len).max();
    let written = chosen.iter().filter(|chunk| !chunk.same);
    let bytes: usize = written.map(ChosenChunk::size).sum();
    bytes as f64 / rows.unwrap_or(0).max(1) as f64
}

/// What has become of the columns so far, which are numbered from the first on.
struct Trials {
    /// The first one's leaf of the table.
    first: usize,
    /// By leaf: whether another column is derived from it.
    is_reference: Vec<bool>,
    /// By leaf: derivations that were encoded.
    tries: Vec<usize>,
    taken: Vec<Derivation>,
    log: Vec<Tried>,
}

impl Trials {
    /// Derives a column from its equal.
    fn equal(
        &mut self,
        chosen: &mut [ChosenChunk<'_>],
        leaf: usize,
        reference: usize,
    ) -> Result<()> {
        let chunk = at_mut(chosen, leaf)?;
        if may_be_derived(chunk) {
            (chunk.same, chunk.references) = (true, vec![self.first + reference]);
            self.log.push(Tried::equal(leaf, reference, chunk.size()));
            *at_mut(&mut self.is_reference, reference)? = true;
        }
        Ok(())
    }

    /// Derives columns, one derivation after the other, where nothing speaks against it and the blocks
    /// really shrink. Those that do not depend on each other are encoded at the same time.
    fn derive_all(
        &mut self,
        chosen: &mut [ChosenChunk<'_>],
        mut derivations: &[Derivation],
    ) -> Result<()> {
        while let Some(first) = derivations.first() {
            at_mut(chosen, first.leaf)?.options.cancel.check()?;
            let apart = independent(derivations);
            let (now, rest) = derivations.split_at(apart.max(1));
            derivations = rest;
            let size = |derivation: &&Derivation| {
                let chunk = chosen.get(derivation.leaf);
                chunk.map_or(0, ChosenChunk::size)
            };
            let derived = map_heaviest_first(now, size, |derivation| {
                let refusal = self.refusal(chosen, derivation);
                let derived = refusal.is_none().then(|| derive(chosen, derivation));
                Ok((refusal, derived.transpose()?))
            })?;
            for (derivation, (refusal, derived)) in now.iter().zip(derived) {
                let mut entry = Tried::of(derivation, refusal.unwrap_or(""));
                if let Some((trees, bytes)) = derived {
                    (entry.bytes, entry.encoded, entry.taken) = (bytes, true, trees.is_some());
                    match trees {
                        Some(trees) => self.take(chosen, derivation, trees)?,
                        None => entry.reason = "saves less than three tenths once encoded",
                    }
                    *at_mut(&mut self.tries, derivation.leaf)? += 1;
                }
                self.log.push(entry);
            }
        }
        Ok(())
    }

    /// Takes the trees of a derived column.
    fn take(
        &mut self,
        chosen: &mut [ChosenChunk<'_>],
        derivation: &Derivation,
        trees: Vec<Trees>,
    ) -> Result<()> {
        let chunk = at_mut(chosen, derivation.leaf)?;
        if trees.len() != chunk.blocks.len() {
            return Err(Error::internal(format!(
                "trees of {} derived blocks for {}",
                trees.len(),
                chunk.blocks.len()
            )));
        }
        let references = derivation.references.iter();
        chunk.references = references.map(|(leaf, _)| self.first + *leaf).collect();
        for (block, trees) in chunk.blocks.iter_mut().zip(trees) {
            block.trees = trees;
        }
        for (leaf, _) in &derivation.references {
            *at_mut(&mut self.is_reference, *leaf)? = true;
        }
        self.taken.push(derivation.clone());
        Ok(())
    }

    /// The derivations that nothing speaks against so far, those first that together save the most; then
    /// the others.
    fn in_order(
        &self,
        chosen: &[ChosenChunk<'_>],
        derivations: Vec<Derivation>,
    ) -> Vec<Derivation> {
        let leaves = chosen.iter().zip(&self.is_reference);
        let leaves = leaves
            .map(|(chunk, is_reference)| Leaf::new(!chunk.references.is_empty(), *is_reference));
        let is_open = |derivation: &Derivation| self.refusal(chosen, derivation).is_none();
        let (open, refused): (Vec<_>, Vec<_>) = derivations.into_iter().partition(is_open);
        let mut all = assign_first(open, leaves.collect());
        all.extend(refused);
        all
    }

    /// Why a derivation is not encoded.
    fn refusal(&self, chosen: &[ChosenChunk<'_>], derivation: &Derivation) -> Option<&'static str> {
        let leaf = derivation.leaf;
        let is_derived = |leaf: usize| chosen.get(leaf).is_none_or(|c| !c.references.is_empty());
        let mut references = derivation.references.iter();
        if !derivation.is_worth_encoding() {
            Some("saves less than three tenths")
        } else if is_derived(leaf) {
            Some("it is derived from another column")
        } else if references.any(|(leaf, _)| is_derived(*leaf)) {
            Some("that column is derived itself")
        } else if self.is_reference.get(leaf).is_none_or(|is| *is) {
            Some("it is a reference column")
        } else if !have_same_blocks(chosen, derivation) {
            Some("that column has other blocks")
        } else if too_large(chosen, derivation) {
            Some("that column is too large to be read for this one")
        } else if self.tries.get(leaf).is_none_or(|tries| *tries >= TRIES) {
            Some("three others were tried")
        } else {
            None
        }
    }
}

/// How many of the next derivations do not depend on each other: none derives a column that another
/// derives or refers to.
fn independent(derivations: &[Derivation]) -> usize {
    let conflict = |a: &Derivation, b: &Derivation| a.leaf == b.leaf || b.refers_to(a.leaf);
    let some = derivations.get(..AT_A_TIME).unwrap_or(derivations);
    let depends = |(i, own): &(usize, &Derivation)| {
        let mut before = some.iter().take(*i);
        before.any(|other| conflict(own, other) || conflict(other, own))
    };
    let first = some.iter().enumerate().find(depends);
    first.map_or(some.len(), |(i, _)| i)
}

/// Whether a column and its reference columns have blocks of the same rows: in another row group lists may have had
/// other lengths, and strings that are longer now have smaller blocks.
fn have_same_blocks(chosen: &[ChosenChunk<'_>], derivation: &Derivation) -> bool {
    let blocks = |leaf: usize| {
        let chunk = chosen.get(leaf)?;
        Some((chunk.len, chunk.options.blocks.rows)).filter(|_| !chunk.blocks.is_empty())
    };
    let own = blocks(derivation.leaf);
    let mut references = derivation.references.iter();
    own.is_some() && references.all(|(leaf, _)| blocks(*leaf) == own)
}

/// Whether a reader of the column alone would read too many bytes of reference columns.
fn too_large(chosen: &[ChosenChunk<'_>], derivation: &Derivation) -> bool {
    let size = |leaf: usize| chosen.get(leaf).map_or(0, ChosenChunk::size);
    let references = derivation.references.iter();
    let references: usize = references.map(|(leaf, _)| size(*leaf)).sum();
    let most = MOST_REFERENCES * size(derivation.leaf);
    references > most.max(SMALL_REFERENCES)
}

/// Whether the profile of a chunk has derived columns.
fn may_be_derived(chunk: &ChosenChunk<'_>) -> bool {
    chunk.options.rules.profile != Profile::Fast
}

impl Derivation {
    /// Whether it seems to save enough.
    fn is_worth_encoding(&self) -> bool {
        self.gain > self.alone as f64 * LEAST_GAIN
    }

    fn refers_to(&self, leaf: usize) -> bool {
        self.references.iter().any(|(other, _)| *other == leaf)
    }
}

impl Tried {
    fn of(derivation: &Derivation, reason: &'static str) -> Self {
        let references = derivation.references.iter();
        let alone = derivation.alone;
        Self {
            leaf: derivation.leaf,
            references: references.map(|(leaf, _)| *leaf).collect(),
            encoding: derivation.encoding.map(|e| e.info().name),
            validity: derivation.validity,
            bytes: (alone, (alone as f64 - derivation.gain).max(0.0) as usize),
            encoded: false,
            taken: false,
            reason,
        }
    }

    fn equal(leaf: usize, reference: usize, bytes: usize) -> Self {
        Self {
            leaf,
            references: vec![reference],
            encoding: Some("equal"),
            validity: true,
            bytes: (bytes, 0),
            encoded: true,
            taken: true,
            reason: "",
        }
    }
}
