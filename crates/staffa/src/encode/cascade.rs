//! The chooser: values in, tree of encodings out (BtrBlocks, section 3).
//!
//! ```text
//! Values -> Stats -> which encodings suit -> estimate each on a sample, cascades included -> encode with the best
//! ```
//!
//! A sample is 10 runs of 64 values from non-overlapping parts of the block: it keeps locality and
//! distribution. Where reality turns out worse than the estimate of the next best, that one is
//! encoded too and the smaller is kept; what does not shrink is stored plain.

use std::sync::atomic::{AtomicUsize, Ordering};

use staffa_kernels::VECTOR;

use super::{Access, Availability, Encoding, PointAccess, Pool, Profile, Stats, sample};
use crate::decode::ReferenceStream;
use crate::error::{Error, Result};
use crate::format::Node;
use crate::values::{Kind, OwnedValues, PhysicalType, Strings, StringsBuf, Values};

/// Bytes that a node's own header takes, about.
const NODE_BYTES: usize = 6;

/// How many encodings are tried although their estimate is beaten.
const DOUBTED: usize = 2;

/// Levels with children of the profile `small`; only its roots are that high.
const SMALL_DEPTH: u8 = 4;

/// The next best estimate is not encoded where it is less by no more than such a part.
const HARDLY_LESS: usize = 64;

/// Bytes that an encoding is estimated to take, or why it is out of the question.
pub(crate) type Verdict = std::result::Result<usize, &'static str>;

/// Where in a cascade the chooser stands, and what it may use there.
#[derive(Debug, Clone, Copy)]
pub struct Chooser<'a> {
    /// The encodings there are.
    pool: &'static Pool,
    /// Levels that may still have children.
    depth: u8,
    /// Encodings that are not to be used below their own, one bit per id.
    excluded: u64,
    /// Encodings that are not to be chosen at all, likewise.
    without: u64,
    profile: Profile,
    /// How the file is expected to be read.
    access: Access,
    /// Whether floats are rounded to a bound on the error.
    rounded: bool,
    /// Whether this is a trial on a sample: only sizes matter, nothing will be decoded.
    trial: bool,
    /// How many of the best estimates are encoded, at the most.
    tries: usize,
    /// The encoding that the user asked for at the root.
    requested: Option<&'a str>,
    /// Whether the encoding that holds this was asked for, so that it must not decline.
    must_encode: bool,
    /// The tree of another block of the same chunk at this place.
    hint: Option<&'a Hint<'a>>,
    /// Streams of other columns, for the encodings that are in terms of some.
    sources: &'a [ReferenceStream<'a>],
}

/// A tree that is likely to suit again, and how many of its children have been taken up.
#[derive(Debug)]
pub(crate) struct Hint<'a> {
    node: &'a Node,
    next: AtomicUsize,
}

impl<'a> Hint<'a> {
    /// From the root of a block's tree.
    pub(crate) fn new(node: &'a Node) -> Self {
        Self {
            node,
            next: AtomicUsize::new(0),
        }
    }

    /// The child whose turn it is: encodings encode their children in order.
    fn take(&self) -> Option<&'a Node> {
        self.node
            .children
            .get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

impl Chooser<'_> {
    /// As deep as the profile `balanced` allows.
    pub fn new(pool: &'static Pool) -> Self {
        Self {
            pool,
            depth: 3,
            excluded: 0,
            without: 0,
            profile: Profile::Balanced,
            access: Access::Scan,
            rounded: false,
            trial: false,
            tries: 3,
            requested: None,
            must_encode: false,
            hint: None,
            sources: &[],
        }
    }
}

impl<'a> Chooser<'a> {
    /// At the root, with an encoding asked for by name, or none.
    pub fn root(pool: &'static Pool, profile: Profile, requested: Option<&'a str>) -> Self {
        let (depth, tries) = match profile {
            Profile::Fast => (2, 1),
            Profile::Balanced => (3, 3),
            Profile::Small => (SMALL_DEPTH, usize::MAX),
        };
        Self {
            depth,
            profile,
            tries,
            requested,
            ..Self::new(pool)
        }
    }

    /// For a file that is to be read like this.
    pub(crate) fn expecting(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// For floats that are rounded to a bound on the error, or are not.
    pub(crate) fn of_rounded(self, rounded: bool) -> Self {
        Self { rounded, ..self }
    }

    /// Without some encodings, one bit per id.
    pub(crate) fn without(self, without: u64) -> Self {
        Self { without, ..self }
    }

    /// With the tree of another block of the chunk, which is tried first and kept while it holds.
    pub(crate) fn like(self, hint: Option<&'a Hint<'a>>) -> Self {
        Self { hint, ..self }
    }

    /// With streams of other columns, in terms of which the next encoding is.
    pub(crate) fn told_by(self, sources: &'a [ReferenceStream<'a>]) -> Self {
        Self { sources, ..self }
    }

    /// The streams of other columns in terms of which values may be encoded.
    pub fn sources(&self) -> &'a [ReferenceStream<'a>] {
        self.sources
    }

    /// Rows of a vector: 1,024, and 64 in a trial, where each run of the sample stands for itself.
    pub fn vector_rows(&self) -> usize {
        if self.trial {
            sample::vector_rows()
        } else {
            VECTOR
        }
    }

    /// Whether only the size matters.
    pub fn is_trial(&self) -> bool {
        self.trial
    }

    /// Whether the user asked for this very encoding.
    pub fn is_forced(&self) -> bool {
        self.must_encode
    }

    /// The tree for values: the root of a block, or a child.
    pub fn child(&self, values: Values<'_>, kind: Kind) -> Result<Node> {
        self.known_child(values, &Stats::new(values, kind))
    }

    /// The tree for a child of which something is known.
    pub(crate) fn known_child(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        match self.hint.and_then(Hint::take) {
            Some(node) => Chooser {
                hint: Some(&Hint::new(node)),
                sources: &[],
                ..*self
            }
            .choose(values, stats),
            None => Self {
                hint: None,
                sources: &[],
                ..*self
            }
            .choose(values, stats),
        }
    }

    /// The node of another block at this place, where there is one.
    pub(crate) fn example(&self) -> Option<&'a Node> {
        self.hint.map(|hint| hint.node)
    }

    /// The encoding of child `i` in the tree of another block, where there is one.
    pub(crate) fn hinted(&self, i: usize) -> Option<u8> {
        Some(self.hint?.node.children.get(i)?.encoding)
    }

    /// As seen by children that are to have no children of their own, but lengths.
    #[must_use]
    pub fn flat(&self) -> Self {
        Self { depth: 0, ..*self }
    }

    /// The tree for lengths, as for any child.
    pub fn lengths(&self, lengths: &[u32]) -> Result<Node> {
        self.child(Values::U32(lengths), Kind::Unsigned)
    }

    /// The tree for values whose statistics are known.
    pub fn choose(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        if let Some(name) = self.requested {
            return self.encode_requested(name, values, stats);
        }
        if !values.is_empty() && stats.runs() == 1 && self.offers(self.pool.constant) {
            return encoded(self.pool.constant, values, stats, self);
        }
        if self.trial || values.len() <= sample::rows() * 2 {
            return self.smallest_of_all(values, stats);
        }
        let mut best: Option<Node> = None;
        let mut again = None;
        if let Some(hint) = self.hint
            && let Some((holds, node)) = self.again(hint, values, stats)?
        {
            if holds {
                return Ok(node);
            }
            // It has been tried.
            again = Some(node.encoding);
            best = Some(node);
        }
        let mut ranked = Vec::new();
        for candidate in self.candidates(values, stats, |e| Some(e.info().id) != again) {
            if let Some(bytes) = candidate.estimate(values, stats, &self.below(candidate))? {
                ranked.push((self.cost(candidate, bytes, values), candidate));
            }
        }
        ranked.sort_by_key(|(bytes, _)| *bytes);
        let mut doubted = 0;
        for (tried, (estimate, candidate)) in ranked.iter().enumerate() {
            // What is estimated to save hardly anything is not worth a trial, but where it has no
            // children to encode.
            let hardly = if candidate.info().is_terminal() {
                usize::MAX
            } else {
                HARDLY_LESS
            };
            let enough =
                |best: &Node| self.node_cost(best) - self.node_cost(best) / hardly <= *estimate;
            let beaten = best.as_ref().is_some_and(enough);
            doubted += usize::from(beaten);
            let done = |best: &Node| doubted > DOUBTED || *estimate >= self.reach(best);
            if tried >= self.tries || beaten && best.as_ref().is_some_and(done) {
                break;
            }
            if let Some(node) = candidate.encode(values, stats, &self.below(*candidate))? {
                // What the estimate did not promise must pay: other columns may be in terms of the
                // simpler tree.
                let cost = self.node_cost(&node) * if beaten { 32 } else { 31 };
                best = Some(
                    best.filter(|b| self.node_cost(b) * 31 <= cost)
                        .unwrap_or(node),
                );
            }
        }
        best.map_or_else(|| self.plainly(values, stats), Ok)
    }

    /// The estimate from which on another encoding is not tried where this one is the best so far
    /// and the estimate no less. A sample does not show what comes again: beside pco and the
    /// codecs, which are estimated by all values, dictionaries and differences of a column with
    /// repeats would never have their turn.
    fn reach(&self, best: &Node) -> usize {
        let by_all = || {
            self.pool
                .by_id(best.encoding)
                .is_some_and(|e| matches!(e.info().availability, Availability::Small))
        };
        if self.depth + 1 >= SMALL_DEPTH && by_all() {
            self.node_cost(best) * 2
        } else {
            0
        }
    }

    /// What the chooser thinks of each encoding for these values: a word for why it is out of the
    /// question, or the bytes that it is estimated to take.
    pub(crate) fn consider(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Vec<(&'static dyn Encoding, Verdict)>> {
        let (ty, kind) = (values.physical_type(), stats.kind());
        let consider = |encoding: &'static dyn Encoding| {
            let verdict = if !encoding.accepts(ty, kind) {
                Err("cannot hold the type")
            } else if encoding.info().needs_reference {
                Err("in terms of another column")
            } else if !self.offers(encoding) {
                Err(match encoding.info().availability {
                    Availability::Fast => "for strings with profile fast, or by name",
                    Availability::Slow => "not with profile fast, but by name",
                    Availability::Small | Availability::Instead(_) => {
                        "with profile small, or by name"
                    }
                    Availability::Rounded => "for columns with a bound on the error, or by name",
                    _ => "by name",
                })
            } else if !encoding.is_viable(values, stats) {
                Err("not viable")
            } else {
                let bytes = encoding.estimate(values, stats, &self.below(encoding))?;
                bytes
                    .map(|bytes| self.cost(encoding, bytes, values))
                    .ok_or("does not hold these values")
            };
            Ok((encoding, verdict))
        };
        self.pool.iter().map(consider).collect()
    }

    /// What a node costs: its bytes, those of its children and what these cost to decode included,
    /// and what it costs to decode itself; a block that has to be decoded for one value costs twice
    /// where single values are to be read.
    fn cost(&self, encoding: &dyn Encoding, bytes: usize, values: Values<'_>) -> usize {
        self.weighed(
            encoding,
            bytes,
            own_picos(encoding, values.physical_type(), values.len()),
        )
    }

    fn weighed(&self, encoding: &dyn Encoding, bytes: usize, picos: u64) -> usize {
        let random =
            self.access == Access::Random && encoding.info().point_access == PointAccess::Block;
        if random {
            2 * bytes + self.decoding(picos)
        } else {
            bytes + self.decoding(picos)
        }
    }

    fn node_cost(&self, node: &Node) -> usize {
        let children = self.decoding(self.picos_of(&node.children));
        match self.pool.by_id(node.encoding) {
            Some(encoding) => self.weighed(
                encoding,
                node.size() + children,
                own_picos(encoding, node.ty, node.len),
            ),
            None => node.size(),
        }
    }

    /// What a tree takes to decode.
    fn picos(&self, node: &Node) -> u64 {
        let own = self
            .pool
            .by_id(node.encoding)
            .map_or(0, |encoding| own_picos(encoding, node.ty, node.len));
        own + self.picos_of(&node.children)
    }

    fn picos_of(&self, children: &[Node]) -> u64 {
        children.iter().map(|child| self.picos(child)).sum()
    }

    /// Bytes that are worth so many picoseconds.
    fn decoding(&self, picos: u64) -> usize {
        (picos as f64 * self.profile.bytes_per_pico()) as usize
    }

    /// Whether the chooser may take an encoding by itself here.
    pub(crate) fn offers(&self, encoding: &dyn Encoding) -> bool {
        match encoding.info().availability {
            _ if self.without >> encoding.info().id & 1 == 1 => false,
            Availability::Always => true,
            Availability::Fast => self.profile == Profile::Fast,
            Availability::Instead(other) => {
                self.profile == Profile::Small
                    || self.profile == Profile::Balanced && !self.offers(other)
            }
            Availability::Slow => self.profile != Profile::Fast,
            Availability::Small => self.profile == Profile::Small,
            Availability::Rounded => self.rounded,
            Availability::ByName => false,
        }
    }

    /// The same, which encodes at most `tries` of the best estimates.
    #[cfg(feature = "experiments")]
    #[must_use]
    pub(crate) fn with_tries(&self, tries: usize) -> Self {
        Self { tries, ..*self }
    }

    /// How many of the best estimates are encoded.
    #[cfg(feature = "experiments")]
    pub(crate) fn tries(&self) -> usize {
        self.tries
    }

    /// What a child of these values would cost, in bytes.
    pub fn estimate_child(&self, values: Values<'_>, kind: Kind) -> Result<usize> {
        let Some(sample) = (!self.trial).then(|| sample::of(values)).flatten() else {
            return Ok(self.node_cost(&self.trying().child(values, kind)?));
        };
        let node = self.trying().child(sample.borrow(), kind)?;
        let by_sample = scaled(
            &node,
            self.node_cost(&node),
            values.len(),
            sample.borrow().len(),
        );
        let stats = Stats::new(values, kind);
        let mut least = by_sample;
        for candidate in self.candidates(values, &stats, |e| e.info().estimates_from_all_values) {
            if let Some(bytes) = candidate.estimate(values, &stats, &self.below(candidate))? {
                least = least.min(self.cost(candidate, bytes, values));
            }
        }
        Ok(least)
    }

    /// What the lengths of strings would cost, once for all encodings that have them.
    pub(crate) fn estimate_lengths(
        &self,
        strings: Strings<'_>,
        stats: &Stats<'_>,
    ) -> Result<usize> {
        if let Some(bytes) = stats.length_bytes.get() {
            return Ok(*bytes);
        }
        let bytes = self.estimate_child(Values::U32(&strings.lengths()), Kind::Unsigned)?;
        Ok(*stats.length_bytes.get_or_init(|| bytes))
    }

    /// Bytes that an encoding would take, by encoding the sample with it and scaling, and what its
    /// children would cost to decode.
    pub(crate) fn estimate_by_sample(
        &self,
        id: u8,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Option<usize>> {
        let Some(encoding) = self.pool.by_id(id) else {
            return Ok(None);
        };
        let cost = |node: &Node| node.size() + self.decoding(self.picos_of(&node.children));
        let Some(sample) = (!self.trial).then(|| sample::of(values)).flatten() else {
            return Ok(encoding
                .encode(values, stats, &self.trying())?
                .map(|node| cost(&node)));
        };
        let sample = sample.borrow();
        let stats = Stats::new(sample, stats.kind());
        let node = encoding.encode(sample, &stats, &self.trying())?;
        Ok(node.map(|node| scaled(&node, cost(&node), values.len(), sample.len())))
    }

    /// The sample of strings, where there are more than a sample holds.
    pub(crate) fn sample_strings(strings: Strings<'_>) -> Option<StringsBuf> {
        match sample::of(Values::Bytes(strings)) {
            Some(OwnedValues::Bytes(sample)) => Some(sample),
            _ => None,
        }
    }

    /// The hint's tree for these values, and whether it holds: not where they take 3% more than the
    /// hint's did.
    fn again(
        &self,
        hint: &Hint<'_>,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Option<(bool, Node)>> {
        let Some(encoding) = self.pool.by_id(hint.node.encoding) else {
            return Ok(None);
        };
        if !encoding.accepts(values.physical_type(), stats.kind())
            || !encoding.is_viable(values, stats)
        {
            return Ok(None);
        }
        let below = Chooser {
            hint: Some(hint),
            ..self.below(encoding)
        };
        let node = encoding.encode(values, stats, &below)?;
        let own = |node: &Node| (node.size() - encoding.shareable(node)) as f64;
        let allowed =
            own(hint.node) / hint.node.len.max(1) as f64 * values.len() as f64 * 1.03 + 64.0;
        let holds = |node: &Node| own(node) <= allowed + encoding.shareable(node) as f64 * 0.5;
        Ok(node.map(|node| (holds(&node), node)))
    }

    fn trying(&self) -> Self {
        Self {
            trial: true,
            hint: None,
            ..*self
        }
    }

    /// As seen by the children of an encoding.
    pub(crate) fn below(&self, encoding: &dyn Encoding) -> Self {
        Self {
            depth: self.depth.saturating_sub(1),
            excluded: self.excluded | 1 << encoding.info().id,
            requested: None,
            must_encode: false,
            hint: None,
            sources: &[],
            ..*self
        }
    }

    pub(crate) fn candidates(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        among: impl Fn(&'static (dyn Encoding + 'static)) -> bool,
    ) -> impl Iterator<Item = &'static dyn Encoding> {
        let (ty, kind) = (values.physical_type(), stats.kind());
        let able = self.pool.iter().filter(move |e| {
            !e.info().needs_reference && self.offers(*e) && among(*e) && e.accepts(ty, kind)
        });
        let able = able.filter(move |e| self.depth > 0 || e.info().is_terminal());
        able.filter(move |e| {
            (e.info().is_terminal() || self.excluded >> e.info().id & 1 == 0)
                && e.is_viable(values, stats)
        })
    }

    /// Few values, or a trial: every encoding that suits is tried on all of them.
    fn smallest_of_all(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let mut best: Option<Node> = None;
        for candidate in self.candidates(values, stats, |_| true) {
            if let Some(node) = candidate.encode(values, stats, &self.below(candidate))?
                && best
                    .as_ref()
                    .is_none_or(|b| self.node_cost(&node) < self.node_cost(b))
            {
                best = Some(node);
            }
        }
        best.map_or_else(|| self.plainly(values, stats), Ok)
    }

    /// The tree of values stored as they are.
    pub(crate) fn plainly(&self, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        match values {
            Values::Bits(_) => encoded(self.pool.plain_bits, values, stats, self),
            _ => encoded(self.pool.plain, values, stats, &self.below(self.pool.plain)),
        }
    }

    fn encode_requested(&self, name: &str, values: Values<'_>, stats: &Stats<'_>) -> Result<Node> {
        let encoding = self.pool.by_name(name)?;
        let ty = values.physical_type();
        if !encoding.accepts(ty, stats.kind()) {
            return Err(Error::invalid(format!(
                "encoding {name} cannot hold {:?} {ty:?} values",
                stats.kind()
            )));
        }
        // The user's word decides, not the viability rules; its children are chosen as ever.
        let all = Stats::exhaustive(values, stats.kind());
        let node = encoding.encode(
            values,
            &all,
            &Self {
                must_encode: true,
                hint: self.hint,
                sources: self.sources,
                ..self.below(encoding)
            },
        )?;
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
        Error::unsupported(format!(
            "{} cannot hold {:?}",
            encoding.info().name,
            values.physical_type()
        ))
    })
}

/// What the values of a node take to decode, its children apart. Bits are decoded by words.
fn own_picos(encoding: &dyn Encoding, ty: PhysicalType, len: usize) -> u64 {
    let len = if ty == PhysicalType::Bits {
        len / 32
    } else {
        len
    };
    u64::from(encoding.info().decode_picos) * len as u64
}

/// What a sample's tree costs, scaled to all values; the nodes' own headers do not grow.
fn scaled(node: &Node, cost: usize, len: usize, sample: usize) -> usize {
    fn nodes(node: &Node) -> usize {
        1 + node.children.iter().map(nodes).sum::<usize>()
    }
    let fixed = nodes(node) * NODE_BYTES;
    let variable = cost.saturating_sub(fixed);
    fixed + (variable as f64 * len as f64 / sample.max(1) as f64) as usize
}
