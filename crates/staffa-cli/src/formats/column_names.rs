//! Lists of column names on the command line.

/// Names, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnNames(pub(crate) Vec<String>);

/// Parses `a,"b,c"`: a name may stand in double quotes, which are doubled within it.
pub(crate) fn column_names(text: &str) -> Result<ColumnNames, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => in_quotes(quoted)?,
            None => match rest.find(',') {
                Some(end) => (rest[..end].to_owned(), &rest[end..]),
                None => (rest.to_owned(), ""),
            },
        };
        names.push(name);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(ColumnNames(names)),
            None => {
                return Err(format!(
                    "expected a comma behind the closing quote, found {after:?}"
                ));
            }
        }
    }
}

/// The name up to its closing quote, and what follows that.
fn in_quotes(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err(format!("expected a closing quote behind {text:?}"));
        };
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                name.push('"');
                rest = next;
            }
            None => return Ok((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_can_be_given() {
        let names = |text| column_names(text).map(|names| names.0);
        let list = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names("a,b c"), list(&["a", "b c"]));
        assert_eq!(names("\"a,b\",c"), list(&["a,b", "c"]));
        assert_eq!(names("\"say \"\"hi\"\"\""), list(&["say \"hi\""]));
        assert_eq!(names("\"\""), list(&[""]));
        assert_eq!(names("5\" pipe"), list(&["5\" pipe"]));
        assert!(names("\"a").is_err() && names("\"a\"b").is_err());
    }
}
