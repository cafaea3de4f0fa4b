//! Which derivations are encoded first: those that together save the most.
//!
//! A column is derived once at most, and a reference column is not derived itself. The derivation that
//! saves the most may refer to a column that saves nearly as much derived from a third one, from
//! which both could be derived. So the best derivations are assigned one by one, and then a local
//! search replaces some by another, or leaves a column alone for others to refer to, while all columns
//! together save more. A pass looks at each derivation once.

use super::Derivation;

/// The share of the gains of a move that it must save: gains are estimates, and those of moves that seem to
/// pay are too high.
const LEAST_SAVED: f64 = 0.25;
/// Passes over all derivations, at most.
const PASSES: usize = 4;

/// Puts the derivations that together save the most in front of the others. They are sorted, the best
/// first, and stay so.
pub(super) fn assign_first(derivations: Vec<Derivation>, leaves: Vec<Leaf>) -> Vec<Derivation> {
    let mut search = Search::new(&derivations, leaves);
    for _ in 0..PASSES {
        if !search.pass() {
            break;
        }
    }
    let assigned = (0..derivations.len()).map(|i| search.is_assigned(i));
    let assigned: Vec<bool> = assigned.collect();
    let all = derivations.into_iter().zip(assigned);
    let (first, rest): (Vec<_>, Vec<_>) = all.partition(|(_, assigned)| *assigned);
    let all = first.into_iter().chain(rest);
    all.map(|(derivation, _)| derivation).collect()
}

/// A column in the search.
#[derive(Clone, Default)]
pub(super) struct Leaf {
    /// Whether it is derived already: no reference column.
    is_derived: bool,
    /// Whether it is a reference column already: not to be derived.
    is_reference: bool,
    /// Its derivations, the best first.
    candidates: Vec<usize>,
    /// Derivations that refer to it, the best first.
    referring: Vec<usize>,
    /// The derivation that it is assigned.
    assigned: Option<usize>,
    /// The columns whose assigned derivation refers to it.
    users: Vec<usize>,
}

/// Bytes that a move saves, and what the columns derived from the moved one are assigned instead.
type Replacement = (f64, Vec<(usize, Option<usize>)>);

/// The search: derivations by number, and the columns.
struct Search<'d> {
    derivations: &'d [Derivation],
    leaves: Vec<Leaf>,
}

impl<'d> Search<'d> {
    /// Assigns the derivations one by one where nothing speaks against it.
    fn new(derivations: &'d [Derivation], leaves: Vec<Leaf>) -> Self {
        let mut search = Self {
            derivations,
            leaves,
        };
        for (i, derivation) in derivations.iter().enumerate() {
            if let Some(leaf) = search.leaves.get_mut(derivation.leaf) {
                leaf.candidates.push(i);
            }
            for (reference, _) in &derivation.references {
                if let Some(reference) = search.leaves.get_mut(*reference) {
                    reference.referring.push(i);
                }
            }
            let is_free = |leaf: &Leaf| leaf.assigned.is_none() && leaf.users.is_empty();
            let leaf = search.leaves.get(derivation.leaf);
            if leaf.is_some_and(|leaf| leaf.may_be_derived() && is_free(leaf))
                && search.refers_to(derivation, Leaf::is_alone)
            {
                search.assign(i);
            }
        }
        search
    }

    /// Makes the moves that save more; whether there were any.
    fn pass(&mut self) -> bool {
        let replaced = (0..self.derivations.len())
            .filter(|i| self.improve(*i))
            .count();
        let released = (0..self.leaves.len())
            .filter(|leaf| self.release(*leaf))
            .count();
        replaced + released > 0
    }

    /// Leaves a column alone where those that can be derived from it save more.
    fn release(&mut self, leaf: usize) -> bool {
        let Some(own) = self.leaves.get(leaf).filter(|own| own.assigned.is_some()) else {
            return false;
        };
        let mut moves: Vec<(usize, &Derivation)> = Vec::new();
        let (mut saved, mut moved) = (-self.gain(own.assigned), 0.0);
        for i in &own.referring {
            let Some(derivation) = self.derivations.get(*i) else {
                continue;
            };
            let more = derivation.gain - self.current_gain(derivation.leaf);
            if more > 0.0 && self.may_follow(derivation, leaf, &moves) {
                saved += more;
                moved += derivation.gain;
                moves.push((*i, derivation));
            }
        }
        if saved <= moved * LEAST_SAVED {
            return false;
        }
        self.unassign(leaf);
        for (i, derivation) in moves {
            self.unassign(derivation.leaf);
            self.assign(i);
        }
        true
    }

    /// Whether a derivation is possible once a column is released, beside other moves.
    fn may_follow(
        &self,
        derivation: &Derivation,
        released: usize,
        moves: &[(usize, &Derivation)],
    ) -> bool {
        let may_be_derived = |leaf: &Leaf| {
            let mut users = leaf.users.iter();
            leaf.may_be_derived() && users.all(|user| *user == released)
        };
        let is_open = |(reference, _): &(usize, i64)| {
            let leaf = self.leaves.get(*reference);
            *reference == released || leaf.is_some_and(Leaf::is_alone)
        };
        self.leaves.get(derivation.leaf).is_some_and(may_be_derived)
            && derivation.references.iter().all(is_open)
            && moves.iter().all(|(_, other)| {
                other.leaf != derivation.leaf
                    && !other.refers_to(derivation.leaf)
                    && !derivation.refers_to(other.leaf)
            })
    }

    fn current_gain(&self, leaf: usize) -> f64 {
        self.gain(self.leaves.get(leaf).and_then(|leaf| leaf.assigned))
    }

    /// Assigns a derivation in the place of others where all columns together save more.
    fn improve(&mut self, i: usize) -> bool {
        let Some((saved, others)) = self.replacement(i) else {
            return false;
        };
        let own = self.derivations.get(i).map_or(0.0, |d| d.gain);
        let moved: f64 = others.iter().map(|(_, other)| self.gain(*other)).sum();
        if saved <= (own + moved) * LEAST_SAVED {
            return false;
        }
        if let Some(derivation) = self.derivations.get(i) {
            self.unassign(derivation.leaf);
            for (leaf, _) in &derivation.references {
                self.unassign(*leaf);
            }
            for (user, other) in others {
                self.unassign(user);
                other.into_iter().for_each(|other| self.assign(other));
            }
            self.assign(i);
        }
        true
    }

    /// What is saved if this derivation is assigned, its reference columns stay alone, and the columns
    /// derived from this one are derived otherwise; with these, and how.
    fn replacement(&self, i: usize) -> Option<Replacement> {
        let derivation = self.derivations.get(i)?;
        let leaf = self.leaves.get(derivation.leaf)?;
        let is_other = leaf.may_be_derived() && leaf.assigned != Some(i);
        if !is_other || !self.refers_to(derivation, |leaf| !leaf.is_derived) {
            return None;
        }
        let mut saved = derivation.gain - self.gain(leaf.assigned);
        for (reference, _) in &derivation.references {
            saved -= self.gain(self.leaves.get(*reference)?.assigned);
        }
        let mut others = Vec::new();
        for user in &leaf.users {
            if !derivation.refers_to(*user) {
                let own = self.leaves.get(*user)?;
                let suits = |other: &&usize| self.suits(**other, derivation);
                let other = own.candidates.iter().find(suits).copied();
                saved += self.gain(other) - self.gain(own.assigned);
                others.push((*user, other));
            }
        }
        Some((saved, others))
    }

    /// Whether a derivation is possible beside another.
    fn suits(&self, other: usize, derivation: &Derivation) -> bool {
        let Some(other) = self.derivations.get(other) else {
            return false;
        };
        let mut references = other.references.iter();
        references.all(|(reference, _)| {
            let is_alone = self.leaves.get(*reference).is_some_and(Leaf::is_alone);
            *reference != derivation.leaf && (is_alone || derivation.refers_to(*reference))
        })
    }

    fn refers_to(&self, derivation: &Derivation, is: impl Fn(&Leaf) -> bool) -> bool {
        let mut references = derivation.references.iter();
        references.all(|(leaf, _)| self.leaves.get(*leaf).is_some_and(&is))
    }

    fn gain(&self, assigned: Option<usize>) -> f64 {
        let derivation = assigned.and_then(|i| self.derivations.get(i));
        derivation.map_or(0.0, |derivation| derivation.gain)
    }

    fn is_assigned(&self, i: usize) -> bool {
        let leaf = self.derivations.get(i).map(|derivation| derivation.leaf);
        let leaf = leaf.and_then(|leaf| self.leaves.get(leaf));
        leaf.is_some_and(|leaf| leaf.assigned == Some(i))
    }

    fn assign(&mut self, i: usize) {
        let Some(derivation) = self.derivations.get(i) else {
            return;
        };
        if let Some(leaf) = self.leaves.get_mut(derivation.leaf) {
            leaf.assigned = Some(i);
        }
        for (reference, _) in &derivation.references {
            if let Some(reference) = self.leaves.get_mut(*reference) {
                reference.users.push(derivation.leaf);
            }
        }
    }

    fn unassign(&mut self, leaf: usize) {
        let assigned = self.leaves.get_mut(leaf).and_then(|l| l.assigned.take());
        let derivation = assigned.and_then(|i| self.derivations.get(i));
        for (reference, _) in derivation.iter().flat_map(|d| &d.references) {
            if let Some(reference) = self.leaves.get_mut(*reference) {
                reference.users.retain(|user| *user != leaf);
            }
        }
    }
}

impl Leaf {
    /// A column without an assigned derivation.
    pub(super) fn new(is_derived: bool, is_reference: bool) -> Self {
        Self {
            is_derived,
            is_reference,
            ..Self::default()
        }
    }

    /// Whether it can be a reference column of others as things stand.
    fn is_alone(&self) -> bool {
        !self.is_derived && self.assigned.is_none()
    }

    fn may_be_derived(&self) -> bool {
        !self.is_derived && !self.is_reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derivation(leaf: usize, references: &[usize], gain: f64) -> Derivation {
        Derivation {
            leaf,
            alone: 1000,
            references: references.iter().map(|leaf| (*leaf, 1)).collect(),
            encoding: None,
            numbers: false,
            validity: false,
            gain,
        }
    }

    /// The derivations in front, as (column, its first reference column).
    fn first(
        derivations: &[(usize, usize, f64)],
        leaves: Vec<Leaf>,
        count: usize,
    ) -> Vec<(usize, usize)> {
        let of = |(leaf, by, gain): &(usize, usize, f64)| derivation(*leaf, &[*by], *gain);
        let mut all: Vec<Derivation> = derivations.iter().map(of).collect();
        all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let all = assign_first(all, leaves);
        let pair = |d: &Derivation| (d.leaf, d.references[0].0);
        all.iter().map(pair).take(count).collect()
    }

    #[test]
    fn two_columns_are_derived_from_a_third_rather_than_one_from_the_other() {
        // A destination by its distance saves the most; both by the flight save more.
        let [flight, distance, destination] = [0, 1, 2];
        let derivations = [
            (destination, distance, 52.0),
            (distance, flight, 49.0),
            (destination, flight, 43.0),
            (distance, destination, 40.0),
        ];
        let found = first(&derivations, vec![Leaf::default(); 3], 2);
        assert_eq!(found, [(distance, flight), (destination, flight)]);
    }

    #[test]
    fn the_reference_column_of_a_pair_is_the_one_that_others_are_derived_from() {
        let derivations = [(1, 0, 50.0), (0, 1, 45.0), (2, 1, 30.0), (3, 1, 30.0)];
        let found = first(&derivations, vec![Leaf::default(); 4], 3);
        assert_eq!(found, [(0, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn what_is_settled_stays() {
        let leaves = [
            Leaf::new(true, false),
            Leaf::new(false, true),
            Leaf::default(),
        ];
        let derivations = [(2, 1, 52.0), (1, 2, 60.0), (2, 0, 90.0), (0, 1, 70.0)];
        assert_eq!(first(&derivations, leaves.to_vec(), 1), [(2, 1)]);
    }

    #[test]
    fn no_assigned_column_is_a_reference_column() {
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for columns in [3, 10, 200] {
            let some = (0..columns * 6).map(|_| {
                let references = [random(columns) as usize, random(columns) as usize];
                let leaf = random(columns) as usize;
                let references = references.map(|r| {
                    if r == leaf {
                        (r + 1) % columns as usize
                    } else {
                        r
                    }
                });
                derivation(leaf, &references, random(1000) as f64)
            });
            let mut all: Vec<Derivation> = some.collect();
            all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
            let greedy = Search::new(&all, vec![Leaf::default(); columns as usize]);
            let mut search = Search::new(&all, vec![Leaf::default(); columns as usize]);
            while search.pass() {}
            let total = |search: &Search<'_>| -> f64 {
                search.leaves.iter().map(|l| search.gain(l.assigned)).sum()
            };
            assert!(total(&search) >= total(&greedy));
            for leaf in &search.leaves {
                assert!(leaf.assigned.is_none() || leaf.users.is_empty());
                let mut users = leaf.users.iter();
                assert!(users.all(|user| search.leaves[*user].assigned.is_some()));
            }
        }
    }
}
