//! A source that counts what is asked of it.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use staffa::{Error, Result, Source};

/// A file in memory that counts what is asked for, and fails where it is told to.
#[derive(Debug)]
pub struct Counted {
    bytes: Bytes,
    asked: Mutex<Asked>,
    fails: Option<usize>,
}

#[derive(Debug, Default, Clone)]
pub struct Asked {
    pub begun: Vec<Range<u64>>,
    pub read: Vec<Range<u64>>,
}

impl Asked {
    /// Whether the source was told of a range.
    pub fn has_begun(&self, range: &Range<u64>) -> bool {
        let mut begun = self.begun.iter();
        begun.any(|b| b.start <= range.start && range.end <= b.end)
    }
}

impl Counted {
    pub fn new(bytes: &Bytes) -> Arc<Self> {
        Self::failing(bytes, None)
    }

    pub fn failing(bytes: &Bytes, fails: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.clone(),
            asked: Mutex::default(),
            fails,
        })
    }

    pub fn take(&self) -> Asked {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Source for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn name(&self) -> &str {
        "memory://bucket/table.staffa"
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut asked = self.asked.lock().unwrap();
        asked.read.push(range.clone());
        if Some(asked.read.len()) == self.fails {
            return Err(Error::io(
                self.name(),
                std::io::Error::other("503 Slow Down"),
            ));
        }
        Ok(slice(&self.bytes, &range))
    }

    fn begin(&self, ranges: &[Range<u64>]) {
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
        self.asked.lock().unwrap().begun.extend_from_slice(ranges);
    }
}

pub fn slice(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    bytes.slice(range.start as usize..range.end as usize)
}
