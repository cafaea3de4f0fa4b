//! The chooser: values in, a tree of encodings out (BtrBlocks, section 3).
//!
//! ```text
//! Values -> Stats -> candidates -> estimated cost of each, cascades included -> the best few are encoded -> the smallest
//! ```
//!
//! How a choice is made:
//!
//! 1. **Shortcuts.** An encoding requested by name is used. Values that are all equal become
//!    `constant`. Of few values, and of samples, all candidates are encoded with flat children, the
//!    best two (of samples the best) with chosen ones, and the smallest is kept. A block whose chunk has a tree already (its [`Hint`]) takes the same tree
//!    while that takes at most 8% more per value, or as much more as strings are longer, and a sample does not show that half as much would do (decision
//!    48); also of few values where it has bytes to share, or was chosen for about as few.
//! 2. **Candidates** (`candidates.rs`). The [`Rules`] allow the encoding, it accepts the type, the
//!    [`Position`] leaves room for its children, it is not its own descendant, and its viability
//!    rule holds.
//! 3. **Estimates** (`estimate.rs`). By default a candidate encodes a sample, 10 runs of 64 values
//!    from non-overlapping parts of the block, and the size is scaled. One alone beside `plain` needs none.
//! 4. **Costs** (`cost.rs`). Bytes, and the time to decode them as bytes.
//! 5. **Trials.** The cheapest candidates are encoded, at most [`Rules::tries`] of them, until the
//!    next estimate exceeds the best cost so far. The smallest tree wins; `plain` where none
//!    shrinks.
//!
//! [`Chooser::consider`] lists the verdict on every encoding, for `staffa explain --why`.

use super::chooser::{Chooser, SMALL_DEPTH};
use super::position::Position;
use super::rough::sampled_bytes;
use super::{Availability, Bits, Encoding, Hint, Pool, Stats, sample};
use crate::error::{Error, Result};
use crate::format::Node;
use crate::values::{Kind, Values};

/// Fewer values are encoded in every way sooner than they are ranked.
const LEAST_RANKED: usize = 16;

/// Of few values, encodings that are tried: those whose trees with flat children are smallest, and at most
/// so much larger than the smallest. Of samples one is enough.
const TRIED_OF_FEW: usize = 2;
const TRIED_OF_SAMPLES: usize = 1;
const TIMES_SMALLEST: f64 = 1.5;

/// Share that another encoding must save where a column has the tree of a similar one.
const BEATEN: usize = 12;

/// A tree of another block is not doubted below so many bytes.
const LEAST_DOUBTED: usize = 512;
/// A tree that saves less than this share may hide that another one is much smaller.
const LITTLE_SAVED: usize = 5;

/// Rows of a run, on average, from which on runs are long.
const LONG_RUN: usize = 12;

/// Encodings that are tried although the best tree so far beats their estimate.
const DOUBTED: usize = 2;

/// Bytes of a string that is worth more than `constant`.
const LEAST_LONG: usize = 256;

/// An encoding with children is tried only if its estimate saves more than 1/64.
const LEAST_SAVING: usize = 64;

impl Chooser<'_> {
    /// The tree of a child.
    pub fn child(&self, values: Values<'_>, kind: Kind) -> Result<Node> {
        self.known_child(values, &Stats::new(values, kind))
    }

    /// The tree of a child whose statistics are known.
    pub(crate) fn known_child(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let hint = self.position.hint.and_then(Hint::next_child);
        let child = Chooser::with_hint(*self, hint.as_ref())
            .with_references(&[])
            .without_chunk();
        child.choose(values, stats)
    }

    /// The tree of lengths, a child like any other.
    pub fn lengths(&self, lengths: &[u32]) -> Result<Node> {
        self.child(Values::U32(lengths), Kind::Unsigned)
    }

    /// The tree of values whose statistics are known.
    pub fn choose(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        self.check_cancelled()?;
        if let Some(name) = self.position.requested_encoding {
            return self.encode_requested(name, values, stats);
        }
        let constant = self.rules.pool.constant;
        // One long string may still have tokens.
        let is_long = values.len() == 1 && values.plain_bytes() >= LEAST_LONG;
        if !values.is_empty() && stats.runs() == 1 && !is_long && self.offers(constant) {
            return encoded(constant, values, stats, self);
        }
        let few = sample::are_few(values.len());
        if self.position.trial || few && !self.hint_suits_few(values.len()) {
            return self.smallest_of_few(values, stats, None);
        }
        let hinted = match self.position.hint {
            Some(hint) => self.encode_hinted(hint, values, stats)?,
            None => None,
        };
        match hinted {
            Some((node, true)) => Ok(node),
            hinted if few => self.smallest_of_few(values, stats, hinted.map(|(node, _)| node)),
            hinted => self.smallest_by_estimate(values, stats, hinted.map(|(node, _)| node)),
        }
    }

    /// Encodes the candidates with the least estimates and keeps the smallest; `best` is encoded
    /// already.
    fn smallest_by_estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        mut best: Option<Node>,
    ) -> Result<Node> {
        let tried = best.as_ref().map(|node| node.encoding);
        let mut ranked = Vec::new();
        let others = self.candidates(values, stats, |e| Some(e.info().id) != tried);
        let mut others: Vec<_> = others.collect();
        let is = |e: &dyn Encoding, one: &dyn Encoding| e.info().id == one.info().id;
        // Long runs are stored once, or as exceptions of the most frequent value: nothing else takes less
        // (decision 36). Strings whose runs repeat have them as codes of a dictionary.
        let are_long = stats.runs() * LONG_RUN <= values.len();
        let has_runs = |e: &dyn Encoding| e.info().bits == Bits::Once;
        let has_codes = |e: &dyn Encoding| is(e, self.rules.pool.dictionary);
        let once: &dyn Fn(&dyn Encoding) -> bool = match values {
            Values::Bytes(_) if !others.iter().any(|e| has_runs(*e)) => &has_codes,
            _ => &has_runs,
        };
        if are_long && others.iter().any(|e| once(*e)) {
            others.retain(|e| e.info().bits.saves() || once(*e));
        }
        // One alone beside plain is encoded without an estimate.
        let is_plain = |e: &dyn Encoding| is(e, self.rules.pool.plain);
        let is_alone = best.is_none() && others.iter().filter(|e| !is_plain(**e)).count() == 1;
        for candidate in others {
            let cost = if is_alone && !is_plain(candidate) {
                Some(0)
            } else {
                self.estimated_cost(candidate, values, stats)?
            };
            if let Some(cost) = cost {
                ranked.push((cost, candidate));
            }
            self.check_cancelled()?;
        }
        ranked.sort_by_key(|(cost, _)| *cost);
        let mut doubted = 0;
        for (tried, (estimate, candidate)) in ranked.into_iter().enumerate() {
            // A small saving is worth a trial only without children to encode.
            let least_saving = if candidate.info().is_terminal() {
                usize::MAX
            } else {
                LEAST_SAVING
            };
            let beats = |best: &Node| {
                let cost = self.node_cost(best);
                cost - cost / least_saving <= estimate
            };
            let beaten = best.as_ref().is_some_and(beats);
            doubted += usize::from(beaten);
            self.check_cancelled()?;
            let hopeless = |best: &Node| doubted > DOUBTED || estimate >= self.reach(best);
            if tried >= self.rules.tries || beaten && best.as_ref().is_some_and(hopeless) {
                break;
            }
            if let Some(node) = candidate.encode(values, stats, &self.below(candidate))? {
                // A tree beyond its estimate must pay: columns may be derived from the simpler one.
                let cost = self.node_cost(&node) * if beaten { 32 } else { 31 };
                let kept = best.filter(|best| self.node_cost(best) * 31 <= cost);
                best = Some(kept.unwrap_or(node));
            }
        }
        best.map_or_else(|| self.plainly(values, stats), Ok)
    }

    /// The estimate from which on no encoding is tried that this tree beats.
    ///
    /// A sample does not show repeats. Beside pco and the codecs, whose estimates look at all
    /// values, dictionaries and differences of a column with repeats would never be tried.
    fn reach(&self, best: &Node) -> usize {
        let looks_at_all = || {
            let encoding = self.rules.pool.by_id(best.encoding);
            encoding.is_some_and(|e| matches!(e.info().availability, Availability::Small))
        };
        if self.position.depth + 1 >= SMALL_DEPTH && looks_at_all() {
            self.node_cost(best) * 2
        } else {
            0
        }
    }

    /// The tree of the hint for these values, and whether it still suits.
    fn encode_hinted(
        &self,
        hint: &Hint<'_>,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Option<(Node, bool)>> {
        let Some(encoding) = self.rules.pool.by_id(hint.example.encoding) else {
            return Ok(None);
        };
        if !encoding.accepts(values.physical_type(), stats.kind())
            || !encoding.is_viable(values, stats)
        {
            return Ok(None);
        }
        let below = Chooser::with_hint(self.below(encoding), Some(hint));
        let Some(node) = encoding.encode(values, stats, &below)? else {
            return Ok(None);
        };
        let shareable = encoding.shareable(&node);
        let suits = hint.example.suits(&node, values, shareable)
            && !self.is_doubtful(encoding, node.size() - shareable, values, stats)
            && !(hint.is_similar && self.is_beaten(&node, values, stats)?);
        Ok(Some((node, suits)))
    }

    /// Whether a tree of another block must compete, as it does not show that these values repeat, or are close to each
    /// other: after a block of random numbers all others would be stored like it (decision 48).
    fn is_doubtful(
        &self,
        encoding: &dyn Encoding,
        bytes: usize,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> bool {
        let saves_little = bytes > values.plain_bytes() / LITTLE_SAVED * (LITTLE_SAVED - 1);
        let may_hide =
            encoding.info().is_terminal() || matches!(values, Values::Bytes(_)) || saves_little;
        if !may_hide || self.position.depth == 0 || bytes < LEAST_DOUBTED {
            return false;
        }
        if encoding.info().id == self.rules.pool.plain.info().id {
            return true;
        }
        let simple = match values {
            // The ends of runs, each of two bytes.
            Values::Bits(_) => Some(2 * stats.runs()),
            _ => sampled_bytes(values),
        };
        simple.is_some_and(|simple| simple * 2 < bytes)
    }

    /// Whether a tree of another column is beaten here: packed values take as much where a few are
    /// frequent, or come in runs.
    fn is_beaten(&self, node: &Node, values: Values<'_>, stats: &Stats<'_>) -> Result<bool> {
        let packs = |e: &dyn Encoding| e.info().bits == Bits::Same;
        if !self.rules.pool.by_id(node.encoding).is_some_and(packs) {
            return Ok(false);
        }
        for candidate in self.candidates(values, stats, |e| e.info().bits.saves()) {
            let cost = self.estimated_cost(candidate, values, stats)?;
            if cost.is_some_and(|cost| cost + cost / BEATEN < self.node_cost(node)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The smallest tree of few values, and samples: of the candidates whose trees with flat children
    /// are smallest (decision 32). `hinted` is one of them, encoded already.
    fn smallest_of_few(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        mut hinted: Option<Node>,
    ) -> Result<Node> {
        // A trial does not see what the blocks of a chunk share.
        let is_alone = self.chunk().is_none();
        let is_no_bits = !matches!(values, Values::Bits(_));
        let is_ranked = is_alone && is_no_bits && values.len() >= LEAST_RANKED;
        if self.position.depth == 0 || !is_ranked {
            return self.smallest_of_all(values, stats);
        }
        let flat = self.for_sizes();
        let mut ranked = Vec::new();
        for candidate in self.candidates(values, stats, |_| true) {
            let below = flat.below(candidate).flat();
            if let Some(node) = candidate.encode(values, stats, &below)? {
                ranked.push((self.node_cost(&node), candidate, node));
            }
        }
        ranked.sort_by_key(|(cost, ..)| *cost);
        let least = ranked.first().map_or(0, |(least, ..)| *least);
        let most = (least as f64 * TIMES_SMALLEST) as usize;
        let mut tries = if self.is_sample() {
            TRIED_OF_SAMPLES
        } else {
            TRIED_OF_FEW
        };
        let mut best: Option<(usize, Node)> = None;
        for (cost, candidate, node) in ranked {
            // Whatever is larger, where those that are tried cannot hold the values after all.
            if best.is_some() && (tries == 0 || cost > most) {
                break;
            }
            let is_encoded = |hinted: &mut Node| hinted.encoding == candidate.info().id;
            let node = if self.is_trial() && candidate.info().is_terminal() {
                Some(node)
            } else if let Some(node) = hinted.take_if(is_encoded) {
                Some(node)
            } else {
                candidate.encode(values, stats, &self.below(candidate))?
            };
            tries = tries.saturating_sub(1);
            let smaller = node.map(|node| (self.node_cost(&node), node));
            let smaller = smaller.filter(|(cost, _)| best.as_ref().is_none_or(|b| *cost < b.0));
            best = smaller.or(best);
        }
        best.map_or_else(|| self.plainly(values, stats), |(_, node)| Ok(node))
    }

    /// The smallest tree of all candidates, without estimates.
    fn smallest_of_all(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let mut best: Option<(usize, Node)> = None;
        for candidate in self.candidates(values, stats, |_| true) {
            if let Some(node) = candidate.encode(values, stats, &self.below(candidate))? {
                let cost = self.node_cost(&node);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, node));
                }
            }
        }
        best.map_or_else(|| self.plainly(values, stats), |(_, node)| Ok(node))
    }

    /// The tree of values stored as they are.
    pub(crate) fn plainly(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let Pool {
            plain, plain_bits, ..
        } = self.rules.pool;
        match values {
            Values::Bits(_) => encoded(*plain_bits, values, stats, self),
            _ => encoded(*plain, values, stats, &self.below(*plain)),
        }
    }

    fn encode_requested(&self, name: &str, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let encoding = self.rules.pool.by_name(name)?;
        let ty = values.physical_type();
        if !encoding.accepts(ty, stats.kind()) {
            return Err(Error::invalid(format!(
                "encoding {name} cannot hold {:?} {ty:?} values",
                stats.kind()
            )));
        }
        // The request overrules the viability rules; children are chosen as ever.
        let all = Stats::exhaustive(values, stats.kind());
        let mut chooser = self.below(encoding);
        chooser.position = Position {
            must_encode: true,
            hint: self.position.hint,
            references: self.position.references,
            ..chooser.position
        };
        let node = encoding.encode(values, &all, &chooser)?;
        node.ok_or_else(|| Error::invalid(format!("encoding {name} cannot hold these values")))
    }
}

fn encoded(
    encoding: &dyn Encoding,
    values: Values<'_>,
    stats: &Stats<'_>,
    chooser: &Chooser<'_>,
) -> Result<Node> {
    let node = encoding.encode(values, stats, chooser)?;
    node.ok_or_else(|| {
        let (name, ty) = (encoding.info().name, values.physical_type());
        Error::unsupported(format!("{name} cannot hold {ty:?}"))
    })
}
