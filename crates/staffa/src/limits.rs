//! What a reader accepts, whatever a file declares.

/// Bounds that a reader holds to before it allocates. The defaults suit a service that reads files
/// of strangers and are far above what the writer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest footer and column index, bytes.
    pub metadata_bytes: u64,
    /// Most leaf columns of a file.
    pub leaves: u64,
    /// Most values of one leaf column in one row group.
    pub row_group_values: u64,
    /// Most decoded bytes of one block, of a shared part, and of all blocks of a column chunk that
    /// are decoded together.
    pub block_bytes: u64,
    /// Deepest cascade of encodings, and deepest nesting of types.
    pub depth: u32,
    /// Most bytes of opened blocks that an open file keeps for later reads of single rows.
    pub cache_bytes: u64,
    /// Whether these are kept decoded: larger, but a row of a block that is kept is then read
    /// without decoding. By default they are kept as they are stored.
    pub cache_decoded: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata_bytes: 1 << 30,
            leaves: 1 << 20,
            row_group_values: 1 << 31,
            block_bytes: 4 << 30,
            depth: 64,
            cache_bytes: 64 << 20,
            cache_decoded: false,
        }
    }
}
