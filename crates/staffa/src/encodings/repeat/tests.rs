//! Matches that overlap, point reads of long chains, sequences that do not fit.

use super::follow::FEW;
use super::*;
use crate::decode::Budget;
use crate::encodings::{POOL, opener};
use crate::format::Cursor;
use crate::limits::Limits;
use crate::testing::arrays::Random;

/// Calls `f` with the opened lists.
fn opened<R>(
    literals: &[u32],
    lists: [&[u32]; 3],
    len: usize,
    f: impl FnOnce(&Parts<'_, u32>) -> Result<R>,
) -> Result<R> {
    let chooser = Chooser::new(&POOL);
    let child = |values: &[u32]| chooser.child(Values::U32(values), Kind::Unsigned);
    let [before, lengths, offsets] = lists;
    let children = vec![
        child(literals)?,
        child(before)?,
        child(lengths)?,
        child(offsets)?,
    ];
    let node = Node {
        encoding: 16,
        ty: PhysicalType::U32,
        len,
        payload: Vec::new(),
        children,
    };
    let mut bytes = Vec::new();
    node.write(&mut bytes);
    let node = NodeRef::parse(&mut Cursor::new(&bytes), len, 9)?;
    let opener = opener(Limits::default());
    let mut cx = opener.context(Budget::new(1 << 20), &[], Vec::new());
    f(&Parts::open(&node, &mut cx)?)
}

fn decoded(
    literals: &[u32],
    before: &[u32],
    lengths: &[u32],
    offsets: &[u32],
    len: usize,
) -> Result<Vec<u32>> {
    opened(literals, [before, lengths, offsets], len, |parts| {
        decode_all(parts).map(|values| values.to_vec())
    })
}

/// Values of some rows, read twice; whether the first read followed them back.
fn gathered(
    literals: &[u32],
    lists: [&[u32]; 3],
    len: usize,
    rows: &[u32],
) -> Result<(Vec<u32>, bool)> {
    opened(literals, lists, len, |parts| {
        let (mut cx, mut first, mut second) =
            (Scratch::default(), vec![0; rows.len()], vec![0; rows.len()]);
        parts.take(&[], &mut cx, &mut [])?;
        parts.take(rows, &mut cx, &mut first)?;
        let followed = parts.all.get().is_none();
        parts.take(rows, &mut cx, &mut second)?;
        assert!(parts.all.get().is_some() || rows.is_empty());
        assert_eq!(first, second);
        Ok((first, followed))
    })
}

#[test]
fn a_match_may_overlap_itself() {
    let values = |literals, offset, length, len| {
        decoded(
            literals,
            &[literals.len() as u32],
            &[length],
            &[offset],
            len,
        )
    };
    assert_eq!(
        values(&[7, 8, 9], 3, 5, 8).unwrap(),
        [7, 8, 9, 7, 8, 9, 7, 8]
    );
    assert_eq!(values(&[7, 8, 9], 1, 20, 23).unwrap()[2..], [9; 21]);
    let expected: Vec<u32> = (0..3002).map(|i| i % 2 + 4).collect();
    assert_eq!(values(&[4, 5], 2, 3000, 3002).unwrap(), expected);
    assert_eq!(
        decoded(&[1, 2, 3], &[2], &[2], &[1], 5).unwrap(),
        [1, 2, 2, 2, 3]
    );
}

#[test]
fn few_rows_are_those_of_the_block() {
    let mut random = Random(16);
    let (mut followed, mut refused) = (0, 0);
    for round in 0..400 {
        let most = [4, 60, 900][round % 3];
        let (mut lists, mut used, mut len) = ([vec![], vec![], vec![]], 0, 0);
        for _ in 0..=random.below(40) {
            let before = random.below(most) + usize::from(len == 0);
            // Near ones overlap themselves.
            let farthest = (len + before).min(1 << random.below(12));
            let offset = 1 + random.below(farthest);
            let length = 1 + random.below(most * 4);
            lists
                .iter_mut()
                .zip([before, length, offset])
                .for_each(|(list, part)| list.push(part as u32));
            (used, len) = (used + before, len + before + length);
        }
        let rest = random.below(900);
        let literals: Vec<u32> = (0..used + rest).map(|_| random.next() as u32).collect();
        let mut len = len + rest;
        if round % 4 == 0 {
            let wrong = random.below(lists[0].len());
            lists[random.below(3)][wrong] =
                [0, u32::MAX, random.below(900) as u32][random.below(3)];
            len = (len + random.below(3)).saturating_sub(random.below(2));
        }
        let lists = lists.each_ref().map(Vec::as_slice);
        let expected = decoded(&literals, lists[0], lists[1], lists[2], len);
        let mut rows: Vec<u32> = (0..len / FEW).map(|_| random.below(len) as u32).collect();
        rows.sort_unstable();
        rows.dedup();
        let found = gathered(&literals, lists, len, &rows);
        let Ok(expected) = expected else {
            assert!(found.is_err() || rows.is_empty());
            refused += usize::from(found.is_err());
            continue;
        };
        let (values, few) = found.unwrap();
        assert!(
            values
                .iter()
                .eq(rows.iter().map(|row| &expected[*row as usize]))
        );
        followed += usize::from(few);
    }
    assert!(followed > 100 && refused > 30, "{followed} {refused}");
}

/// One match after another copies the one before it: each row is as far from its literal as
/// there are matches.
#[test]
fn deep_chains_end() {
    for (matches, followed) in [(10, true), (3000, false)] {
        let mut before = vec![0; matches];
        before[0] = 20;
        let (lengths, rest) = (vec![20; matches], 500);
        let (literals, len): (Vec<u32>, _) = ((100..120 + rest).collect(), 20 * matches + 20);
        let lists = [&before, &lengths, &lengths].map(Vec::as_slice);
        let found = gathered(&literals, lists, len + rest as usize, &[len as u32 - 3]).unwrap();
        assert_eq!(found, (vec![117], followed));
    }
}

#[test]
fn a_row_past_the_end_is_refused() {
    let literals: Vec<u32> = (0..10).collect();
    assert!(gathered(&literals, [&[10], &[990], &[7]], 1000, &[1000]).is_err());
    assert_eq!(
        gathered(&literals, [&[10], &[990], &[7]], 1000, &[999]).unwrap(),
        (vec![3 + 989 % 7], true)
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    for (before, length, offset, len) in [
        (3, 5, 4, 8),
        (3, 5, 0, 8),
        (3, 6, 1, 8),
        (3, 4, 1, 8),
        (4, 5, 1, 8),
        (0, 5, 1, 8),
        (3, 0, 1, 3),
    ] {
        assert!(
            decoded(&[7, 8, 9], &[before], &[length], &[offset], len).is_err(),
            "{before} {length} {offset}"
        );
    }
    assert!(decoded(&[7, 8, 9], &[3, 0], &[5], &[1], 8).is_err());
}
