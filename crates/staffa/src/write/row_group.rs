//! A row group in the making: a batch becomes one encoded chunk per leaf, columns and blocks in
//! parallel.

use arrow_array::RecordBatch;

use super::WriteOptions;
use super::choose::choose;
use super::chunk::{ChosenChunk, ChunkOptions, EncodedChunk, Reference};
use super::chunk_statistics::sum_of;
use super::correlate;
use super::plan::{ColumnPlan, Plan};
use super::remembered::Remembered;
use super::similar;
use super::unsupported_value::explained;
use crate::arrow::{Domain, Layout, Leaf, shred};
use crate::encode::{Access, Hint, Profile, Rules};
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::read::map_parallel;
use crate::values::{Kind, LeafArray, LeafValues, Physical as _, for_words};

/// The chunks of a row group, which begins at row `first_row` of the table.
pub(super) fn encode(
    plan: &Plan,
    batch: &RecordBatch,
    first_row: u64,
    remembered: &mut Remembered,
) -> Result<Vec<EncodedChunk>> {
    let mut leaves = shred(batch, &plan.layout)?;
    let encode = || {
        round_and_check(&mut leaves, plan, first_row)?;
        let explain = |e, leaf: &LeafOf<'_>| {
            explained(e, (leaf.array, leaf.leaf), leaf.options, batch, first_row)
        };
        let mut chosen = choose_all(&leaves_of(&leaves, plan), remembered, explain)?;
        remembered.keep_examples(&mut chosen);
        if plan.options.derived_columns {
            let relations = &mut remembered.relations;
            correlate::correlate(&mut chosen, correlate::LEAST_GAIN, relations)?;
        }
        finish(chosen, &plan.layout)
    };
    plan.threads.run(encode)
}

/// A leaf of the row group.
struct LeafOf<'a> {
    array: &'a LeafArray,
    leaf: &'a Leaf,
    options: ChunkOptions<'a>,
}

fn leaves_of<'a>(leaves: &'a [LeafArray], plan: &'a Plan) -> Vec<LeafOf<'a>> {
    let all = leaves.iter().zip(plan.layout.leaves()).zip(&plan.columns);
    let of = |((array, leaf), column)| LeafOf {
        array,
        leaf,
        options: chunk_options(plan, column, leaf, array),
    };
    all.map(of).collect()
}

/// Chooses the encodings of all leaves: of a first row group those of the first of similar leaves, then the
/// others'.
fn choose_all<'a>(
    leaves: &[LeafOf<'a>],
    remembered: &Remembered,
    explain: impl Fn(Error, &LeafOf<'a>) -> Error + Sync,
) -> Result<Vec<ChosenChunk<'a>>> {
    let chosen = |leaf: &LeafOf<'a>, hint: Option<Hint<'_>>| {
        choose(leaf.array, leaf.options, hint.as_ref()).map_err(|e| explain(e, leaf))
    };
    if !remembered.is_empty() {
        let all = leaves.iter().enumerate();
        return map_parallel(all, |(i, leaf)| {
            chosen(leaf, remembered.example(i).map(Hint::new))
        });
    }
    let first = similar::firsts(leaves.iter().map(|leaf| (leaf.array, leaf.options)))?;
    let all = || leaves.iter().zip(&first).enumerate();
    let firsts = map_parallel(all(), |(i, (leaf, first))| {
        (*first == i).then(|| chosen(leaf, None)).transpose()
    })?;
    let others = map_parallel(all(), |(i, (leaf, first))| {
        let hint = firsts.get(*first).and_then(Option::as_ref);
        let hint = hint.and_then(|first| first.example.as_ref());
        let hint = || hint.map(Hint::of_similar);
        (*first != i).then(|| chosen(leaf, hint())).transpose()
    })?;
    let all = firsts.into_iter().zip(others);
    all.map(|(first, other)| first.or(other))
        .collect::<Option<_>>()
        .ok_or_else(|| Error::internal("a leaf without encodings"))
}

/// Rounds floats where that is asked for, and refuses what no file holds: the first leaf's error, whatever
/// the number of threads.
fn round_and_check(leaves: &mut [LeafArray], plan: &Plan, first_row: u64) -> Result<()> {
    let leaves = leaves.iter_mut().zip(plan.layout.leaves());
    let checked = map_parallel(leaves.zip(&plan.columns), |((array, leaf), column)| {
        let rounded = column.rounding.map(|rounding| rounding.apply(array));
        let checked = rounded.transpose().and_then(|_| {
            check_offsets(array, leaf)?;
            check_domain(array, leaf, first_row)
        });
        Ok(checked)
    });
    checked?.into_iter().collect()
}

/// About how many bytes a block decodes to at most: what one value costs to read. Floats of lists are
/// vectors: they lose nothing by small blocks, and a row may lie in two of them.
fn block_bytes(access: Access, leaf: &Leaf) -> usize {
    match access {
        Access::Scan => 4 << 20,
        Access::Random if leaf.item && leaf.kind == Kind::Float => 32 << 10,
        Access::Random => 64 << 10,
    }
}

/// As [`block_bytes`], of strings whose blocks share tokens: they lose next to nothing by smaller
/// blocks. With `small`, that is too much.
fn token_block_bytes(access: Access, leaf: &Leaf, profile: Profile) -> usize {
    match profile {
        Profile::Small => block_bytes(access, leaf),
        Profile::Fast | Profile::Balanced => block_bytes(access, leaf).min(1 << 20),
    }
}

/// Values of the blocks of a leaf: a power of two, as many as decode to about `bytes` on average.
fn block_rows(array: &LeafArray, options: &WriteOptions, bytes: usize) -> usize {
    let all = match &array.values {
        LeafValues::Empty(_) | LeafValues::Bits(_) => 0,
        LeafValues::Words(_, words) => words.len(),
        LeafValues::Bytes { offsets, .. } => match &**offsets {
            [first, .., last] => (last - first) as usize,
            _ => 0,
        },
    };
    let average = all.div_ceil(array.values.len().max(1)).max(1);
    let rows = (bytes / average).max(1);
    options.block_rows.min(1 << rows.ilog2())
}

fn chunk_options<'a>(
    plan: &'a Plan,
    column: &'a ColumnPlan,
    leaf: &Leaf,
    array: &LeafArray,
) -> ChunkOptions<'a> {
    let access = plan.options.access;
    let rows = |bytes| block_rows(array, &plan.options, bytes);
    ChunkOptions {
        rules: Rules {
            access,
            rounded: column.rounding.is_some(),
            excluded: plan.excluded,
            ..Rules::of(&POOL, column.profile)
        },
        requested_encoding: column.requested_encoding.as_deref(),
        block_rows: rows(block_bytes(access, leaf)),
        token_block_rows: rows(token_block_bytes(access, leaf, column.profile)),
        verify: plan.options.verify,
        kind: leaf.kind,
        cancel: &plan.options.cancel,
    }
}

/// Finishes the chunks: first those with trees of their own, then those derived from them. The trees of a
/// chunk go as soon as it is encoded.
fn finish(chosen: Vec<ChosenChunk<'_>>, layout: &Layout) -> Result<Vec<EncodedChunk>> {
    let finish = |leaf: usize, chunk: ChosenChunk<'_>, references: &[Reference<'_>]| {
        let path = || layout.leaves().get(leaf).map(|leaf| leaf.path.to_string());
        let encoded = chunk.finish(references);
        encoded.map_err(|e| e.at(|place| place.column = path()))
    };
    let types: Vec<_> = chosen.iter().map(|chunk| chunk.ty).collect();
    let finished = map_parallel(chosen.into_iter().enumerate(), |(leaf, chunk)| {
        if chunk.references.is_empty() {
            Ok((Some(finish(leaf, chunk, &[])?), None))
        } else {
            Ok((None, Some(chunk)))
        }
    })?;
    let (alone, derived): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
    let reference = |&leaf: &usize| match (types.get(leaf), alone.get(leaf)) {
        (Some(ty), Some(Some(chunk))) => Ok(Reference { ty: *ty, chunk }),
        _ => Err(Error::internal("a reference column that is derived itself")),
    };
    let derived = map_parallel(derived.into_iter().enumerate(), |(leaf, chunk)| {
        let Some(chunk) = chunk else {
            return Ok(None);
        };
        let references = chunk.references.iter().map(reference);
        let references = references.collect::<Result<Vec<_>>>()?;
        finish(leaf, chunk, &references).map(Some)
    })?;
    let all = alone.into_iter().zip(derived);
    all.map(|(alone, derived)| alone.or(derived))
        .collect::<Option<_>>()
        .ok_or_else(|| Error::internal("a chunk neither alone nor derived"))
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
    let LeafValues::Bytes { offsets, .. } = &array.values else {
        return Ok(());
    };
    let bytes = match &**offsets {
        [first, .., last] => last - first,
        _ => 0,
    };
    if !leaf.large && i32::try_from(bytes).is_err() {
        let what = format!(
            "strings of at most 2^31 - 1 bytes in a row group are possible, found {bytes}: write fewer rows to one"
        );
        return Err(Error::limit(what).at(|p| p.column = Some(leaf.path.to_string())));
    }
    Ok(())
}
