//! The levels above an array that is shredded: nullability, hidden rows, rows to take.

use arrow_array::Array;
use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::build::Mask;

/// The levels above an array.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) nullable: bool,
    /// Whether the array holds items of a list, where Arrow's rule for a field that is not nullable
    /// is stricter.
    pub(super) in_list: bool,
    /// The rows to take, in order; all for `None`.
    pub(super) picks: Option<&'a [u32]>,
    pub(super) above: Mask<'a>,
}

impl<'a> Level<'a> {
    /// The level below no other.
    pub(super) fn top(nullable: bool, picks: Option<&'a [u32]>) -> Self {
        Self {
            nullable,
            in_list: false,
            picks,
            above: Mask::default(),
        }
    }

    pub(super) fn rows(&self, array: &dyn Array) -> usize {
        self.picks.map_or(array.len(), <[u32]>::len)
    }

    /// The level of the values of a dictionary or of runs. NULLs among them were checked above, row by
    /// row; in a list Arrow refuses them at every depth, hidden or not.
    pub(super) fn values<'b>(&self, picks: Option<&'b [u32]>) -> Level<'b> {
        Level {
            in_list: self.in_list,
            ..Level::top(self.nullable || !self.in_list, picks)
        }
    }

    /// NULLs among the rows to take; `None` for none.
    pub(super) fn nulls(&self, nulls: Option<&NullBuffer>) -> Option<NullBuffer> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
        let taken = match self.picks {
            None => nulls.clone(),
            Some(picks) => NullBuffer::new(BooleanBuffer::collect_bool(picks.len(), |i| {
                picks
                    .get(i)
                    .is_some_and(|pick| nulls.is_valid(*pick as usize))
            })),
        };
        Some(taken).filter(|taken| taken.null_count() > 0)
    }
}
