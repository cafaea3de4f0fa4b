//! A row group in the making: its rows become one encoded chunk per leaf, window by window, the columns of
//! a window and their blocks in parallel.

use arrow_buffer::i256;

use super::block_rows::BlockRows;
use super::choose::choose;
use super::chunk::{ChosenChunk, ChunkOptions, EncodedChunk, Reference};
use super::chunk_statistics::{self, sum_of};
use super::correlate::{self, Earlier, Outline};
use super::join::Rows;
use super::plan::{ColumnPlan, Plan};
use super::remembered::{Examples, Remembered};
use super::similar::Families;
use super::unsupported_value::explained;
use super::window::Window;
use crate::arrow::{Domain, Layout, Leaf, shred_columns};
use crate::encode::{Hint, Rules};
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::limits::{map_heaviest_first, map_parallel};
use crate::values::{LeafArray, LeafValues, Physical as _, for_words};

/// A row group, ready to be written.
#[derive(Default)]
pub(super) struct EncodedRowGroup {
    pub chunks: Vec<EncodedChunk>,
    /// Of each leaf, where statistics of chunks are asked for.
    pub sums: Vec<Option<i256>>,
}

/// Encodes a row group, which begins at row `first_row` of the table, window by window.
pub(super) fn encode(
    plan: &Plan,
    mut rows: Rows,
    first_row: u64,
    remembered: &mut Remembered,
) -> Result<EncodedRowGroup> {
    remembered.cut(plan, rows.len())?;
    let Remembered { windows, examples } = remembered;
    let mut encoded = EncodedRowGroup::default();
    let mut earlier = Earlier::default();
    let mut families = Families::new(plan.layout.leaves().len());
    let mut encode = |window: &mut Window| -> Result<()> {
        let first_leaf = window.first_leaf;
        let batch = rows.take(window)?;
        let mut arrays = shred_columns(&batch, &plan.layout, window.columns.clone())?;
        round_and_check(&mut arrays, plan, first_leaf, first_row)?;
        let leaves = leaves_of(&arrays, batch.num_rows(), plan, first_leaf);
        if plan.options.chunk_statistics {
            let leaves = leaves.iter().map(|leaf| (leaf.array, leaf.leaf));
            encoded.sums.extend(chunk_statistics::sums(leaves)?);
        }
        let explain = |e, leaf: &LeafOf<'_>| {
            let column = leaf.leaf.column.checked_sub(window.columns.start);
            let column = column.and_then(|column| batch.columns().get(column));
            explained(e, (leaf.array, leaf.leaf), leaf.options, column, first_row)
        };
        let mut chosen = choose_all(&leaves, first_leaf, examples, &mut families, explain)?;
        examples.keep(first_leaf, &mut chosen);
        let derive = plan.options.derived_columns;
        if derive {
            earlier.derive_equal(&mut chosen, &encoded.chunks)?;
            let relations = &mut window.relations;
            correlate::correlate(&mut chosen, first_leaf, correlate::LEAST_GAIN, relations)?;
        }
        let outlines = derive.then(|| Outline::of_all(&chosen));
        finish(chosen, &plan.layout, &mut encoded.chunks)?;
        if let Some(outlines) = outlines {
            earlier.add(outlines, first_leaf, &encoded.chunks);
        }
        Ok(())
    };
    plan.threads
        .run(|| windows.iter_mut().try_for_each(&mut encode))?;
    Ok(encoded)
}

/// A leaf of the row group.
struct LeafOf<'a> {
    array: &'a LeafArray,
    leaf: &'a Leaf,
    options: ChunkOptions<'a>,
}

/// The leaves of the table from leaf `first_leaf` on, with these arrays.
fn leaves_of<'a>(
    arrays: &'a [LeafArray],
    rows: usize,
    plan: &'a Plan,
    first_leaf: usize,
) -> Vec<LeafOf<'a>> {
    let specs = plan.layout.leaves().iter().zip(&plan.columns);
    let leaves = arrays.iter().zip(specs.skip(first_leaf));
    let of = |(array, (leaf, column))| LeafOf {
        array,
        leaf,
        options: chunk_options(plan, column, leaf, (array, rows)),
    };
    leaves.map(of).collect()
}

/// A leaf by its number, and the first of the leaves that are similar to it.
type WithFirst<'i, 'a> = (usize, (&'i LeafOf<'a>, &'i usize));

/// Chooses the encodings of leaves from leaf `first_leaf` on: of a first row group those of the first of
/// similar leaves, then the others'.
fn choose_all<'a>(
    leaves: &[LeafOf<'a>],
    first_leaf: usize,
    examples: &Examples,
    families: &mut Families,
    explain: impl Fn(Error, &LeafOf<'a>) -> Error + Sync,
) -> Result<Vec<ChosenChunk<'a>>> {
    let chosen = |leaf: &LeafOf<'a>, hint: Option<Hint<'_>>| {
        choose(leaf.array, leaf.options, hint.as_ref()).map_err(|e| explain(e, leaf))
    };
    if examples.has(first_leaf) {
        let all = (first_leaf..).zip(leaves);
        let bytes = |(_, leaf): &(usize, &LeafOf<'_>)| leaf.array.values.bytes();
        return map_heaviest_first(all, bytes, |(i, leaf)| {
            chosen(leaf, examples.get(i).map(Hint::new))
        });
    }
    let arrays = leaves.iter().map(|leaf| (leaf.array, leaf.options));
    let firsts = families.firsts(first_leaf, arrays)?;
    let all = || (first_leaf..).zip(leaves.iter().zip(&firsts));
    // Those that are not chosen at the time weigh nothing.
    let bytes = |of_firsts: bool| {
        move |(i, (leaf, first)): &WithFirst<'_, '_>| {
            let is_chosen = (i == *first) == of_firsts;
            if is_chosen {
                leaf.array.values.bytes()
            } else {
                0
            }
        }
    };
    let of_firsts = map_heaviest_first(all(), bytes(true), |(i, (leaf, first))| {
        (*first == i).then(|| chosen(leaf, None)).transpose()
    })?;
    let example = |first: usize| match first.checked_sub(first_leaf) {
        Some(own) => of_firsts.get(own)?.as_ref()?.example.as_ref(),
        None => examples.get(first),
    };
    let of_others = map_heaviest_first(all(), bytes(false), |(i, (leaf, first))| {
        let hint = || example(*first).map(Hint::of_similar);
        (*first != i).then(|| chosen(leaf, hint())).transpose()
    })?;
    let all = of_firsts.into_iter().zip(of_others);
    all.map(|(of_first, of_other)| of_first.or(of_other))
        .collect::<Option<_>>()
        .ok_or_else(|| Error::internal("a leaf without encodings"))
}

/// Rounds floats where that is asked for, and refuses what no file holds: the first leaf's error, whatever
/// the number of threads.
fn round_and_check(
    arrays: &mut [LeafArray],
    plan: &Plan,
    first_leaf: usize,
    first_row: u64,
) -> Result<()> {
    let specs = plan.layout.leaves().iter().zip(&plan.columns);
    let leaves = arrays.iter_mut().zip(specs.skip(first_leaf));
    let checked = map_parallel(leaves, |(array, (leaf, column))| {
        let rounded = column.rounding.map(|rounding| rounding.apply(array));
        let checked = rounded.transpose().and_then(|_| {
            check_offsets(array, leaf)?;
            check_domain(array, leaf, first_row)
        });
        Ok(checked)
    });
    checked?.into_iter().collect()
}

fn chunk_options<'a>(
    plan: &'a Plan,
    column: &'a ColumnPlan,
    leaf: &Leaf,
    (array, rows): (&LeafArray, usize),
) -> ChunkOptions<'a> {
    ChunkOptions {
        rules: Rules {
            access: plan.options.access,
            rounded: column.rounding.is_some(),
            excluded: plan.excluded,
            ..Rules::of(&POOL, column.profile)
        },
        requested_encoding: column.requested_encoding.as_deref(),
        blocks: BlockRows::of(leaf, array, rows, column, &plan.options),
        verify: plan.options.verify,
        kind: leaf.kind,
        cancel: &plan.options.cancel,
    }
}

/// Finishes the chunks of a window and adds them to those of earlier ones: first those with trees of their
/// own, then those derived from them. The trees of a chunk go as soon as it is encoded.
fn finish(
    chosen: Vec<ChosenChunk<'_>>,
    layout: &Layout,
    encoded: &mut Vec<EncodedChunk>,
) -> Result<()> {
    let first = encoded.len();
    let finish = |leaf: usize, chunk: ChosenChunk<'_>, references: &[Reference<'_>]| {
        let path = || layout.leaves().get(leaf).map(|leaf| leaf.path.to_string());
        let encoded = chunk.finish(references);
        encoded.map_err(|e| e.at(|place| place.column = path()))
    };
    // Derived chunks wait for the others.
    let size = |(_, chunk): &(usize, ChosenChunk<'_>)| match *chunk.references {
        [] => chunk.size(),
        [..] => 0,
    };
    let finished = map_heaviest_first((first..).zip(chosen), size, |(leaf, chunk)| {
        if chunk.references.is_empty() {
            Ok((Some(finish(leaf, chunk, &[])?), None))
        } else {
            Ok((None, Some(chunk)))
        }
    })?;
    let (alone, derived): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
    let reference = |leaf: &usize| {
        let chunk = match leaf.checked_sub(first) {
            Some(own) => alone.get(own).and_then(Option::as_ref),
            None => encoded.get(*leaf),
        };
        let chunk = chunk.filter(|chunk| chunk.references.is_empty());
        match (layout.leaves().get(*leaf), chunk) {
            (Some(Leaf { ty, .. }), Some(chunk)) => Ok(Reference { ty: *ty, chunk }),
            _ => Err(Error::internal("a reference column that is derived itself")),
        }
    };
    let derived = map_parallel((first..).zip(derived), |(leaf, chunk)| {
        let Some(chunk) = chunk else {
            return Ok(None);
        };
        let references = chunk.references.iter().map(reference);
        let references = references.collect::<Result<Vec<_>>>()?;
        finish(leaf, chunk, &references).map(Some)
    })?;
    let all = alone.into_iter().zip(derived);
    let all = all.map(|(alone, derived)| alone.or(derived));
    let all = all.collect::<Option<Vec<_>>>();
    encoded.extend(all.ok_or_else(|| Error::internal("a chunk neither alone nor derived"))?);
    Ok(())
}

/// Values that are none of their type are refused: engines fail on them, each in another way.
fn check_domain(array: &LeafArray, leaf: &Leaf, first_row: u64) -> Result<()> {
    let LeafValues::Words(ty, _) = &array.values else {
        return Ok(());
    };
    let values = for_words!(ty, T => T::values(array.values.words::<T>()), _ => return Ok(()));
    let outside = leaf.domain.first_outside(values, array.validity.as_ref());
    let Some(row) = outside else {
        return Ok(());
    };
    let number = for_words!(ty, T => {
        sum_of(T::values(array.values.words::<T>().get(row..=row).unwrap_or(&[])), leaf.kind)
    }, _ => None);
    let place = if leaf.flat {
        format!("row {}", first_row + row as u64)
    } else {
        format!("value {row} of the row group that begins at row {first_row}")
    };
    let expected = leaf.domain.expected();
    let found = number.map_or_else(String::new, |number| format!(", found {number}"));
    let advice = match leaf.domain {
        Domain::Digits(_) | Domain::WideDigits(_) => "declare a larger precision",
        Domain::WholeDays => "cast the column to a timestamp",
        Domain::Time { .. } | Domain::Any => "cast the column to an integer or a duration",
    };
    Err(Error::InvalidValue(format!(
        "column {:?}, {place}: {expected} expected{found}; {advice} to store it",
        leaf.path
    )))
}

/// What is written must be read again: strings with 32-bit offsets end within 2^31 bytes of a row
/// group.
fn check_offsets(array: &LeafArray, leaf: &Leaf) -> Result<()> {
    if !matches!(array.values, LeafValues::Bytes { .. }) {
        return Ok(());
    }
    let bytes = array.values.bytes();
    if !leaf.large && i32::try_from(bytes).is_err() {
        let what = format!(
            "strings of at most 2^31 - 1 bytes in a row group are possible, found {bytes}: write fewer rows to one"
        );
        return Err(Error::limit(what).at(|p| p.column = Some(leaf.path.to_string())));
    }
    Ok(())
}
