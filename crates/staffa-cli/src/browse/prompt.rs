//! A line of input at the foot of the screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the input is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    GoTo,
    Filter,
    Find,
}

#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

/// What a key made of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    More,
    Given,
    Dropped,
}

impl Prompt {
    pub(super) fn label(&self) -> &'static str {
        match self.purpose {
            Purpose::GoTo => "Go to row (or 50%): ",
            Purpose::Filter => "Rows where: ",
            Purpose::Find => "Find column: ",
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Input {
        match key.code {
            KeyCode::Enter => return Input::Given,
            KeyCode::Esc => return Input::Dropped,
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.text.clear();
            }
            KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.text.push(letter);
            }
            _ => {}
        }
        Input::More
    }
}

/// A row of a table of so many: `1,000,000`, `50%`.
pub(super) fn row(text: &str, rows: u64) -> Result<u64, String> {
    let digits = text.trim().replace([',', '_'], "");
    let row = match digits.strip_suffix('%') {
        Some(percent) => percent
            .parse::<f64>()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| (rows.saturating_sub(1) as f64 * percent / 100.0) as u64),
        None => digits.parse().ok(),
    };
    match row {
        _ if rows == 0 => Err("the table has no rows".into()),
        Some(row) if row < rows => Ok(row),
        Some(row) => Err(format!(
            "there is no row {row}: the rows are 0 to {}",
            rows.saturating_sub(1)
        )),
        None => Err(format!(
            "{text:?} is no row: expected a number, or a percentage"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbers_or_percentages() {
        assert_eq!(row(" 1,000 ", 5000), Ok(1000));
        assert_eq!(row("50%", 5001), Ok(2500));
        assert_eq!(row("100%", 5001), Ok(5000));
        for refused in ["5000", "-1", "", "x", "101%", "NaN%"] {
            assert!(row(refused, 5000).is_err(), "{refused}");
        }
        assert_eq!(row("5", 0), Err("the table has no rows".into()));
        assert_eq!(row("50%", 0), Err("the table has no rows".into()));
    }
}
