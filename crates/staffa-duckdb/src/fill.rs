//! Batches become DuckDB's vectors of 2,048 values.
//!
//! Where both lay values out alike (numbers, dates, most timestamps, strings of up to 12 bytes)
//! they are copied, decimals in the width that DuckDB has for them. All else goes through DuckDB's
//! own importer of Arrow, and its vectors refer to the batch.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID as Id};
use duckdb_neo::{Error, Result};

use crate::border::{self, Importer, VECTOR_ROWS};
use crate::error::of_text;

/// How a column comes into its vector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Words of so many bytes, alike on both sides.
    Words(usize),
    /// Integers of 16 bytes that have room in so many.
    Decimal(usize),
    /// Views, as words of 16 bytes where all strings lie in them.
    Views,
    /// Bits that become bytes.
    Bits,
    /// DuckDB's importer.
    Import,
}

/// A column of the batch at hand.
enum Values {
    Own(Way, ArrayData),
    Imported,
}

/// One thread's way from batches to vectors.
pub(crate) struct Filler {
    ways: Vec<Way>,
    /// One for each column that may need it, for columns of its type.
    importers: Vec<Option<(SchemaRef, Importer)>>,
    values: Vec<Values>,
    rows: usize,
    /// Rows of the batch that are done.
    at: usize,
}

impl Filler {
    pub(crate) fn new(context: &Context, handed: &Schema) -> Result<Self> {
        let types = border::columns(context, handed)?;
        let ways = handed
            .fields()
            .iter()
            .zip(&types)
            .map(|(field, (_, ty))| way(field.data_type(), ty));
        let ways = ways.collect::<Result<Vec<_>>>()?;
        let importers = handed.fields().iter().zip(&ways).map(|(field, way)| {
            if !matches!(way, Way::Views | Way::Import) {
                return Ok(None);
            }
            let schema = Arc::new(Schema::new(vec![field.clone()]));
            Ok(Some((schema.clone(), Importer::new(context, &schema)?)))
        });
        let importers = importers.collect::<Result<_>>()?;
        Ok(Self {
            ways,
            importers,
            values: Vec::new(),
            rows: 0,
            at: 0,
        })
    }

    /// Takes the next batch.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.values.clear();
        for ((column, way), importer) in batch
            .columns()
            .iter()
            .zip(&self.ways)
            .zip(&mut self.importers)
        {
            let data = column.to_data();
            let own = *way != Way::Import && (*way != Way::Views || all_short(&data));
            self.values.push(if own {
                Values::Own(*way, data)
            } else {
                let (schema, importer) = importer
                    .as_mut()
                    .ok_or_else(|| Error::api_error("no importer"))?;
                importer.push(
                    RecordBatch::try_new(schema.clone(), vec![column.clone()]).map_err(of_text)?,
                )?;
                Values::Imported
            });
        }
        (self.rows, self.at) = (batch.num_rows(), 0);
        Ok(())
    }

    /// Makes the output the next rows; false where there are none.
    pub(crate) fn fill(&mut self, output: &mut DataChunkRef<'_>) -> Result<bool> {
        let (at, rows) = (self.at, (self.rows - self.at).min(VECTOR_ROWS));
        if rows == 0 {
            self.values.clear();
            return Ok(false);
        }
        // Own ones first: the size stands in the first vector, and one that refers to another has
        // it already.
        for (column, values) in self.values.iter().enumerate() {
            match values {
                Values::Own(way, data) => copy(*way, data, at, rows, output, column)?,
                Values::Imported => match self.importers.get_mut(column) {
                    Some(Some((_, importer))) => importer.pull(output, column)?,
                    _ => return Err(Error::api_error("no importer")),
                },
            }
        }
        self.at += rows;
        Ok(true)
    }
}

/// How a column of this Arrow type becomes one of that DuckDB type.
fn way(arrow: &DataType, duckdb: &LogicalType) -> Result<Way> {
    Ok(match (arrow, duckdb.id()?) {
        (DataType::Boolean, Id::Boolean) => Way::Bits,
        (DataType::Int8, Id::TinyInt) | (DataType::UInt8, Id::UTinyInt) => Way::Words(1),
        (DataType::Int16, Id::SmallInt) | (DataType::UInt16, Id::USmallInt) => Way::Words(2),
        (DataType::Int32, Id::Integer)
        | (DataType::UInt32, Id::UInteger)
        | (DataType::Float32, Id::Float)
        | (DataType::Date32, Id::Date) => Way::Words(4),
        (DataType::Int64, Id::BigInt)
        | (DataType::UInt64, Id::UBigInt)
        | (DataType::Float64, Id::Double)
        | (DataType::Time64(TimeUnit::Microsecond), Id::Time)
        | (DataType::Timestamp(TimeUnit::Second, None), Id::TimestampSec)
        | (DataType::Timestamp(TimeUnit::Millisecond, None), Id::TimestampMs)
        | (DataType::Timestamp(TimeUnit::Microsecond, None), Id::Timestamp)
        | (DataType::Timestamp(TimeUnit::Nanosecond, None), Id::TimestampNs)
        | (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), Id::TimestampTz) => Way::Words(8),
        (DataType::Decimal128(precision, scale), Id::Decimal) if *scale >= 0 => match precision {
            ..=4 => Way::Decimal(2),
            ..=9 => Way::Decimal(4),
            ..=18 => Way::Decimal(8),
            _ => Way::Words(16),
        },
        (DataType::Utf8View, Id::Varchar) | (DataType::BinaryView, Id::Blob) => Way::Views,
        _ => Way::Import,
    })
}

/// Whether all strings lie in their views.
fn all_short(data: &ArrayData) -> bool {
    let Some((views, longer)) = data.buffers().split_first() else {
        return false;
    };
    let (views, _) = views.as_slice().as_chunks::<16>();
    let views = views.iter().skip(data.offset()).take(data.len());
    let length = |view: &[u8; 16]| {
        view.first_chunk()
            .map_or(u32::MAX, |length| u32::from_le_bytes(*length))
    };
    longer.is_empty() || views.fold(true, |all, view| all & (length(view) <= 12))
}

/// Rows from `at` on into a vector.
fn copy(
    way: Way,
    data: &ArrayData,
    at: usize,
    rows: usize,
    output: &mut DataChunkRef<'_>,
    column: usize,
) -> Result<()> {
    let short = || Error::api_error("an array shorter than its batch");
    let first = data.offset() + at;
    let buffer = data
        .buffers()
        .first()
        .map(Buffer::as_slice)
        .unwrap_or_default();
    let words = |width: usize| {
        buffer
            .get(first * width..(first + rows) * width)
            .ok_or_else(short)
    };
    match way {
        Way::Words(width) => copy_words(words(width)?, border::memory(output, column, width)?),
        Way::Views => copy_words(words(16)?, border::memory(output, column, 16)?),
        Way::Decimal(width) => {
            let (from, to) = (words(16)?, border::memory(output, column, width)?);
            let fits = match width {
                2 => narrow::<2>(from, to),
                4 => narrow::<4>(from, to),
                _ => narrow::<8>(from, to),
            };
            if !fits {
                all_fit(from, width, data, at)?;
            }
        }
        Way::Bits => {
            let bits = BooleanBuffer::new(
                data.buffers().first().cloned().ok_or_else(short)?,
                first,
                rows,
            );
            let bytes = border::memory(output, column, 1)?;
            bytes
                .iter_mut()
                .zip(&bits)
                .for_each(|(byte, bit)| *byte = bit.into());
        }
        Way::Import => return Err(Error::api_error("no way to copy this column")),
    }
    if let Some(nulls) = data.nulls().filter(|nulls| nulls.null_count() > 0) {
        let nulls = nulls.slice(at, rows);
        if nulls.null_count() > 0 {
            let words = border::validity(output, column)?;
            let valid = nulls.inner().bit_chunks();
            words
                .iter_mut()
                .zip(valid.iter_padded())
                .for_each(|(word, valid)| *word = valid);
        }
    }
    border::set_rows(output, column, rows)
}

fn copy_words(from: &[u8], to: &mut [u8]) {
    if let Some(to) = to.get_mut(..from.len()) {
        to.copy_from_slice(from);
    }
}

/// The low bytes of integers of 16; whether all of them have room there.
fn narrow<const WIDTH: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (from, _) = from.as_chunks::<16>();
    let (to, _) = to.as_chunks_mut::<WIDTH>();
    let mut beyond = 0;
    for (to, from) in to.iter_mut().zip(from) {
        if let Some(low) = from.first_chunk() {
            *to = *low;
        }
        beyond |= past(*from, WIDTH);
    }
    beyond == 0
}

/// 0 where an integer has room in so many bytes.
fn past(value: [u8; 16], width: usize) -> i128 {
    let high = i128::from_le_bytes(value) >> (width * 8 - 1);
    high ^ (high >> 127)
}

/// A value without room is an error, unless it stands under a NULL.
fn all_fit(from: &[u8], width: usize, data: &ArrayData, at: usize) -> Result<()> {
    let (from, _) = from.as_chunks::<16>();
    let wrong =
        |(row, value): &(usize, &[u8; 16])| past(**value, width) != 0 && data.is_valid(at + row);
    match from.iter().enumerate().find(wrong) {
        Some((_, value)) => Err(Error::invalid_input(format!(
            "fewer digits expected in a column of {}, found {}",
            data.data_type(),
            i128::from_le_bytes(*value)
        ))),
        None => Ok(()),
    }
}
