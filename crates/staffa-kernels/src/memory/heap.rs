//! The heap of the system, and what it keeps of what is freed.

use std::hint::black_box;
use std::sync::Once;

/// The largest piece whose release teaches glibc's malloc to keep memory: 32 MiB, less what malloc adds.
const LARGEST: usize = (32 << 20) - (64 << 10);

/// Has the heap keep freed memory for the next piece, as it does by itself once a large piece was freed.
///
/// glibc maps pieces of 128 KiB or more, and returns them to the system when they are freed, until it has
/// seen larger ones come and go: it adapts its two thresholds to the largest piece freed so far, up to
/// 32 MiB. Until then every block costs the page faults of fresh memory. So one such piece is asked for and
/// freed, without being written to. Thresholds that the process has set stay as they are, and other
/// allocators are not affected.
pub fn keep_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut piece: Vec<u8> = Vec::new();
        // Without the memory nothing changes.
        if piece.try_reserve_exact(LARGEST).is_ok() {
            drop(black_box(piece));
        }
    });
}
