//! Byte strings: a slice of offsets into a slice of bytes.

/// Byte strings: string `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    /// One more than there are strings; never decreasing. The first need not be 0.
    pub offsets: &'a [u32],
    /// What the offsets point into.
    pub data: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `i`; empty where there is none.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        match self.offsets.get(i..i + 2) {
            Some(&[start, end]) => self
                .data
                .get(start as usize..end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let data = self.data;
        self.offsets
            .windows(2)
            .map(move |w| data.get(w[0] as usize..w[1] as usize).unwrap_or_default())
    }

    /// All strings, one after another.
    pub fn contents(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(&first), Some(&last)) => self
                .data
                .get(first as usize..last as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Length of every string.
    pub fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|w| w[1] - w[0]).collect()
    }

    /// Strings `start..start + len`, borrowed.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        Self {
            offsets: self.offsets.get(start..=start + len).unwrap_or_default(),
            data: self.data,
        }
    }
}

/// Byte strings that own their memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringsBuf {
    /// As in [`Strings`]; begins with 0.
    pub offsets: Vec<u32>,
    /// As in [`Strings`].
    pub data: Vec<u8>,
}

impl StringsBuf {
    /// No strings yet.
    pub fn new() -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
        }
    }

    /// Appends one.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.offsets.push(self.data.len() as u32);
    }

    /// Borrows them.
    pub fn as_strings(&self) -> Strings<'_> {
        Strings {
            offsets: &self.offsets,
            data: &self.data,
        }
    }
}

impl<'a> FromIterator<&'a [u8]> for StringsBuf {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let mut out = Self::new();
        strings.into_iter().for_each(|s| out.push(s));
        out
    }
}
