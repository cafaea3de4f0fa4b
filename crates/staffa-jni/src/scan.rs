//! Scans: batches in Spark's types, decoded on the thread that asks for them.

use std::sync::{Arc, Mutex};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use staffa::Reader;

use crate::convert::{check, convert, find};
use crate::error::{Error, Result};
use crate::file::{OpenFile, Request};
use crate::filter;
use crate::handles::lock;

/// A scan of one file, or of a range of it.
pub(crate) struct BatchScan {
    /// The file, for messages.
    name: String,
    fields: Fields,
    /// The column of the reader's batches for each field; `None` where the file lacks it.
    columns: Vec<Option<usize>>,
    state: Mutex<State>,
}

struct State {
    reader: Reader,
    /// The batch that the virtual machine reads.
    batch: Option<Box<FFI_ArrowArray>>,
}

impl BatchScan {
    pub(crate) fn new(open: &OpenFile, request: &Request) -> Result<Self> {
        let fields = nullable(request.schema.fields());
        let schema = open.file.schema();
        let mut names: Vec<&str> = Vec::new();
        let mut columns = Vec::new();
        for field in &fields {
            let Some(own) = find(schema.fields(), field.name(), request.any_case) else {
                columns.push(None);
                continue;
            };
            check(own.data_type(), field.data_type()).map_err(|what| {
                let column = own.name();
                Error::Mismatch(format!("{}: column {column:?}: {what}", open.name))
            })?;
            let position = names.iter().position(|name| name == own.name());
            columns.push(Some(position.unwrap_or(names.len())));
            if position.is_none() {
                names.push(own.name());
            }
        }
        let scan = open.file.scan().here().loose(true);
        let scan = scan
            .columns(names)
            .batch_rows(request.batch_rows)
            .byte_range(request.bytes.clone());
        let filter = request.filter.as_deref();
        let filter = filter.map(|text| filter::of_file(text, schema, request.any_case));
        let scan = match filter.transpose()?.flatten() {
            Some(filter) => scan.filter(filter),
            None => scan,
        };
        let reader = scan.reader()?;
        let state = Mutex::new(State {
            reader,
            batch: None,
        });
        Ok(Self {
            name: open.name.clone(),
            fields,
            columns,
            state,
        })
    }

    /// The address of the next batch, a `struct ArrowArray` that stays until the next call; 0 at the
    /// end.
    pub(crate) fn next(&self) -> Result<i64> {
        let mut state = lock(&self.state);
        state.batch = None;
        let Some(batch) = state.reader.next().transpose()? else {
            return Ok(0);
        };
        let array = FFI_ArrowArray::new(&self.adapted(&batch)?.into_data());
        let array = state.batch.insert(Box::new(array));
        Ok(std::ptr::from_ref(&**array) as i64)
    }

    fn adapted(&self, batch: &RecordBatch) -> Result<StructArray> {
        let column = |(field, column): (&FieldRef, &Option<usize>)| -> Result<ArrayRef> {
            let found = column.and_then(|column| batch.columns().get(column));
            match found {
                Some(array) => convert(array, field.data_type()).map_err(|e| {
                    let column = field.name();
                    Error::Mismatch(format!("{}: column {column:?}: {e}", self.name))
                }),
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            }
        };
        let columns = self.fields.iter().zip(&self.columns).map(column);
        Ok(StructArray::try_new_with_length(
            self.fields.clone(),
            columns.collect::<Result<_>>()?,
            None,
            batch.num_rows(),
        )?)
    }
}

/// The fields, nullable at all levels but for the pairs and keys of maps: a file may lack a column.
fn nullable(fields: &Fields) -> Fields {
    let field = |field: &FieldRef| {
        let ty = nullable_type(field.data_type());
        Field::clone(field).with_data_type(ty).with_nullable(true)
    };
    fields.iter().map(field).collect()
}

fn nullable_type(ty: &DataType) -> DataType {
    let one = |field: &FieldRef| nullable(&Fields::from(vec![field.clone()]));
    match ty {
        DataType::Struct(fields) => DataType::Struct(nullable(fields)),
        DataType::List(item) => one(item)
            .first()
            .map_or_else(|| ty.clone(), |item| DataType::List(item.clone())),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return ty.clone();
            };
            let pair = nullable(pair);
            let pair = pair.iter().zip([false, true]);
            let pair = pair.map(|(field, optional)| Field::clone(field).with_nullable(optional));
            let entries = Field::clone(entries)
                .with_data_type(DataType::Struct(pair.collect()))
                .with_nullable(false);
            DataType::Map(Arc::new(entries), *sorted)
        }
        other => other.clone(),
    }
}

/// A schema as the type of its rows.
pub(crate) fn row_type(schema: &Schema) -> DataType {
    DataType::Struct(schema.fields().clone())
}
