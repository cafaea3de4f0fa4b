use proptest::prelude::*;

use super::compute::half;
use super::{Bounds, ZoneMap};
use crate::format::Cursor;
use crate::values::{Kind, StringsBuf, Values};

#[test]
fn spans_lie_between_zero_and_one() {
    let float = |min, max| Bounds::Float {
        min,
        max,
        nan: false,
    };
    let text = |min: &str, max: &str| Bounds::Bytes(min.into(), max.into());
    let cases = [
        (Bounds::Int(10, 15), Bounds::Int(10, 20), Some([0.0, 0.5])),
        (Bounds::Int(7, 7), Bounds::Int(7, 7), Some([0.0, 0.0])),
        (
            Bounds::Int(0, i128::MAX),
            Bounds::Int(i128::MIN, i128::MAX),
            Some([0.5, 1.0]),
        ),
        (
            float(-f64::MAX, 0.0),
            float(-f64::MAX, f64::MAX),
            Some([0.0, 0.5]),
        ),
        (
            float(1.0, f64::INFINITY),
            float(f64::NEG_INFINITY, f64::INFINITY),
            Some([0.0, 1.0]),
        ),
        (
            float(f64::INFINITY, f64::NEG_INFINITY),
            float(0.0, 1.0),
            None,
        ),
        (
            text("ab\0", "ab\u{40}"),
            text("ab", "ab\u{40}"),
            Some([0.0, 1.0]),
        ),
        (
            Bounds::Bits(true, false),
            Bounds::Bits(true, true),
            Some([0.0, 0.0]),
        ),
        (
            Bounds::Bits(false, true),
            Bounds::Bits(true, true),
            Some([1.0, 1.0]),
        ),
        (Bounds::None, Bounds::Int(0, 1), None),
    ];
    for (part, whole, span) in cases {
        assert_eq!(part.span_in(&whole), span, "{part:?} in {whole:?}");
    }
}

fn round_trip(zone: &ZoneMap) {
    let mut out = Vec::new();
    zone.write(&mut out);
    let mut cursor = Cursor::new(&out);
    assert_eq!(&ZoneMap::read(&mut cursor).unwrap(), zone);
    cursor.finish("zone map").unwrap();
    for cut in 0..out.len() {
        assert!(ZoneMap::read(&mut Cursor::new(&out[..cut])).is_err());
    }
}

#[test]
fn bounds_hold_for_every_type() {
    let zone = ZoneMap::of(Values::U32(&[5, u32::MAX, 7]), Kind::Signed, 3);
    assert_eq!(
        zone,
        ZoneMap {
            nulls: 3,
            bounds: Bounds::Int(-1, 7)
        }
    );
    round_trip(&zone);
    let zone = ZoneMap::of(Values::U64(&[5, u64::MAX]), Kind::Unsigned, 0);
    assert_eq!(zone.bounds, Bounds::Int(5, i128::from(u64::MAX)));
    round_trip(&zone);
    let zone = ZoneMap::of(
        Values::U128(&[i128::MIN as u128, i128::MAX as u128]),
        Kind::Signed,
        0,
    );
    assert_eq!(zone.bounds, Bounds::Int(i128::MIN, i128::MAX));
    round_trip(&zone);
    let floats = [0.0f64, -0.0, f64::NAN, -2.5].map(f64::to_bits);
    let zone = ZoneMap::of(Values::U64(&floats), Kind::Float, 0);
    assert_eq!(
        zone.bounds,
        Bounds::Float {
            min: -2.5,
            max: 0.0,
            nan: true
        }
    );
    round_trip(&zone);
    let strings: StringsBuf = [&b"b"[..], &[0xff; 20], b"a very long string indeed"]
        .into_iter()
        .collect();
    let zone = ZoneMap::of(
        Values::Bytes(strings.as_strings().slice(0, 1)),
        Kind::Opaque,
        0,
    );
    assert_eq!(zone.bounds, Bounds::Bytes(b"b".to_vec(), b"b".to_vec()));
    let zone = ZoneMap::of(
        Values::Bytes(strings.as_strings().slice(2, 1)),
        Kind::Opaque,
        0,
    );
    assert_eq!(
        zone.bounds,
        Bounds::Bytes(b"a very long stri".to_vec(), b"a very long strj".to_vec())
    );
    round_trip(&zone);
    assert_eq!(
        ZoneMap::of(Values::Bytes(strings.as_strings()), Kind::Opaque, 0).bounds,
        Bounds::None
    );
}

#[test]
fn halves_are_exact() {
    for (bits, value) in [
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (1, 2f64.powi(-24)),
        (0x7bff, 65504.0),
        (0x7c00, f64::INFINITY),
    ] {
        assert_eq!(half(bits).to_bits(), f64::to_bits(value));
    }
    assert!(half(0x7e00).is_nan());
}

proptest! {
    #[test]
    fn bounds_of_floats_are_those_of_their_order(
        bits in proptest::collection::vec(
            prop_oneof![
                any::<u64>(),
                Just(0.0f64.to_bits()), Just((-0.0f64).to_bits()),
                Just(f64::INFINITY.to_bits()), Just(f64::NEG_INFINITY.to_bits()),
                (-9i32..9).prop_map(|n| f64::from(n).to_bits()),
            ],
            1..20,
        )
    ) {
        let floats = || bits.iter().map(|bits| f64::from_bits(*bits));
        let numbers = || floats().filter(|float| !float.is_nan());
        let min = numbers().min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        let max = numbers().max_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY);
        let found = ZoneMap::of(Values::U64(&bits), Kind::Float, 0).bounds;
        let Bounds::Float { min: low, max: high, nan } = found else {
            panic!("{found:?}")
        };
        prop_assert_eq!((low.to_bits(), high.to_bits()), (min.to_bits(), max.to_bits()));
        prop_assert_eq!(nan, floats().any(f64::is_nan));

        let singles: Vec<u32> = floats().map(|float| (float as f32).to_bits()).collect();
        let wide: Vec<u64> = singles.iter().map(|bits| f64::from(f32::from_bits(*bits)).to_bits()).collect();
        prop_assert_eq!(
            ZoneMap::of(Values::U32(&singles), Kind::Float, 0).bounds.bytes(),
            ZoneMap::of(Values::U64(&wide), Kind::Float, 0).bounds.bytes()
        );
    }

    #[test]
    fn distinct_strings_have_the_bounds_of_all(strings in proptest::collection::vec("[ab]{0,3}", 1..30)) {
        let all: StringsBuf = strings.iter().map(String::as_bytes).collect();
        let mut rows: Vec<u32> = (0..strings.len() as u32).collect();
        rows.sort_by_key(|row| &strings[*row as usize]);
        rows.dedup_by_key(|row| &strings[*row as usize]);
        prop_assert_eq!(
            ZoneMap::of_distinct(all.as_strings(), &rows, 2),
            ZoneMap::of(Values::Bytes(all.as_strings()), Kind::Opaque, 2)
        );
    }
}
