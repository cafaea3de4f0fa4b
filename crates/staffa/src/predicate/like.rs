//! SQL's patterns: the ones that are a simpler test.
//!
//! `%` stands for any text, `_` for one character, a backslash for the character behind it,
//! whatever that is; at the end, for itself.

/// What a pattern asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Form {
    /// To be this text.
    Equal(String),
    /// To begin with it: `text%`.
    Prefix(String),
    /// To contain it: `%text%`.
    Part(String),
    /// What a kernel knows alone.
    Other {
        /// As it was written.
        pattern: String,
        /// What stands before its first `%` or `_`.
        prefix: String,
    },
}

impl Form {
    /// Of a pattern.
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
                        Self::Part(text)
                    };
                }
                '%' | '_' => return other(if begins { &text } else { "" }),
                '\\' => text.push(chars.next().unwrap_or(c)),
                c => text.push(c),
            }
        }
        match begins {
            true => Self::Equal(text),
            false if text.is_empty() => Self::Part(text),
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
            let form = Form::of(pattern);
            let kernel = arrow_string::like::like(
                &array,
                &Scalar::new(StringArray::from(vec![pattern.as_str()])),
            );
            let expected: Vec<bool> = kernel.unwrap().iter().map(Option::unwrap).collect();
            simple += usize::from(!matches!(form, Form::Other { .. }));
            for (text, expected) in some.iter().zip(expected) {
                let found = match &form {
                    Form::Equal(t) => text == t,
                    Form::Prefix(t) => text.starts_with(t),
                    Form::Part(t) => text.contains(t),
                    Form::Other { prefix, .. } => {
                        assert!(
                            !expected || text.starts_with(prefix),
                            "{pattern:?} {text:?} {prefix:?}"
                        );
                        continue;
                    }
                };
                assert_eq!(found, expected, "{pattern:?} {text:?} {form:?}");
            }
        }
        assert!(simple > 200, "{simple}");
    }
}
