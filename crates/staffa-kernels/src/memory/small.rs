//! An allocator that takes small allocations from mimalloc, middle ones from the pool of output memory, and large
//! ones from the system's malloc.
//!
//! Opening a block makes a few dozen small allocations, and a cold row of a wide table thousands:
//! glibc's malloc, which caches seven of a size, took a sixth of that time. Middle ones are the vectors of a
//! block that is written: glibc maps them, and returns them to the system when they are freed, so that each
//! costs the page faults of fresh memory, up to a quarter of the time of a write. mimalloc retains twice as
//! much of what is freed as the pool. Large allocations gain nothing from either.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::RangeInclusive;
use std::ptr::NonNull;

use mimalloc::MiMalloc;

use super::mapping::OFFERS;
use super::retained::{ALIGN, MAPPED, allocate_piece, free_piece};
use super::size_class::class_of;

/// Most bytes of a small allocation.
const SMALL: usize = 16 << 10;
/// Least and most bytes of a middle one.
const MIDDLE: RangeInclusive<usize> = MAPPED..=4 << 20;

/// An allocator for a program or an extension module:
/// `#[global_allocator] static SMALL: SmallPieces = SmallPieces;`
#[derive(Debug, Clone, Copy)]
pub struct SmallPieces;

/// Where a piece is from: its layout tells.
enum Origin {
    Small,
    Pool,
    System,
}

impl Origin {
    #[inline]
    fn of(layout: Layout) -> Self {
        if layout.size() <= SMALL {
            Self::Small
        } else if OFFERS && MIDDLE.contains(&layout.size()) && layout.align() <= ALIGN {
            Self::Pool
        } else {
            Self::System
        }
    }
}

/// The start of a piece; null where there is no memory.
fn start(piece: Option<(NonNull<u8>, bool)>) -> *mut u8 {
    piece.map_or(std::ptr::null_mut(), |(start, _)| start.as_ptr())
}

// SAFETY: the layout tells which allocator a piece is from, and it is the same when the piece is
// freed; both allocators keep the promises of the trait. A piece that moves from one to the other
// is copied up to the smaller of its sizes.
unsafe impl GlobalAlloc for SmallPieces {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe {
            match Origin::of(layout) {
                Origin::Small => MiMalloc.alloc(layout),
                Origin::Pool => start(allocate_piece(layout.size())),
                Origin::System => System.alloc(layout),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe {
            match Origin::of(layout) {
                Origin::Small => MiMalloc.alloc_zeroed(layout),
                Origin::Pool => {
                    let piece = allocate_piece(layout.size());
                    if let Some((start, false)) = piece {
                        start.write_bytes(0, layout.size());
                    }
                    start(piece)
                }
                Origin::System => System.alloc_zeroed(layout),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller's, and above.
        unsafe {
            match Origin::of(layout) {
                Origin::Small => MiMalloc.dealloc(piece, layout),
                Origin::Pool => free_piece(NonNull::new_unchecked(piece), layout.size()),
                Origin::System => System.dealloc(piece, layout),
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: `size` is not 0, and rounding it up to the alignment does not
        // overflow.
        unsafe {
            let grown = Layout::from_size_align_unchecked(size, layout.align());
            match (Origin::of(layout), Origin::of(grown)) {
                (Origin::Small, Origin::Small) => MiMalloc.realloc(piece, layout, size),
                (Origin::System, Origin::System) => System.realloc(piece, layout, size),
                (Origin::Pool, Origin::Pool) if class_of(size) == class_of(layout.size()) => piece,
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

    #[test]
    fn pieces_used_again_are_zeroed_where_that_is_asked_for() {
        for size in [
            *MIDDLE.start(),
            100_000,
            3 << 20,
            *MIDDLE.end(),
            MIDDLE.end() + 1,
        ] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            for _ in 0..3 {
                // SAFETY: the layout is that of the piece; every byte read was zeroed.
                unsafe {
                    let piece = SmallPieces.alloc_zeroed(layout);
                    let bytes = std::slice::from_raw_parts_mut(piece, size);
                    assert!(bytes.iter().all(|byte| *byte == 0));
                    bytes.fill(7);
                    SmallPieces.dealloc(piece, layout);
                }
            }
        }
    }
}
