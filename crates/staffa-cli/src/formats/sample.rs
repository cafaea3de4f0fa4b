//! Text that is read twice: once to guess the types, once for the rows.
//!
//! A file is simply read again from its start. A pipe cannot be, so what was looked at is kept and
//! handed out again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use crate::dataset::Input;
use crate::error::{Failure, Result};
use crate::terminal::progress::Meter;

/// Text whose beginning can be read any number of times before all of it is.
pub(crate) enum Sample {
    File(File),
    Pipe {
        rest: Box<dyn Read + Send>,
        seen: Vec<u8>,
    },
}

impl Sample {
    pub(crate) fn open(input: &Input) -> Result<Self> {
        if input.is_standard() {
            return Ok(Self::Pipe {
                rest: Box::new(io::stdin()),
                seen: Vec::new(),
            });
        }
        let file = input.open_file()?;
        let regular = file.metadata().map_err(|error| input.io(&error))?.is_file();
        Ok(if regular {
            Self::File(file)
        } else {
            Self::Pipe {
                rest: Box::new(file),
                seen: Vec::new(),
            }
        })
    }

    /// The text from its start, to look at.
    pub(crate) fn look(&mut self) -> io::Result<BufReader<Box<dyn Read + '_>>> {
        Ok(BufReader::new(match self {
            Self::File(file) => {
                file.rewind()?;
                Box::new(file)
            }
            Self::Pipe { rest, seen } => Box::new(Replay { rest, seen, at: 0 }),
        }))
    }

    /// The whole text from its start, once and for all.
    pub(crate) fn into_reader(
        self,
        input: &Input,
        meter: Meter,
    ) -> Result<Box<dyn BufRead + Send>> {
        let whole: Box<dyn Read + Send> = match self {
            Self::File(mut file) => {
                file.rewind()
                    .map_err(|error| Failure::io(&input.name(), &error))?;
                Box::new(file)
            }
            Self::Pipe { rest, seen } => Box::new(Cursor::new(seen).chain(rest)),
        };
        Ok(Box::new(BufReader::with_capacity(
            1 << 18,
            Metered {
                inner: whole,
                meter,
            },
        )))
    }
}

/// What was seen, then what comes, which is kept as well.
struct Replay<'a> {
    rest: &'a mut dyn Read,
    seen: &'a mut Vec<u8>,
    at: usize,
}

impl Read for Replay<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut count = self.seen.get(self.at..).unwrap_or_default().read(out)?;
        if count == 0 {
            count = self.rest.read(out)?;
            self.seen
                .extend_from_slice(out.get(..count).unwrap_or_default());
        }
        self.at += count;
        Ok(count)
    }
}

/// Tells the progress bar what was read.
pub(crate) struct Metered<R> {
    pub(crate) inner: R,
    pub(crate) meter: Meter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.meter.add(count as u64);
        Ok(count)
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pipe_can_be_looked_at_twice_and_then_read_whole() {
        let text = (0..20_000)
            .map(|i| i.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        let mut sample = Sample::Pipe {
            rest: Box::new(Cursor::new(text.clone())),
            seen: Vec::new(),
        };
        for lines in [10, 5000, 3] {
            let looked: Vec<String> = sample
                .look()
                .unwrap()
                .lines()
                .take(lines)
                .map(Result::unwrap)
                .collect();
            assert_eq!(looked, text.lines().take(lines).collect::<Vec<_>>());
        }
        let mut whole = String::new();
        let input = Input::standard();
        sample
            .into_reader(&input, Meter::default())
            .unwrap()
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole, text);
    }
}
