//! The input of a block: the rows of a leaf that it covers, before they are encoded.

use crate::error::{Error, Result};
use crate::limits::map_parallel;
use crate::values::{
    Bitmap, LeafArray, LeafValues, OwnedValues, Physical as _, PhysicalType, Strings, Values,
    for_words,
};

/// With one NULL in this many rows, only valid values are stored. Strings are always compacted.
const COMPACTED_SHARE: usize = 16;

/// The rows of a leaf that a block covers.
pub(crate) struct BlockInput<'a> {
    /// Rows, NULLs included.
    pub len: usize,
    /// Which rows are valid, where some are NULL.
    pub validity: Option<Bitmap>,
    /// Whether only valid rows have a value.
    pub compacted: bool,
    values: Option<Stored<'a>>,
}

/// The values that a block stores.
enum Stored<'a> {
    Borrowed(Values<'a>),
    Owned(OwnedValues),
}

impl Stored<'_> {
    fn borrow(&self) -> Values<'_> {
        match self {
            Self::Borrowed(values) => *values,
            Self::Owned(values) => values.borrow(),
        }
    }
}

/// The inputs of the blocks of a leaf.
pub(crate) fn block_inputs(array: &LeafArray, block_rows: usize) -> Result<Vec<BlockInput<'_>>> {
    let len = array.values.len();
    let starts = (0..len).step_by(block_rows);
    let input = |start| BlockInput::of(array, start, block_rows.min(len - start));
    map_parallel(starts, input)
}

impl<'a> BlockInput<'a> {
    /// Of `len` rows of a leaf.
    pub(crate) fn of(array: &'a LeafArray, start: usize, len: usize) -> Result<Self> {
        if start + len > array.values.len() {
            return Err(Error::internal("a block beyond the end of its leaf"));
        }
        let validity = array.validity.as_ref().map(|v| v.slice(start, len));
        let valid = validity.as_ref().map_or(len, Bitmap::count_ones);
        let validity = validity.filter(|_| valid < len);
        let validity_alone = matches!(array.values, LeafValues::Empty(_));
        if valid == 0 || validity_alone {
            return Ok(Self {
                len,
                validity,
                compacted: !validity_alone,
                values: None,
            });
        }
        let all = stored(array, start, len)?;
        let Some(validity) = validity else {
            return Ok(Self {
                len,
                validity: None,
                compacted: false,
                values: Some(all),
            });
        };
        let all = all.borrow();
        let compacted = matches!(all, Values::Bytes(_)) || (len - valid) * COMPACTED_SHARE >= len;
        let rows: Vec<u32> = if compacted {
            validity.positions()
        } else {
            // A NULL takes the value before it, which costs the least in most encodings. A valid
            // row exists.
            let mut before = validity.ones().next().unwrap_or(0);
            let fill = |row: u32| {
                if validity.get(row as usize) {
                    before = row;
                }
                before
            };
            (0..len as u32).map(fill).collect()
        };
        let values = Some(Stored::Owned(OwnedValues::take(all, &rows)?));
        Ok(Self {
            len,
            validity: Some(validity),
            compacted,
            values,
        })
    }

    /// The values to encode; `None` where all rows are NULL or the leaf has only a validity.
    pub fn values(&self) -> Option<Values<'_>> {
        self.values.as_ref().map(Stored::borrow)
    }

    /// Bytes of the strings; `None` for other types.
    pub fn string_bytes(&self, ty: Option<PhysicalType>) -> Option<usize> {
        match self.values() {
            Some(Values::Bytes(strings)) => Some(strings.contents().len()),
            _ => (ty == Some(PhysicalType::Bytes)).then_some(0),
        }
    }

    /// Rows that are NULL.
    pub fn nulls(&self) -> usize {
        self.validity
            .as_ref()
            .map_or(0, |valid| valid.len() - valid.count_ones())
    }
}

/// Some values of a leaf, NULLs included: bits are copied, as a slice may begin within a word.
fn stored(array: &LeafArray, start: usize, len: usize) -> Result<Stored<'_>> {
    let short = || Error::internal("a block beyond the end of its leaf");
    Ok(match &array.values {
        LeafValues::Empty(_) => return Err(Error::internal("values of a leaf without values")),
        LeafValues::Bits(bits) => Stored::Owned(OwnedValues::Bits(bits.slice(start, len))),
        LeafValues::Bytes { offsets, data } => {
            let offsets = offsets.get(start..=start + len).ok_or_else(short)?;
            Stored::Borrowed(Values::Bytes(Strings::new(offsets, data)?))
        }
        LeafValues::Words(ty, _) => Stored::Borrowed(for_words!(ty, T => {
            T::values(array.values.words::<T>().get(start..start + len).ok_or_else(short)?)
        }, _ => return Err(Error::internal("words of no width")))),
    })
}
