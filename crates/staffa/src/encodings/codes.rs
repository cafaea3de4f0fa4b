//! Strings by codes: the entries of a dictionary, and the code of every row. Dictionary, run-end,
//! frequency and constant differ in the codes alone.

use staffa_kernels::BytesDict;

use super::prelude::*;
use crate::decode::{
    Appended, BytesDecoder, DictionaryStrings, Entries, LazyStrings, StringTest, filter_codes,
    no_code,
};

/// Strings by codes.
pub(super) struct CodedStrings<'a> {
    pub codes: Box<dyn Decoder<u32> + 'a>,
    pub strings: Entries<'a, LazyStrings<'a>>,
}

impl CodedStrings<'_> {
    /// What `f` makes of the codes of vector `v`.
    fn with_codes<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&BytesDict, &[u32]) -> Option<R>,
    ) -> Result<R> {
        let strings = self.strings.all()?;
        cx.with(vector_len(self.codes.len(), v), |cx, codes| {
            self.codes.vector(v, cx, codes)?;
            f(strings, codes).ok_or_else(|| {
                if codes.iter().any(|code| *code as usize >= strings.len()) {
                    no_code(codes, strings.len())
                } else {
                    Error::corrupt("strings longer than declared")
                }
            })
        })
    }
}

impl DictionaryStrings for CodedStrings<'_> {
    fn strings(&self) -> Result<&BytesDict> {
        self.strings.all()
    }

    fn shared(&self) -> bool {
        matches!(self.strings, Entries::Shared(_))
    }

    fn decoder(&self) -> &dyn Decoder<u32> {
        self.codes.as_ref()
    }
}

impl BytesDecoder for CodedStrings<'_> {
    fn len(&self) -> usize {
        self.codes.len()
    }

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let bytes = self.with_codes(v, cx, BytesDict::gathered_bytes)?;
        Ok(bytes as usize)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.with_codes(v, cx, |strings, codes| strings.gather(codes, lengths, out))
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut codes = vec![0; rows.len()];
        self.codes.take(rows, cx, &mut codes)?;
        self.strings.take(&codes, cx, out)
    }

    fn filter(&self, test: &StringTest<'_>, _: usize, cx: &mut Scratch) -> Result<Bitmap> {
        let passing = self.strings.filter(test, cx)?;
        filter_codes(self.codes.as_ref(), &passing, cx)
    }
}
