//! Bytes flipped or cut off: a checksum finds out.

use super::*;

#[test]
fn every_flip_is_found_out() {
    let _turn = turn();
    let original = mixed();
    let bytes = bytes_of(&original);
    assert!(bytes.len() < 20_000, "{}", bytes.len());
    assert!(!refused_or_same(bytes.clone(), &original, "as it is"));
    let mut accepted = Vec::new();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if !refused_or_same(flipped, &original, &format!("bit {} of byte {at}", at % 8)) {
            accepted.push(at);
        }
    }
    assert!(
        accepted.is_empty(),
        "no checksum covers {accepted:?} of {} bytes",
        bytes.len()
    );
}

#[test]
fn every_truncation_is_found_out() {
    let _turn = turn();
    let original = mixed();
    let bytes = bytes_of(&original);
    for len in 0..bytes.len() {
        assert!(
            File::from_bytes(bytes[..len].to_vec()).is_err(),
            "the first {len} of {} bytes",
            bytes.len()
        );
    }
    for garbage in [&[0][..], b"STFA", &[0; 16], &bytes[bytes.len() - 16..]] {
        assert!(
            File::from_bytes([&bytes, garbage].concat()).is_err(),
            "{garbage:?} at the end"
        );
    }
    // A file twice is the file once: places count from the front.
    refused_or_same([&bytes[..], &bytes].concat(), &original, "twice");
    let message = File::from_bytes(b"PAR1 and so on, with enough bytes".to_vec())
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "not a Staffa file: it begins with \"PAR1\", \"STFA\" expected"
    );
}
