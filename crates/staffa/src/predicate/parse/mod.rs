//! Text to a predicate: recursive descent with one token of lookahead.
//!
//! ```text
//! any        = all ("or" all)*
//! all        = one ("and" one)*
//! one        = "not" one | "(" any ")" | "true" | "false" | literal operator column | column test
//! test       = operator literal | ["not"] "in" "(" [literal ("," literal)*] ")"
//!            | ["not"] "between" literal "and" literal | "is" ["not"] "null"
//!            | ["not"] ("starts" "with" | "contains" | "like" | "ilike") 'text'
//! literal    = [sign] number | [sign] ("inf" | "nan") | 'text' | "true" | "false" | "null"
//! column     = name ("." name)*
//! name       = word | "name in quotes"
//! ```
//!
//! Keywords may be in upper or lower case. `inf` and `nan` are literals only where no column may
//! stand.

#[cfg(test)]
mod tests;
mod tokens;

use std::borrow::Cow;
use std::str::FromStr;

use self::tokens::{Parser, Token, in_word, starts_word};
use super::{Compare, Literal, Predicate};
use crate::error::{Error, Result};

/// Deepest nesting of brackets and `not`, so that the stack does not overflow.
const DEPTH: usize = 100;

/// Words that name a column only in quotes.
const KEYWORDS: [&str; 9] = [
    "and", "or", "not", "in", "is", "between", "null", "true", "false",
];

/// A column's name as text that parses: in quotes unless it is a plain word.
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

impl Parser<'_> {
    fn any(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.all()?];
        while self.eat("or")? {
            parts.push(self.all()?);
        }
        Ok(single(parts).unwrap_or_else(Predicate::Or))
    }

    fn all(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.one()?];
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
            return self.compare(column, op);
        }
        if self.eat("is")? {
            let negated = self.eat("not")?;
            let expected = if negated {
                "`null`"
            } else {
                "`null` or `not null`"
            };
            self.keyword("null", expected)?;
            return Ok(negated_if(negated, Predicate::IsNull { column }));
        }
        let negated = self.eat("not")?;
        let test = if self.eat("in")? {
            let literals = self.list()?;
            Predicate::In { column, literals }
        } else if self.eat("between")? {
            let low = self.compare(column.clone(), Compare::GtEq)?;
            self.keyword("and", "`and`")?;
            Predicate::And(vec![low, self.compare(column, Compare::LtEq)?])
        } else if self.eat("starts")? {
            self.keyword("with", "`with`")?;
            let prefix = self.quoted_text()?;
            Predicate::StartsWith { column, prefix }
        } else if self.eat("contains")? {
            let part = self.quoted_text()?;
            Predicate::Contains { column, part }
        } else if self.eat("like")? {
            let pattern = self.quoted_text()?;
            Predicate::Like { column, pattern }
        } else if self.eat("ilike")? {
            let pattern = self.quoted_text()?;
            Predicate::ILike { column, pattern }
        } else if negated {
            let tests = "`in`, `between`, `starts with`, `contains`, `like` or `ilike`";
            return Err(self.expected(tests));
        } else {
            let tests = "`in`, `between`, `starts with`, `contains`, `like`, `ilike` or `is`";
            return Err(self.expected(&format!("a comparison operator, {tests}")));
        };
        Ok(negated_if(negated, test))
    }

    /// A comparison with the literal that is next.
    fn compare(&mut self, column: String, op: Compare) -> Result<Predicate> {
        let literal = self.right()?;
        Ok(Predicate::Compare {
            column,
            op,
            literal,
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
        let (first, mut is_quoted) = match &mut self.token {
            Token::Word(word) if !is_keyword(word) => ((*word).to_owned(), false),
            Token::Name(name) => (std::mem::take(name), true),
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        let mut parts = vec![first];
        while self.token == Token::Dot {
            self.advance()?;
            match &mut self.token {
                Token::Word(word) => parts.push((*word).to_owned()),
                Token::Name(name) => {
                    parts.push(std::mem::take(name));
                    is_quoted = true;
                }
                _ => return Err(self.expected("the name of a field")),
            }
            self.advance()?;
        }
        // Quotes keep the parts apart: `"a"."b"` is no column `a.b`.
        if is_quoted && parts.len() > 1 {
            let quoted = |part: &String| format!("\"{}\"", part.replace('"', "\"\""));
            parts = parts.iter().map(quoted).collect();
        }
        Ok(parts.join("."))
    }

    /// A literal on the right of an operator.
    fn right(&mut self) -> Result<Literal> {
        match self.literal(true)? {
            Some(literal) => Ok(literal),
            None => Err(self.expected("a literal (5, 'text', true, null)")),
        }
    }

    /// A literal if one is next. `inf` and `nan` without a sign are literals on the right of an
    /// operator, and columns on its left.
    fn literal(&mut self, right: bool) -> Result<Option<Literal>> {
        let sign = if let Token::Sign(sign) = self.token {
            self.advance()?;
            Some(sign)
        } else {
            None
        };
        let number = right || sign.is_some();
        let literal = match &mut self.token {
            Token::Number(digits) => number_literal(sign, digits).ok_or_else(|| {
                let what = "an integer of 128 bits (in quotes for decimals) or a finite double";
                self.expected(what)
            })?,
            Token::Word(word) if number && word.eq_ignore_ascii_case("inf") => {
                Literal::Float(signed(sign, f64::INFINITY))
            }
            Token::Word(word) if number && word.eq_ignore_ascii_case("nan") => {
                Literal::Float(signed(sign, f64::NAN))
            }
            _ if sign.is_some() => return Err(self.expected("a number")),
            Token::Word(word) if word.eq_ignore_ascii_case("null") => Literal::Null,
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Literal::Bool(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Literal::Bool(false),
            Token::Text(text) => Literal::Text(std::mem::take(text)),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(literal))
    }

    /// Passes this word, which must be next.
    fn keyword(&mut self, keyword: &str, expected: &str) -> Result<()> {
        if self.eat(keyword)? {
            return Ok(());
        }
        Err(self.expected(expected))
    }

    /// Passes this word if it is next.
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
}

/// The only part; else all parts, as an error.
fn single(mut parts: Vec<Predicate>) -> Result<Predicate, Vec<Predicate>> {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            parts.extend(last);
            Err(parts)
        }
    }
}

fn negated_if(negated: bool, predicate: Predicate) -> Predicate {
    if negated {
        Predicate::Not(Box::new(predicate))
    } else {
        predicate
    }
}

fn signed(sign: Option<char>, value: f64) -> f64 {
    value.copysign(if sign == Some('-') { -1.0 } else { 1.0 })
}

fn number_literal(sign: Option<char>, digits: &str) -> Option<Literal> {
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
