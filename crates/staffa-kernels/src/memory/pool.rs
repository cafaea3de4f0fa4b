//! Buffers for output, of memory that is used again: page faults cost more than decoding (fresh 4K
//! pages 2 GB/s, memory in use 20-80).
//!
//! A dropped buffer goes to the process-wide pool, see `retained`.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::retained::{self, ALIGN, from_heap, to_heap};
use super::size_class::SMALLEST;
use crate::word::Word;

/// A buffer of initialised bytes, aligned to 64: zeroed when fresh, and with its last contents when
/// used again.
///
/// A dropped buffer goes to a process-wide pool.
///
/// ```
/// let mut buffer = staffa_kernels::PoolBuf::new(4000).unwrap();
/// buffer.words_mut::<u32>()[999] = 7;
/// assert_eq!(buffer[3996..], [7, 0, 0, 0]);
/// ```
pub struct PoolBuf {
    /// Start of `capacity` initialised bytes that this buffer alone owns; dangling when there are none.
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
            retained::allocate(len)?
        };
        Some(Self {
            start,
            len,
            capacity,
        })
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
        const { assert!(ALIGN.is_multiple_of(align_of::<T>())) };
        // SAFETY: the start is aligned for any word, the words are within `len` initialised bytes,
        // and every bit pattern is a word.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len / T::BYTES) }
    }

    /// Shortens the buffer to `len` bytes; does nothing when it is no longer than that.
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
        // SAFETY: the pool allocated it with this capacity; it is this buffer's alone.
        unsafe { retained::free(self.start, self.capacity) };
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
        f.debug_struct("PoolBuf")
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// Words in a [`PoolBuf`], with their last contents when used again.
///
/// ```
/// let mut words = staffa_kernels::PoolVec::<u32>::new(1000).unwrap();
/// words.fill(7);
/// assert_eq!(words[999], 7);
/// ```
pub struct PoolVec<T> {
    /// At least `len` words.
    memory: PoolBuf,
    len: usize,
    word: PhantomData<T>,
}

impl<T: Word> PoolVec<T> {
    /// `len` words; `None` when there is no memory for them.
    pub fn new(len: usize) -> Option<Self> {
        Some(Self {
            memory: PoolBuf::new(len.checked_mul(T::BYTES)?)?,
            len,
            word: PhantomData,
        })
    }

    /// Keeps the first `len` words; does nothing when there are fewer.
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
        // SAFETY: the memory has at least `len` words and is aligned for any; every bit pattern is a
        // word.
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
        f.debug_struct("PoolVec")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

#[repr(align(64))]
struct Aligned;
const _: () = assert!(align_of::<Aligned>() == ALIGN);
