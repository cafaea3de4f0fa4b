//! Streams of a block, by their roles: what derived columns read, and where in a tree their nodes stand.
//! FORMAT.md, section 9, "Derived columns".

use super::{Registry, corrupt_if};
use crate::error::{Error, Result};
use crate::format::NodeRef;

/// A stream of a block, by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOf {
    /// The values.
    Values = 0,
    /// The codes of the dictionary at the values' root.
    Codes = 1,
    /// Which rows are not NULL, as bits.
    Validity = 2,
    /// The digits of ALP at the values' root.
    Digits = 3,
    /// The 64-bit words of narrow at the values' root.
    Narrowed = 4,
}

impl StreamOf {
    /// The streams of words: what words are derived from.
    pub(crate) const OF_WORDS: &'static [Self] =
        &[Self::Values, Self::Codes, Self::Digits, Self::Narrowed];
    /// The streams of bits: what bits are derived from.
    pub(crate) const OF_BITS: &'static [Self] = &[Self::Values, Self::Validity];

    /// By its byte on disk, among the streams that an encoding reads.
    pub(crate) fn from_byte(byte: u8, allowed: &[Self]) -> Result<Self> {
        let found = allowed.iter().copied().find(|from| *from as u8 == byte);
        found.ok_or_else(|| {
            let allowed: Vec<String> = allowed.iter().map(|s| (*s as u8).to_string()).collect();
            Error::corrupt(format!(
                "one of the streams {} of another column expected, found {byte}",
                allowed.join(", ")
            ))
        })
    }

    /// The node of the stream in a tree of values.
    pub(super) fn node<'n, 'a>(
        self,
        root: &'n NodeRef<'a>,
        registry: &dyn Registry,
    ) -> Result<&'n NodeRef<'a>> {
        if self == Self::Values {
            return Ok(root);
        }
        let found = registry.first_child(root.encoding);
        corrupt_if!(
            found != Some(self),
            "a column with the stream {self:?} expected, found the encoding {} at its root",
            root.encoding
        );
        root.child_of_same_length(0, "stream of another column")
    }
}

/// Refuses nodes that are derived from other columns elsewhere than at the root of a tree, or in the
/// place of the stream that is the root's first child.
pub(crate) fn check_places(root: &NodeRef<'_>, registry: &dyn Registry) -> Result<()> {
    fn none_among(nodes: &[NodeRef<'_>], registry: &dyn Registry) -> Result<()> {
        nodes.iter().try_for_each(|node| {
            corrupt_if!(
                registry.is_derived(node.encoding),
                "encoding {} at the root of a tree expected, found it below",
                node.encoding
            );
            none_among(&node.children, registry)
        })
    }
    let has_stream = registry.first_child(root.encoding).is_some();
    let (streams, others) = root
        .children
        .split_at_checked(usize::from(has_stream))
        .unwrap_or((&[], &[]));
    none_among(others, registry)?;
    streams
        .iter()
        .try_for_each(|stream| none_among(&stream.children, registry))
}
