//! Output memory that is used again: page faults cost more than decoding (fresh 4K pages 2 GB/s, memory in use 20-80).
//!
//! ```text
//! below 1 KiB    the heap, zeroed
//! from 1 KiB     the heap, in size classes 4, 5, 6, 7, 8, 10, 12, 14, 16, ... x 256 bytes; kept when dropped
//! from 64 KiB    mappings of their own in such classes; kept when dropped
//! from 2 MiB     the same, aligned to 2 MiB and advised to be huge pages
//! ```
//!
//! Dropped buffers wait in one process-wide pool, the last in first out (it may still be in the cache), up to a limit;
//! past it the oldest go back to the system. No thread runs behind this. Small ones are kept for the zeroing and the search
//! of the heap: a point read opens dozens of blocks of a few KiB each.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::malloc::told_to_keep;
use crate::word::{Word, cast_slice_mut};

/// Of every buffer, at least: a cache line, and what the widest word asks for.
const ALIGN: usize = 64;
/// From here on a buffer has a size class.
const SMALLEST: usize = 1 << 10;
/// From here on it is a mapping.
const MAPPED: usize = 64 << 10;
const HUGE: usize = 2 << 20;
/// Four classes for every power of two from 1 KiB to 2^47.
const CLASSES: usize = 4 * 38;
/// Unless malloc was told to keep more.
const RETAINED_LIMIT: usize = 64 << 20;

/// A buffer of initialised bytes: zero when fresh, and what they last held when used again. Aligned to 64 bytes.
///
/// Goes back to a process-wide pool on drop.
///
/// ```
/// let mut buffer = staffa_kernels::PoolBuf::new(4000).unwrap();
/// buffer.words_mut::<u32>()[999] = 7;
/// assert_eq!(buffer[3996..], [7, 0, 0, 0]);
/// ```
pub struct PoolBuf {
    /// To `capacity` initialised bytes that this buffer alone owns; dangling when there are none.
    start: NonNull<u8>,
    /// At most `capacity`.
    len: usize,
    capacity: usize,
}

// SAFETY: the buffer owns its bytes, as a `Vec<u8>` does, and shares them only as that would.
unsafe impl Send for PoolBuf {}
// SAFETY: as above.
unsafe impl Sync for PoolBuf {}

impl PoolBuf {
    /// A buffer of `len` bytes; `None` when there is no memory for it.
    pub fn new(len: usize) -> Option<Self> {
        let (start, capacity) = if len == 0 {
            (NonNull::<Aligned>::dangling().cast(), 0)
        } else if len < SMALLEST {
            (from_heap(len)?, len)
        } else {
            let class = class_of(len)?;
            let retained = pool().pop(class);
            match retained {
                Some(Free(start)) => (start, class_bytes(class)),
                None => (class_new(class)?, class_bytes(class)),
            }
        };
        Some(Self { start, len, capacity })
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len <= capacity` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `len <= capacity` initialised bytes, owned.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The bytes as `len / BYTES` words; a remainder is left out.
    #[inline]
    pub fn words_mut<T: Word>(&mut self) -> &mut [T] {
        let whole = self.len / T::BYTES * T::BYTES;
        // Never misaligned: the start is aligned to more than any word.
        cast_slice_mut(&mut self.as_mut_slice()[..whole]).unwrap_or_default()
    }

    /// Shortens the buffer to `len` bytes; does nothing when it has no more than that.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Drop for PoolBuf {
    fn drop(&mut self) {
        if self.capacity == 0 {
            return;
        }
        if self.capacity < SMALLEST {
            // SAFETY: `from_heap` allocated it with this size; it is this buffer's alone.
            unsafe { to_heap(self.start, self.capacity) };
            return;
        }
        let Some(class) = class_of(self.capacity) else { return };
        let mut pool = pool();
        if self.capacity > pool.limit {
            drop(pool);
            return release(vec![(class, Free(self.start))]);
        }
        pool.push(class, Free(self.start));
        let surplus = pool.shrink();
        drop(pool);
        release(surplus);
    }
}

impl AsRef<[u8]> for PoolBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for PoolBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl DerefMut for PoolBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.as_mut_slice()
    }
}

impl fmt::Debug for PoolBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuf").field("len", &self.len).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// Words in a [`PoolBuf`]: with what they last held when used again.
///
/// ```
/// let mut words = staffa_kernels::PoolVec::<u32>::new(1000).unwrap();
/// words.fill(7);
/// assert_eq!(words[999], 7);
/// ```
pub struct PoolVec<T> {
    /// Of `len` words or more.
    memory: PoolBuf,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Word> PoolVec<T> {
    /// `len` words; `None` when there is no memory for them.
    pub fn new(len: usize) -> Option<Self> {
        Some(Self { memory: PoolBuf::new(len.checked_mul(T::BYTES)?)?, len, of: PhantomData })
    }

    /// Keeps the first `len` words; does nothing when there are no more than that.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<T: Word> Borrow<[T]> for PoolVec<T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T: Word> Deref for PoolVec<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `new` asked for memory of `len` words, aligned for any; every bit pattern is a word.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr().cast(), self.len) }
    }
}

impl<T: Word> DerefMut for PoolVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, owned.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.as_ptr().cast(), self.len) }
    }
}

impl<T> fmt::Debug for PoolVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolVec").field("len", &self.len).finish_non_exhaustive()
    }
}

/// How many bytes of free buffers the pool keeps from now on; what is above goes back to the system at once. Gives the
/// limit before: at first 64 MiB, or what the process has told glibc's malloc to keep, if that is more.
pub fn set_retained_limit(bytes: usize) -> usize {
    let mut pool = pool();
    let before = std::mem::replace(&mut pool.limit, bytes);
    let surplus = pool.shrink();
    drop(pool);
    release(surplus);
    before
}

/// The bytes of free buffers in the pool.
pub fn retained_bytes() -> usize {
    pool().retained
}

#[repr(align(64))]
struct Aligned;
const _: () = assert!(align_of::<Aligned>() == ALIGN);

/// The smallest class of at least `len` bytes.
fn class_of(len: usize) -> Option<usize> {
    // In quarters of a power of two, rounded up: len <= quarters * unit, quarters in 4..=8.
    let power = usize::BITS - 1 - len.max(SMALLEST).leading_zeros();
    let unit = 1 << (power - 2);
    let quarters = len.max(SMALLEST).div_ceil(unit);
    let class = 4 * (power - SMALLEST.trailing_zeros()) as usize + quarters - 4;
    (class < CLASSES).then_some(class)
}

/// The size of a class: 4, 5, 6 or 7 quarters of a power of two; a mapping's is a multiple of 16 KiB.
fn class_bytes(class: usize) -> usize {
    ((4 + class % 4) * (SMALLEST / 4)) << (class / 4)
}

/// A buffer of a class that nobody uses.
struct Free(NonNull<u8>);

// SAFETY: it owns its bytes.
unsafe impl Send for Free {}

struct Pool {
    /// By class, the oldest in front: (when it came, itself).
    free: [VecDeque<(u64, Free)>; CLASSES],
    clock: u64,
    retained: usize,
    limit: usize,
}

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(|| {
    let limit = told_to_keep().unwrap_or(0).max(RETAINED_LIMIT);
    Mutex::new(Pool { free: [const { VecDeque::new() }; CLASSES], clock: 0, retained: 0, limit })
});

fn pool() -> MutexGuard<'static, Pool> {
    // Nothing that holds the lock can leave the pool half changed.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn pop(&mut self, class: usize) -> Option<Free> {
        let (_, free) = self.free[class].pop_back()?;
        self.retained -= class_bytes(class);
        Some(free)
    }

    fn push(&mut self, class: usize, free: Free) {
        self.clock += 1;
        self.free[class].push_back((self.clock, free));
        self.retained += class_bytes(class);
    }

    /// Takes out the oldest until the limit is kept; they are to be given back after the lock is gone.
    fn shrink(&mut self) -> Vec<(usize, Free)> {
        let mut surplus = Vec::new();
        while self.retained > self.limit {
            let oldest = (0..CLASSES).filter_map(|c| Some((self.free[c].front()?.0, c))).min();
            let Some((_, class)) = oldest else { break };
            let Some((_, free)) = self.free[class].pop_front() else { break };
            self.retained -= class_bytes(class);
            surplus.push((class, free));
        }
        surplus
    }
}

fn release(surplus: Vec<(usize, Free)>) {
    for (class, Free(start)) in surplus {
        // SAFETY: `class_new` gave it, and it came out of the pool or of its owner's hands: nobody else has it.
        unsafe { class_free(start, class) };
    }
}

/// Fresh zeroed memory of a class.
fn class_new(class: usize) -> Option<NonNull<u8>> {
    let bytes = class_bytes(class);
    if bytes < MAPPED { from_heap(bytes) } else { map(bytes) }
}

/// # Safety
/// `start` is from `class_new` of this class, and nothing refers to it.
unsafe fn class_free(start: NonNull<u8>, class: usize) {
    let bytes = class_bytes(class);
    // SAFETY: the caller's; each is the counterpart of what `class_new` called.
    unsafe { if bytes < MAPPED { to_heap(start, bytes) } else { unmap(start, bytes) } };
}

fn from_heap(len: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(len, ALIGN).ok()?;
    // SAFETY: callers ask for at least one byte.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// # Safety
/// `start` is from `from_heap` with as many bytes, and nothing refers to it.
unsafe fn to_heap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's; the layout is that of `from_heap`.
    unsafe { dealloc(start.as_ptr(), Layout::from_size_align_unchecked(bytes, ALIGN)) };
}

/// A fresh zeroed mapping, aligned to 64 bytes at least.
#[cfg(target_os = "linux")]
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let align = if bytes < HUGE { 0 } else { HUGE };
    // Room to find an aligned start in; what is before and behind it is given back.
    let room = bytes + align;
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
        // SAFETY: both pieces are whole pages of the mapping above, outside of the `bytes` that are kept; unmapping and
        // advice touch nothing else. Neither failing loses more than address space.
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
/// `start` and `bytes` are from `map`, and nothing refers to them.
#[cfg(target_os = "linux")]
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

#[cfg(not(target_os = "linux"))]
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(bytes, if bytes < HUGE { ALIGN } else { HUGE }).ok()?;
    // SAFETY: a class has at least one byte.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// # Safety
/// `start` and `bytes` are from `map`, and nothing refers to them.
#[cfg(not(target_os = "linux"))]
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's; the layout is that of `map`.
    unsafe {
        let align = if bytes < HUGE { ALIGN } else { HUGE };
        dealloc(start.as_ptr(), Layout::from_size_align_unchecked(bytes, align));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pool is the process's: tests that look at it take turns.
    static TURN: Mutex<()> = Mutex::new(());

    #[test]
    fn classes_hold_their_sizes() {
        for class in 0..CLASSES - 1 {
            let bytes = class_bytes(class);
            assert_eq!(class_of(bytes), Some(class));
            assert_eq!(class_of(bytes + 1), Some(class + 1));
            assert!(class_bytes(class + 1) * 4 <= bytes * 5);
            assert_eq!(bytes % if bytes < MAPPED { ALIGN } else { 16 << 10 }, 0);
        }
        assert_eq!(class_bytes(0), SMALLEST);
        assert_eq!(class_of(usize::MAX), None);
    }

    #[test]
    fn buffers_are_aligned_zeroed_and_used_again() {
        let _turn = TURN.lock();
        set_retained_limit(0);
        for len in [
            0,
            1,
            63,
            SMALLEST - 1,
            SMALLEST,
            SMALLEST + 1,
            MAPPED - 1,
            MAPPED,
            MAPPED + 1,
            HUGE - 1,
            HUGE,
            5 * HUGE + 17,
        ] {
            let mut buffer = PoolBuf::new(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().align_offset(if len < HUGE { ALIGN } else { HUGE }), 0);
            assert!(buffer.iter().all(|&b| b == 0));
            buffer.fill(1);
            assert_eq!(buffer.words_mut::<u128>().len(), len / 16);
            buffer.truncate(usize::MAX);
            assert_eq!(buffer.len(), len);
            buffer.truncate(len / 2);
            assert_eq!(buffer.as_ref().len(), len / 2);
        }
        assert_eq!(retained_bytes(), 0);

        for smallest in [SMALLEST, MAPPED] {
            assert_eq!(set_retained_limit(3 * smallest), 0);
            let mut first = PoolBuf::new(smallest).unwrap();
            first[9] = 42;
            let place = first.as_ptr();
            drop(first);
            assert_eq!(retained_bytes(), smallest);
            let again = PoolBuf::new(smallest).unwrap();
            assert_eq!((again.as_ptr(), again[9]), (place, 42));
            assert_eq!(retained_bytes(), 0);

            // The oldest gives way, whatever its class.
            drop(again);
            drop((PoolBuf::new(smallest), PoolBuf::new(2 * smallest)));
            drop(PoolBuf::new(3 * smallest));
            assert_eq!(retained_bytes(), 3 * smallest);
            // What is too large to keep pushes nothing out.
            drop(PoolBuf::new(4 * smallest));
            assert_eq!(retained_bytes(), 3 * smallest);
            set_retained_limit(0);
        }
        set_retained_limit(RETAINED_LIMIT);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(PoolBuf::new(usize::MAX).is_none());
        assert!(PoolBuf::new(isize::MAX as usize).is_none());
        assert!(PoolBuf::new(1 << 47).is_none());
    }

    #[test]
    fn threads_share_the_pool() {
        let _turn = TURN.lock();
        std::thread::scope(|scope| {
            for t in 0..4u8 {
                scope.spawn(move || {
                    for i in 0..200 {
                        let mut buffer = PoolBuf::new((SMALLEST << (i % 8)) * (1 + i % 5)).unwrap();
                        buffer.fill(t);
                        std::thread::yield_now();
                        assert!(buffer.iter().all(|&b| b == t));
                    }
                });
            }
        });
        assert!(retained_bytes() <= RETAINED_LIMIT);
    }
}
