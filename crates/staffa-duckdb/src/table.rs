//! The table function `read_staffa`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, SchemaRef};
use duckdb_neo::bind_arguments::BindArgument;
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::extension::Extension;
use duckdb_neo::logical_type::{LogicalType, LogicalTypeID};
use duckdb_neo::signature::{FunctionParameter, SignatureBuilder};
use duckdb_neo::table_function::{
    BindFunctionHandle, ExecColumnInfo, InitColumnData, OrderPreservation, PartitionData,
    PushdownData, TableFilterPushdownCallbacks, TableFunctionBuilder, TableFunctionCallbacks,
    TablePartitioningCallbacks,
};
use duckdb_neo::{Error, Parameters, Result};
use staffa::{Part, Predicate, Reader, Scan};

use crate::border;
use crate::error::{guarded, of_staffa, of_text};
use crate::fill::Filler;
use crate::pushdown;
use crate::source::Source;

/// Its name.
pub(crate) const NAME: &str = "read_staffa";

/// Rows that a thread takes at a time.
const PART_ROWS: usize = 65_536;

/// One row of so many: where a filter keeps more, DuckDB alone tests the next parts,
const KEPT: usize = 4;

/// at most so many of them.
const UNTESTED: u32 = 32;

pub(crate) fn register(extension: &Extension) -> Result<()> {
    // A path or a list of paths: `bind` looks which.
    let any = LogicalType::create_from_id(extension, LogicalTypeID::Any, Parameters::None)?;
    let signature = SignatureBuilder::new().param(FunctionParameter::with_type("files", any));
    TableFunctionBuilder::new(NAME, signature, ReadStaffa)
        .with_projection_pushdown(true)
        .with_filter_pushdown()
        .with_partitioning()
        .with_progress()
        .register(extension)
}

pub(crate) struct ReadStaffa;

/// A bound call.
pub(crate) struct Call {
    source: Source,
    /// What every row must fulfil that the query needs.
    filter: Mutex<Option<Predicate>>,
}

/// The work of a scan, shared by its threads.
pub(crate) struct Work {
    scans: Vec<Scan>,
    /// The same without the filter.
    untested: Option<Vec<Scan>>,
    /// In order: which file, and which part of it.
    parts: Vec<(usize, Part)>,
    next: AtomicUsize,
    /// What the importers are made for.
    handed: SchemaRef,
}

/// What one thread is at.
pub(crate) struct Thread {
    filler: Filler,
    reader: Option<Reader>,
    /// The part it reads.
    part: usize,
    /// Rows of it that are still to come, and that have come.
    rows: usize,
    kept: usize,
    /// Whether the filter is applied to it.
    tested: bool,
    /// Parts that are to be read without the filter, and how many there were last time.
    skip: u32,
    skipped: u32,
}

impl TableFunctionCallbacks for ReadStaffa {
    type BindData = Call;
    type GlobalState = Work;
    type LocalState = Thread;

    fn bind(
        &self,
        context: &Context,
        arguments: Vec<BindArgument>,
        bind: BindFunctionHandle<'_>,
    ) -> Result<Call> {
        guarded(|| {
            let files = arguments
                .into_iter()
                .next()
                .and_then(|argument| argument.value);
            let files = files.ok_or_else(|| {
                Error::invalid_input("read_staffa: a constant path or list expected")
            })?;
            let source = Source::open(context, &files)?;
            for (name, ty) in border::columns(context, &source.handed)? {
                bind.add_result_column(&name, &ty)?;
            }
            bind.set_cardinality(usize::try_from(source.rows).unwrap_or(usize::MAX), true)?;
            bind.set_order(OrderPreservation::Insertion)?;
            Ok(Call {
                source,
                filter: Mutex::new(None),
            })
        })
    }

    fn init_global_state(
        &self,
        call: &Call,
        _: &Context,
        columns: InitColumnData<'_>,
    ) -> Result<(Option<Work>, Option<usize>)> {
        guarded(|| {
            let source = &call.source;
            let count = columns.count()?;
            let columns = (0..count)
                .map(|i| columns.get_column_index(i))
                .collect::<Result<Vec<_>>>()?;
            let handed = source.handed.project(&columns).map_err(of_text)?.into();
            let fields = source.schema.fields();
            let names: Vec<_> = columns
                .iter()
                .filter_map(|i| fields.get(*i))
                .map(|field| field.name())
                .collect();
            let filter = call
                .filter
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let (mut scans, mut untested, mut parts) =
                (Vec::new(), filter.is_some().then(Vec::new), Vec::new());
            for (number, file) in source.files.iter().enumerate() {
                let mut scan = file
                    .scan()
                    .columns(names.iter().copied())
                    .string_views(true)
                    .loose(true);
                if let (Some(filter), Some(untested)) = (&filter, &mut untested) {
                    untested.push(scan.clone());
                    scan = scan.filter(filter.clone());
                }
                parts.extend(
                    scan.parts(PART_ROWS)
                        .map_err(|e| of_staffa(&e))?
                        .into_iter()
                        .map(|part| (number, part)),
                );
                scans.push(scan);
            }
            let threads = parts.len().max(1);
            Ok((
                Some(Work {
                    scans,
                    untested,
                    parts,
                    next: AtomicUsize::new(0),
                    handed,
                }),
                Some(threads),
            ))
        })
    }

    fn init_local_state(
        &self,
        _: &Call,
        work: Option<&Work>,
        context: &Context,
        _: InitColumnData<'_>,
    ) -> Result<Option<Thread>> {
        guarded(|| {
            let work = work.ok_or_else(|| Error::api_error("no scan begun"))?;
            let filler = Filler::new(context, &work.handed)?;
            let (reader, part, rows, kept, tested, skip, skipped) = (None, 0, 0, 0, false, 0, 0);
            Ok(Some(Thread {
                filler,
                reader,
                part,
                rows,
                kept,
                tested,
                skip,
                skipped,
            }))
        })
    }

    fn exec(
        &self,
        _: &Call,
        work: Option<&Work>,
        thread: Option<&mut Thread>,
        _: &Context,
        mut output: DataChunkRef<'_>,
        _: ExecColumnInfo<'_>,
    ) -> Result<()> {
        guarded(|| {
            let (Some(work), Some(thread)) = (work, thread) else {
                return Err(Error::api_error("no scan begun"));
            };
            loop {
                if thread.filler.fill(&mut output)? {
                    return Ok(());
                }
                let Some(batch) = thread.advance(work)? else {
                    return border::set_rows(&mut output, 0, 0);
                };
                thread.filler.push(&unpacked(batch, &work.handed)?)?;
            }
        })
    }

    fn progress(&self, _: &Call, work: Option<&Work>, _: &Context) -> Result<Option<f64>> {
        let done =
            |work: &Work| work.next.load(Ordering::Relaxed) as f64 / work.parts.len().max(1) as f64;
        Ok(work.map(|work| done(work).min(1.0)))
    }
}

impl Thread {
    /// The next batch of this part, or of the next one that nobody has taken.
    fn advance(&mut self, work: &Work) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(batch) = reader.next().transpose().map_err(|e| of_staffa(&e))? {
                    self.kept += batch.num_rows();
                    return Ok(Some(batch));
                }
                self.reader = None;
                self.learn();
            }
            self.part = work.next.fetch_add(1, Ordering::Relaxed);
            let Some((file, part)) = work.parts.get(self.part) else {
                return Ok(None);
            };
            (self.rows, self.kept) = (part.num_rows(), 0);
            self.tested = self.skip == 0 || work.untested.is_none();
            let scans = work
                .untested
                .as_ref()
                .filter(|_| !self.tested)
                .unwrap_or(&work.scans);
            let Some(scan) = scans.get(*file) else {
                return Ok(None);
            };
            self.reader = Some(
                scan.clone()
                    .part(part.clone())
                    .reader()
                    .map_err(|e| of_staffa(&e))?,
            );
        }
    }

    /// A filter that keeps most rows is not worth its time: DuckDB tests them all anyway.
    fn learn(&mut self) {
        if !self.tested {
            self.skip -= 1;
        } else if self.kept > self.rows / KEPT {
            self.skipped = (self.skipped * 2).clamp(1, UNTESTED);
            self.skip = self.skipped;
        } else {
            self.skipped = 0;
        }
    }
}

/// The batch with types that DuckDB takes as they are.
fn unpacked(batch: RecordBatch, handed: &SchemaRef) -> Result<RecordBatch> {
    let fits = |(array, field): (&ArrayRef, &arrow_schema::FieldRef)| {
        array.data_type() == field.data_type()
    };
    if batch.columns().iter().zip(handed.fields()).all(fits) {
        return Ok(batch);
    }
    let arrays = batch
        .columns()
        .iter()
        .zip(handed.fields())
        .map(|(array, field)| {
            if array.data_type() == field.data_type() {
                return Ok(array.clone());
            }
            // One at a time: Arrow's kernel for views forgets that a dictionary's value may be NULL,
            // and none unpacks runs of a dictionary.
            let array = match array.data_type() {
                DataType::RunEndEncoded(_, values) => cast(array, values.data_type()),
                _ => Ok(array.clone()),
            };
            let array = array.and_then(|array| match array.data_type() {
                DataType::Dictionary(_, values) if dictionary_of_nulls(&array) => {
                    cast(&array, values)
                }
                _ => Ok(array),
            });
            array
                .and_then(|array| cast(&array, field.data_type()))
                .map_err(of_text)
        });
    RecordBatch::try_new(handed.clone(), arrays.collect::<Result<_>>()?).map_err(of_text)
}

fn dictionary_of_nulls(array: &ArrayRef) -> bool {
    array
        .as_any_dictionary_opt()
        .is_some_and(|dictionary| dictionary.values().null_count() > 0)
}

impl TableFilterPushdownCallbacks for ReadStaffa {
    fn pushdown_filter(&self, call: &Call, _: &Context, offered: PushdownData<'_>) -> Result<()> {
        guarded(|| {
            let predicate = pushdown::predicate(&offered, &call.source.schema)?;
            // DuckDB may ask again as it rewrites its plan: what stands last above the scan counts.
            *call.filter.lock().unwrap_or_else(PoisonError::into_inner) = predicate;
            Ok(())
        })
    }
}

impl TablePartitioningCallbacks for ReadStaffa {
    fn partition_data(
        &self,
        _: &Call,
        _: Option<&Work>,
        thread: Option<&mut Thread>,
        _: &Context,
        _: PartitionData<'_>,
    ) -> Result<usize> {
        Ok(thread.map_or(0, |thread| thread.part))
    }
}
