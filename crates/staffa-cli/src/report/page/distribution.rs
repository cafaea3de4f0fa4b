//! The pictures of distributions: small ones in the list of columns, large ones in the details.

use crate::report::html::{cut, esc, percent, put};
use crate::report::profile::{Histogram, Profile, Shape, Top};
use crate::terminal::text::{counted, number};

/// Units of the small picture.
const WIDTH: usize = 260;
const HEIGHT: f64 = 30.0;
/// Values of the small picture, and the share of the smallest.
const SEGMENTS: usize = 6;
const SMALLEST: f64 = 0.004;
/// Characters of a value.
const VALUE: usize = 60;

/// The small picture and a line below it.
pub(super) fn small(out: &mut String, profile: &Profile) {
    out.push_str("<span class=\"cd1\">");
    match &profile.shape {
        Shape::Nothing => out.push_str("<small>no distribution</small>"),
        Shape::Histogram(histogram) => bars(out, histogram),
        Shape::Lengths(histogram) => {
            bars(out, histogram);
            let [from, to] = histogram.ends();
            put!(out, "<small>lengths: {from} to {to} bytes</small>");
        }
        Shape::Top(top) => segments(out, top, profile.values),
    }
    out.push_str("</span>");
}

/// A histogram, without letters.
fn bars(out: &mut String, histogram: &Histogram) {
    let far = [histogram.before, histogram.after];
    let all = &histogram.bars;
    let highest = all.iter().chain(&far).copied().max().unwrap_or(0).max(1);
    // Room for what lies far out, on both sides, and a gap to it.
    let [before, after] = far.map(|count| usize::from(count > 0));
    let slots = all.len() + 2 * (before + after);
    let slot = (WIDTH / slots.max(1)).max(1);
    let gap = usize::from(slot > 4);
    let rect = |count: u64, place: usize| {
        let height = (count as f64 / highest as f64 * HEIGHT).round().max(1.0);
        format!("M{place} {HEIGHT}v-{height}h{}v{height}z", slot - gap)
    };
    let lead = 2 * before * slot;
    let mut inner = String::new();
    for (index, count) in all.iter().enumerate().filter(|(_, count)| **count > 0) {
        inner += &rect(*count, lead + index * slot);
    }
    let width = slots * slot;
    put!(
        out,
        "<svg class=\"hist\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path \
         d=\"{inner}\"/>"
    );
    if before + after > 0 {
        let mut outer = String::new();
        for (count, place) in far.into_iter().zip([0, (slots - 1) * slot]) {
            if count > 0 {
                outer += &rect(count, place);
            }
        }
        put!(out, "<path class=\"far\" d=\"{outer}\"/>");
    }
    out.push_str("</svg>");
}

/// The most frequent values side by side, each as wide as its share.
fn segments(out: &mut String, top: &Top, values: u64) {
    let Some((first, count)) = top.values.first() else {
        return;
    };
    let share = |count: u64| count as f64 / values.max(1) as f64;
    out.push_str("<span class=\"segs\" aria-hidden=\"true\">");
    let shown = top.values.iter().take(SEGMENTS);
    for (value, count) in shown.take_while(|(_, count)| share(*count) >= SMALLEST) {
        // A label that does not fit is cut by the page.
        let label = if share(*count) > 0.12 {
            cut(value, 24)
        } else {
            String::new()
        };
        put!(
            out,
            "<i style=\"--p:{:.1}\" title=\"{}: {}\">{label}</i>",
            share(*count) * 100.0,
            esc(&value.chars().take(VALUE).collect::<String>()),
            percent(*count, values)
        );
    }
    let different = top.values.len() as u64 + top.different_others;
    let more = match different - 1 {
        0 => String::new(),
        more => format!(", {}", counted(more, "other")),
    };
    put!(
        out,
        "</span><small>{} {}{more}</small>",
        cut(first, 28),
        percent(*count, values)
    );
}

/// The large picture: each bar with its range and number, or the values as a table. Among many columns
/// there are few values, and the bars of the list suffice.
pub(super) fn large(out: &mut String, profile: &Profile, rows: u64, is_short: bool) {
    let title = match &profile.shape {
        Shape::Nothing => return,
        Shape::Histogram(_) | Shape::Lengths(_) if is_short => return,
        Shape::Histogram(_) => "Distribution",
        Shape::Lengths(_) => "Lengths in bytes",
        Shape::Top(_) => "Most frequent values",
    };
    let of = if profile.rows == rows {
        "all rows".to_owned()
    } else {
        format!("{}, spread over the table", counted(profile.rows, "row"))
    };
    put!(out, "<h3>{title} <small>of {of}</small></h3>");
    match &profile.shape {
        Shape::Histogram(histogram) | Shape::Lengths(histogram) => {
            large_bars(out, histogram, profile.values);
            ends(out, histogram, profile.values);
        }
        Shape::Top(top) => {
            let listed = if is_short { SEGMENTS } else { top.values.len() };
            values(out, top, profile.values, listed);
        }
        Shape::Nothing => {}
    }
}

fn large_bars(out: &mut String, histogram: &Histogram, values: u64) {
    let highest = histogram.bars.iter().copied().max().unwrap_or(0).max(1);
    let [from, to] = histogram.ends();
    put!(
        out,
        "<div class=\"bars\" role=\"img\" aria-label=\"Histogram from {} to {}\">",
        esc(&from),
        esc(&to)
    );
    for (index, count) in histogram.bars.iter().enumerate() {
        let height = *count as f64 / highest as f64 * 100.0;
        put!(
            out,
            "<i style=\"--h:{height:.1}\" title=\"{}: {} ({})\"></i>",
            esc(&histogram.range(index)),
            number(*count),
            percent(*count, values)
        );
    }
    out.push_str("</div>");
}

/// Where the bars begin and end, and what lies outside.
fn ends(out: &mut String, histogram: &Histogram, values: u64) {
    let [from, to] = histogram.ends();
    put!(
        out,
        "<p class=\"ax\"><span>{}</span><span>{}</span></p>",
        cut(&from, VALUE),
        cut(&to, VALUE)
    );
    let outside = [
        (histogram.before, "below"),
        (histogram.after, "above"),
        (histogram.not_finite, "NaN or infinite"),
    ];
    let outside = outside.iter().filter(|(count, _)| *count > 0);
    let outside: Vec<String> = outside
        .map(|(count, place)| {
            let share = percent(*count, values);
            format!("{} {place} ({share})", counted(*count, "value"))
        })
        .collect();
    if !outside.is_empty() {
        put!(out, "<p class=\"note\">{}.</p>", outside.join("; "));
    }
}

fn values(out: &mut String, top: &Top, values: u64, listed: usize) {
    put!(
        out,
        "<table class=\"top\"><caption class=\"vh\">Most frequent values</caption><tbody>"
    );
    let most = top.values.first().map_or(0, |(_, count)| *count);
    let bar = |count: u64| count as f64 / most.max(1) as f64 * 100.0;
    for (value, count) in top.values.iter().take(listed) {
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td><span class=\"bar a\" \
             style=\"--p:{:.1}\"></span></td></tr>",
            cut(value, VALUE),
            number(*count),
            percent(*count, values),
            bar(*count)
        );
    }
    if top.others > 0 && listed == top.values.len() {
        put!(
            out,
            "<tr><th scope=\"row\"><i>{}</i></th><td class=\"num\">{}</td><td class=\"num\">{}</td><td></td></tr>",
            counted(top.different_others, "other value"),
            number(top.others),
            percent(top.others, values)
        );
    }
    out.push_str("</tbody></table>");
}
