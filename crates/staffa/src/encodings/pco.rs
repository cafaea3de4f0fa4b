//! pco: numbers as bins and offsets, the bins by asymmetric numeral systems, after differences and
//! a common factor (pcodec, its wrapped format).
//!
//! ```text
//! payload = number: u8 (0 unsigned, 1 signed, 2 float) | page bytes: varint * vectors | header | chunk | page * vectors
//! ```
//!
//! A page is a vector, so that each is decoded alone, at the price of a hundredth of the bytes on
//! most columns. Differences are of neighbours or none: a lookback would need the vectors before.
//!
//! The crate reads bits in unsafe code, on checked sizes. Modes that it was not tested with, and
//! sizes that would allocate much memory, are refused before: see `docs/decisions/0014-pco.md`.

use std::sync::{Mutex, PoisonError};

use ::pco::data_types::Number;
use ::pco::metadata::{DeltaEncoding, Mode};
use ::pco::wrapped::{ChunkDecompressor, FileCompressor, FileDecompressor};
use ::pco::{ChunkConfig, DecompressorScratch, DeltaSpec, PagingSpec};

use super::prelude::*;
use crate::format::put_varint;

/// Fewer values are not worth bins of their own.
const LEAST: usize = 256;

/// The level of a block, and that of an estimate.
const LEVEL: usize = 12;
const ESTIMATED: usize = 8;

/// The one version of a chunk that is read: the version written.
const FORMAT: (u8, u8) = (4, 1);

/// The low four bits of a chunk whose values are in a dictionary.
const DICT: u8 = 4;

/// The most bytes that a state of the bins takes in memory: a bin of its own, its node, its lower
/// bound.
const STATE_BYTES: u64 = 36;

/// See the [module](self).
pub struct Pco;

impl Encoding for Pco {
    fn info(&self) -> &Info {
        &Info {
            id: 29,
            name: "pco",
            about: "numbers as bins and offsets in them, after differences or a common factor (pcodec), level 12",
            availability: Availability::Small,
            decode_picos: 5000,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        match ty {
            PhysicalType::U16 => kind != Kind::Float,
            PhysicalType::U32 | PhysicalType::U64 => true,
            _ => false,
        }
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        values.len() >= LEAST
    }

    /// A sample says little of bins: all values are compressed, at a lower level.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        Ok(encode(values, stats.kind(), chooser, ESTIMATED)?.map(|node| node.size()))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode(values, stats.kind(), chooser, LEVEL)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        match (node.ty, node.payload.first()) {
            (PhysicalType::U16, Some(0)) => open::<u16, u16>(node, cx),
            (PhysicalType::U16, Some(1)) => open::<u16, i16>(node, cx),
            (PhysicalType::U32, Some(0)) => open::<u32, u32>(node, cx),
            (PhysicalType::U32, Some(1)) => open::<u32, i32>(node, cx),
            (PhysicalType::U32, Some(2)) => open::<u32, f32>(node, cx),
            (PhysicalType::U64, Some(0)) => open::<u64, u64>(node, cx),
            (PhysicalType::U64, Some(1)) => open::<u64, i64>(node, cx),
            (PhysicalType::U64, Some(2)) => open::<u64, f64>(node, cx),
            (ty, number) => Err(Error::corrupt(format!(
                "number of {ty:?} at most 2, found {number:?}"
            ))),
        }
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.payload.first() {
            Some(0) => "unsigned".into(),
            Some(1) => "signed".into(),
            Some(2) => "float".into(),
            _ => String::new(),
        }
    }
}

/// A number of pco for a word.
trait OfWord<T>: Number + Default {
    fn of_word(word: T) -> Self;
    fn word(self) -> T;
}

macro_rules! of_word {
    ($($word:ty: $number:ty, $of:expr, $to:expr;)*) => {$(
        impl OfWord<$word> for $number {
            #[inline]
            fn of_word(word: $word) -> Self {
                $of(word)
            }

            #[inline]
            fn word(self) -> $word {
                $to(self)
            }
        }
    )*};
}
of_word! {
    u16: u16, u16::from, u16::from;
    u32: u32, u32::from, u32::from;
    u64: u64, u64::from, u64::from;
    u16: i16, u16::cast_signed, i16::cast_unsigned;
    u32: i32, u32::cast_signed, i32::cast_unsigned;
    u64: i64, u64::cast_signed, i64::cast_unsigned;
    u32: f32, f32::from_bits, f32::to_bits;
    u64: f64, f64::from_bits, f64::to_bits;
}

fn encode(
    values: Values<'_>,
    kind: Kind,
    chooser: &Chooser<'_>,
    level: usize,
) -> Result<Option<Node>> {
    if chooser.is_trial() {
        return Ok(None);
    }
    let payload = match (values, kind) {
        (Values::U16(words), Kind::Signed) => compressed::<_, i16>(1, words, level),
        (Values::U16(words), _) => compressed::<_, u16>(0, words, level),
        (Values::U32(words), Kind::Float) => compressed::<_, f32>(2, words, level),
        (Values::U32(words), Kind::Signed) => compressed::<_, i32>(1, words, level),
        (Values::U32(words), _) => compressed::<_, u32>(0, words, level),
        (Values::U64(words), Kind::Float) => compressed::<_, f64>(2, words, level),
        (Values::U64(words), Kind::Signed) => compressed::<_, i64>(1, words, level),
        (Values::U64(words), _) => compressed::<_, u64>(0, words, level),
        _ => return Ok(None),
    };
    let payload = payload.map_err(|e| Error::unsupported(format!("pco: {e}")))?;
    node(&Pco, values, payload, vec![])
}

fn compressed<T: Decodable, N: OfWord<T>>(
    number: u8,
    words: &[T],
    level: usize,
) -> ::pco::errors::PcoResult<Vec<u8>> {
    let mut out = vec![number];
    if words.is_empty() {
        return Ok(out);
    }
    let numbers: Vec<N> = words.iter().map(|word| N::of_word(*word)).collect();
    let pages = (0..words.len().div_ceil(VECTOR))
        .map(|v| vector_len(words.len(), v))
        .collect();
    let config = ChunkConfig::default()
        .with_compression_level(level)
        .with_paging_spec(PagingSpec::Exact(pages));
    let file = FileCompressor::default();
    let mut chunk = file.chunk_compressor(&numbers, &config)?;
    if matches!(
        chunk.meta().delta_encoding,
        DeltaEncoding::Lookback { .. } | DeltaEncoding::Conv1(_)
    ) {
        let first_order = config.with_delta_spec(DeltaSpec::TryConsecutive(1));
        chunk = file.chunk_compressor(&numbers, &first_order)?;
    }
    let mut bytes = chunk.write_meta(file.write_header(Vec::new())?)?;
    for page in 0..chunk.n_per_page().len() {
        let start = bytes.len();
        bytes = chunk.write_page(page, bytes)?;
        put_varint(&mut out, (bytes.len() - start) as u64);
    }
    out.extend_from_slice(&bytes);
    Ok(out)
}

fn open<'a, T: Decodable, N: OfWord<T> + 'a>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    let mut cursor = node.cursor();
    cursor.u8()?;
    let vectors = node.len.div_ceil(VECTOR);
    cx.budget.count_beside((vectors as u64 + 1) * 8);
    let (mut ends, mut end) = (vec![0], 0);
    for _ in 0..vectors {
        end += cursor.varint_up_to(node.payload.len() as u64, "bytes of a page")?;
        ends.push(end);
    }
    let rest = cursor.bytes(cursor.remaining())?;
    let (chunk, pages) = if node.len == 0 {
        (None, rest)
    } else {
        let (chunk, pages) = open_chunk::<N>(rest, cx)?;
        (Some(chunk), pages)
    };
    let found = pages.len();
    corrupt_if!(found != end, "pages of {end} bytes expected, found {found}");
    Ok(T::wrap(Box::new(Pages {
        chunk,
        pages,
        ends,
        len: node.len,
        scratch: Mutex::default(),
    })))
}

/// The chunk of a payload, and its pages; counts the memory of its bins.
fn open_chunk<'a, N: Number>(
    bytes: &'a [u8],
    cx: &mut OpenContext<'_>,
) -> Result<(ChunkDecompressor<N>, &'a [u8])> {
    let corrupt = |e: ::pco::errors::PcoError| Error::corrupt(e.to_string());
    let (file, rest) = FileDecompressor::new(bytes).map_err(corrupt)?;
    let format = file.format_version();
    if (format.major, format.minor) != FORMAT {
        return Err(Error::unsupported(format!(
            "pco's format {}.{} expected, found {format}",
            FORMAT.0, FORMAT.1
        )));
    }
    // The crate would allocate as many values as the chunk claims.
    let is_dictionary = rest.first().is_none_or(|first| first & 15 >= DICT);
    corrupt_if!(is_dictionary, "a chunk of modes 0 to 3 expected");
    let (chunk, pages) = file.chunk_decompressor::<N, _>(rest).map_err(corrupt)?;
    let meta = chunk.meta();
    let is_near = matches!(
        meta.delta_encoding,
        DeltaEncoding::NoOp | DeltaEncoding::Consecutive { .. }
    );
    let is_read = is_near && !matches!(meta.mode, Mode::Dict(_));
    corrupt_if!(!is_read, "differences of neighbours, or none, expected");
    let latents = &meta.per_latent_var;
    let others = [latents.delta.as_ref(), latents.secondary.as_ref()];
    for latent in others.into_iter().flatten().chain([&latents.primary]) {
        cx.budget
            .count_beside(STATE_BYTES << latent.ans_size_log.min(32));
    }
    let vector = size_of::<DecompressorScratch>() + VECTOR * size_of::<N>();
    cx.budget.count_beside(vector as u64);
    Ok((chunk, pages))
}

/// A chunk and its pages, one for each vector.
struct Pages<'a, N: Number> {
    /// `None` where there are no values.
    chunk: Option<ChunkDecompressor<N>>,
    pages: &'a [u8],
    /// 0, and where the page of every vector ends.
    ends: Vec<usize>,
    len: usize,
    /// Scratch memory of decoding, kept for the next vector.
    scratch: Mutex<Option<(DecompressorScratch, Vec<N>)>>,
}

impl<T: Decodable, N: OfWord<T>> Decoder<T> for Pages<'_, N> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let corrupt = |e: ::pco::errors::PcoError| Error::corrupt(format!("page {v}: {e}"));
        let pages = self.chunk.as_ref().zip(self.ends.array_windows().nth(v));
        let page =
            pages.and_then(|(chunk, [start, end])| Some((chunk, self.pages.get(*start..*end)?)));
        let (chunk, page) = page.ok_or_else(|| Error::internal(format!("page {v} expected")))?;
        let kept = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut scratch, mut numbers) = kept().take().unwrap_or_default();
        numbers.resize(VECTOR, N::default());
        let into = places(&mut numbers, out.len())?;
        let mut decompressor = chunk
            .page_decompressor_with_scratch(page, into.len(), &mut scratch)
            .map_err(corrupt)?;
        let progress = decompressor.read(into).map_err(corrupt)?;
        let left = decompressor.into_src().len();
        if progress.n_processed != into.len() || !progress.finished || left > 0 {
            return Err(Error::corrupt(format!(
                "page {v}: {} values and nothing else expected",
                into.len()
            )));
        }
        out.iter_mut()
            .zip(into)
            .for_each(|(out, number)| *out = number.word());
        *kept() = Some((scratch, numbers));
        Ok(())
    }
}

crate::conformance!(Pco);
