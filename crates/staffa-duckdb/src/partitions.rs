//! Columns that are constant within a file: the keys in the names of its folders, as Hive has them, and its own
//! name.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use arrow_schema::DataType;
use duckdb_neo::{Error, Result};

/// NULL in the folder names of Hive.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The value of such a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant {
    Int(Option<i64>),
    Text(Option<String>),
}

impl Constant {
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Int(_) => DataType::Int64,
            Self::Text(_) => DataType::Utf8View,
        }
    }

    /// The value for so many rows.
    pub(crate) fn array(&self, rows: usize) -> ArrayRef {
        match self {
            Self::Int(value) => Arc::new(Int64Array::from(vec![*value; rows])),
            Self::Text(value) => Arc::new(StringViewArray::from(vec![value.as_deref(); rows])),
        }
    }
}

/// The keys and values in the names of the folders of a path.
type Keys = Vec<(String, Option<String>)>;

fn keys(path: &str) -> Keys {
    let mut folders: Vec<&str> = path.split(['/', '\\']).collect();
    folders.pop();
    let key = |folder: &&str| {
        let (key, value) = folder.split_once('=').filter(|(key, _)| !key.is_empty())?;
        Some((decoded(key), (value != NULL).then(|| decoded(value))))
    };
    folders.iter().filter_map(key).collect()
}

/// Text with its percent-encoded bytes decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let escaped = byte.filter(|_| *first == b'%');
        bytes.push(escaped.unwrap_or(*first));
        rest = match escaped {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The partition columns of each file. Without a wish, if all files have the same keys: a key of which all
/// values are whole numbers is a number.
pub(crate) fn constants(
    paths: &[String],
    wanted: Option<bool>,
) -> Result<Vec<Vec<(String, Constant)>>> {
    let all: Vec<Keys> = paths.iter().map(|path| keys(path)).collect();
    let names = |keys: &Keys| {
        keys.iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };
    let first = all.first().map(names).unwrap_or_default();
    let differs = all.iter().position(|keys| names(keys) != first);
    if wanted == Some(false) || wanted.is_none() && differs.is_some() {
        return Ok(vec![Vec::new(); paths.len()]);
    }
    if let Some((found, path)) = differs.and_then(|i| all.get(i).zip(paths.get(i))) {
        return Err(Error::invalid_input(format!(
            "{path}: hive_partitioning needs the same keys in the folders of all files, found {:?}, but {first:?} of \
             the first",
            names(found)
        )));
    }
    let is_number = |column: usize| {
        let values = all.iter().filter_map(|keys| keys.get(column));
        let mut texts = values.filter_map(|(_, value)| value.as_deref()).peekable();
        texts.peek().is_some() && texts.all(|text| text.parse::<i64>().is_ok())
    };
    let numbers: Vec<bool> = (0..first.len()).map(is_number).collect();
    let constant = |(name, value): &(String, Option<String>), number: bool| {
        let value = if number {
            Constant::Int(value.as_deref().and_then(|text| text.parse().ok()))
        } else {
            Constant::Text(value.clone())
        };
        (name.clone(), value)
    };
    let of_file = |keys: &Keys| {
        let pairs = keys.iter().zip(&numbers);
        pairs
            .map(|(pair, number)| constant(pair, *number))
            .collect()
    };
    Ok(all.iter().map(of_file).collect())
}
