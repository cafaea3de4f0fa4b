//! Hints: the tree of another block, which is tried first.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Pool, sample};
use crate::format::Node;
use crate::values::Values;

/// Few strings, and bytes of each, on average, from which on they are long.
const FEW: usize = 128;
const LONG: usize = 256;

/// A node with bytes that blocks can share.
#[derive(Debug)]
pub(crate) struct Shares {
    pub(crate) node: Node,
    opened: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Shares {
    fn of(node: Node) -> Self {
        Self {
            node,
            opened: OnceLock::new(),
        }
    }

    /// What an encoding makes of the node, made once for all blocks, by one thread: others wait.
    pub(crate) fn opened<T: Send + Sync + 'static>(
        &self,
        open: impl FnOnce(&Node) -> T,
    ) -> Option<&T> {
        let opened = self.opened.get_or_init(|| Box::new(open(&self.node)));
        opened.downcast_ref()
    }
}

/// The tree of another block: the encodings, what they took, and bytes that blocks can share.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(super) encoding: u8,
    /// Values.
    pub(super) len: usize,
    /// Bytes of all strings; 0 of other values, and of children.
    string_bytes: usize,
    /// Bytes of the node and its children that are not shared.
    own_bytes: usize,
    /// The node, where it has bytes that blocks can share.
    pub(super) shares: Option<Arc<Shares>>,
    pub(super) children: Vec<Self>,
}

impl Example {
    /// From the root of a block's tree.
    pub(crate) fn of(node: &Node, pool: &Pool) -> Self {
        let encoding = pool.by_id(node.encoding);
        let shareable = encoding.map_or(0, |encoding| encoding.shareable(node));
        Self {
            encoding: node.encoding,
            len: node.len,
            string_bytes: 0,
            own_bytes: node.size() - shareable,
            shares: (shareable > 0).then(|| Arc::new(Shares::of(node.clone()))),
            children: node
                .children
                .iter()
                .map(|child| Self::of(child, pool))
                .collect(),
        }
    }

    /// From the root of the tree of a block of these values.
    pub(crate) fn of_values(node: &Node, values: Values<'_>, pool: &Pool) -> Self {
        Self {
            string_bytes: string_bytes(values),
            ..Self::of(node, pool)
        }
    }

    /// Without the bytes that blocks can share.
    #[must_use]
    pub(crate) fn without_shared(mut self) -> Self {
        self.shares = None;
        self.children = self
            .children
            .into_iter()
            .map(Self::without_shared)
            .collect();
        self
    }

    /// Bytes per value that are not shared.
    fn per_value(&self) -> f64 {
        self.own_bytes as f64 / self.len.max(1) as f64
    }

    /// The one to remember after a later block of the same column: the later tree where it is another
    /// or smaller. Else this one, so that what later blocks take is compared with what was chosen.
    #[must_use]
    pub(crate) fn or_later(&self, later: Self) -> Self {
        if self.is_like(&later) && self.per_value() < later.per_value() {
            self.clone()
        } else {
            later
        }
    }

    /// Whether the encodings are the same.
    fn is_like(&self, other: &Self) -> bool {
        let mut children = self.children.iter().zip(&other.children);
        self.encoding == other.encoding
            && self.children.len() == other.children.len()
            && children.all(|(own, other)| own.is_like(other))
    }

    /// Whether a tree of the same encodings still suits these values: while it takes at most 8% more per
    /// value (decision 30), or as much more as strings are longer, up to twice but for few long ones.
    pub(crate) fn suits(&self, node: &Node, values: Values<'_>, shareable: usize) -> bool {
        // Headers do not grow with the values.
        let headers = if sample::are_few(node.len) { 4.0 } else { 64.0 };
        // Few long strings differ in length as much as they like.
        let are_long = node.len <= FEW && self.string_bytes > LONG * self.len;
        let most_longer = if are_long { f64::MAX } else { 2.0 };
        let as_many = self.string_bytes as f64 / self.len.max(1) as f64 * node.len as f64;
        let longer = (string_bytes(values) as f64 / as_many.max(1.0)).clamp(1.0, most_longer);
        let most = self.per_value() * node.len as f64 * longer * 1.08 + headers;
        (node.size() - shareable) as f64 <= most + shareable as f64 * 0.5
    }
}

fn string_bytes(values: Values<'_>) -> usize {
    match values {
        Values::Bytes(strings) => strings.contents().len(),
        _ => 0,
    }
}

/// The tree of another block, likely to suit again.
#[derive(Debug)]
pub(crate) struct Hint<'a> {
    pub(super) example: &'a Example,
    /// Whether it is the tree of another column.
    pub(super) is_similar: bool,
    /// Children handed out so far.
    next: AtomicUsize,
}

impl<'a> Hint<'a> {
    /// From the root of a block's tree.
    pub(crate) fn new(example: &'a Example) -> Self {
        Self {
            example,
            is_similar: false,
            next: AtomicUsize::new(0),
        }
    }

    /// From the root of the tree of another column.
    pub(crate) fn of_similar(example: &'a Example) -> Self {
        Self {
            is_similar: true,
            ..Self::new(example)
        }
    }

    /// The hint for the next child: encodings encode their children in order.
    pub(super) fn next_child(&self) -> Option<Self> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let example = self.example.children.get(next)?;
        Some(Self {
            is_similar: self.is_similar,
            ..Self::new(example)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encodings::POOL;
    use crate::values::{PhysicalType, StringsBuf};

    #[test]
    fn longer_strings_may_take_more() {
        let strings = |len: usize| -> StringsBuf {
            let string = vec![b'a'; len];
            (0..1000).map(|_| string.as_slice()).collect()
        };
        let node = |bytes: usize| Node {
            encoding: 0,
            ty: PhysicalType::Bytes,
            len: 1000,
            payload: vec![0; bytes],
            children: Vec::new(),
        };
        let short = strings(100);
        let values = Values::Bytes(short.as_strings());
        let example = Example::of_values(&node(30_000), values, &POOL);
        let suits = |len, bytes| {
            let strings = strings(len);
            example.suits(&node(bytes), Values::Bytes(strings.as_strings()), 0)
        };
        assert!(suits(100, 32_000) && !suits(100, 33_000));
        assert!(suits(150, 48_000) && !suits(150, 49_000));
        // Up to twice, and not less where they are shorter.
        assert!(suits(1000, 64_000) && !suits(1000, 66_000) && suits(10, 32_000));
        // Few long ones as much as they like.
        let node = |len: usize, bytes: usize| Node { len, ..node(bytes) };
        let (few, longer): (StringsBuf, StringsBuf) = (
            [&[b'a'; 1000][..]; 4].into_iter().collect(),
            [&[b'a'; 9000][..]; 4].into_iter().collect(),
        );
        let of_few = Example::of_values(&node(4, 2000), Values::Bytes(few.as_strings()), &POOL);
        let longer = Values::Bytes(longer.as_strings());
        assert!(
            of_few.suits(&node(4, 18_000), longer, 0) && !of_few.suits(&node(4, 20_000), longer, 0)
        );
        let none = Values::U8(&[0; 1000]);
        assert!(example.suits(&node(1000, 32_000), none, 0));
        assert!(!example.suits(&node(1000, 33_000), none, 0));
    }
}
