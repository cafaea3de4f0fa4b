//! Values as text for people: one line, control characters escaped, cut where it is long.

use std::fmt;

use arrow_array::ArrayRef;
use arrow_cast::display::{ArrayFormatter, DurationFormat, FormatOptions};
use arrow_schema::DataType;

use crate::error::{Failure, Result};
use crate::formats::text_values::as_text_values;
use crate::terminal::text::{printable, shortened};

/// A date or time that has no text, because it lies beyond the calendar or the day.
const OUT_OF_RANGE: &str = "(out of range)";
/// The longest text of a value that is looked at, more than fills any cell.
const CELL_BYTES: usize = 8 << 10;
/// The longest name of a type.
const TYPE_CHARS: usize = 24;

/// The values of an array, each at most `width` columns wide; None for NULL.
pub(crate) fn cells(array: &ArrayRef, width: usize) -> Result<Vec<Option<String>>> {
    let cell = |text: Text| shortened(&printable(&text.start), width);
    let texts = texts(array, 0..array.len(), CELL_BYTES)?;
    Ok(texts.into_iter().map(|text| text.map(cell)).collect())
}

/// A value at full length, as it is: what prints it escapes it. Of a text longer than `most` bytes
/// the start.
pub(crate) fn whole_cell(array: &ArrayRef, row: usize, most: usize) -> Result<Option<Text>> {
    Ok(texts(array, row..row + 1, most)?.pop().flatten())
}

/// The text of a value, or the start of a long one.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) start: String,
    pub(crate) is_cut: bool,
    most: usize,
}

/// What goes beyond the limit is an error, so that nobody writes it: a list may have two billion
/// items.
impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(self.most - self.start.len().min(self.most));
        self.start.push_str(text.get(..end).unwrap_or_default());
        self.is_cut = end < text.len();
        if self.is_cut {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

fn texts(array: &ArrayRef, rows: std::ops::Range<usize>, most: usize) -> Result<Vec<Option<Text>>> {
    let options = FormatOptions::new()
        .with_null("NULL")
        .with_duration_format(DurationFormat::Pretty);
    let fail = |error| Failure::arrow("a column cannot be printed", &error);
    let array = as_text_values(&array.slice(rows.start, rows.len())).map_err(fail)?;
    let formatter = ArrayFormatter::try_new(&array, &options).map_err(fail)?;
    let nulls = array.logical_nulls();
    let text = |row: usize| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let mut text = Text {
            most,
            ..Text::default()
        };
        if formatter.value(row).write(&mut text).is_err() && !text.is_cut {
            OUT_OF_RANGE.clone_into(&mut text.start);
        }
        Some(text)
    };
    Ok((0..array.len()).map(text).collect())
}

/// The name of a type; of a long one only the kind.
pub(crate) fn short_type(data_type: &DataType) -> String {
    let name = printable(&data_type.to_string());
    match name.split_once('(') {
        Some((kind, _)) if name.chars().count() > TYPE_CHARS => kind.to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn a_cell_is_one_line_and_a_whole_cell_is_as_it_is() {
        let text = "a\n\u{1b}[2J".to_owned() + &"x".repeat(20_000);
        let array: ArrayRef = Arc::new(StringArray::from(vec![None, Some(text.as_str())]));
        let shown = cells(&array, 12).unwrap();
        assert_eq!(shown, [None, Some("a\\n\\u{1b}[2…".into())]);
        let whole = whole_cell(&array, 1, 10).unwrap().unwrap();
        assert_eq!((whole.start.as_str(), whole.is_cut), (&text[..10], true));
        let whole = whole_cell(&array, 1, 1 << 20).unwrap().unwrap();
        assert_eq!((whole.start.len(), whole.is_cut), (text.len(), false));
    }
}
