//! Escaped text. Everything from a file passes through `esc` or `name`.

use std::borrow::Cow;
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
        let text = escape_directions(&text);
        let mut rest = text.as_ref();
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

/// Direction marks could make a name look like another one.
fn escape_directions(text: &str) -> Cow<'_, str> {
    const MARKS: [char; 12] = [
        '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
        '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
    ];
    if !text.contains(MARKS) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| {
        if MARKS.contains(&c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(escape).collect())
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
        assert_eq!(name("a\u{202e}é"), "<bdi>a\\u{202e}é</bdi>");
        assert_eq!(cut(&"x".repeat(1_000_000), 4), "<bdi>xxx…</bdi>");
    }
}
