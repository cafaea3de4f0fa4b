//! Lists of free buffers, one for each size class.

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::size_class::{CLASSES, class_bytes};

/// A buffer that nobody uses.
pub(crate) struct FreeBuffer {
    pub(crate) start: NonNull<u8>,
    pub(crate) class: usize,
    /// When the buffer was freed, by the clock of the pool.
    pub(crate) time: u64,
}

// SAFETY: the buffer owns its bytes.
unsafe impl Send for FreeBuffer {}

/// Free buffers by class, the oldest in front, and the sum of their sizes.
pub(crate) struct FreeLists {
    lists: [VecDeque<FreeBuffer>; CLASSES],
    bytes: usize,
}

impl FreeLists {
    pub(crate) const EMPTY: Self = Self {
        lists: [const { VecDeque::new() }; CLASSES],
        bytes: 0,
    };

    /// Bytes of all buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, buffer: FreeBuffer) {
        self.bytes += class_bytes(buffer.class);
        self.lists[buffer.class].push_back(buffer);
    }

    /// Takes out the newest buffer of a class: it may still be in the cache.
    pub(crate) fn pop(&mut self, class: usize) -> Option<NonNull<u8>> {
        let buffer = self.lists[class].pop_back()?;
        self.bytes -= class_bytes(class);
        Some(buffer.start)
    }

    /// Takes out the oldest buffers until at most `limit` bytes are left.
    pub(crate) fn shrink(&mut self, limit: usize) -> Vec<FreeBuffer> {
        let mut surplus = Vec::new();
        while self.bytes > limit {
            let fronts = self.lists.iter_mut().filter(|list| !list.is_empty());
            let oldest = fronts.min_by_key(|list| list.front().map(|buffer| buffer.time));
            let Some(buffer) = oldest.and_then(VecDeque::pop_front) else {
                break;
            };
            self.bytes -= class_bytes(buffer.class);
            surplus.push(buffer);
        }
        surplus
    }
}
