//! The bytes of an object from its beginning to its end: for formats that are read so.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use staffa::{Result, Source as _};

use crate::location::Location;
use crate::source::ObjectSource;

/// Bytes of a read.
const PART_BYTES: u64 = 8 << 20;
/// Reads ahead.
const AHEAD: u64 = 4;

/// A stream of the bytes of an object, read ahead.
#[derive(Debug)]
pub struct ObjectReader {
    source: ObjectSource,
    /// What is read next, in parts.
    next: u64,
    begun: u64,
    part: Bytes,
}

impl ObjectReader {
    /// Begins to read an object.
    pub fn open(location: &Location) -> Result<Self> {
        Ok(Self {
            source: ObjectSource::open(location)?,
            next: 0,
            begun: 0,
            part: Bytes::new(),
        })
    }

    fn next_part(&mut self) -> Result<Bytes> {
        // The end is there already.
        let (len, end) = (self.source.len(), self.source.tail_offset());
        while self.begun < end.min(self.next.saturating_add(AHEAD * PART_BYTES)) {
            let stop = end.min(self.begun + PART_BYTES);
            let part = self.begun..stop;
            self.source.begin(std::slice::from_ref(&part));
            self.begun = stop;
        }
        let stop = if self.next < end {
            end.min(self.next + PART_BYTES)
        } else {
            len
        };
        let part = self.source.read(self.next..stop)?;
        self.next = stop;
        Ok(part)
    }
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() && self.next < self.source.len() {
            self.part = self.next_part().map_err(|error| match error {
                staffa::Error::Io { source, .. } => source,
                other => io::Error::other(other),
            })?;
        }
        let count = out.len().min(self.part.len());
        if let Some(to) = out.get_mut(..count) {
            self.part.copy_to_slice(to);
        }
        Ok(count)
    }
}
