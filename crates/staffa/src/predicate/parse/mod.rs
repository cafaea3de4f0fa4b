//! From text to a predicate: recursive descent with one token of lookahead.
//!
//! ```text
//! any        = all ("or" all)*
//! all        = one ("and" one)*
//! one        = "not" one | "(" any ")" | "true" | "false" | literal operator column | column test
//! test       = operator literal | ["not"] "in" "(" [literal ("," literal)*] ")"
//!            | ["not"] "between" literal "and" literal | "is" ["not"] "null"
//!            | ["not"] ("starts" "with" | "contains" | "like") 'text'
//! literal    = [sign] number | [sign] ("inf" | "nan") | 'text' | "true" | "false" | "null"
//! column     = word | "name in quotes"
//! ```
//!
//! Words are keywords in any case; `inf` and `nan` only where no column can stand.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;
use std::str::FromStr;

use super::{Compare, Literal, Predicate};
use crate::error::{Error, Result};

/// Brackets and `not`s within each other; more could overflow the stack.
const DEPTH: usize = 100;

/// Characters of the text that an error shows.
const EXCERPT: usize = 30;

/// Words that are no column unless quoted.
const KEYWORDS: [&str; 9] = [
    "and", "or", "not", "in", "is", "between", "null", "true", "false",
];

/// A column's name as text that parses: quoted where it is no plain word.
pub(super) fn name(column: &str) -> Cow<'_, str> {
    let plain =
        column.starts_with(starts_word) && column.chars().all(in_word) && !is_keyword(column);
    if plain {
        column.into()
    } else {
        format!("\"{}\"", column.replace('"', "\"\"")).into()
    }
}

/// Text as a literal that parses.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn in_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
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
    End,
}

impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser {
            text,
            rest: text,
            token: Token::End,
            at: 0,
            depth: 0,
        };
        parser.advance()?;
        let predicate = parser.any()?;
        if parser.token == Token::End {
            Ok(predicate)
        } else {
            Err(parser.expected("`and`, `or` or the end"))
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Behind the token.
    rest: &'a str,
    token: Token<'a>,
    /// Where the token begins.
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Predicate> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.eat("or")? {
            parts.push(self.all()?);
        }
        Ok(single(parts).unwrap_or_else(Predicate::Or))
    }

    fn all(&mut self) -> Result<Predicate> {
        let first = self.one()?;
        let mut parts = vec![first];
        while self.eat("and")? {
            parts.push(self.one()?);
        }
        Ok(single(parts).unwrap_or_else(Predicate::And))
    }

    fn one(&mut self) -> Result<Predicate> {
        if self.depth > DEPTH {
            return Err(self.expected(&format!(
                "at most {DEPTH} brackets and `not` within each other"
            )));
        }
        if self.eat("not")? {
            self.depth += 1;
            let part = self.one()?;
            self.depth -= 1;
            return Ok(Predicate::Not(Box::new(part)));
        }
        if self.token == Token::Open {
            self.depth += 1;
            self.advance()?;
            let predicate = self.any()?;
            self.take(&Token::Close, "`and`, `or` or `)`")?;
            self.depth -= 1;
            return Ok(predicate);
        }
        if let Some(literal) = self.literal(false)? {
            return match (&self.token, literal) {
                (&Token::Operator(op), literal) => {
                    self.advance()?;
                    Ok(Predicate::Compare {
                        column: self.column("a column")?,
                        op: op.mirrored(),
                        literal,
                    })
                }
                (_, Literal::Bool(true)) => Ok(Predicate::And(Vec::new())),
                (_, Literal::Bool(false)) => Ok(Predicate::Or(Vec::new())),
                _ => Err(self.expected("a comparison operator")),
            };
        }
        let column = self.column("a column, a literal, `not` or `(`")?;
        self.test(column)
    }

    fn test(&mut self, column: String) -> Result<Predicate> {
        if let Token::Operator(op) = self.token {
            self.advance()?;
            return Ok(Predicate::Compare {
                column,
                op,
                literal: self.right()?,
            });
        }
        let (negated, test) = if self.eat("is")? {
            let negated = self.eat("not")?;
            if !self.eat("null")? {
                return Err(self.expected(if negated {
                    "`null`"
                } else {
                    "`null` or `not null`"
                }));
            }
            (negated, Predicate::IsNull { column })
        } else {
            let negated = self.eat("not")?;
            if self.eat("in")? {
                (
                    negated,
                    Predicate::In {
                        column,
                        literals: self.list()?,
                    },
                )
            } else if self.eat("between")? {
                let low = self.right()?;
                if !self.eat("and")? {
                    return Err(self.expected("`and`"));
                }
                let high = self.right()?;
                let low = Predicate::Compare {
                    column: column.clone(),
                    op: Compare::GtEq,
                    literal: low,
                };
                (
                    negated,
                    Predicate::And(vec![
                        low,
                        Predicate::Compare {
                            column,
                            op: Compare::LtEq,
                            literal: high,
                        },
                    ]),
                )
            } else if self.eat("starts")? {
                if !self.eat("with")? {
                    return Err(self.expected("`with`"));
                }
                (
                    negated,
                    Predicate::StartsWith {
                        column,
                        prefix: self.quoted_text()?,
                    },
                )
            } else if self.eat("contains")? {
                (
                    negated,
                    Predicate::Contains {
                        column,
                        part: self.quoted_text()?,
                    },
                )
            } else if self.eat("like")? {
                (
                    negated,
                    Predicate::Like {
                        column,
                        pattern: self.quoted_text()?,
                    },
                )
            } else if negated {
                return Err(self.expected("`in`, `between`, `starts with`, `contains` or `like`"));
            } else {
                let tests = "`in`, `between`, `starts with`, `contains`, `like` or `is`";
                return Err(self.expected(&format!("a comparison operator, {tests}")));
            }
        };
        Ok(if negated {
            Predicate::Not(Box::new(test))
        } else {
            test
        })
    }

    fn quoted_text(&mut self) -> Result<String> {
        let Token::Text(text) = &mut self.token else {
            return Err(self.expected("text in single quotes"));
        };
        let text = std::mem::take(text);
        self.advance()?;
        Ok(text)
    }

    fn list(&mut self) -> Result<Vec<Literal>> {
        self.take(&Token::Open, "`(`")?;
        let mut literals = Vec::new();
        if self.token != Token::Close {
            literals.push(self.right()?);
            while self.token == Token::Comma {
                self.advance()?;
                literals.push(self.right()?);
            }
        }
        self.take(&Token::Close, "`,` or `)`")?;
        Ok(literals)
    }

    fn column(&mut self, expected: &str) -> Result<String> {
        let column = match &mut self.token {
            Token::Word(word) if !is_keyword(word) => (*word).to_owned(),
            Token::Name(name) => std::mem::take(name),
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        Ok(column)
    }

    /// A literal on the right of an operator.
    fn right(&mut self) -> Result<Literal> {
        match self.literal(true)? {
            Some(literal) => Ok(literal),
            None => Err(self.expected("a literal")),
        }
    }

    /// A literal, if one begins here; `inf` and `nan` without a sign only on the right, on the left
    /// they are columns.
    fn literal(&mut self, right: bool) -> Result<Option<Literal>> {
        let sign = if let Token::Sign(sign) = self.token {
            self.advance()?;
            Some(sign)
        } else {
            None
        };
        let literal = match &mut self.token {
            Token::Number(digits) => match number(sign, digits) {
                Some(literal) => literal,
                None => {
                    return Err(self.expected(
                        "an integer of 128 bits (in quotes for decimals) or a finite double",
                    ));
                }
            },
            Token::Word(word) if right || sign.is_some() => {
                match (word.to_ascii_lowercase().as_str(), sign) {
                    ("inf", Some('-')) => Literal::Float(f64::NEG_INFINITY),
                    ("inf", _) => Literal::Float(f64::INFINITY),
                    ("nan", sign) => Literal::Float(f64::NAN.copysign(if sign == Some('-') {
                        -1.0
                    } else {
                        1.0
                    })),
                    (word, None) => match keyword(word) {
                        Some(literal) => literal,
                        None => return Ok(None),
                    },
                    _ => return Err(self.expected("a number")),
                }
            }
            _ if sign.is_some() => return Err(self.expected("a number")),
            Token::Word(word) => match keyword(word) {
                Some(literal) => literal,
                None => return Ok(None),
            },
            Token::Text(text) => Literal::Text(std::mem::take(text)),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(literal))
    }

    /// Passes this word, if it is next.
    fn eat(&mut self, keyword: &str) -> Result<bool> {
        let found = matches!(self.token, Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take(&mut self, token: &Token<'_>, expected: &str) -> Result<()> {
        if self.token == *token {
            self.advance()
        } else {
            Err(self.expected(expected))
        }
    }

    /// On to the next token.
    fn advance(&mut self) -> Result<()> {
        let rest = self.rest.trim_start();
        self.at = self.text.len() - rest.len();
        self.rest = rest;
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
                (Token::Number(rest.get(..len).unwrap_or_default()), len)
            }
            (c, _) if starts_word(c) => {
                let len = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                (Token::Word(rest.get(..len).unwrap_or_default()), len)
            }
            _ => {
                return Err(self.found("a column, a literal or an operator", &format!("{first:?}")));
            }
        };
        self.token = token;
        self.rest = rest.get(len..).unwrap_or_default();
        Ok(())
    }

    /// What stands between these quotes, and its length with them.
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

    /// The error at this token.
    fn expected(&self, expected: &str) -> Error {
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

/// The only part; else all of them back.
fn single(mut parts: Vec<Predicate>) -> Result<Predicate, Vec<Predicate>> {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            parts.extend(last);
            Err(parts)
        }
    }
}

fn keyword(word: &str) -> Option<Literal> {
    Some(match word.to_ascii_lowercase().as_str() {
        "null" => Literal::Null,
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        _ => return None,
    })
}

/// Digits, a fraction, an exponent; letters that follow belong to it too, so that `10px` is no
/// number rather than two tokens.
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

fn number(sign: Option<char>, digits: &str) -> Option<Literal> {
    let signed = format!("{}{digits}", if sign == Some('-') { "-" } else { "" });
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return signed.parse().ok().map(Literal::Int);
    }
    // Words such as `inf` never come here: the first character is a digit or a point.
    signed
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .map(Literal::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Predicate {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn text_parses() {
        let compare = |column: &str, op, literal| Predicate::Compare {
            column: column.into(),
            op,
            literal,
        };
        for (text, op) in [
            ("=", Compare::Eq),
            ("==", Compare::Eq),
            ("<>", Compare::NotEq),
            ("!=", Compare::NotEq),
            ("<", Compare::Lt),
            ("<=", Compare::LtEq),
            (">", Compare::Gt),
            (">=", Compare::GtEq),
        ] {
            assert_eq!(
                parse(&format!("x{text}-5")),
                compare("x", op, Literal::Int(-5))
            );
            assert_eq!(
                parse(&format!("-5 {text} x")),
                compare("x", op.mirrored(), Literal::Int(-5))
            );
        }
        for (text, literal) in [
            ("1e5", Literal::Float(1e5)),
            ("+.5", Literal::Float(0.5)),
            ("- 1.5E-3", Literal::Float(-1.5e-3)),
            ("TRUE", Literal::Bool(true)),
            ("Null", Literal::Null),
            ("-inf", Literal::Float(f64::NEG_INFINITY)),
            ("''", Literal::Text(String::new())),
            ("'it''s'", Literal::Text("it's".into())),
            ("'\"ü\n'", Literal::Text("\"ü\n".into())),
            (
                "-170141183460469231731687303715884105728",
                Literal::Int(i128::MIN),
            ),
        ] {
            assert_eq!(
                parse(&format!("größe_2 = {text}")),
                compare("größe_2", Compare::Eq, literal)
            );
        }
        let a = |i| compare("a", Compare::Eq, Literal::Int(i));
        let not = |p| Predicate::Not(Box::new(p));
        let (and, or) = (Predicate::And, Predicate::Or);
        assert_eq!(
            parse("a=1 or a=2 AND not a=3"),
            or(vec![a(1), and(vec![a(2), not(a(3))])])
        );
        assert_eq!(
            parse("(a=1 or a=2) and ((a=3))"),
            and(vec![or(vec![a(1), a(2)]), a(3)])
        );
        assert_eq!(
            parse("a=1 and (a=2 and a=3)"),
            and(vec![a(1), and(vec![a(2), a(3)])])
        );
        assert_eq!(parse("true or false"), or(vec![and(vec![]), or(vec![])]));
        let list = Predicate::In {
            column: "or \"x\"".into(),
            literals: vec![Literal::Int(1), Literal::Text("b".into())],
        };
        assert_eq!(parse("\"or \"\"x\"\"\" not in (1,'b')"), not(list));
        assert_eq!(
            parse("a in ()"),
            Predicate::In {
                column: "a".into(),
                literals: vec![]
            }
        );
        assert_eq!(
            parse("nan is not null"),
            not(Predicate::IsNull {
                column: "nan".into()
            })
        );
        let between = and(vec![
            compare("a", Compare::GtEq, Literal::Int(1)),
            compare("a", Compare::LtEq, Literal::Int(2)),
        ]);
        assert_eq!(
            parse("a between 1 and 2 and a = 1"),
            and(vec![between.clone(), a(1)])
        );
        assert_eq!(parse("a not between 1 and 2"), not(between));
        assert_eq!(parse("b = 1 and a = 2 and b = 3").columns(), ["b", "a"]);
        for odd in ["", "a b", "1a", "in", "NOT", "\"", "a.b"] {
            let predicate = Predicate::IsNull { column: odd.into() };
            assert_eq!(parse(&predicate.to_string()), predicate);
        }
    }

    #[test]
    fn errors_tell_place_found_and_expected() {
        for (text, error) in [
            (
                "",
                "character 1: a column, a literal, `not` or `(` expected, found the end",
            ),
            (
                "price < ",
                "character 9: a literal expected, found the end, after \"price <\"",
            ),
            (
                "price ! 3",
                "character 7: a column, a literal or an operator expected, found '!', after \"price\"",
            ),
            (
                "price < cost",
                "character 9: a literal expected, found `cost`, after \"price <\"",
            ),
            (
                "5 < 6",
                "character 5: a column expected, found `6`, after \"5 <\"",
            ),
            (
                "5",
                "character 2: a comparison operator expected, found the end, after \"5\"",
            ),
            (
                "a = 1 b = 2",
                "character 7: `and`, `or` or the end expected, found `b`, after \"a = 1\"",
            ),
            (
                "(a = 1",
                "character 7: `and`, `or` or `)` expected, found the end, after \"(a = 1\"",
            ),
            (
                "a is 5",
                "character 6: `null` or `not null` expected, found `5`, after \"a is\"",
            ),
            (
                "a in (1 2)",
                "character 9: `,` or `)` expected, found `2`, after \"a in (1\"",
            ),
            (
                "a ilike 'b%'",
                "character 3: a comparison operator, `in`, `between`, `starts with`, `contains`, `like` or `is` expected, \
                 found `ilike`, after \"a\"",
            ),
            (
                "a starts 'b'",
                "character 10: `with` expected, found `'b'`, after \"a starts\"",
            ),
            (
                "a contains 5",
                "character 12: text in single quotes expected, found `5`, after \"a contains\"",
            ),
            (
                "ü = 'abc",
                "character 5: a closing ' expected, found the end, after \"ü =\"",
            ),
            (
                "order = 10px",
                "character 9: an integer of 128 bits (in quotes for decimals) or a finite double expected, found `10px`, after \"order =\"",
            ),
            (
                "a = 1 and this_is_a_rather_long_name is null and",
                "character 49: a column, a literal, `not` or `(` expected, found the end, after \"...a_rather_long_name is null and\"",
            ),
        ] {
            let found = text.parse::<Predicate>().unwrap_err().to_string();
            assert_eq!(found, format!("predicate, {error}"), "{text}");
        }
        for deep in ["(", "not ", "not (", "(a = 1 and "] {
            assert!(
                format!("{} a = 1", deep.repeat(100_000))
                    .parse::<Predicate>()
                    .is_err()
            );
        }
        let nested = |n: usize| format!("{}a = 1{}", "not (".repeat(n), ")".repeat(n));
        assert!(nested(50).parse::<Predicate>().is_ok());
        assert!(
            nested(51)
                .parse::<Predicate>()
                .unwrap_err()
                .to_string()
                .contains("at most 100 brackets")
        );
    }
}
