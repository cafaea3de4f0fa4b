//! The message where a requested encoding declines: the first value that it cannot hold, and what it
//! holds.

use arrow_array::ArrayRef;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use staffa_kernels::Int as _;

use super::block_input::block_inputs;
use super::chunk::ChunkOptions;
use crate::arrow::Leaf;
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::values::{Kind, LeafArray, Physical, PhysicalType, Values, for_ints};

/// Bytes of a string that are shown.
const SHOWN: usize = 60;

/// Names the column in an error of the chunk of one of its leaves, and the first unsupported value where
/// that is the reason.
pub(crate) fn explained(
    error: Error,
    (array, leaf): (&LeafArray, &Leaf),
    options: ChunkOptions<'_>,
    column: Option<&ArrayRef>,
    first_row: u64,
) -> Error {
    match error {
        Error::InvalidArgument(what) => {
            let first = first_unsupported(array, leaf, options, column, first_row);
            Error::InvalidArgument(format!("column {:?}: {}", leaf.path, first.unwrap_or(what)))
        }
        other => other.at(|p| p.column = Some(leaf.path.to_string())),
    }
}

fn first_unsupported(
    array: &LeafArray,
    leaf: &Leaf,
    options: ChunkOptions<'_>,
    column: Option<&ArrayRef>,
    first_row: u64,
) -> Option<String> {
    let encoding = POOL.by_name(options.requested_encoding?).ok()?;
    let inputs = block_inputs(array, options.blocks.rows).ok()?;
    for (block, input) in inputs.iter().enumerate() {
        let unsupported = |values| Some((values, encoding.unsupported_value(values)?));
        let Some((values, unsupported)) = input.values().and_then(unsupported) else {
            continue;
        };
        // Values are stored for the valid rows alone, or for all.
        let row = match input.validity.as_ref().filter(|_| input.compacted) {
            Some(validity) => validity.ones().nth(unsupported.at)? as usize,
            None => unsupported.at,
        };
        let row = block * options.blocks.rows + row;
        let column = column.filter(|_| leaf.flat && leaf.ty != Some(PhysicalType::Bytes));
        let typed = column.and_then(|column| typed(column, row).ok());
        let value = typed.unwrap_or_else(|| shown(values, unsupported.at, leaf));
        let place = if leaf.flat {
            format!("row {}, value {value}", first_row + row as u64)
        } else {
            format!("value {value}, number {row} in the row group that begins at row {first_row}")
        };
        return Some(format!(
            "{} cannot hold {place}: it holds {}",
            encoding.info().name,
            unsupported.holds
        ));
    }
    None
}

/// A value as its column's type shows it: a date, a decimal.
fn typed(column: &ArrayRef, row: usize) -> Result<String> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    Ok(formatter.value(row).try_to_string()?)
}

/// A value as its physical type shows it.
fn shown(values: Values<'_>, at: usize, leaf: &Leaf) -> String {
    match values {
        Values::Bits(bits) => bits.get(at).to_string(),
        Values::Bytes(strings) => {
            let string = strings.get(at);
            let cut = string.get(..SHOWN).unwrap_or(string);
            let more = if cut.len() < string.len() { "..." } else { "" };
            match std::str::from_utf8(string) {
                Ok(_) => format!(
                    "{:?}{more}",
                    String::from_utf8_lossy(cut).trim_end_matches('\u{fffd}')
                ),
                Err(_) => format!("{cut:02x?}{more}"),
            }
        }
        words => for_ints!(words.physical_type(), T => {
            let word = T::slice(words).and_then(|words| words.get(at)).map_or(0, |word| word.to_u64());
            let unused = 64 - T::BITS;
            match (leaf.kind, words.physical_type()) {
                (Kind::Signed, _) => ((word << unused).cast_signed() >> unused).to_string(),
                (Kind::Float, PhysicalType::U32) => f32::from_bits(word as u32).to_string(),
                (Kind::Float, PhysicalType::U64) => f64::from_bits(word).to_string(),
                _ => word.to_string(),
            }
        }, _ => format!("{at}")),
    }
}
