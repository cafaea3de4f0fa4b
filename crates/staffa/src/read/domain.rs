//! Values of a block that are none of their column's type.

use crate::arrow::Leaf;
use crate::decode::{Block, decode_all, for_decoder};
use crate::error::{Error, Result};
use crate::format::BlockEntry;
use crate::values::Physical;

/// Refuses values that are none of the leaf's type, where the bounds of the block leave it open.
pub(super) fn check_domain(
    leaf: &Leaf,
    entry: Option<&BlockEntry>,
    block: &Block<'_>,
) -> Result<()> {
    let domain = leaf.domain;
    let Some(decoder) = &block.values else {
        return Ok(());
    };
    let entry = entry.ok_or_else(|| Error::internal("a block without an entry"))?;
    if domain.is_settled(&entry.zone, entry.values) {
        return Ok(());
    }
    let valid = block.validity.as_ref().filter(|_| !block.compacted);
    let outside = for_decoder!(decoder,
        words(decoder) => {
            let words = decode_all(decoder.as_ref())?;
            domain.first_outside(Physical::values(&words), valid)
        },
        bits(_decoder) => None,
        bytes(_decoder) => None,
    );
    outside.map_or(Ok(()), |row| {
        let expected = domain.expected();
        Err(Error::corrupt(format!(
            "{expected} expected, found another one at value {row} of the block"
        )))
    })
}
