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
use crate::mapping::{HUGE, OFFERS, Region, has_regions, map, offer, take_back, unmap};
use crate::word::{Word, cast_slice_mut};

/// Of every buffer, at least: a cache line, and what the widest word asks for.
const ALIGN: usize = 64;
/// From here on a buffer has a size class.
const SMALLEST: usize = 1 << 10;
/// From here on it is from the system.
const MAPPED: usize = 64 << 10;
/// Four classes for every power of two from 1 KiB to 2^47.
const CLASSES: usize = 4 * 38;
/// Of what is kept as it is, unless malloc was told to keep more.
const HELD_LIMIT: usize = 64 << 20;
/// Of what is kept at all, unless malloc was told to keep more.
const LIMIT: usize = if OFFERS { 1 << 30 } else { HELD_LIMIT };

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
            (used(class).or_else(|| fresh(class))?, class_bytes(class))
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
        let (time, free) = (pool.tick(), Free(self.start));
        if self.capacity > pool.held_limit() {
            // It would push out everything else.
            let room = pool.limit.saturating_sub(pool.held.bytes);
            drop(pool);
            return hand_over(vec![Surplus { class, time, free }], room);
        }
        pool.held.push(class, time, free);
        settle(pool);
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

/// How many bytes of free buffers the pool keeps from now on, those offered to the system included; what is above goes
/// back at once. Gives the limit before: at first 1 GiB, or what the process has told glibc's malloc to keep, if that is
/// more; 64 MiB where nothing can be offered.
pub fn set_retained_limit(bytes: usize) -> usize {
    let mut pool = pool();
    let before = std::mem::replace(&mut pool.limit, bytes);
    settle(pool);
    before
}

/// The bytes of free buffers in the pool, those offered to the system included.
pub fn retained_bytes() -> usize {
    let pool = pool();
    pool.held.bytes + pool.offered.bytes
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

/// Free buffers by class.
struct Shelf {
    /// The oldest in front: (when it came, itself).
    free: [VecDeque<(u64, Free)>; CLASSES],
    bytes: usize,
}

impl Shelf {
    const EMPTY: Self = Self { free: [const { VecDeque::new() }; CLASSES], bytes: 0 };

    fn push(&mut self, class: usize, time: u64, free: Free) {
        self.free[class].push_back((time, free));
        self.bytes += class_bytes(class);
    }

    fn pop(&mut self, class: usize) -> Option<Free> {
        let (_, free) = self.free[class].pop_back()?;
        self.bytes -= class_bytes(class);
        Some(free)
    }

    /// Takes out the oldest until no more than `limit` bytes are left.
    fn shrink(&mut self, limit: usize) -> Vec<Surplus> {
        let mut surplus = Vec::new();
        while self.bytes > limit {
            let oldest = (0..CLASSES).filter_map(|c| Some((self.free[c].front()?.0, c))).min();
            let Some((_, class)) = oldest else { break };
            let Some((time, free)) = self.free[class].pop_front() else { break };
            self.bytes -= class_bytes(class);
            surplus.push(Surplus { class, time, free });
        }
        surplus
    }
}

/// What a shelf holds no longer.
struct Surplus {
    class: usize,
    time: u64,
    free: Free,
}

struct Pool {
    held: Shelf,
    offered: Shelf,
    region: Region,
    clock: u64,
    /// Of `held`.
    held_limit: usize,
    /// Of both together.
    limit: usize,
}

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(|| {
    let held_limit = told_to_keep().unwrap_or(0).max(HELD_LIMIT);
    let limit = held_limit.max(LIMIT);
    let (held, offered, region) = (Shelf::EMPTY, Shelf::EMPTY, Region::default());
    Mutex::new(Pool { held, offered, region, clock: 0, held_limit, limit })
});

fn pool() -> MutexGuard<'static, Pool> {
    // Nothing that holds the lock can leave the pool half changed.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn held_limit(&self) -> usize {
        self.held_limit.min(self.limit)
    }

    /// The time of a buffer that comes now.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A fresh piece of a region; what is left of the one before is kept.
    fn cut(&mut self, class: usize) -> Option<NonNull<u8>> {
        let mut left = None;
        let piece = self.region.cut(class_bytes(class), |start, bytes| left = Some((start, bytes)));
        while let Some((start, bytes)) = left {
            // The largest class that has room.
            let class = class_of(bytes + 1).map_or(0, |next| next - 1);
            let taken = class_bytes(class);
            if taken < MAPPED {
                // SAFETY: what was not cut of a region.
                unsafe { unmap(start, bytes) };
                break;
            }
            let time = self.tick();
            self.held.push(class, time, Free(start));
            // SAFETY: `taken <= bytes` of one mapping.
            left = (bytes > taken).then(|| (unsafe { start.add(taken) }, bytes - taken));
        }
        piece
    }
}

/// Keeps the pool's limits: the oldest of what is held is offered to the system, the oldest of what is offered goes back.
/// The system is called without the lock.
fn settle(mut pool: MutexGuard<'_, Pool>) {
    let held_limit = pool.held_limit();
    let surplus = pool.held.shrink(held_limit);
    let room = pool.limit - pool.held.bytes;
    let gone = pool.offered.shrink(room);
    drop(pool);
    release(gone);
    hand_over(surplus, room);
}

/// Offers to the system what fits into `room`, the bytes of the pool's limit that nothing held has.
fn hand_over(surplus: Vec<Surplus>, room: usize) {
    let offers = |s: &Surplus| {
        let bytes = class_bytes(s.class);
        // SAFETY: nobody else has it, and what is on that shelf is taken back before it is used.
        bytes >= MAPPED && bytes <= room && unsafe { offer(s.free.0, bytes) }
    };
    let (offered, mut gone): (Vec<_>, Vec<_>) = surplus.into_iter().partition(offers);
    if !offered.is_empty() {
        let mut pool = pool();
        for Surplus { class, time, free } in offered {
            pool.offered.push(class, time, free);
        }
        let room = pool.limit.saturating_sub(pool.held.bytes);
        gone.extend(pool.offered.shrink(room));
    }
    release(gone);
}

fn release(surplus: Vec<Surplus>) {
    for Surplus { class, free: Free(start), .. } in surplus {
        let bytes = class_bytes(class);
        // SAFETY: `fresh` gave it, and it came out of the pool or of its owner's hands: nobody else has it.
        unsafe { if bytes < MAPPED { to_heap(start, bytes) } else { unmap(start, bytes) } };
    }
}

/// A buffer of a class that was used before.
fn used(class: usize) -> Option<NonNull<u8>> {
    let mut pool = pool();
    if let Some(Free(start)) = pool.held.pop(class) {
        return Some(start);
    }
    let Free(start) = pool.offered.pop(class)?;
    drop(pool);
    // SAFETY: it is out of the pool; its class is of mappings, as only those are offered.
    unsafe { take_back(start, class_bytes(class)) };
    Some(start)
}

/// Fresh zeroed memory of a class.
fn fresh(class: usize) -> Option<NonNull<u8>> {
    let bytes = class_bytes(class);
    if bytes < MAPPED {
        return from_heap(bytes);
    }
    if bytes >= HUGE || !has_regions() {
        return map(bytes);
    }
    let mut pool = pool();
    let piece = pool.cut(class);
    settle(pool);
    piece
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
        set_retained_limit(LIMIT);
    }

    #[test]
    fn pieces_of_a_region_are_apart_and_go_back_one_by_one() {
        let _turn = TURN.lock();
        set_retained_limit(0);
        // Rests of regions of every size: 1,100 KiB have no room for 1,000 more, and so on.
        let sizes = [1100, 1000, 64, 700, 90, 130, 210, 500, 1790, 80, 80, 1300, 333, 65].map(|kib: usize| kib << 10);
        for round in 0..3u8 {
            let mut buffers: Vec<_> = sizes.iter().map(|&len| PoolBuf::new(len).unwrap()).collect();
            for (i, buffer) in buffers.iter_mut().enumerate() {
                assert!(buffer.iter().all(|&b| b == 0));
                buffer.fill(i as u8 + 1);
            }
            for (i, buffer) in buffers.iter().enumerate() {
                assert!(buffer.iter().all(|&b| b == i as u8 + 1));
            }
            // In another order each time.
            buffers.rotate_left(usize::from(round) * 5);
            drop(buffers);
            assert_eq!(retained_bytes(), 0);
        }
        set_retained_limit(LIMIT);
    }

    #[test]
    fn what_is_above_the_held_is_offered_and_taken_back() {
        let _turn = TURN.lock();
        set_retained_limit(0);
        assert_eq!(set_retained_limit(LIMIT), 0);
        let offered = || pool().offered.bytes;
        for len in [HUGE, MAPPED] {
            let count = HELD_LIMIT / len + 8;
            let fill = |buffers: &mut Vec<PoolBuf>, first: usize| {
                for (i, buffer) in buffers.iter_mut().enumerate() {
                    buffer.words_mut::<u64>().fill((first + i) as u64);
                }
            };
            let mut buffers: Vec<_> = (0..count).map(|_| PoolBuf::new(len).unwrap()).collect();
            fill(&mut buffers, 1);
            drop(buffers);
            assert!(retained_bytes() <= LIMIT);
            assert!(!OFFERS || (retained_bytes() >= count * len && offered() >= 8 * len));

            let mut again: Vec<_> = (0..count).map(|_| PoolBuf::new(len).unwrap()).collect();
            assert_eq!(offered(), 0);
            fill(&mut again, 1000);
            for (i, buffer) in again.iter().enumerate() {
                assert!(buffer.chunks_exact(8).all(|word| word == (1000 + i as u64).to_le_bytes()));
            }
            drop(again);
            // A limit counts both, and the oldest goes first: what is offered.
            let limit = HELD_LIMIT + if OFFERS { 3 * len } else { 0 };
            set_retained_limit(limit);
            // Tests beside this one may have left some.
            assert!(retained_bytes() <= limit && retained_bytes() > limit - len);
            set_retained_limit(0);
            assert_eq!((retained_bytes(), offered()), (0, 0));
            set_retained_limit(LIMIT);
        }
        // One that is larger than all that is held pushes nothing out.
        drop(PoolBuf::new(MAPPED));
        let held = pool().held.bytes;
        drop(PoolBuf::new(HELD_LIMIT + 1));
        assert_eq!(pool().held.bytes, held);
        assert_eq!(offered() > 0, OFFERS);
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
        assert!(retained_bytes() <= LIMIT);
    }
}
