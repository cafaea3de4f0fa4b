//! Batches of CSV.

use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::dates::DateOrder;
use super::dialect::CsvDialect;
use super::parse::{BadField, ColumnParser};
use super::problem::{Problem, width_reason};
use super::records::{Fields, Records};
use crate::error::{Failure, Result};
use crate::formats::bad_rows::BadRows;
use crate::formats::table::BATCH_ROWS;
use crate::terminal::note;
use crate::terminal::text::quoted_name;

/// A batch ends before it has more bytes than this.
const BATCH_BYTES: usize = 1 << 26;

pub(super) struct Rows {
    name: String,
    records: Records<Box<dyn BufRead + Send>>,
    dialect: CsvDialect,
    schema: SchemaRef,
    dates: Vec<Option<DateOrder>>,
    /// The columns to read, by index; None for all.
    pub(super) projection: Option<Vec<usize>>,
    pub(super) infer_rows: usize,
    pub(super) bad_rows: Option<BadRows>,
    fields: Fields,
    /// The bytes of each record, if bad rows are written down.
    raw: Vec<Vec<u8>>,
    /// Rows of the finished batches.
    done: u64,
    header: bool,
    /// What is wrong with the record after those of this batch.
    pending: Option<Failure>,
    /// Whether it was said that an empty text in quotes is read as NULL.
    said_null: bool,
}

impl Rows {
    pub(super) fn new(
        name: String,
        text: Box<dyn BufRead + Send>,
        dialect: CsvDialect,
        schema: SchemaRef,
        dates: Vec<Option<DateOrder>>,
    ) -> Self {
        Self {
            name,
            records: Records::new(text, &dialect),
            header: dialect.header,
            dialect,
            schema,
            dates,
            projection: None,
            infer_rows: 0,
            bad_rows: None,
            fields: Fields::default(),
            raw: Vec::new(),
            done: 0,
            pending: None,
            said_null: false,
        }
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.fields.clear();
            self.raw.clear();
            self.fill()?;
            if self.fields.len() == 0 {
                return self.pending.take().map_or(Ok(None), Err);
            }
            let batch = self.parse()?;
            self.done += self.fields.len() as u64;
            // All its rows may be bad.
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::of(&self.name, &self.dialect)
    }

    /// Splits the records of a batch.
    fn fill(&mut self) -> Result<()> {
        let width = self.schema.fields().len();
        while self.pending.is_none()
            && self.fields.len() < BATCH_ROWS
            && self.fields.byte_len() < BATCH_BYTES
        {
            match self.records.next(&mut self.fields) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    self.pending = Some(self.problem().record(error));
                    return Ok(());
                }
            }
            if std::mem::take(&mut self.header) {
                self.fields.pop();
                if width == 1 {
                    self.records.keep_empty_lines();
                }
                continue;
            }
            let last = self.fields.len() - 1;
            let found = self.fields.width(last);
            match &self.bad_rows {
                None if found == width => {}
                None => {
                    let row = self.done + last as u64 + 1;
                    self.pending = Some(self.problem().width(row, width, found));
                    self.fields.pop();
                }
                Some(_) if found == width => self.raw.push(self.records.raw().to_vec()),
                Some(bad_rows) => {
                    let (line, reason) = (self.fields.line(last), width_reason(width, found));
                    bad_rows.add(&self.name, line, &reason, self.records.raw())?;
                    self.fields.pop();
                }
            }
        }
        Ok(())
    }

    fn parse(&mut self) -> Result<RecordBatch> {
        // A row is bad whatever columns are asked for.
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let read = match &self.projection {
            Some(projection) if self.bad_rows.is_none() => projection.clone(),
            _ => all,
        };
        let mut columns = Vec::with_capacity(read.len());
        let mut bad: Vec<(usize, BadField)> = Vec::new();
        let mut quoted_null: Option<(usize, usize)> = None;
        for &column in &read {
            let mut parser = self.parser(column);
            columns.push(parser.parse(self.schema.field(column).data_type())?);
            quoted_null = quoted_null.or(parser.quoted_null.map(|row| (row, column)));
            bad.extend(parser.bad.into_iter().map(|field| (column, field)));
        }
        let fail = |error| Failure::arrow(&self.name, &error);
        let schema = Arc::new(self.schema.project(&read).map_err(fail)?);
        let options = RecordBatchOptions::new().with_row_count(Some(self.fields.len()));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(fail)?;
        if let Some((row, column)) = quoted_null
            && !self.said_null
        {
            self.note_null(row, column);
            self.said_null = true;
        }
        if bad.is_empty() {
            return self.projected(batch);
        }
        bad.sort_by_key(|(column, field)| (field.row, *column));
        let Some(bad_rows) = &self.bad_rows else {
            return Err(self.refuse(&bad));
        };
        let good = self.leave_out(&bad, bad_rows)?;
        self.projected(filter_record_batch(&batch, &good).map_err(fail)?)
    }

    fn parser(&self, column: usize) -> ColumnParser<'_> {
        ColumnParser {
            fields: &self.fields,
            column,
            dialect: &self.dialect,
            dates: self.dates.get(column).copied().flatten(),
            bad: Vec::new(),
            quoted_null: None,
        }
    }

    /// Says, once per file, that an empty text in quotes is read as NULL.
    fn note_null(&self, row: usize, column: usize) {
        let field = self.schema.field(column);
        note(&format!(
            "{}: row {}, column {:?}: an empty text in quotes is read as NULL of type {}; --text {} reads the column \
             as text",
            self.name,
            self.done + row as u64 + 1,
            field.name(),
            field.data_type(),
            quoted_name(field.name())
        ));
    }

    /// The columns asked for, of a batch that may have all.
    fn projected(&self, batch: RecordBatch) -> Result<RecordBatch> {
        match &self.projection {
            Some(projection) if batch.num_columns() > projection.len() => batch
                .project(projection)
                .map_err(|error| Failure::arrow(&self.name, &error)),
            _ => Ok(batch),
        }
    }

    /// The failure for the first bad field.
    fn refuse(&self, bad: &[(usize, BadField)]) -> Failure {
        let Some((column, bad)) = bad.first() else {
            return Failure::internal("a row is refused without a bad field");
        };
        let text = String::from_utf8_lossy(self.fields.get(bad.row, *column).0);
        self.problem().field(
            self.done + bad.row as u64 + 1,
            self.schema.field(*column),
            bad.is_text.then_some(&text),
            self.infer_rows,
        )
    }

    /// Writes the bad rows down; returns which rows are good.
    fn leave_out(&self, bad: &[(usize, BadField)], bad_rows: &BadRows) -> Result<BooleanArray> {
        let mut good = vec![true; self.fields.len()];
        for (column, field) in bad {
            // Of a row with several bad fields, the first one is named.
            if !good.get_mut(field.row).is_some_and(std::mem::take) {
                continue;
            }
            let of = self.schema.field(*column);
            let reason = if field.is_text {
                let text = String::from_utf8_lossy(self.fields.get(field.row, *column).0);
                format!(
                    "column {:?}: {text:?} is not of type {}",
                    of.name(),
                    of.data_type()
                )
            } else {
                format!("column {:?}: the bytes are not UTF-8", of.name())
            };
            let raw = self.raw.get(field.row).map_or(&[] as &[u8], Vec::as_slice);
            bad_rows.add(&self.name, self.fields.line(field.row), &reason, raw)?;
        }
        Ok(BooleanArray::from(good))
    }
}
