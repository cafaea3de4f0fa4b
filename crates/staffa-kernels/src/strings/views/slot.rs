//! A slot of views: strings of a dictionary by code, or strings one after another.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::kept::{Kept, Table};
use super::make::{are_inline, make_views};
use crate::memory::PoolVec;
use crate::simd::{gather, gather_past_cache, sum_u32};
use crate::strings::dict::BytesDict;
use crate::strings::utf8::first_other;

/// A slot for some of the strings of [`StringViews`](super::StringViews).
#[derive(Debug)]
pub struct ViewSlot<'a> {
    pub(super) views: &'a mut [u128],
    /// The first `filled` are views of strings in the kept buffers, each UTF-8 where `text`.
    pub(super) filled: &'a mut usize,
    pub(super) kept: &'a Kept,
    table: Option<Table>,
    pub(super) text: bool,
    past_cache: bool,
}

impl<'a> ViewSlot<'a> {
    /// An empty slot.
    pub(super) fn new(
        views: &'a mut [u128],
        filled: &'a mut usize,
        kept: &'a Kept,
        text: bool,
        past_cache: bool,
    ) -> Self {
        Self {
            views,
            filled,
            kept,
            table: None,
            text,
            past_cache,
        }
    }

    /// Sets the dictionary of the codes pushed from now on; `false` where a string is not text, or
    /// the strings are too many or too long.
    ///
    /// `shared`: other slots use the same dictionary, at the same address.
    pub fn use_table(&mut self, strings: &BytesDict, shared: bool) -> bool {
        if !shared {
            self.table = self.new_table(strings);
            return self.table.is_some();
        }
        let address = std::ptr::from_ref(strings).addr();
        // Locked while the table is made: other slots wait for the same table.
        let mut tables = self.kept.tables();
        let known = tables.iter().find(|(of, _)| *of == address);
        self.table = known.map(|(_, table)| table.clone());
        if self.table.is_none() {
            self.table = self.new_table(strings);
            tables.extend(self.table.clone().map(|table| (address, table)));
        }
        self.table.is_some()
    }

    /// Whether the slots share a table of this dictionary.
    pub fn shares_table(&self, strings: &BytesDict) -> bool {
        let address = std::ptr::from_ref(strings).addr();
        self.kept.tables().iter().any(|(of, _)| *of == address)
    }

    fn new_table(&self, strings: &BytesDict) -> Option<Table> {
        let lengths: Vec<u32> = strings.ranges().map(|range| range.len() as u32).collect();
        let data = strings.contents();
        if self.text && first_other(data, &lengths).is_some() {
            return None;
        }
        let buffer = if are_inline(&lengths) {
            0 // Views of short strings refer to no buffer.
        } else {
            self.kept.keep(Buffer::from(data))?
        };
        let mut table = PoolVec::new(lengths.len())?;
        make_views(data, 0, &lengths, buffer, &mut table)?;
        Some(Arc::new(table))
    }

    /// Appends strings of the table by code; `false`, with nothing appended, where a code is out of
    /// range, or there is no table or no room.
    pub fn push_codes(&mut self, codes: &[u32]) -> bool {
        let places = self.views.get_mut(next(*self.filled, codes.len()));
        let (Some(table), Some(places)) = (&self.table, places) else {
            return false;
        };
        let done = if self.past_cache {
            gather_past_cache(table, codes, places)
        } else {
            gather(table, codes, places)
        };
        if done {
            *self.filled += codes.len();
        }
        done
    }

    /// Appends strings that stand one after another in `data`, by their lengths; `false`, with
    /// nothing appended, where a string is not text, the lengths exceed the data or there is no
    /// room.
    pub fn push_strings(&mut self, lengths: &[u32], data: &Buffer) -> bool {
        self.try_push_strings(lengths, data).is_some()
    }

    fn try_push_strings(&mut self, lengths: &[u32], data: &Buffer) -> Option<()> {
        let places = self.views.get_mut(next(*self.filled, lengths.len()))?;
        let strings = data.get(..usize::try_from(sum_u32(lengths)).ok()?)?;
        if self.text && first_other(strings, lengths).is_some() {
            return None;
        }
        let buffer = if are_inline(lengths) {
            0
        } else {
            self.kept.keep(data.clone())?
        };
        make_views(data, 0, lengths, buffer, places)?;
        *self.filled += lengths.len();
        Some(())
    }

    /// Appends empty strings; `false` where there is no room for them.
    pub fn push_empty(&mut self, count: usize) -> bool {
        let Some(places) = self.views.get_mut(next(*self.filled, count)) else {
            return false;
        };
        places.fill(0);
        *self.filled += count;
        true
    }
}

/// The next `count` places.
fn next(filled: usize, count: usize) -> Range<usize> {
    filled..filled.saturating_add(count)
}
