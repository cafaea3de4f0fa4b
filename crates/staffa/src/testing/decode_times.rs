//! What decoding costs, measured: the figures behind [`Encoding::decode_picos`].
//!
//! ```text
//! cargo test --release -p staffa --lib decode_times -- --ignored --nocapture
//! ```

use std::hint::black_box;
use std::time::Instant;

use staffa_kernels::VECTOR;

use super::conformance::{numbers, picked};
use crate::decode::{Budget, Decodable, Decoder, Scratch, decode_all_strings, for_decoder};
use crate::encode::{Chooser, Encoding, Profile, Stats};
use crate::encodings::{POOL, opener};
use crate::format::{Cursor, Node, NodeRef};
use crate::limits::Limits;
use crate::values::{Kind, PhysicalType};

const ROWS: usize = 1 << 16;

/// The least time of several, in picoseconds for each of the node's values, vector after vector
/// into the same place.
fn picos(node: &Node) -> f64 {
    let mut bytes = Vec::new();
    node.write(&mut bytes);
    let parsed = NodeRef::parse(&mut Cursor::new(&bytes), ROWS * 2, 16).unwrap();
    let opener = opener(Limits::default());
    let mut cx = opener.context(Budget::new(u64::MAX), &[], Vec::new());
    let decoder = cx.open(&parsed).unwrap();
    let mut scratch = Scratch::default();
    let mut once = || {
        for_decoder!(&decoder,
            words(d) => vectors(d.as_ref(), &mut scratch),
            bits(d) => drop(black_box(d.bits().unwrap())),
            bytes(d) => {
                let mut budget = Budget::new(u64::MAX);
                drop(black_box(
                    decode_all_strings(d.as_ref(), &mut budget, "strings").unwrap(),
                ));
            },
        );
    };
    let times = (0..40).map(|_| {
        let start = Instant::now();
        once();
        start.elapsed().as_nanos()
    });
    times.min().unwrap() as f64 * 1000.0 / node.len.max(1) as f64
}

fn vectors<T: Decodable>(decoder: &dyn Decoder<T>, cx: &mut Scratch) {
    let mut out = vec![T::default(); VECTOR];
    for v in 0..decoder.len() / VECTOR {
        decoder.vector(v, cx, &mut out).unwrap();
        black_box(&mut out);
    }
}

/// The time of a node without its children.
fn own_picos(node: &Node) -> f64 {
    let children = node
        .children
        .iter()
        .map(|child| picos(child) * child.len as f64 / node.len as f64);
    (picos(node) - children.sum::<f64>()).max(0.0)
}

#[test]
#[ignore = "measures: run it with --release, on a quiet machine"]
fn decode_times() {
    println!(
        "picoseconds a value, least, median and most of the shapes; what the chooser counts with"
    );
    for encoding in POOL
        .iter()
        .filter(|encoding| !encoding.info().needs_reference)
    {
        for (ty, kind) in [
            (PhysicalType::U32, Kind::Unsigned),
            (PhysicalType::U64, Kind::Signed),
            (PhysicalType::U64, Kind::Float),
            (PhysicalType::Bytes, Kind::Unsigned),
        ] {
            if encoding.accepts(ty, kind) {
                report(encoding, ty, kind);
            }
        }
    }
}

fn report(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let mut found = Vec::new();
    for shape in 0..9 {
        let values = picked(ty, &numbers(ROWS, shape, 7, 17));
        let values = values.borrow();
        let chooser = Chooser::root(&POOL, Profile::Balanced, Some(encoding.info().name));
        let node = chooser.choose(values, &Stats::new(values, kind));
        // An encoding that makes nothing smaller here would not be chosen here.
        found.extend(
            node.ok()
                .filter(|node| node.size() < values.plain_bytes())
                .map(|node| own_picos(&node)),
        );
    }
    found.sort_by(f64::total_cmp);
    if let (Some(least), Some(middle), Some(most)) =
        (found.first(), found.get(found.len() / 2), found.last())
    {
        let name = format!("{} of {ty:?} {kind:?}", encoding.info().name);
        println!(
            "{name:40} {least:8.0} {middle:8.0} {most:8.0} {:8}",
            encoding.info().decode_picos
        );
    }
}
