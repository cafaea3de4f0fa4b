//! Free buffers, kept by size until they are wanted again.
//!
//! ```text
//! from 1 KiB     the heap, in size classes 4, 5, 6, 7, 8, 10, 12, 14, 16, ... x 256 bytes
//! from 64 KiB    huge pages from the system, in such classes
//! ```
//!
//! They wait in one process-wide pool, the last in first out (it may still be in the cache): up to
//! 64 MiB as they are, then, the oldest first, offered to the system, which takes the pages it
//! needs; past a limit of both together they go back to it. No thread runs behind this. Small ones
//! are kept for the zeroing and the search of the heap: a point read opens dozens of blocks of a
//! few KiB each.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::memory::malloc::told_to_keep;
use crate::memory::mapping::{HUGE, OFFERS, Region, has_regions, map, offer, take_back, unmap};

/// Of every buffer, at least: a cache line, and what the widest word asks for.
pub(crate) const ALIGN: usize = 64;
/// From here on a buffer has a size class.
pub(crate) const SMALLEST: usize = 1 << 10;
/// From here on it is from the system.
const MAPPED: usize = 64 << 10;
/// Four classes for every power of two from 1 KiB to 2^47.
const CLASSES: usize = 4 * 38;
/// Of what is kept as it is, unless malloc was told to keep more.
const HELD_LIMIT: usize = 64 << 20;
/// Of what is kept at all, unless malloc was told to keep more.
const LIMIT: usize = if OFFERS { 1 << 30 } else { HELD_LIMIT };

/// How many bytes of free buffers the pool keeps from now on, those offered to the system included;
/// what is above goes back at once. Gives the limit before: at first 1 GiB, or what the process has
/// told glibc's malloc to keep, if that is more; 64 MiB where nothing can be offered.
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

/// Memory for `len` bytes, at least [`SMALLEST`], and how much it is: zero when fresh, and what it
/// last held when used again. `None` when there is none.
pub(crate) fn take(len: usize) -> Option<(NonNull<u8>, usize)> {
    let class = class_of(len)?;
    Some((used(class).or_else(|| fresh(class))?, class_bytes(class)))
}

/// Keeps memory for the next who wants as much.
///
/// # Safety
/// `start` and `capacity` are from [`take`], and nothing refers to them.
pub(crate) unsafe fn give(start: NonNull<u8>, capacity: usize) {
    let Some(class) = class_of(capacity) else {
        return;
    };
    let mut pool = pool();
    let (time, free) = (pool.tick(), Free(start));
    if capacity > pool.held_limit() {
        // It would push out everything else.
        let room = pool.limit.saturating_sub(pool.held.bytes);
        drop(pool);
        return hand_over(vec![Surplus { class, time, free }], room);
    }
    pool.held.push(class, time, free);
    settle(pool);
}

/// The smallest class of at least `len` bytes.
fn class_of(len: usize) -> Option<usize> {
    // In quarters of a power of two, rounded up: len <= quarters * unit, quarters in 4..=8.
    let power = usize::BITS - 1 - len.max(SMALLEST).leading_zeros();
    let unit = 1 << (power - 2);
    let quarters = len.max(SMALLEST).div_ceil(unit);
    let class = 4 * (power - SMALLEST.trailing_zeros()) as usize + quarters - 4;
    (class < CLASSES).then_some(class)
}

/// The size of a class: 4, 5, 6 or 7 quarters of a power of two; a mapping's is a multiple of 16
/// KiB.
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
    const EMPTY: Self = Self {
        free: [const { VecDeque::new() }; CLASSES],
        bytes: 0,
    };

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
            let oldest = (0..CLASSES)
                .filter_map(|c| Some((self.free[c].front()?.0, c)))
                .min();
            let Some((_, class)) = oldest else { break };
            let Some((time, free)) = self.free[class].pop_front() else {
                break;
            };
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
    Mutex::new(Pool {
        held,
        offered,
        region,
        clock: 0,
        held_limit,
        limit,
    })
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
        let piece = self.region.cut(class_bytes(class), |start, bytes| {
            left = Some((start, bytes))
        });
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

/// Keeps the pool's limits: the oldest of what is held is offered to the system, the oldest of what
/// is offered goes back. The system is called without the lock.
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
    for Surplus {
        class,
        free: Free(start),
        ..
    } in surplus
    {
        let bytes = class_bytes(class);
        // SAFETY: `fresh` gave it, and it came out of the pool or of its owner's hands: nobody else
        // has it.
        unsafe {
            if bytes < MAPPED {
                to_heap(start, bytes)
            } else {
                unmap(start, bytes)
            }
        };
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

/// Zeroed memory, aligned to [`ALIGN`].
pub(crate) fn from_heap(len: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(len, ALIGN).ok()?;
    // SAFETY: callers ask for at least one byte.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// # Safety
/// `start` is from `from_heap` with as many bytes, and nothing refers to it.
pub(crate) unsafe fn to_heap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's; the layout is that of `from_heap`.
    unsafe {
        dealloc(
            start.as_ptr(),
            Layout::from_size_align_unchecked(bytes, ALIGN),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::pool::PoolBuf;

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
            assert_eq!(
                buffer
                    .as_ptr()
                    .align_offset(if len < HUGE { ALIGN } else { HUGE }),
                0
            );
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
        let sizes = [
            1100, 1000, 64, 700, 90, 130, 210, 500, 1790, 80, 80, 1300, 333, 65,
        ]
        .map(|kib: usize| kib << 10);
        for round in 0..3u8 {
            let mut buffers: Vec<_> = sizes
                .iter()
                .map(|&len| PoolBuf::new(len).unwrap())
                .collect();
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
                assert!(
                    buffer
                        .chunks_exact(8)
                        .all(|word| word == (1000 + i as u64).to_le_bytes())
                );
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
