//! The pool of free buffers, which is process-wide: here nothing else uses it.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use staffa_kernels::{PoolBuf, retained_bytes, set_retained_limit};

// As `memory::retained` and its neighbours have them.
const ALIGN: usize = 64;
const SMALLEST: usize = 1 << 10;
const MAPPED: usize = 64 << 10;
const HUGE: usize = 2 << 20;
const HELD_LIMIT: usize = 64 << 20;
const OFFERS: bool = cfg!(target_os = "linux");
const LIMIT: usize = if OFFERS { 1 << 30 } else { HELD_LIMIT };

/// Tests that look at the pool take turns.
static TURN: Mutex<()> = Mutex::new(());

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

        // The oldest is freed first, whatever its class.
        drop(again);
        drop((PoolBuf::new(smallest), PoolBuf::new(2 * smallest)));
        drop(PoolBuf::new(3 * smallest));
        assert_eq!(retained_bytes(), 3 * smallest);
        // A buffer above the limit pushes nothing out.
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
    // Regions are left with rests of every size: 1,100 KiB have no room for 1,000 more.
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
fn surplus_is_offered_and_taken_back() {
    let _turn = TURN.lock();
    set_retained_limit(0);
    assert_eq!(set_retained_limit(LIMIT), 0);
    for len in [HUGE, MAPPED] {
        let surplus = 2 * HUGE;
        let count = (HELD_LIMIT + surplus) / len;
        let fill = |buffers: &mut Vec<PoolBuf>, first: usize| {
            for (i, buffer) in buffers.iter_mut().enumerate() {
                buffer.words_mut::<u64>().fill((first + i) as u64);
            }
        };
        let mut buffers: Vec<_> = (0..count).map(|_| PoolBuf::new(len).unwrap()).collect();
        fill(&mut buffers, 1);
        drop(buffers);
        assert!(retained_bytes() <= LIMIT);
        assert!(!OFFERS || retained_bytes() >= HELD_LIMIT + surplus);

        let mut again: Vec<_> = (0..count).map(|_| PoolBuf::new(len).unwrap()).collect();
        // Offered ones too, all but the rest of a region.
        assert!(retained_bytes() < HUGE);
        fill(&mut again, 1000);
        for (i, buffer) in again.iter().enumerate() {
            assert!(
                buffer
                    .chunks_exact(8)
                    .all(|word| word == (1000 + i as u64).to_le_bytes())
            );
        }
        drop(again);
        // The limit counts both.
        let limit = HELD_LIMIT + if OFFERS { surplus / 2 } else { 0 };
        set_retained_limit(limit);
        assert!(retained_bytes() <= limit && retained_bytes() > limit - len);
        set_retained_limit(0);
        assert_eq!(retained_bytes(), 0);
        set_retained_limit(LIMIT);
    }
    // A buffer larger than the limit of held ones is retained as well, by an offer.
    drop(PoolBuf::new(MAPPED));
    let held = retained_bytes();
    drop(PoolBuf::new(HELD_LIMIT + 1));
    if OFFERS {
        assert!(retained_bytes() > held + HELD_LIMIT);
    } else {
        assert_eq!(retained_bytes(), held);
    }
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
