use super::*;

/// A field that may share a slot with those before it, and how many values it has there.
fn joinable(rng: &mut Rng) -> (Piece, u64) {
    let digits = 1 + rng.below(4) as u8;
    match rng.below(10) {
        8.. => {
            let count = 1 + rng.below(40);
            let word = |i: usize| vec![b'a' + (i % 26) as u8; 1 + (7 * i) % 16];
            (Piece::Word((0..count).map(word).collect()), count as u64)
        }
        0..3 => (Piece::Decimal, 1 + rng.below(1200) as u64),
        3 => (Piece::Grouped, 1 + rng.below(30_000) as u64),
        4 => {
            let upper = rng.below(2) == 0;
            (Piece::Hex { digits, upper }, 1 << (4 * digits))
        }
        _ => (Piece::Fixed(digits), POWERS[usize::from(digits)]),
    }
}

/// The fields of numbers, one of each slot.
fn apart(numbers: impl Iterator<Item = u64>, radices: &[u64]) -> Vec<u64> {
    let mut fields = Vec::new();
    let slots = radices.split(|radix| *radix == 0).skip(1);
    for (mut number, radices) in numbers.zip(slots) {
        let first = fields.len();
        for radix in radices.iter().rev() {
            fields.insert(first, number % radix);
            number /= radix;
        }
        fields.insert(first, number);
    }
    fields
}

/// Fields of any length and words behind others in one slot, and more digits than a register holds: versions, pairs of
/// coordinates, moments of milliseconds, lines of a log.
#[test]
fn slots_in_parts_agree_with_the_scalar_twin() {
    on_every_level(|| {
        let mut rng = Rng(0x9a57);
        let (mut by_parts, mut by_steps) = (0, 0);
        for round in 0..300 {
            let mut fields: Vec<_> = (0..2 + rng.below(7)).map(|_| joinable(&mut rng)).collect();
            // The first field begins a slot; another now and then. Both are numbers: they have no bound.
            for first in [0, fields.len() / 2] {
                while let (Piece::Word(_), _) = fields[first] {
                    fields[first] = joinable(&mut rng);
                }
            }
            let mut radices: Vec<u64> = fields.iter().map(|(_, radix)| *radix).collect();
            radices[0] = 0;
            if round % 3 == 0 {
                radices[fields.len() / 2] = 0;
            }
            let slots = radices.split(|radix| *radix == 0).skip(1);
            let span = |radices: &[u64]| {
                let mut radices = radices.iter();
                radices.try_fold(1u64, |all, radix| all.checked_mul(*radix))
            };
            let spans: Option<Vec<u64>> = slots.map(span).collect();
            let Some(spans) = spans.filter(|spans| spans.iter().all(|span| *span < 1 << 50)) else {
                continue;
            };
            let count = 1 + rng.below(4);
            let mut templates: Vec<Vec<Piece>> = vec![vec![]; count];
            for (template, byte) in templates.iter_mut().zip(b'+'..) {
                for (piece, _) in &fields {
                    template.extend([Piece::Literal(vec![byte; rng.below(3)]), piece.clone()]);
                }
            }
            let all = templates.iter();
            let all: Vec<_> = all
                .map(|pieces| (pieces.clone(), radices.clone()))
                .collect();
            let text = Text::new(&all).unwrap();
            let codes = count + usize::from(round % 5 == 0);
            let codes: Vec<u8> = (0..200)
                .map(|_| ((rng.below(codes) + 1) % (count + 1)) as u8)
                .collect();
            // A first field is small, or now and then has all digits that are left.
            let mut number = |span: u64| {
                let most = if rng.below(20) == 0 { 2000 } else { 20 };
                rng.next() % (span * most)
            };
            let slots: Vec<Vec<u64>> = spans
                .iter()
                .map(|span| {
                    codes
                        .iter()
                        .filter(|code| **code > 0)
                        .map(|_| number(*span))
                        .collect()
                })
                .collect();
            let mut next = 0;
            let row = |code: &u8| {
                let Some(template) = usize::from(*code).checked_sub(1) else {
                    return "another".to_owned();
                };
                let fields = apart(slots.iter().map(|slot| slot[next]), &radices);
                next += 1;
                scalar(&templates[template], &fields).unwrap()
            };
            let expected: Vec<String> = codes.iter().map(row).collect();
            let others: Vec<u32> = (0..=200).map(|i| 7 * i).collect();
            let numbers: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
            let rows = TextRows {
                codes: &codes,
                slots: &numbers,
                others: &BytesDict::new(&others, "another".repeat(200).as_bytes()).unwrap(),
                first_other: 0,
            };
            agree(&text, &rows, &expected);
            if Tiles::new(&text.templates).is_some() {
                by_parts += 1;
            } else {
                by_steps += 1;
            }
        }
        assert!(by_parts > 100 && by_steps > 10, "{by_parts} {by_steps}");
    });
}
