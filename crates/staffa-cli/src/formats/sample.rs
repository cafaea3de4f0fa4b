//! Text that is read twice: once to infer the types, once for the rows.
//!
//! A file is read again from its start. The start of a pipe is kept and replayed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use super::options::ReadOptions;
use super::text;
use crate::error::Result;
use crate::files::input::Input;
use crate::terminal::note;
use crate::terminal::progress::Meter;

/// Text whose start can be read several times before all of it is read once.
pub(crate) struct Sample {
    source: Source,
    charset: Option<&'static encoding_rs::Encoding>,
    name: String,
}

enum Source {
    File(File),
    Pipe {
        rest: Box<dyn Read + Send>,
        seen: Vec<u8>,
    },
}

impl Sample {
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let pipe = |rest| Source::Pipe {
            rest,
            seen: Vec::new(),
        };
        let source = if input.is_standard() {
            pipe(Box::new(io::stdin()))
        } else {
            let file = input.open()?;
            let metadata = file.metadata().map_err(|error| input.io_error(&error))?;
            if metadata.is_file() {
                Source::File(file)
            } else {
                pipe(Box::new(file))
            }
        };
        let mut sample = Self {
            source,
            charset: options.charset,
            name: input.name(),
        };
        if sample.charset.is_none() {
            let found = sample.find_charset();
            sample.charset = found.map_err(|error| input.io_error(&error))?;
        }
        Ok(sample)
    }

    /// Reads from the start, to infer types.
    pub(crate) fn peek(&mut self) -> io::Result<BufReader<Box<dyn Read + '_>>> {
        let charset = self.charset;
        let bytes = text::decompressed(self.bytes()?)?;
        Ok(BufReader::new(text::decoded(bytes, charset)))
    }

    /// The whole text.
    pub(crate) fn into_reader(
        self,
        input: &Input,
        meter: Meter,
    ) -> Result<Box<dyn BufRead + Send>> {
        let fail = |error: io::Error| input.io_error(&error);
        let whole: Box<dyn Read + Send> = match self.source {
            Source::File(mut file) => {
                file.rewind().map_err(fail)?;
                Box::new(file)
            }
            Source::Pipe { rest, seen } => Box::new(Cursor::new(seen).chain(rest)),
        };
        let metered = Metered {
            inner: whole,
            meter,
        };
        let bytes = text::decompressed_to_send(Box::new(metered)).map_err(fail)?;
        let text = text::decoded_to_send(bytes, self.charset);
        Ok(Box::new(BufReader::with_capacity(1 << 18, text)))
    }

    /// The bytes of the file, from the start.
    fn bytes(&mut self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &mut self.source {
            Source::File(file) => {
                file.rewind()?;
                Box::new(file)
            }
            Source::Pipe { rest, seen } => Box::new(Replay {
                rest,
                seen,
                offset: 0,
            }),
        })
    }

    /// The encoding of the text by its first bytes; says so on stderr if it is a guess.
    fn find_charset(&mut self) -> io::Result<Option<&'static encoding_rs::Encoding>> {
        let mut start = Vec::new();
        let most = match self.source {
            Source::File(_) => text::START_BYTES,
            // Who writes slowly is not waited for longer.
            Source::Pipe { .. } => text::START_BYTES / 16,
        };
        let bytes = text::decompressed(self.bytes()?)?;
        bytes.take(most as u64).read_to_end(&mut start)?;
        let found = text::find_charset(&start);
        if found == Some(encoding_rs::WINDOWS_1252) {
            note(&format!(
                "{} is not UTF-8 and is read as windows-1252; --charset names another encoding",
                self.name
            ));
        }
        Ok(found)
    }
}

/// The text seen before, then the rest, which is kept as well.
struct Replay<'a> {
    rest: &'a mut dyn Read,
    seen: &'a mut Vec<u8>,
    offset: usize,
}

impl Read for Replay<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let too_long = || io::Error::other("a reader returned more bytes than fit its buffer");
        let mut replayed = self.seen.get(self.offset..).ok_or_else(too_long)?;
        let mut count = replayed.read(out)?;
        if count == 0 {
            count = self.rest.read(out)?;
            self.seen
                .extend_from_slice(out.get(..count).ok_or_else(too_long)?);
        }
        self.offset += count;
        Ok(count)
    }
}

/// Counts the bytes read, for the progress bar.
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
    fn a_pipe_can_be_peeked_at_twice_and_then_read_whole() {
        let text = (0..20_000)
            .map(|i| i.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        let mut sample = Sample {
            source: Source::Pipe {
                rest: Box::new(Cursor::new(text.clone())),
                seen: Vec::new(),
            },
            charset: None,
            name: "t.csv".into(),
        };
        for lines in [10, 5000, 3] {
            let peeked: Vec<String> = sample
                .peek()
                .unwrap()
                .lines()
                .take(lines)
                .map(Result::unwrap)
                .collect();
            assert_eq!(peeked, text.lines().take(lines).collect::<Vec<_>>());
        }
        let mut whole = String::new();
        let input = Input::missing("t.csv");
        sample
            .into_reader(&input, Meter::default())
            .unwrap()
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole, text);
    }
}
