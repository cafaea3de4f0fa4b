//! What a scan in steps found in the cache when it planned: it asks for no bytes of these, and so must have them.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use super::OpenBlock;
use super::entry::Chunk;
use crate::decode::SharedDictionary;

/// Blocks and dictionaries that stay for a scan, also if the cache drops them.
#[derive(Debug, Default)]
pub(crate) struct Pins(Mutex<Pinned>);

#[derive(Default)]
struct Pinned {
    blocks: HashMap<(Chunk, usize), Arc<OpenBlock>>,
    shared: HashMap<Chunk, Arc<Vec<SharedDictionary>>>,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { blocks, shared } = self;
        f.debug_tuple("Pinned")
            .field(&blocks.len())
            .field(&shared.len())
            .finish()
    }
}

impl Pins {
    fn lock(&self) -> MutexGuard<'_, Pinned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn block(&self, chunk: Chunk, block: usize) -> Option<Arc<OpenBlock>> {
        self.lock().blocks.get(&(chunk, block)).cloned()
    }

    pub fn shared(&self, chunk: Chunk) -> Option<Arc<Vec<SharedDictionary>>> {
        self.lock().shared.get(&chunk).cloned()
    }

    pub fn keep_block(&self, chunk: Chunk, block: usize, opened: Arc<OpenBlock>) {
        self.lock().blocks.insert((chunk, block), opened);
    }

    pub fn keep_shared(&self, chunk: Chunk, shared: Arc<Vec<SharedDictionary>>) {
        self.lock().shared.insert(chunk, shared);
    }

    /// Keeps only what belongs to some row groups.
    pub fn retain(&self, row_group: impl Fn(usize) -> bool) {
        let mut pinned = self.lock();
        pinned.blocks.retain(|((_, group), _), _| row_group(*group));
        pinned.shared.retain(|(_, group), _| row_group(*group));
    }
}
