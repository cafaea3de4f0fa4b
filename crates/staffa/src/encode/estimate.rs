//! Estimates of the bytes that an encoding or a child would take, by a sample (BtrBlocks, section
//! 3.1).

use super::{Chooser, Profile, Stats, sample};
use crate::error::Result;
use crate::format::Node;
use crate::values::{Kind, OwnedValues, Strings, StringsBuf, Values};

/// Bytes of a node's own header, about.
const NODE_BYTES: usize = 6;

impl Chooser<'_> {
    /// The cost of a child of these values, in bytes.
    pub fn estimate_child(&self, values: Values<'_>, kind: Kind) -> Result<usize> {
        let Some(sample) = self.sample(values) else {
            return Ok(self.node_cost(&self.for_trial().child(values, kind)?));
        };
        let mut least = self.estimate_sampled(sample.borrow(), values.len(), kind)?;
        // All values tell 0.1% of the bytes, and take a twentieth of the time (decision 30).
        if self.rules.profile != Profile::Small {
            return Ok(least);
        }
        let stats = Stats::new(values, kind);
        for candidate in self.candidates(values, &stats, |e| e.info().estimates_from_all_values) {
            if let Some(cost) = self.estimated_cost(candidate, values, &stats)? {
                least = least.min(cost);
            }
        }
        Ok(least)
    }

    /// The cost of a child of the values at some rows: only the sample of them is taken.
    pub(crate) fn estimate_taken(
        &self,
        values: Values<'_>,
        rows: &[u32],
        kind: Kind,
    ) -> Result<usize> {
        let is_sampled = !self.is_trial()
            && self.rules.profile != Profile::Small
            && !matches!(values, Values::Bits(_));
        match is_sampled.then(|| sample::rows_of(rows.len())).flatten() {
            Some(sampled) => {
                let at = sampled
                    .iter()
                    .filter_map(|i| rows.get(*i as usize).copied());
                let sample = OwnedValues::take(values, &at.collect::<Vec<_>>())?;
                self.estimate_sampled(sample.borrow(), rows.len(), kind)
            }
            None => self.estimate_child(OwnedValues::take(values, rows)?.borrow(), kind),
        }
    }

    /// The cost of a child of `len` values, by a sample of them.
    fn estimate_sampled(&self, sample: Values<'_>, len: usize, kind: Kind) -> Result<usize> {
        let node = self.for_trial().child(sample, kind)?;
        Ok(scaled(&node, self.node_cost(&node), len, sample.len()))
    }

    /// The cost of the lengths of strings, estimated once for all encodings that have them.
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

    /// Bytes that an encoding would take and what its children would cost to decode: the sample is
    /// encoded, and the size scaled.
    pub(crate) fn estimate_by_sample(
        &self,
        id: u8,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Option<usize>> {
        let Some(encoding) = self.rules.pool.by_id(id) else {
            return Ok(None);
        };
        let Some(sample) = self.sample(values) else {
            let node = encoding.encode(values, stats, &self.for_trial())?;
            return Ok(node.map(|node| self.bytes_and_children(&node)));
        };
        let sample = sample.borrow();
        let stats = Stats::new(sample, stats.kind());
        let node = encoding.encode(sample, &stats, &self.for_trial())?;
        let scale = |node: Node| {
            scaled(
                &node,
                self.bytes_and_children(&node),
                values.len(),
                sample.len(),
            )
        };
        Ok(node.map(scale))
    }

    /// The sample of strings; `None` where there are hardly more than a sample holds.
    pub(crate) fn sample_strings(strings: Strings<'_>) -> Option<StringsBuf> {
        match sample::of(Values::Bytes(strings)) {
            Some(OwnedValues::Bytes(sample)) => Some(sample),
            _ => None,
        }
    }

    /// The sample of values that are no sample themselves.
    fn sample(&self, values: Values<'_>) -> Option<OwnedValues> {
        (!self.is_trial()).then(|| sample::of(values)).flatten()
    }
}

/// The cost of a sample's tree, scaled to all values; the headers of its nodes do not grow.
fn scaled(node: &Node, cost: usize, len: usize, sample: usize) -> usize {
    fn nodes(node: &Node) -> usize {
        1 + node.children.iter().map(nodes).sum::<usize>()
    }
    let fixed = nodes(node) * NODE_BYTES;
    let variable = cost.saturating_sub(fixed);
    fixed + (variable as f64 * len as f64 / sample.max(1) as f64) as usize
}
