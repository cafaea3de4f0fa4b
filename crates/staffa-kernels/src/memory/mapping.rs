//! Memory from the system and back to it, in mappings of whole pages.
//!
//! ```text
//! from 2 MiB    a mapping of its own, aligned to 2 MiB and advised to use huge pages
//! below         a piece of a region, a mapping of 2 MiB; each piece is unmapped by itself
//! ```
//!
//! A mapping may be offered to the system (`MADV_FREE`), which takes its pages when it runs short of
//! memory and gives zeroed ones in their place. Pages that were not taken are used again without a
//! page fault. On systems other than Linux memory is from the heap, without regions and offers.

use std::ptr::NonNull;

pub(crate) use system::{OFFERS, has_regions, map, map_zeros, offer, take_back, unmap};

/// The size of a huge page.
pub(crate) const HUGE: usize = 2 << 20;
/// Sizes of mappings are multiples of this.
pub(crate) const GRAIN: usize = 16 << 10;

/// A mapping of [`HUGE`] bytes that pieces are cut from: a smaller mapping would not use huge pages.
pub(crate) struct Region {
    /// Start of the `bytes` that no piece has.
    rest: Option<NonNull<u8>>,
    bytes: usize,
}

// SAFETY: a region owns its rest, which nothing refers to.
unsafe impl Send for Region {}

impl Region {
    /// A region without memory.
    pub(crate) const EMPTY: Self = Self {
        rest: None,
        bytes: 0,
    };

    /// A fresh zeroed piece of `bytes`, a multiple of [`GRAIN`] below [`HUGE`]; `None` when there is
    /// no memory.
    ///
    /// A rest that is too small for the piece is handed to `left`, as (start, bytes), and a new
    /// mapping takes its place.
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

    /// Bytes of a page; `None` where the system does not tell.
    static PAGE: LazyLock<Option<usize>> = LazyLock::new(|| {
        // SAFETY: `sysconf` reads a number.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
    });

    /// Whether pieces of a mapping are whole pages, which can be unmapped one by one.
    pub(crate) fn has_regions() -> bool {
        PAGE.is_some_and(|page| page <= GRAIN)
    }

    /// A fresh zeroed mapping of whole pages; from [`HUGE`] on aligned to it and of huge pages.
    pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let align = if bytes < HUGE { 0 } else { HUGE };
        // Room to find an aligned start in; the bytes before and behind it are unmapped.
        let room = bytes.checked_add(align)?;
        // SAFETY: a new private mapping at an address of the system's choice overlays nothing.
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
            // are kept; unmapping and advice touch nothing else. A failure of either loses address
            // space only.
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

    /// A mapping of zeros that nobody can write to, for as long as the process lives.
    pub(crate) fn map_zeros(bytes: usize) -> Option<&'static [u8]> {
        let start = map(bytes)?;
        // SAFETY: the mapping above, which nothing else refers to.
        if unsafe { libc::mprotect(start.as_ptr().cast(), bytes, libc::PROT_READ) } != 0 {
            // SAFETY: as above.
            unsafe { unmap(start, bytes) };
            return None;
        }
        // SAFETY: `bytes` zeroed bytes, which are never unmapped nor written to.
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) })
    }

    /// # Safety
    /// `[start, start + bytes)` is from [`map`], or a piece of that, and nothing refers to it.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's.
        unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }

    /// Lets the system take pages of the memory when it runs short; `false` when the system does not
    /// take offers.
    ///
    /// # Safety
    /// As for [`unmap`]; the memory must be taken back before it is used.
    pub(crate) unsafe fn offer(start: NonNull<u8>, bytes: usize) -> bool {
        // An offer could not be taken back without the size of a page.
        // SAFETY: the caller's.
        PAGE.is_some()
            && unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_FREE) == 0 }
    }

    /// Ends an offer: the contents stay from now on, with zeros in pages that the system has taken.
    ///
    /// # Safety
    /// As for [`unmap`].
    pub(crate) unsafe fn take_back(start: NonNull<u8>, bytes: usize) {
        let page = PAGE.unwrap_or(1);
        for page in (0..bytes).step_by(page) {
            // SAFETY: a byte of the caller's memory. A write to a page ends its offer.
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

    pub(crate) fn map_zeros(_: usize) -> Option<&'static [u8]> {
        None
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
