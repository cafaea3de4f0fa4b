//! The checked cursor, which reads all numbers of a file. FORMAT.md, section 1.
//!
//! ```text
//! u8 u16 u32 u64   little-endian          varint   LEB128 in its shortest form
//! prefixed         bytes: varint | bytes  text     prefixed UTF-8
//! ```

use crate::error::{Error, Result};

/// Reads little-endian numbers and byte runs from the front of a slice; never past its end.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.position.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.position..end)) {
            Some(found) => {
                self.position += count;
                Ok(found)
            }
            None => Err(self.too_few(count)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let left = self.bytes.get(self.position..).unwrap_or_default();
        match left.first_chunk::<N>() {
            Some(found) => {
                self.position += N;
                Ok(*found)
            }
            None => Err(self.too_few(N)),
        }
    }

    #[cold]
    fn too_few(&self, count: usize) -> Error {
        Error::truncated(format!(
            "{count} bytes expected after {}, found {}",
            self.position,
            self.remaining()
        ))
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A LEB128 number of at most 64 bits in its shortest form, so that a number has one form.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        match self.bytes.get(self.position) {
            Some(byte) if *byte < 0x80 => {
                self.position += 1;
                Ok((*byte).into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let start = self.position;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || shift > 0 && byte == 0 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::corrupt(format!(
            "a LEB128 number of at most 64 bits in its shortest form expected at {start}"
        )))
    }

    /// A LEB128 number that must not exceed `max`; `what` names it.
    pub fn varint_up_to(&mut self, max: u64, what: &str) -> Result<usize> {
        let value = self.varint()?;
        if value > max {
            return Err(Error::corrupt(format!(
                "{what} at most {max} expected, found {value}"
            )));
        }
        Ok(value as usize)
    }

    /// A byte run preceded by its length as LEB128.
    pub fn prefixed(&mut self) -> Result<&'a [u8]> {
        let len = self.varint()?;
        self.bytes(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// UTF-8 text preceded by its length in bytes.
    pub fn text(&mut self, what: &str) -> Result<&'a str> {
        std::str::from_utf8(self.prefixed()?)
            .map_err(|e| Error::corrupt(format!("{what} must be UTF-8: {e}")))
    }

    /// Refuses bytes that are left over.
    pub fn finish(&self, what: &str) -> Result<()> {
        if self.remaining() > 0 {
            return Err(Error::corrupt(format!(
                "{what} ends at {}, but {} bytes follow",
                self.position,
                self.remaining()
            )));
        }
        Ok(())
    }
}

/// Appends a LEB128 number.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a byte run preceded by its length.
pub fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_and_have_one_form() {
        for value in [
            0,
            1,
            127,
            128,
            300,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.varint().unwrap(), value);
            cursor.finish("number").unwrap();
        }
        for bad in [
            &[0x80u8, 0][..],
            &[0xff; 10],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            &[0x80],
        ] {
            assert!(Cursor::new(bad).varint().is_err(), "{bad:?}");
        }
    }
}
