//! The search for derivations: the columns of a window are compared with each other.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::super::chunk::ChosenChunk;
use super::column::Column;
use super::derive::derive;
use super::gain::best_derivations;
use super::{Derivation, may_be_derived, too_large};
use crate::error::{Error, Result};
use crate::limits::map_parallel;

/// Columns that may be derived from each other, at most: those of a table with more lie that close
/// together.
const WINDOW: usize = 1024;
/// Bytes of the views of these columns: of many rows fewer columns are a window.
const WINDOW_BYTES: usize = 20 << 20;
/// Columns that are compared first: of at least twice as many, every second to [`SHARE`]th, from the largest to
/// the smallest. Where none of their derivations pays, the others are not compared (decision 32).
const PROBED: usize = 32;
const SHARE: usize = 8;
/// Derivations are looked for of columns of which a block takes at least so many bytes, and 1/2000 of all.
const LEAST_DERIVED: usize = 256;
/// Columns whose best derivation is encoded to see whether one pays.
const ENCODED: usize = 16;

/// The derivations that seem to save the most, of all columns: of those of a window of the writer at once, unless
/// one column has very many leaves; `File::why` has all columns here.
pub(super) fn derivations(chosen: &[ChosenChunk<'_>], least_gain: f64) -> Result<Vec<Derivation>> {
    let mut all = Vec::new();
    let rows = chosen.iter().map(Column::judged_rows);
    let window = window_of(chosen.len(), rows.map(Column::view_bytes).sum());
    for (i, chunks) in chosen.chunks(window).enumerate() {
        all.extend(derivations_of(chunks, i * window, least_gain)?);
    }
    all.sort_by(|a: &Derivation, b| {
        let order = (a.leaf, &a.references).cmp(&(b.leaf, &b.references));
        b.gain.total_cmp(&a.gain).then(order)
    });
    Ok(all)
}

/// Columns of a window, of so many in all with blocks of so many rows: as many in each, about.
pub(in super::super) fn window(columns: usize, rows: usize) -> usize {
    window_of(columns, columns.saturating_mul(Column::view_bytes(rows)))
}

fn window_of(columns: usize, view_bytes: usize) -> usize {
    let most = columns.div_ceil(view_bytes.div_ceil(WINDOW_BYTES).max(1));
    let windows = columns.div_ceil(most.clamp(1, WINDOW));
    columns.div_ceil(windows.max(1)).max(1)
}

/// Those of some columns that follow one another, of which the first is leaf `first`.
fn derivations_of(
    chosen: &[ChosenChunk<'_>],
    first: usize,
    least_gain: f64,
) -> Result<Vec<Derivation>> {
    if chosen.len() < 2 {
        return Ok(Vec::new());
    }
    let columns: Vec<Option<Column>> = map_parallel(chosen, Column::of)?;
    let total: usize = columns.iter().flatten().map(Column::bytes).sum();
    let least_bytes = LEAST_DERIVED.max(total / 2000);
    let is_open = |chunk: &ChosenChunk<'_>| {
        let open = chunk.options.requested_encoding.is_none() && !chunk.same;
        open && may_be_derived(chunk)
    };
    let leaves = chosen.iter().zip(&columns).enumerate();
    let leaves = leaves.filter_map(|(leaf, (chunk, column))| {
        let column = column.as_ref()?;
        (column.bytes() >= least_bytes && is_open(chunk)).then_some((leaf, chunk, column))
    });
    let mut leaves: Vec<_> = leaves.collect();
    let best = |leaves: Vec<(usize, (usize, &ChosenChunk<'_>, &Column))>| {
        let best = map_parallel(leaves, |(_, (leaf, chunk, column))| {
            chunk.options.cancel.check()?;
            let chooser = chunk.options.chooser();
            Ok(best_derivations(
                leaf, column, &columns, chooser, least_gain,
            ))
        });
        Ok::<Vec<Derivation>, Error>(best?.into_iter().flatten().collect())
    };
    leaves.sort_by_key(|(leaf, _, column)| (Reverse(column.bytes()), *leaf));
    let step = SHARE.min(leaves.len() / PROBED).max(1);
    let is_probed = |i: usize| i.is_multiple_of(step);
    let (probed, others): (Vec<_>, Vec<_>) = leaves
        .into_iter()
        .enumerate()
        .partition(|(i, _)| is_probed(*i));
    let mut all = best(probed)?;
    if !others.is_empty() && any_pays(chosen, &all)? {
        all.extend(best(others)?);
    }
    for derivation in &mut all {
        derivation.leaf += first;
        let references = derivation.references.iter_mut();
        references.for_each(|(leaf, _)| *leaf += first);
    }
    Ok(all)
}

/// Whether one of the derivations that seem to save the most pays once it is encoded.
fn any_pays(chosen: &[ChosenChunk<'_>], derivations: &[Derivation]) -> Result<bool> {
    let may_pay =
        |derivation: &&Derivation| derivation.is_worth_encoding() && !too_large(chosen, derivation);
    let mut derivations: Vec<&Derivation> = derivations.iter().filter(may_pay).collect();
    derivations.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut seen = HashSet::new();
    derivations.retain(|derivation| seen.insert(derivation.leaf));
    for derivation in derivations.into_iter().take(ENCODED) {
        if let Some(chunk) = chosen.get(derivation.leaf) {
            chunk.options.cancel.check()?;
        }
        if derive(chosen, derivation)?.0.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
