//! Numbers whose digits a double holds.

/// Whether a double holds this integer, all its digits.
pub(super) fn is_exact(integer: &str) -> bool {
    // Beyond that, a conversion back would saturate.
    const MOST: u128 = 1 << 126;
    integer
        .parse::<i128>()
        .is_ok_and(|value| value.unsigned_abs() < MOST && value as f64 as i128 == value)
}

/// Whether a double holds this number with a fraction: printed with as many digits it is the same.
/// Numbers of up to 17 digits are taken for those of a double, as are all with an exponent.
pub(super) fn keeps_fraction(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let Some((whole, fraction)) = digits.split_once('.') else {
        return true;
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let significant = whole.trim_start_matches('0').len() + fraction.len();
    if significant <= 17 || !is_digits(whole) || !is_digits(fraction) {
        return true;
    }
    let places = fraction.len();
    let printed = number.parse().map(|value: f64| format!("{value:.places$}"));
    printed.is_ok_and(|printed| printed == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_more_digits_than_a_double_may_be_rounded() {
        for kept in [
            "0.1",
            "-0.30000000000000004",
            "1e-300",
            "0.10000000000000000555",
        ] {
            assert!(keeps_fraction(kept), "{kept}");
        }
        for rounded in ["12345678901234567890.1234567890", "-0.10000000000000000001"] {
            assert!(!keeps_fraction(rounded), "{rounded}");
        }
    }

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
