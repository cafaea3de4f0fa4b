//! Numbers, bars and aligned columns as text.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

pub(crate) use crate::error::printable;

/// `12.3 MB`: decimal units, three digits, as disks and networks are sold.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return format!("{count} {}", if count == 1 { "byte" } else { "bytes" });
    }
    let mut value = count as f64;
    let mut unit = 0;
    // 999.5 would be printed as 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// `1,048,576`.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`, `3 dictionaries`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let number = number(count);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// The ratio of two sizes, `6.7x`; a dash if one of them is 0.
pub(crate) fn ratio(before: u64, after: u64) -> String {
    if before == 0 || after == 0 {
        return "-".into();
    }
    times(before as f64 / after as f64)
}

/// A size compared with a larger or smaller one: `6.7x smaller`, `1.2x larger`.
pub(crate) fn smaller(before: u64, after: u64) -> String {
    if before == 0 || after == 0 {
        return "-".into();
    }
    let words = ["smaller", "larger", "same size"];
    compared(before as f64, after as f64, words)
}

/// A duration compared with another one: `3.8x faster`, `1.9x slower`.
pub(crate) fn faster(other_seconds: f64, seconds: f64) -> String {
    compared(other_seconds, seconds, ["faster", "slower", "same speed"])
}

fn compared(other: f64, own: f64, [less, more, same]: [&str; 3]) -> String {
    let (factor, word) = if own <= other {
        (other / own, less)
    } else {
        (own / other, more)
    };
    match times(factor).as_str() {
        "1.0x" => same.to_owned(),
        times => format!("{times} {word}"),
    }
}

fn times(factor: f64) -> String {
    if factor >= 99.95 {
        format!("{}x", number(factor.round() as u64))
    } else {
        format!("{factor:.1}x")
    }
}

/// `15.9%`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".into()
    } else {
        format!("{:.1}%", part as f64 * 100.0 / whole as f64)
    }
}

/// A bar of at most `width` characters, exact to an eighth of one; every nonzero part is visible.
pub(crate) fn bar(part: u64, whole: u64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if part == 0 || whole == 0 {
        return String::new();
    }
    let eighths = (part as f64 / whole as f64 * width as f64 * 8.0)
        .round()
        .max(1.0) as usize;
    let mut out = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(EIGHTHS[eighths % 8]);
    }
    out
}

/// A column name as lists of columns take it: in double quotes where it needs them.
pub(crate) fn quoted_name(name: &str) -> String {
    if name.is_empty() || name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// Text cut to `width` columns of a terminal; an ellipsis marks the cut.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        if out.width() + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) + 1 > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Text padded to `width` columns of a terminal.
pub(crate) fn padded(text: &str, width: usize, align: Align) -> String {
    let fill = " ".repeat(width.saturating_sub(text.width()));
    match align {
        Align::Left => format!("{text}{fill}"),
        Align::Right => format!("{fill}{text}"),
    }
}

/// Writes rows of cells in aligned columns, two spaces apart; the first row is the header.
pub(crate) fn grid(out: &mut dyn Write, align: &[Align], rows: &[Vec<String>]) -> io::Result<()> {
    let widths: Vec<usize> = (0..align.len())
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for (at, ((cell, width), align)) in row.iter().zip(&widths).zip(align).enumerate() {
            line.push_str(if at == 0 { "" } else { "  " });
            line.push_str(&padded(cell, *width, *align));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_and_never_a_thousand() {
        let cases = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "1.00 kB"),
            (12_345, "12.3 kB"),
            (999_499, "999 kB"),
            (999_600, "1.00 MB"),
            (1_234_567_890, "1.23 GB"),
        ];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [number(0), number(999), number(1000), number(1_048_576)],
            ["0", "999", "1,000", "1,048,576"]
        );
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(2000, "row"), "2,000 rows");
        assert_eq!(counted(2, "key"), "2 keys");
        assert_eq!(counted(1, "dictionary"), "1 dictionary");
        assert_eq!(counted(3, "dictionary"), "3 dictionaries");
    }

    #[test]
    fn comparisons_say_their_direction() {
        assert_eq!(smaller(67, 10), "6.7x smaller");
        assert_eq!(smaller(10, 12), "1.2x larger");
        assert_eq!(smaller(1_234_000, 1000), "1,234x smaller");
        assert_eq!(smaller(1, 0), "-");
        assert_eq!(smaller(100, 99), "same size");
        assert_eq!(faster(3.8, 1.0), "3.8x faster");
        assert_eq!(faster(1.0, 1.9), "1.9x slower");
    }

    #[test]
    fn bars_show_every_nonzero_part() {
        assert_eq!(bar(0, 10, 8), "");
        assert_eq!(bar(1, 1_000_000, 8), "▏");
        assert_eq!(bar(5, 10, 8), "████");
        assert_eq!(bar(10, 10, 8), "████████");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb\u{1b}[2J\n"), "a\\tb\\u{1b}[2J\\n");
        // Lines end at these as well, for some terminals and for browsers.
        assert_eq!(
            printable("a\u{85}b\u{2028}c\u{2029}d\u{61c}e"),
            "a\\u{85}b\\u{2028}c\\u{2029}d\\u{61c}e"
        );
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("日本語", 5), "日本…");
    }
}
