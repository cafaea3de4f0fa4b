//! Hints: the tree of one block, which is tried first for the others of its chunk.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::format::Node;

/// The tree of another block of the chunk, likely to suit again.
#[derive(Debug)]
pub(crate) struct Hint<'a> {
    pub(super) node: &'a Node,
    /// Children handed out so far.
    next: AtomicUsize,
}

impl<'a> Hint<'a> {
    /// From the root of a block's tree.
    pub(crate) fn new(node: &'a Node) -> Self {
        Self {
            node,
            next: AtomicUsize::new(0),
        }
    }

    /// The next child: encodings encode their children in order.
    pub(super) fn next_child(&self) -> Option<&'a Node> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.node.children.get(next)
    }
}
