//! An allocator that takes small allocations from mimalloc, and large ones from the system's malloc.
//!
//! Opening a block makes a few dozen small allocations, and a cold row of a wide table thousands:
//! glibc's malloc, which caches seven of a size, took a sixth of that time. Large allocations gain
//! nothing from mimalloc, and mimalloc retains more of what is freed.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Most bytes of a small allocation.
const SMALL: usize = 16 << 10;

/// An allocator for a program or an extension module:
/// `#[global_allocator] static SMALL: SmallPieces = SmallPieces;`
#[derive(Debug, Clone, Copy)]
pub struct SmallPieces;

fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL
}

// SAFETY: the layout tells which allocator a piece is from, and it is the same when the piece is
// freed; both allocators keep the promises of the trait. A piece that moves from one to the other
// is copied up to the smaller of its sizes.
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
                MiMalloc.dealloc(piece, layout);
            } else {
                System.dealloc(piece, layout);
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: `size` is not 0, and rounding it up to the alignment does not
        // overflow.
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

    #[test]
    fn pieces_keep_their_contents_across_the_border() {
        for align in [1, 16, 64, 4096] {
            let mut layout = Layout::from_size_align(100, align).unwrap();
            // SAFETY: the layout is that of the piece; every byte read was written, or zeroed.
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
