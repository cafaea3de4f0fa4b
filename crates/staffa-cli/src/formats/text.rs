//! Bytes of a text file to UTF-8: decompressed by their first bytes, decoded from other encodings.

use std::io::{self, Chain, Cursor, Read};

use encoding_rs::{Decoder, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::terminal::note;

/// Bytes that the encoding is found in.
pub(super) const START_BYTES: usize = 1 << 20;
/// The longest first bytes of a compressed file: of bzip2, with those of its first block.
const MAGIC_BYTES: usize = 10;

type Plain<R> = Chain<Cursor<Vec<u8>>, R>;

/// A file of gzip, Zstd or bzip2, or one that is not compressed.
enum Decompressed<R: Read> {
    Plain(Plain<R>),
    Gzip(flate2::read::MultiGzDecoder<Plain<R>>),
    Zstd(zstd::stream::read::Decoder<'static, io::BufReader<Plain<R>>>),
    Bzip2(bzip2::read::MultiBzDecoder<Plain<R>>),
}

impl<R: Read> Decompressed<R> {
    fn new(mut input: R) -> io::Result<Self> {
        let mut start = Vec::new();
        (&mut input)
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut start)?;
        let gzip = start.starts_with(&[0x1f, 0x8b]);
        let zstd = start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        // `BZh9` alone could begin a text.
        let block = start.get(4..).unwrap_or(&[]);
        let bzip2 = start.starts_with(b"BZh")
            && (block == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
                || block == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]);
        let input = Cursor::new(start).chain(input);
        Ok(if gzip {
            Self::Gzip(flate2::read::MultiGzDecoder::new(input))
        } else if zstd {
            Self::Zstd(zstd::stream::read::Decoder::new(input)?)
        } else if bzip2 {
            Self::Bzip2(bzip2::read::MultiBzDecoder::new(input))
        } else {
            Self::Plain(input)
        })
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(out),
            Self::Gzip(input) => input.read(out).map_err(|error| damaged("gzip", &error)),
            Self::Zstd(input) => input.read(out).map_err(|error| damaged("Zstd", &error)),
            Self::Bzip2(input) => input.read(out).map_err(|error| damaged("bzip2", &error)),
        }
    }
}

/// An error of a decompressor: all but those of the system are damaged bytes.
fn damaged(codec: &str, error: &io::Error) -> io::Error {
    if error.raw_os_error().is_some() {
        return io::Error::new(error.kind(), error.to_string());
    }
    let what = format!("the {codec} data is damaged or cut short ({error})");
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The bytes, decompressed if they begin as a compressed file does.
pub(super) fn decompressed<'a>(input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(Decompressed::new(input)?))
}

pub(super) fn decompressed_to_send(
    input: Box<dyn Read + Send>,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Decompressed::new(input)?))
}

/// The encoding that the first bytes of a text show: a byte order mark, the zero bytes of UTF-16, or
/// bytes that are not UTF-8. None is UTF-8, with or without a mark.
pub(super) fn find_charset(start: &[u8]) -> Option<&'static Encoding> {
    if let Some((marked, _)) = Encoding::for_bom(start) {
        return (marked != encoding_rs::UTF_8).then_some(marked);
    }
    let zeros = |odd: usize| {
        start
            .iter()
            .skip(odd)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let half = start.len() / 2;
    if half > 0 && zeros(1) * 2 > half && zeros(0) == 0 {
        return Some(UTF_16LE);
    }
    if half > 0 && zeros(0) * 2 > half && zeros(1) == 0 {
        return Some(UTF_16BE);
    }
    match std::str::from_utf8(start) {
        // Cut within a character.
        Err(error) if error.error_len().is_some() => Some(WINDOWS_1252),
        _ => None,
    }
}

/// Text of this encoding as UTF-8; None is UTF-8, of which only the mark at the start is removed.
pub(super) fn decoded<'a>(
    input: Box<dyn Read + 'a>,
    charset: Option<&'static Encoding>,
) -> Box<dyn Read + 'a> {
    match charset {
        Some(charset) if charset != encoding_rs::UTF_8 => Box::new(Decoded::new(input, charset)),
        _ => Box::new(WithoutMark::new(input)),
    }
}

pub(super) fn decoded_to_send(
    input: Box<dyn Read + Send>,
    charset: Option<&'static Encoding>,
) -> Box<dyn Read + Send> {
    match charset {
        Some(charset) if charset != encoding_rs::UTF_8 => Box::new(Decoded::new(input, charset)),
        _ => Box::new(WithoutMark::new(input)),
    }
}

/// UTF-8 as it is, invalid bytes included: the row that holds them is named later.
struct WithoutMark<R> {
    input: R,
    started: bool,
    /// The first bytes, if they are no mark.
    start: Cursor<Vec<u8>>,
}

impl<R: Read> WithoutMark<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            started: false,
            start: Cursor::default(),
        }
    }
}

impl<R: Read> Read for WithoutMark<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.started {
            self.started = true;
            let mut start = Vec::new();
            (&mut self.input).take(3).read_to_end(&mut start)?;
            if start != b"\xef\xbb\xbf" {
                self.start = Cursor::new(start);
            }
        }
        match self.start.read(out)? {
            0 => self.input.read(out),
            count => Ok(count),
        }
    }
}

/// Text of another encoding. A byte that does not belong to it becomes U+FFFD, which is said.
struct Decoded<R> {
    input: R,
    decoder: Decoder,
    bytes: Vec<u8>,
    text: Cursor<Vec<u8>>,
    ended: bool,
    /// Whether a byte did not belong to it.
    malformed: bool,
}

impl<R: Read> Decoded<R> {
    fn new(input: R, charset: &'static Encoding) -> Self {
        Self {
            input,
            decoder: charset.new_decoder_with_bom_removal(),
            bytes: Vec::new(),
            text: Cursor::default(),
            ended: false,
            malformed: false,
        }
    }

    /// Decodes the next bytes.
    fn refill(&mut self) -> io::Result<()> {
        self.bytes.clear();
        let read = (&mut self.input)
            .take(1 << 16)
            .read_to_end(&mut self.bytes)?;
        self.ended = read == 0;
        let room = self.decoder.max_utf8_buffer_length(read);
        let mut text = String::with_capacity(room.unwrap_or(1 << 18));
        let (_, _, malformed) = self
            .decoder
            .decode_to_string(&self.bytes, &mut text, self.ended);
        if malformed && !std::mem::replace(&mut self.malformed, true) {
            let name = self.decoder.encoding().name();
            note(&format!("bytes that are not {name} are read as U+FFFD"));
        }
        self.text = Cursor::new(text.into_bytes());
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(out)?;
            if count > 0 || self.ended || out.is_empty() {
                return Ok(count);
            }
            self.refill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let bytes = decompressed(Box::new(bytes)).unwrap();
        let mut whole = Vec::new();
        let charset = find_charset(&{
            let mut bytes = bytes;
            bytes.read_to_end(&mut whole).unwrap();
            whole.clone()
        });
        let mut text = String::new();
        decoded(Box::new(whole.as_slice()), charset)
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    #[test]
    fn encodings_are_found() {
        let utf16 = |text: &str, mark: bool, big: bool| -> Vec<u8> {
            let units = mark
                .then_some(0xfeff)
                .into_iter()
                .chain(text.encode_utf16());
            units
                .flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect()
        };
        let text = "name,größe\nünder,1\n";
        assert_eq!(read(text.as_bytes()), text);
        assert_eq!(read(&[b"\xef\xbb\xbf", text.as_bytes()].concat()), text);
        for (mark, big) in [(true, true), (true, false), (false, true), (false, false)] {
            assert_eq!(read(&utf16(text, mark, big)), text, "{mark} {big}");
        }
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        assert_eq!(read(&latin), text);
        assert_eq!(read(b""), "");
    }

    #[test]
    fn compressed_text_is_found_by_its_first_bytes() {
        let text = "a,b\n1,2\n".repeat(1000);
        let mut gzip = flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::fast());
        let mut bytes = Vec::new();
        gzip.read_to_end(&mut bytes).unwrap();
        assert_eq!(read(&bytes), text);
        // Several members, as `cat a.gz b.gz` makes them.
        assert_eq!(read(&bytes.repeat(2)), text.repeat(2));
        assert_eq!(read(&zstd::encode_all(text.as_bytes(), 1).unwrap()), text);
        let mut bzip2 = bzip2::read::BzEncoder::new(text.as_bytes(), bzip2::Compression::fast());
        let mut packed = Vec::new();
        bzip2.read_to_end(&mut packed).unwrap();
        assert_eq!(read(&packed), text);
        assert_eq!(read(b"BZh9,b\n1,2\n"), "BZh9,b\n1,2\n");
        let mut cut = decompressed(Box::new(&bytes[..bytes.len() / 2])).unwrap();
        let error = cut.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
