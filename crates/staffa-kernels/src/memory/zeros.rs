//! Zeros that all columns without other values share.

use std::sync::LazyLock;

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::mapping::map_zeros;
use super::pool::PoolBuf;

/// Bytes of the shared zeros: views of two million rows.
const SHARED: usize = 32 << 20;

/// Pages that nobody wrote to: they take address space, and memory for none of their bytes.
static ZEROS: LazyLock<Option<&'static [u8]>> = LazyLock::new(|| map_zeros(SHARED));

/// `len` zeros, aligned to 64 bytes; `None` when there is no memory for them.
///
/// Up to 32 MiB they are the same bytes in every buffer, and cannot be written to, where the system has such
/// memory (Linux). A table with many columns of NULLs then takes neither time nor memory for their values.
///
/// ```
/// let zeros = staffa_kernels::zeros(1000).unwrap();
/// assert!(zeros.iter().all(|byte| *byte == 0));
/// ```
pub fn zeros(len: usize) -> Option<Buffer> {
    if let Some(shared) = ZEROS.and_then(|all| all.get(..len)) {
        return Some(Buffer::from(Bytes::from_static(shared)));
    }
    let mut own = PoolBuf::new(len)?;
    own.fill(0);
    Some(Buffer::from(Bytes::from_owner(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_shared_while_they_are_few() {
        for len in [0, 1, 4096, SHARED, SHARED + 1] {
            // Leaves other bytes in the pool.
            PoolBuf::new(len).unwrap().fill(7);
            let zeros = zeros(len).unwrap();
            assert_eq!(zeros.len(), len);
            assert_eq!(zeros.as_ptr().align_offset(64), 0);
            assert!(zeros.iter().all(|byte| *byte == 0));
        }
        let (few, many) = (zeros(10).unwrap(), zeros(1000).unwrap());
        assert_eq!(few.as_ptr() == many.as_ptr(), cfg!(target_os = "linux"));
    }
}
