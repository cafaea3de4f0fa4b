//! Arrow's C interface: schemas, arrays and streams that come in and go out.
//!
//! What comes in is moved, as the interface asks of a consumer: its `release` is NULL afterwards,
//! whether the call worked or not. Arrays are checked in full before anything reads them.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray, make_array,
};
use arrow_data::ArrayData;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use staffa::{Error, Reader, Result};

use super::arguments::borrowed_mut;
use super::error::caught;
use crate::error::for_stream;

/// Moves a schema of the host in.
pub(super) unsafe fn schema_in(pointer: *mut FFI_ArrowSchema) -> Result<FFI_ArrowSchema> {
    // SAFETY: the caller's.
    let own = unsafe { borrowed_mut(pointer, "schema") }?;
    let schema = std::mem::replace(own, FFI_ArrowSchema::empty());
    if schema.release.is_none() {
        return Err(Error::invalid("schema: a released ArrowSchema"));
    }
    Ok(schema)
}

/// Moves an array of the host in.
pub(super) unsafe fn array_in(pointer: *mut FFI_ArrowArray) -> Result<FFI_ArrowArray> {
    // SAFETY: the caller's.
    let own = unsafe { borrowed_mut(pointer, "array") }?;
    let array = std::mem::replace(own, FFI_ArrowArray::empty());
    if array.is_released() {
        return Err(Error::invalid("array: a released ArrowArray"));
    }
    Ok(array)
}

/// The schema of a table.
pub(super) fn table_schema(schema: &FFI_ArrowSchema) -> Result<SchemaRef> {
    let schema = imported("schema", || Schema::try_from(schema))?;
    Ok(Arc::new(schema))
}

/// The type of an array.
pub(super) fn data_type(schema: &FFI_ArrowSchema) -> Result<DataType> {
    imported("schema", || DataType::try_from(schema))
}

/// Checks an array of the host in full: lengths, offsets, UTF-8, keys of dictionaries.
pub(super) fn array_of(array: FFI_ArrowArray, ty: DataType) -> Result<ArrayRef> {
    imported("array", || Ok(make_array(checked_data(array, ty)?)))
}

/// Checks a batch of the host, a struct without NULLs of its own.
pub(super) fn batch_of(array: FFI_ArrowArray, schema: &SchemaRef) -> Result<RecordBatch> {
    let ty = DataType::Struct(schema.fields().clone());
    imported("batch", || {
        let rows = StructArray::from(checked_data(array, ty)?);
        if rows.null_count() > 0 {
            let what = "rows that are NULL as a whole: a batch has none";
            return Err(ArrowError::InvalidArgumentError(what.to_owned()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(schema.clone(), rows.into_parts().1, &options)
    })
}

fn checked_data(array: FFI_ArrowArray, ty: DataType) -> Result<ArrayData, ArrowError> {
    check_counts(&array)?;
    // SAFETY: the host's array keeps Arrow's C interface: pointers to buffers that are as large as type,
    // length and offsets say. What the buffers hold is checked here.
    let mut data = unsafe { from_ffi_and_data_type(array, ty) }?;
    data.align_buffers();
    staffa::validate_array(&data)?;
    Ok(data)
}

/// Checks numbers of an array that Arrow takes as they are: none is negative, lengths are those of memory.
fn check_counts(array: &FFI_ArrowArray) -> Result<(), ArrowError> {
    let is_count = |count: usize| isize::try_from(count).is_ok();
    let (len, offset, children) = (array.len(), array.offset(), array.num_children());
    let end = len.checked_add(offset);
    if !end.is_some_and(is_count) || !is_count(array.num_buffers()) || !is_count(children) {
        let what = format!(
            "length {}, offset {}, {} buffers, {} children",
            len as isize,
            offset as isize,
            array.num_buffers() as isize,
            children as isize
        );
        return Err(ArrowError::CDataInterface(what));
    }
    (0..children).try_for_each(|child| check_counts(array.child(child)))?;
    array.dictionary().map_or(Ok(()), check_counts)
}

/// What the host gave wrongly is its argument; Arrow panics on some of it.
fn imported<T>(what: &str, work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    let found = caught(|| Ok(work()));
    let wrong = |e: String| Error::invalid(format!("{what}: {e}"));
    match found {
        Ok(result) => result.map_err(|e| wrong(e.to_string())),
        Err(panic) => Err(wrong(panic.to_string())),
    }
}

/// A stream of the host, read batch by batch.
pub(super) struct HostStream {
    stream: FFI_ArrowArrayStream,
}

impl HostStream {
    /// Moves a stream of the host in.
    pub unsafe fn new(pointer: *mut FFI_ArrowArrayStream) -> Result<Self> {
        // SAFETY: the caller's.
        let own = unsafe { borrowed_mut(pointer, "stream") }?;
        let stream = std::mem::replace(own, FFI_ArrowArrayStream::empty());
        if stream.release.is_none() || stream.get_next.is_none() || stream.get_schema.is_none() {
            return Err(Error::invalid("stream: a released ArrowArrayStream"));
        }
        Ok(Self { stream })
    }

    pub fn schema(&mut self) -> Result<SchemaRef> {
        let mut schema = FFI_ArrowSchema::empty();
        let get = self.stream.get_schema;
        let get = get.ok_or_else(|| Error::internal("a stream without a schema"))?;
        // SAFETY: a live stream of the host (`new`), and a place for the schema.
        let code = unsafe { get(&raw mut self.stream, &raw mut schema) };
        if code != 0 {
            return Err(self.failed(code));
        }
        table_schema(&schema)
    }

    /// The next batch of the host, which is not checked yet.
    pub fn next(&mut self) -> Result<Option<FFI_ArrowArray>> {
        let mut array = FFI_ArrowArray::empty();
        let get = self.stream.get_next;
        let get = get.ok_or_else(|| Error::internal("a stream without batches"))?;
        // SAFETY: a live stream of the host (`new`), and a place for the array.
        let code = unsafe { get(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Err(self.failed(code));
        }
        Ok((!array.is_released()).then_some(array))
    }

    fn failed(&mut self, code: i32) -> Error {
        let get = self.stream.get_last_error;
        // SAFETY: a live stream of the host, which has just failed.
        let text = get.map(|get| unsafe { get(&raw mut self.stream) });
        let text = text.filter(|text| !text.is_null());
        let text = text.map_or_else(String::new, |text| {
            // SAFETY: a text that lives until the next call of the stream.
            let text = unsafe { CStr::from_ptr(text) };
            format!(": {}", text.to_string_lossy())
        });
        Error::Arrow(ArrowError::CDataInterface(format!(
            "the stream failed with code {code}{text}"
        )))
    }
}

/// Gives a schema to the host.
pub(super) fn schema_out(schema: &Schema, place: &mut MaybeUninit<FFI_ArrowSchema>) -> Result<()> {
    check_names(schema)?;
    place.write(FFI_ArrowSchema::try_from(schema)?);
    Ok(())
}

/// Gives an array and its type to the host.
pub(super) fn array_out(
    array: &dyn Array,
    schema: &mut MaybeUninit<FFI_ArrowSchema>,
    place: &mut MaybeUninit<FFI_ArrowArray>,
) -> Result<()> {
    let ty = FFI_ArrowSchema::try_from(array.data_type())?;
    place.write(FFI_ArrowArray::new(&array.to_data()));
    schema.write(ty);
    Ok(())
}

/// Gives a batch and its schema to the host.
pub(super) fn batch_out(
    batch: RecordBatch,
    schema: &mut MaybeUninit<FFI_ArrowSchema>,
    place: &mut MaybeUninit<FFI_ArrowArray>,
) -> Result<()> {
    schema_out(batch.schema_ref(), schema)?;
    place.write(FFI_ArrowArray::new(&StructArray::from(batch).to_data()));
    Ok(())
}

/// Gives the batches of a scan to the host.
pub(super) fn stream_out(
    reader: Reader,
    place: &mut MaybeUninit<FFI_ArrowArrayStream>,
) -> Result<()> {
    let schema = reader.schema();
    check_names(&schema)?;
    let stream = FFI_ArrowArrayStream::new(Box::new(Guarded {
        reader: Some(reader),
        schema,
    }));
    place.write(stream);
    Ok(())
}

/// The batches of a scan, whose panics are errors: Arrow's functions of a stream let them through.
struct Guarded {
    /// `None` after an error.
    reader: Option<Reader>,
    schema: SchemaRef,
}

impl Iterator for Guarded {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let next = caught(|| reader.next().transpose()).transpose()?;
        Some(next.map_err(|error| {
            self.reader = None;
            for_stream(error)
        }))
    }
}

impl RecordBatchReader for Guarded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Refuses names that hold a NUL, at which Arrow's C interface ends a name.
fn check_names(schema: &Schema) -> Result<()> {
    schema
        .fields()
        .iter()
        .try_for_each(|field| check_name(field))
}

fn check_name(field: &Field) -> Result<()> {
    let refused = |what: &str| {
        let name = field.name();
        Err(Error::unsupported(format!(
            "column {name:?}: a NUL in its {what}, which Arrow's C interface cannot have"
        )))
    };
    if field.name().contains('\0') {
        return refused("name");
    }
    match field.data_type() {
        DataType::Timestamp(_, Some(zone)) if zone.contains('\0') => refused("time zone"),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_name(field)),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => check_name(field),
        DataType::RunEndEncoded(ends, values) => check_name(ends).and_then(|()| check_name(values)),
        _ => Ok(()),
    }
}

/// A place of the host that says that nothing is there, as long as nothing is.
pub(super) fn released_schema(place: &mut MaybeUninit<FFI_ArrowSchema>) {
    place.write(FFI_ArrowSchema::empty());
}

/// The same for an array.
pub(super) fn released_array(place: &mut MaybeUninit<FFI_ArrowArray>) {
    place.write(FFI_ArrowArray::empty());
}
