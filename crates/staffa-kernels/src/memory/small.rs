//! Small pieces of memory from mimalloc, all others from the system's malloc.
//!
//! Opening a block takes a few dozen small pieces, a cold row of a wide table thousands: a sixth of
//! its time was glibc's malloc, which keeps seven of a size at hand. Large pieces gain nothing
//! there, and mimalloc keeps more of what is given back.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Bytes up to which a piece is small.
const SMALL: usize = 16 << 10;

/// An allocator for a program or an extension module:
/// `#[global_allocator] static SMALL: SmallPieces = SmallPieces;`
#[derive(Debug, Clone, Copy)]
pub struct SmallPieces;

fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL
}

// SAFETY: which of both allocators a piece is from is told by its layout, which is the same when it
// is given back; both keep the promises of the trait. What moves from one to the other is copied as
// far as both sizes go.
unsafe impl GlobalAlloc for SmallPieces {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe {
            if is_small(layout) {
                MiMalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe {
            if is_small(layout) {
                MiMalloc.alloc_zeroed(layout)
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller's, and above.
        unsafe {
            if is_small(layout) {
                MiMalloc.dealloc(piece, layout)
            } else {
                System.dealloc(piece, layout)
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: `size` is not 0, and does not overflow when it is rounded up to the
        // alignment.
        unsafe {
            let grown = Layout::from_size_align_unchecked(size, layout.align());
            match (is_small(layout), is_small(grown)) {
                (true, true) => MiMalloc.realloc(piece, layout, size),
                (false, false) => System.realloc(piece, layout, size),
                _ => {
                    let moved = self.alloc(grown);
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(piece, layout.size().min(size));
                        self.dealloc(piece, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that grow and shrink across the border keep what they hold.
    #[test]
    fn pieces_move_between_both() {
        for align in [1, 16, 64, 4096] {
            let mut layout = Layout::from_size_align(100, align).unwrap();
            // SAFETY: the layout is that of the piece; what is read was written, or zeroed.
            unsafe {
                let mut piece = SmallPieces.alloc(layout);
                (0..100).for_each(|i| piece.add(i).write(i as u8));
                for size in [
                    5000,
                    SMALL,
                    SMALL + 1,
                    1 << 20,
                    SMALL + 1,
                    SMALL,
                    300,
                    40_000,
                    8,
                ] {
                    piece = SmallPieces.realloc(piece, layout, size);
                    assert!(!piece.is_null() && piece.addr().is_multiple_of(align));
                    assert!((0..size.min(layout.size())).all(|i| piece.add(i).read() == i as u8));
                    (0..size).for_each(|i| piece.add(i).write(i as u8));
                    layout = Layout::from_size_align(size, align).unwrap();
                }
                SmallPieces.dealloc(piece, layout);
                let large = Layout::from_size_align(SMALL * 2, align).unwrap();
                let zeroed = SmallPieces.alloc_zeroed(large);
                assert!(
                    std::slice::from_raw_parts(zeroed, SMALL * 2)
                        .iter()
                        .all(|byte| *byte == 0)
                );
                SmallPieces.dealloc(zeroed, large);
            }
        }
    }
}
