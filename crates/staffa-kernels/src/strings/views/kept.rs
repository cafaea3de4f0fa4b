//! What the views of all slots refer to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;

use crate::memory::PoolVec;

/// A dictionary as views, one for each code.
pub(super) type Table = Arc<PoolVec<u128>>;

/// Buffers and tables of all slots.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The data that views refer to.
    buffers: Mutex<Vec<Buffer>>,
    /// Dictionaries that slots share, by their address.
    tables: Mutex<Vec<(usize, Table)>>,
}

impl Kept {
    fn buffers(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a buffer; returns its number.
    pub(super) fn keep(&self, buffer: Buffer) -> Option<u32> {
        let mut buffers = self.buffers();
        let number = u32::try_from(buffers.len()).ok()?;
        buffers.push(buffer);
        Some(number)
    }

    /// The number of a buffer that [`replace`](Self::replace) brings: an empty one until then.
    pub(super) fn reserve(&self) -> Option<u32> {
        self.keep(Buffer::from(&[]))
    }

    /// Keeps a buffer under a number that was reserved for it; `false` where none was.
    pub(super) fn replace(&self, number: u32, buffer: Buffer) -> bool {
        let mut buffers = self.buffers();
        let place = buffers.get_mut(number as usize);
        place.map(|place| *place = buffer).is_some()
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Vec<(usize, Table)>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of buffers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.buffers().len()
    }

    /// All buffers, by number.
    pub(super) fn into_buffers(self) -> Vec<Buffer> {
        self.buffers
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
