//! The process-wide pool of free buffers, which are kept by size for the next use: for output, and for the
//! vectors of blocks where a program has the allocator of `small`.
//!
//! ```text
//! from 1 KiB     from the heap, in size classes 4, 5, 6, 7, 8, 10, 12, 14, 16, ... x 256 bytes
//! from 64 KiB    from huge pages of the system, in the same classes
//! ```
//!
//! The pool holds 64 MiB as they are. The oldest buffers beyond that are offered to the system,
//! which takes their pages when it runs short of memory. Past a limit on both together, the oldest
//! are freed. No thread runs in the background. Buffers of a few KiB are kept as well, which spares
//! zeroing and the search of the heap: a point read opens dozens of blocks of that size.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
#[cfg(feature = "small-pieces")]
use std::sync::TryLockError;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::free_list::{FreeBuffer, FreeLists};
use super::mapping::{HUGE, OFFERS, Region, has_regions, map, offer, take_back, unmap};
use super::size_class::{class_bytes, class_of, class_within};

/// Alignment of every buffer: a cache line, which is more than the widest word needs.
pub(crate) const ALIGN: usize = 64;
/// Smallest size that is mapped from the system, not allocated on the heap.
pub(super) const MAPPED: usize = 64 << 10;
/// Most bytes that are held as they are.
const HELD_LIMIT: usize = 64 << 20;
/// Most bytes that are kept at first, held and offered.
const LIMIT: usize = if OFFERS { 1 << 30 } else { HELD_LIMIT };

/// Sets the limit on the bytes of free buffers in the pool, those offered to the system included,
/// and returns the limit before. What is above the new limit is freed at once.
///
/// The limit is 1 GiB at first; 64 MiB where nothing can be offered, which is everywhere but on
/// Linux.
pub fn set_retained_limit(bytes: usize) -> usize {
    let mut pool = pool();
    let before = std::mem::replace(&mut pool.limit, bytes);
    settle(pool);
    before
}

/// Bytes of free buffers in the pool, those offered to the system included.
pub fn retained_bytes() -> usize {
    let pool = pool();
    pool.held.bytes() + pool.offered.bytes()
}

/// Memory for `len` bytes, at least the smallest class, and its size. The memory is zeroed when
/// fresh, and has its last contents when used again. `None` when there is no memory.
pub(crate) fn allocate(len: usize) -> Option<(NonNull<u8>, usize)> {
    let class = class_of(len)?;
    let (start, _) = take(pool(), class)?;
    Some((start, class_bytes(class)))
}

/// Returns a buffer to the pool.
///
/// # Safety
/// `start` and `capacity` are from [`allocate`], and nothing refers to the memory.
pub(crate) unsafe fn free(start: NonNull<u8>, capacity: usize) {
    if let Some(class) = class_of(capacity) {
        // SAFETY: the caller's.
        unsafe { put(pool(), start, class) };
    }
}

/// Memory for an allocator, of at least [`MAPPED`] bytes, and whether it is fresh and so zeroed. It does not
/// wait for the pool, which allocates for itself: where that is in use, the memory is fresh.
#[cfg(feature = "small-pieces")]
pub(super) fn allocate_piece(len: usize) -> Option<(NonNull<u8>, bool)> {
    let class = class_of(len)?;
    match try_pool() {
        Some(pool) => take(pool, class),
        None => Some((map(class_bytes(class))?, true)),
    }
}

/// Returns memory to the pool, or to the system where the pool is in use.
///
/// # Safety
/// `start` is from [`allocate_piece`] with this `len`, and nothing refers to the memory.
#[cfg(feature = "small-pieces")]
pub(super) unsafe fn free_piece(start: NonNull<u8>, len: usize) {
    let Some(class) = class_of(len) else {
        return;
    };
    // SAFETY: the caller's; a piece of a mapping may be unmapped by itself.
    unsafe {
        match try_pool() {
            Some(pool) => put(pool, start, class),
            None => unmap(start, class_bytes(class)),
        }
    }
}

/// A free buffer of a class, or fresh memory, which is zeroed, and whether it is that.
fn take(mut pool: MutexGuard<'_, Pool>, class: usize) -> Option<(NonNull<u8>, bool)> {
    let bytes = class_bytes(class);
    if let Some(start) = pool.held.pop(class) {
        return Some((start, false));
    }
    if let Some(start) = pool.offered.pop(class) {
        drop(pool);
        // SAFETY: the buffer is in no list any more, and mapped: only mapped ones are offered.
        unsafe { take_back(start, bytes) };
        return Some((start, false));
    }
    let fresh = if (MAPPED..HUGE).contains(&bytes) && has_regions() {
        let piece = pool.cut(class);
        settle(pool);
        piece
    } else {
        drop(pool);
        if bytes < MAPPED {
            from_heap(bytes)
        } else {
            map(bytes)
        }
    };
    Some((fresh?, true))
}

/// Puts a buffer of a class into the pool.
///
/// # Safety
/// `start` is from [`take`], or a mapping of that class, and nothing refers to the memory.
unsafe fn put(mut pool: MutexGuard<'_, Pool>, start: NonNull<u8>, class: usize) {
    let time = pool.tick();
    let buffer = FreeBuffer { start, class, time };
    if class_bytes(class) > pool.held_limit() {
        // Held, the buffer would push out everything else.
        let room = pool.limit.saturating_sub(pool.held.bytes());
        drop(pool);
        return offer_all(vec![buffer], room);
    }
    pool.held.push(buffer);
    settle(pool);
}

struct Pool {
    /// Free buffers as they are.
    held: FreeLists,
    /// Free buffers that the system may take pages of; all of them are mapped.
    offered: FreeLists,
    region: Region,
    clock: u64,
    /// Most bytes of `held` and `offered` together.
    limit: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    held: FreeLists::EMPTY,
    offered: FreeLists::EMPTY,
    region: Region::EMPTY,
    clock: 0,
    limit: LIMIT,
});

fn pool() -> MutexGuard<'static, Pool> {
    fork::survive();
    // A poisoned lock is taken: no panic leaves the pool half changed.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool where nobody uses it, nor this thread.
#[cfg(feature = "small-pieces")]
fn try_pool() -> Option<MutexGuard<'static, Pool>> {
    const TRIES: usize = 64;
    fork::survive();
    (0..TRIES).find_map(|_| match POOL.try_lock() {
        Ok(pool) => Some(pool),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::hint::spin_loop();
            None
        }
    })
}

/// A child of `fork` has the pool as it was, and no thread to end what another one had begun: the
/// process forks while nobody uses the pool.
#[cfg(target_os = "linux")]
mod fork {
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::{MutexGuard, Pool};

    struct Forking(UnsafeCell<Option<MutexGuard<'static, Pool>>>);

    // SAFETY: only the thread that has the lock of the pool touches the cell.
    unsafe impl Sync for Forking {}

    static FORKING: Forking = Forking(UnsafeCell::new(None));

    extern "C" fn before() {
        let guard = super::pool();
        // SAFETY: this thread has the lock, until `after`.
        unsafe { *FORKING.0.get() = Some(guard) };
    }

    extern "C" fn after() {
        // SAFETY: this thread has taken the lock in `before`, or is its copy in the child.
        drop(unsafe { (*FORKING.0.get()).take() });
    }

    /// Has the pool locked around every `fork` from now on; [`pool`](super::pool) and what tries it
    /// call this first.
    #[inline]
    pub(super) fn survive() {
        static DONE: AtomicBool = AtomicBool::new(false);
        if !DONE.load(Relaxed) && !DONE.swap(true, Relaxed) {
            // SAFETY: the handlers do not unwind: a poisoned lock is taken. Without memory for them
            // a fork is as it would be without this.
            unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod fork {
    pub(super) fn survive() {}
}

impl Pool {
    fn held_limit(&self) -> usize {
        self.limit.min(HELD_LIMIT)
    }

    /// Advances the clock and reads it.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A fresh piece of a region. The rest of the region before it is held.
    fn cut(&mut self, class: usize) -> Option<NonNull<u8>> {
        let mut rest = None;
        let piece = self.region.cut(class_bytes(class), |start, bytes| {
            rest = Some((start, bytes));
        });
        while let Some((start, bytes)) = rest {
            let class = class_within(bytes);
            let taken = class_bytes(class);
            if taken < MAPPED {
                // SAFETY: the rest of a region, of which no piece was cut.
                unsafe { unmap(start, bytes) };
                break;
            }
            let time = self.tick();
            self.held.push(FreeBuffer { start, class, time });
            // SAFETY: `taken <= bytes` of one mapping.
            rest = (bytes > taken).then(|| (unsafe { start.add(taken) }, bytes - taken));
        }
        piece
    }
}

/// Enforces the limits of the pool: the oldest held buffers are offered, the oldest offered ones are
/// freed. The system is called after the lock is released.
fn settle(mut pool: MutexGuard<'_, Pool>) {
    let held_limit = pool.held_limit();
    let surplus = pool.held.shrink(held_limit);
    // At most the limit of both is held.
    let room = pool.limit - pool.held.bytes();
    let gone = pool.offered.shrink(room);
    drop(pool);
    release(gone);
    offer_all(surplus, room);
}

/// Offers buffers to the system, of at most `room` bytes each; frees those that are larger, or that
/// the system does not take offers of.
fn offer_all(surplus: Vec<FreeBuffer>, room: usize) {
    let is_offered = |buffer: &FreeBuffer| {
        let bytes = class_bytes(buffer.class);
        // SAFETY: the buffer is in no list. From `offered` it is taken back before it is used.
        bytes >= MAPPED && bytes <= room && unsafe { offer(buffer.start, bytes) }
    };
    let (offered, mut gone): (Vec<_>, Vec<_>) = surplus.into_iter().partition(is_offered);
    if !offered.is_empty() {
        let mut pool = pool();
        for buffer in offered {
            pool.offered.push(buffer);
        }
        let room = pool.limit.saturating_sub(pool.held.bytes());
        gone.extend(pool.offered.shrink(room));
    }
    release(gone);
}

/// Returns the memory of buffers to the heap and the system.
fn release(buffers: Vec<FreeBuffer>) {
    for FreeBuffer { start, class, .. } in buffers {
        let bytes = class_bytes(class);
        // SAFETY: the memory is from `take` or a mapping, and the buffer is in no list: nobody else has it.
        unsafe {
            if bytes < MAPPED {
                to_heap(start, bytes);
            } else {
                unmap(start, bytes);
            }
        }
    }
}

/// Zeroed memory of the heap, aligned to [`ALIGN`].
pub(crate) fn from_heap(len: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(len, ALIGN).ok()?;
    // SAFETY: callers ask for at least one byte.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// # Safety
/// `start` is from [`from_heap`] with the same number of bytes, and nothing refers to the memory.
pub(crate) unsafe fn to_heap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's; the layout is that of `from_heap`.
    unsafe {
        let layout = Layout::from_size_align_unchecked(bytes, ALIGN);
        dealloc(start.as_ptr(), layout);
    }
}
