//! What the process has told glibc's malloc to keep: how much freed memory it may hold back from
//! the system.
//!
//! ```text
//! GLIBC_TUNABLES=...:glibc.malloc.trim_threshold=N:...    or, older    MALLOC_TRIM_THRESHOLD_=N
//! ```

const TUNABLE: &str = "glibc.malloc.trim_threshold";

/// The bytes that malloc was told to keep, if it was told by the environment.
pub(crate) fn told_to_keep() -> Option<usize> {
    let variable = |name| std::env::var(name).ok();
    told(
        variable("GLIBC_TUNABLES").as_deref(),
        variable("MALLOC_TRIM_THRESHOLD_").as_deref(),
    )
}

fn told(tunables: Option<&str>, threshold: Option<&str>) -> Option<usize> {
    let settings = tunables
        .unwrap_or_default()
        .split(':')
        .filter_map(|setting| setting.split_once('='));
    let values = settings
        .filter(|(name, _)| *name == TUNABLE)
        .map(|(_, value)| value);
    values.chain(threshold).find_map(bytes)
}

/// A number as glibc reads it: decimal, hexadecimal after `0x`, octal after `0`; below zero stands
/// for no bound.
fn bytes(text: &str) -> Option<usize> {
    let text = text.trim_start();
    if let Some(digits) = text.strip_prefix('-') {
        return digits
            .bytes()
            .all(|digit| digit.is_ascii_digit())
            .then_some(usize::MAX);
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, radix) = match (
        text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")),
        text.strip_prefix('0'),
    ) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    // What fits into no number is no bound either.
    let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    all.then(|| usize::from_str_radix(digits, radix).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_variables_are_read() {
        let threshold = |value| {
            format!("glibc.malloc.arena_max=1:{TUNABLE}={value}:glibc.malloc.mmap_threshold=7")
        };
        for (value, expected) in [
            ("4294967296", Some(1 << 32)),
            ("0x100000", Some(1 << 20)),
            ("017", Some(15)),
            ("0", Some(0)),
            ("-1", Some(usize::MAX)),
            ("99999999999999999999999", Some(usize::MAX)),
            ("", None),
            ("much", None),
            ("1e9", None),
        ] {
            assert_eq!(told(Some(&threshold(value)), None), expected, "{value:?}");
            assert_eq!(told(None, Some(value)), expected, "{value:?}");
        }
        assert_eq!(told(Some(&threshold("5")), Some("6")), Some(5));
        assert_eq!(
            told(Some("glibc.malloc.trim_threshold.x=5"), Some("6")),
            Some(6)
        );
        assert_eq!(told(None, None), None);
    }
}
