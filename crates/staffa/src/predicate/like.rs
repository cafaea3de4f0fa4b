//! Patterns of SQL's LIKE, most of which are a simpler test.
//!
//! `%` stands for any text, `_` for one character. A backslash escapes the character behind it; at
//! the end it stands for itself.

/// A pattern, as the simplest test that it is.
#[derive(Debug, PartialEq)]
pub(super) enum Pattern {
    /// Equal to this text.
    Exact(String),
    /// Starts with this text: `text%`.
    Prefix(String),
    /// Contains this text: `%text%`.
    Contains(String),
    /// Any other pattern, for Arrow's kernel.
    Other {
        /// The pattern as it is written.
        pattern: String,
        /// Text before its first `%` or `_`.
        prefix: String,
    },
    /// Any pattern, upper and lower case alike.
    AnyCase(String),
}

impl Pattern {
    /// Parses a pattern.
    pub(super) fn of(pattern: &str) -> Self {
        let other = |prefix: &str| Self::Other {
            pattern: pattern.to_owned(),
            prefix: prefix.to_owned(),
        };
        let (begins, rest) = match pattern.trim_start_matches('%') {
            rest if rest.len() < pattern.len() => (false, rest),
            rest => (true, rest),
        };
        let mut text = String::new();
        let mut chars = rest.chars();
        while let Some(c) = chars.next() {
            match c {
                '%' if chars.as_str().chars().all(|c| c == '%') => {
                    return if begins {
                        Self::Prefix(text)
                    } else {
                        Self::Contains(text)
                    };
                }
                '%' | '_' => return other(if begins { &text } else { "" }),
                '\\' => text.push(chars.next().unwrap_or(c)),
                c => text.push(c),
            }
        }
        match begins {
            true => Self::Exact(text),
            false if text.is_empty() => Self::Contains(text),
            false => other(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Scalar, StringArray};

    use super::*;

    #[test]
    fn forms_are_what_the_kernel_makes_of_the_pattern() {
        let pieces = ["a", "b", "%", "_", "\\", "é", "\n"];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> = texts
                .iter()
                .flat_map(|t| pieces.map(|p| format!("{t}{p}")))
                .collect();
            texts.extend(longer);
            texts.sort();
            texts.dedup();
        }
        let some: Vec<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|t| t.chars().count() < 4)
            .collect();
        let array = StringArray::from(some.clone());
        let mut simple = 0;
        for pattern in texts.iter().step_by(3) {
            let parsed = Pattern::of(pattern);
            let kernel = arrow_string::like::like(
                &array,
                &Scalar::new(StringArray::from(vec![pattern.as_str()])),
            );
            let expected: Vec<bool> = kernel.unwrap().iter().map(Option::unwrap).collect();
            simple += usize::from(!matches!(parsed, Pattern::Other { .. }));
            for (text, expected) in some.iter().zip(expected) {
                let found = match &parsed {
                    Pattern::AnyCase(_) => continue,
                    Pattern::Exact(t) => text == t,
                    Pattern::Prefix(t) => text.starts_with(t),
                    Pattern::Contains(t) => text.contains(t),
                    Pattern::Other { prefix, .. } => {
                        assert!(
                            !expected || text.starts_with(prefix),
                            "{pattern:?} {text:?} {prefix:?}"
                        );
                        continue;
                    }
                };
                assert_eq!(found, expected, "{pattern:?} {text:?} {parsed:?}");
            }
        }
        assert!(simple > 200, "{simple}");
    }
}
