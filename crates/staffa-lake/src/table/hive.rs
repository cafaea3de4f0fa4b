//! Columns in the names of folders, as Hive has them: `year=2026/city=St%20Ives/`.
//!
//! | rule | |
//! |---|---|
//! | a folder | `key=value`, cut at the first `=`; a name that begins with `=` is no key |
//! | bytes | percent-encoded in both parts; what is not UTF-8 then is left as it was |
//! | NULL | `__HIVE_DEFAULT_PARTITION__` |
//! | type | integers where all values but NULL are, and one is; else text. `+5` is text, `012` is 12 |
//! | a file that lacks a key | NULL |
//! | a key twice in a path | the last one |

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema};
use staffa::{Error, Result};

/// NULL in the name of a folder.
pub const NULL_KEY: &str = "__HIVE_DEFAULT_PARTITION__";

/// Keys of a path, with their values.
pub type Keys = Vec<(String, Option<String>)>;

/// The keys in the names of folders.
///
/// ```
/// let keys = staffa_lake::table::keys(["trips", "year=2026", "city=St%20Ives"]);
/// assert_eq!(keys, [("year".into(), Some("2026".into())), ("city".into(), Some("St Ives".into()))]);
/// ```
pub fn keys<'a>(folders: impl IntoIterator<Item = &'a str>) -> Keys {
    let mut keys: Keys = Vec::new();
    for folder in folders {
        let Some((key, value)) = folder.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            continue;
        };
        let (key, value) = (decode(key), (value != NULL_KEY).then(|| decode(value)));
        match keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => keys.push((key, value)),
        }
    }
    keys
}

/// A part of a folder's name with its percent-encoded bytes decoded.
pub fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .filter(|code| *first == b'%' && code.iter().all(u8::is_ascii_hexdigit));
        let byte = code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(2..).unwrap_or(&[]),
            None => after,
        };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Text as a part of a folder's name: all but letters, digits and `_.-~` of ASCII percent-encoded.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|half| {
                char::from_digit(half.into(), 16)
                    .unwrap_or('0')
                    .to_ascii_uppercase()
            }));
        }
    }
    out
}

/// Whether the text of a key is taken for an integer of 32 bits.
pub fn is_integer(text: &str) -> bool {
    !text.starts_with('+') && text.parse::<i32>().is_ok()
}

/// The key columns of several files.
#[derive(Debug, Clone, Default)]
pub struct KeyColumns {
    fields: Vec<Field>,
    /// By file, in the order of the fields.
    values: Vec<Vec<Option<String>>>,
}

impl KeyColumns {
    /// The keys of files in the order of their first occurrence, without those that `skip` names; of
    /// integers unless `is_text`.
    pub fn of(files: &[Keys], skip: &dyn Fn(&str) -> bool, is_text: &dyn Fn(&str) -> bool) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in files.iter().flatten() {
            if !names.contains(&name.as_str()) && !skip(name) {
                names.push(name);
            }
        }
        let value = |file: &Keys, name: &str| {
            let key = file.iter().find(|(key, _)| key == name);
            key.and_then(|(_, value)| value.clone())
        };
        let of_file = |file| names.iter().map(|name| value(file, name)).collect();
        let values: Vec<Vec<Option<String>>> = files.iter().map(of_file).collect();
        let field = |(at, name): (usize, &&str)| {
            let texts = values.iter().filter_map(|file| file.get(at)?.as_deref());
            let integers = texts.clone().next().is_some() && texts.clone().all(is_integer);
            let data_type = if integers && !is_text(name) {
                DataType::Int32
            } else {
                DataType::Utf8
            };
            Field::new(*name, data_type, true)
        };
        Self {
            fields: names.iter().enumerate().map(field).collect(),
            values,
        }
    }

    /// The same with integers of 64 bits, as DuckDB has them.
    #[must_use]
    pub fn wide(mut self) -> Self {
        for (at, field) in self.fields.iter_mut().enumerate() {
            let texts = self
                .values
                .iter()
                .filter_map(|file| file.get(at)?.as_deref());
            let is_integer = |text: &str| !text.starts_with('+') && text.parse::<i64>().is_ok();
            if texts.clone().next().is_some() && texts.clone().all(is_integer) {
                field.set_data_type(DataType::Int64);
            }
        }
        self
    }

    /// The columns.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The values of some files as rows, `None` if there is no such file.
    pub fn rows(&self, files: std::ops::Range<usize>) -> Result<RecordBatch> {
        let values = self.values.get(files.clone());
        let values = values.ok_or_else(|| Error::internal(format!("no keys of file {files:?}")))?;
        let column = |(at, field): (usize, &Field)| -> ArrayRef {
            let texts = values
                .iter()
                .map(|file| file.get(at).and_then(|text| text.as_deref()));
            match field.data_type() {
                DataType::Int32 => Arc::new(
                    texts
                        .map(|text| text.and_then(|text| text.parse().ok()))
                        .collect::<Int32Array>(),
                ),
                DataType::Int64 => Arc::new(
                    texts
                        .map(|text| text.and_then(|text| text.parse().ok()))
                        .collect::<Int64Array>(),
                ),
                _ => Arc::new(texts.collect::<StringArray>()),
            }
        };
        let columns = self.fields.iter().enumerate().map(column).collect();
        let rows = RecordBatchOptions::new().with_row_count(Some(values.len()));
        let schema = Arc::new(Schema::new(self.fields.clone()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &rows)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;

    use super::*;

    fn columns(values: &[&str]) -> KeyColumns {
        let folders: Vec<String> = values.iter().map(|value| format!("k={value}")).collect();
        let files: Vec<Keys> = folders
            .iter()
            .map(|folder| keys([folder.as_str()]))
            .collect();
        KeyColumns::of(&files, &|_| false, &|_| false)
    }

    #[test]
    fn keys_are_decoded() {
        let of = |folder| keys([folder]).pop();
        let key = |key: &str, value: &str| Some((key.to_owned(), Some(value.to_owned())));
        assert_eq!(of("city=a%2Fb"), key("city", "a/b"));
        assert_eq!(of("a%20b=c=d"), key("a b", "c=d"));
        assert_eq!(of("k=%"), key("k", "%"));
        assert_eq!(of("k=%+1"), key("k", "%+1"));
        assert_eq!(of("k=%ff"), key("k", "%ff"));
        assert_eq!(of("k="), key("k", ""));
        assert_eq!(
            of("k=__HIVE_DEFAULT_PARTITION__"),
            Some(("k".to_owned(), None))
        );
        assert_eq!(of("=x").or(of("plain")), None);
        assert_eq!(
            keys(["k=1", "k=2"]),
            [("k".to_owned(), Some("2".to_owned()))]
        );
        for text in ["St Ives", "a/b=c%", "ü", ""] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(encode("a/ü_"), "a%2F%C3%BC_");
    }

    #[test]
    fn keys_are_integers_if_all_are() {
        let integers = columns(&["1", "-5", "012"]);
        let rows = integers.rows(0..3).unwrap();
        assert_eq!(
            rows.column(0).as_primitive::<Int32Type>().values(),
            &[1, -5, 12]
        );
        let gap = columns(&["1", NULL_KEY]).rows(1..2).unwrap();
        assert!(
            gap.column(0).as_primitive::<Int32Type>().value(0) == 0
                && gap.column(0).null_count() == 1
        );
        for texts in [
            &["1", "x"][..],
            &["1", "99999999999"],
            &["+5"],
            &[NULL_KEY],
            &[""],
        ] {
            assert_eq!(
                columns(texts).fields()[0].data_type(),
                &DataType::Utf8,
                "{texts:?}"
            );
        }
        assert_eq!(
            columns(&["1", "99999999999"]).wide().fields()[0].data_type(),
            &DataType::Int64
        );
        let files = [keys(["y=1", "c=x"]), keys(["c=z"])];
        let some = KeyColumns::of(&files, &|name| name == "c", &|name| name == "y");
        assert_eq!(some.fields(), [Field::new("y", DataType::Utf8, true)]);
        assert_eq!(some.rows(1..2).unwrap().column(0).null_count(), 1);
        assert!(some.rows(2..3).is_err());
    }
}
