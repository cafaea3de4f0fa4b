//! Tokens of a predicate's text, and errors that show the place in it.

use crate::error::{Error, Result};
use crate::predicate::Compare;

/// Characters of the text that an error shows.
const EXCERPT: usize = 30;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// In double quotes, their doubling undone.
    Name(String),
    Number(&'a str),
    /// In single quotes, their doubling undone.
    Text(String),
    Operator(Compare),
    Sign(char),
    Open,
    Close,
    Comma,
    /// Between a column and a field of it.
    Dot,
    End,
}

/// The text, and the token that is next.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    /// The text behind the token.
    pub(super) rest: &'a str,
    pub(super) token: Token<'a>,
    /// Where the token begins.
    pub(super) at: usize,
    /// Brackets and `not` around it.
    pub(super) depth: usize,
}

impl Parser<'_> {
    /// Reads the next token.
    pub(super) fn advance(&mut self) -> Result<()> {
        let rest = self.rest.trim_start();
        self.at = self.text.len() - rest.len();
        self.rest = rest;
        let inside = || Error::internal("a token ends within a character");
        let mut chars = rest.chars();
        let Some(first) = chars.next() else {
            self.token = Token::End;
            return Ok(());
        };
        let (token, len) = match (first, chars.next()) {
            ('(', _) => (Token::Open, 1),
            (')', _) => (Token::Close, 1),
            (',', _) => (Token::Comma, 1),
            ('<', Some('=')) => (Token::Operator(Compare::LtEq), 2),
            ('<', Some('>')) | ('!', Some('=')) => (Token::Operator(Compare::NotEq), 2),
            ('<', _) => (Token::Operator(Compare::Lt), 1),
            ('>', Some('=')) => (Token::Operator(Compare::GtEq), 2),
            ('>', _) => (Token::Operator(Compare::Gt), 1),
            ('=', Some('=')) => (Token::Operator(Compare::Eq), 2),
            ('=', _) => (Token::Operator(Compare::Eq), 1),
            ('-' | '+', _) => (Token::Sign(first), 1),
            ('\'', _) => {
                let (text, len) = self.quoted('\'')?;
                (Token::Text(text), len)
            }
            ('"', _) => {
                let (name, len) = self.quoted('"')?;
                (Token::Name(name), len)
            }
            ('0'..='9', _) | ('.', Some('0'..='9')) => {
                let len = number_len(rest);
                (Token::Number(rest.get(..len).ok_or_else(inside)?), len)
            }
            ('.', Some(c)) if starts_word(c) || c == '"' => (Token::Dot, 1),
            (c, _) if starts_word(c) => {
                let len = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                (Token::Word(rest.get(..len).ok_or_else(inside)?), len)
            }
            _ => {
                return Err(self.found("a column, a literal or an operator", &format!("{first:?}")));
            }
        };
        self.token = token;
        self.rest = rest.get(len..).ok_or_else(inside)?;
        Ok(())
    }

    /// Text between these quotes, and its length with them.
    fn quoted(&self, quote: char) -> Result<(String, usize)> {
        let mut content = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((i, c)) = chars.next() {
            if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
                return Ok((content, i + 1));
            }
            content.push(c);
        }
        Err(self.found(&format!("a closing {quote}"), "the end"))
    }

    /// The error that `expected` is not the next token.
    pub(super) fn expected(&self, expected: &str) -> Error {
        let token = self
            .text
            .get(self.at..self.text.len() - self.rest.len())
            .unwrap_or_default()
            .trim_end();
        let cut = token.char_indices().nth(EXCERPT);
        match (&self.token, cut) {
            (Token::End, _) => self.found(expected, "the end"),
            (_, Some((cut, _))) => self.found(
                expected,
                &format!("\"{}...\"", token.get(..cut).unwrap_or_default()),
            ),
            (_, None) => self.found(expected, &format!("`{token}`")),
        }
    }

    fn found(&self, expected: &str, found: &str) -> Error {
        let before = self.text.get(..self.at).unwrap_or_default();
        let start = before
            .char_indices()
            .rev()
            .nth(EXCERPT - 1)
            .map_or(0, |(i, _)| i);
        let after = match before.get(start..).unwrap_or_default().trim_end() {
            "" => String::new(),
            near if start > 0 => format!(", after \"...{near}\""),
            near => format!(", after \"{near}\""),
        };
        let position = before.chars().count() + 1;
        Error::invalid(format!(
            "predicate, character {position}: {expected} expected, found {found}{after}"
        ))
    }
}

pub(super) fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

pub(super) fn in_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Bytes of digits, a fraction, an exponent, and letters that follow: `10px` is one token, which is
/// no number.
fn number_len(text: &str) -> usize {
    let mut previous = ' ';
    let ends = |c: char| {
        let inside =
            in_word(c) || c == '.' || (matches!(c, '+' | '-') && matches!(previous, 'e' | 'E'));
        previous = c;
        !inside
    };
    text.find(ends).unwrap_or(text.len())
}
