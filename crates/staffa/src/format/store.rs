//! Store: byte ranges of a file, in memory, on disk or elsewhere.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use staffa_kernels::PoolBuf;

use super::{Fetched, Source};
use crate::error::{Error, Result};

/// Bytes of the first read, at the end of a local file: the sections of some hundred columns.
const LOCAL_TAIL_BYTES: u64 = 8 << 10;
/// As many bytes as come from elsewhere in the time of a request.
const REMOTE_TAIL_BYTES: u64 = 64 << 10;

/// Where the bytes of a file come from.
#[derive(Debug)]
pub(crate) struct Store {
    origin: Origin,
    len: u64,
    /// A path or a URL, for messages.
    name: Option<PathBuf>,
    /// Bytes at the end that were read already, and their offset.
    end: OnceLock<(u64, Bytes)>,
}

#[derive(Debug)]
enum Origin {
    Memory(Bytes),
    Local(fs::File),
    Source(Arc<dyn Source>),
    /// Ranges that the caller fetches.
    Fetched(Arc<Fetched>),
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
        let name = Some(path.to_owned());
        Ok(Self::new(Origin::Local(file), metadata.len(), name))
    }

    /// A file in memory.
    pub(crate) fn memory(bytes: Bytes) -> Self {
        let len = bytes.len() as u64;
        Self::new(Origin::Memory(bytes), len, None)
    }

    /// A file elsewhere.
    pub(crate) fn source(source: Arc<dyn Source>) -> Self {
        let (len, name) = (source.len(), PathBuf::from(source.name()));
        Self::new(Origin::Source(source), len, Some(name))
    }

    /// Ranges of a file that the caller fetches.
    pub(crate) fn fetched(ranges: Arc<Fetched>, len: u64, name: Option<PathBuf>) -> Self {
        Self::new(Origin::Fetched(ranges), len, name)
    }

    fn new(origin: Origin, len: u64, name: Option<PathBuf>) -> Self {
        let end = OnceLock::new();
        Self {
            origin,
            len,
            name,
            end,
        }
    }

    /// The same file by ranges that the caller fetches; the end that was read already is there.
    pub(crate) fn by_ranges(&self, ranges: Arc<Fetched>) -> Self {
        Self {
            end: self.end.clone(),
            ..Self::fetched(ranges, self.len, self.name.clone())
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.name.as_deref()
    }

    /// Whether it is a file of the local disk.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.origin, Origin::Local(_))
    }

    /// The source of a file that is elsewhere.
    pub(crate) fn as_source(&self) -> Option<&Arc<dyn Source>> {
        match &self.origin {
            Origin::Source(source) => Some(source),
            _ => None,
        }
    }

    /// Whether each read is one that the caller has planned: nothing is read along with it.
    pub(crate) fn is_planned(&self) -> bool {
        matches!(self.origin, Origin::Source(_) | Origin::Fetched(_))
    }

    /// Bytes of the first read, at the end of the file.
    pub(crate) fn tail_bytes(&self) -> u64 {
        let bytes = match &self.origin {
            Origin::Memory(_) | Origin::Local(_) => LOCAL_TAIL_BYTES,
            Origin::Source(source) => source.end_bytes().unwrap_or(REMOTE_TAIL_BYTES),
            Origin::Fetched(_) => REMOTE_TAIL_BYTES,
        };
        bytes.min(self.len)
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
        if let Some(kept) = self.kept_end(&(offset..end)) {
            return Ok(kept);
        }
        match &self.origin {
            Origin::Memory(bytes) => Ok(bytes.slice(start..end as usize)),
            Origin::Local(file) => {
                let mut buffer = PoolBuf::new(count)
                    .ok_or_else(|| Error::limit(format!("no memory for {len} bytes")))?;
                let rest = self.kept_end(&(self.end_offset().clamp(offset, end)..end));
                let rest = rest.unwrap_or_default();
                let Some((own, kept)) = buffer
                    .as_mut_slice()
                    .split_at_mut_checked(count - rest.len())
                else {
                    return Err(Error::internal("more bytes kept than asked for"));
                };
                kept.copy_from_slice(&rest);
                let read = read_exact_at(file, own, offset);
                read.map_err(|e| Error::io(self.path().unwrap_or(Path::new("")), e))?;
                Ok(Bytes::from_owner(buffer))
            }
            Origin::Source(source) => self.read_source(source.as_ref(), offset..end),
            Origin::Fetched(ranges) => ranges.read(offset..end).ok_or_else(|| {
                let what = format!("bytes {offset} to {end} of the file were not fetched");
                Error::invalid(what)
            }),
        }
    }

    /// Bytes of a range, of which those at the end of the file may be there.
    fn read_source(&self, source: &dyn Source, range: Range<u64>) -> Result<Bytes> {
        let own = range.start..range.end.min(self.end_offset());
        let bytes = source.read(own.clone())?;
        let expected = own.end - own.start;
        if bytes.len() as u64 != expected {
            return Err(Error::truncated(format!(
                "{expected} bytes at {} expected, the source gave {}",
                own.start,
                bytes.len()
            )));
        }
        match self.kept_end(&(own.end..range.end)) {
            Some(rest) if !rest.is_empty() => Ok([bytes, rest].concat().into()),
            _ => Ok(bytes),
        }
    }

    /// Bytes of a range if they were read when the file was opened.
    fn kept_end(&self, range: &Range<u64>) -> Option<Bytes> {
        let (first, bytes) = self.end.get()?;
        let from = range.start.checked_sub(*first)? as usize;
        // The range ends within the file, and so within these bytes.
        Some(bytes.slice(from..from + (range.end - range.start) as usize))
    }

    /// Bytes at the end that were read when the file was opened, and their offset.
    pub(crate) fn end(&self) -> Option<&(u64, Bytes)> {
        self.end.get()
    }

    /// Where the bytes that were read when the file was opened begin; else the file's end.
    pub(crate) fn end_offset(&self) -> u64 {
        self.end.get().map_or(self.len, |(offset, _)| *offset)
    }

    /// Keeps a copy of the file's bytes from `offset` on, which are the end of `tail`, so that the
    /// column indexes there need no read each; of a file elsewhere all of `tail`.
    pub(crate) fn keep_end(&self, offset: u64, tail: &Bytes) {
        let kept = match self.origin {
            Origin::Memory(_) => return,
            Origin::Local(_) => self.len.checked_sub(offset),
            Origin::Source(_) | Origin::Fetched(_) => Some(tail.len() as u64),
        };
        let from = kept
            .and_then(|bytes| usize::try_from(bytes).ok())
            .and_then(|bytes| tail.len().checked_sub(bytes));
        if let Some(kept) = from.and_then(|from| tail.get(from..)) {
            let offset = self.len - kept.len() as u64;
            let _ = self.end.set((offset, Bytes::copy_from_slice(kept)));
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
