//! Copies of short strings, wider than they are.
//!
//! A copy of unknown length costs a call of memcpy and a misprediction or two. So a string is copied
//! in chunks of fixed size, past its end where it is shorter; the next string overwrites the excess.

/// Bytes that a wide copy may read and write past the end of a string.
pub(super) const SLACK: usize = 32;

/// Copies the first `len` bytes, and up to 32 behind them where both slices have them. `None` where
/// a slice has fewer than `len`.
#[inline(always)]
pub(super) fn copy_string(from: &[u8], to: &mut [u8], len: usize) -> Option<()> {
    if from.len().min(to.len()) >= len.saturating_add(SLACK) {
        // SAFETY: both have 32 bytes behind the string. They do not overlap: one is borrowed
        // mutably.
        unsafe { copy_wide(from.as_ptr(), to.as_mut_ptr(), len) };
    } else {
        to.get_mut(..len)?.copy_from_slice(from.get(..len)?);
    }
    Some(())
}

/// Copies `len` bytes and up to 32 behind them, in chunks of 32.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `len + 32` bytes, and they must not
/// overlap.
#[inline(always)]
pub(super) unsafe fn copy_wide(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each chunk begins below `len` (the first: at 0) and has 32 bytes.
    unsafe {
        // Unrolled: the compiler makes a call of `memcpy` of the loop below.
        for done in [0, SLACK, 2 * SLACK, 3 * SLACK] {
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), SLACK);
            if len <= done + SLACK {
                return;
            }
        }
        let mut done = 4 * SLACK;
        while done < len {
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), SLACK);
            done += SLACK;
        }
    }
}

/// Fills `out` with its first `len` bytes over and over; each copy doubles what is filled. `len` is
/// at least 1 unless `out` is empty.
#[inline(always)]
pub(super) fn repeat_first(out: &mut [u8], len: usize) {
    let mut done = len;
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

/// The first 16 bytes, and zeros past the end.
#[inline(always)]
pub(super) fn first_16(bytes: &[u8]) -> u128 {
    // Most strings have 16 bytes from their start on: one load.
    let bytes = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; 16];
        let places = first.iter_mut().zip(bytes);
        places.for_each(|(to, from)| *to = *from);
        first
    });
    u128::from_le_bytes(bytes)
}
