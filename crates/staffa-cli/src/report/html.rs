//! Escaped text. Everything from a file passes through `esc` or `name`.

use std::fmt;

use crate::terminal::text::{self, printable, shortened};

/// Writes a line of the page.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        // Writing to a string cannot fail.
        use std::fmt::Write as _;
        let _ = writeln!($out, $($arg)*);
    }};
}
pub(super) use put;

/// Any text as HTML, between tags and in quoted attributes alike. Control characters are escaped.
pub(super) struct Esc<'a>(pub(super) &'a str);

pub(super) fn esc(text: &str) -> Esc<'_> {
    Esc(text)
}

impl fmt::Display for Esc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = printable(self.0);
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'', '\u{fffe}', '\u{ffff}']) {
            let (before, from) = rest.split_at(at);
            f.write_str(before)?;
            let mut chars = from.chars();
            f.write_str(match chars.next() {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                Some('\'') => "&#39;",
                // Not characters in HTML.
                _ => "\u{fffd}",
            })?;
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// A name as an element whose direction of writing does not affect its surroundings.
pub(super) fn name(text: &str) -> String {
    if text.is_ascii() {
        esc(text).to_string()
    } else {
        format!("<bdi>{}</bdi>", esc(text))
    }
}

/// `15.9%`; a nonzero part is never 0.0%.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let text = text::percent(part, whole);
    if part > 0 && text == "0.0%" {
        "&lt;0.1%".into()
    } else {
        text
    }
}

/// A value, cut where it is long.
pub(super) fn cut(text: &str, width: usize) -> String {
    // Only the start is escaped: a string may have a hundred megabytes.
    let start: String = text.chars().take(width + 1).collect();
    name(&shortened(&printable(&start), width))
}

/// A smallest or largest value; the mark before one that is cut off is no text of the file.
pub(super) fn bound(text: &str, width: usize) -> String {
    for mark in ["≥ ", "≤ "] {
        if let Some(text) = text.strip_prefix(mark) {
            return format!("{mark}{}", cut(text, width));
        }
    }
    cut(text, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_controls_and_quotes_are_harmless() {
        assert_eq!(esc("a<b>&\"c'").to_string(), "a&lt;b&gt;&amp;&quot;c&#39;");
        assert_eq!(
            esc("</script><!--\u{0}\u{ffff}").to_string(),
            "&lt;/script&gt;&lt;!--\\u{0}\u{fffd}"
        );
        assert_eq!(
            name("a\u{202e}\u{61c}\u{2028}é"),
            "<bdi>a\\u{202e}\\u{61c}\\u{2028}é</bdi>"
        );
        assert_eq!(cut(&"x".repeat(1_000_000), 4), "<bdi>xxx…</bdi>");
        assert_eq!(bound("≥ <b>", 40), "≥ &lt;b&gt;");
    }
}
