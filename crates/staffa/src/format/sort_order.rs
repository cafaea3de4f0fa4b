//! The order of the rows that a writer was told, and has checked. FORMAT.md, section 2.
//!
//! ```text
//! sort order = keys: varint | (column: varint | flags: u8) * keys
//!              flags: 1 descending | 2 NULLs first
//! ```

use std::fmt;
use std::str::FromStr;

use arrow_schema::Schema;

use super::{Cursor, put_varint};
use crate::error::{Error, Result};

const DESCENDING: u8 = 1;
const NULLS_FIRST: u8 = 2;

/// A column by which the rows of a table are sorted.
///
/// ```
/// let key: staffa::SortKey = "day desc nulls first".parse()?;
/// assert_eq!((key.column.as_str(), key.descending, key.nulls_first), ("day", true, true));
/// assert_eq!(key.to_string(), "day desc nulls first");
/// # Ok::<(), staffa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct SortKey {
    /// The name of a top-level column.
    pub column: String,
    /// From the largest value to the smallest.
    pub descending: bool,
    /// NULLs before all values, not behind them.
    pub nulls_first: bool,
}

impl FromStr for SortKey {
    type Err = Error;

    /// A column's name, then `asc` or `desc`, then `nulls first` or `nulls last`; without these
    /// ascending, NULLs last.
    fn from_str(text: &str) -> Result<Self> {
        let mut rest = text.trim();
        let mut ends = |words: [&str; 2]| {
            let lower = rest.to_ascii_lowercase();
            let found = words.iter().position(|word| lower.ends_with(word))?;
            let end = rest.len() - words.get(found)?.len();
            rest = rest.get(..end)?.trim_end();
            Some(found == 0)
        };
        let nulls_first = ends([" nulls first", " nulls last"]).unwrap_or(false);
        let descending = ends([" desc", " asc"]).unwrap_or(false);
        if rest.is_empty() {
            return Err(Error::invalid(format!(
                "a sort key as in \"day desc nulls first\" expected, found {text:?}"
            )));
        }
        Ok(Self {
            column: rest.to_owned(),
            descending,
            nulls_first,
        })
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column)?;
        f.write_str(if self.descending { " desc" } else { "" })?;
        f.write_str(if self.nulls_first { " nulls first" } else { "" })
    }
}

/// The bytes of the section; the columns are those of `schema`.
pub(super) fn write(keys: &[SortKey], schema: &Schema) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    put_varint(&mut out, keys.len() as u64);
    for key in keys {
        let column = schema.index_of(&key.column)?;
        put_varint(&mut out, column as u64);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(flag(key.descending, DESCENDING) | flag(key.nulls_first, NULLS_FIRST));
    }
    Ok(out)
}

/// Reads the section of a file of this schema.
pub(super) fn read(bytes: &[u8], schema: &Schema) -> Result<Vec<SortKey>> {
    let mut cursor = Cursor::new(bytes);
    let columns = schema.fields();
    let count = cursor.varint_up_to(columns.len() as u64, "number of sort keys")?;
    let mut keys: Vec<SortKey> = Vec::new();
    for _ in 0..count {
        let (column, flags) = (cursor.varint()?, cursor.u8()?);
        let field = usize::try_from(column).ok().and_then(|at| columns.get(at));
        let field = field.ok_or_else(|| {
            let columns = columns.len();
            Error::corrupt(format!("a column below {columns} expected, found {column}"))
        })?;
        if flags & !(DESCENDING | NULLS_FIRST) != 0 {
            return Err(Error::corrupt(format!(
                "flags up to 3 of a sort key expected, found {flags}"
            )));
        }
        if keys.iter().any(|key| key.column == *field.name()) {
            return Err(Error::corrupt(format!(
                "column {:?} expected once, found twice",
                field.name()
            )));
        }
        keys.push(SortKey {
            column: field.name().clone(),
            descending: flags & DESCENDING != 0,
            nulls_first: flags & NULLS_FIRST != 0,
        });
    }
    cursor.finish("the sort order")?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn keys_parse() {
        let key = |text: &str| {
            let key: SortKey = text.parse().unwrap();
            (key.column, key.descending, key.nulls_first)
        };
        assert_eq!(key("a"), ("a".into(), false, false));
        assert_eq!(key(" two words DESC "), ("two words".into(), true, false));
        assert_eq!(key("a asc nulls last"), ("a".into(), false, false));
        assert_eq!(key("a Nulls First"), ("a".into(), false, true));
        assert_eq!(key("a desc asc"), ("a desc".into(), false, false));
        assert_eq!(key("desc"), ("desc".into(), false, false));
        assert!("".parse::<SortKey>().is_err() && " ".parse::<SortKey>().is_err());
    }

    #[test]
    fn the_section_round_trips_and_is_checked() {
        let field = |name| Field::new(name, DataType::Int8, true);
        let schema = Schema::new(vec![field("a"), field("b")]);
        let keys: Vec<SortKey> = ["b desc", "a nulls first"]
            .map(|key| key.parse().unwrap())
            .into();
        let bytes = write(&keys, &schema).unwrap();
        assert_eq!(bytes, [2, 1, 1, 0, 2]);
        assert_eq!(read(&bytes, &schema).unwrap(), keys);
        for wrong in [
            &[2, 1, 1, 0][..],
            &[2, 1, 1, 0, 2, 0],
            &[1, 2, 0],
            &[1, 0, 4],
            &[2, 0, 0, 0, 1],
            &[3, 0, 0, 1, 0, 1, 0],
        ] {
            assert!(read(wrong, &schema).is_err(), "{wrong:?}");
        }
    }
}
