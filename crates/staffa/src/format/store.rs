//! Store: byte ranges of a file, in memory or on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use staffa_kernels::PoolBuf;

use crate::error::{Error, Result};

/// Where the bytes of a file come from.
#[derive(Debug)]
pub(crate) enum Store {
    Memory(Bytes),
    Local {
        file: fs::File,
        len: u64,
        path: PathBuf,
        /// Bytes at the end that were read already, and their offset.
        end: OnceLock<(u64, Bytes)>,
    },
}

impl Store {
    /// A local file. It is read by position, never mapped: a file that shrinks gives an error, not
    /// a signal.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let io = |e| Error::io(path, e);
        let file = fs::File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(io(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        Ok(Self::Local {
            file,
            len: metadata.len(),
            path: path.to_owned(),
            end: OnceLock::new(),
        })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Local { len, .. } => *len,
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory(_) => None,
            Self::Local { path, .. } => Some(path),
        }
    }

    /// Bytes `offset..offset + len`, which must lie within the file; checked before they are
    /// allocated.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len());
        let (Some(end), Ok(start), Ok(count)) =
            (end, usize::try_from(offset), usize::try_from(len))
        else {
            let what = format!(
                "{len} bytes at {offset} expected, the file has {}",
                self.len()
            );
            return Err(Error::truncated(what));
        };
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(start..end as usize)),
            Self::Local {
                file,
                path,
                end: kept,
                ..
            } => {
                if let Some((first, bytes)) = kept.get()
                    && let Some(from) = offset.checked_sub(*first)
                {
                    // The range ends within the file, and so within these bytes.
                    return Ok(bytes.slice(from as usize..from as usize + count));
                }
                let mut buffer = PoolBuf::new(count)
                    .ok_or_else(|| Error::limit(format!("no memory for {len} bytes")))?;
                read_exact_at(file, buffer.as_mut_slice(), offset)
                    .map_err(|e| Error::io(path, e))?;
                Ok(Bytes::from_owner(buffer))
            }
        }
    }

    /// Keeps a copy of the file's bytes from `offset` on, which are the end of `tail`, so that the
    /// column indexes there need no system call each.
    pub(crate) fn keep_end(&self, offset: u64, tail: &Bytes) {
        let (Self::Local { len, end, .. }, Some(bytes)) = (self, self.len().checked_sub(offset))
        else {
            return;
        };
        let from = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| tail.len().checked_sub(bytes));
        if let Some(kept) = from.and_then(|from| tail.get(from..)) {
            let _ = end.set((len - bytes, Bytes::copy_from_slice(kept)));
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &fs::File, out: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &fs::File, mut out: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !out.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, out, offset)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        out = &mut out[read..];
        offset += read as u64;
    }
    Ok(())
}
