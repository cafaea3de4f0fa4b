//! Candidates: the encodings that could be chosen for some values, and why the others could not.

use super::{Availability, Chooser, Encoding, Stats};
use crate::error::Result;
use crate::values::Values;

/// The cost that an encoding is estimated to have, or why it is out of the question.
pub(crate) type Verdict = std::result::Result<usize, &'static str>;

impl Chooser<'_> {
    /// The encodings that could be chosen here, of those that `among` lets pass.
    pub(crate) fn candidates(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        among: impl Fn(&'static (dyn Encoding + 'static)) -> bool,
    ) -> impl Iterator<Item = &'static dyn Encoding> {
        let encodings = self.rules.pool.iter();
        encodings.filter(move |e| among(*e) && self.refusal(*e, values, stats).is_none())
    }

    /// The verdict on every encoding for these values.
    pub(crate) fn consider(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Result<Vec<(&'static dyn Encoding, Verdict)>> {
        let verdict = |encoding: &'static dyn Encoding| -> Result<Verdict> {
            if let Some(refusal) = self.refusal(encoding, values, stats) {
                return Ok(Err(refusal));
            }
            let cost = self.estimated_cost(encoding, values, stats)?;
            Ok(cost.ok_or("does not hold these values"))
        };
        let consider = |encoding| Ok((encoding, verdict(encoding)?));
        self.rules.pool.iter().map(consider).collect()
    }

    /// Why an encoding is not estimated here; `None` for a candidate.
    fn refusal(
        &self,
        encoding: &dyn Encoding,
        values: Values<'_>,
        stats: &Stats<'_>,
    ) -> Option<&'static str> {
        let (info, position) = (encoding.info(), &self.position);
        let has_room = position.depth > 0 && position.above >> info.id & 1 == 0;
        if !encoding.accepts(values.physical_type(), stats.kind()) {
            Some("cannot hold the type")
        } else if info.needs_reference {
            Some("for derived columns")
        } else if !self.offers(encoding) {
            Some(match info.availability {
                Availability::Fast => "for strings with profile fast, or by name",
                Availability::Slow => "not with profile fast, but by name",
                Availability::Small | Availability::Instead(_) => "with profile small, or by name",
                Availability::Rounded => "for columns with a bound on the error, or by name",
                Availability::Always | Availability::ByName => "by name",
            })
        } else if !info.is_terminal() && !has_room {
            Some("not below the nodes above")
        } else if !encoding.is_viable(values, stats) {
            Some("not viable")
        } else if self.offers(self.rules.pool.dictionary)
            && !encoding.may_beat_dictionary(values, stats)
        {
            Some("left to a dictionary")
        } else {
            None
        }
    }
}
