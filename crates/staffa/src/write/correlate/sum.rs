//! Columns that are sums of others, each a whole number of times: found on a sample by orthogonal
//! matching pursuit.

use std::ops::Range;

use super::column::{Column, View};
use super::gain::width_of_most;
use super::{Derivation, LEAST_GAIN};
use crate::encodings::difference::Difference;

/// The column as a sum of others near it, each a whole number of times, if it seems to be one:
/// orthogonal matching pursuit, the column that explains most of what is left one after another,
/// the factors by least squares and rounded.
pub(super) fn find(
    leaf: usize,
    column: &Column,
    columns: &[Option<Column>],
    near: Range<usize>,
) -> Option<Derivation> {
    const ROWS: usize = 256;
    const TERMS: usize = 6;
    let view = numbers(column)?;
    let all = view.words.len();
    let valid = |row: usize| {
        column
            .validity
            .as_ref()
            .is_none_or(|(valid, _)| valid.get(row))
    };
    let rows: Vec<usize> = (0..all)
        .step_by((all / ROWS).max(1))
        .filter(|row| valid(*row))
        .take(2 * ROWS)
        .collect();
    let sampled = |view: &View| -> Vec<i64> {
        rows.iter()
            .filter_map(|row| view.words.get(*row))
            .map(|w| *w as i64)
            .collect()
    };
    let centred = |words: &[i64]| -> Vec<f64> {
        let mean = words.iter().map(|w| *w as f64).sum::<f64>() / words.len().max(1) as f64;
        words.iter().map(|w| *w as f64 - mean).collect()
    };
    let wanted = sampled(view);
    let others: Vec<(usize, Vec<i64>, Vec<f64>)> = columns
        .iter()
        .enumerate()
        .take(near.end)
        .skip(near.start)
        .filter(|(other_leaf, other)| {
            *other_leaf != leaf && other.as_ref().is_some_and(|other| other.len == column.len)
        })
        .filter_map(|(leaf, other)| Some((leaf, numbers(other.as_ref()?)?)))
        .filter(|(_, other)| other.ty == view.ty)
        .map(|(leaf, other)| (leaf, sampled(other)))
        .map(|(leaf, words)| (leaf, centred(&words), words))
        .map(|(leaf, centred, words)| (leaf, words, centred))
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let target = centred(&wanted);
    let now = view.bytes as f64 * 8.0 / all as f64;
    let mut left = target.clone();
    let mut taken: Vec<usize> = Vec::new();
    let mut best: Option<(f64, Vec<(usize, i64)>)> = None;
    while taken.len() < TERMS.min(others.len()) {
        let explains = |(i, (_, _, other)): (usize, &(usize, Vec<i64>, Vec<f64>))| {
            let norm = dot(other, other);
            (!taken.contains(&i) && norm > 0.0).then(|| (dot(other, &left).powi(2) / norm, i))
        };
        let next = others
            .iter()
            .enumerate()
            .filter_map(explains)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        taken.push(
            next.filter(|(explained, _)| *explained > 1e-6 * dot(&target, &target))?
                .1,
        );
        let chosen: Vec<&(usize, Vec<i64>, Vec<f64>)> =
            taken.iter().filter_map(|i| others.get(*i)).collect();
        let columns: Vec<&[f64]> = chosen
            .iter()
            .map(|(_, _, centred)| centred.as_slice())
            .collect();
        let factors = least_squares(&columns, &target)?;
        left.clone_from(&target);
        for (column, factor) in columns.iter().zip(&factors) {
            left.iter_mut()
                .zip(*column)
                .for_each(|(left, word)| *left -= factor * word);
        }
        let times: Vec<i64> = factors
            .iter()
            .map(|factor| factor.round().clamp(-1e6, 1e6) as i64)
            .collect();
        let mut rest = wanted.clone();
        for ((_, words, _), times) in chosen.iter().zip(&times) {
            rest.iter_mut()
                .zip(words)
                .for_each(|(rest, w)| *rest = rest.wrapping_sub(w.wrapping_mul(*times)));
        }
        let terms = chosen
            .iter()
            .zip(&times)
            .filter(|(_, times)| **times != 0)
            .map(|((leaf, ..), times)| (*leaf, *times));
        let bits = rest_bits(rest, now);
        if best.as_ref().is_none_or(|(least, _)| bits < *least) {
            best = Some((bits, terms.collect()));
        }
        if bits < 0.1 {
            break;
        }
    }
    let (bits, by) =
        best.filter(|(_, by)| by.len() > 1 || by.iter().any(|(_, times)| *times != 1))?;
    let gain = (now - bits) / 8.0 * all as f64;
    (gain > column.bytes() as f64 * LEAST_GAIN).then_some(Derivation {
        leaf,
        references: by,
        encoding: Some(&Difference),
        numbers: true,
        validity: false,
        gain,
    })
}

/// A column's numbers.
fn numbers(column: &Column) -> Option<&View> {
    column
        .numbers
        .as_ref()
        .or_else(|| column.stream.as_ref().filter(|view| !view.codes))
}

/// Bits for each of some numbers: by the width of most of them, or as exceptions from the most
/// frequent one.
fn rest_bits(mut rest: Vec<i64>, now: f64) -> f64 {
    rest.sort_unstable();
    let width = width_of_most(&rest);
    let most = rest
        .chunk_by(|a, b| a == b)
        .map(<[i64]>::len)
        .max()
        .unwrap_or(0) as f64
        / rest.len().max(1) as f64;
    let entropy = |share: f64| {
        if share > 0.0 {
            -share * share.log2()
        } else {
            0.0
        }
    };
    width.min(entropy(most) + entropy(1.0 - most) + (1.0 - most) * (now + 2.0))
}

/// Factors with which the columns come nearest to the target; `None` where some depend on others.
fn least_squares(columns: &[&[f64]], target: &[f64]) -> Option<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let row = |a: &&[f64]| -> Vec<f64> {
        columns
            .iter()
            .map(|b| dot(a, b))
            .chain([dot(a, target)])
            .collect()
    };
    let mut rows: Vec<Vec<f64>> = columns.iter().map(row).collect();
    for i in 0..rows.len() {
        let pivot = rows.get(i)?.clone();
        let head = *pivot.get(i)?;
        if head.abs() < 1e-9 * dot(columns.get(i)?, columns.get(i)?) {
            return None;
        }
        for (j, row) in rows.iter_mut().enumerate() {
            let factor = row.get(i)? / head;
            let others = row.iter_mut().zip(&pivot);
            if i == j {
                others.for_each(|(value, _)| *value /= head);
            } else {
                others.for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
    }
    rows.iter().map(|row| row.last().copied()).collect()
}
