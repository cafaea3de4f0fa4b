//! The border to DuckDB: record batches to its chunks and back, through Arrow's C interface.
//!
//! Only this file has `unsafe`: two libraries have types of their own for the structs of Arrow's C
//! interface, and an importer is kept between two calls of DuckDB (docs/decisions/0016-duckdb.md).

use std::mem::{size_of, transmute};
use std::ptr::null_mut;
use std::slice::from_raw_parts_mut;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Schema, SchemaRef};
use duckdb_neo::arrow::{ArrowArray, ArrowExporter, ArrowImporter, ArrowSchema};
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::{DataChunk, DataChunkRef};
use duckdb_neo::logical_type::LogicalType;
use duckdb_neo::vector::Unknown;
use duckdb_neo::{AsRaw, Error, Result, ffi};

use crate::error::{internal, of_text};

/// Rows of a vector of DuckDB.
pub(crate) const VECTOR_ROWS: usize = 2048;

const _: () = assert!(size_of::<FFI_ArrowSchema>() == size_of::<ffi::ArrowSchema>());
const _: () = assert!(size_of::<FFI_ArrowArray>() == size_of::<ffi::ArrowArray>());

fn to_duckdb_schema(schema: &Schema) -> Result<ArrowSchema> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(of_text)?;
    // SAFETY: both are the `struct ArrowSchema` of Arrow's C interface, which fixes fields and
    // layout; it is moved, and from here on released by its new owner alone.
    Ok(unsafe { ArrowSchema::from_raw(transmute::<FFI_ArrowSchema, ffi::ArrowSchema>(schema)) })
}

fn to_duckdb_array(batch: RecordBatch) -> ArrowArray {
    let array = FFI_ArrowArray::new(&StructArray::from(batch).into_data());
    // SAFETY: as for the schema.
    unsafe { ArrowArray::from_raw(transmute::<FFI_ArrowArray, ffi::ArrowArray>(array)) }
}

/// The names and DuckDB types of the columns of a schema.
pub(crate) fn columns(context: &Context, schema: &Schema) -> Result<Vec<(String, LogicalType)>> {
    ArrowImporter::new(context, to_duckdb_schema(schema)?, Some(VECTOR_ROWS))?
        .schema()?
        .get_all()
}

/// Imports batches of one schema into DuckDB, chunk by chunk. The vectors refer to the memory of the
/// batch.
pub(crate) struct Importer {
    importer: ArrowImporter<'static>,
    /// The chunk that the output refers to, until the next one replaces it.
    last: Option<DataChunk<'static>>,
}

// SAFETY: the importer is part of the local state of a scan, which one thread at a time uses; it has
// no thread-local state.
unsafe impl Send for Importer {}

impl Importer {
    pub(crate) fn new(context: &Context, schema: &Schema) -> Result<Self> {
        let importer = ArrowImporter::new(context, to_duckdb_schema(schema)?, Some(VECTOR_ROWS))?;
        // SAFETY: the importer keeps a pointer to DuckDB's client context. It is dropped with the
        // local state of a scan, which belongs to the query, and the client context owns the query
        // and ends after it.
        let importer = unsafe { transmute::<ArrowImporter<'_>, ArrowImporter<'static>>(importer) };
        Ok(Self {
            importer,
            last: None,
        })
    }

    /// Starts a batch; the rest of the previous one is dropped.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.importer.append_consumed(to_duckdb_array(batch), true)
    }

    /// Sets a column of the output to the next rows of the batch, which has one column.
    pub(crate) fn pull(&mut self, output: &mut DataChunkRef<'_>, column: usize) -> Result<()> {
        let chunk = self
            .importer
            .next_chunk()?
            .ok_or_else(|| internal("an imported batch has fewer rows than announced"))?;
        // SAFETY: DuckDB's vectors share their buffers, and the chunk is kept until the output is
        // filled again.
        unsafe {
            output
                .get_vector_at_mut::<Unknown>(column)?
                .reference(chunk.get_vector_at::<Unknown>(0)?)?
        };
        self.last = Some(chunk);
        Ok(())
    }
}

/// The memory of a flat vector of the output, for values of `width` bytes.
pub(crate) fn memory<'o>(
    output: &'o mut DataChunkRef<'_>,
    column: usize,
    width: usize,
) -> Result<&'o mut [u8]> {
    let mut data = null_mut();
    // SAFETY: the handles belong to the chunk that DuckDB lends for this call.
    check(unsafe {
        ffi::duckdb_v2_vector_get_data_mutable(handle(output, column)?, &raw mut data, null_mut())
    })?;
    if data.is_null() {
        return Err(internal("a vector of DuckDB has no memory"));
    }
    // SAFETY: the vectors of the output are flat and hold `VECTOR_ROWS` values of their type; the caller
    // derives `width` from that type (`vectors.rs`); the borrow of the chunk is exclusive.
    Ok(unsafe { from_raw_parts_mut(data.cast(), VECTOR_ROWS * width) })
}

/// The validity of a flat vector of the output: one bit per row, all set.
pub(crate) fn validity<'o>(
    output: &'o mut DataChunkRef<'_>,
    column: usize,
) -> Result<&'o mut [u64]> {
    let mut words = null_mut();
    let handle = handle(output, column)?;
    // SAFETY: as above.
    check(unsafe {
        ffi::duckdb_v2_vector_flat_get_validity_mutable(handle, &raw mut words, null_mut())
    })?;
    if words.is_null() {
        return Err(internal("a vector of DuckDB has no validity"));
    }
    // SAFETY: as above; one bit for each value.
    Ok(unsafe { from_raw_parts_mut(words, VECTOR_ROWS / 64) })
}

/// Sets the number of rows of a vector of the output.
pub(crate) fn set_rows(output: &mut DataChunkRef<'_>, column: usize, rows: usize) -> Result<()> {
    let handle = handle(output, column)?;
    // SAFETY: as above.
    check(unsafe { ffi::duckdb_v2_vector_set_size(handle, rows as u64, null_mut()) })
}

fn handle(output: &DataChunkRef<'_>, column: usize) -> Result<ffi::duckdb_v2_vector_handle> {
    let mut vector = null_mut();
    // SAFETY: DuckDB lends the chunk for this call and checks the column number.
    check(unsafe {
        ffi::duckdb_v2_data_chunk_get_vector(
            output.get_raw(),
            column as u64,
            &raw mut vector,
            null_mut(),
        )
    })?;
    Ok(vector)
}

fn check(code: ffi::DUCKDB_V2_ERROR) -> Result<()> {
    match code {
        ffi::DUCKDB_V2_ERROR::DUCKDB_V2_ERROR_NONE => Ok(()),
        code => Err(Error {
            code: code.try_into()?,
            message: "DuckDB refused access to its vector".to_owned(),
        }),
    }
}

/// The Arrow schema of columns of DuckDB.
pub(crate) fn schema(context: &Context, columns: &[(&str, LogicalType)]) -> Result<SchemaRef> {
    let schema = ArrowExporter::new(context, columns, None)?.schema()?;
    // SAFETY: as above, the other way.
    let schema = unsafe { transmute::<ffi::ArrowSchema, FFI_ArrowSchema>(schema.into_raw()) };
    Ok(Arc::new(Schema::try_from(&schema).map_err(of_text)?))
}

/// Exports chunks of DuckDB as batches of a schema.
pub(crate) struct Exporter<'c>(ArrowExporter<'c>, SchemaRef);

impl<'c> Exporter<'c> {
    /// Exports batches of `rows` rows.
    pub(crate) fn new(
        context: &'c Context,
        columns: &[(&str, LogicalType)],
        rows: usize,
        schema: SchemaRef,
    ) -> Result<Self> {
        Ok(Self(
            ArrowExporter::new(context, columns, Some(rows.max(1)))?,
            schema,
        ))
    }

    pub(crate) fn push(&mut self, chunk: &DataChunkRef<'_>) -> Result<()> {
        self.0.append(chunk, false)
    }

    pub(crate) fn finish(mut self) -> Result<Vec<RecordBatch>> {
        self.0.flush()?;
        let mut batches = Vec::new();
        while let Some(array) = self.0.next_array()? {
            // SAFETY: as above; the array was made for this schema by the same exporter.
            let data = unsafe {
                let array = transmute::<ffi::ArrowArray, FFI_ArrowArray>(array.into_raw());
                from_ffi_and_data_type(array, DataType::Struct(self.1.fields().clone()))
            };
            let (_, arrays, _) = StructArray::from(data.map_err(of_text)?).into_parts();
            batches.push(RecordBatch::try_new(self.1.clone(), arrays).map_err(of_text)?);
        }
        Ok(batches)
    }
}
