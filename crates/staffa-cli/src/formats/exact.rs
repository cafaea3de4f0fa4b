//! Integers that a double holds.

/// Whether a double holds this integer, all its digits.
pub(super) fn is_exact(integer: &str) -> bool {
    // Beyond that, a conversion back would saturate.
    const MOST: u128 = 1 << 126;
    integer
        .parse::<i128>()
        .is_ok_and(|value| value.unsigned_abs() < MOST && value as f64 as i128 == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_more_than_53_bits_may_be_rounded() {
        for exact in [
            "0",
            "-9007199254740992",
            "9007199254740994",
            "18446744073709551616",
        ] {
            assert!(is_exact(exact), "{exact}");
        }
        let most = i128::MAX.to_string();
        for rounded in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551615",
            &most,
            "1.5",
        ] {
            assert!(!is_exact(rounded), "{rounded}");
        }
    }
}
