//! Batches to vectors of DuckDB, 2,048 values each.
//!
//! Values with the same layout on both sides are copied: numbers, dates, most timestamps, strings of up
//! to 12 bytes; decimals are narrowed to the width of DuckDB. DuckDB's own importer of Arrow handles all
//! other types, and its vectors refer to the batch.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID as Id};
use duckdb_neo::{Error, Result};

use crate::border::{self, Importer, VECTOR_ROWS};
use crate::error::{internal, of_text};

/// How the values of a column get into a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// Words of this many bytes, copied.
    Words(usize),
    /// 8-byte integers, narrowed to this many bytes.
    Decimal(usize),
    /// Views, copied as 16-byte words if all strings are stored inside them.
    Views,
    /// Bits, expanded to bytes.
    Bits,
    /// DuckDB's importer.
    Import,
}

/// A column of the current batch.
enum Values {
    Copied(Conversion, ArrayData),
    Imported,
}

/// Writes the batches of one thread to vectors.
pub(crate) struct VectorWriter {
    conversions: Vec<Conversion>,
    /// One per column that may need it, with its schema of one field.
    importers: Vec<Option<(SchemaRef, Importer)>>,
    values: Vec<Values>,
    rows: usize,
    /// Rows of the batch written so far.
    written: usize,
}

impl VectorWriter {
    pub(crate) fn new(context: &Context, schema: &Schema) -> Result<Self> {
        let types = border::columns(context, schema)?;
        let conversions = schema
            .fields()
            .iter()
            .zip(&types)
            .map(|(field, (_, ty))| conversion(field.data_type(), ty));
        let conversions = conversions.collect::<Result<Vec<_>>>()?;
        let importers = schema
            .fields()
            .iter()
            .zip(&conversions)
            .map(|(field, conversion)| {
                if !matches!(conversion, Conversion::Views | Conversion::Import) {
                    return Ok(None);
                }
                let schema = Arc::new(Schema::new(vec![field.clone()]));
                Ok(Some((schema.clone(), Importer::new(context, &schema)?)))
            });
        let importers = importers.collect::<Result<_>>()?;
        Ok(Self {
            conversions,
            importers,
            values: Vec::new(),
            rows: 0,
            written: 0,
        })
    }

    /// Starts the next batch.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.values.clear();
        for ((column, conversion), importer) in batch
            .columns()
            .iter()
            .zip(&self.conversions)
            .zip(&mut self.importers)
        {
            let data = column.to_data();
            let copied = match conversion {
                Conversion::Import => false,
                Conversion::Views => all_inline(&data)?,
                _ => true,
            };
            self.values.push(if copied {
                Values::Copied(*conversion, data)
            } else {
                let (schema, importer) = importer
                    .as_mut()
                    .ok_or_else(|| internal("a column without its importer"))?;
                importer.push(
                    RecordBatch::try_new(schema.clone(), vec![column.clone()]).map_err(of_text)?,
                )?;
                Values::Imported
            });
        }
        (self.rows, self.written) = (batch.num_rows(), 0);
        Ok(())
    }

    /// Writes the next rows to the output; false if the batch has no more rows.
    pub(crate) fn write(&mut self, output: &mut DataChunkRef<'_>) -> Result<bool> {
        let start = self.written;
        let rows = (self.rows - start).min(VECTOR_ROWS);
        if rows == 0 {
            self.values.clear();
            return Ok(false);
        }
        // DuckDB takes the number of rows from the first vector; an imported vector has it already.
        for (column, values) in self.values.iter().enumerate() {
            match values {
                Values::Copied(conversion, data) => {
                    copy(*conversion, data, start, rows, output, column)?;
                }
                Values::Imported => match self.importers.get_mut(column) {
                    Some(Some((_, importer))) => importer.pull(output, column)?,
                    _ => return Err(internal("a column without its importer")),
                },
            }
        }
        self.written += rows;
        Ok(true)
    }
}

/// The conversion of an Arrow type to a DuckDB type.
fn conversion(arrow: &DataType, duckdb: &LogicalType) -> Result<Conversion> {
    Ok(match (arrow, duckdb.id()?) {
        (DataType::Boolean, Id::Boolean) => Conversion::Bits,
        (DataType::Int8, Id::TinyInt) | (DataType::UInt8, Id::UTinyInt) => Conversion::Words(1),
        (DataType::Int16, Id::SmallInt) | (DataType::UInt16, Id::USmallInt) => Conversion::Words(2),
        (DataType::Int32, Id::Integer)
        | (DataType::UInt32, Id::UInteger)
        | (DataType::Float32, Id::Float)
        | (DataType::Date32, Id::Date) => Conversion::Words(4),
        (DataType::Int64, Id::BigInt)
        | (DataType::UInt64, Id::UBigInt)
        | (DataType::Float64, Id::Double)
        | (DataType::Time64(TimeUnit::Microsecond), Id::Time)
        | (DataType::Timestamp(TimeUnit::Second, None), Id::TimestampSec)
        | (DataType::Timestamp(TimeUnit::Millisecond, None), Id::TimestampMs)
        | (DataType::Timestamp(TimeUnit::Microsecond, None), Id::Timestamp)
        | (DataType::Timestamp(TimeUnit::Nanosecond, None), Id::TimestampNs)
        | (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), Id::TimestampTz) => {
            Conversion::Words(8)
        }
        (DataType::Decimal64(precision, scale), Id::Decimal) if *scale >= 0 => match precision {
            ..=4 => Conversion::Decimal(2),
            ..=9 => Conversion::Decimal(4),
            _ => Conversion::Words(8),
        },
        (DataType::Decimal128(.., scale), Id::Decimal) if *scale >= 0 => Conversion::Words(16),
        (DataType::Utf8View, Id::Varchar) | (DataType::BinaryView, Id::Blob) => Conversion::Views,
        _ => Conversion::Import,
    })
}

/// Whether all strings are stored inside their views.
fn all_inline(data: &ArrayData) -> Result<bool> {
    let (views, longer) = data.buffers().split_first().ok_or_else(too_short)?;
    let (views, _) = views.as_slice().as_chunks::<16>();
    let views = views
        .get(data.offset()..data.offset() + data.len())
        .ok_or_else(too_short)?;
    let length = |[a, b, c, d, ..]: &[u8; 16]| u32::from_le_bytes([*a, *b, *c, *d]);
    // Without a branch per view.
    Ok(longer.is_empty()
        && views
            .iter()
            .fold(true, |all, view| all & (length(view) <= 12)))
}

fn too_short() -> Error {
    internal("an array is shorter than its batch")
}

/// Copies rows from `start` on into a vector.
fn copy(
    conversion: Conversion,
    data: &ArrayData,
    start: usize,
    rows: usize,
    output: &mut DataChunkRef<'_>,
    column: usize,
) -> Result<()> {
    let first = data.offset() + start;
    let buffer = data.buffers().first().ok_or_else(too_short)?;
    let words = |width: usize| {
        let words = buffer.as_slice().get(first * width..(first + rows) * width);
        words.ok_or_else(too_short)
    };
    match conversion {
        Conversion::Words(width) => {
            copy_words(words(width)?, border::memory(output, column, width)?)?;
        }
        Conversion::Views => copy_words(words(16)?, border::memory(output, column, 16)?)?,
        Conversion::Decimal(width) => {
            let (from, to) = (words(8)?, border::memory(output, column, width)?);
            let fits = match width {
                2 => narrow(from, to, |word| (word as i16).to_le_bytes())?,
                4 => narrow(from, to, |word| (word as i32).to_le_bytes())?,
                _ => return Err(internal("a decimal of an unknown width")),
            };
            if !fits {
                check_overflow(from, width, data, start)?;
            }
        }
        Conversion::Bits => {
            let bits = BooleanBuffer::new(buffer.clone(), first, rows);
            let bytes = border::memory(output, column, 1)?;
            let bytes = bytes.iter_mut().zip(&bits);
            bytes.for_each(|(byte, bit)| *byte = bit.into());
        }
        Conversion::Import => return Err(internal("an imported column is not copied")),
    }
    copy_validity(data, start, rows, output, column)?;
    border::set_rows(output, column, rows)
}

fn copy_validity(
    data: &ArrayData,
    start: usize,
    rows: usize,
    output: &mut DataChunkRef<'_>,
    column: usize,
) -> Result<()> {
    let Some(nulls) = data.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(());
    };
    let nulls = nulls.slice(start, rows);
    if nulls.null_count() > 0 {
        let words = border::validity(output, column)?;
        let valid = nulls.inner().bit_chunks();
        words
            .iter_mut()
            .zip(valid.iter_padded())
            .for_each(|(word, valid)| *word = valid);
    }
    Ok(())
}

fn copy_words(from: &[u8], to: &mut [u8]) -> Result<()> {
    let to = to.get_mut(..from.len()).ok_or_else(too_short)?;
    to.copy_from_slice(from);
    Ok(())
}

/// Copies the low bytes of 8-byte integers; returns whether all integers fit.
fn narrow<const WIDTH: usize>(
    from: &[u8],
    to: &mut [u8],
    low_bytes: impl Fn(i64) -> [u8; WIDTH],
) -> Result<bool> {
    let (from, _) = from.as_chunks::<8>();
    let (to, _) = to.as_chunks_mut::<WIDTH>();
    let to = to.get_mut(..from.len()).ok_or_else(too_short)?;
    let mut overflow = 0;
    for (to, from) in to.iter_mut().zip(from) {
        let word = i64::from_le_bytes(*from);
        *to = low_bytes(word);
        overflow |= high_bits(word, WIDTH);
    }
    Ok(overflow == 0)
}

/// 0 if the integer fits `width` bytes, of which there are fewer than 8.
fn high_bits(word: i64, width: usize) -> u64 {
    // No shift of a sign: such loops vectorise on every machine.
    word.wrapping_add(1 << (width * 8 - 1)).cast_unsigned() >> (width * 8)
}

/// Refuses a value that does not fit `width` bytes, unless its row is NULL.
fn check_overflow(from: &[u8], width: usize, data: &ArrayData, start: usize) -> Result<()> {
    let (from, _) = from.as_chunks::<8>();
    let mut words = from
        .iter()
        .map(|word| i64::from_le_bytes(*word))
        .enumerate();
    let overflows =
        |(row, word): &(usize, i64)| high_bits(*word, width) != 0 && data.is_valid(start + row);
    match words.find(overflows) {
        Some((_, word)) => Err(Error::invalid_input(format!(
            "a value of a column of type {} has too many digits: {word}",
            data.data_type(),
        ))),
        None => Ok(()),
    }
}
