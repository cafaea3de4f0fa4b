//! The search for derivations: the columns of a window are compared with each other.

use super::super::chunk::ChosenChunk;
use super::column::Column;
use super::gain::best_derivations;
use super::{Derivation, may_be_derived};
use crate::error::Result;
use crate::read::map_parallel;

/// Columns that may be derived from each other, at most: those of a table with more lie that close
/// together.
const WINDOW: usize = 1024;
/// Bytes of the views of these columns: of many rows fewer columns are a window.
const WINDOW_BYTES: usize = 20 << 20;
/// The derivations that seem to save the most, of all columns.
pub(super) fn derivations(chosen: &[ChosenChunk<'_>], least_gain: f64) -> Result<Vec<Derivation>> {
    let mut all = Vec::new();
    let window = window(chosen);
    for (i, chunks) in chosen.chunks(window).enumerate() {
        all.extend(derivations_of(chunks, i * window, least_gain)?);
    }
    all.sort_by(|a: &Derivation, b| {
        let order = (a.leaf, &a.references).cmp(&(b.leaf, &b.references));
        b.gain.total_cmp(&a.gain).then(order)
    });
    Ok(all)
}

/// Columns of a window: as many in each, about.
fn window(chosen: &[ChosenChunk<'_>]) -> usize {
    let bytes: usize = chosen.iter().map(Column::view_bytes).sum();
    let most = chosen.len().div_ceil(bytes.div_ceil(WINDOW_BYTES).max(1));
    let windows = chosen.len().div_ceil(most.clamp(1, WINDOW));
    chosen.len().div_ceil(windows.max(1)).max(1)
}

/// Those of some columns that follow one another, of which the first is leaf `first`.
fn derivations_of(
    chosen: &[ChosenChunk<'_>],
    first: usize,
    least_gain: f64,
) -> Result<Vec<Derivation>> {
    let columns: Vec<Option<Column>> = map_parallel(chosen, Column::of)?;
    let total: usize = columns.iter().flatten().map(Column::bytes).sum();
    let least_bytes = 128.max(total / 2000);
    let of_column = |(leaf, (chunk, column)): (usize, (&ChosenChunk<'_>, &Option<Column>))| {
        let column = column.as_ref();
        let column = column.filter(|column| column.bytes() >= least_bytes)?;
        let open = chunk.options.requested_encoding.is_none() && !chunk.same;
        let chooser = chunk.options.chooser();
        let wanted = open && !chunk.options.cancel.is_cancelled();
        (wanted && may_be_derived(chunk))
            .then(|| best_derivations(leaf, column, &columns, chooser, least_gain))
    };
    let all = chosen.iter().zip(&columns).enumerate();
    let all = map_parallel(all, |column| Ok(of_column(column)))?;
    let mut all: Vec<Derivation> = all.into_iter().flatten().flatten().collect();
    for derivation in &mut all {
        derivation.leaf += first;
        let references = derivation.references.iter_mut();
        references.for_each(|(leaf, _)| *leaf += first);
    }
    Ok(all)
}
