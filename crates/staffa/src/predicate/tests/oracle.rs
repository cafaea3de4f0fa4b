//! Random predicates, and what each row makes of them by the rules of SQL.

use super::*;

/// Of numbers: by cross-multiplication, in 256 bits.
fn order(a: &Cell, b: &Cell) -> Ordering {
    let wide = |v: i128, scale: u32| {
        i256::from_i128(v)
            .checked_mul(i256::from_i128(10i128.pow(scale)))
            .unwrap()
    };
    match (a, b) {
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Number(a, s), Cell::Number(b, t)) => wide(*a, *t).cmp(&wide(*b, *s)),
        (Cell::Float(a), Cell::Float(b)) => a.total_cmp(b),
        (Cell::Bytes(a), Cell::Bytes(b)) => a.cmp(b),
        other => panic!("{other:?}"),
    }
}

fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order.is_eq(),
        Compare::NotEq => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::LtEq => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::GtEq => order.is_ge(),
    }
}

/// SQL's LIKE by trying everything.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && is_like(&text[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => {
            text.first() == Some(c) && is_like(&text[1..], rest)
        }
    }
}

/// A place between characters.
fn place(rng: &mut Rng, text: &str) -> usize {
    let mut places = (0..=rng.below(text.len() + 1)).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap()
}

/// A test of text or binary and what each row makes of it.
fn text_test(rng: &mut Rng, columns: &[(String, Column)]) -> (Predicate, Vec<Option<bool>>) {
    let (name, column) = loop {
        let (name, column) = &columns[rng.below(columns.len())];
        let mut cells = column.cells.iter().flatten();
        if cells.all(|cell| matches!(cell, Cell::Bytes(_))) && TEXTS.contains(&name.as_str()) {
            break (name, column);
        }
    };
    let bytes = |cell: &Option<Cell>| match cell {
        Some(Cell::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let each = |test: &dyn Fn(&[u8]) -> bool| {
        column
            .cells
            .iter()
            .map(|cell| Some(test(&bytes(cell)?)))
            .collect()
    };
    let text = rng.pick(&STRINGS);
    let (start, end) = (place(rng, text), place(rng, text));
    let part = text.get(start..end).unwrap_or("a").to_owned();
    let column = name.clone();
    let binary = ["binary", "fixed"].contains(&name.as_str());
    match rng.below(3) {
        0 => {
            let prefix = text[..end].to_owned();
            let truth = each(&|bytes| bytes.starts_with(prefix.as_bytes()));
            (Predicate::StartsWith { column, prefix }, truth)
        }
        1 => {
            let contains = |bytes: &[u8]| {
                let mut windows = bytes.windows(part.len().max(1));
                windows.any(|window| window == part.as_bytes())
            };
            let truth = each(&|bytes| part.is_empty() || contains(bytes));
            (Predicate::Contains { column, part }, truth)
        }
        _ if binary => {
            let truth = each(&|bytes| bytes.starts_with(part.as_bytes()));
            let pattern = format!("{part}%");
            (Predicate::Like { column, pattern }, truth)
        }
        _ => {
            let pieces = ["a", "b", "%", "%", "_", "\\%", "\\a", "ü", "ml", &part];
            let pattern: String = (0..rng.below(5)).map(|_| rng.pick(&pieces)).collect();
            let chars: Vec<char> = pattern.chars().collect();
            let like = |bytes: &[u8]| {
                let text: Vec<char> = std::str::from_utf8(bytes).unwrap().chars().collect();
                is_like(&text, &chars)
            };
            let truth = each(&like);
            (Predicate::Like { column, pattern }, truth)
        }
    }
}

const TEXTS: [&str; 8] = [
    "utf8",
    "large",
    "view",
    "binary",
    "dict",
    "runs",
    "runs of dict",
    "fixed",
];

/// A predicate and what each row makes of it.
pub(super) fn generate(
    rng: &mut Rng,
    columns: &[(String, Column)],
    depth: usize,
) -> (Predicate, Vec<Option<bool>>) {
    if rng.below(4) == 0 {
        return text_test(rng, columns);
    }
    let kind = rng.below(if depth == 0 { 4 } else { 7 });
    let (name, column) = &columns[rng.below(columns.len())];
    if kind < 4 {
        return column_test(rng, name, column, kind);
    }
    if kind == 4 {
        let (part, truth) = generate(rng, columns, depth - 1);
        let truth = truth.iter().map(|t| t.map(|t| !t)).collect();
        return (Predicate::Not(Box::new(part)), truth);
    }
    let count = rng.pick(&[0, 2, 2, 2, 3]);
    let parts = (0..count).map(|_| generate(rng, columns, depth - 1));
    let (parts, truths): (Vec<_>, Vec<_>) = parts.unzip();
    let rows = 0..column.cells.len();
    let row = |i: usize| truths.iter().map(|t| t[i]).collect::<Vec<_>>();
    if kind == 5 {
        let not = |row: &[Option<bool>]| row.iter().map(|t| t.map(|t| !t)).collect::<Vec<_>>();
        let all = |i| any(&not(&row(i))).map(|t| !t);
        (Predicate::And(parts), rows.map(all).collect())
    } else {
        (Predicate::Or(parts), rows.map(|i| any(&row(i))).collect())
    }
}

const COMPARES: [Compare; 6] = [
    Compare::Eq,
    Compare::NotEq,
    Compare::Lt,
    Compare::LtEq,
    Compare::Gt,
    Compare::GtEq,
];

/// A test of one column, of one of four kinds, and what each row makes of it.
fn column_test(
    rng: &mut Rng,
    name: &str,
    column: &Column,
    kind: usize,
) -> (Predicate, Vec<Option<bool>>) {
    let name = name.to_owned();
    let literal = |rng: &mut Rng| {
        if rng.below(12) == 0 {
            return (Literal::Null, None);
        }
        let (literal, cell) = (column.literal)(rng);
        (literal, Some(cell))
    };
    match kind {
        0 => {
            let truth = column
                .cells
                .iter()
                .map(|cell| Some(cell.is_none()))
                .collect();
            (Predicate::IsNull { column: name }, truth)
        }
        1 | 2 => {
            let op = rng.pick(&COMPARES);
            let (literal, value) = literal(rng);
            let truth = column
                .cells
                .iter()
                .map(|cell| Some(holds(op, order(cell.as_ref()?, value.as_ref()?))))
                .collect();
            (
                Predicate::Compare {
                    column: name,
                    op,
                    literal,
                },
                truth,
            )
        }
        _ => {
            // Long lists are sets.
            let count = rng.pick(&[0, 1, 2, 3, 12, 40]);
            let nulls = count < 4 || rng.below(4) == 0;
            let list = (0..count).map(|_| literal(rng));
            let (literals, values): (Vec<_>, Vec<_>) =
                list.filter(|(_, value)| nulls || value.is_some()).unzip();
            let equals = |cell: &Option<Cell>, v: &Option<Cell>| {
                Some(order(cell.as_ref()?, v.as_ref()?).is_eq())
            };
            let one = |cell| any(&values.iter().map(|v| equals(cell, v)).collect::<Vec<_>>());
            let truth = column.cells.iter().map(one).collect();
            let each = |op, literals: Vec<Literal>| {
                let compare = |literal| Predicate::Compare {
                    column: name.clone(),
                    op,
                    literal,
                };
                literals.into_iter().map(compare).collect()
            };
            // A list in other words; text keeps no `OR` of one part.
            let predicate = match rng.below(if literals.len() == 1 { 1 } else { 3 }) {
                1 => Predicate::Or(each(Compare::Eq, literals)),
                2 => {
                    let others = Predicate::And(each(Compare::NotEq, literals));
                    Predicate::Not(Box::new(others))
                }
                _ => Predicate::In {
                    column: name,
                    literals,
                },
            };
            (predicate, truth)
        }
    }
}

/// SQL's OR.
fn any(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(true)) {
        Some(true)
    } else {
        (!parts.contains(&None)).then_some(false)
    }
}
