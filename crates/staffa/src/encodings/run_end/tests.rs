//! Point reads of runs.

use super::*;
use crate::decode::Budget;
use crate::encodings::{POOL, opener};
use crate::format::Cursor;
use crate::limits::Limits;
use crate::testing::arrays::Random;

/// Values of some rows, read twice, of runs whose values are their numbers; whether the first read
/// searched for them.
fn gathered(ends: &[u32], len: usize, rows: &[u32]) -> Result<(Vec<u32>, bool)> {
    let chooser = Chooser::new(&POOL);
    let numbers: Vec<u32> = (0..ends.len() as u32).collect();
    let children = [&numbers, ends].map(|child| chooser.child(Values::U32(child), Kind::Unsigned));
    let children = children.into_iter().collect::<Result<Vec<Node>>>()?;
    let node = Node {
        encoding: 5,
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
    let runs = Ends::open(&node, 1, &mut cx)?;
    let values = LazyWords::open(
        node.child(0, "values", PhysicalType::U32, runs.count())?,
        &mut cx,
        "values",
    )?;
    let decoder = WordRuns::<u32> { values, runs, len };
    let (mut cx, mut first, mut second) =
        (Scratch::default(), vec![0; rows.len()], vec![0; rows.len()]);
    decoder.take(rows, &mut cx, &mut first)?;
    let searched = decoder.runs.all.get().is_none();
    decoder.take(rows, &mut cx, &mut second)?;
    assert!(decoder.runs.all.get().is_some() && first == second);
    Ok((first, searched))
}

#[test]
fn few_rows_are_searched_for() {
    let mut random = Random(5);
    for round in 0..60 {
        // Even ones, and some that are long at one end.
        let most = |i: usize| {
            if (round % 3 == 0) == (i < 8000) {
                12
            } else {
                2
            }
        };
        let mut len = 0;
        let ends: Vec<u32> = (0..9000 + random.below(3000))
            .map(|i| {
                len += 1 + random.below(most(i));
                len as u32
            })
            .collect();
        let edges = [
            0,
            ends[1023] - 1,
            ends[1023],
            ends[2047],
            ends[ends.len() - 2],
            len as u32 - 1,
        ];
        let row = edges
            .get(round)
            .copied()
            .unwrap_or_else(|| random.below(len) as u32);
        let expected = ends.partition_point(|end| *end <= row) as u32;
        assert_eq!(
            gathered(&ends, len, &[row]).unwrap(),
            (vec![expected], true)
        );
        assert!(gathered(&ends, len, &[len as u32]).is_err());
        // Ends that do not ascend: an error when all are decoded, at the latest.
        let mut wrong = ends.clone();
        wrong.swap(random.below(4000), 4000 + random.below(4000));
        assert!(gathered(&wrong, len, &[row]).is_err());
        assert!(gathered(&ends, len + 1, &[row]).is_err());
    }
}
