//! Memory from the system and back to it, in mappings of whole pages.
//!
//! ```text
//! from 2 MiB on    a mapping of its own, aligned to 2 MiB and advised to be huge pages
//! below            a piece of such a mapping of 2 MiB, a region; each goes back by itself
//! ```
//!
//! What is mapped may be offered: the system takes pages of it when it runs short, and gives zeroed
//! ones in their place; what it has not taken is used again without a page fault. On other systems
//! than Linux memory is from the heap, without regions and offers.

use std::ptr::NonNull;

pub(crate) use system::{OFFERS, has_regions, map, offer, take_back, unmap};

/// The size of a huge page.
pub(crate) const HUGE: usize = 2 << 20;
/// Sizes of mappings are multiples of this.
pub(crate) const GRAIN: usize = 16 << 10;

/// Where pieces are cut from. Mappings of less than 2 MiB would not be huge pages.
#[derive(Default)]
pub(crate) struct Region {
    /// The first of the `bytes` that no piece has.
    rest: Option<NonNull<u8>>,
    bytes: usize,
}

// SAFETY: it owns the rest, which nothing refers to.
unsafe impl Send for Region {}

impl Region {
    /// A piece of `bytes`, a multiple of [`GRAIN`] below [`HUGE`], fresh and zeroed; `None` when
    /// there is no memory.
    ///
    /// The rest of a region in which the piece has no room is handed to `left`, as (start, bytes).
    pub(crate) fn cut(
        &mut self,
        bytes: usize,
        left: impl FnOnce(NonNull<u8>, usize),
    ) -> Option<NonNull<u8>> {
        if self.bytes < bytes {
            let fresh = map(HUGE)?;
            if let Some(rest) = self.rest.replace(fresh).filter(|_| self.bytes > 0) {
                left(rest, self.bytes);
            }
            self.bytes = HUGE;
        }
        let piece = self.rest?;
        self.bytes = self.bytes.checked_sub(bytes)?;
        // SAFETY: `bytes` of the `self.bytes` that begin at `piece` in one mapping.
        self.rest = Some(unsafe { piece.add(bytes) });
        Some(piece)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{GRAIN, HUGE, NonNull};
    use std::sync::LazyLock;

    /// Whether free memory can be offered to the system.
    pub(crate) const OFFERS: bool = true;

    static PAGE: LazyLock<usize> = LazyLock::new(|| {
        // SAFETY: asks for a number.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(usize::MAX)
    });

    /// Whether pieces of a mapping are whole pages, which can go back one by one.
    pub(crate) fn has_regions() -> bool {
        *PAGE <= GRAIN
    }

    /// A fresh zeroed mapping of whole pages; from [`HUGE`] on aligned to it, for huge pages.
    pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let align = if bytes < HUGE { 0 } else { HUGE };
        // Room to find an aligned start in; what is before and behind it is given back.
        let room = bytes.checked_add(align)?;
        // SAFETY: a new private mapping, wherever the system likes; nothing is overlaid.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                room,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let mapped = mapped.cast::<u8>();
        if align > 0 {
            let before = mapped.align_offset(align).min(align);
            let behind = align - before;
            // SAFETY: both pieces are whole pages of the mapping above, outside of the `bytes` that
            // are kept; unmapping and advice touch nothing else. Neither failing loses more than
            // address space.
            unsafe {
                if before > 0 {
                    libc::munmap(mapped.cast(), before);
                }
                if behind > 0 {
                    libc::munmap(mapped.add(before + bytes).cast(), behind);
                }
                libc::madvise(mapped.add(before).cast(), bytes, libc::MADV_HUGEPAGE);
                return NonNull::new(mapped.add(before));
            }
        }
        NonNull::new(mapped)
    }

    /// # Safety
    /// `[start, start + bytes)` is from [`map`], or a piece of that, and nothing refers to it.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's.
        unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }

    /// Lets the system take pages of the memory when it runs short; false if it will not.
    ///
    /// # Safety
    /// As of [`unmap`]; before it is used again, [`take_back`].
    pub(crate) unsafe fn offer(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_FREE) == 0 }
    }

    /// Ends an offer: what the memory holds, or zeros in place of a page that was taken, stays from
    /// now on.
    ///
    /// # Safety
    /// As of [`unmap`].
    pub(crate) unsafe fn take_back(start: NonNull<u8>, bytes: usize) {
        for page in (0..bytes).step_by(*PAGE) {
            // SAFETY: a byte of the caller's memory. To write to a page is what ends its offer.
            unsafe { start.add(page).write_volatile(0) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{HUGE, NonNull};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    pub(crate) const OFFERS: bool = false;

    pub(crate) fn has_regions() -> bool {
        false
    }

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes, if bytes < HUGE { super::GRAIN } else { HUGE }).ok()
    }

    pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: callers ask for at least one byte.
        NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) })
    }

    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        let Some(layout) = layout(bytes) else { return };
        // SAFETY: the caller's; the layout is that of `map`.
        unsafe { dealloc(start.as_ptr(), layout) };
    }

    pub(crate) unsafe fn offer(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    pub(crate) unsafe fn take_back(_: NonNull<u8>, _: usize) {}
}
